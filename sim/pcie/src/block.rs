//! The UltraScale+ block between the card's four streams and the link, with the host at the other end: what a card's PCIe engine is
//! connected to. Before a rising edge of the core clock it sees what the card offers, after it what it offers itself may change.

use std::collections::VecDeque;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::root::{HostMemoryPort, Root, RootConfig, Tlp};
use crate::tlp::{Id, Request};
use crate::usp::{
    CcBeat, CcDecoder, CqBeat, CqEncoder, CqPacket, RcBeat, RcEncoder, RcPacket, RqBeat, RqDecoder,
    RqLimits, SplitTable,
};

mod violation;
pub use violation::Violation;

/// Longest delay of the credit count, in cycles.
const MOST_LAG: usize = 16;
/// `pcie_tfc_nph_av` has 4 bits; its greatest value stands for itself and more.
const MOST_CREDITS: u64 = 15;
/// Non-posted requests of the host that the card may have granted ahead (PG213, `pcie_cq_np_req_count`).
const MOST_GRANTS: u8 = 32;

/// The card's window in the host's address space.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bar {
    /// Number of the base address register.
    pub index: u8,
    /// Address, a multiple of the size.
    pub base: u64,
    /// Size as a power of two.
    pub aperture: u8,
}

/// The block.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BlockConfig {
    /// Two TLPs may share a beat of RQ.
    pub straddle_rq: bool,
    /// Four TLPs may share a beat of RC.
    pub straddle_rc: bool,
    /// Bus, device and function of the card.
    pub id: Id,
    /// Its window.
    pub bar: Bar,
    /// Core cycles after which a request without completion ends with error 9; `None` waits for ever.
    pub completion_timeout: Option<u64>,
    /// RQ and CC are not ready while this many link bytes wait.
    pub transmit_bytes: usize,
    /// Completions that the block can hold. It advertises more to the host: the card must not ask for more than fits.
    pub receive_headers: usize,
    /// Bytes of them that it can hold, headers and payload, each rounded up to 16.
    pub receive_bytes: usize,
    /// Core cycles from a change of non-posted credits to its report, at most 16.
    pub credit_lag: usize,
    /// Probability that an input is not ready, or an output not valid, for a cycle.
    pub pause: f64,
}

impl Default for BlockConfig {
    fn default() -> Self {
        Self {
            straddle_rq: true,
            straddle_rc: true,
            id: 0x0100,
            bar: Bar {
                index: 0,
                base: 0xe000_0000,
                aperture: 20,
            },
            // 50 ms, the longest of the default range.
            completion_timeout: Some(12_500_000),
            transmit_bytes: 2048,
            // The UltraScale+ block; PG213 promises half the headers.
            receive_headers: 256,
            receive_bytes: 32768,
            credit_lag: 4,
            pause: 0.0,
        }
    }
}

/// The block and the host behind it.
#[derive(Debug)]
pub struct Block {
    config: BlockConfig,
    /// Host and link.
    pub root: Root,
    rng: ChaCha8Rng,
    rq: RqDecoder,
    rc: RcEncoder,
    cq: CqEncoder,
    cc: CcDecoder,
    table: SplitTable,
    rq_ready: bool,
    cc_ready: bool,
    rc_beat: Option<RcBeat>,
    cq_beat: Option<CqBeat>,
    /// Requests of the host.
    requests: VecDeque<CqPacket>,
    /// Non-posted ones that the card has granted.
    grants: u8,
    /// Posted requests that have arrived, and of them those that the card has taken.
    posted: u64,
    posted_taken: u64,
    /// The request on CQ is posted.
    cq_posted: bool,
    /// Completions, each behind as many posted requests as had arrived.
    completions: VecDeque<(u64, RcPacket)>,
    completion_bytes: usize,
    /// Credits of the last cycles.
    credits: [u8; MOST_LAG],
    violation: Option<Violation>,
}

