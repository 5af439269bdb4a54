//! The card's ends of the four streams, to test the block's ends against.

use std::collections::VecDeque;

use super::cq::CqPacket;
use super::desc::{bits, load, RequestDescriptor, COMPLETION_BYTES, REQUEST_BYTES};
use super::user::{CcBeat, CqBeat, RcBeat, RqBeat};
use super::{keep, ErrorCode, RcPacket, BEAT, BEAT_DWORDS};
use crate::enables::ByteEnables;
use crate::tlp::{Completion, Request, Status};

/// Beats of requests on RQ, as full as straddling allows, or one request after the other. `pause(k)` tells whether request `k` may not
/// share a beat with the one before it.
pub fn rq_beats(
    requests: &[Request],
    straddle: bool,
    pause: impl Fn(usize) -> bool,
) -> Vec<RqBeat> {
    let mut beats: Vec<RqBeat> = Vec::new();
    // Doubleword behind the last TLP in the last beat.
    let mut at = BEAT_DWORDS;
    for (index, request) in requests.iter().enumerate() {
        let mut bytes = RequestDescriptor::word(request).to_le_bytes().to_vec();
        bytes.extend_from_slice(request.payload());
        at = if straddle && at <= 8 && !pause(index) {
            8
        } else {
            BEAT_DWORDS
        };
        let mut sent = 0;
        while sent < bytes.len() {
            if at == BEAT_DWORDS {
                beats.push(RqBeat::default());
                at = 0;
            }
            let beat = beats.last_mut().unwrap();
            let user = &mut beat.user;
            if sent == 0 {
                let n = user.is_sop.count_ones() as usize;
                user.is_sop = user.is_sop << 1 | 1;
                user.sop_ptr[n] = (at / 4) as u8;
                user.first_be[n] = request.enables().first;
                user.last_be[n] = request.enables().last;
            }
            let count = (bytes.len() - sent).min(BEAT - at * 4);
            beat.data[at * 4..][..count].copy_from_slice(&bytes[sent..][..count]);
            sent += count;
            at += count / 4;
            if sent == bytes.len() {
                let n = user.is_eop.count_ones() as usize;
                user.is_eop = user.is_eop << 1 | 1;
                user.eop_ptr[n] = (at - 1) as u8;
                beat.last = !straddle;
            }
            beat.keep = keep(at);
        }
    }
    beats
}

/// The card's end of RC. Boundaries come from `is_sop` and `is_eop` with straddling, from `tlast` and `tkeep` without.
#[derive(Debug, Default)]
pub struct RcDecoder {
    bytes: Vec<u8>,
    enabled: Vec<bool>,
    busy: bool,
}

impl RcDecoder {
    pub fn beat(&mut self, beat: &RcBeat, straddle: bool) -> Vec<RcPacket> {
        let (user, mut out) = (&beat.user, Vec::new());
        let list = |n: u8, at: &[u8; 4]| -> VecDeque<usize> {
            assert_eq!(n & (n + 1), 0, "{n:#b}");
            let count = n.count_ones() as usize;
            at[..count].iter().map(|&k| usize::from(k)).collect()
        };
        let mut starts = list(user.is_sop, &user.sop_ptr);
        let mut ends = list(user.is_eop, &user.eop_ptr);
        if straddle {
            assert_eq!((beat.keep, beat.last), (u16::MAX, false));
        } else {
            assert_eq!(starts.len(), usize::from(!self.busy));
            assert_eq!(ends.len(), usize::from(beat.last));
            let top = if beat.last { ends[0] + 1 } else { BEAT_DWORDS };
            assert_eq!(beat.keep, keep(top));
        }
        for dword in 0..BEAT_DWORDS {
            if starts.front() == Some(&(dword / 4)) && dword % 4 == 0 {
                assert!(!self.busy, "a TLP starts inside another");
                starts.pop_front();
                self.busy = true;
            }
            let enables = user.byte_en >> (dword * 4) & 0xf;
            if !self.busy {
                assert_eq!(enables, 0, "enables outside every TLP");
                continue;
            }
            self.bytes.extend_from_slice(&beat.data[dword * 4..][..4]);
            self.enabled.extend((0..4).map(|k| enables >> k & 1 == 1));
            if ends.front() == Some(&dword) {
                ends.pop_front();
                out.push(self.packet());
                self.busy = false;
            }
        }
        assert!(starts.is_empty() && ends.is_empty());
        out
    }

