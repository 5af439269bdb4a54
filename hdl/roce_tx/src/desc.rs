//! Descriptors that only the transmit pipeline's own blocks exchange.

use ferroce_emit::prelude::*;
use ferroce_rtl::desc::pages::Via;
use ferroce_rtl::desc::tx::TxPkt;
use ferroce_rtl::header::InsertPlan;

/// Longest header of a frame in bytes: Ethernet 14, IPv4 20, UDP 8, BTH 12, AtomicETH 28. (RETH and ImmDt have 20, AETH and AtomicAckETH 12.)
pub const MAX_HDR_BYTES: usize = 82;
/// Bits of a frame's longest header.
pub const HDR_BITS: usize = MAX_HDR_BYTES * 8;

/// The scheduler lets a QP send.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct Visit {
    /// QP index.
    pub qp: Bits<14>,
}

/// Payload of one packet, to be read from host memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct FetchReq {
    /// Address of the first byte.
    pub addr: Bits<64>,
    /// Bytes, 1 to 4096.
    pub len: Bits<13>,
    /// Whether that is a virtual address.
    pub via: Via,
    /// To be read behind every write of the card before it.
    pub ordered: Bit,
}

/// A packet of the sender, and where it comes from; or one that answers, with 0 in `wqe` and `turn`.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct Request {
    /// The packet.
    pub pkt: TxPkt,
    /// SQ index of its WQE.
    pub wqe: Bits<16>,
    /// Changes with every rewind of the QP: packets before and behind it are told apart.
    pub turn: Bits<8>,
    /// Changes with every configuration of the QP; of an answer, with every restart of its responder.
    pub life: Bits<8>,
    /// By which region its payload goes.
    pub via: Via,
    /// Beats of a payload that is in the WQE; 0 if it is in host memory.
    pub inline_beats: Bits<3>,
}

/// A QP was configured: packets of other lives are not sent any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct LifeWrite {
    /// In this cycle.
    pub valid: Bit,
    /// QP index.
    pub qp: Bits<14>,
    /// Its packets have this from now on.
    pub life: Bits<8>,
}

/// All payload of one packet has arrived in the reorder buffer, in packet order.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct Fetched {
    /// Its beats, 1 to 65.
    pub beats: Bits<7>,
    /// A read failed.
    pub err: Bit,
}

/// What becomes of one packet's payload, in packet order.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct FetchJob {
    /// Its beats, 1 to 65.
    pub beats: Bits<7>,
    /// They are thrown away.
    pub drop: Bit,
    /// They were in the WQE.
    pub inline: Bit,
}

/// Header of a frame, and how its payload comes behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct TxHdr {
    /// Header bytes in wire order: byte `k` is `hdr[8k+7:8k]`; zero after the header.
    pub hdr: Bits<656>,
    /// The plan.
    pub plan: InsertPlan,
}

/// The payload of a packet, which was dropped, could not be read from host memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct FetchError {
    /// Dropped in this cycle.
    pub valid: Bit,
    /// QP index.
    pub qp: Bits<14>,
}
