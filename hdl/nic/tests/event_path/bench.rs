//! CQE writer, event path and the host that looks only when it is told.

use crate::common::{bytes_of, connected, settle};
use crate::host::{Cq, Eq, HostBell, Setup};
use ferroce_abi::cfg::{CqCfg, EqCfg};
use ferroce_abi::cqe::{flags, phase_of, Cqe, Status};
use ferroce_abi::eqe::{Eqe, EventKind};
use ferroce_emit::harness::random;
use ferroce_nic::cqe_writer::CqeWriter;
use ferroce_nic::events::EventPath;
use ferroce_rtl::desc::bar::{BarReq, CqBell, EqBell, QueueSeen};
use ferroce_rtl::desc::cfg::{table, CfgWrite};
use ferroce_rtl::desc::dma::DmaWriteBeat;
use ferroce_rtl::desc::rx::CqeJob;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use std::collections::{HashMap, VecDeque};

pub const CQS: usize = 8;
pub const CQS_LOG2: usize = 3;
pub const CQ_LOG: u32 = 3;
pub const EQS: usize = 2;
pub const EQS_LOG2: usize = 1;
pub const MESSAGES: u64 = 0xFEE0_0000;
/// Core cycles of a unit of the gap.
pub const UNIT: u64 = 256;

pub fn cq_base(cq: usize) -> u64 {
    0x1_FFFF_F000 + 0x10_0000 * cq as u64
}

pub fn eq_base(eq: usize) -> u64 {
    0x2_FFFF_F000 + 0x10_0000 * eq as u64
}

pub struct Bench {
    pub writer: CqeWriter,
    pub path: EventPath,
    pub rng: ChaCha8Rng,
    pub setup: Setup,
    pub now: u64,
    pub memory: HashMap<u64, u8>,
    pub cqs: Vec<Cq>,
    pub eqs: Vec<Eq>,
    pub jobs: VecDeque<CqeJob>,
    /// Doorbells on their way.
    pub cq_bells: VecDeque<HostBell>,
    pub eq_bells: VecDeque<HostBell>,
    /// Those of which the card knows the consumer index, and the rest waits.
    pub cq_wishes: VecDeque<CqBell>,
    pub eq_wishes: VecDeque<EqBell>,
    pub accesses: VecDeque<BarReq>,
    pub overruns: usize,
    pub eqe_written: usize,
    pub eqe_dropped: usize,
    pub shortest: u64,
    /// The host takes no writes.
    pub deaf: bool,
    /// Queues that are gone, with nothing of theirs left.
    pub gone: usize,
    /// The host has armed queues whose events were under way: one more may come.
    pub eager: bool,
}

impl Bench {
    pub fn new(setup: Setup) -> Self {
        let mut bench = Self {
            writer: connected(CqeWriter::new(CQS_LOG2)),
            path: connected(EventPath::new(EQS_LOG2)),
            rng: random(),
            setup,
            now: 0,
            memory: HashMap::new(),
            cqs: (0..CQS).map(|_| Cq::default()).collect(),
            eqs: (0..EQS).map(|_| Eq::default()).collect(),
            jobs: VecDeque::new(),
            cq_bells: VecDeque::new(),
            eq_bells: VecDeque::new(),
            cq_wishes: VecDeque::new(),
            eq_wishes: VecDeque::new(),
            accesses: VecDeque::new(),
            overruns: 0,
            eqe_written: 0,
            eqe_dropped: 0,
            shortest: u64::MAX,
            deaf: false,
            gone: 0,
            eager: false,
        };
        for vector in 0..EQS as u64 {
            for (at, data) in [(0, MESSAGES), (8, vector)] {
                bench.accesses.push_back(BarReq {
                    addr: (16 * vector + at).into(),
                    write: true,
                    data: data.into(),
                    strobe: 0xFF.into(),
                });
            }
        }
        for eq in 0..EQS {
            let entry = EqCfg {
                enabled: true,
                base: eq_base(eq),
                log_size: setup.eq_log as u8,
                page: 0,
                // Crossed, so that EQ and vector are told apart.
                vector: (EQS - 1 - eq) as u8,
                gap: setup.gap,
            };
            bench.cycle(CfgWrite::of_entry(
                table::EQ,
                eq,
                entry.to_bits().expect("fits"),
            ));
            bench.idle(64);
        }
        for cq in 0..CQS {
            let entry = CqCfg {
                enabled: true,
                base: cq_base(cq),
                log_size: CQ_LOG as u8,
                page: 0,
                has_eq: true,
                eq: (cq % EQS) as u8,
            };
            bench.cycle(CfgWrite::of_entry(
                table::CQ,
                cq,
                entry.to_bits().expect("fits"),
            ));
            bench.idle(64);
        }
        for cq in 0..CQS {
            bench.arm_cq(cq);
        }
        for eq in 0..EQS {
            bench.arm_eq(eq);
        }
        bench
    }

