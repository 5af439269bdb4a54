//! Engine, block, host and clients, wired.

use super::client::Client;
use super::host::Processor;
use super::memory::Memory;
use ferroce_dma::desc::PcieLimits;
use ferroce_dma::pcie_engine::{PcieEngine, PcieEvents};
use ferroce_emit::harness::Sim;
use ferroce_emit::prelude::*;
use ferroce_pcie::block::{Block as PcieBlock, BlockConfig};
use ferroce_pcie::root::RootConfig;
use ferroce_pcie::usp::{CcBeat, RqBeat};
use ferroce_rtl::desc::bar::BarReq;
use ferroce_rtl::desc::dma::{DmaReadBeat, DmaReadReq};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Time-out of reads (log2 of cycles): above what the slowest host takes.
const LOG2_TIMEOUT: usize = 18;
/// Cycles after which what is under way must be done.
const PATIENCE: u64 = 200_000;
/// Cycles that are watched when all is done.
const AFTERWARDS: u64 = 200;

/// Probabilities, a cycle.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// A client reads.
    pub reads: f64,
    /// A client writes.
    pub writes: f64,
    /// The host's processor accesses the card.
    pub host: f64,
    /// The clients or the registers are not ready.
    pub stall: f64,
}

/// The bench.
pub struct Bench {
    sim: Sim,
    block: PcieBlock,
    memory: Memory,
    client: Client,
    processor: Processor,
    rng: ChaCha8Rng,
    offered: Option<DmaReadReq>,
    failed: usize,
    unsupported: usize,
}

impl Bench {
    /// An idle card on an idle host.
    pub fn new(block: BlockConfig, root: RootConfig, seed: u64) -> Self {
        let straddle = block.straddle_rq;
        let mut sim = Sim::new("pcie_engine", || PcieEngine::new(straddle, LOG2_TIMEOUT));
        let block = PcieBlock::new(block, root, seed);
        sim.set(
            "limits",
            &PcieLimits {
                max_payload: u64::from(block.max_payload_code()).into(),
                max_read_req: u64::from(block.max_read_code()).into(),
            },
        );
        // The limits are in registers, and the engine starts without credits.
        for _ in 0..8 {
            sim.tick();
        }
        Self {
            sim,
            block,
            memory: Memory::new(),
            client: Client::new(),
            processor: Processor::new(),
            rng: ChaCha8Rng::seed_from_u64(seed),
            offered: None,
            failed: 0,
            unsupported: 0,
        }
    }

    /// `cycles` under load.
    pub fn run(&mut self, cycles: u64, load: Load) {
        for _ in 0..cycles {
            if self.offered.is_none() && self.rng.gen_bool(load.reads) {
                self.offered = self.client.next_read(&mut self.rng);
            }
            if self.client.writing.is_empty() && self.rng.gen_bool(load.writes) {
                self.client.next_write(&mut self.rng);
            }
            if self.rng.gen_bool(load.host) {
                let base = self.block.config().bar.base;
                self.processor
                    .act(&mut self.block.root, base, &mut self.rng);
            }
            self.cycle(load.stall);
        }
    }

    /// `cycles` in which pages are read as fast as the engine takes them; payload that came on the link, in Gb/s.
    pub fn read_pages(&mut self, cycles: u64) -> f64 {
        let before = self.block.root.stats().down;
        for _ in 0..cycles {
            if self.offered.is_none() {
                self.offered = self.client.next_page(&mut self.rng);
            }
            self.cycle(0.0);
        }
        self.block.root.stats().down.payload_gbps(&before)
    }

    /// Completions that the block holds.
    pub fn held_completions(&self) -> usize {
        self.block.held_completions()
    }

    /// Runs until nothing is under way.
    pub fn drain(&mut self) {
        let end = self.sim.cycle + PATIENCE;
        while !(self.offered.is_none()
            && self.client.is_idle()
            && self.processor.waiting() == 0
            && self.block.is_idle())
        {
            assert!(
                self.sim.cycle < end,
                "something never ends: {} reads at the block; {:?}; {} loads",
                self.block.outstanding(),
                self.client,
                self.processor.waiting(),
            );
            self.cycle(0.0);
        }
        for _ in 0..AFTERWARDS {
            self.cycle(0.0);
        }
        assert!(self.block.is_idle(), "something came from nothing");
    }

    /// Everything must have arrived.
    pub fn check(&self) {
        assert!(self.client.finished > 100, "{}", self.client.finished);
        assert!(self.memory.written == self.client.written, "host memory");
        self.processor.check();
        assert_eq!(self.unsupported, self.processor.refused);
        assert!(self.failed >= self.client.failed);
        println!(
            "{} reads, {} of them failed; {:?}; {} loads, {} stores",
            self.client.finished,
            self.client.failed,
            self.block.root.stats(),
            self.processor.loads,
            self.processor.stores
        );
    }

    fn cycle(&mut self, stall: f64) {
        let (now, sim, block) = (self.sim.cycle, &mut self.sim, &mut self.block);
        let mut go = || !self.rng.gen_bool(stall);
        sim.set("read_data_ready", &go());
        sim.set("access_ready", &go());
        sim.set("rq_ready", &block.rq_is_ready());
        sim.set("cc_ready", &block.cc_is_ready());
        sim.set::<Bits<4>>("np_credit", &u64::from(block.np_credit()).into());
        sim.set("rc_valid", &block.rc_beat().is_some());
        if let Some(beat) = block.rc_beat() {
            sim.set_words("rc_data", &beat.to_words());
        }
        sim.set("cq_valid", &block.cq_beat().is_some());
        if let Some(beat) = block.cq_beat() {
            sim.set_words("cq_data", &beat.to_words());
        }
        sim.offer("read_req", self.offered.as_ref());
        sim.offer("write", self.client.writing.front());
        sim.offer("answer", self.processor.answer(now).as_ref());
        sim.settle();

        block.rq(sim.high("rq_valid"), || {
            RqBeat::unpack(&sim.words("rq_data"))
        });
        block.cc(sim.high("cc_valid"), || {
            CcBeat::unpack(&sim.words("cc_data"))
        });
        block.rc_ready(sim.high("rc_ready"));
        block.cq_ready(sim.high("cq_ready"));
        block.cq_np_req(sim.high("np_wanted"));
        if let Some(rule) = block.violation() {
            panic!("cycle {now}: {rule}");
        }
        if sim.taken("read_req") {
            let request = self.offered.take().expect("an offer");
            self.client.read_taken(&request);
        }
        if sim.taken("write") {
            self.client.write_taken();
        }
        if sim.taken("read_data") {
            self.client.data(&sim.get::<DmaReadBeat>("read_data_data"));
        }
        if sim.taken("answer") {
            self.processor.answer_taken();
        }
        if sim.taken("access") {
            self.processor
                .access(&sim.get::<BarReq>("access_data"), now);
        }
        let events: PcieEvents = sim.get("events");
        self.failed += usize::from(events.read_failed);
        self.unsupported += usize::from(events.unsupported);
        let expected = PcieEvents {
            read_failed: events.read_failed,
            unsupported: events.unsupported,
            ..PcieEvents::default()
        };
        assert_eq!(events, expected, "cycle {now}");
        sim.tick();
        block.tick(&mut self.memory);
        self.processor.compare(&mut block.root);
    }
}
