//! The host behind the card's DMA port: reads are answered after a latency and in random order
//! between tags, writes land in order.

use std::collections::VecDeque;

use ferroce_bridge::{BridgeError, Library, Model};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::memory::HostMemory;
use crate::ports::{Packed, StreamPort};

/// Bytes of a beat.
const BEAT: usize = 64;

/// Timing of the host side of the DMA port, in core cycles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DmaConfig {
    /// From a read request to the first beat of its answer.
    pub read_latency: u64,
    /// Greatest random addition to it.
    pub read_jitter: u64,
    /// From the last beat of a write to its visibility in memory.
    pub write_latency: u64,
    /// Answers that are due are sent in random order among the oldest `disorder` ones.
    pub disorder: usize,
}

impl Default for DmaConfig {
    fn default() -> Self {
        Self {
            read_latency: 225,
            read_jitter: 32,
            write_latency: 100,
            disorder: 8,
        }
    }
}

/// What crossed the port.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct DmaStats {
    /// Read requests.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Most reads outstanding at once.
    pub most_outstanding: usize,
    /// Accesses outside mapped memory.
    pub faults: u64,
}

#[derive(Debug)]
struct Read {
    due: u64,
    addr: u64,
    len: usize,
    tag: u64,
    sent: usize,
}

#[derive(Debug)]
struct Write {
    due: u64,
    addr: u64,
    bytes: Vec<u8>,
}

/// The server of one card's DMA port.
#[derive(Debug)]
pub struct DmaPort {
    config: DmaConfig,
    read_request: StreamPort,
    read_data: StreamPort,
    write: StreamPort,
    rng: ChaCha8Rng,
    reads: VecDeque<Read>,
    /// The read whose answer is being sent.
    answering: Option<Read>,
    /// Bytes of the write whose beats are coming in.
    incoming: Vec<u8>,
    writes: VecDeque<Write>,
    stats: DmaStats,
    /// A rule of the port that the card broke.
    violation: Option<String>,
}

impl DmaPort {
    /// The server for ports `dma_read_req`, `dma_read_data` and `dma_write` of a card.
    ///
    /// # Errors
    /// The model lacks one of them.
    pub fn new(library: &Library, config: DmaConfig, seed: u64) -> Result<Self, BridgeError> {
        Ok(Self {
            config,
            read_request: StreamPort::find(library, "dma_read_req")?,
            read_data: StreamPort::find(library, "dma_read_data")?,
            write: StreamPort::find(library, "dma_write")?,
            rng: ChaCha8Rng::seed_from_u64(seed),
            reads: VecDeque::new(),
            answering: None,
            incoming: Vec::new(),
            writes: VecDeque::new(),
            stats: DmaStats::default(),
            violation: None,
        })
    }

    /// Counters so far.
    pub fn stats(&self) -> DmaStats {
        self.stats
    }

    /// The first rule of the port that the card broke, if any.
    pub fn violation(&self) -> Option<&str> {
        self.violation.as_deref()
    }

    /// Looks at the ports just before a rising core clock edge and takes what passes at it.
    pub fn before_edge(&mut self, model: &Model, cycle: u64) {
        if self.read_request.fires(model) {
            let item = Packed::read(model, self.read_request.data);
            self.take_read(
                item.get(0, 64),
                item.get(64, 13) as usize,
                item.get(77, 8),
                cycle,
            );
        }
        if self.write.fires(model) {
            let item = Packed::read(model, self.write.data);
            self.take_write(&item, cycle);
        }
        if self.read_data.fires(model) {
            if let Some(read) = &mut self.answering {
                read.sent += BEAT - (read.addr as usize + read.sent) % BEAT;
                if read.sent >= read.len {
                    self.answering = None;
                }
            }
        }
    }

    fn take_read(&mut self, addr: u64, len: usize, tag: u64, cycle: u64) {
        self.check_extent("read", addr, len);
        let busy = self
            .reads
            .iter()
            .chain(&self.answering)
            .any(|r| r.tag == tag);
        if busy {
            self.violate(format!("read tag {tag:#x} is used while it is outstanding"));
        }
        self.stats.reads += 1;
        self.stats.read_bytes += len as u64;
        self.reads.push_back(Read {
            due: cycle + self.config.read_latency + self.rng.gen_range(0..=self.config.read_jitter),
            addr,
            len,
            tag,
            sent: 0,
        });
        self.stats.most_outstanding = self.stats.most_outstanding.max(self.reads.len());
    }

