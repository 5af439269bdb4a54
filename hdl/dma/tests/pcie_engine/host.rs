//! The host's processor: stores to and loads from the card's registers, and a register file behind the engine.

use ferroce_pcie::root::Root;
use ferroce_pcie::tlp::Status;
use ferroce_rtl::desc::bar::{BarReq, BarResp};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use std::collections::VecDeque;

/// Bytes of registers that are used.
const BYTES: usize = 0x1000;
/// Loads under way at most: so few that the engine always wants more, so that no store passes one that waits for it.
const LOADS: usize = 8;
/// Words stored but not yet in the registers: 32 KiB, what the posted credits of a block let the host send.
const STORE_WORDS: usize = 4096;
/// Cycles from an access to its answer.
const LATENCY: u64 = 6;

/// Loads that the processor waits for, and the registers twice: as it sees them and as they are.
pub struct Processor {
    seen: Vec<u8>,
    registers: Vec<u8>,
    waiting: Vec<(u8, Result<Vec<u8>, Status>)>,
    answers: VecDeque<(u64, u64)>,
    /// Words on their way to the registers.
    storing: usize,
    pub loads: usize,
    /// Loads that are too long.
    pub refused: usize,
    pub stores: usize,
}

impl Processor {
    /// All registers 0.
    pub fn new() -> Self {
        Self {
            seen: vec![0; BYTES],
            registers: vec![0; BYTES],
            waiting: Vec::new(),
            answers: VecDeque::new(),
            storing: 0,
            loads: 0,
            refused: 0,
            stores: 0,
        }
    }

    /// A store or a load.
    pub fn act(&mut self, root: &mut Root, base: u64, rng: &mut ChaCha8Rng) {
        let longest = root.config().max_payload;
        if rng.gen() {
            if self.storing >= STORE_WORDS {
                return;
            }
            let len = match rng.gen_range(0..8) {
                0 => rng.gen_range(1..=longest),
                1..=3 => 64,
                _ => rng.gen_range(1..=16),
            };
            let at = rng.gen_range(0..=BYTES - len);
            let at = if len == 64 { at & !63 } else { at };
            // With its first doubleword's part the payload must fit.
            let len = len.min(longest - at % 4);
            let bytes: Vec<u8> = (0..len).map(|_| rng.gen()).collect();
            self.seen[at..][..len].copy_from_slice(&bytes);
            root.host_write(base + at as u64, &bytes);
            self.storing += (at + len).div_ceil(8) - at / 8;
            self.stores += 1;
        } else if self.waiting.len() < LOADS {
            let too_long = rng.gen_bool(0.1);
            let len = if too_long {
                rng.gen_range(68..=128)
            } else {
                rng.gen_range(0..=61)
            };
            let at = rng.gen_range(0..=BYTES - len);
            let tag = root.host_read(base + at as u64, len);
            let due = match too_long {
                true => Err(Status::CompleterAbort),
                // A load of nothing is answered with a byte that has no meaning.
                false => Ok(self.seen[at..][..len].to_vec()),
            };
            self.waiting.push((tag, due));
            self.loads += 1;
            self.refused += usize::from(too_long);
        }
    }

    /// Compares the answers that came.
    pub fn compare(&mut self, root: &mut Root) {
        while let Some(answer) = root.answer() {
            let (tag, due) = self.waiting.remove(0);
            assert_eq!(answer.tag, tag, "answers come in order");
            match due {
                Ok(bytes) if bytes.is_empty() => assert!(answer.bytes.is_ok()),
                due => assert_eq!(answer.bytes, due),
            }
        }
    }

    /// Loads without an answer.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// An access reached the registers.
    pub fn access(&mut self, access: &BarReq, now: u64) {
        let at = access.addr.to_u64() as usize;
        assert!(at % 8 == 0 && at < BYTES, "{access:?}");
        let word = &mut self.registers[at..][..8];
        if access.write {
            self.storing -= 1;
            for (k, byte) in access.data.to_u64().to_le_bytes().iter().enumerate() {
                if access.strobe.to_u64() >> k & 1 == 1 {
                    word[k] = *byte;
                }
            }
        } else {
            let word = word.iter().rev().fold(0, |w, b| w << 8 | u64::from(*b));
            self.answers.push_back((now + LATENCY, word));
        }
    }

    /// The answer that is there.
    pub fn answer(&self, now: u64) -> Option<BarResp> {
        let (due, word) = self.answers.front()?;
        (*due <= now).then(|| BarResp {
            data: (*word).into(),
        })
    }

    /// It was taken.
    pub fn answer_taken(&mut self) {
        self.answers.pop_front();
    }

    /// Everything stored must be in the registers.
    pub fn check(&self) {
        assert_eq!(self.registers, self.seen);
    }
}
