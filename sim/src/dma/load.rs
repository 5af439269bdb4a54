//! The engine on its own, wired, and what is measured of it.

use std::sync::Arc;

use ferroce_bridge::{BridgeError, Library, Model, Port};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::Serialize;
use thiserror::Error;

use super::reader::Reader;
use super::roof::gbps_of_bytes_per_cycle;
use super::writer::Writer;
use super::{Load, Op, MAX_BLOCK, PAGE};
use crate::memory::HostMemory;
use crate::pcie::{PcieConfig, PciePort};
use crate::time::CORE_PERIOD_FS;

/// Cycles before the client begins: the engine takes the host's settings into registers.
const SETTLE_CYCLES: u64 = 16;
/// With both, neither reads nor writes are more bytes ahead of the other, or one block: enough to hide that they are taken in turns, little
/// beside a window.
const LEAD_BYTES: u64 = 2048;
/// Cycles in which a load must end: a page on the slowest link and the longest latency that make sense, many times.
const PATIENCE: u64 = 4_000_000;

/// A measurement can't be made, or the engine did wrong.
#[derive(Debug, Error)]
pub enum DmaError {
    /// The model.
    #[error(transparent)]
    Model(#[from] BridgeError),
    /// The engine broke a rule of the block's streams.
    #[error("the engine broke a rule: {0}")]
    Violation(String),
    /// The engine reported an event that nothing gave reason for.
    #[error("the engine reported events {0:#x}")]
    Event(u64),
    /// Data for a tag that no read uses.
    #[error("data came for tag {tag:#x}, which no read uses")]
    Stray {
        /// The tag.
        tag: usize,
    },
    /// A read ended with an error, too early or too late.
    #[error("the read failed before {addr:#x}")]
    Failed {
        /// Where it should have gone on.
        addr: u64,
    },
    /// A read brought other bytes than the host's memory holds.
    #[error("a read brought wrong bytes of {addr:#x}")]
    Read {
        /// First byte of the beat.
        addr: u64,
    },
    /// Host memory does not hold what was written.
    #[error("the host's memory holds wrong bytes in the {} bytes from {addr:#x}", 2 * PAGE)]
    Written {
        /// Where the block's place begins.
        addr: u64,
    },
    /// The load does not end.
    #[error("what was under way did not end within {0} core cycles")]
    Stalled(u64),
    /// A block of no bytes, or of too many.
    #[error("blocks of {0} bytes; 1 to {MAX_BLOCK} are possible")]
    Block(u64),
}

/// What is watched, in core cycles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Under load before it.
    pub warm_up: u64,
    /// Its length.
    pub cycles: u64,
}

/// What passed in a window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rate {
    /// Payload in Gb/s that the client got from reads.
    pub read_gbps: f64,
    /// Payload in Gb/s that writes brought to the host.
    pub write_gbps: f64,
    /// Tags in use, on average.
    pub tags: f64,
    /// Core cycles simulated in all.
    pub cycles: u64,
}

/// Latencies of reads with nothing else under way, from the request to the last beat of data, in core cycles.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Lone {
    /// Mean.
    pub mean: f64,
    /// 99 of 100 are not above.
    pub p99: u64,
}

/// An engine, its client, block and host.
#[derive(Debug)]
pub struct Bench {
    model: Model,
    clock: Port,
    events: Port,
    access_ready: Port,
    host: PciePort,
    memory: HostMemory,
    reader: Reader,
    writer: Writer,
    op: Op,
    /// With both, neither reads nor writes are more blocks ahead.
    lead: u64,
    rng: ChaCha8Rng,
    now: u64,
    /// Sum of the tags in use in each cycle.
    tags: u64,
}

