//! Descriptors of the receive side.

use crate::desc::pages::Via;
use ferroce_emit::prelude::*;

/// Headers of one received frame, lengths and ICRC already verified by the parser.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct RxMeta {
    /// BTH opcode.
    pub opcode: Bits<8>,
    /// BTH solicited event.
    pub se: Bit,
    /// BTH AckReq.
    pub ackreq: Bit,
    /// BTH pad count.
    pub pad: Bits<2>,
    /// BTH P_Key.
    pub pkey: Bits<16>,
    /// BTH destination QPN, all 24 bits as received.
    pub dqpn: Bits<24>,
    /// BTH PSN.
    pub psn: Bits<24>,
    /// IPv4 source address, first wire byte in bits 31:24.
    pub src_ip: Bits<32>,
    /// RETH or AtomicETH virtual address.
    pub va: Bits<64>,
    /// RETH or AtomicETH R_Key.
    pub rkey: Bits<32>,
    /// RETH DMA length in bytes.
    pub dma_len: Bits<32>,
    /// AtomicETH swap or add data.
    pub operand: Bits<64>,
    /// AtomicETH compare data.
    pub compare: Bits<64>,
    /// ImmDt or IETH as on the wire: `imm[7:0]` is the first byte.
    pub imm: Bits<32>,
    /// AETH syndrome.
    pub syndrome: Bits<8>,
    /// AETH MSN.
    pub msn: Bits<24>,
    /// Payload bytes, pad not counted, 0 to 4096.
    pub len: Bits<13>,
    /// Byte offset of the payload in the frame's first two beats (54 to 127).
    pub hdr_len: Bits<7>,
    /// Beats of the frame in the packet buffer.
    pub beats: Bits<8>,
}

/// Added to a completion status in [`AckInfo::syndrome`]; on the wire bit 7 of a syndrome is 0.
pub const BAD_DATA: u64 = 0xE0;

/// What a response tells the completer: an ACK, NAK or RNR NAK; or, with `data`, what became of data of READs and atomics.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct AckInfo {
    /// No response: the pipeline takes no more data for a QP whose requester has failed, and all it took before is on its way to the host.
    pub halted: Bit,
    /// With `data`: to be told once the data is on its way to the host.
    pub landing: Bit,
    /// About data. It speaks for READs and atomics too, which ACKs and NAKs do not: an ACK says that all data up to `psn` has come, and a NAK all
    /// before it.
    pub data: Bit,
    /// QP index, checked.
    pub qp: Bits<14>,
    /// BTH PSN; of a NAK with `data` the PSN whose data was expected.
    pub psn: Bits<24>,
    /// AETH syndrome. With `data` 0x1F, or 0x60 when data is missing, or [`BAD_DATA`] plus the completion status of data that can't be taken.
    pub syndrome: Bits<8>,
    /// AETH MSN.
    pub msn: Bits<24>,
}

/// Responder to transmit side: answer with an ACK or NAK (opcode 0x11).
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct AckJob {
    /// QP index.
    pub qp: Bits<14>,
    /// BTH PSN of the answer.
    pub psn: Bits<24>,
    /// AETH syndrome.
    pub syndrome: Bits<8>,
    /// AETH MSN.
    pub msn: Bits<24>,
}

/// Responder to transmit side, in the order of the requests. One of `ack`, `job` and `reset` is high; if none, nothing is
/// sent: the QP has failed at a [`Kill`], and `syndrome` says how.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct Answer {
    /// An ACK or NAK (opcode 0x11).
    pub ack: Bit,
    /// With `ack`: of a duplicate. It does not displace a NAK that waits.
    pub again: Bit,
    /// A READ or an atomic, which is answered with data.
    pub job: Bit,
    /// The responder was restarted: what is not sent yet is forgotten.
    pub reset: Bit,
    /// QP index.
    pub qp: Bits<14>,
    /// First PSN of the answer.
    pub psn: Bits<24>,
    /// AETH syndrome of an ACK or NAK.
    pub syndrome: Bits<8>,
    /// AETH MSN.
    pub msn: Bits<24>,
    /// With `job`: new, not a duplicate.
    pub counted: Bit,
    /// With `job`: an atomic; else a READ.
    pub atomic: Bit,
    /// With `atomic`: compare and swap; else fetch and add.
    pub swap: Bit,
    /// Log2 of the path MTU in bytes.
    pub pmtu: Bits<4>,
    /// Host address, checked against its MR. An atomic's is a bus address, a READ's may be virtual.
    pub addr: Bits<64>,
    /// By which region.
    pub via: Via,
    /// READ: bytes in bits 31:0. Atomic: swap or add data.
    pub operand: Bits<64>,
    /// Atomic: compare data.
    pub compare: Bits<64>,
    /// With `reset`: READs and atomics accepted so far, modulo 64.
    pub jobs: Bits<6>,
    /// With `reset`: restarts of the QP so far, modulo 256.
    pub life: Bits<8>,
}

