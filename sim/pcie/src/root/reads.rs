//! The host's answers to the card's reads: when, in which order, in which pieces, and what goes wrong.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::config::{RootConfig, Split};
use super::faults::{Fault, Script, Scripted};
use super::memory::HostMemoryPort;
use crate::tlp::{Completion, Id, MemRead, Status};

/// Who answers: bus 0, device 0, function 0.
pub const ROOT_ID: Id = 0;
/// Bytes that a completion carries outside of what was asked for.
const FILLER: u8 = 0xa5;
/// Due reads are looked for among this many of the oldest, so that a cycle's work is bounded.
const LOOK: usize = 64;
/// Most of them that the choice is made among.
const MOST_DISORDER: usize = 16;

/// A read that the host works on.
#[derive(Debug)]
struct Pending {
    /// Counted from 0.
    number: u64,
    read: MemRead,
    due: u64,
    /// Bytes answered.
    done: usize,
    /// Completions made.
    pieces: usize,
    /// The rest is lost.
    lost: bool,
}

impl Pending {
    fn left(&self) -> usize {
        self.read.byte_count() - self.done
    }
}

/// The reads of one host.
#[derive(Debug)]
pub struct Reads {
    pending: Vec<Pending>,
    /// No read is due before.
    next_due: u64,
    /// Number of the read whose completions are leaving, when reads may not alternate.
    current: Option<u64>,
    numbers: u64,
    script: Script,
    /// Reads with a completion that failed for want of mapped memory.
    pub unmapped: u64,
    /// Faults that happened.
    pub faults: u64,
    /// Most reads at once.
    pub most: usize,
}

impl Default for Reads {
    fn default() -> Self {
        Self {
            pending: Vec::new(),
            next_due: u64::MAX,
            current: None,
            numbers: 0,
            script: Script::default(),
            unmapped: 0,
            faults: 0,
            most: 0,
        }
    }
}

impl Reads {
    /// Makes a completion suffer.
    pub fn script(&mut self, entry: Scripted) {
        self.script.add(entry);
    }

    /// Calls off the misfortunes that have not happened and returns them.
    pub fn unscript(&mut self) -> Vec<Scripted> {
        self.script.clear()
    }

    /// Reads that are not answered.
    pub fn len(&self) -> usize {
        self.pending.len()
    }

    /// Whether all are answered.
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Begins a read whose first completion is due at cycle `due`.
    pub fn begin(&mut self, read: MemRead, due: u64) {
        self.pending.push(Pending {
            number: self.numbers,
            read,
            due,
            done: 0,
            pieces: 0,
            lost: false,
        });
        self.numbers += 1;
        self.next_due = self.next_due.min(due);
        self.most = self.most.max(self.pending.len());
    }

    /// Gives the completions that leave next, if any is due, to `out`.
    pub fn answer(
        &mut self,
        now: u64,
        config: &RootConfig,
        rng: &mut ChaCha8Rng,
        memory: &impl HostMemoryPort,
        out: impl FnMut(Completion),
    ) {
        if now < self.next_due {
            return;
        }
        match self.pick(now, config, rng) {
            Some(index) => self.piece(index, now, config, rng, memory, out),
            None => self.next_due = self.pending.iter().map(|p| p.due).min().unwrap_or(u64::MAX),
        }
    }

    /// One of the oldest reads that are due.
    fn pick(&self, now: u64, config: &RootConfig, rng: &mut ChaCha8Rng) -> Option<usize> {
        if let Some(number) = self.current {
            let index = self.pending.iter().position(|p| p.number == number)?;
            return (self.pending[index].due <= now).then_some(index);
        }
        let mut due = [0; MOST_DISORDER];
        let mut count = 0;
        let most = config.disorder.clamp(1, MOST_DISORDER);
        // When none of the oldest is due, the others may go.
        let from = match self.pending.iter().take(LOOK).any(|p| p.due <= now) {
            true => 0,
            false => LOOK,
        };
        for (index, read) in self.pending.iter().enumerate().skip(from) {
            if read.due <= now {
                due[count] = index;
                count += 1;
                if count == most {
                    break;
                }
            }
        }
        (count > 0).then(|| due[rng.gen_range(0..count)])
    }

