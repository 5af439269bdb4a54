//! Descriptors of the transmit side.

use ferroce_emit::prelude::*;

/// Asks the scheduler to visit a QP: a WQE has arrived, the window has opened or a rewind was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct Kick {
    /// QP index.
    pub qp: Bits<14>,
}

/// The sender's answer to a scheduler visit.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct VisitDone {
    /// QP index.
    pub qp: Bits<14>,
    /// A packet was sent and the QP wants another visit; else it is parked until a kick.
    pub more: Bit,
}

/// Completer to WQE cache to sender: go back to a WQE and PSN, or halt the QP.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct Rewind {
    /// QP index.
    pub qp: Bits<14>,
    /// SQ index of the WQE to go back to.
    pub wqe: Bits<16>,
    /// PSN of the packet to send next.
    pub psn: Bits<24>,
    /// PSN of the first packet of that WQE; `psn - first_psn` packets of it are skipped.
    pub first_psn: Bits<24>,
    /// Stop sending (RNR wait, error). A later rewind without `halt` resumes.
    pub halt: Bit,
}

/// One packet to be built, in wire order of its QP. Requests come from the sender, answers from the responder.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct TxPkt {
    /// QP index: selects the address vector.
    pub qp: Bits<14>,
    /// BTH opcode.
    pub opcode: Bits<8>,
    /// BTH solicited event bit.
    pub se: Bit,
    /// BTH AckReq bit.
    pub ackreq: Bit,
    /// BTH PSN.
    pub psn: Bits<24>,
    /// A RETH follows the BTH (virtual address, R_Key, DMA length below).
    pub has_reth: Bit,
    /// An AtomicETH follows the BTH (virtual address, R_Key, `addr` as swap or add data, `compare`). There is no payload.
    pub has_atomic: Bit,
    /// An ImmDt (or IETH) follows.
    pub has_imm: Bit,
    /// An AETH follows.
    pub has_aeth: Bit,
    /// With `has_aeth`: an AtomicAckETH follows it, whose value is `va`.
    pub has_value: Bit,
    /// RETH virtual address.
    pub va: Bits<64>,
    /// RETH R_Key.
    pub rkey: Bits<32>,
    /// RETH DMA length in bytes.
    pub dma_len: Bits<32>,
    /// ImmDt or IETH exactly as it goes on the wire: `imm[7:0]` is the first byte.
    pub imm: Bits<32>,
    /// AETH syndrome.
    pub syndrome: Bits<8>,
    /// AETH MSN.
    pub msn: Bits<24>,
    /// Payload bytes, 0 to 4096, pad not counted.
    pub len: Bits<13>,
    /// Host address of the payload, checked against its MR.
    pub addr: Bits<64>,
    /// AtomicETH compare data.
    pub compare: Bits<64>,
    /// It answers a READ or an atomic; what follows is about these.
    pub answer: Bit,
    /// Last packet of the answer.
    pub ends: Bit,
    /// A NAK because the host's memory failed.
    pub failed: Bit,
    /// It answers a new request, not a duplicate.
    pub counted: Bit,
    /// There is nothing to send, only an end to be told.
    pub silent: Bit,
    /// `Answer::life`.
    pub life: Bits<8>,
}

/// Retransmit table entry: one message that was begun, at `[qp][wqe mod depth]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct Sent {
    /// PSN of the message's first packet.
    pub first_psn: Bits<24>,
    /// PSN of its last packet.
    pub last_psn: Bits<24>,
    /// Work request opcode (`ferroce_abi::wqe` numbers).
    pub opcode: Bits<8>,
    /// A CQE is wanted on success.
    pub signaled: Bit,
    /// Message length in bytes, for the CQE.
    pub len: Bits<32>,
    /// Blocks of the WQE behind its first.
    pub extra: Bits<2>,
}

/// Write port of the retransmit table (sender to completer).
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct SentWrite {
    /// Write in this cycle.
    pub valid: Bit,
    /// QP index.
    pub qp: Bits<14>,
    /// SQ index of the WQE.
    pub wqe: Bits<16>,
    /// First PSN, see [`Sent`].
    pub first_psn: Bits<24>,
    /// Last PSN.
    pub last_psn: Bits<24>,
    /// Work request opcode.
    pub opcode: Bits<8>,
    /// A CQE is wanted on success.
    pub signaled: Bit,
    /// Message length in bytes.
    pub len: Bits<32>,
    /// Blocks of the WQE behind its first.
    pub extra: Bits<2>,
    /// A READ or atomic that was never begun before.
    pub job: Bit,
    /// Its number among the QP's READs and atomics, modulo 16.
    pub number: Bits<4>,
    /// Where its data goes: first byte, checked against the region of `lkey`.
    pub addr: Bits<64>,
    /// By which region.
    pub lkey: Bits<32>,
}

/// Published by the sender on every state write, read by the completer from its own copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct SenderPub {
    /// Write in this cycle.
    pub valid: Bit,
    /// QP index.
    pub qp: Bits<14>,
    /// PSN after the highest one ever sent (does not go back on a rewind).
    pub max_psn: Bits<24>,
    /// SQ index after the newest WQE ever begun (does not go back on a rewind).
    pub begun: Bits<16>,
    /// READs and atomics ever begun since the QP was configured, modulo 64.
    pub jobs: Bits<6>,
}

/// Published by the completer on every state write, read by the sender from its own copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct CompleterPub {
    /// Write in this cycle.
    pub valid: Bit,
    /// QP index.
    pub qp: Bits<14>,
    /// Oldest unacknowledged PSN.
    pub una_psn: Bits<24>,
    /// SQ index of the oldest WQE that is not retired.
    pub una_wqe: Bits<16>,
    /// READs and atomics retired since the QP was configured, modulo 64.
    pub jobs: Bits<6>,
}

/// Sender to completer: a WQE failed locally and the QP was halted there.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct LocalError {
    /// QP index.
    pub qp: Bits<14>,
    /// SQ index of the failing WQE; everything before it was begun, nothing from it on.
    pub wqe: Bits<16>,
    /// Completion status (`ferroce_abi::cqe::Status` numbers).
    pub status: Bits<8>,
}

/// Owner of a queue (sender, responder) to its WQE cache: the owner now stands at `wqe`, so every WQE
/// before it may leave the cache. Sent whenever the position changes, in order: after a WQE was
/// used up, after a rewind was taken, and when configuration restarts the queue. A position outside of the
/// cached window empties the window and begins it anew there.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct Consumed {
    /// QP index.
    pub qp: Bits<14>,
    /// SQ or RQ index of the WQE that the owner needs next.
    pub wqe: Bits<16>,
}

/// A [`Consumed`] of the sender, and the payload of the WQE that it has just used up, if that is in the WQE itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct SqConsumed {
    /// QP index.
    pub qp: Bits<14>,
    /// SQ index of the WQE that the sender needs next.
    pub wqe: Bits<16>,
    /// SQ index of the WQE with payload.
    pub first: Bits<16>,
    /// Blocks of it with payload, 0 to 4, each a beat of its frame's payload.
    pub beats: Bits<3>,
}

/// Published by the SQ WQE cache on every state write, read by the completer from its own copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct SqPub {
    /// Write in this cycle.
    pub valid: Bit,
    /// QP index.
    pub qp: Bits<14>,
    /// Producer index: SQ index after the newest WQE that was posted.
    pub pi: Bits<16>,
}
