//! The host port of the card: what the PCIe engine implements. Read requests carry a tag; their
//! data comes back in any order between tags and in address order within one. Writes are posted
//! and stay in order.

use ferroce_emit::prelude::*;

/// Read request: 1 to 4096 bytes that do not cross a 4 KiB boundary.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct DmaReadReq {
    /// Byte address.
    pub addr: Bits<64>,
    /// Bytes, 1 to 4096.
    pub len: Bits<13>,
    /// Names the answer; free again after its last beat.
    pub tag: Bits<8>,
    /// Leaves the card only behind every write that was taken before it.
    pub ordered: Bit,
}

/// One beat of an answer, address-aligned: byte `k` of the beat has address bits 5:0 equal to `k`. The
/// first beat starts at byte `addr mod 64`; bytes outside the request are undefined.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct DmaReadBeat {
    /// The bytes.
    pub data: Bits<512>,
    /// Tag of the request.
    pub tag: Bits<8>,
    /// Last beat of the request.
    pub last: Bit,
    /// With `last`: the read failed (unmapped, timed out); its data is invalid.
    pub err: Bit,
}

/// One beat of a posted write, address-aligned like [`DmaReadBeat`]. `addr` and `len` are valid in the
/// first beat and hold in the others: 1 to 4096 bytes that do not cross a 4 KiB boundary.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct DmaWriteBeat {
    /// The bytes; those outside the request are ignored.
    pub data: Bits<512>,
    /// Byte address of the whole write.
    pub addr: Bits<64>,
    /// Bytes of the whole write.
    pub len: Bits<13>,
    /// Last beat of the write.
    pub last: Bit,
}
