//! A root complex and its link, a core cycle at a time.
//!
//! Requests of the card cross the link in order and take effect in order, so that a read sees every write before it and writes become
//! visible in their order. Answers to reads come later, in any order between tags and in address order within one. The host's own
//! requests and its answers to the card share the other direction, in the order in which they are made, so no answer passes a write of
//! the host.

pub mod config;
pub mod faults;
mod host;
pub mod lane;
mod memory;
mod reads;
pub mod roof;

use std::collections::VecDeque;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

pub use config::{Credits, LinkSpeed, RootConfig, Split};
pub use faults::{Fault, FaultRates, Scripted};
pub use host::Answer;
pub use lane::{LaneStats, Tlp};
pub use memory::{HostMemoryPort, Unmapped};

use crate::tlp::{Completion, MemRead, MemWrite, Request, Status};
use host::HostRequests;
use lane::Lane;
use reads::{Reads, ROOT_ID};

/// Answers are made while less than this waits for the link, so that the choice between reads falls when the link is free.
const AHEAD: usize = 64;
/// Cycles of the model between the last beat of a request and the first beat of an answer of 64 bytes, beside the settable latency.
const OWN_LATENCY: u64 = 3;

/// What happened so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct RootStats {
    /// From the card to the host.
    pub up: LaneStats,
    /// From the host to the card.
    pub down: LaneStats,
    /// Memory reads of the card.
    pub reads: u64,
    /// Bytes that they asked for.
    pub read_bytes: u64,
    /// Memory writes of the card.
    pub writes: u64,
    /// Bytes that they wrote.
    pub write_bytes: u64,
    /// Requests of the card that the host does not support.
    pub unsupported: u64,
    /// Most reads that the host worked on at once.
    pub most_reads: usize,
    /// Accesses outside mapped memory.
    pub unmapped: u64,
    /// Injected faults.
    pub faults: u64,
    /// Cycles in which a request of the card waited for a credit.
    pub starved: u64,
}

/// Buffers in use.
#[derive(Debug, Default)]
struct Used {
    /// Non-posted requests that wait for the link.
    non_posted_unsent: u64,
    posted_headers: u64,
    posted_data: u64,
    non_posted_headers: u64,
}

/// A root complex with one card.
#[derive(Debug)]
pub struct Root {
    config: RootConfig,
    rng: ChaCha8Rng,
    now: u64,
    up: Lane,
    down: Lane,
    /// Packets of the card on their way into the host, with the cycles at which they take effect.
    landing: VecDeque<(u64, Tlp)>,
    /// Reads that have arrived but found no slot, with the cycles at which they are due.
    waiting: VecDeque<(u64, MemRead)>,
    reads: Reads,
    host: HostRequests,
    arrived: VecDeque<Tlp>,
    used: Used,
    stats: RootStats,
}

fn data_units(request: &Request) -> u64 {
    request.payload().len().div_ceil(16) as u64
}

impl Root {
    /// A host at cycle 0 whose random choices follow from `seed`.
    pub fn new(config: RootConfig, seed: u64) -> Self {
        Self {
            config,
            rng: ChaCha8Rng::seed_from_u64(seed),
            now: 0,
            up: Lane::new(config.speed),
            down: Lane::new(config.speed),
            landing: VecDeque::new(),
            waiting: VecDeque::new(),
            reads: Reads::default(),
            host: HostRequests::default(),
            arrived: VecDeque::new(),
            used: Used::default(),
            stats: RootStats::default(),
        }
    }

    /// The configuration.
    pub fn config(&self) -> &RootConfig {
        &self.config
    }

    /// Core cycles so far.
    pub fn cycle(&self) -> u64 {
        self.now
    }

    /// Counters so far.
    pub fn stats(&self) -> RootStats {
        RootStats {
            up: self.up.stats(),
            down: self.down.stats(),
            most_reads: self.reads.most,
            unmapped: self.stats.unmapped + self.reads.unmapped,
            faults: self.reads.faults,
            ..self.stats
        }
    }

    /// Makes a completion suffer.
    pub fn script(&mut self, entry: Scripted) {
        self.reads.script(entry);
    }

    /// Calls off what was scripted and has not happened, and returns it.
    pub fn unscript(&mut self) -> Vec<Scripted> {
        self.reads.unscript()
    }

    /// Puts a packet of the card on the link.
    pub fn send(&mut self, tlp: Tlp) {
        if let Tlp::Request(request) = &tlp {
            self.used.non_posted_unsent += u64::from(!request.kind().posted());
        }
        self.up.push(tlp);
    }

    /// Link bytes of the card's packets that have not been sent as a whole.
    pub fn unsent_bytes(&self) -> usize {
        self.up.queued_bytes()
    }

    /// Further non-posted requests for which the host has buffers.
    pub fn non_posted_credits(&self) -> u64 {
        let all = self.config.credits.non_posted_headers;
        all.saturating_sub(self.used.non_posted_headers + self.used.non_posted_unsent)
    }

    /// The next packet that has arrived at the card.
    pub fn receive(&mut self) -> Option<Tlp> {
        self.arrived.pop_front()
    }

    /// The host's processor writes `bytes` to address `addr` of the card.
    pub fn host_write(&mut self, addr: u64, bytes: &[u8]) {
        let at = self.now + self.config.host_latency;
        self.host.write(at, addr, bytes, ROOT_ID);
    }

    /// The host's processor reads `len` bytes at address `addr` of the card; returns the tag of the answer.
    pub fn host_read(&mut self, addr: u64, len: usize) -> u8 {
        let at = self.now + self.config.host_latency;
        self.host.read(at, addr, len, ROOT_ID)
    }

