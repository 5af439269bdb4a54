//! The CQE writer against hosts that poll rings in memory.

mod common;

use common::{bytes_of, connected, settle};
use ferroce_abi::cqe::{phase_of, Cqe, Status, WcOpcode};
use ferroce_abi::eqe::EventKind;
use ferroce_emit::harness::random;
use ferroce_emit::on_big_stack;
use ferroce_nic::cqe_writer::CqeWriter;
use ferroce_rtl::desc::bar::QueueSeen;
use ferroce_rtl::desc::cfg::{table, CfgWrite};
use ferroce_rtl::desc::rx::CqeJob;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use std::collections::{HashMap, VecDeque};

const CQS_LOG2: usize = 3;

fn cqe(number: u64) -> Cqe {
    Cqe {
        opcode: WcOpcode::ALL[(number % 9) as usize],
        status: Status::ALL[(number % 22) as usize],
        flags: number as u8 & 7,
        qpn: (number * 5) as u32 & 0x3FFF,
        byte_len: number as u32 ^ 0xDEAD_0000,
        imm: (number as u32 ^ 0x0102_0304).to_le_bytes(),
        wqe_index: number as u16 ^ 0x5555,
        vendor_err: 0,
        src_qpn: 0,
        phase: false,
    }
}

fn job(cq: usize, number: u64) -> CqeJob {
    let cqe = cqe(number);
    CqeJob {
        cq: (cq as u64).into(),
        qp: u64::from(cqe.qpn).into(),
        opcode: (cqe.opcode as u64).into(),
        status: (cqe.status as u64).into(),
        flags: u64::from(cqe.flags).into(),
        byte_len: u64::from(cqe.byte_len).into(),
        imm: u64::from(u32::from_le_bytes(cqe.imm)).into(),
        wqe: u64::from(cqe.wqe_index).into(),
        last: false,
    }
}

struct Queue {
    base: u64,
    log_size: u32,
    consumer: u32,
}

struct Bench {
    uut: CqeWriter,
    rng: ChaCha8Rng,
    memory: HashMap<u64, [u8; 32]>,
    queues: Vec<Queue>,
    jobs: [VecDeque<CqeJob>; 2],
    bells: VecDeque<QueueSeen>,
    written: usize,
    dropped: usize,
    writes: usize,
    /// Writes of two CQEs.
    pairs: usize,
    /// Events that say that a QP has reached its last WQE: the QP, and the CQEs written before.
    ends: Vec<(u64, usize)>,
    /// How often the write arbiter takes something.
    rate: f64,
}

impl Bench {
    fn new(log_sizes: &[u32]) -> Self {
        let queues = log_sizes.iter().enumerate().map(|(cq, &log_size)| Queue {
            base: 0xFFFF_F000 + (cq as u64) * 0x0001_0010_0000,
            log_size,
            consumer: 0,
        });
        Self {
            uut: connected(CqeWriter::new(CQS_LOG2)),
            rng: random(),
            memory: HashMap::new(),
            queues: queues.collect(),
            jobs: [VecDeque::new(), VecDeque::new()],
            bells: VecDeque::new(),
            written: 0,
            dropped: 0,
            writes: 0,
            pairs: 0,
            ends: Vec::new(),
            rate: 0.4,
        }
    }

    fn cycle(&mut self, cfg: CfgWrite) {
        self.uut.cfg.next = cfg;
        self.uut.rx_job.valid.next = !self.jobs[0].is_empty();
        self.uut.rx_job.data.next = self.jobs[0].front().copied().unwrap_or_default();
        self.uut.tx_job.valid.next = !self.jobs[1].is_empty();
        self.uut.tx_job.data.next = self.jobs[1].front().copied().unwrap_or_default();
        self.uut.bell.valid.next = false;
        self.uut.seen.next = self.bells.pop_front().unwrap_or_default();
        let ready = self.rng.gen_bool(self.rate);
        self.uut.write.ready.next = ready;
        self.uut.event.ready.next = true;
        self.uut.clock.next = false.into();
        settle(&mut self.uut);
        if self.uut.rx_job.valid.val() & self.uut.rx_job.ready.val() {
            self.jobs[0].pop_front();
        }
        if self.uut.tx_job.valid.val() & self.uut.tx_job.ready.val() {
            self.jobs[1].pop_front();
        }
        if self.uut.event.valid.val() {
            let event = self.uut.event.data.val();
            if event.kind.to_u64() == EventKind::QpLastWqe as u64 {
                self.ends.push((event.index.to_u64(), self.writes));
            }
        }
        self.written += usize::from(self.uut.written.val());
        self.dropped += usize::from(self.uut.dropped.val());
        if self.uut.write.valid.val() & ready {
            let beat = self.uut.write.data.val();
            let addr = beat.addr.to_u64();
            let len = beat.len.to_u64();
            assert!(beat.last && (len == 32 && addr % 32 == 0 || len == 64 && addr % 64 == 0));
            for addr in (addr..addr + len).step_by(32) {
                let bytes = bytes_of(&beat.data, (addr % 64) as usize);
                assert!(self.memory.insert(addr, bytes).is_some(), "{addr:#x}");
                self.writes += 1;
            }
            self.pairs += usize::from(len == 64);
        }
        self.uut.clock.next = true.into();
        settle(&mut self.uut);
    }

