//! The block between DMA clients and the PCIe block.

use crate::oracle::Oracle;
use ferroce_dma::desc::{PcieLimits, RqTlp};
use ferroce_dma::requester::requester_tx::RequesterTx;
use ferroce_emit::harness::Sim;
use ferroce_emit::prelude::*;
use ferroce_pcie::tlp::MemRead;
use ferroce_pcie::usp::RqBeat;
use ferroce_rtl::desc::dma::DmaWriteBeat;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use std::collections::VecDeque;

/// A DMA write.
#[derive(Debug, Clone)]
pub struct Write {
    pub addr: u64,
    pub bytes: Vec<u8>,
}

impl Write {
    pub fn random(rng: &mut ChaCha8Rng, addr: u64, len: usize) -> Self {
        let bytes = (0..len).map(|_| rng.gen()).collect();
        Self { addr, bytes }
    }

    /// Any place in a page and any length up to its end, short ones preferred.
    pub fn anywhere(rng: &mut ChaCha8Rng) -> Self {
        let offset = rng.gen_range(0..4096);
        let most = [8, 70, 300, 4096][rng.gen_range(0..4)].min(4096 - offset);
        let len = rng.gen_range(1..=most);
        let addr = page(rng) + offset as u64;
        Self::random(rng, addr, len)
    }

    pub fn beats(&self) -> usize {
        (self.addr as usize % 64 + self.bytes.len()).div_ceil(64)
    }

    /// Bytes beside the write are noise.
    fn beat(&self, index: usize) -> DmaWriteBeat {
        let noise = (self.addr as u8 ^ index as u8).wrapping_mul(37) | 1;
        let first = self.addr as usize % 64;
        let word = |word: usize| {
            u32::from_le_bytes(std::array::from_fn(|k| {
                let at = (index * 64 + word * 4 + k).checked_sub(first);
                at.and_then(|at| self.bytes.get(at).copied())
                    .unwrap_or(noise)
            }))
        };
        let words: [u32; 16] = std::array::from_fn(word);
        DmaWriteBeat {
            data: unpack(&words),
            addr: self.addr.into(),
            len: (self.bytes.len() as u64).into(),
            last: index + 1 == self.beats(),
        }
    }
}

/// A read request.
#[derive(Debug, Clone)]
pub struct Read {
    pub tlp: MemRead,
    pub ordered: bool,
}

impl Read {
    pub fn anywhere(rng: &mut ChaCha8Rng) -> Self {
        let offset = rng.gen_range(0..4096);
        // 128 doublewords at most.
        let len = rng.gen_range(1..=(512 - offset % 4).min(4096 - offset));
        Self {
            tlp: MemRead::of_bytes(page(rng) + offset as u64, len, rng.gen(), 0),
            ordered: rng.gen_bool(0.3),
        }
    }

    fn request(&self) -> RqTlp {
        RqTlp {
            write: false,
            addr: (self.tlp.addr / 4).into(),
            dwords: (self.tlp.dwords as u64).into(),
            first_be: u64::from(self.tlp.enables.first).into(),
            last_be: u64::from(self.tlp.enables.last).into(),
            tag: u64::from(self.tlp.tag).into(),
            ordered: self.ordered,
        }
    }
}

fn page(rng: &mut ChaCha8Rng) -> u64 {
    rng.gen::<u64>() & !0xFFF
}

/// A bit that stays for a while.
#[derive(Debug)]
pub struct Bursts {
    /// Chance to be high.
    duty: f64,
    /// Longest burst of one level in cycles.
    longest: u32,
    level: bool,
    left: u32,
}

impl Bursts {
    pub fn new(duty: f64, longest: u32) -> Self {
        Self {
            duty,
            longest,
            level: true,
            left: 0,
        }
    }

    /// Always high.
    pub fn always() -> Self {
        Self::new(1.0, 1)
    }

    fn next(&mut self, rng: &mut ChaCha8Rng) -> bool {
        if self.left == 0 {
            self.level = rng.gen_bool(self.duty);
            self.left = rng.gen_range(1..=self.longest);
        }
        self.left -= 1;
        self.level
    }
}

/// The host's non-posted header credits.
#[derive(Debug)]
pub struct Credits {
    /// What is free now.
    pub free: u64,
    /// Chance of one more in a cycle, up to `most`.
    pub refill: f64,
    pub most: u64,
    /// Cycles until the report knows of a read.
    pub delay: usize,
    history: VecDeque<u64>,
}

impl Credits {
    pub fn new(free: u64, refill: f64, most: u64, delay: usize) -> Self {
        Self {
            free,
            refill,
            most,
            delay,
            history: vec![free; delay].into(),
        }
    }

    /// Never short.
    pub fn plenty() -> Self {
        Self::new(1 << 40, 0.0, 0, 0)
    }

    /// What the block reports in this cycle.
    fn report(&self) -> u64 {
        self.history.front().copied().unwrap_or(self.free).min(15)
    }

