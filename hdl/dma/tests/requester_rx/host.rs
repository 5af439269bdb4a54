//! The host: splits answers, sends them out of order, and makes every mistake that a host can make.

use crate::client::{byte, class, Clients};
use crate::fates::Fate;
use ferroce_dma::desc::RqTlp;
use ferroce_pcie::enables::ByteEnables;
use ferroce_pcie::tlp::{Completion, Status};
use ferroce_pcie::usp::{ErrorCode, RcBeat, RcEncoder, RcPacket};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use std::collections::VecDeque;

/// Completions of all slots of the card.
pub const ALL_SLOTS: usize = 8 * 256;

/// How a host answers.
#[derive(Clone, Copy, Debug)]
pub struct HostConfig {
    /// Several TLPs share a beat of RC.
    pub straddle: bool,
    /// Answers may be split at multiples of this (read completion boundary).
    pub boundary: u64,
    /// Probability that they are.
    pub split: f64,
    /// Cycles from a request to its first completion.
    pub latency: u64,
    /// The next completion is one of this many reads'.
    pub disorder: usize,
    /// Probability of an error.
    pub errors: f64,
    /// Probability of an answer that comes after `late_cycles`.
    pub late: f64,
    /// Cycles after which late answers come.
    pub late_cycles: u64,
    /// Probability, a completion, that one that nobody asked for follows it.
    pub strays: f64,
}

/// A completion, and what the model must know of it.
#[derive(Clone, Debug)]
struct Answer {
    packet: RcPacket,
    discontinued: bool,
    due: u64,
}

#[derive(Debug)]
struct Outstanding {
    tag: u8,
    request: usize,
    /// Multiples of 64 bytes that it touches.
    lines: usize,
    answers: VecDeque<Answer>,
    failed: bool,
    times_out: bool,
}

/// A completion in the encoder; `tag` unless it is a stray.
struct Leaving {
    tag: Option<u8>,
    discontinued: bool,
    ends: bool,
}

/// The host.
pub struct Host {
    config: HostConfig,
    /// Completions that the block can hold.
    headers: usize,
    outstanding: Vec<Outstanding>,
    encoder: RcEncoder,
    leaving: VecDeque<Leaving>,
    /// Newest tag of the payload class.
    newest: u8,
    /// Ends with an error that were sent.
    pub failed: usize,
    /// Reads that the card must give up.
    pub timeouts: usize,
    /// Completions for nothing that were sent.
    pub strays: usize,
}

impl Host {
    pub fn new(config: HostConfig, headers: usize) -> Self {
        Self {
            config,
            headers,
            outstanding: Vec::new(),
            encoder: RcEncoder::new(config.straddle),
            leaving: VecDeque::new(),
            newest: 0,
            failed: 0,
            timeouts: 0,
            strays: 0,
        }
    }

    /// Reads that wait for an answer.
    pub fn outstanding(&self) -> usize {
        self.outstanding.len()
    }

    /// Whether all that will ever be answered has been.
    pub fn idle(&self) -> bool {
        self.encoder.is_empty() && self.outstanding.iter().all(|read| read.answers.is_empty())
    }

    /// A read TLP, with the given fate.
    pub fn read(
        &mut self,
        tlp: &RqTlp,
        fate: Fate,
        clients: &mut Clients,
        now: u64,
        rng: &mut ChaCha8Rng,
    ) {
        let tag = tlp.tag.to_u64() as u8;
        assert!(!tlp.write, "a read");
        assert!(
            self.outstanding.iter().all(|read| read.tag != tag),
            "tag {tag:#x} is used twice"
        );
        let dwords = tlp.dwords.to_u64() as usize;
        let enables = ByteEnables {
            first: tlp.first_be.to_u64() as u8,
            last: tlp.last_be.to_u64() as u8,
        };
        let addr = tlp.addr.to_u64() << 2;
        enables.check(addr, dwords).expect("legal byte enables");
        let piece = clients.piece(class(tag), (addr, dwords, enables, tlp.ordered));
        if class(tag) == 0 {
            self.newest = tag;
        }
        let mut answers = self.answers(tag, piece.addr, piece.len, now + self.config.latency, rng);
        self.spoil(&mut answers, fate, now, rng);
        self.timeouts += usize::from(fate.times_out());
        if fate.fails() {
            clients.fail(class(tag), piece.request);
        }
        self.outstanding.push(Outstanding {
            tag,
            request: piece.request,
            lines: ((piece.addr + piece.len).div_ceil(64) - piece.addr / 64) as usize,
            answers,
            // A discontinued completion counts when it leaves.
            failed: fate.fails() && !fate.times_out() && fate != Fate::Discontinued,
            times_out: fate.times_out(),
        });
        let lines: usize = self.outstanding.iter().map(|read| read.lines).sum();
        assert!(
            lines <= self.headers,
            "{lines} completions may come, the block has room for {}",
            self.headers
        );
    }

    /// Answers without errors.
    fn answers(
        &self,
        tag: u8,
        addr: u64,
        len: u64,
        due: u64,
        rng: &mut ChaCha8Rng,
    ) -> VecDeque<Answer> {
        let mut answers = VecDeque::new();
        let (mut at, end) = (addr, addr + len);
        while at < end {
            let mut stop = at - at % self.config.boundary + self.config.boundary;
            while stop < end && !rng.gen_bool(self.config.split) {
                stop += self.config.boundary;
            }
            let stop = stop.min(end);
            let payload = (at & !3..stop.next_multiple_of(4)).map(byte).collect();
            answers.push_back(Answer {
                packet: RcPacket {
                    completion: Completion {
                        requester: rng.gen(),
                        tag,
                        completer: rng.gen(),
                        status: Status::Success,
                        byte_count: (end - at) as usize,
                        lower_address: at as u8 & 0x7F,
                        poisoned: false,
                        payload,
                    },
                    lower_address: at as u16 & 0xFFF,
                    error: ErrorCode::None,
                    request_completed: stop == end,
                },
                discontinued: false,
                due,
            });
            at = stop;
        }
        answers
    }

