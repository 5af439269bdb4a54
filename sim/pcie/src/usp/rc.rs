//! RC: from completions to beats. With straddling up to four TLPs share a beat; they start at multiples of 16 bytes.

use std::collections::VecDeque;
use std::ops::Range;

use super::desc::COMPLETION_BYTES;
use super::user::RcBeat;
use super::{keep, BEAT, BEAT_DWORDS};
use crate::tlp::Completion;

/// Where TLPs may start in a beat: multiples of this many bytes.
const START: usize = 16;

/// Unit of flow control, in bytes.
const CREDIT: usize = 16;

/// What the block found out about a completion (PG213, requester completion descriptor).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ErrorCode {
    /// Nothing wrong.
    None = 0,
    /// The completion is poisoned.
    Poisoned = 1,
    /// UR, CA or CRS; ends the request.
    BadStatus = 2,
    /// No data, or a byte count above what is left; ends the request.
    InvalidLength = 3,
    /// Requester, traffic class or attributes are not the request's.
    Mismatch = 4,
    /// The lower address is not the next byte's.
    InvalidAddress = 5,
    /// No request with this tag is outstanding.
    InvalidTag = 6,
    /// Function-level reset ended the request.
    FunctionReset = 8,
    /// The block's completion time-out ended the request.
    Timeout = 9,
}

impl ErrorCode {
    /// The error with a code.
    pub fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            0 => Self::None,
            1 => Self::Poisoned,
            2 => Self::BadStatus,
            3 => Self::InvalidLength,
            4 => Self::Mismatch,
            5 => Self::InvalidAddress,
            6 => Self::InvalidTag,
            8 => Self::FunctionReset,
            9 => Self::Timeout,
            _ => return None,
        })
    }
}

/// A completion as the block hands it to the card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RcPacket {
    /// The completion; its lower address is the low 7 bits of `lower_address`.
    pub completion: Completion,
    /// Low 12 bits of the byte address of its first byte; without an error, all are valid.
    pub lower_address: u16,
    /// What the block found out.
    pub error: ErrorCode,
    /// No completion of the request follows.
    pub request_completed: bool,
}

impl RcPacket {
    /// The descriptor.
    pub fn descriptor(&self) -> u128 {
        let c = &self.completion;
        u128::from(self.lower_address & 0xfff)
            | (self.error as u128) << 12
            | (c.byte_count as u128 & 0x1fff) << 16
            | u128::from(self.request_completed) << 30
            | ((c.payload.len() / 4) as u128) << 32
            | (c.status as u128) << 43
            | u128::from(c.poisoned) << 46
            | u128::from(c.requester) << 48
            | u128::from(c.tag) << 64
            | u128::from(c.completer) << 72
    }

    /// Bytes of the TLP, descriptor included.
    pub fn bytes(&self) -> usize {
        COMPLETION_BYTES + self.completion.payload.len()
    }

    /// Bytes of the block's buffer that it takes: header and payload, each in units of 16 as flow control counts them.
    pub fn buffer_bytes(&self) -> usize {
        CREDIT + self.completion.payload.len().next_multiple_of(CREDIT)
    }

    /// Of the TLP's bytes, the ones that `byte_en` marks.
    fn valid(&self) -> Range<usize> {
        let start = COMPLETION_BYTES + usize::from(self.completion.lower_address % 4);
        start..start + self.completion.bytes()
    }
}

/// The block's end of RC.
#[derive(Debug)]
pub struct RcEncoder {
    straddle: bool,
    queue: VecDeque<RcPacket>,
    /// Buffer bytes of the TLPs in it.
    queued_bytes: usize,
    /// Buffer bytes of the TLP under way.
    loaded_bytes: usize,
    /// Descriptor and payload of the TLP under way.
    bytes: Vec<u8>,
    /// Of them, those that `byte_en` marks.
    valid: Range<usize>,
    /// Of them, those that were sent.
    sent: usize,
}

impl RcEncoder {
    /// An encoder with nothing to send.
    pub fn new(straddle: bool) -> Self {
        Self {
            straddle,
            queue: VecDeque::new(),
            queued_bytes: 0,
            loaded_bytes: 0,
            bytes: Vec::new(),
            valid: 0..0,
            sent: 0,
        }
    }

    /// Queues a completion.
    pub fn push(&mut self, packet: RcPacket) {
        self.queued_bytes += packet.buffer_bytes();
        self.queue.push_back(packet);
    }

    /// Completions that have not left as a whole.
    pub fn held(&self) -> usize {
        self.queue.len() + usize::from(self.sent < self.bytes.len())
    }

    /// Buffer bytes that they take.
    pub fn held_bytes(&self) -> usize {
        match self.sent < self.bytes.len() {
            true => self.queued_bytes + self.loaded_bytes,
            false => self.queued_bytes,
        }
    }

