//! The WQE cache against rings in a modelled host memory: every WQE that a read calls available is
//! the one that was posted, every WQE is delivered, whatever rewinds, reorderings and failed reads happen.

mod common;

use common::{cfg_write, connected, random, settle};
use ferroce_abi::wqe::{Sge, SgeList, SqWqe, WrOpcode};
use ferroce_emit::on_big_stack;
use ferroce_emit::prelude::*;
use ferroce_nic::wqe_cache::WqeCache;
use ferroce_rtl::desc::bar::QueueBell;
use ferroce_rtl::desc::cfg::{table, CfgWrite};
use ferroce_rtl::desc::dma::{DmaReadBeat, DmaReadReq};
use ferroce_rtl::desc::lookup::{WqeData, WqeRead, WQE_READ_LATENCY};
use ferroce_rtl::desc::tx::Consumed;
use rand::seq::SliceRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use std::collections::{HashMap, VecDeque};

const QPS_LOG2: usize = 3;
const WINDOW_LOG2: usize = 3;
const TAG_BASE: u8 = 0x80;

fn wqe_of(qp: usize, index: u16, generation: u64) -> SqWqe {
    let unique = (qp as u64) << 48 | u64::from(index) << 32 | generation;
    let mut wqe = SqWqe::new(WrOpcode::RdmaWriteWithImm);
    wqe.flags = index as u8 & 3;
    wqe.imm = (index as u32 ^ 0xA5A5_0000).to_le_bytes();
    wqe.remote_va = unique.rotate_left(13);
    wqe.rkey = qp as u32 ^ 0x1234_5600;
    wqe.length = u32::from(index) * 77;
    wqe.sges = SgeList::try_from(
        [Sge {
            addr: !unique,
            lkey: u32::from(index) ^ 0x00AB_CD00,
            len: u32::from(index) * 77,
        }]
        .as_slice(),
    )
    .expect("one entry fits");
    wqe
}

fn as_read(wqe: &SqWqe) -> WqeData {
    let sge = wqe.sges.as_slice()[0];
    WqeData {
        avail: true,
        opcode: (wqe.opcode as u64).into(),
        flags: u64::from(wqe.flags).into(),
        sges: 1.into(),
        imm: u64::from(u32::from_le_bytes(wqe.imm)).into(),
        va: wqe.remote_va.into(),
        rkey: u64::from(wqe.rkey).into(),
        len: u64::from(wqe.length).into(),
        addr: sge.addr.into(),
        lkey: u64::from(sge.lkey).into(),
        sge_len: u64::from(sge.len).into(),
    }
}

/// A queue as host and owner see it.
struct Queue {
    base: u64,
    log_size: u32,
    /// Index after the newest posted WQE, running further than 16 bits.
    posted: u64,
    /// Oldest WQE that may be asked for again; its slot isn't reused.
    retired: u64,
    /// What the owner needs next.
    position: u64,
    /// Highest position so far.
    reached: u64,
}

/// A read under way.
struct Read {
    tag: u64,
    beats: VecDeque<Bits<512>>,
    wait: u32,
    fails: bool,
}

struct Bench {
    uut: WqeCache,
    window_log2: usize,
    rng: ChaCha8Rng,
    memory: HashMap<u64, [u8; 64]>,
    queues: Vec<Queue>,
    reads: Vec<Read>,
    bells: VecDeque<QueueBell>,
    positions: VecDeque<Consumed>,
    cfg: VecDeque<CfgWrite>,
    kicks: Vec<usize>,
    asked: VecDeque<Option<(usize, u64)>>,
    requests: usize,
    fail_reads: bool,
    answers: Vec<(usize, u64, WqeData)>,
}

impl Bench {
    fn new(log_sizes: &[u32]) -> Self {
        Self::with_window(log_sizes, WINDOW_LOG2)
    }

    fn with_window(log_sizes: &[u32], window_log2: usize) -> Self {
        let queues = log_sizes.iter().enumerate().map(|(qp, &log_size)| Queue {
            base: 0xFFFF_F000 + (qp as u64) * 0x0001_0040_0000,
            log_size,
            posted: 0,
            retired: 0,
            position: 0,
            reached: 0,
        });
        Self {
            uut: connected(WqeCache::new(QPS_LOG2, window_log2, table::SQ, TAG_BASE)),
            window_log2,
            rng: random(),
            memory: HashMap::new(),
            queues: queues.collect(),
            reads: Vec::new(),
            bells: VecDeque::new(),
            positions: VecDeque::new(),
            cfg: VecDeque::new(),
            kicks: Vec::new(),
            asked: vec![None; WQE_READ_LATENCY].into(),
            requests: 0,
            fail_reads: false,
            answers: Vec::new(),
        }
    }

