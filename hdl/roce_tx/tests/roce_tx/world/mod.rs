//! The transmit side in its surroundings: caches, checks, host, completer, wire.

mod wire;

use crate::host::{Host, Timing};
use crate::peer::Connection;
use crate::queue::Queue;
use crate::source::{Source, StreamWatch};
use ferroce_abi::mr::Access;
use ferroce_emit::harness::Sim;
use ferroce_roce_tx::desc::FetchError;
use ferroce_roce_tx::roce_tx::{RoceTx, TxSizes};
use ferroce_rtl::desc::cfg::{table, CfgWrite, CFG_SPACING};
use ferroce_rtl::desc::dma::DmaReadReq;
use ferroce_rtl::desc::lookup::{
    MrAnswer, MrCheck, WqeData, WqeRead, MR_CHECK_LATENCY, WQE_READ_LATENCY,
};
use ferroce_rtl::desc::rx::Answer;
use ferroce_rtl::desc::tx::{
    CompleterPub, Kick, LocalError, Rewind, SenderPub, SentWrite, SqConsumed,
};
use ferroce_rtl::stream::Beat;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use std::collections::{BinaryHeap, VecDeque};

pub const LOG2_QPS: usize = 4;
pub const LOG2_MESSAGES: usize = 4;
const TAG_BASE: u8 = 64;
const LOG2_TAGS: usize = 6;

/// What a test may turn.
#[derive(Clone, Copy)]
pub struct Knobs {
    /// Cycles in 100 in which the MAC takes a beat.
    pub mac: u32,
    /// Cycles in 100 in which other sinks take an item, and sources offer one.
    pub others: u32,
    /// Cycles from a frame that asks for it to its acknowledgement, least and random part.
    pub ack: (u64, u64),
    /// Cycles in 100 in which a cache fetches a WQE.
    pub fetch: u32,
    /// Acknowledgements are lost, as one in this many; 0 is never.
    pub ack_loss: u32,
    /// Without progress for so many cycles the completer sends back to the oldest packet left.
    pub time_out: u64,
}

pub const SMOOTH: Knobs = Knobs {
    mac: 100,
    others: 100,
    ack: (100, 0),
    fetch: 100,
    ack_loss: 0,
    time_out: u64::MAX,
};

pub struct World {
    pub sim: Sim,
    pub rng: ChaCha8Rng,
    pub knobs: Knobs,
    pub host: Host,
    pub queues: Vec<Queue>,
    cfg: VecDeque<CfgWrite>,
    cfg_wait: usize,
    cache_kicks: Source<Kick>,
    completer_kicks: Source<Kick>,
    rewinds: Source<Rewind>,
    acks: Source<Answer>,
    published: VecDeque<CompleterPub>,
    /// Acknowledgements under way: negative time, QP, packet after the last one acknowledged.
    answers: BinaryHeap<(std::cmp::Reverse<u64>, usize, u64)>,
    reads: VecDeque<WqeData>,
    checks: VecDeque<MrAnswer>,
    frame: Vec<u8>,
    /// ACK frames that must come, in order.
    pub expected_acks: VecDeque<Vec<u8>>,
    pub frames: u64,
    pub errors: Vec<LocalError>,
    pub fetch_errors: Vec<usize>,
    /// Cycle of each frame's last beat.
    pub frame_cycles: Vec<u64>,
    /// Nothing is acknowledged while this is set.
    pub mute: bool,
    watch: StreamWatch,
}

impl World {
    /// With these connections, QP by QP, all of them configured.
    pub fn new(rng: ChaCha8Rng, knobs: Knobs, timing: Timing, conns: &[Connection]) -> Self {
        let sizes = TxSizes {
            log2_qps: LOG2_QPS,
            log2_messages: LOG2_MESSAGES,
            tag_base: TAG_BASE,
            log2_mrs: 4,
            atomic_tag: 0xFF,
            log2_tags: LOG2_TAGS,
            log2_beats: 10,
        };
        let first_tag = u64::from(TAG_BASE);
        let mut world = Self {
            sim: Sim::new("roce_tx", move || RoceTx::new(sizes)),
            rng,
            knobs,
            host: Host::new(first_tag..first_tag + (1 << LOG2_TAGS), timing),
            queues: Vec::new(),
            cfg: VecDeque::new(),
            cfg_wait: 0,
            cache_kicks: Source::new("cache_kick"),
            completer_kicks: Source::new("completer_kick"),
            rewinds: Source::new("rewind"),
            acks: Source::new("answers"),
            published: VecDeque::new(),
            answers: BinaryHeap::new(),
            reads: vec![WqeData::default(); WQE_READ_LATENCY].into(),
            checks: vec![MrAnswer::default(); MR_CHECK_LATENCY].into(),
            frame: Vec::new(),
            expected_acks: VecDeque::new(),
            frames: 0,
            errors: Vec::new(),
            fetch_errors: Vec::new(),
            frame_cycles: Vec::new(),
            mute: false,
            watch: StreamWatch::default(),
        };
        for (qp, conn) in conns.iter().enumerate() {
            world.queues.push(Queue::new(qp, *conn));
            world.configure(qp);
        }
        while !world.cfg.is_empty() {
            world.cycle();
        }
        for _ in 0..CFG_SPACING {
            world.cycle();
        }
        world
    }

