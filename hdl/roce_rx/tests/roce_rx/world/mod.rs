//! The receive side in its surroundings: wire, RQ WQE cache, MR check, host memory, transmit side.

mod counting;
mod inputs;
mod ports;
mod surroundings;
mod types;

use crate::packet::{CARD_IP, CARD_MAC};
use ferroce_abi::cfg::{mac_bits, PortCfg};
use ferroce_abi::regs::Counter;
use ferroce_emit::harness::Sim;
use ferroce_roce_rx::{RoceRx, RxSizes};
use ferroce_rtl::desc::cfg::{table, CfgWrite};
use ferroce_rtl::desc::lookup::{MrAnswer, WqeData, MR_CHECK_LATENCY, WQE_READ_LATENCY};
use ferroce_rtl::desc::rx::RqPub;
use ferroce_rtl::desc::tx::{LocalError, SenderPub, SentWrite, SqPub};
use ferroce_rtl::stream::Beat;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use std::collections::{HashMap, VecDeque};

pub use inputs::{completer, responder};
pub use types::{Ack, Back, Buffer, Cqe, Region};

pub const LOG2_QPS: usize = 3;
pub const LOG2_SRQS: usize = 1;
pub const QPS: usize = 1 << LOG2_QPS;
/// Receive queues: the QPs' own ones, then the SRQs.
pub const QUEUES: usize = QPS + (1 << LOG2_SRQS);
pub const LOG2_WINDOW: usize = 4;

/// Cycles in 100 in which something happens.
#[derive(Clone, Copy, Debug)]
pub struct Knobs {
    /// The wire has a beat.
    pub wire: u32,
    /// The write arbiter takes a beat.
    pub writes: u32,
    /// Other sinks take an item.
    pub others: u32,
}

pub const SMOOTH: Knobs = Knobs {
    wire: 100,
    writes: 100,
    others: 100,
};

pub const ROUGH: Knobs = Knobs {
    wire: 70,
    writes: 60,
    others: 50,
};

pub struct World {
    pub sim: Sim,
    pub rng: ChaCha8Rng,
    pub knobs: Knobs,
    cfg: VecDeque<CfgWrite>,
    cfg_wait: usize,
    beats: VecDeque<Beat>,
    pub local_errors: VecDeque<LocalError>,
    rq_pubs: VecDeque<RqPub>,
    pub sq_pubs: VecDeque<SqPub>,
    pub sender_pubs: VecDeque<SenderPub>,
    pub sent: VecDeque<SentWrite>,
    wqe_answers: VecDeque<WqeData>,
    mr_answers: VecDeque<MrAnswer>,
    pub regions: Vec<Region>,
    pub buffers: Vec<Vec<Buffer>>,
    fetched: Vec<usize>,
    memory: HashMap<u64, u8>,
    write: Option<(u64, usize, usize)>,
    pub acks: Vec<Ack>,
    pub rx_cqes: Vec<Cqe>,
    /// Marks that a QP has reached its last WQE, and the CQEs that were there before.
    pub last_wqes: Vec<(u16, usize)>,
    pub tx_cqes: Vec<Cqe>,
    pub consumed: Vec<(u16, u16)>,
    pub rewinds: Vec<Back>,
    pub kicks: Vec<u16>,
    pub published: HashMap<u16, (u32, u16)>,
    pub counters: HashMap<Counter, u64>,
    /// Expected bytes of receive completions: (QP, WQE) to address and bytes, compared when the CQE comes.
    pub promised: HashMap<(u16, u16), (u64, Vec<u8>)>,
    /// Cycles in which frames ended on the wire.
    pub frame_cycles: Vec<u64>,
    pub last_write: u64,
    /// Frames that were kept or dropped, by the parser's events.
    pub judged_frames: u64,
    quiet: u64,
}

impl World {
    pub fn new(rng: ChaCha8Rng, knobs: Knobs) -> Self {
        Self::with_buffer(rng, knobs, 9)
    }

    pub fn with_buffer(rng: ChaCha8Rng, knobs: Knobs, log2_buffer_beats: usize) -> Self {
        let sim = Sim::new("roce_rx", move || {
            RoceRx::new(RxSizes {
                log2_qps: LOG2_QPS,
                log2_srqs: LOG2_SRQS,
                log2_window: LOG2_WINDOW,
                log2_buffer_beats,
            })
        });
        let mut world = Self {
            sim,
            rng,
            knobs,
            cfg: VecDeque::new(),
            cfg_wait: 0,
            beats: VecDeque::new(),
            local_errors: VecDeque::new(),
            rq_pubs: VecDeque::new(),
            sq_pubs: VecDeque::new(),
            sender_pubs: VecDeque::new(),
            sent: VecDeque::new(),
            wqe_answers: vec![WqeData::default(); WQE_READ_LATENCY].into(),
            mr_answers: vec![MrAnswer::default(); MR_CHECK_LATENCY].into(),
            regions: Vec::new(),
            buffers: vec![Vec::new(); QUEUES],
            fetched: vec![0; QUEUES],
            memory: HashMap::new(),
            write: None,
            acks: Vec::new(),
            rx_cqes: Vec::new(),
            last_wqes: Vec::new(),
            tx_cqes: Vec::new(),
            consumed: Vec::new(),
            rewinds: Vec::new(),
            kicks: Vec::new(),
            published: HashMap::new(),
            counters: HashMap::new(),
            promised: HashMap::new(),
            frame_cycles: Vec::new(),
            last_write: 0,
            judged_frames: 0,
            quiet: 0,
        };
        let port = PortCfg {
            mac: mac_bits(CARD_MAC),
            ip: u32::from_be_bytes(CARD_IP),
        };
        world.configure(table::PORT, 0, port.to_bits().expect("fits"));
        world
    }

    fn chance(&mut self, percent: u32) -> bool {
        percent >= 100 || self.rng.gen_range(0..100) < percent
    }

    pub fn cycle(&mut self) {
        let busy = self.drive();
        self.sim.settle();
        let moved = self.observe();
        self.sim.tick();
        self.quiet = if busy || moved { 0 } else { self.quiet + 1 };
    }

    pub fn cycles(&mut self, count: u64) {
        for _ in 0..count {
            self.cycle();
        }
    }

    /// Runs until nothing has moved for longer than any pipeline is.
    pub fn settle(&mut self) {
        self.quiet = 0;
        let start = self.sim.cycle;
        while self.quiet < 150 {
            self.cycle();
            assert!(self.sim.cycle - start < 2_000_000, "it never comes to rest");
        }
        assert!(self.write.is_none(), "half a write");
    }

    /// Answers since the last call.
    pub fn take_acks(&mut self) -> Vec<Ack> {
        std::mem::take(&mut self.acks)
    }

    /// Receive completions since the last call.
    pub fn take_rx_cqes(&mut self) -> Vec<Cqe> {
        std::mem::take(&mut self.rx_cqes)
    }

    /// Send completions since the last call, as (WQE, status).
    pub fn take_tx(&mut self) -> Vec<(u16, u8)> {
        std::mem::take(&mut self.tx_cqes)
            .iter()
            .map(|cqe| (cqe.wqe, cqe.status))
            .collect()
    }

    /// Rewinds since the last call.
    pub fn take_rewinds(&mut self) -> Vec<Back> {
        std::mem::take(&mut self.rewinds)
    }
}
