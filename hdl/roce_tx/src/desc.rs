//! Descriptors that only the transmit pipeline's own blocks exchange.

use ferroce_emit::prelude::*;

/// Longest header of a frame in bytes: Ethernet 14, IPv4 20, UDP 8, BTH 12, RETH 16, ImmDt 4.
pub const MAX_HDR_BYTES: usize = 74;
/// Bits of a frame's longest header.
pub const HDR_BITS: usize = MAX_HDR_BYTES * 8;

/// The scheduler lets a QP send one packet.
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

/// One beat of a packet's payload, address-aligned: its first byte is in the first beat at `addr mod 64`.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct PayloadBeat {
    /// The bytes; those outside the payload are undefined.
    pub data: Bits<512>,
    /// Last beat of the packet.
    pub last: Bit,
}

/// A frame to be assembled.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct TxHdr {
    /// Header bytes in wire order: byte `k` is `hdr[8k+7:8k]`; zero from `hdr_len` on.
    pub hdr: Bits<592>,
    /// Header bytes, 54 to 74.
    pub hdr_len: Bits<7>,
    /// Payload bytes, 0 to 4096, pad not counted.
    pub len: Bits<13>,
    /// Pad bytes after the payload.
    pub pad: Bits<2>,
    /// Offset of the payload's first byte in its first beat.
    pub src_off: Bits<6>,
}

/// A packet was dropped because its payload could not be read from host memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct FetchError {
    /// Dropped in this cycle.
    pub valid: Bit,
    /// QP index.
    pub qp: Bits<14>,
}