    pub fn arm_cq(&mut self, cq: usize) {
        self.cqs[cq].armed = true;
        self.cqs[cq].arms += 1;
        self.ring_cq(cq, true);
    }

    pub fn ring_cq(&mut self, cq: usize, arm: bool) {
        self.cq_bells.push_back(HostBell {
            queue: cq,
            consumer: self.cqs[cq].consumer,
            arm,
        });
    }

    pub fn arm_eq(&mut self, eq: usize) {
        self.eqs[eq].arms += 1;
        self.eq_bells.push_back(HostBell {
            queue: eq,
            consumer: self.eqs[eq].consumer,
            arm: true,
        });
    }

    pub fn load<const N: usize>(&self, addr: u64) -> [u8; N] {
        std::array::from_fn(|k| *self.memory.get(&(addr + k as u64)).unwrap_or(&0))
    }

    pub fn eqe_at(&self, eq: usize, index: u32) -> Option<Eqe> {
        let slot = u64::from(index) & ((1 << self.setup.eq_log) - 1);
        let bytes = self.load(eq_base(eq) + 16 * slot);
        let valid = (bytes[15] & 1 == 1) == phase_of(index, self.setup.eq_log);
        valid.then(|| Eqe::decode(&bytes).expect("a well-formed EQE"))
    }

    pub fn cqe_at(&self, cq: usize, index: u32) -> Option<Cqe> {
        let slot = u64::from(index) & ((1 << CQ_LOG) - 1);
        let bytes = self.load(cq_base(cq) + 32 * slot);
        let valid = (bytes[31] & 1 == 1) == phase_of(index, CQ_LOG);
        valid.then(|| Cqe::decode(&bytes).expect("a well-formed CQE"))
    }

    /// A host write, in the order of the link.
    pub fn written(&mut self, beat: DmaWriteBeat) {
        let addr = beat.addr.to_u64();
        assert!(beat.last);
        let at = (addr % 64) as usize;
        let mut store = |bytes: &[u8]| {
            for (offset, &byte) in bytes.iter().enumerate() {
                self.memory.insert(addr + offset as u64, byte);
            }
        };
        match beat.len.to_u64() {
            64 => store(&bytes_of::<64>(&beat.data, at)),
            32 => store(&bytes_of::<32>(&beat.data, at)),
            16 => store(&bytes_of::<16>(&beat.data, at)),
            4 => self.message(u32::from_le_bytes(bytes_of(&beat.data, at)) as usize),
            other => panic!("a write of {other} bytes"),
        }
    }

    pub fn message(&mut self, vector: usize) {
        let eq = EQS - 1 - vector;
        // An eager host may have taken the EQE before the interrupt.
        let newest = self.eqs[eq].consumer;
        let taken = self.eager && newest > 0 && self.eqe_at(eq, newest - 1).is_some();
        assert!(
            taken || self.eqe_at(eq, newest).is_some(),
            "EQ {eq} interrupts before its EQE is there"
        );
        let queue = &mut self.eqs[eq];
        queue.messages += 1;
        assert!(queue.messages <= queue.arms, "EQ {eq} was not armed");
        if let Some(last) = queue.last_message.replace(self.now) {
            self.shortest = self.shortest.min(self.now - last);
        }
        let latency = self.rng.gen_range(0..60);
        self.eqs[eq].wake = Some(self.now + latency);
    }