/// Published by the transmit side: READs and atomics of a QP that are answered, or forgotten in a restart. New ones
/// only, modulo 64.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct AnsweredPub {
    /// Write in this cycle.
    pub valid: Bit,
    /// QP index.
    pub qp: Bits<14>,
    /// How many so far.
    pub jobs: Bits<6>,
}

/// Transmit side to responder: an answer could not be given, so the QP takes no more requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct Kill {
    /// QP index.
    pub qp: Bits<14>,
    /// [`Answer::life`] of that answer; a restart since makes the error void.
    pub life: Bits<8>,
}

/// One completion to be written. Its fields are those of `ferroce_abi::cqe`.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct CqeJob {
    /// CQ index.
    pub cq: Bits<14>,
    /// QP index.
    pub qp: Bits<14>,
    /// CQE opcode.
    pub opcode: Bits<8>,
    /// Completion status.
    pub status: Bits<8>,
    /// CQE flags.
    pub flags: Bits<8>,
    /// Bytes received or sent.
    pub byte_len: Bits<32>,
    /// Immediate as on the wire: `imm[7:0]` is the first byte.
    pub imm: Bits<32>,
    /// SQ or RQ index of the WQE.
    pub wqe: Bits<16>,
    /// No completion, but the mark behind the last one that a QP makes of its SRQ's WQEs.
    pub last: Bit,
}

/// What the mover does with the oldest frame in the packet buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct Verdict {
    /// Write `len` bytes to host memory at `addr`; else the frame is only removed.
    pub place: Bit,
    /// Host address, checked against its MR.
    pub addr: Bits<64>,
    /// Bits 63:12 of the host address of what lies behind the next 4 KiB boundary.
    pub page2: Bits<52>,
    /// Bytes, 1 to 4096.
    pub len: Bits<13>,
    /// A READ or atomic, which may begin once all payload before it is on its way to the host.
    pub fence: Bit,
    /// Data of an own READ or atomic: the completer hears of it once it is on its way to the host.
    pub landing: Bit,
    /// Byte offset of the payload in the frame.
    pub hdr_len: Bits<7>,
    /// Beats of the frame in the packet buffer.
    pub beats: Bits<8>,
    /// A CQE follows once the payload is on its way to the host.
    pub has_cqe: Bit,
    /// CQ index of that CQE.
    pub cq: Bits<14>,
    /// QP index.
    pub qp: Bits<14>,
    /// CQE opcode.
    pub opcode: Bits<8>,
    /// CQE status.
    pub status: Bits<8>,
    /// CQE flags.
    pub flags: Bits<8>,
    /// CQE byte length.
    pub byte_len: Bits<32>,
    /// CQE immediate.
    pub imm: Bits<32>,
    /// RQ index of the WQE, or an SRQ WQE's name (`ferroce_abi::cqe::SharedWqe`).
    pub wqe: Bits<16>,
    /// With `has_cqe`: see [`CqeJob`].
    pub last: Bit,
}

/// The responder's position in a receive queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct RqPosition {
    /// It changes in this cycle.
    pub valid: Bit,
    /// Receive queue: a QP's own RQ is numbered as the QP, SRQs follow behind all QPs.
    pub queue: Bits<14>,
    /// Index of the next receive WQE.
    pub rq: Bits<16>,
}

/// Published by the RQ WQE cache on every state write, read by the responder from its own copy: a request
/// that needs a receive WQE is RNR while the responder's RQ index equals `fetched`, which it must know
/// in the cycle in which it decides about the PSN.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct RqPub {
    /// Write in this cycle.
    pub valid: Bit,
    /// Receive queue, see [`RqPosition`].
    pub queue: Bits<14>,
    /// RQ index after the newest WQE in the cache.
    pub fetched: Bits<16>,
    /// Producer index: a WQE between `fetched` and `posted` is under way.
    pub posted: Bits<16>,
}
