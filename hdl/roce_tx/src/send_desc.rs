//! What the stages of the sender hand to each other.

use ferroce_emit::prelude::*;
use ferroce_rtl::desc::pages::Via;

/// Where a QP's sender stands; written by the last stage only.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct SendState {
    /// SQ index of the WQE to send from.
    pub wqe: Bits<16>,
    /// Packets of it already sent.
    pub sent: Bits<24>,
    /// PSN of the next packet.
    pub psn: Bits<24>,
    /// Nothing is sent until a rewind or a configuration.
    pub halted: Bit,
    /// Rewinds and configurations so far.
    pub turn: Bits<8>,
}

/// How far a QP's sender ever came; a rewind leaves it alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct SendHigh {
    /// PSN after the highest one sent.
    pub max_psn: Bits<24>,
    /// SQ index after the newest WQE begun.
    pub begun: Bits<16>,
    /// PSN of that WQE's first packet.
    pub newest_psn: Bits<24>,
    /// That WQE's last packet has never been sent.
    pub open: Bit,
    /// READs and atomics begun since the QP was configured, modulo 64.
    pub jobs: Bits<6>,
}

/// What the packet stages need of a QP's configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct SendCfg {
    /// The QP may send.
    pub enabled: Bit,
    /// Log2 of the path MTU in bytes, 8 to 12.
    pub pmtu: Bits<4>,
    /// Protection domain.
    pub pd: Bits<16>,
    /// READs and atomics that may be unanswered.
    pub max_reads: Bits<5>,
    /// Configurations so far.
    pub life: Bits<8>,
}

/// The sender's copy of what the completer published.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct SendUna {
    /// Oldest unacknowledged PSN.
    pub psn: Bits<24>,
    /// SQ index of the oldest WQE that is not retired.
    pub wqe: Bits<16>,
    /// READs and atomics retired since the QP was configured, modulo 64.
    pub jobs: Bits<6>,
}

/// One item of the sender's pipeline: at most one of `visit` and `set` is high, none in an empty slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct SendItem {
    /// Send a packet if there is one.
    pub visit: Bit,
    /// With `visit`: the state is about to be replaced, so the visit ends with nothing done and is repeated.
    pub bounce: Bit,
    /// Replace the state by `wqe`, `sent`, `psn` and `halted` (rewind, configuration).
    pub set: Bit,
    /// With `set`: replace [`SendHigh`] and [`SendCfg`] too.
    pub configure: Bit,
    /// QP index.
    pub qp: Bits<14>,
    /// New state of a `set`.
    pub wqe: Bits<16>,
    /// New state of a `set`.
    pub sent: Bits<24>,
    /// New state of a `set`.
    pub psn: Bits<24>,
    /// New state of a `set`.
    pub halted: Bit,
    /// New configuration.
    pub enabled: Bit,
    /// New configuration.
    pub pmtu: Bits<4>,
    /// New configuration.
    pub pd: Bits<16>,
    /// New configuration.
    pub max_reads: Bits<5>,
}

/// Everything the RAMs know of an item's QP.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct SendContext {
    /// The item.
    pub item: SendItem,
    /// State before it.
    pub state: SendState,
    /// Furthest position before it.
    pub high: SendHigh,
    /// Configuration.
    pub cfg: SendCfg,
    /// The completer's position.
    pub una: SendUna,
}

/// What the windows allow.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct SendGate {
    /// A packet may be sent.
    pub open: Bit,
    /// The sender was sent back, and everything it has ever sent is acknowledged by now: go on after that.
    pub skip: Bit,
}

/// Most bytes that one visit sends: a page, so 1 packet at a path MTU of 4096 and 16 at 256.
pub const VISIT_BYTES: u64 = 4096;
/// Most packets that one visit sends.
pub const MAX_VISIT_PACKETS: u64 = 16;

/// What a visit would send, and the state after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct SendPlan {
    /// Completion status of a malformed WQE, 0 if it is well-formed.
    pub status: Bits<8>,
    /// It begins the message.
    pub first: Bit,
    /// It ends the message.
    pub last: Bit,
    /// RDMA WRITE; of those that are no job, else SEND.
    pub write: Bit,
    /// A READ or atomic: one packet, and as many PSNs as its answer has packets.
    pub job: Bit,
    /// A READ or atomic that was never begun before.
    pub new_job: Bit,
    /// It must wait: for READs and atomics to end, or a READ for PSNs.
    pub hold: Bit,
    /// With immediate.
    pub imm: Bit,
    /// The last packet is a solicited event.
    pub se: Bit,
    /// Packets but one.
    pub more: Bits<4>,
    /// Payload bytes of all packets.
    pub bytes: Bits<13>,
    /// Remote virtual address.
    pub va: Bits<64>,
    /// Bytes of the message from there on.
    pub dma_len: Bits<32>,
    /// Host address of the payload, or its offset in the WQE.
    pub addr: Bits<64>,
    /// Beats of a payload that is in the WQE; 0 if it is in host memory.
    pub inline_beats: Bits<3>,
    /// PSN of the message's last packet, counted from this one if it is the first.
    pub last_psn: Bits<24>,
    /// State after it.
    pub next_wqe: Bits<16>,
    /// State after it.
    pub next_sent: Bits<24>,
    /// State after it.
    pub next_psn: Bits<24>,
    /// Furthest position after it.
    pub high: SendHigh,
}

/// Packets of one message in a row, to be cut apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct TxChunk {
    /// QP index.
    pub qp: Bits<14>,
    /// SQ index of the message.
    pub wqe: Bits<16>,
    /// Rewinds and configurations of the QP so far.
    pub turn: Bits<8>,
    /// Configurations of the QP so far.
    pub life: Bits<8>,
    /// It begins the message.
    pub first: Bit,
    /// It ends the message.
    pub last: Bit,
    /// RDMA WRITE; of those that are no job, else SEND.
    pub write: Bit,
    /// A READ or atomic: one packet without payload, the first and the last.
    pub job: Bit,
    /// With `job`: an atomic.
    pub atomic: Bit,
    /// With `atomic`: compare and swap; else fetch and add.
    pub swap: Bit,
    /// With immediate.
    pub has_imm: Bit,
    /// The last packet is a solicited event.
    pub se: Bit,
    /// Packets but one.
    pub more: Bits<4>,
    /// Log2 of the path MTU in bytes.
    pub pmtu: Bits<4>,
    /// Number of the first packet in its message, modulo 16.
    pub number: Bits<4>,
    /// PSN of the first packet.
    pub psn: Bits<24>,
    /// RETH or AtomicETH virtual address.
    pub va: Bits<64>,
    /// RETH or AtomicETH R_Key.
    pub rkey: Bits<32>,
    /// RETH length: bytes of the message, or of what is asked for again of a READ.
    pub dma_len: Bits<32>,
    /// ImmDt as on the wire.
    pub imm: Bits<32>,
    /// Payload bytes of all packets.
    pub bytes: Bits<13>,
    /// Host address of the payload, or its offset in the WQE. Atomic: swap or add data.
    pub addr: Bits<64>,
    /// Atomic: compare data.
    pub compare: Bits<64>,
    /// By which region it goes.
    pub via: Via,
    /// Beats of a payload that is in the WQE; 0 if it is in host memory.
    pub inline_beats: Bits<3>,
}