    fn write(&mut self, table: u64, index: usize, words: [u64; 4]) {
        self.cfg.push_back(CfgWrite::of_entry(table, index, words));
    }

    /// Writes a QP's table entries, which restarts it.
    pub fn configure(&mut self, qp: usize) {
        let entries = self.queues[qp].conn.entries(Queue::pd(qp));
        self.write(table::PORT, 0, entries.port);
        self.write(table::AV, qp, entries.av);
        self.write(table::SENDER, qp, entries.sender);
        self.published.push_back(self.queues[qp].publish(qp));
    }

    /// Asks for an ACK or NAK to be sent.
    pub fn answer(&mut self, qp: usize, psn: u32, syndrome: u8, msn: u32) {
        self.acks.items.push_back(Answer {
            ack: true,
            qp: (qp as u64).into(),
            psn: u64::from(psn).into(),
            syndrome: u64::from(syndrome).into(),
            msn: u64::from(msn).into(),
            ..Answer::default()
        });
        let frame = self.queues[qp].conn.answer(psn, syndrome.into(), msn);
        self.expected_acks.push_back(frame);
    }

    /// Sends the sender back to a packet.
    pub fn rewind(&mut self, qp: usize, packet: u64, halt: bool) {
        let rewind = self.queues[qp].rewind(qp, packet, halt);
        self.rewinds.items.push_back(rewind);
    }

    /// All rewinds have been taken.
    pub fn rewinds_taken(&self) -> bool {
        self.rewinds.items.is_empty()
    }

    fn chance(&mut self, percent: u32) -> bool {
        percent >= 100 || self.rng.gen_range(0..100) < percent
    }

    pub fn all_done(&self) -> bool {
        self.queues.iter().all(Queue::done) && self.expected_acks.is_empty() && self.host.idle()
    }

    /// Runs until everything is sent and acknowledged.
    pub fn run(&mut self, limit: u64) {
        let end = self.sim.cycle + limit;
        while !self.all_done() {
            assert!(
                self.sim.cycle < end,
                "not done after {limit} cycles:{}",
                self.state()
            );
            self.cycle();
        }
    }

    /// The queues that are not done.
    pub fn state(&self) -> String {
        let queues = self
            .queues
            .iter()
            .enumerate()
            .filter(|(_, queue)| !queue.done());
        queues
            .map(|(qp, queue)| {
                format!(
                    "\n  QP {qp}: {} packets, next {}, oldest {}, begun {}, cache {:?}, rewinds {:?}",
                    queue.total(), queue.next_frame, queue.una, queue.begun, queue.cache,
                    queue.rewinds
                )
            })
            .collect()
    }

    /// One cycle of everything.
    pub fn cycle(&mut self) {
        self.complete();
        self.drive();
        self.sim.settle();
        self.observe();
        self.sim.tick();
    }

    /// Completers and caches.
    fn complete(&mut self) {
        let now = self.sim.cycle;
        while self.answers.peek().is_some_and(|answer| answer.0 .0 <= now) && !self.mute {
            if let Some((_, qp, packet)) = self.answers.pop() {
                let queue = &mut self.queues[qp];
                queue.progress_at = now;
                if packet > queue.una {
                    queue.acknowledge(packet, now);
                    self.published.push_back(queue.publish(qp));
                    self.completer_kicks.items.push_back(Kick {
                        qp: (qp as u64).into(),
                    });
                }
            }
        }
        for qp in 0..self.queues.len() {
            if self.chance(self.knobs.fetch) && self.queues[qp].fetch() {
                self.cache_kicks.items.push_back(Kick {
                    qp: (qp as u64).into(),
                });
            }
            let queue = &mut self.queues[qp];
            let waits = queue.una < queue.highest;
            if !waits {
                queue.progress_at = now;
            } else if now - queue.progress_at > self.knobs.time_out {
                queue.progress_at = now;
                let una = queue.una;
                self.rewind(qp, una, false);
            }
        }
    }

