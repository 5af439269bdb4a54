//! Descriptors that only the transmit pipeline's own blocks exchange.

use ferroce_emit::prelude::*;
use ferroce_rtl::header::InsertPlan;

/// Longest header of a frame in bytes: Ethernet 14, IPv4 20, UDP 8, BTH 12, RETH 16, ImmDt 4.
pub const MAX_HDR_BYTES: usize = 74;
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
    /// Host address of the first byte.
    pub addr: Bits<64>,
    /// Bytes, 1 to 4096.
    pub len: Bits<13>,
}

/// All payload of one packet has arrived, in packet order.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct Fetched {
    /// A read failed: the payload was thrown away, no beats follow.
    pub err: Bit,
}

/// Header of a frame, and how its payload comes behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct TxHdr {
    /// Header bytes in wire order: byte `k` is `hdr[8k+7:8k]`; zero after the header.
    pub hdr: Bits<592>,
    /// The plan.
    pub plan: InsertPlan,
}

/// A packet was dropped because its payload could not be read from host memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct FetchError {
    /// Dropped in this cycle.
    pub valid: Bit,
    /// QP index.
    pub qp: Bits<14>,
}
