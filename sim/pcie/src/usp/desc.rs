//! Descriptors in front of the payload (PG213): 16 bytes on RQ and CQ, 12 bytes on RC and CC. A field of a descriptor is
//! `bits(high:low)` of its bytes in little-endian order.

use crate::enables::ByteEnables;
use crate::tlp::{Id, MemRead, MemWrite, OtherRequest, Request, RequestType};

/// Bytes of a request descriptor.
pub const REQUEST_BYTES: usize = 16;
/// Bytes of a completion descriptor.
pub const COMPLETION_BYTES: usize = 12;

/// A little-endian integer from up to 16 bytes.
pub(super) fn load(bytes: &[u8]) -> u128 {
    let mut word = [0; 16];
    let len = bytes.len().min(word.len());
    word[..len].copy_from_slice(&bytes[..len]);
    u128::from_le_bytes(word)
}

/// Bits `low + width - 1 : low`.
pub(super) fn bits(word: u128, low: usize, width: usize) -> u64 {
    (word >> low) as u64 & ((1 << width) - 1)
}

/// Fields that RQ and CQ descriptors share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestDescriptor {
    /// Bits 1:0: untranslated 0.
    pub address_type: u8,
    /// Bits 63:2, as a byte address.
    pub addr: u64,
    /// Bits 74:64.
    pub dwords: usize,
    /// Bits 78:75; 15 is reserved.
    pub kind: Option<RequestType>,
    /// Bit 79; RQ alone.
    pub poisoned: bool,
    /// Bits 95:80.
    pub requester: Id,
    /// Bits 103:96.
    pub tag: u8,
    /// RQ: bit 120, take the requester from bits 95:80.
    pub requester_enable: bool,
}

impl RequestDescriptor {
    /// Reads a descriptor.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let word = load(bytes);
        Self {
            address_type: bits(word, 0, 2) as u8,
            addr: word as u64 & !3,
            dwords: bits(word, 64, 11) as usize,
            kind: RequestType::from_code(bits(word, 75, 4) as u8),
            poisoned: bits(word, 79, 1) == 1,
            requester: bits(word, 80, 16) as Id,
            tag: bits(word, 96, 8) as u8,
            requester_enable: bits(word, 120, 1) == 1,
        }
    }

    /// The descriptor of a request, as RQ and CQ have it alike.
    pub fn word(request: &Request) -> u128 {
        let poisoned = matches!(request, Request::Write(write) if write.poisoned);
        u128::from(request.addr() & !3)
            | (request.dwords() as u128 & 0x7ff) << 64
            | (request.kind() as u128) << 75
            | u128::from(poisoned) << 79
            | u128::from(request.requester()) << 80
            | u128::from(request.tag()) << 96
    }

    /// Doublewords that follow the descriptor.
    pub fn payload_dwords(&self) -> usize {
        match self.kind {
            Some(kind) if kind.carries_payload() => self.dwords,
            _ => 0,
        }
    }

    /// The request that it describes, if its type is known.
    pub fn request(&self, enables: ByteEnables, payload: Vec<u8>) -> Option<Request> {
        let (addr, dwords, tag, requester) = (self.addr, self.dwords, self.tag, self.requester);
        Some(match self.kind? {
            RequestType::MemRead => Request::Read(MemRead {
                addr,
                dwords,
                enables,
                tag,
                requester,
            }),
            RequestType::MemWrite => Request::Write(MemWrite {
                addr,
                enables,
                requester,
                poisoned: self.poisoned,
                payload,
            }),
            kind => Request::Other(OtherRequest {
                kind,
                addr,
                dwords,
                enables,
                tag,
                requester,
                payload,
            }),
        })
    }
}