    fn drive(&mut self) {
        let now = self.sim.cycle;
        self.cfg_wait = self.cfg_wait.saturating_sub(1);
        let write = if self.cfg_wait == 0 {
            self.cfg.pop_front()
        } else {
            None
        };
        if write.is_some() {
            self.cfg_wait = CFG_SPACING;
        }
        self.sim.set("cfg", &write.unwrap_or_default());
        let published = self.published.pop_front().unwrap_or_default();
        self.sim.set("una", &published);
        let others = self.knobs.others;
        let (a, b) = (self.chance(others), self.chance(others));
        let (c, d) = (self.chance(others), self.chance(others));
        self.cache_kicks.offer(&mut self.sim, a);
        self.completer_kicks.offer(&mut self.sim, b);
        self.rewinds.offer(&mut self.sim, c);
        self.acks.offer(&mut self.sim, d);
        let wqe = self.reads.pop_front().unwrap_or_default();
        self.sim.set("wqe_data", &wqe);
        let answer = self.checks.pop_front().unwrap_or_default();
        self.sim.set("mr_answer", &answer);
        let beat = self.host.beat(now, &mut self.rng);
        self.sim.offer("dma_data", beat.as_ref());
        for sink in ["dma_req_ready", "consumed_ready", "error_ready"] {
            let ready = self.chance(others);
            self.sim.set(sink, &ready);
        }
        let ready = self.chance(self.knobs.mac);
        self.sim.set("frame_ready", &ready);
    }

    fn observe(&mut self) {
        let now = self.sim.cycle;
        self.watch.check(&self.sim);
        assert!(
            self.frame.is_empty() || self.sim.high("frame_valid"),
            "a gap after {} bytes of a frame",
            self.frame.len()
        );
        self.cache_kicks.advance(&self.sim);
        self.completer_kicks.advance(&self.sim);
        self.rewinds.advance(&self.sim);
        self.acks.advance(&self.sim);
        assert!(self.sim.high("dma_data_ready"), "answers are always taken");

        let read: WqeRead = self.sim.get("wqe_read");
        let qp = read.qp.index();
        self.reads.push_back(if self.sim.high("wqe_read_valid") {
            self.queues[qp].read(read.wqe.to_u64(), &mut self.rng)
        } else {
            WqeData::default()
        });
        let check: MrCheck = self.sim.get("mr_check");
        self.checks.push_back(MrAnswer {
            ok: self.sim.high("mr_check_valid") && self.allows(&check),
            ..MrAnswer::default()
        });

        if self.sim.taken("dma_req") {
            let request: DmaReadReq = self.sim.get("dma_req_data");
            self.host.request(&request, now, &mut self.rng);
        }
        if self.sim.taken("consumed") {
            let consumed: SqConsumed = self.sim.get("consumed_data");
            if let Some(queue) = self.queues.get_mut(consumed.qp.index()) {
                queue.position(consumed.wqe.to_u64());
            }
        }
        if self.sim.taken("error") {
            self.errors.push(self.sim.get("error_data"));
        }
        let sent: SentWrite = self.sim.get("sent");
        if sent.valid {
            self.queues[sent.qp.index()].check_sent(&sent, 1 << LOG2_MESSAGES, now);
        }
        let published: SenderPub = self.sim.get("publish");
        if published.valid {
            let queue = &self.queues[published.qp.index()];
            assert_eq!(published.begun.to_u64(), queue.begun as u64 & 0xFFFF);
            let max = queue.packet_of_next(published.max_psn.to_u64() as u32);
            assert!(max >= queue.highest, "max PSN went back to packet {max}");
        }
        let error: FetchError = self.sim.get("fetch_error");
        if error.valid {
            self.fetch_errors.push(error.qp.index());
        }
        if self.sim.taken("frame") {
            let beat: Beat = self.sim.get("frame_data");
            self.take_beat(&beat);
        }
    }

    /// The memory region of each QP is the lower half of the address space.
    fn allows(&self, check: &MrCheck) -> bool {
        let qp = (check.key.to_u64() >> 8) as usize;
        let (va, len) = (check.va.to_u64(), check.len.to_u64());
        let known = qp >= 1
            && self.queues.get(qp - 1).is_some_and(|queue| {
                u64::from(queue.lkey) == check.key.to_u64()
                    && u64::from(Queue::pd(qp - 1)) == check.pd.to_u64()
            });
        if len == 0 || !known {
            return len == 0;
        }
        let lands = self.queues[qp - 1].lands_at(va);
        let access = if lands {
            Access::LOCAL_WRITE
        } else {
            Access::NONE
        };
        va >> 63 == 0 && (va + len) >> 63 == 0 && check.access.to_u64() == u64::from(access.bits())
    }
}
