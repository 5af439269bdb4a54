//! What the parts of the CQE writer tell each other.

use ferroce_emit::prelude::*;
use ferroce_rtl::desc::rx::CqeJob;

/// State of a CQ.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct CqState {
    /// The CQ exists.
    pub enabled: Bit,
    /// A CQE found no room.
    pub overrun: Bit,
    /// Running index of the next CQE.
    pub producer: Bits<24>,
    /// An event is wanted for the next CQE.
    pub armed: Bit,
    /// Only for a solicited or failed one.
    pub solicited_only: Bit,
    /// Running index after the last CQE that was solicited or failed.
    pub after_solicited: Bits<24>,
}

/// What a CQ is configured with.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct CqPlan {
    /// Base address of the ring.
    pub base: Bits<64>,
    /// Log2 of its CQEs.
    pub log_size: Bits<4>,
    /// The CQ has an EQ.
    pub has_eq: Bit,
    /// That EQ.
    pub eq: Bits<7>,
}

/// A completion for a CQ, the mark behind a QP's last one, the CQ's configuration, or a wish for an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct CqEvent {
    /// The CQ is made anew or, unless `enabled`, taken away.
    pub restart: Bit,
    /// The CQ exists.
    pub enabled: Bit,
    /// An event is wanted.
    pub arm: Bit,
    /// Only for a solicited or failed completion.
    pub solicited_only: Bit,
    /// The mark.
    pub last: Bit,
    /// CQ index.
    pub cq: Bits<14>,
    /// The completion.
    pub job: CqeJob,
}

/// A completion and its place, an event, or both.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct CqePlace {
    /// A CQE is to be written.
    pub write: Bit,
    /// An event follows it.
    pub event: Bit,
    /// The CQ is gone: nothing for it comes behind this.
    pub gone: Bit,
    /// The last completion of a QP with an SRQ is before this.
    pub last: Bit,
    /// The event: the CQ was full; else it has a completion that it was armed for.
    pub overrun: Bit,
    /// EQ of the event.
    pub eq: Bits<7>,
    /// CQ index.
    pub cq: Bits<14>,
    /// Base address of the ring.
    pub base: Bits<64>,
    /// Slot in the ring.
    pub slot: Bits<15>,
    /// Phase bit: the first pass over the ring.
    pub phase: Bit,
    /// The completion.
    pub job: CqeJob,
}
