//! Transaction layer packets (PCIe Base 2.2), typed, and their length on the link.

use crate::enables::ByteEnables;

/// What a packet costs on the link beside header and payload: framing and sequence number 4 bytes, LCRC 4 bytes.
pub const LINK_OVERHEAD: usize = 8;
/// Header of three doublewords: completions and requests below 4 GiB.
pub const HEADER_3DW: usize = 12;
/// Header of four doublewords: requests from 4 GiB on.
pub const HEADER_4DW: usize = 16;
/// Requests don't cross a multiple of this many bytes.
pub const PAGE: u64 = 4096;

/// Bus, device and function.
pub type Id = u16;

/// A memory read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemRead {
    /// Byte address of the first doubleword, a multiple of 4.
    pub addr: u64,
    /// Doublewords, 1 to 1024.
    pub dwords: usize,
    /// Byte enables.
    pub enables: ByteEnables,
    /// Names the request among its requester's.
    pub tag: u8,
    /// Who reads.
    pub requester: Id,
}

impl MemRead {
    /// A read of `len` bytes from byte address `addr`.
    pub fn of_bytes(addr: u64, len: usize, tag: u8, requester: Id) -> Self {
        let (dwords, enables) = ByteEnables::covering(addr, len);
        Self {
            addr: addr & !3,
            dwords,
            enables,
            tag,
            requester,
        }
    }

    /// Byte address of the first enabled byte; of the doubleword for a read of zero bytes.
    pub fn first_byte(&self) -> u64 {
        self.addr + self.enables.span(self.dwords).start as u64
    }

    /// Bytes from the first to the last enabled one; 1 for a read of zero bytes, as completions count them.
    pub fn byte_count(&self) -> usize {
        self.enables.byte_count(self.dwords)
    }
}

/// A memory write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemWrite {
    /// Byte address of the first doubleword, a multiple of 4.
    pub addr: u64,
    /// Byte enables.
    pub enables: ByteEnables,
    /// Who writes.
    pub requester: Id,
    /// The payload is known to be damaged.
    pub poisoned: bool,
    /// Whole doublewords, 4 to 4096 bytes; bytes that are not enabled have no meaning.
    pub payload: Vec<u8>,
}

impl MemWrite {
    /// A write of `bytes` to byte address `addr`; bytes that are not enabled become 0.
    pub fn of_bytes(addr: u64, bytes: &[u8], requester: Id) -> Self {
        let (dwords, enables) = ByteEnables::covering(addr, bytes.len());
        let mut payload = vec![0; dwords * 4];
        payload[(addr % 4) as usize..][..bytes.len()].copy_from_slice(bytes);
        Self {
            addr: addr & !3,
            enables,
            requester,
            poisoned: false,
            payload,
        }
    }

    /// Doublewords of payload.
    pub fn dwords(&self) -> usize {
        self.payload.len() / 4
    }

    /// Runs of enabled bytes, in address order: byte address and bytes.
    pub fn runs(&self) -> impl Iterator<Item = (u64, &[u8])> {
        let dwords = self.dwords();
        let enabled = move |k: usize| self.enables.of(k / 4, dwords) >> (k % 4) & 1 == 1;
        let span = self.enables.span(dwords);
        let mut at = span.start;
        std::iter::from_fn(move || {
            while at < span.end && !enabled(at) {
                at += 1;
            }
            let start = at;
            // Only the outer doublewords can have holes.
            while at < span.end && enabled(at) {
                let inner = at >= 4 && at % 4 == 0 && at / 4 + 1 < dwords;
                at = if inner { (dwords - 1) * 4 } else { at + 1 };
            }
            (start < at).then(|| (self.addr + start as u64, &self.payload[start..at]))
        })
    }
}

/// What a request asks for, as descriptors of the UltraScale+ block encode it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum RequestType {
    /// Memory read.
    MemRead = 0,
    /// Memory write.
    MemWrite = 1,
    /// I/O read.
    IoRead = 2,
    /// I/O write.
    IoWrite = 3,
    /// Atomic fetch and add.
    FetchAdd = 4,
    /// Atomic unconditional swap.
    Swap = 5,
    /// Atomic compare and swap.
    CompareSwap = 6,
    /// Locked memory read.
    LockedRead = 7,
    /// Configuration read, type 0.
    CfgRead0 = 8,
    /// Configuration read, type 1.
    CfgRead1 = 9,
    /// Configuration write, type 0.
    CfgWrite0 = 10,
    /// Configuration write, type 1.
    CfgWrite1 = 11,
    /// Message.
    Message = 12,
    /// Vendor-defined message.
    VendorMessage = 13,
    /// Message of address translation services.
    AtsMessage = 14,
}

impl RequestType {
    /// All types, in the order of their codes.
    pub const ALL: [Self; 15] = [
        Self::MemRead,
        Self::MemWrite,
        Self::IoRead,
        Self::IoWrite,
        Self::FetchAdd,
        Self::Swap,
        Self::CompareSwap,
        Self::LockedRead,
        Self::CfgRead0,
        Self::CfgRead1,
        Self::CfgWrite0,
        Self::CfgWrite1,
        Self::Message,
        Self::VendorMessage,
        Self::AtsMessage,
    ];