    /// The host handles an interrupt.
    pub fn handle(&mut self, eq: usize) {
        while let Some(eqe) = self.eqe_at(eq, self.eqs[eq].consumer) {
            self.eqs[eq].consumer += 1;
            match eqe.kind {
                EventKind::Completion => {
                    let cq = eqe.index as usize;
                    assert_eq!(cq % EQS, eq);
                    self.cqs[cq].events += 1;
                    assert!(self.cqs[cq].events <= self.cqs[cq].arms, "CQ {cq}");
                    self.cqs[cq].armed = false;
                    self.poll(cq, true);
                }
                EventKind::EqOverrun => {
                    self.overruns += 1;
                    for cq in (eq..CQS).step_by(EQS) {
                        self.poll(cq, false);
                    }
                }
                other => panic!("{other:?} of {}", eqe.index),
            }
        }
        self.arm_eq(eq);
    }

    /// Takes all completions of a CQ; `told` that there is one.
    pub fn poll(&mut self, cq: usize, told: bool) {
        let mut found = false;
        while let Some(cqe) = self.cqe_at(cq, self.cqs[cq].consumer) {
            self.cqs[cq].consumer += 1;
            found |= !self.setup.solicited_only || counts(&cqe);
        }
        // What an earlier poll took, which was not told to look, may be told later.
        assert!(
            found || !told || self.overruns > 0 || self.eager,
            "CQ {cq} has nothing"
        );
        self.arm_cq(cq);
    }

    pub fn cycle(&mut self, cfg: CfgWrite) {
        let due = |eq: &Eq| eq.wake.is_some_and(|at| at <= self.now);
        if let Some(eq) = self.eqs.iter().position(due) {
            self.eqs[eq].wake = None;
            self.handle(eq);
        }
        let (writer, path) = (&mut self.writer, &mut self.path);
        writer.cfg.next = cfg;
        path.cfg.next = cfg;
        path.msix_enable.next = true;
        path.msix_mask.next = false;
        writer.rx_job.valid.next = !self.jobs.is_empty();
        writer.rx_job.data.next = self.jobs.front().copied().unwrap_or_default();
        writer.tx_job.valid.next = false;
        let [rings_cq, rings_eq] = std::array::from_fn(|_| self.rng.gen_bool(0.3));
        let cq_bell = if rings_cq {
            self.cq_bells.pop_front()
        } else {
            None
        };
        writer.seen.next = cq_bell.map_or_else(QueueSeen::default, HostBell::seen);
        writer.bell.valid.next = !self.cq_wishes.is_empty();
        writer.bell.data.next = self.cq_wishes.front().copied().unwrap_or_default();
        let eq_bell = if rings_eq {
            self.eq_bells.pop_front()
        } else {
            None
        };
        path.seen.next = eq_bell.map_or_else(QueueSeen::default, HostBell::seen);
        path.bell.valid.next = !self.eq_wishes.is_empty();
        path.bell.data.next = self.eq_wishes.front().copied().unwrap_or_default();
        path.access.valid.next = !self.accesses.is_empty();
        path.access.data.next = self.accesses.front().copied().unwrap_or_default();
        path.answer.ready.next = true;
        // The write arbiter takes one of both.
        let taken = if self.deaf {
            2
        } else {
            self.rng.gen_range(0..4)
        };
        writer.write.ready.next = taken == 0;
        path.write.ready.next = taken == 1;
        writer.clock.next = false.into();
        path.clock.next = false.into();
        settle(writer);
        path.event.valid.next = writer.event.valid.val();
        path.event.data.next = writer.event.data.val();
        settle(path);
        writer.event.ready.next = path.event.ready.val();
        settle(writer);
        if writer.rx_job.valid.val() & writer.rx_job.ready.val() {
            self.jobs.pop_front();
        }
        if writer.bell.valid.val() & writer.bell.ready.val() {
            self.cq_wishes.pop_front();
        }
        if path.bell.valid.val() & path.bell.ready.val() {
            self.eq_wishes.pop_front();
        }
        if let Some(bell) = cq_bell {
            self.cqs[bell.queue].told = bell.consumer;
            if bell.arm {
                self.cq_wishes.push_back(CqBell {
                    cq: (bell.queue as u64).into(),
                    solicited_only: self.setup.solicited_only,
                });
            }
        }
        if let Some(bell) = eq_bell {
            self.eq_wishes.push_back(EqBell {
                eq: (bell.queue as u64).into(),
                arm: bell.arm,
            });
        }
        if path.access.valid.val() & path.access.ready.val() {
            self.accesses.pop_front();
        }
        assert!(!writer.dropped.val(), "a CQE was dropped");
        self.eqe_written += usize::from(path.written.val());
        self.eqe_dropped += usize::from(path.dropped.val());
        self.gone += usize::from(path.gone.val());
        let beat = match taken {
            0 if writer.write.valid.val() => Some(writer.write.data.val()),
            1 if path.write.valid.val() => Some(path.write.data.val()),
            _ => None,
        };
        writer.clock.next = true.into();
        path.clock.next = true.into();
        settle(writer);
        settle(path);
        self.now += 1;
        if let Some(beat) = beat {
            self.written(beat);
        }
    }