    fn configure(&mut self, qp: usize, enabled: bool) {
        let queue = &mut self.queues[qp];
        queue.posted = 0;
        queue.retired = 0;
        queue.position = 0;
        queue.reached = 0;
        let ring = ferroce_abi::cfg::RingCfg {
            enabled,
            base: queue.base,
            log_size: queue.log_size as u8,
        };
        let words = ring.to_bits().expect("the ring fits its entry");
        self.cfg.push_back(cfg_write(table::SQ, qp, words));
    }

    fn post(&mut self, qp: usize, count: u64) {
        let queue = &mut self.queues[qp];
        for _ in 0..count {
            assert!(queue.posted - queue.retired < 1 << queue.log_size);
            let slot = queue.posted & ((1 << queue.log_size) - 1);
            let wqe = wqe_of(qp, queue.posted as u16, queue.posted >> 16);
            let bytes = wqe.encode().expect("the WQE is well-formed");
            self.memory.insert(queue.base + slot * 64, bytes);
            queue.posted += 1;
        }
        self.bells.push_back(QueueBell {
            qp: (qp as u64).into(),
            producer: (queue.posted & 0xFFFF).into(),
        });
    }

    fn stand_at(&mut self, qp: usize, position: u64) {
        let queue = &mut self.queues[qp];
        queue.position = position;
        queue.reached = queue.reached.max(position);
        self.positions.push_back(Consumed {
            qp: (qp as u64).into(),
            wqe: (position & 0xFFFF).into(),
        });
    }

    fn accept(&mut self, request: DmaReadReq) {
        let (addr, len) = (request.addr.to_u64(), request.len.to_u64());
        let tag = request.tag.to_u64();
        assert!(
            len > 0 && len % 64 == 0 && len <= 64 << (self.window_log2 - 1).min(6),
            "length {len}"
        );
        assert_eq!(addr >> 12, (addr + len - 1) >> 12, "4 KiB boundary crossed");
        assert!((0x80..0xC0).contains(&tag), "tag {tag:#x}");
        assert!(
            self.reads.iter().all(|read| read.tag != tag),
            "tag {tag:#x} in use"
        );
        let beats = (0..len / 64).map(|k| {
            let bytes = self
                .memory
                .get(&(addr + 64 * k))
                .unwrap_or_else(|| panic!("{addr:#x} + {k} WQEs was never posted"));
            bytes
                .iter()
                .rev()
                .fold(Bits::<512>::default(), |bits, &byte| {
                    bits << 8 | bit_cast::<512, 8>(u64::from(byte).into())
                })
        });
        let beats = beats.collect();
        self.requests += 1;
        self.reads.push(Read {
            tag,
            beats,
            wait: self.rng.gen_range(1..60),
            fails: self.fail_reads,
        });
    }

    /// One beat of any read whose time has come; beats of different tags mix.
    fn next_beat(&mut self) -> Option<DmaReadBeat> {
        for read in &mut self.reads {
            read.wait = read.wait.saturating_sub(1);
        }
        let ripe: Vec<usize> = (0..self.reads.len())
            .filter(|&k| self.reads[k].wait == 0)
            .collect();
        let &chosen = ripe.choose(&mut self.rng)?;
        if self.rng.gen_bool(0.2) {
            return None;
        }
        let read = &mut self.reads[chosen];
        let data = read.beats.pop_front()?;
        let last = read.beats.is_empty();
        let beat = DmaReadBeat {
            data,
            tag: read.tag.into(),
            last,
            err: last && read.fails,
        };
        if last {
            self.reads.remove(chosen);
        }
        Some(beat)
    }

