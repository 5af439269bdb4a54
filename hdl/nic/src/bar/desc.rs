//! What the parts of the register window tell each other.

use ferroce_abi::limits::SRQ_BITS;
use ferroce_emit::prelude::*;

/// A write to the mailbox or to the command registers, and the command's start.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct MailboxWrite {
    /// Write the lower half of mailbox word `word`.
    pub low: Bit,
    /// Write the upper half.
    pub high: Bit,
    /// 64-bit word of the mailbox.
    pub word: Bits<5>,
    /// Value of the object register from now on.
    pub object: Bit,
    /// Start the command in `data[7:0]`.
    pub start: Bit,
    /// The word.
    pub data: Bits<64>,
}

/// A doorbell write, before its index and its page were checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct BellWrite {
    /// SQ doorbell.
    pub sq: Bit,
    /// RQ doorbell.
    pub rq: Bit,
    /// CQ doorbell.
    pub cq: Bit,
    /// CQ arm doorbell.
    pub arm: Bit,
    /// EQ doorbell.
    pub eq: Bit,
    /// SRQ doorbell.
    pub srq: Bit,
    /// Doorbell page that it was written to.
    pub page: Bits<7>,
    /// QP, CQ or EQ index, or number of an SRQ.
    pub index: Bits<24>,
    /// SQ doorbells: blocks that were pushed.
    pub pushed: Bits<3>,
    /// Flag of CQ arm and EQ doorbells.
    pub flag: Bit,
    /// Producer or consumer index.
    pub value: Bits<24>,
}

/// A write to a push window.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct PushWrite {
    /// In this cycle.
    pub valid: Bit,
    /// All of the word is written.
    pub whole: Bit,
    /// Doorbell page.
    pub page: Bits<7>,
    /// 64-bit word of the window.
    pub word: Bits<5>,
    /// The word.
    pub data: Bits<64>,
}

/// A pushed block.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct LineWrite {
    /// In this cycle.
    pub valid: Bit,
    /// Place of its push, and its number in it.
    pub place: Bits<5>,
    /// The 64 bytes.
    pub data: Bits<512>,
}

/// What a read of the register window shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct BarRead {
    /// A read in this cycle.
    pub valid: Bit,
    /// An identification register.
    pub ident: Bit,
    /// The command and status registers.
    pub status: Bit,
    /// The object register.
    pub object: Bit,
    /// One of the words of an answer to a query.
    pub answer: Bit,
    /// A counter.
    pub counter: Bit,
    /// Word of the region.
    pub word: Bits<7>,
}

/// What the command engine remembers of a QP.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct QpRecord {
    /// State, as `ferroce_abi::mailbox::QpState`.
    pub state: Bits<3>,
    /// It completes receives into a CQ.
    pub has_recv: Bit,
    /// That CQ.
    pub recv_cq: Bits<14>,
    /// It completes sends into a CQ.
    pub has_send: Bit,
    /// That CQ.
    pub send_cq: Bits<14>,
    /// It takes receive WQEs from an SRQ.
    pub has_srq: Bit,
    /// That SRQ.
    pub srq: Bits<SRQ_BITS>,
}

/// What the command engine remembers of a CQ or SRQ.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct CqRecord {
    /// It exists.
    pub exists: Bit,
    /// It has an EQ.
    pub has_eq: Bit,
    /// That EQ.
    pub eq: Bits<7>,
}

/// Where a QP is.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct QpPosition {
    /// PSN after the highest one sent.
    pub sq_psn: Bits<24>,
    /// Oldest unacknowledged PSN.
    pub una_psn: Bits<24>,
    /// SQ producer index.
    pub sq_posted: Bits<16>,
    /// SQ index after the newest WQE begun.
    pub sq_begun: Bits<16>,
    /// SQ index of the oldest WQE that is not retired.
    pub sq_oldest: Bits<16>,
    /// RQ producer index.
    pub rq_posted: Bits<16>,
    /// RQ index of the next WQE.
    pub rq_next: Bits<16>,
}

/// Where an SRQ is.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct SrqPosition {
    /// Its limit; 0 when none is armed.
    pub limit: Bits<16>,
    /// Producer index.
    pub posted: Bits<16>,
    /// Index of the WQE that the next message takes.
    pub taken: Bits<16>,
}

/// Where a CQ or EQ is.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct QueuePosition {
    /// It was full and has lost entries.
    pub lost: Bit,
    /// It is armed.
    pub armed: Bit,
    /// Running index of the next entry.
    pub producer: Bits<24>,
    /// Running index after the last entry that the host has taken out.
    pub consumer: Bits<24>,
}
