//! What the parts of a WQE cache tell each other.

use ferroce_abi::limits::WQE_BLOCKS;
use ferroce_emit::prelude::*;

/// Largest window of a queue, log2 of WQEs: `level` has room for no more.
pub const MAX_WINDOW_LOG2: usize = 8;
/// Longest burst, log2 of WQEs: those of a 4 KiB page.
pub const MAX_BURST_LOG2: usize = 6;
/// Cycles from a push's `WindowPub` to its last block in its slot: the blocks one after the other, and two registers in front of the slots.
pub const PUSH_COPY_CYCLES: usize = WQE_BLOCKS + 1;
/// Tags of one cache, log2: so many bursts of different QPs may be in flight.
pub const TAGS_LOG2: usize = 5;

/// A burst has arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct BurstDone {
    /// QP index.
    pub qp: Bits<14>,
    /// The burst's tag.
    pub tag: Bits<5>,
    /// WQEs of the burst.
    pub count: Bits<7>,
    /// The read failed.
    pub err: Bit,
}

/// What happens to the state of a queue.
#[derive(Clone, Copy, Debug, PartialEq, LogicState, FromBits)]
pub enum EventKind {
    /// The ring was configured.
    Configure,
    /// A burst has arrived.
    Arrived,
    /// The owner stands at another index.
    Position,
    /// The host has posted WQEs.
    Doorbell,
    /// The QP's turn to fetch has come.
    Fetch,
}

/// One event.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct WqeEvent {
    /// What happens.
    pub kind: EventKind,
    /// QP index.
    pub qp: Bits<14>,
    /// Doorbell: producer index. Position: index that the owner needs next.
    pub index: Bits<16>,
    /// Arrived: WQEs of the burst. Doorbell: blocks that were pushed.
    pub count: Bits<7>,
    /// Doorbell: where they are.
    pub place: Bits<3>,
    /// Arrived: the read failed. Configure: the ring exists.
    pub flag: Bit,
}

/// State of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct WqeState {
    /// The ring exists.
    pub enabled: Bit,
    /// Waits for its turn to fetch, or a burst is in flight.
    pub busy: Bit,
    /// The burst in flight begins where the window no longer ends.
    pub stale: Bit,
    /// The newest block of the window could not be read.
    pub bad: Bit,
    /// Blocks in the window, which is `[fetched - level, fetched)`.
    pub level: Bits<9>,
    /// Index after the newest WQE in the window.
    pub fetched: Bits<16>,
    /// Producer index.
    pub producer: Bits<16>,
}

/// The readers' copy of the state, written with every change.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct WindowPub {
    /// Write in this cycle.
    pub valid: Bit,
    /// QP index.
    pub qp: Bits<14>,
    /// The newest block of the window could not be read.
    pub bad: Bit,
    /// WQEs in the window.
    pub level: Bits<9>,
    /// Index after the newest WQE in the window.
    pub fetched: Bits<16>,
    /// Producer index.
    pub producer: Bits<16>,
}

/// A burst to be read: the state that decides how long it gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct FetchJob {
    /// A job in this cycle.
    pub valid: Bit,
    /// QP index.
    pub qp: Bits<14>,
    /// First WQE.
    pub fetched: Bits<16>,
    /// WQEs in the window already.
    pub level: Bits<9>,
    /// Producer index; not `fetched`.
    pub producer: Bits<16>,
}

/// What becomes of a push.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct PushJob {
    /// A job in this cycle.
    pub valid: Bit,
    /// It goes into the window; else it is forgotten.
    pub taken: Bit,
    /// QP index.
    pub qp: Bits<14>,
    /// Index of its first block.
    pub first: Bits<16>,
    /// Blocks, 1 to 4.
    pub blocks: Bits<3>,
    /// Where they are.
    pub place: Bits<3>,
}

/// A pushed block for its slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct PushBeat {
    /// In this cycle.
    pub valid: Bit,
    /// QP index.
    pub qp: Bits<14>,
    /// Lowest bits of its index.
    pub index: Bits<8>,
    /// The 64 bytes.
    pub data: Bits<512>,
}

/// A block is written into its slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct BlockWrite {
    /// In this cycle.
    pub valid: Bit,
    /// `[qp][index mod window]`.
    pub slot: Bits<20>,
    /// The 64 bytes.
    pub data: Bits<512>,
}

/// A burst in flight, by tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct Burst {
    /// QP index.
    pub qp: Bits<14>,
    /// Lowest bits of the first WQE's index.
    pub first: Bits<8>,
    /// WQEs.
    pub count: Bits<7>,
}