    fn idle(&mut self, cycles: usize) {
        for _ in 0..cycles {
            self.cycle(CfgWrite::default());
        }
    }

    fn configure(&mut self, cq: usize, enabled: bool) {
        let queue = &mut self.queues[cq];
        queue.consumer = 0;
        let ring = ferroce_abi::cfg::RingCfg {
            enabled,
            base: queue.base,
            log_size: queue.log_size as u8,
            page: 0,
        };
        for slot in 0..1 << queue.log_size {
            self.memory.insert(queue.base + 32 * slot, [0; 32]);
        }
        self.bells.push_back(QueueSeen {
            valid: true,
            queue: (cq as u64).into(),
            consumer: 0.into(),
        });
        self.cycle(CfgWrite::of_entry(
            table::CQ,
            cq,
            ring.to_bits().expect("fits"),
        ));
        self.idle(10);
    }

    /// What the host finds at its consumer index.
    fn poll(&mut self, cq: usize) -> Option<Cqe> {
        let queue = &mut self.queues[cq];
        let slot = u64::from(queue.consumer) & ((1 << queue.log_size) - 1);
        let bytes = &self.memory[&(queue.base + 32 * slot)];
        let found = Cqe::decode(bytes).expect("a well-formed CQE");
        if found.phase != phase_of(queue.consumer, queue.log_size) {
            return None;
        }
        queue.consumer += 1;
        Some(found)
    }

    fn ring(&mut self, cq: usize) {
        self.bells.push_back(QueueSeen {
            valid: true,
            queue: (cq as u64).into(),
            consumer: u64::from(self.queues[cq].consumer).into(),
        });
    }
}

#[test]
fn a_full_queue_drops_and_stays_dead_until_it_is_made_anew() {
    on_big_stack(|| {
        let mut bench = Bench::new(&[1, 2]);
        bench.configure(0, true);
        bench.configure(1, true);
        for number in 0..3 {
            bench.jobs[0].push_back(job(0, number));
        }
        bench.jobs[0].push_back(job(1, 3));
        bench.idle(80);
        assert_eq!((bench.written, bench.dropped, bench.writes), (3, 1, 3));
        assert_eq!(
            bench.poll(0).map(|found| found.byte_len),
            Some(cqe(0).byte_len)
        );
        assert_eq!(
            bench.poll(0).map(|found| found.byte_len),
            Some(cqe(1).byte_len)
        );
        assert_eq!(bench.poll(0), None);
        bench.ring(0);
        bench.idle(10);
        bench.jobs[1].push_back(job(0, 4));
        bench.jobs[1].push_back(job(1, 5));
        bench.idle(80);
        assert_eq!((bench.written, bench.dropped), (4, 2));
        bench.configure(0, true);
        bench.jobs[1].push_back(job(0, 6));
        bench.idle(80);
        assert_eq!((bench.written, bench.dropped), (5, 2));
        assert_eq!(
            bench.poll(0).map(|found| found.byte_len),
            Some(cqe(6).byte_len)
        );
    });
}

#[test]
fn queues_that_do_not_exist_take_nothing() {
    on_big_stack(|| {
        let mut bench = Bench::new(&[3]);
        bench.configure(0, true);
        // Never made; beyond the table, where its low bits are those of CQ 0; taken away.
        bench.jobs[0].push_back(job(1, 0));
        bench.jobs[0].push_back(job(1 << CQS_LOG2, 1));
        bench.idle(40);
        bench.configure(0, false);
        bench.jobs[0].push_back(job(0, 2));
        bench.idle(40);
        assert_eq!((bench.written, bench.dropped, bench.writes), (0, 3, 0));
    });
}

