//! CQ: from the host's requests to beats, without straddling.

use super::desc::{RequestDescriptor, REQUEST_BYTES};
use super::user::CqBeat;
use super::{keep, BEAT};
use crate::tlp::Request;

/// A request of the host as the block hands it to the card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CqPacket {
    /// The request, with the address that is in its header.
    pub request: Request,
    /// Function that it hit.
    pub function: u8,
    /// BAR that it hit: 0 to 5, 6 for the expansion ROM.
    pub bar: u8,
    /// Size of that BAR as a power of two.
    pub aperture: u8,
}

impl CqPacket {
    /// The descriptor.
    pub fn descriptor(&self) -> u128 {
        RequestDescriptor::word(&self.request)
            | u128::from(self.function) << 104
            | u128::from(self.bar & 7) << 112
            | u128::from(self.aperture & 0x3f) << 115
    }
}

/// The block's end of CQ, for one request at a time.
#[derive(Debug, Default)]
pub struct CqEncoder {
    /// Descriptor and payload.
    bytes: Vec<u8>,
    /// Whether each byte is valid payload.
    enabled: Vec<bool>,
    sent: usize,
    first_be: u8,
    last_be: u8,
}

impl CqEncoder {
    /// Whether the request has left as a whole.
    pub fn is_empty(&self) -> bool {
        self.sent == self.bytes.len()
    }

    /// Begins a request. One that has not left is forgotten.
    pub fn load(&mut self, packet: &CqPacket) {
        let payload = packet.request.payload();
        let (enables, dwords) = (packet.request.enables(), payload.len() / 4);
        self.bytes.clear();
        self.bytes
            .extend_from_slice(&packet.descriptor().to_le_bytes());
        self.bytes.extend_from_slice(payload);
        self.enabled.clear();
        self.enabled.resize(REQUEST_BYTES, false);
        let of = |k: usize| enables.of(k / 4, dwords) >> (k % 4) & 1 == 1;
        self.enabled.extend((0..payload.len()).map(of));
        (self.first_be, self.last_be) = (enables.first, enables.last);
        self.sent = 0;
    }

    /// The next beat.
    pub fn next_beat(&mut self) -> Option<CqBeat> {
        if self.is_empty() {
            return None;
        }
        let mut beat = CqBeat::default();
        let user = &mut beat.user;
        if self.sent == 0 {
            user.is_sop = 1;
            user.first_be[0] = self.first_be;
            user.last_be[0] = self.last_be;
        }
        let count = (self.bytes.len() - self.sent).min(BEAT);
        beat.data[..count].copy_from_slice(&self.bytes[self.sent..][..count]);
        for (k, &enabled) in self.enabled[self.sent..][..count].iter().enumerate() {
            user.byte_en |= u64::from(enabled) << k;
        }
        self.sent += count;
        beat.keep = keep(count / 4);
        beat.last = self.is_empty();
        if beat.last {
            user.is_eop = 1;
            user.eop_ptr[0] = (count / 4 - 1) as u8;
        }
        Some(beat)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::enables::ByteEnables;
    use crate::tlp::{MemRead, MemWrite, OtherRequest, RequestType};
    use crate::usp::inverse::cq_packet;
    use proptest::prelude::*;

    fn request() -> impl Strategy<Value = Request> {
        (0..6, any::<u64>(), 0usize..300, any::<(u8, u16, u8)>()).prop_map(
            |(kind, addr, len, (tag, requester, holes))| match kind {
                0 | 1 => Request::Read(MemRead::of_bytes(addr & !(1 << 63), len, tag, requester)),
                2 | 3 => {
                    let bytes: Vec<u8> = (0..len).map(|k| k as u8).collect();
                    Request::Write(MemWrite::of_bytes(addr & !(1 << 63), &bytes, requester))
                }
                4 => Request::Write(MemWrite {
                    addr: addr & !7,
                    enables: ByteEnables {
                        first: holes & 0xf,
                        last: holes >> 4,
                    },
                    requester,
                    poisoned: false,
                    payload: vec![tag; 8],
                }),
                _ => Request::Other(OtherRequest {
                    kind: RequestType::IoWrite,
                    addr: addr & 0xfffc,
                    dwords: 1,
                    enables: ByteEnables {
                        first: 0xf,
                        last: 0,
                    },
                    tag,
                    requester,
                    payload: vec![tag; 4],
                }),
            },
        )
    }

    proptest! {
        #![proptest_config(crate::seed::cases())]

        #[test]
        fn requests_come_back(request in request(), function: u8, bar in 0u8..7, aperture in 0u8..64) {
            let packet = CqPacket { request, function, bar, aperture };
            let mut encoder = CqEncoder::default();
            encoder.load(&packet);
            let beats: Vec<CqBeat> = std::iter::from_fn(|| encoder.next_beat()).collect();
            prop_assert!(encoder.is_empty());
            prop_assert_eq!(cq_packet(&beats), packet);
        }
    }
}
