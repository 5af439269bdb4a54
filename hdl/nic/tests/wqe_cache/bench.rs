//! A cache, rings in a modelled host memory, and the owner of the queues.

use crate::common::{connected, settle};
use crate::wqe::wqe_of;
use ferroce_emit::harness::random;
use ferroce_emit::prelude::*;
use ferroce_nic::bar::desc::LineWrite;
use ferroce_nic::bar::push_buffer::PUSHES_LOG2;
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
pub const WINDOW_LOG2: usize = 3;
const TAG_BASE: u8 = 0x80;

/// A queue as host and owner see it.
pub struct Queue {
    base: u64,
    pub log_size: u32,
    /// Index after the newest posted WQE, running further than 16 bits.
    pub posted: u64,
    /// Oldest WQE that may be asked for again; its slot isn't reused.
    pub retired: u64,
    /// What the owner needs next.
    pub position: u64,
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

pub struct Bench {
    uut: WqeCache,
    window_log2: usize,
    pub rng: ChaCha8Rng,
    memory: HashMap<u64, [u8; 64]>,
    pub queues: Vec<Queue>,
    reads: Vec<Read>,
    /// The beat that waits for its turn.
    beat: Option<DmaReadBeat>,
    /// Pushed lines; doorbells wait until they are written.
    lines: VecDeque<LineWrite>,
    place: u64,
    places_used: usize,
    /// A beat of a read had to wait in this cycle.
    pub beat_waits: bool,
    bells: VecDeque<QueueBell>,
    positions: VecDeque<Consumed>,
    cfg: VecDeque<CfgWrite>,
    pub kicks: Vec<usize>,
    asked: VecDeque<Option<(usize, u64)>>,
    pub requests: usize,
    pub fail_reads: bool,
    pub answers: Vec<(usize, u64, WqeData)>,
}

impl Bench {
    pub fn new(log_sizes: &[u32]) -> Self {
        Self::with_window(log_sizes, WINDOW_LOG2)
    }

    pub fn with_window(log_sizes: &[u32], window_log2: usize) -> Self {
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
            beat: None,
            lines: VecDeque::new(),
            place: 0,
            places_used: 0,
            beat_waits: false,
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

    pub fn configure(&mut self, qp: usize, enabled: bool) {
        let queue = &mut self.queues[qp];
        queue.posted = 0;
        queue.retired = 0;
        queue.position = 0;
        queue.reached = 0;
        let ring = ferroce_abi::cfg::RingCfg {
            enabled,
            base: queue.base,
            log_size: queue.log_size as u8,
            page: 0,
        };
        let words = ring.to_bits().expect("the ring fits its entry");
        self.cfg.push_back(CfgWrite::of_entry(table::SQ, qp, words));
    }

    pub fn post(&mut self, qp: usize, count: u64) {
        self.fill(qp, count);
        self.ring(qp, 0);
    }

    /// Posts WQEs and pushes them along with their doorbell if there is a place for a push.
    pub fn push(&mut self, qp: usize, count: u64) {
        let first = self.queues[qp].posted;
        self.fill(qp, count);
        if self.places_used == 1 << PUSHES_LOG2 {
            self.ring(qp, 0);
            return;
        }
        self.places_used += 1;
        for number in 0..count {
            let data = self.block(qp, first + number);
            self.lines.push_back(LineWrite {
                valid: true,
                place: (self.place << 2 | number).into(),
                data,
            });
        }
        self.ring(qp, count);
        self.place = (self.place + 1) & ((1 << PUSHES_LOG2) - 1);
    }

    fn block(&self, qp: usize, index: u64) -> Bits<512> {
        let queue = &self.queues[qp];
        self.read(queue.base + 64 * (index & ((1 << queue.log_size) - 1)))
    }

    fn read(&self, addr: u64) -> Bits<512> {
        let bytes = self
            .memory
            .get(&addr)
            .unwrap_or_else(|| panic!("{addr:#x} was never posted"));
        bytes
            .iter()
            .rev()
            .fold(Bits::<512>::default(), |bits, &byte| {
                bits << 8 | bit_cast::<512, 8>(u64::from(byte).into())
            })
    }

    fn ring(&mut self, qp: usize, pushed: u64) {
        self.bells.push_back(QueueBell {
            qp: (qp as u64).into(),
            producer: (self.queues[qp].posted & 0xFFFF).into(),
            pushed: pushed.into(),
            place: self.place.into(),
        });
    }

    fn fill(&mut self, qp: usize, count: u64) {
        let queue = &mut self.queues[qp];
        for _ in 0..count {
            assert!(queue.posted - queue.retired < 1 << queue.log_size);
            let slot = queue.posted & ((1 << queue.log_size) - 1);
            let wqe = wqe_of(qp, queue.posted as u16, queue.posted >> 16);
            let bytes = wqe.encode().expect("the WQE is well-formed");
            self.memory.insert(queue.base + slot * 64, bytes);
            queue.posted += 1;
        }
    }

    pub fn stand_at(&mut self, qp: usize, position: u64) {
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
        let beats = (0..len / 64).map(|k| self.read(addr + 64 * k)).collect();
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
    pub fn cycle(&mut self, ask: Option<(usize, u64)>) {
        if self.beat.is_none() {
            self.beat = self.next_beat();
        }
        self.uut.dma_beat.valid.next = self.beat.is_some();
        self.uut.dma_beat.data.next = self.beat.unwrap_or_default();
        let rings = self.lines.is_empty() && !self.bells.is_empty();
        self.uut.push_line.next = self.lines.pop_front().unwrap_or_default();
        self.uut.cfg.next = self.cfg.pop_front().unwrap_or_default();
        self.uut.bell.valid.next = rings;
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
        self.beat_waits = self.beat.is_some() && !self.uut.dma_beat.ready.val();
        if !self.beat_waits {
            self.beat = None;
        }
        self.places_used -= usize::from(self.uut.push_freed.val());
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

    pub fn idle(&mut self, cycles: usize) {
        for _ in 0..cycles {
            self.cycle(None);
        }
    }

    /// Reads one WQE.
    pub fn look_up(&mut self, qp: usize, index: u64) -> WqeData {
        self.answers.clear();
        self.cycle(Some((qp, index)));
        self.idle(WQE_READ_LATENCY);
        self.answers[0].2
    }
}