impl Block {
    /// A block at cycle 0 with an idle host.
    pub fn new(config: BlockConfig, root: RootConfig, seed: u64) -> Self {
        let limits = RqLimits {
            max_payload: root.max_payload,
            max_read: root.max_read,
        };
        let mut block = Self {
            config,
            root: Root::new(root, seed),
            rng: ChaCha8Rng::seed_from_u64(!seed),
            rq: RqDecoder::new(config.straddle_rq, limits),
            rc: RcEncoder::new(config.straddle_rc),
            cq: CqEncoder::default(),
            cc: CcDecoder::new(root.max_payload),
            table: SplitTable::new(config.completion_timeout),
            rq_ready: false,
            cc_ready: false,
            rc_beat: None,
            cq_beat: None,
            requests: VecDeque::new(),
            grants: 0,
            posted: 0,
            posted_taken: 0,
            cq_posted: false,
            completions: VecDeque::new(),
            completion_bytes: 0,
            credits: [0; MOST_LAG],
            violation: None,
        };
        block.credits = [block.credit_now(); MOST_LAG];
        block
    }

    /// The configuration.
    pub fn config(&self) -> &BlockConfig {
        &self.config
    }

    /// The first rule that the card broke, if any.
    pub fn violation(&self) -> Option<Violation> {
        self.violation
    }

    /// `cfg_max_payload`: 128 bytes shifted left by this.
    pub fn max_payload_code(&self) -> u8 {
        (self.root.config().max_payload / 128).trailing_zeros() as u8
    }

    /// `cfg_max_read_req`: 128 bytes shifted left by this.
    pub fn max_read_code(&self) -> u8 {
        (self.root.config().max_read / 128).trailing_zeros() as u8
    }

    /// Whether nothing is under way between card and host.
    pub fn is_idle(&self) -> bool {
        self.root.is_idle()
            && !self.rq.mid_tlp()
            && !self.cc.mid_tlp()
            && self.table.waiting() == 0
            && self.cc.outstanding() == 0
            && self.requests.is_empty()
            && self.completions.is_empty()
            && self.rc.is_empty()
            && (self.rc_beat.is_none() && self.cq_beat.is_none())
    }

    /// Requests of the card that wait for completions.
    pub fn outstanding(&self) -> usize {
        self.table.waiting()
    }

    /// Completions that the block holds: those that have not left on RC as a whole.
    pub fn held_completions(&self) -> usize {
        self.completions.len() + self.rc.held()
    }

    /// Before an edge: RQ is valid or not, and what it carries.
    pub fn rq(&mut self, valid: bool, beat: impl FnOnce() -> RqBeat) {
        if !valid {
            if self.rq.mid_tlp() {
                self.violate(Violation::Gap("RQ"));
            }
        } else if self.rq_ready {
            let (root, table, id) = (&mut self.root, &mut self.table, self.config.id);
            let mut reused = None;
            let done = self.rq.beat(&beat(), |mut request| {
                identify(&mut request, id);
                let now = root.cycle();
                if !request.kind().posted() && !table.begin(&request, now) {
                    reused = Some(request.tag());
                } else {
                    root.send(Tlp::Request(request));
                }
            });
            let broken = done.err().map(Violation::from);
            let broken = broken.or(reused.map(Violation::TagInUse));
            broken.into_iter().for_each(|rule| self.violate(rule));
        }
    }

    /// Before an edge: CC is valid or not, and what it carries.
    pub fn cc(&mut self, valid: bool, beat: impl FnOnce() -> CcBeat) {
        if !valid {
            if self.cc.mid_tlp() {
                self.violate(Violation::Gap("CC"));
            }
        } else if self.cc_ready {
            match self.cc.beat(&beat()) {
                Ok(None) => {}
                Ok(Some((completion, _))) => self.root.send(Tlp::Completion(completion)),
                Err(error) => self.violate(error.into()),
            }
        }
    }

    /// Before an edge: whether the card takes what RC offers.
    pub fn rc_ready(&mut self, ready: bool) {
        if ready {
            self.rc_beat = None;
        }
    }

    /// Before an edge: whether the card takes what CQ offers.
    pub fn cq_ready(&mut self, ready: bool) {
        if ready && self.cq_beat.take().is_some_and(|beat| beat.last) {
            self.posted_taken += u64::from(self.cq_posted);
        }
    }

    /// Before an edge: whether the card wants another non-posted request of the host (bit 0 of `pcie_cq_np_req`). Without grants, posted
    /// requests pass those that wait. A card that does not care always grants.
    pub fn cq_np_req(&mut self, grant: bool) {
        self.grants = (self.grants + u8::from(grant)).min(MOST_GRANTS);
    }

