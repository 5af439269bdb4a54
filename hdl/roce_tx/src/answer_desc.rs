//! What the blocks that answer READs and atomics hand to each other.

use ferroce_emit::prelude::*;
use ferroce_rtl::desc::pages::Via;

/// READs and atomics of a QP that wait here, log2: as many new ones as may be unanswered, and, of duplicates, what keeps the sum
/// below [`DUPLICATES_BELOW`] when they come.
pub const JOBS_LOG2: usize = 5;
/// A duplicate is dropped when so many jobs of its QP wait: the places of 16 new ones stay free, and the peer, which repeats everything
/// it asks for twice, can't have more than 16 duplicates of use under way.
pub const DUPLICATES_BELOW: u64 = 16;
/// Results of atomics that are kept of a QP, log2: as many as may be unanswered.
pub const RESULTS_LOG2: usize = 4;
/// Most bytes that one visit answers: a page, so 1 packet at a path MTU of 4096 and 16 at 256.
pub const VISIT_BYTES: u64 = 4096;

/// A READ or an atomic that is to be answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct Job {
    /// First PSN of the answer.
    pub psn: Bits<24>,
    /// AETH MSN.
    pub msn: Bits<24>,
    /// New, not a duplicate.
    pub counted: Bit,
    /// An atomic; else a READ.
    pub atomic: Bit,
    /// Compare and swap; else fetch and add.
    pub swap: Bit,
    /// Log2 of the path MTU in bytes.
    pub pmtu: Bits<4>,
    /// Host address.
    pub addr: Bits<64>,
    /// By which region.
    pub via: Via,
    /// READ: bytes in bits 31:0. Atomic: swap or add data.
    pub operand: Bits<64>,
    /// Atomic: compare data.
    pub compare: Bits<64>,
}

/// A QP has a job to go on with.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct JobVisit {
    /// QP index.
    pub qp: Bits<14>,
    /// Place of the job.
    pub slot: Bits<JOBS_LOG2>,
    /// Restarts of the QP so far.
    pub life: Bits<8>,
}

/// A visit is over, or the QP may be visited again after an atomic.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct JobDone {
    /// QP index.
    pub qp: Bits<14>,
    /// Of the visit.
    pub life: Bits<8>,
    /// All packets of the job are made: the next job is next.
    pub issued: Bit,
    /// No visit until the atomic unit has worked.
    pub parked: Bit,
}

/// A packet that answers has left.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct AnswerPassed {
    /// QP index.
    pub qp: Bits<14>,
    /// `Answer::life`.
    pub life: Bits<8>,
    /// It was the last one of its job.
    pub ends: Bit,
    /// The job was new.
    pub counted: Bit,
    /// It is a NAK, as the host's memory failed.
    pub failed: Bit,
}

/// How far the present job of a QP is.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct JobProgress {
    /// Of this job; of another, nothing is done.
    pub slot: Bits<JOBS_LOG2>,
    /// Of this life.
    pub life: Bits<8>,
    /// READ: bytes whose packets are made. Atomic: not 0 once the unit was asked.
    pub sent: Bits<32>,
}

/// Packets of one answer in a row, to be cut apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct AnswerChunk {
    /// QP index.
    pub qp: Bits<14>,
    /// Restarts of the QP so far.
    pub life: Bits<8>,
    /// The job was new.
    pub counted: Bit,
    /// READ: it begins the answer.
    pub first: Bit,
    /// It ends the answer.
    pub last: Bit,
    /// READ: packets but one.
    pub more: Bits<4>,
    /// READ: log2 of the path MTU in bytes.
    pub pmtu: Bits<4>,
    /// PSN of the first packet.
    pub psn: Bits<24>,
    /// AETH MSN.
    pub msn: Bits<24>,
    /// READ: payload bytes of all packets.
    pub bytes: Bits<13>,
    /// READ: host address of the payload.
    pub addr: Bits<64>,
    /// READ: by which region.
    pub via: Via,
    /// The region has gone since the request was checked.
    pub refused: Bit,
    /// Answer to an atomic.
    pub atomic: Bit,
    /// Atomic: the value before it.
    pub value: Bits<64>,
    /// Atomic: the host's memory failed.
    pub failed: Bit,
    /// Atomic: a duplicate whose result is gone.
    pub silent: Bit,
}

/// An atomic for the unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct AtomicOrder {
    /// QP index.
    pub qp: Bits<14>,
    /// Restarts of the QP so far.
    pub life: Bits<8>,
    /// Its PSN.
    pub psn: Bits<24>,
    /// New; else only its result is wanted.
    pub counted: Bit,
    /// Compare and swap; else fetch and add.
    pub swap: Bit,
    /// Bus address, a multiple of 8.
    pub addr: Bits<64>,
    /// Swap or add data.
    pub operand: Bits<64>,
    /// Compare data.
    pub compare: Bits<64>,
}

/// Whether a region is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct RegionLife {
    /// It is.
    pub valid: Bit,
    /// Its epoch.
    pub epoch: Bits<8>,
}

/// What the unit says of the last atomic of a QP.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct AtomicValue {
    /// The value before it.
    pub value: Bits<64>,
    /// The host's memory failed.
    pub failed: Bit,
    /// The result of the duplicate is gone.
    pub gone: Bit,
}

/// A result that is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct AtomicResult {
    /// PSN of the atomic.
    pub psn: Bits<24>,
    /// The value before it.
    pub value: Bits<64>,
}

/// Which results of a QP are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct ResultRing {
    /// Of this life; those of another do not count.
    pub life: Bits<8>,
    /// Place of the next one.
    pub place: Bits<RESULTS_LOG2>,
    /// How many there are, 0 to 16.
    pub count: Bits<5>,
}