    fn take_write(&mut self, item: &Packed, cycle: u64) {
        let (addr, len) = (item.get(512, 64), item.get(576, 13) as usize);
        let beat = item.beat();
        let from = (addr as usize + self.incoming.len()) % BEAT;
        let count = (BEAT - from).min(len - self.incoming.len().min(len));
        self.incoming.extend_from_slice(&beat[from..from + count]);
        let complete = self.incoming.len() == len;
        if complete != (item.get(589, 1) == 1) {
            self.violate(format!(
                "write of {len} bytes at {addr:#x} has a wrong number of beats"
            ));
        }
        if complete {
            self.check_extent("write", addr, len);
            self.stats.writes += 1;
            self.stats.write_bytes += len as u64;
            self.writes.push_back(Write {
                due: cycle + self.config.write_latency,
                addr,
                bytes: std::mem::take(&mut self.incoming),
            });
        }
    }

    fn check_extent(&mut self, what: &str, addr: u64, len: usize) {
        if len == 0 || len > 4096 || addr % 4096 + len as u64 > 4096 {
            self.violate(format!(
                "{what} of {len} bytes at {addr:#x} is empty or crosses a 4 KiB page"
            ));
        }
    }

    fn violate(&mut self, rule: String) {
        self.violation.get_or_insert(rule);
    }

    /// Drives the ports after a rising core clock edge, and lets due writes land.
    pub fn after_edge(&mut self, model: &mut Model, memory: &mut HostMemory, cycle: u64) {
        while self.writes.front().is_some_and(|w| w.due <= cycle) {
            let Some(write) = self.writes.pop_front() else {
                break;
            };
            self.land(&write, memory);
        }
        model.set_bool(self.read_request.ready, true);
        model.set_bool(self.write.ready, true);
        if self.answering.is_none() {
            self.answering = self.pick(cycle);
        }
        model.set_bool(self.read_data.valid, self.answering.is_some());
        if let Some(read) = &self.answering {
            Self::beat(read, memory, &mut self.stats).write(model, self.read_data.data);
        }
    }

    fn land(&mut self, write: &Write, memory: &mut HostMemory) {
        if memory.write(write.addr, &write.bytes).is_err() {
            self.stats.faults += 1;
        }
    }

    /// One of the oldest answers that are due.
    fn pick(&mut self, cycle: u64) -> Option<Read> {
        let mut due = [0; 16];
        let mut count = 0;
        for (index, read) in self.reads.iter().enumerate().take(64) {
            if read.due <= cycle && count < self.config.disorder.clamp(1, due.len()) {
                due[count] = index;
                count += 1;
            }
        }
        if count == 0 {
            return None;
        }
        let choice = due[self.rng.gen_range(0..count)];
        self.reads.remove(choice)
    }

    fn beat(read: &Read, memory: &HostMemory, stats: &mut DmaStats) -> Packed {
        let from = (read.addr as usize + read.sent) % BEAT;
        let count = (BEAT - from).min(read.len - read.sent);
        let last = read.sent + count == read.len;
        let mut bytes = [0xa5; BEAT];
        let mut failed = false;
        match memory.slice(read.addr, read.len) {
            Ok(source) => {
                bytes[from..from + count].copy_from_slice(&source[read.sent..read.sent + count]);
            }
            Err(_) => failed = true,
        }
        if failed && last {
            stats.faults += 1;
        }
        let mut packed = Packed::default();
        packed.set_beat(&bytes);
        packed.set(512, 8, read.tag);
        packed.set(520, 1, u64::from(last));
        packed.set(521, 1, u64::from(last && failed));
        packed
    }

    /// Whether nothing is under way.
    pub fn idle(&self) -> bool {
        self.reads.is_empty()
            && self.answering.is_none()
            && self.writes.is_empty()
            && self.incoming.is_empty()
    }
}