    fn end_cycle(&mut self, used: u64, rng: &mut ChaCha8Rng) {
        assert!(
            used <= self.free,
            "{used} reads left with {} credits",
            self.free
        );
        self.free -= used;
        if self.free < self.most && rng.gen_bool(self.refill) {
            self.free += 1;
        }
        // In cycle `t + delay`, the report is what was free at the end of cycle `t`.
        if self.delay > 0 {
            self.history.push_back(self.free);
            while self.history.len() > self.delay {
                self.history.pop_front();
            }
        }
    }
}

/// How the surroundings behave.
#[derive(Debug)]
pub struct Knobs {
    pub writes: Bursts,
    pub reads: Bursts,
    pub ready: Bursts,
    pub credits: Credits,
}

impl Knobs {
    /// Nothing ever waits.
    pub fn smooth() -> Self {
        Self {
            writes: Bursts::always(),
            reads: Bursts::always(),
            ready: Bursts::always(),
            credits: Credits::plenty(),
        }
    }
}

pub struct World {
    sim: Sim,
    pub rng: ChaCha8Rng,
    pub knobs: Knobs,
    pub writes: VecDeque<Write>,
    pub reads: VecDeque<Read>,
    beat: usize,
    offers_write: bool,
    offers_read: bool,
    held: Option<RqBeat>,
    pub oracle: Oracle,
    /// Cycles of the first and of the last RQ beat taken, and how many there were.
    pub first_beat: Option<u64>,
    pub last_beat: u64,
    pub beats: u64,
}

impl World {
    /// `max_payload` as the block codes it.
    pub fn new(straddle: bool, max_payload: u64, knobs: Knobs, rng: ChaCha8Rng) -> Self {
        let top = if straddle {
            "requester_tx"
        } else {
            "requester_tx_single"
        };
        let mut sim = Sim::new(top, move || RequesterTx::new(straddle));
        sim.set(
            "limits",
            &PcieLimits {
                max_payload: max_payload.into(),
                max_read_req: 2.into(),
            },
        );
        Self {
            sim,
            rng,
            knobs,
            writes: VecDeque::new(),
            reads: VecDeque::new(),
            beat: 0,
            offers_write: false,
            offers_read: false,
            held: None,
            oracle: Oracle::new(straddle, 128 << max_payload),
            first_beat: None,
            last_beat: 0,
            beats: 0,
        }
    }

    pub fn cycle(&self) -> u64 {
        self.sim.cycle
    }

    /// One clock cycle.
    pub fn step(&mut self) {
        // An offer stays until it is taken.
        self.offers_write |= self.knobs.writes.next(&mut self.rng);
        self.offers_read |= self.knobs.reads.next(&mut self.rng);
        let beat = match self.writes.front() {
            Some(write) if self.offers_write => Some(write.beat(self.beat)),
            _ => None,
        };
        self.sim.offer("dma_write", beat.as_ref());
        let read = match self.reads.front() {
            Some(read) if self.offers_read => Some(read.request()),
            _ => None,
        };
        self.sim.offer("reads", read.as_ref());
        let credit = Bits::<4>::from(self.knobs.credits.report());
        self.sim.set("np_credit", &credit);
        let ready = self.knobs.ready.next(&mut self.rng);
        self.sim.set("rq_ready", &ready);
        self.sim.settle();

        let used = self.look_at_rq(ready);
        self.knobs.credits.end_cycle(used, &mut self.rng);
        // A write that is taken in the same cycle is not before the read.
        if self.sim.taken("reads") {
            let read = self.reads.pop_front().expect("it was offered");
            self.oracle.read_taken(read);
            self.offers_read = false;
        }
        if self.sim.taken("dma_write") {
            self.offers_write = false;
            self.beat += 1;
            if self.beat == self.writes[0].beats() {
                let write = self.writes.pop_front().expect("it was offered");
                self.oracle.write_taken(write);
                self.beat = 0;
            } else if self.beat == 1 {
                self.oracle.write_begun(self.writes[0].clone());
            }
        }
        self.sim.tick();
    }

    /// The rules of RQ; returns the reads that left.
    fn look_at_rq(&mut self, ready: bool) -> u64 {
        let valid = self.sim.high("rq_valid");
        assert!(
            valid || !self.oracle.mid_tlp(),
            "cycle {}: RQ pauses inside a TLP",
            self.sim.cycle
        );
        let beat = valid.then(|| RqBeat::unpack(&self.sim.words("rq_data")));
        if let Some(held) = self.held.take() {
            assert_eq!(Some(held), beat, "RQ changes while it waits");
        }
        let Some(beat) = beat else {
            return 0;
        };
        if !ready {
            self.held = Some(beat);
            return 0;
        }
        self.first_beat.get_or_insert(self.sim.cycle);
        self.last_beat = self.sim.cycle;
        self.beats += 1;
        self.oracle.beat(&beat)
    }

    /// Until everything that was given has left.
    pub fn finish(&mut self) {
        let mut idle = 0;
        while !self.writes.is_empty() || !self.reads.is_empty() || self.oracle.waits() {
            let before = (self.writes.len(), self.beat, self.reads.len(), self.beats);
            self.step();
            let after = (self.writes.len(), self.beat, self.reads.len(), self.beats);
            idle = if before == after { idle + 1 } else { 0 };
            assert!(idle < 30_000, "nothing moves any more: {after:?}");
        }
        for _ in 0..50 {
            self.step();
        }
    }
}