    /// Any request of the host. A non-posted one must have tag [`Self::host_tag`].
    pub fn host_request(&mut self, request: Request) {
        self.host.push(self.now + self.config.host_latency, request);
    }

    /// Tag for the next non-posted request of the host.
    pub fn host_tag(&self) -> u8 {
        self.host.free_tag()
    }

    /// The next answer to a request of the host.
    pub fn answer(&mut self) -> Option<Answer> {
        self.host.answer()
    }

    /// Whether nothing is under way; answers that were not fetched don't count.
    pub fn is_idle(&self) -> bool {
        self.up.is_empty()
            && self.landing.is_empty()
            && self.waiting.is_empty()
            && self.reads.is_empty()
            && self.host.is_idle()
            && self.down.is_empty()
            && self.arrived.is_empty()
    }

    /// Lets a core cycle pass.
    pub fn tick(&mut self, memory: &mut impl HostMemoryPort) {
        self.now += 1;
        self.up.begin_cycle();
        self.down.begin_cycle();
        if !self.up.is_empty() {
            self.send_up();
        }
        if !self.landing.is_empty() {
            self.land(memory);
        }
        while let Some(request) = self.host.take(self.now) {
            self.down.push(Tlp::Request(request));
        }
        if !self.down.is_empty() || !self.reads.is_empty() {
            self.send_down(memory);
        }
    }

    fn send_up(&mut self) {
        loop {
            if !self.up.sending() {
                let Some(tlp) = self.up.beginning() else {
                    break;
                };
                if let Tlp::Request(request) = tlp {
                    if !claim(&mut self.used, &self.config, request) {
                        self.stats.starved += 1;
                        break;
                    }
                }
            }
            let Some(tlp) = self.up.send() else {
                break;
            };
            let due = self.now + self.config.write_latency;
            self.landing.push_back((due, tlp));
        }
    }

    fn land(&mut self, memory: &mut impl HostMemoryPort) {
        if self.config.pause > 0.0 && self.rng.gen_bool(self.config.pause.min(1.0)) {
            return;
        }
        while self.landing.front().is_some_and(|l| l.0 <= self.now) {
            match self.landing.pop_front() {
                Some((_, Tlp::Completion(completion))) => self.host.complete(completion),
                Some((due, Tlp::Request(request))) => self.perform(request, due, memory),
                None => break,
            }
        }
        self.admit();
    }

    fn perform(&mut self, request: Request, due: u64, memory: &mut impl HostMemoryPort) {
        if request.kind().posted() {
            self.used.posted_headers -= 1;
            self.used.posted_data -= data_units(&request);
        }
        match request {
            Request::Write(write) => self.write(&write, memory),
            Request::Read(read) => {
                self.stats.reads += 1;
                self.stats.read_bytes += read.enables.span(read.dwords).len() as u64;
                let jitter = self.rng.gen_range(0..=self.config.read_jitter);
                let latency = self.config.read_latency + jitter;
                let left = latency.saturating_sub(self.config.write_latency + OWN_LATENCY);
                self.waiting.push_back((due + left, read));
            }
            Request::Other(other) => {
                self.stats.unsupported += 1;
                if other.kind.posted() {
                    return;
                }
                self.used.non_posted_headers -= 1;
                self.down.push(Tlp::Completion(Completion {
                    requester: other.requester,
                    tag: other.tag,
                    completer: ROOT_ID,
                    status: Status::UnsupportedRequest,
                    byte_count: 4,
                    lower_address: 0,
                    poisoned: false,
                    payload: Vec::new(),
                }));
            }
        }
    }

    fn write(&mut self, write: &MemWrite, memory: &mut impl HostMemoryPort) {
        self.stats.writes += 1;
        if write.poisoned {
            return;
        }
        for (addr, bytes) in write.runs() {
            match memory.write(addr, bytes) {
                Ok(()) => self.stats.write_bytes += bytes.len() as u64,
                Err(_) => self.stats.unmapped += 1,
            }
        }
    }

    /// Gives arrived reads slots and their credits back.
    fn admit(&mut self) {
        while self.reads.len() < self.config.read_slots {
            let Some((due, read)) = self.waiting.pop_front() else {
                break;
            };
            self.used.non_posted_headers -= 1;
            self.reads.begin(read, due);
        }
    }

    fn send_down(&mut self, memory: &impl HostMemoryPort) {
        loop {
            if self.down.queued_bytes() < AHEAD && !self.reads.is_empty() {
                let (config, rng, down) = (&self.config, &mut self.rng, &mut self.down);
                let push = |completion| down.push(Tlp::Completion(completion));
                self.reads.answer(self.now, config, rng, memory, push);
            }
            match self.down.send() {
                Some(tlp) => self.arrived.push_back(tlp),
                None => break,
            }
        }
        if !self.waiting.is_empty() {
            self.admit();
        }
    }
}

/// Takes the buffers of a request, if the host has them.
fn claim(used: &mut Used, config: &RootConfig, request: &Request) -> bool {
    let limits = &config.credits;
    if !request.kind().posted() {
        let free = used.non_posted_headers < limits.non_posted_headers;
        used.non_posted_headers += u64::from(free);
        used.non_posted_unsent -= u64::from(free);
        return free;
    }
    let units = data_units(request);
    let free = used.posted_headers < limits.posted_headers
        && used.posted_data + units <= limits.posted_data;
    if free {
        used.posted_headers += 1;
        used.posted_data += units;
    }
    free
}