    fn piece(
        &mut self,
        index: usize,
        now: u64,
        config: &RootConfig,
        rng: &mut ChaCha8Rng,
        memory: &impl HostMemoryPort,
        mut out: impl FnMut(Completion),
    ) {
        let pending = &mut self.pending[index];
        let scripted = self.script.take(pending.number, pending.pieces);
        let fault = match config.faults.any() {
            true => scripted.or_else(|| config.faults.pick(rng.gen())),
            false => scripted,
        };
        self.faults += u64::from(fault.is_some());
        if let Some(Fault::Late(cycles)) = fault {
            pending.due = now + cycles.max(1);
            return;
        }
        let len = cut(pending, config, rng);
        let mut completion = fetch(pending, len, memory);
        self.unmapped += u64::from(completion.status != Status::Success);
        pending.pieces += 1;
        pending.done += len;
        let mut copies = usize::from(!pending.lost);
        match fault {
            Some(Fault::Status(status)) => {
                completion.status = status;
                completion.payload.clear();
            }
            Some(Fault::Poisoned) => completion.poisoned = true,
            Some(Fault::Lost) => copies = 0,
            Some(Fault::LostRest) => (copies, pending.lost) = (0, true),
            Some(Fault::Duplicate) => copies *= 2,
            Some(Fault::Unexpected | Fault::Late(_)) | None => {}
        }
        let ends = completion.status != Status::Success || pending.left() == 0;
        let requester = completion.requester;
        (1..copies).for_each(|_| out(completion.clone()));
        if copies > 0 {
            out(completion);
        }
        self.current = match ends {
            true => {
                self.pending.remove(index);
                None
            }
            false => (!config.interleave).then_some(self.pending[index].number),
        };
        if fault == Some(Fault::Unexpected) {
            out(self.unexpected(requester, rng));
        }
    }

    /// A completion for a tag that no read uses.
    fn unexpected(&self, requester: Id, rng: &mut ChaCha8Rng) -> Completion {
        let used = |tag: u8| self.pending.iter().any(|p| p.read.tag == tag);
        let start: u8 = rng.gen();
        let mut tags = (0..=u8::MAX).map(|k| start.wrapping_add(k));
        Completion {
            requester,
            tag: tags.find(|&tag| !used(tag)).unwrap_or(start),
            completer: ROOT_ID,
            status: Status::Success,
            byte_count: 64,
            lower_address: 0,
            poisoned: false,
            payload: vec![FILLER; 64],
        }
    }
}

/// Bytes of the next completion.
fn cut(pending: &Pending, config: &RootConfig, rng: &mut ChaCha8Rng) -> usize {
    let start = pending.read.first_byte() + pending.done as u64;
    let end = start + pending.left() as u64;
    let reach = (start & !3) + config.max_payload as u64;
    let boundary = config.boundary as u64;
    let cut = match config.split {
        Split::Longest if end <= reach => end,
        Split::Longest => reach / boundary * boundary,
        Split::Random => {
            let first = (start / boundary + 1) * boundary;
            let choices = (reach / boundary * boundary).saturating_sub(first) / boundary;
            first + rng.gen_range(0..=choices) * boundary
        }
    };
    (cut.min(end) - start) as usize
}

/// The next `len` bytes as a completion; UR when they are not mapped.
fn fetch(pending: &Pending, len: usize, memory: &impl HostMemoryPort) -> Completion {
    let read = &pending.read;
    let start = read.first_byte() + pending.done as u64;
    let skip = (start % 4) as usize;
    let mut payload = vec![FILLER; (skip + len).next_multiple_of(4)];
    let wanted = &mut payload[skip..skip + len];
    // A read of no byte is answered, whatever is there.
    let mapped = read.enables.first == 0 || memory.read(start, wanted).is_ok();
    if !mapped {
        payload.clear();
    }
    Completion {
        requester: read.requester,
        tag: read.tag,
        completer: ROOT_ID,
        status: match mapped {
            true => Status::Success,
            false => Status::UnsupportedRequest,
        },
        byte_count: pending.left(),
        lower_address: start as u8 & 0x7f,
        poisoned: false,
        payload,
    }
}