#[test]
fn completions_of_a_queue_stay_in_order_and_none_is_lost() {
    on_big_stack(|| {
        let log_sizes = [1, 2, 3, 4, 5, 6, 7, 8];
        let mut bench = Bench::new(&log_sizes);
        for cq in 0..log_sizes.len() {
            bench.configure(cq, true);
        }
        let mut number = 0;
        let mut expected: Vec<[VecDeque<u64>; 2]> =
            log_sizes.iter().map(|_| Default::default()).collect();
        let mut received = 0;
        for _ in 0..6_000 {
            let cq = bench.rng.gen_range(0..log_sizes.len());
            let open: usize = expected[cq].iter().map(VecDeque::len).sum();
            if open < 1 << log_sizes[cq] {
                let source = bench.rng.gen_range(0..2);
                expected[cq][source].push_back(number);
                bench.jobs[source].push_back(job(cq, number));
                number += 1;
            }
            let cq = bench.rng.gen_range(0..log_sizes.len());
            if let Some(found) = bench.poll(cq) {
                let phase = found.phase;
                let source = (0..2).find(|&source| {
                    expected[cq][source]
                        .front()
                        .is_some_and(|&next| Cqe { phase, ..cqe(next) } == found)
                });
                let source = source.unwrap_or_else(|| panic!("unexpected {found:?} in CQ {cq}"));
                expected[cq][source].pop_front();
                received += 1;
                bench.ring(cq);
            }
            bench.idle(1);
            // The host posts no more than fits once its doorbell has arrived.
            while !bench.bells.is_empty() {
                bench.idle(1);
            }
        }
        assert_eq!(bench.dropped, 0);
        assert!(received > 1_500, "only {received} CQEs");
    });
}

#[test]
fn neighbours_that_wait_go_together() {
    on_big_stack(|| {
        let mut bench = Bench::new(&[4, 4]);
        bench.configure(0, true);
        bench.configure(1, true);
        // Nothing waits: each goes alone.
        bench.rate = 1.0;
        for number in 0..4 {
            bench.jobs[0].push_back(job(0, number));
            bench.idle(20);
        }
        assert_eq!((bench.writes, bench.pairs), (4, 0));
        // CQ 0 goes on at its slot 4. The first finds the output free, the second has no neighbour then, and then there are
        // 6 and 7, 8 and 9, and one of another CQ keeps 10 and 11 apart.
        bench.rate = 0.0;
        for number in 4..11 {
            bench.jobs[0].push_back(job(0, number));
        }
        bench.jobs[0].push_back(job(1, 11));
        bench.jobs[0].push_back(job(0, 12));
        bench.idle(60);
        for _ in 0..20 {
            bench.rate = 1.0;
            bench.idle(1);
            bench.rate = 0.0;
            bench.idle(3);
        }
        assert_eq!((bench.writes, bench.pairs), (13, 2));
        for number in (0..11).chain([12]) {
            let found = bench.poll(0).expect("a CQE");
            assert_eq!(found.byte_len, cqe(number).byte_len);
        }
        let found = bench.poll(1).expect("a CQE");
        assert_eq!(found.byte_len, cqe(11).byte_len);
    });
}

/// Whatever the write arbiter does, and whether the CQ exists or not.
#[test]
fn a_qp_reaches_its_end_behind_its_completions() {
    on_big_stack(|| {
        let mut bench = Bench::new(&[8]);
        bench.configure(0, true);
        let mark = |cq: u64, qp: usize| CqeJob {
            cq: cq.into(),
            qp: (qp as u64).into(),
            last: true,
            ..CqeJob::default()
        };
        let mut before = Vec::new();
        let mut pushed = 0;
        for _ in 0..200 {
            if bench.rng.gen_bool(0.3) {
                bench.jobs[0].push_back(mark(0, before.len()));
                before.push(pushed);
            } else {
                bench.jobs[0].push_back(job(0, pushed as u64));
                pushed += 1;
            }
            bench.rate = [0.05, 0.4, 1.0][bench.rng.gen_range(0..3)];
            let pause = bench.rng.gen_range(0..20);
            bench.idle(pause);
        }
        bench.rate = 1.0;
        bench.idle(600);
        assert_eq!((bench.writes, bench.dropped), (pushed, 0));
        assert_eq!(bench.ends.len(), before.len());
        for (number, (&(qp, writes), &before)) in bench.ends.iter().zip(&before).enumerate() {
            assert_eq!(qp, number as u64);
            assert!(writes >= before, "QP {qp}: {writes} of {before} CQEs");
        }
        bench.jobs[0].push_back(mark(1, 77));
        bench.idle(60);
        assert_eq!(bench.ends.pop().map(|end| end.0), Some(77));
    });
}