impl Bench {
    /// A client with one kind of load, and nothing under way. `library` is a `PcieEngine` by itself.
    ///
    /// # Errors
    /// The block is too long or empty, the model fails or lacks a port.
    pub fn new(
        library: &Arc<Library>,
        config: PcieConfig,
        load: Load,
        seed: u64,
    ) -> Result<Self, DmaError> {
        if !(1..=MAX_BLOCK).contains(&load.bytes) {
            return Err(DmaError::Block(load.bytes));
        }
        let mut memory = HostMemory::default();
        let blocks = (load.bytes, load.offset);
        let mut bench = Self {
            model: Model::new(library)?,
            clock: library.port("clock")?,
            events: library.port("events")?,
            access_ready: library.port("access_ready")?,
            host: PciePort::new(library, config, seed)?,
            reader: Reader::new(library, &mut memory, blocks, seed)?,
            writer: Writer::new(library, &mut memory, blocks, !seed)?,
            memory,
            op: load.op,
            lead: (LEAD_BYTES / load.bytes).max(1),
            rng: ChaCha8Rng::seed_from_u64(seed),
            now: 0,
            tags: 0,
        };
        for _ in 0..SETTLE_CYCLES {
            bench.cycle(false, false)?;
        }
        Ok(bench)
    }

    /// Keeps the engine as busy as it can be, then lets everything end and compares what the host has got.
    ///
    /// # Errors
    /// The engine broke a rule or lost a byte.
    pub fn rate(mut self, window: Window) -> Result<Rate, DmaError> {
        self.load(window.warm_up)?;
        let (received, tags) = (self.reader.received, self.tags);
        let written = self.host.stats().write_bytes;
        self.load(window.cycles)?;
        let cycles = window.cycles.max(1) as f64;
        let gbps = |bytes: u64| bytes as f64 / cycles * gbps_of_bytes_per_cycle();
        let rate = Rate {
            read_gbps: gbps(self.reader.received - received),
            write_gbps: gbps(self.host.stats().write_bytes - written),
            tags: (self.tags - tags) as f64 / cycles,
            cycles: 0,
        };
        self.drain()?;
        self.writer.finish(&mut self.memory)?;
        Ok(Rate {
            cycles: self.now,
            ..rate
        })
    }

    /// Reads `count` blocks, one after the other.
    ///
    /// # Errors
    /// The engine broke a rule or lost a byte.
    pub fn lone_reads(mut self, count: u64) -> Result<Lone, DmaError> {
        for _ in 0..count.max(1) {
            let blocks = self.reader.blocks;
            while self.reader.blocks == blocks {
                self.cycle(true, false)?;
            }
            self.drain()?;
        }
        let latencies = &mut self.reader.latencies;
        latencies.sort_unstable();
        let index = (latencies.len() * 99).div_ceil(100).max(1) - 1;
        Ok(Lone {
            mean: latencies.iter().sum::<u64>() as f64 / latencies.len() as f64,
            p99: latencies[index],
        })
    }

    fn load(&mut self, cycles: u64) -> Result<(), DmaError> {
        for _ in 0..cycles {
            let (reads, writes) = (self.reader.blocks, self.writer.blocks);
            let both = self.op == Op::Both;
            let read = self.op.reads() && !(both && reads >= writes + self.lead);
            let write = self.op.writes() && !(both && writes >= reads + self.lead);
            self.cycle(read, write)?;
        }
        Ok(())
    }

    fn drain(&mut self) -> Result<(), DmaError> {
        let end = self.now + PATIENCE;
        while !(self.reader.is_idle() && self.writer.is_idle() && self.host.idle()) {
            if self.now == end {
                return Err(DmaError::Stalled(PATIENCE));
            }
            self.cycle(false, false)?;
        }
        Ok(())
    }

    /// A core cycle; whether the client may begin another block.
    fn cycle(&mut self, read: bool, write: bool) -> Result<(), DmaError> {
        let model = &mut self.model;
        self.host.before_edge(model);
        self.reader.before_edge(model, &self.memory, self.now)?;
        self.writer.before_edge(model);
        let events = model.get_u64(self.events);
        if events != 0 {
            return Err(DmaError::Event(events));
        }
        if let Some(rule) = self.host.violation() {
            return Err(DmaError::Violation(rule.to_owned()));
        }
        self.now += 1;
        self.tags += self.reader.outstanding() as u64;
        model.set_time(self.now * CORE_PERIOD_FS);
        model.set_bool(self.clock, true);
        model.eval()?;
        self.host.after_edge(model, &mut self.memory);
        self.reader.after_edge(model, read, &mut self.rng);
        self.writer
            .after_edge(model, &mut self.memory, write, &mut self.rng)?;
        model.set_bool(self.access_ready, true);
        model.set_time(self.now * CORE_PERIOD_FS + CORE_PERIOD_FS / 2);
        model.set_bool(self.clock, false);
        model.eval()?;
        Ok(())
    }
}