    /// After an edge: lets a core cycle pass.
    pub fn tick(&mut self, memory: &mut impl HostMemoryPort) {
        self.root.tick(memory);
        while let Some(tlp) = self.root.receive() {
            self.arrive(tlp);
        }
        while let Some(packet) = self.table.expire(self.root.cycle()) {
            self.answer(packet);
        }
        self.release();
        if self.cq_beat.is_none() {
            self.cq_beat = self.next_request();
        }
        if self.rc_beat.is_none() && !self.rc.is_empty() && !self.pause() {
            self.rc_beat = self.rc.next_beat();
        }
        let room = self.root.unsent_bytes() < self.config.transmit_bytes;
        self.rq_ready = room && !self.pause();
        self.cc_ready = room && !self.pause();
        self.credits.copy_within(..MOST_LAG - 1, 1);
        self.credits[0] = self.credit_now();
    }

    /// Whether RQ is ready.
    pub fn rq_is_ready(&self) -> bool {
        self.rq_ready
    }

    /// Whether CC is ready.
    pub fn cc_is_ready(&self) -> bool {
        self.cc_ready
    }

    /// What RC offers.
    pub fn rc_beat(&self) -> Option<&RcBeat> {
        self.rc_beat.as_ref()
    }

    /// What CQ offers.
    pub fn cq_beat(&self) -> Option<&CqBeat> {
        self.cq_beat.as_ref()
    }

    /// `pcie_tfc_nph_av`: non-posted requests that the host can take, 15 for 15 and more.
    pub fn np_credit(&self) -> u8 {
        self.credits[self.config.credit_lag.min(MOST_LAG - 1)]
    }

    fn credit_now(&self) -> u8 {
        self.root.non_posted_credits().min(MOST_CREDITS) as u8
    }

    fn pause(&mut self) -> bool {
        let pause = self.config.pause;
        pause > 0.0 && self.rng.gen_bool(pause.min(1.0))
    }

    fn violate(&mut self, rule: Violation) {
        self.violation.get_or_insert(rule);
    }

    fn arrive(&mut self, tlp: Tlp) {
        match tlp {
            Tlp::Completion(completion) => {
                let packet = self.table.check(completion);
                self.answer(packet);
            }
            Tlp::Request(request) => {
                self.posted += u64::from(request.kind().posted());
                self.requests.push_back(CqPacket {
                    request,
                    function: 0,
                    bar: self.config.bar.index,
                    aperture: self.config.bar.aperture,
                });
            }
        }
    }

    fn answer(&mut self, packet: RcPacket) {
        self.completion_bytes += packet.buffer_bytes();
        self.completions.push_back((self.posted, packet));
        let completions = self.held_completions();
        let bytes = self.completion_bytes + self.rc.held_bytes();
        if completions > self.config.receive_headers || bytes > self.config.receive_bytes {
            self.violate(Violation::Overflow { completions, bytes });
        }
    }

    /// Lets completions go to RC that pass no posted request.
    fn release(&mut self) {
        let taken = self.posted_taken;
        while self.completions.front().is_some_and(|c| c.0 <= taken) {
            if let Some((_, packet)) = self.completions.pop_front() {
                self.completion_bytes -= packet.buffer_bytes();
                self.rc.push(packet);
            }
        }
    }

    fn next_request(&mut self) -> Option<CqBeat> {
        if self.cq.is_empty() && self.requests.is_empty() || self.pause() {
            return None;
        }
        if self.cq.is_empty() {
            let may_go = |packet: &CqPacket| packet.request.kind().posted() || self.grants > 0;
            let index = self.requests.iter().position(may_go)?;
            let packet = self.requests.remove(index)?;
            self.cq_posted = packet.request.kind().posted();
            if !self.cq_posted {
                self.grants -= 1;
                if let Err(error) = self.cc.expect(&packet) {
                    self.violate(error.into());
                }
            }
            self.cq.load(&packet);
        }
        self.cq.next_beat()
    }
}

/// An endpoint's requests carry the block's ID.
fn identify(request: &mut Request, id: Id) {
    match request {
        Request::Read(read) => read.requester = id,
        Request::Write(write) => write.requester = id,
        Request::Other(other) => other.requester = id,
    }
}

#[cfg(test)]
mod tests;
