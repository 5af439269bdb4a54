//! What the parts of the event path tell each other.

use ferroce_emit::prelude::*;

/// Kind of no event, but of a mark: a CQ is gone, and what it wrote or told is before the mark.
pub const QUEUE_GONE: u64 = 0;

/// An event on its way to an EQ, or a mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct EventJob {
    /// EQE kind, or [`QUEUE_GONE`].
    pub kind: Bits<8>,
    /// CQ index, QPN or SRQ number.
    pub index: Bits<14>,
    /// EQ.
    pub eq: Bits<7>,
}

/// State of an EQ.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct EqState {
    /// The EQ exists.
    pub enabled: Bit,
    /// It was full and lost events, which no EQE has told yet.
    pub lost: Bit,
    /// An interrupt is wanted for the next EQE.
    pub armed: Bit,
    /// An interrupt waits for the end of the gap.
    pub pending: Bit,
    /// The gap behind the last interrupt may not be over.
    pub waiting: Bit,
    /// Running index of the next EQE.
    pub producer: Bits<24>,
    /// Time of the last interrupt.
    pub last: Bits<16>,
}

/// What an EQ is configured with.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct EqPlan {
    /// Base address of the ring.
    pub base: Bits<64>,
    /// Log2 of its EQEs.
    pub log_size: Bits<4>,
    /// MSI-X vector.
    pub vector: Bits<7>,
    /// Least time between two interrupts.
    pub gap: Bits<12>,
}

/// What the EQ writer is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct EqVisit {
    /// EQ.
    pub eq: Bits<7>,
    /// It is made anew or, unless `enabled`, taken away.
    pub restart: Bit,
    /// It exists afterwards.
    pub enabled: Bit,
    /// Its doorbell was rung.
    pub bell: Bit,
    /// With `bell`: an interrupt is wanted.
    pub arm: Bit,
    /// It has an event.
    pub event: Bit,
    /// A CQ of it is gone.
    pub mark: Bit,
    /// Kind of the event.
    pub kind: Bits<8>,
    /// CQ or QP of the event.
    pub index: Bits<14>,
}
