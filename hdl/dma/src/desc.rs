//! Descriptors of the PCIe block's streams, as TLPs are described to it, and what the engine's parts tell each other.

use ferroce_emit::prelude::*;

/// Request types of RQ and CQ descriptors.
pub mod request {
    /// Memory read.
    pub const MEM_READ: u64 = 0;
    /// Memory write.
    pub const MEM_WRITE: u64 = 1;
    /// First type that is neither, and all above it.
    pub const OTHERS: u64 = 2;
    /// First vendor or standard message; posted, like memory writes.
    pub const MESSAGES: u64 = 12;
}

/// Completion status codes (PCIe Base 2.2.9).
pub mod status {
    /// Successful completion.
    pub const SC: u64 = 0;
    /// Unsupported request.
    pub const UR: u64 = 1;
    /// Completer abort.
    pub const CA: u64 = 4;
}

/// Settings that the host gave the PCIe function (`cfg_max_payload`, `cfg_max_read_req` of the block).
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct PcieLimits {
    /// Max payload of a TLP: 128 bytes shifted left by this, 0 to 3.
    pub max_payload: Bits<2>,
    /// Max read request: 128 bytes shifted left by this, 0 to 5.
    pub max_read_req: Bits<3>,
}

/// A TLP for RQ. A write's payload follows on a stream of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct RqTlp {
    /// A memory write; else a memory read.
    pub write: Bit,
    /// Address of the first doubleword, in doublewords.
    pub addr: Bits<62>,
    /// Doublewords, 1 to 256 for writes, 1 to 128 for reads.
    pub dwords: Bits<11>,
    /// Byte enables of the first doubleword.
    pub first_be: Bits<4>,
    /// Byte enables of the last doubleword; 0 when there is only one.
    pub last_be: Bits<4>,
    /// Tag, of reads.
    pub tag: Bits<8>,
    /// Of reads: leaves only behind every write that was taken before it.
    pub ordered: Bit,
}

/// A beat of a write TLP's payload, address-aligned: byte `k` of the beat has address bits 5:0 equal to `k`.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct RqPayload {
    /// The bytes.
    pub data: Bits<512>,
    /// Last beat of the TLP.
    pub last: Bit,
}