    fn packet(&mut self) -> RcPacket {
        let (bytes, enabled) = (
            std::mem::take(&mut self.bytes),
            std::mem::take(&mut self.enabled),
        );
        let word = load(&bytes[..COMPLETION_BYTES]);
        let payload = bytes[COMPLETION_BYTES..].to_vec();
        assert_eq!(bits(word, 32, 11) as usize * 4, payload.len());
        let lower_address = bits(word, 0, 12) as u16;
        let packet = RcPacket {
            lower_address,
            error: ErrorCode::from_code(bits(word, 12, 4) as u8).unwrap(),
            request_completed: bits(word, 30, 1) == 1,
            completion: Completion {
                requester: bits(word, 48, 16) as u16,
                tag: bits(word, 64, 8) as u8,
                completer: bits(word, 72, 16) as u16,
                status: Status::from_code(bits(word, 43, 3) as u8).unwrap(),
                byte_count: bits(word, 16, 13) as usize,
                lower_address: lower_address as u8 & 0x7f,
                poisoned: bits(word, 46, 1) == 1,
                payload,
            },
        };
        let start = COMPLETION_BYTES + usize::from(lower_address % 4);
        let marked = start..start + packet.completion.bytes();
        for (k, &on) in enabled.iter().enumerate() {
            assert_eq!(on, marked.contains(&k), "byte_en of byte {k}");
        }
        packet
    }
}

/// The card's end of CQ.
pub fn cq_packet(beats: &[CqBeat]) -> CqPacket {
    let (mut bytes, mut enabled) = (Vec::new(), Vec::new());
    for (k, beat) in beats.iter().enumerate() {
        let (first, last) = (k == 0, k + 1 == beats.len());
        assert_eq!(
            (beat.user.is_sop, beat.user.is_eop),
            (u8::from(first), u8::from(last))
        );
        assert_eq!(beat.last, last);
        let dwords = if last {
            usize::from(beat.user.eop_ptr[0]) + 1
        } else {
            BEAT_DWORDS
        };
        assert_eq!(beat.keep, keep(dwords));
        bytes.extend_from_slice(&beat.data[..dwords * 4]);
        enabled.extend((0..dwords * 4).map(|k| beat.user.byte_en >> k & 1 == 1));
    }
    let user = &beats[0].user;
    let enables = ByteEnables {
        first: user.first_be[0],
        last: user.last_be[0],
    };
    let (head, payload) = bytes.split_at(REQUEST_BYTES);
    let (word, descriptor) = (load(head), RequestDescriptor::from_bytes(head));
    let dwords = payload.len() / 4;
    assert_eq!(dwords, descriptor.payload_dwords());
    for (k, &on) in enabled.iter().enumerate() {
        let k = k.wrapping_sub(REQUEST_BYTES);
        let expected = k < payload.len() && enables.of(k / 4, dwords) >> (k % 4) & 1 == 1;
        assert_eq!(on, expected, "byte_en of byte {k}");
    }
    CqPacket {
        request: descriptor.request(enables, payload.to_vec()).unwrap(),
        function: bits(word, 104, 8) as u8,
        bar: bits(word, 112, 3) as u8,
        aperture: bits(word, 115, 6) as u8,
    }
}

/// Beats of a completion on CC; `log` follows the descriptor of one without success.
pub fn cc_beats(completion: &Completion, log: &[u8]) -> Vec<CcBeat> {
    let c = completion;
    let word = u128::from(c.lower_address)
        | (c.byte_count as u128) << 16
        | ((c.payload.len() / 4) as u128) << 32
        | (c.status as u128) << 43
        | u128::from(c.poisoned) << 46
        | u128::from(c.requester) << 48
        | u128::from(c.tag) << 64
        | u128::from(c.completer) << 72;
    let mut bytes = word.to_le_bytes()[..COMPLETION_BYTES].to_vec();
    bytes.extend_from_slice(&c.payload);
    bytes.extend_from_slice(log);
    let count = bytes.len().div_ceil(BEAT);
    let beat = |(k, chunk): (usize, &[u8])| {
        let mut beat = CcBeat::default();
        beat.data[..chunk.len()].copy_from_slice(chunk);
        beat.keep = keep(chunk.len() / 4);
        beat.last = k + 1 == count;
        beat
    };
    bytes.chunks(BEAT).enumerate().map(beat).collect()
}