    /// Whether everything has left.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.sent == self.bytes.len()
    }

    /// The next beat, as full as the queue allows.
    pub fn next_beat(&mut self) -> Option<RcBeat> {
        if self.is_empty() {
            return None;
        }
        let mut beat = RcBeat::default();
        let (mut starts, mut ends, mut at) = (0, 0, 0);
        while at < BEAT {
            if self.sent == self.bytes.len() {
                let Some(packet) = self.queue.pop_front() else {
                    break;
                };
                self.load(&packet);
                beat.user.sop_ptr[starts] = (at / START) as u8;
                starts += 1;
            }
            let count = (self.bytes.len() - self.sent).min(BEAT - at);
            beat.data[at..at + count].copy_from_slice(&self.bytes[self.sent..][..count]);
            beat.user.byte_en |= self.enabled(count) << at;
            self.sent += count;
            at += count;
            if self.sent == self.bytes.len() {
                beat.user.eop_ptr[ends] = (at / 4 - 1) as u8;
                ends += 1;
                if !self.straddle {
                    break;
                }
                at = at.next_multiple_of(START);
            }
        }
        beat.user.is_sop = (1 << starts) - 1;
        beat.user.is_eop = (1 << ends) - 1;
        // The block gives up tkeep and tlast when TLPs may share beats.
        (beat.keep, beat.last) = match self.straddle {
            true => (keep(BEAT_DWORDS), false),
            false => (keep(at / 4), ends > 0),
        };
        Some(beat)
    }

    fn load(&mut self, packet: &RcPacket) {
        self.queued_bytes -= packet.buffer_bytes();
        self.loaded_bytes = packet.buffer_bytes();
        self.bytes.clear();
        let descriptor = packet.descriptor().to_le_bytes();
        self.bytes
            .extend_from_slice(&descriptor[..COMPLETION_BYTES]);
        self.bytes.extend_from_slice(&packet.completion.payload);
        self.valid = packet.valid();
        self.sent = 0;
    }

    /// Which of the next `count` bytes are valid payload.
    fn enabled(&self, count: usize) -> u64 {
        let below = |end: usize| match end.saturating_sub(self.sent).min(count) {
            0 => 0,
            n => u64::MAX >> (64 - n),
        };
        below(self.valid.end) & !below(self.valid.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tlp::Status;
    use crate::usp::inverse::RcDecoder;
    use proptest::prelude::*;

    fn packet() -> impl Strategy<Value = RcPacket> {
        (0u16..4096, 0usize..70, any::<(u8, bool, u16)>()).prop_map(
            |(addr, dwords, (tag, completed, requester))| {
                let payload: Vec<u8> = (0..dwords * 4).map(|k| k as u8 ^ tag).collect();
                let skip = usize::from(addr % 4).min(payload.len());
                let (status, error, byte_count) = match dwords {
                    0 => (Status::UnsupportedRequest, ErrorCode::BadStatus, 300),
                    n if completed => (Status::Success, ErrorCode::None, n * 4 - skip),
                    _ => (Status::Success, ErrorCode::Poisoned, 2000),
                };
                RcPacket {
                    lower_address: addr,
                    error,
                    request_completed: completed,
                    completion: Completion {
                        requester,
                        tag,
                        completer: !requester,
                        status,
                        byte_count,
                        lower_address: addr as u8 & 0x7f,
                        poisoned: error == ErrorCode::Poisoned,
                        payload,
                    },
                }
            },
        )
    }

    proptest! {
        #![proptest_config(crate::seed::cases())]

        #[test]
        fn completions_come_back(
            packets in prop::collection::vec(packet(), 1..40),
            straddle: bool,
            step in 1usize..8,
        ) {
            let mut encoder = RcEncoder::new(straddle);
            let mut decoder = RcDecoder::default();
            let mut out = Vec::new();
            // Some at a time, so that beats also end for want of a TLP.
            for group in packets.chunks(step) {
                group.iter().for_each(|packet| encoder.push(packet.clone()));
                for _ in 0..3 {
                    out.extend(encoder.next_beat().iter().flat_map(|b| decoder.beat(b, straddle)));
                }
            }
            while let Some(beat) = encoder.next_beat() {
                out.extend(decoder.beat(&beat, straddle));
            }
            prop_assert!(encoder.is_empty());
            prop_assert_eq!(out, packets);
        }
    }

    fn of_dwords(dwords: usize) -> RcPacket {
        RcPacket {
            lower_address: 0,
            error: ErrorCode::None,
            request_completed: true,
            completion: Completion {
                requester: 0,
                tag: 1,
                completer: 0,
                status: Status::Success,
                byte_count: dwords * 4,
                lower_address: 0,
                poisoned: false,
                payload: vec![0xff; dwords * 4],
            },
        }
    }

    #[test]
    fn four_small_completions_share_a_beat() {
        let mut encoder = RcEncoder::new(true);
        (0..5).for_each(|_| encoder.push(of_dwords(1)));
        let beat = encoder.next_beat().unwrap();
        assert_eq!((beat.user.is_sop, beat.user.sop_ptr), (0xf, [0, 1, 2, 3]));
        assert_eq!((beat.user.is_eop, beat.user.eop_ptr), (0xf, [3, 7, 11, 15]));
        assert_eq!(beat.user.byte_en, 0xf000_f000_f000_f000);
        let beat = encoder.next_beat().unwrap();
        assert_eq!((beat.user.is_sop, beat.user.is_eop), (1, 1));
        assert!(encoder.next_beat().is_none());
    }

    /// 268 bytes are 4 beats and 12 bytes: the next one starts at byte 16.
    #[test]
    fn the_next_completion_starts_behind_the_last() {
        let mut encoder = RcEncoder::new(true);
        (0..2).for_each(|_| encoder.push(of_dwords(64)));
        let beats: Vec<RcBeat> = std::iter::from_fn(|| encoder.next_beat()).collect();
        assert_eq!(beats.len(), 9);
        let user = &beats[4].user;
        assert_eq!((user.is_sop, user.sop_ptr[0]), (1, 1));
        assert_eq!((user.is_eop, user.eop_ptr[0]), (1, 2));
        assert_eq!(beats[8].user.eop_ptr[0], 6);
    }
}