    /// One clock cycle, with a look-up if one is given.
    fn cycle(&mut self, ask: Option<(usize, u64)>) {
        let beat = self.next_beat();
        self.uut.dma_beat.valid.next = beat.is_some();
        self.uut.dma_beat.data.next = beat.unwrap_or_default();
        self.uut.cfg.next = self.cfg.pop_front().unwrap_or_default();
        self.uut.bell.valid.next = !self.bells.is_empty();
        self.uut.bell.data.next = self.bells.front().copied().unwrap_or_default();
        self.uut.position.valid.next = !self.positions.is_empty();
        self.uut.position.data.next = self.positions.front().copied().unwrap_or_default();
        let request_ready = self.rng.gen_bool(0.7);
        let kick_ready = self.rng.gen_bool(0.5);
        self.uut.dma_request.ready.next = request_ready;
        self.uut.kick.ready.next = kick_ready;
        let (qp, index) = ask.unwrap_or_default();
        self.uut.read.next = WqeRead {
            qp: (qp as u64).into(),
            wqe: (index & 0xFFFF).into(),
        };
        self.uut.clock.next = false.into();
        settle(&mut self.uut);

        self.asked.push_back(ask);
        if let Some(Some((qp, index))) = self.asked.pop_front() {
            self.answers.push((qp, index, self.uut.data.val()));
        }
        assert!(self.uut.dma_beat.ready.val(), "a beat had no room");
        if self.uut.bell.valid.val() & self.uut.bell.ready.val() {
            self.bells.pop_front();
        }
        if self.uut.position.valid.val() & self.uut.position.ready.val() {
            self.positions.pop_front();
        }
        if self.uut.kick.valid.val() & kick_ready {
            self.kicks.push(self.uut.kick.data.val().qp.index());
        }
        if self.uut.dma_request.valid.val() & request_ready {
            self.accept(self.uut.dma_request.data.val());
        }
        self.uut.clock.next = true.into();
        settle(&mut self.uut);
    }

    fn idle(&mut self, cycles: usize) {
        for _ in 0..cycles {
            self.cycle(None);
        }
    }

    /// Reads one WQE.
    fn look_up(&mut self, qp: usize, index: u64) -> WqeData {
        self.answers.clear();
        self.cycle(Some((qp, index)));
        self.idle(WQE_READ_LATENCY);
        self.answers[0].2
    }
}

#[test]
fn wqes_are_fetched_ahead_and_slide_with_the_position() {
    on_big_stack(|| {
        let mut bench = Bench::new(&[5]);
        bench.idle(80);
        bench.configure(0, true);
        bench.idle(10);
        assert!(!bench.look_up(0, 0).avail);
        bench.post(0, 20);
        bench.idle(300);
        // Two bursts of half a window each.
        assert_eq!(bench.requests, 2);
        assert_eq!(bench.kicks, [0, 0]);
        for index in 0..8 {
            assert_eq!(
                bench.look_up(0, index),
                as_read(&wqe_of(0, index as u16, 0))
            );
        }
        assert!(!bench.look_up(0, 8).avail);
        assert!(!bench.look_up(0, 0xFFFF).avail);
        bench.stand_at(0, 3);
        bench.idle(300);
        assert!(!bench.look_up(0, 2).avail);
        for index in 3..11 {
            assert_eq!(
                bench.look_up(0, index),
                as_read(&wqe_of(0, index as u16, 0))
            );
        }
        // Back to the first one: nothing of the old window is left.
        bench.stand_at(0, 0);
        bench.idle(300);
        assert_eq!(bench.look_up(0, 0), as_read(&wqe_of(0, 0, 0)));
        assert!(!bench.look_up(0, 8).avail);
    });
}

#[test]
fn a_disabled_ring_ignores_doorbells_and_positions() {
    on_big_stack(|| {
        let mut bench = Bench::new(&[4]);
        bench.idle(80);
        bench.post(0, 4);
        bench.stand_at(0, 2);
        bench.idle(200);
        assert_eq!(bench.requests, 0);
        bench.configure(0, true);
        bench.idle(10);
        bench.post(0, 4);
        bench.idle(200);
        assert_eq!(bench.look_up(0, 3), as_read(&wqe_of(0, 3, 0)));
        bench.configure(0, false);
        bench.idle(20);
        assert!(!bench.look_up(0, 3).avail);
    });
}