    /// Takes a queue away: its configuration, and the consumer index that goes with it.
    pub fn take_away(&mut self, table: u64, queue: usize) {
        let bells = if table == table::CQ {
            &mut self.cq_bells
        } else {
            &mut self.eq_bells
        };
        bells.push_back(HostBell {
            queue,
            consumer: 0,
            arm: false,
        });
        self.cycle(CfgWrite::of_entry(table, queue, [0; 4]));
    }

    pub fn idle(&mut self, cycles: u64) {
        for _ in 0..cycles {
            self.cycle(CfgWrite::default());
        }
    }

    /// The card has taken all doorbells.
    pub fn all_rung(&self) -> bool {
        let rung = self.cq_bells.is_empty() && self.eq_bells.is_empty();
        rung && self.cq_wishes.is_empty() && self.eq_wishes.is_empty()
    }

    /// A completion for a random CQ that has room, seldom or often solicited or failed.
    pub fn complete(&mut self) {
        let index = self.rng.gen_range(0..CQS);
        self.complete_in(index);
    }

    /// The same for this CQ.
    pub fn complete_in(&mut self, index: usize) {
        let cq = &mut self.cqs[index];
        if cq.issued - cq.told >= 1 << CQ_LOG {
            return;
        }
        cq.issued += 1;
        let solicited = self.rng.gen_bool(0.2);
        let failed = self.rng.gen_bool(0.1);
        if solicited | failed | !self.setup.solicited_only {
            cq.wanted = cq.issued;
        }
        self.jobs.push_back(CqeJob {
            cq: (index as u64).into(),
            flags: (u64::from(solicited) * u64::from(flags::SOLICITED)).into(),
            status: (if failed { Status::LocLen as u64 } else { 0 }).into(),
            ..CqeJob::default()
        });
    }

    /// Everything has come to rest.
    pub fn check(&self) {
        for (index, cq) in self.cqs.iter().enumerate() {
            assert!(
                cq.consumer >= cq.wanted,
                "CQ {index} is at {} of {}, armed {}, and the host was not told",
                cq.consumer,
                cq.wanted,
                cq.armed
            );
        }
    }
}

fn counts(cqe: &Cqe) -> bool {
    cqe.flags & flags::SOLICITED != 0 || cqe.status != Status::Success
}
