//! A packet between the stages of the control pipeline.

use ferroce_emit::prelude::*;
use ferroce_rtl::desc::rx::RxMeta;

/// What the opcode says; all low for what is no request.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct PacketClass {
    /// SEND of any kind.
    pub send: Bit,
    /// RDMA WRITE of any kind.
    pub write: Bit,
    /// READ request.
    pub read: Bit,
    /// Atomic.
    pub atomic: Bit,
    /// Compare and swap; else, of an atomic, fetch and add.
    pub swap: Bit,
    /// FIRST, ONLY, READ or atomic.
    pub begins: Bit,
    /// LAST, ONLY, READ or atomic.
    pub ends: Bit,
    /// Carries an immediate.
    pub imm: Bit,
}

/// Why a packet is dropped without an answer; at most one.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct DropReason {
    /// No such QP.
    pub qpn: Bit,
    /// QP not enabled.
    pub state: Bit,
    /// P_Key differs.
    pub pkey: Bit,
    /// Not from the QP's peer.
    pub peer: Bit,
    /// Response that nothing here can have asked for.
    pub opcode: Bit,
}

/// A packet, or a configuration write that goes through the pipeline like one, after the checks that do
/// not depend on the QP's progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct Checked {
    /// There is one.
    pub valid: Bit,
    /// A configuration write: take `meta.psn` if `restart`, index 0 in `queue` if `restart_rq`.
    pub reconfig: Bit,
    /// See `reconfig`.
    pub restart: Bit,
    /// See `reconfig`.
    pub restart_rq: Bit,
    /// The configuration write ends the message in progress.
    pub stops: Bit,
    /// The QP has failed elsewhere in the life `meta.syndrome`.
    pub kill: Bit,
    /// The QP's requester has failed.
    pub halt: Bit,
    /// QP index.
    pub qp: Bits<14>,
    /// The headers.
    pub meta: RxMeta,
    /// What the opcode says.
    pub class: PacketClass,
    /// A request for an existing QP that takes it.
    pub request: Bit,
    /// An ACK or NAK for an existing QP.
    pub response: Bit,
    /// Data of a READ or atomic for an existing QP.
    pub data: Bit,
    /// With `data`: the payload is as long as the path MTU.
    pub full: Bit,
    /// With `data`: the payload is no longer than the path MTU.
    pub fits: Bit,
    /// Otherwise, why not.
    pub drop: DropReason,
    /// The request is invalid whatever the QP's progress (NAK 0x61).
    pub invalid: Bit,
    /// QP's protection domain.
    pub pd: Bits<16>,
    /// QP's receive CQ.
    pub cq: Bits<14>,
    /// QP's RNR timer code.
    pub min_rnr: Bits<5>,
    /// Receive WQEs come from an SRQ.
    pub shared: Bit,
    /// Receive queue, numbered as in `RqPosition`.
    pub queue: Bits<14>,
    /// Its index after the newest receive WQE in the cache.
    pub fetched: Bits<16>,
    /// PSNs that the request takes.
    pub psns: Bits<24>,
    /// READs and atomics that may be accepted in all, modulo 64.
    pub job_limit: Bits<6>,
    /// Log2 of the path MTU.
    pub pmtu: Bits<4>,
}

/// What data is to a QP's oldest READ or atomic; at most one of the first four is high.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct DataStep {
    /// In order and right: to be placed.
    pub lands: Bit,
    /// The first one behind a gap.
    pub missing: Bit,
    /// In order and wrong.
    pub misfit: Bit,
    /// Nothing of this PSN is asked for, now or ever.
    pub stray: Bit,
    /// It comes before what is expected, and is dropped.
    pub behind: Bit,
    /// It comes after what is expected, and is dropped.
    pub ahead: Bit,
    /// With `misfit`: completion status of the WQE.
    pub status: Bits<8>,
    /// The packet's PSN; without `lands` the expected one.
    pub psn: Bits<24>,
    /// 8 bytes of an atomic, not a READ's payload.
    pub atomic: Bit,
    /// Where the data of the whole READ or atomic goes.
    pub addr: Bits<64>,
    /// By which region.
    pub lkey: Bits<32>,
    /// Bytes of it before this packet.
    pub offset: Bits<32>,
}

