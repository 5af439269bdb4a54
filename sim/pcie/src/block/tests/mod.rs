//! The block and its host with a card made of software at the four streams.

mod errors;
mod flow;
mod host;
mod order;

use std::collections::VecDeque;

use super::*;
use crate::root::{Split, Unmapped};
use crate::tlp::{MemRead, MemWrite};
use crate::usp::inverse::{rq_beats, RcDecoder};

/// Where the host's memory begins.
const BASE: u64 = 0x7f00_0000_0000;

/// Memory that remembers the order of writes.
#[derive(Debug)]
struct Memory {
    bytes: Vec<u8>,
    writes: Vec<(u64, usize)>,
}

impl Memory {
    /// Bytes that follow from their offsets.
    fn patterned(len: usize) -> Self {
        Self {
            bytes: (0..len).map(|k| (k ^ k >> 8) as u8).collect(),
            writes: Vec::new(),
        }
    }

    fn range(&self, addr: u64, len: usize) -> Result<std::ops::Range<usize>, Unmapped> {
        let start = addr.wrapping_sub(BASE) as usize;
        match start.checked_add(len) {
            Some(end) if end <= self.bytes.len() => Ok(start..end),
            _ => Err(Unmapped { addr, len }),
        }
    }
}

impl HostMemoryPort for Memory {
    fn read(&self, addr: u64, bytes: &mut [u8]) -> Result<(), Unmapped> {
        bytes.copy_from_slice(&self.bytes[self.range(addr, bytes.len())?]);
        Ok(())
    }

    fn write(&mut self, addr: u64, bytes: &[u8]) -> Result<(), Unmapped> {
        let range = self.range(addr, bytes.len())?;
        self.bytes[range].copy_from_slice(bytes);
        self.writes.push((addr, bytes.len()));
        Ok(())
    }
}

/// A card that sends what it is told and remembers what it gets.
struct Bench {
    block: Block,
    memory: Memory,
    /// Beats to send on RQ.
    rq: VecDeque<RqBeat>,
    /// Beats to send on CC.
    cc: VecDeque<CcBeat>,
    rc: RcDecoder,
    /// Completions that came, with the cycle of their last beat.
    packets: Vec<(u64, RcPacket)>,
    /// Beats of CQ that came.
    cq: Vec<CqBeat>,
    rc_ready: bool,
    cq_ready: bool,
    cq_grant: bool,
    cycle: u64,
}

impl Bench {
    fn new(config: BlockConfig, root: RootConfig, seed: u64) -> Self {
        let mut bench = Self {
            block: Block::new(config, root, seed),
            memory: Memory::patterned(1 << 20),
            rq: VecDeque::new(),
            cc: VecDeque::new(),
            rc: RcDecoder::default(),
            packets: Vec::new(),
            cq: Vec::new(),
            rc_ready: true,
            cq_ready: true,
            cq_grant: false,
            cycle: 0,
        };
        // Inputs are ready from the first cycle on.
        bench.step();
        bench.cq_grant = true;
        bench
    }

    /// A host without jitter.
    fn steady() -> Self {
        let root = RootConfig {
            read_jitter: 0,
            ..RootConfig::default()
        };
        Self::new(BlockConfig::default(), root, 0)
    }

    fn send(&mut self, requests: &[Request]) {
        let straddle = self.block.config().straddle_rq;
        self.rq.extend(rq_beats(requests, straddle, |_| false));
    }

    fn step(&mut self) {
        let straddle = self.block.config().straddle_rc;
        if let (Some(beat), true) = (self.block.rc_beat(), self.rc_ready) {
            let cycle = self.cycle;
            let packets = self.rc.beat(beat, straddle);
            self.packets.extend(packets.into_iter().map(|p| (cycle, p)));
        }
        if let (Some(beat), true) = (self.block.cq_beat(), self.cq_ready) {
            self.cq.push(*beat);
        }
        let rq = self.rq.front().copied();
        if rq.is_some() && self.block.rq_is_ready() {
            self.rq.pop_front();
        }
        self.block.rq(rq.is_some(), || rq.unwrap());
        let cc = self.cc.front().copied();
        if cc.is_some() && self.block.cc_is_ready() {
            self.cc.pop_front();
        }
        self.block.cc(cc.is_some(), || cc.unwrap());
        self.block.rc_ready(self.rc_ready);
        self.block.cq_ready(self.cq_ready);
        self.block.cq_np_req(self.cq_grant);
        self.block.tick(&mut self.memory);
        self.cycle += 1;
        assert_eq!(self.cycle, self.block.root.cycle());
    }

    fn run(&mut self, cycles: u64) {
        (0..cycles).for_each(|_| self.step());
        assert_eq!(self.block.violation(), None);
    }

    fn run_until_idle(&mut self) {
        for _ in 0..1_000_000 {
            self.step();
            if self.rq.is_empty() && self.cc.is_empty() && self.block.is_idle() {
                assert_eq!(self.block.violation(), None);
                return;
            }
        }
        panic!("not idle after a million cycles");
    }

    /// Error and completed of each completion with a tag.
    fn outcomes(&self, tag: u8) -> Vec<(crate::usp::ErrorCode, bool)> {
        let packets = self.packets.iter().map(|(_, p)| p);
        let packets = packets.filter(|p| p.completion.tag == tag);
        packets.map(|p| (p.error, p.request_completed)).collect()
    }
}

fn read(addr: u64, len: usize, tag: u8) -> Request {
    Request::Read(MemRead::of_bytes(addr, len, tag, 0))
}

fn write(addr: u64, bytes: &[u8]) -> Request {
    Request::Write(MemWrite::of_bytes(addr, bytes, 0))
}

/// A host that cuts and reorders as it likes.
fn wild() -> RootConfig {
    RootConfig {
        split: Split::Random,
        read_jitter: 300,
        ..RootConfig::default()
    }
}