    /// The type with a code; 15 is reserved.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// Whether no completion answers it.
    pub fn posted(self) -> bool {
        self == Self::MemWrite || self as u8 >= Self::Message as u8
    }

    /// Whether a payload follows, when the length is not 0.
    pub fn carries_payload(self) -> bool {
        !matches!(
            self,
            Self::MemRead | Self::IoRead | Self::LockedRead | Self::CfgRead0 | Self::CfgRead1
        )
    }
}

/// A request that is neither a memory read nor a memory write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherRequest {
    /// What it asks for.
    pub kind: RequestType,
    /// Byte address, a multiple of 4; of messages, header bytes 8 to 15.
    pub addr: u64,
    /// Doublewords of payload or to be answered.
    pub dwords: usize,
    /// Byte enables.
    pub enables: ByteEnables,
    /// Names the request among its requester's.
    pub tag: u8,
    /// Who asks.
    pub requester: Id,
    /// Payload, empty for reads.
    pub payload: Vec<u8>,
}

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// A memory read.
    Read(MemRead),
    /// A memory write.
    Write(MemWrite),
    /// Any other request.
    Other(OtherRequest),
}

impl Request {
    /// Its type.
    pub fn kind(&self) -> RequestType {
        match self {
            Self::Read(_) => RequestType::MemRead,
            Self::Write(_) => RequestType::MemWrite,
            Self::Other(other) => other.kind,
        }
    }

    /// Byte address of the first doubleword.
    pub fn addr(&self) -> u64 {
        match self {
            Self::Read(read) => read.addr,
            Self::Write(write) => write.addr,
            Self::Other(other) => other.addr,
        }
    }

    /// Doublewords that it writes or asks for.
    pub fn dwords(&self) -> usize {
        match self {
            Self::Read(read) => read.dwords,
            Self::Write(write) => write.dwords(),
            Self::Other(other) => other.dwords,
        }
    }

    /// Byte enables.
    pub fn enables(&self) -> ByteEnables {
        match self {
            Self::Read(read) => read.enables,
            Self::Write(write) => write.enables,
            Self::Other(other) => other.enables,
        }
    }

    /// Tag; 0 for memory writes.
    pub fn tag(&self) -> u8 {
        match self {
            Self::Read(read) => read.tag,
            Self::Write(_) => 0,
            Self::Other(other) => other.tag,
        }
    }

    /// Who asks.
    pub fn requester(&self) -> Id {
        match self {
            Self::Read(read) => read.requester,
            Self::Write(write) => write.requester,
            Self::Other(other) => other.requester,
        }
    }

    /// Payload; empty for reads.
    pub fn payload(&self) -> &[u8] {
        match self {
            Self::Read(_) => &[],
            Self::Write(write) => &write.payload,
            Self::Other(other) => &other.payload,
        }
    }

    /// Bytes on the link.
    pub fn link_bytes(&self) -> usize {
        let kind = self.kind();
        let long = kind as u8 >= RequestType::Message as u8 || self.addr() > u64::from(u32::MAX);
        let header = if long { HEADER_4DW } else { HEADER_3DW };
        header + self.payload().len() + LINK_OVERHEAD
    }
}

/// Completion status (PCIe Base 2.2.9).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Status {
    /// Successful completion.
    Success = 0,
    /// Unsupported request.
    UnsupportedRequest = 1,
    /// Configuration request retry.
    ConfigRetry = 2,
    /// Completer abort.
    CompleterAbort = 4,
}

impl Status {
    /// The status with a code.
    pub fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            0 => Self::Success,
            1 => Self::UnsupportedRequest,
            2 => Self::ConfigRetry,
            4 => Self::CompleterAbort,
            _ => return None,
        })
    }
}

/// A completion: an answer to a non-posted request, or a piece of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// Whose request it answers.
    pub requester: Id,
    /// Tag of the request.
    pub tag: u8,
    /// Who answers.
    pub completer: Id,
    /// Success or why not.
    pub status: Status,
    /// Bytes of the request that are still to come, those in this completion included; 1 to 4096.
    pub byte_count: usize,
    /// Low 7 bits of the byte address of the first byte that was asked for.
    pub lower_address: u8,
    /// The payload is known to be damaged.
    pub poisoned: bool,
    /// Whole doublewords.
    pub payload: Vec<u8>,
}

impl Completion {
    /// Bytes of the request in this completion.
    pub fn bytes(&self) -> usize {
        let room = self.payload.len() - usize::from(self.lower_address % 4).min(self.payload.len());
        self.byte_count.min(room)
    }

    /// Whether no other completion of the request follows.
    pub fn ends_request(&self) -> bool {
        self.status != Status::Success || self.bytes() == self.byte_count
    }

    /// Bytes on the link.
    pub fn link_bytes(&self) -> usize {
        HEADER_3DW + self.payload.len() + LINK_OVERHEAD
    }
}

#[cfg(test)]
mod tests;