#[test]
fn a_failed_read_becomes_one_bad_wqe_behind_the_good_ones() {
    on_big_stack(|| {
        let mut bench = Bench::new(&[4]);
        bench.idle(80);
        bench.configure(0, true);
        bench.idle(10);
        bench.post(0, 3);
        bench.idle(200);
        bench.fail_reads = true;
        bench.post(0, 2);
        bench.idle(300);
        for index in 0..3 {
            assert_eq!(
                bench.look_up(0, index),
                as_read(&wqe_of(0, index as u16, 0))
            );
        }
        assert!(!bench.look_up(0, 3).avail);
        bench.stand_at(0, 3);
        bench.idle(300);
        let bad = bench.look_up(0, 3);
        assert!(bad.avail);
        assert_eq!((bad.opcode.to_u64(), bad.sges.to_u64()), (0xFF, 0xFF));
        assert!(!bench.look_up(0, 4).avail);
        let requests = bench.requests;
        bench.idle(300);
        assert_eq!(bench.requests, requests, "a bad WQE is not fetched again");
        // A new ring works again.
        bench.fail_reads = false;
        bench.configure(0, true);
        bench.idle(10);
        bench.post(0, 2);
        bench.idle(200);
        assert_eq!(bench.look_up(0, 1), as_read(&wqe_of(0, 1, 0)));
    });
}

#[test]
fn every_posted_wqe_is_delivered_under_random_load() {
    deliver_all(&[1, 2, 3, 4, 5, 6, 7, 8], WINDOW_LOG2, 12_000);
}

#[test]
fn every_posted_wqe_is_delivered_with_the_smallest_window() {
    deliver_all(&[1, 2, 3, 4, 5, 6, 7, 8], 1, 6_000);
}

#[test]
fn every_posted_wqe_is_delivered_with_the_largest_window() {
    deliver_all(&[5, 6, 7, 8, 9, 10, 11, 1], 8, 12_000);
}

fn deliver_all(sizes: &[u32], window_log2: usize, cycles: usize) {
    let sizes = sizes.to_vec();
    on_big_stack(move || {
        let mut bench = Bench::with_window(&sizes, window_log2);
        bench.idle(80);
        for qp in 0..sizes.len() {
            bench.configure(qp, true);
            bench.idle(64);
        }
        let mut delivered = 0;
        for cycle in 0..cycles {
            if bench.rng.gen_bool(0.1) {
                let qp = bench.rng.gen_range(0..sizes.len());
                let queue = &bench.queues[qp];
                let room = (1 << queue.log_size) - (queue.posted - queue.retired);
                if room > 0 {
                    let count = bench.rng.gen_range(1..=room);
                    bench.post(qp, count);
                }
            }
            if bench.rng.gen_bool(0.02) {
                // Back to any WQE that is not retired.
                let qp = bench.rng.gen_range(0..sizes.len());
                let queue = &bench.queues[qp];
                let back = bench.rng.gen_range(queue.retired..=queue.position);
                if back != queue.position {
                    bench.stand_at(qp, back);
                }
            }
            if bench.rng.gen_bool(0.1) {
                let qp = bench.rng.gen_range(0..sizes.len());
                let queue = &mut bench.queues[qp];
                queue.retired = bench.rng.gen_range(queue.retired..=queue.position);
            }
            // The owner of a QP asks for what it needs; an answer makes it go on.
            bench.fail_reads = cycle % 1000 < 20;
            let qp = bench.rng.gen_range(0..sizes.len());
            let ask = (qp, bench.queues[qp].position);
            bench.cycle(Some(ask));
            for (qp, index, data) in std::mem::take(&mut bench.answers) {
                if !data.avail || index != bench.queues[qp].position {
                    continue;
                }
                if data.sges.to_u64() != 0xFF {
                    assert_eq!(
                        data,
                        as_read(&wqe_of(qp, index as u16, index >> 16)),
                        "{qp}"
                    );
                    delivered += 1;
                }
                bench.stand_at(qp, index + 1);
            }
        }
        // Everything that is left comes out without further help.
        bench.fail_reads = false;
        for round in 0.. {
            let open =
                (0..sizes.len()).find(|&qp| bench.queues[qp].position < bench.queues[qp].posted);
            let Some(qp) = open else { break };
            assert!(
                round < 20_000,
                "queue {qp} hangs at {}",
                bench.queues[qp].position
            );
            let index = bench.queues[qp].position;
            let data = bench.look_up(qp, index);
            if data.avail {
                bench.stand_at(qp, index + 1);
            }
        }
        assert!(
            delivered > cycles / 12,
            "only {delivered} WQEs were delivered"
        );
    });
}