    /// Lets one of the completions have the fate.
    fn spoil(&self, answers: &mut VecDeque<Answer>, fate: Fate, now: u64, rng: &mut ChaCha8Rng) {
        let index = rng.gen_range(0..answers.len());
        match fate {
            Fate::BadStatus | Fate::BadLength | Fate::Notice => answers.truncate(index + 1),
            Fate::Lost => answers.truncate(index),
            Fate::Late => answers
                .iter_mut()
                .skip(index)
                .for_each(|answer| answer.due = now + self.config.late_cycles),
            _ => {}
        }
        let Some(answer) = answers.get_mut(index) else {
            return;
        };
        let packet = &mut answer.packet;
        match fate {
            Fate::Good | Fate::Lost | Fate::Late => {}
            Fate::BadStatus => {
                packet.error = ErrorCode::BadStatus;
                packet.completion.status = if rng.gen() {
                    Status::UnsupportedRequest
                } else {
                    Status::CompleterAbort
                };
                packet.completion.payload.clear();
                packet.request_completed = true;
            }
            Fate::Poisoned => {
                packet.error = ErrorCode::Poisoned;
                packet.completion.poisoned = true;
            }
            Fate::Discontinued => answer.discontinued = true,
            Fate::BadLength => {
                packet.error = ErrorCode::InvalidLength;
                if rng.gen() {
                    packet.completion.payload.clear();
                }
                packet.request_completed = true;
            }
            Fate::Mismatch => {
                packet.error = if rng.gen() {
                    ErrorCode::Mismatch
                } else {
                    ErrorCode::InvalidAddress
                };
                packet.completion.payload.fill(0xEE);
            }
            Fate::Notice => {
                packet.error = if rng.gen() {
                    ErrorCode::Timeout
                } else {
                    ErrorCode::FunctionReset
                };
                packet.completion.payload.clear();
                packet.completion.byte_count = rng.gen_range(0..8192);
                packet.lower_address = rng.gen_range(0..4096);
                packet.request_completed = true;
            }
            Fate::WrongAddress => {
                packet.lower_address ^= rng.gen_range(1..128);
                packet.completion.lower_address = packet.lower_address as u8 & 0x7F;
            }
            Fate::TooLong => {
                let dwords = rng.gen_range(129..200);
                packet.completion.payload.resize(4 * dwords, 0xEE);
            }
        }
    }

    /// Gives completions that are due to the block.
    fn answer(&mut self, now: u64, rng: &mut ChaCha8Rng) {
        /// Completions that the block holds ready, so that its beats are full.
        const AHEAD: usize = 6;
        while self.leaving.len() < AHEAD {
            let due: Vec<usize> = (0..self.outstanding.len())
                .filter(|&index| {
                    let answers = &self.outstanding[index].answers;
                    answers.front().is_some_and(|answer| answer.due <= now)
                })
                .take(self.config.disorder)
                .collect();
            if due.is_empty() {
                return;
            }
            let read = &mut self.outstanding[due[rng.gen_range(0..due.len())]];
            let answer = read.answers.pop_front().expect("an answer that is due");
            self.leaving.push_back(Leaving {
                tag: Some(read.tag),
                discontinued: answer.discontinued,
                ends: answer.packet.request_completed,
            });
            self.encoder.push(answer.packet);
            if rng.gen_bool(self.config.strays) {
                self.stray(rng);
            }
        }
    }

    /// A completion for a tag that is not in use, or of which the block says so.
    fn stray(&mut self, rng: &mut ChaCha8Rng) {
        let mut tag = rng.gen();
        let mut error = ErrorCode::InvalidTag;
        // Half a ring away, where no new read is for a while.
        let idle = (self.newest + 64) % 128;
        if rng.gen() && self.outstanding.iter().all(|read| read.tag != idle) {
            tag = idle;
            error = ErrorCode::None;
        }
        let addr = rng.gen_range(0..8) * 64;
        let mut answer = self.answers(tag, addr, 64, 0, rng).pop_back();
        if let Some(answer) = &mut answer {
            answer.packet.error = error;
            answer.packet.request_completed = rng.gen();
            answer.packet.completion.payload.fill(0xDD);
            self.encoder.push(answer.packet.clone());
            self.leaving.push_back(Leaving {
                tag: None,
                discontinued: false,
                ends: false,
            });
            self.strays += 1;
        }
    }

    /// The next beat of RC.
    pub fn beat(
        &mut self,
        clients: &mut Clients,
        now: u64,
        rng: &mut ChaCha8Rng,
    ) -> Option<RcBeat> {
        self.answer(now, rng);
        let mut beat = self.encoder.next_beat()?;
        let ends = beat.user.is_eop.count_ones() as usize;
        let left: Vec<Leaving> = self.leaving.drain(..ends).collect();
        beat.user.discontinue = left.iter().any(|leaving| leaving.discontinued);
        for leaving in left {
            let Some(tag) = leaving.tag else { continue };
            let index = self
                .outstanding
                .iter()
                .position(|read| read.tag == tag)
                .expect("the read is outstanding");
            let read = &mut self.outstanding[index];
            if beat.user.discontinue {
                read.failed = true;
                if !read.times_out {
                    clients.fail(class(tag), read.request);
                }
            }
            if leaving.ends {
                self.failed += usize::from(read.failed);
                self.outstanding.remove(index);
            }
        }
        Some(beat)
    }
}