/// A packet after the responder's state loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct Decided {
    /// A packet, which gets one verdict.
    pub packet: Bit,
    /// A configuration write instead.
    pub reconfig: Bit,
    /// It restarts the QP.
    pub restart: Bit,
    /// It restarts the receive queue.
    pub restart_rq: Bit,
    /// It ends the message in progress.
    pub stops: Bit,
    /// The QP has failed elsewhere in the life `syndrome`.
    pub kill: Bit,
    /// The QP's requester has failed: it takes no more data.
    pub halt: Bit,
    /// QP index.
    pub qp: Bits<14>,
    /// ACK or NAK for the completer.
    pub response: Bit,
    /// Data of the oldest READ or atomic, in order and right so far: to be placed.
    pub lands: Bit,
    /// Data is missing before this one.
    pub missing: Bit,
    /// Data in order and wrong; the WQE fails with `status`.
    pub misfit: Bit,
    /// See `misfit`.
    pub status: Bits<8>,
    /// Dropped without an answer.
    pub drop: DropReason,
    /// In order and right so far.
    pub accept: Bit,
    /// In order and wrong: NAK 0x61, QP to ERR.
    pub fatal: Bit,
    /// In order without a receive WQE: RNR NAK.
    pub rnr: Bit,
    /// Ahead of the expected PSN.
    pub ahead: Bit,
    /// The first one ahead: NAK 0x60.
    pub gap: Bit,
    /// Duplicate.
    pub duplicate: Bit,
    /// A duplicate to be acknowledged.
    pub again: Bit,
    /// A duplicate READ or atomic to be answered anew.
    pub replay: Bit,
    /// READs and atomics accepted so far, modulo 64.
    pub jobs: Bits<6>,
    /// What the opcode says.
    pub class: PacketClass,
    /// BTH AckReq.
    pub ackreq: Bit,
    /// BTH solicited event.
    pub se: Bit,
    /// PSN of the answer; of the packet itself if `response`, `replay` or `lands`; the expected one if `missing` or `misfit`.
    pub psn: Bits<24>,
    /// MSN of the answer.
    pub msn: Bits<24>,
    /// MSN before this packet, for NAKs.
    pub msn_before: Bits<24>,
    /// AETH syndrome of a response; life of a `kill`.
    pub syndrome: Bits<8>,
    /// The packet takes the next receive WQE.
    pub takes: Bit,
    /// Receive WQEs come from an SRQ.
    pub shared: Bit,
    /// Receive queue, numbered as in `RqPosition`.
    pub queue: Bits<14>,
    /// Index in it of the next receive WQE.
    pub rq: Bits<16>,
    /// Bytes of the message before this packet.
    pub offset: Bits<32>,
    /// Start of the message at the host, not for a SEND.
    pub va: Bits<64>,
    /// R_Key, not for a SEND.
    pub rkey: Bits<32>,
    /// Bytes to check against the R_Key: the whole message with its first packet, else the payload.
    pub check_len: Bits<32>,
    /// READ: bytes in bits 31:0. Atomic: swap or add data.
    pub operand: Bits<64>,
    /// Atomic: compare data.
    pub compare: Bits<64>,
    /// Log2 of the path MTU.
    pub pmtu: Bits<4>,
    /// Payload bytes.
    pub len: Bits<13>,
    /// Byte offset of the payload in the frame.
    pub hdr_len: Bits<7>,
    /// Beats of the frame.
    pub beats: Bits<8>,
    /// Immediate.
    pub imm: Bits<32>,
    /// QP's protection domain.
    pub pd: Bits<16>,
    /// QP's receive CQ.
    pub cq: Bits<14>,
    /// QP's RNR timer code.
    pub min_rnr: Bits<5>,
}

/// Where the payload goes, beside [`Decided`].
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct Placed {
    /// Address; of a region with a page table virtual until its page was found.
    pub addr: Bits<64>,
    /// Bits 63:12 of the address behind the next 4 KiB boundary.
    pub page2: Bits<52>,
    /// Index of the region that the payload goes to.
    pub mr: Bits<16>,
    /// Addresses of the region go through its page table.
    pub paged: Bit,
    /// Epoch of the region.
    pub epoch: Bits<8>,
    /// The region does not allow it.
    pub denied: Bit,
    /// Its page is not there.
    pub fault: Bit,
    /// SEND: the receive WQE is malformed or not there.
    pub bad_wqe: Bit,
    /// SEND: the message is longer than the buffer.
    pub too_long: Bit,
    /// Bytes of the message up to this packet's end.
    pub total: Bits<32>,
    /// How the CQE names the receive WQE.
    pub wqe: Bits<16>,
}

/// Error mark of a QP with an SRQ, on its way back to the pipeline's entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct ErrorMark {
    /// It changes in this cycle.
    pub valid: Bit,
    /// QP index.
    pub qp: Bits<14>,
    /// The QP is in error.
    pub failed: Bit,
}

/// What there is to tell of a QP with an SRQ that is stopped, without a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct Flush {
    /// QP index.
    pub qp: Bits<14>,
    /// The QP's receive CQ.
    pub cq: Bits<14>,
    /// It holds a WQE in the middle of a SEND, which is to be flushed.
    pub holds: Bit,
    /// How the CQE names that WQE.
    pub wqe: Bits<16>,
    /// It takes no more WQEs.
    pub last: Bit,
}
