//! The scheduler against its contract: no kick is lost, no QP is visited twice at a time, none for nothing.

use ferroce_emit::harness::random;
use ferroce_emit::on_big_stack;
use ferroce_emit::prelude::*;
use ferroce_roce_tx::sched::TxSched;
use ferroce_rtl::desc::tx::{Kick, VisitDone};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use std::collections::VecDeque;

const LOG2_QPS: usize = 4;
const QPS: usize = 1 << LOG2_QPS;

fn settle(uut: &mut TxSched) {
    assert!(simulate(uut, 64), "logic does not settle");
}

struct Bench {
    uut: TxSched,
    rng: ChaCha8Rng,
    cycle: u64,
    /// Kicks to come, of the cache, the completer and the sender.
    kicks: [VecDeque<usize>; 3],
    /// Ends of visits to come: when, and whether more is wanted.
    dones: VecDeque<(u64, usize, bool)>,
    /// Kicks, and ends that wanted more, that no visit has followed.
    owed: [usize; QPS],
    /// The same less the visits: a kick may cause a visit of its own although one has followed already.
    reasons: [usize; QPS],
    visited: [bool; QPS],
    visits: [usize; QPS],
    events: usize,
    offered: Option<usize>,
}

impl Bench {
    fn new() -> Self {
        let mut uut = TxSched::new(LOG2_QPS);
        uut.connect_all();
        check_all(&uut).expect("the scheduler is wired");
        Self {
            uut,
            rng: random(),
            cycle: 0,
            kicks: Default::default(),
            dones: VecDeque::new(),
            owed: [0; QPS],
            reasons: [0; QPS],
            visited: [false; QPS],
            visits: [0; QPS],
            events: 0,
            offered: None,
        }
    }

    /// One cycle; visits are taken with `ready` and last `length` cycles at most, after which `more` in 100 want
    /// another one.
    fn cycle(&mut self, ready: bool, length: u64, more: u32) {
        let kick = |kicks: &VecDeque<usize>| Kick {
            qp: (kicks.front().copied().unwrap_or(0) as u64).into(),
        };
        self.uut.cache_kick.data.next = kick(&self.kicks[0]);
        self.uut.cache_kick.valid.next = !self.kicks[0].is_empty();
        self.uut.completer_kick.data.next = kick(&self.kicks[1]);
        self.uut.completer_kick.valid.next = !self.kicks[1].is_empty();
        self.uut.sender_kick.data.next = kick(&self.kicks[2]);
        self.uut.sender_kick.valid.next = !self.kicks[2].is_empty();
        let done = self.dones.front().filter(|done| done.0 <= self.cycle);
        let done = done.map_or((0, false, false), |&(_, qp, more)| (qp, more, true));
        self.uut.done.data.next = VisitDone {
            qp: (done.0 as u64).into(),
            more: done.1,
        };
        self.uut.done.valid.next = done.2;
        self.uut.visit.ready.next = ready;
        self.uut.clock.next = false.into();
        settle(&mut self.uut);

        // A visit answers what was taken before this cycle.
        let offered = self
            .uut
            .visit
            .valid
            .val()
            .then(|| self.uut.visit.data.val().qp.index());
        if let Some(before) = self.offered {
            assert_eq!(offered, Some(before), "an offer was withdrawn");
        }
        self.offered = offered.filter(|_| !ready);
        if let Some(qp) = offered.filter(|_| ready) {
            assert!(!self.visited[qp], "QP {qp} is visited twice at a time");
            assert!(self.reasons[qp] > 0, "QP {qp} is visited for nothing");
            self.reasons[qp] -= 1;
            self.visited[qp] = true;
            self.owed[qp] = 0;
            self.visits[qp] += 1;
            let end = self.cycle + self.rng.gen_range(1..=length);
            let more = self.rng.gen_range(0..100) < more;
            let at = self.dones.partition_point(|done| done.0 <= end);
            self.dones.insert(at, (end, qp, more));
        }
        let ready = [
            self.uut.cache_kick.ready.val(),
            self.uut.completer_kick.ready.val(),
            self.uut.sender_kick.ready.val(),
        ];
        for (kicks, ready) in self.kicks.iter_mut().zip(ready) {
            if ready {
                if let Some(qp) = kicks.pop_front() {
                    self.owed[qp] += 1;
                    self.reasons[qp] += 1;
                    self.events += 1;
                }
            }
        }
        if self.uut.done.ready.val() && done.2 {
            self.dones.pop_front();
            self.visited[done.0] = false;
            self.owed[done.0] += usize::from(done.1);
            self.reasons[done.0] += usize::from(done.1);
            self.events += 1;
        }
        self.uut.clock.next = true.into();
        settle(&mut self.uut);
        self.cycle += 1;
    }

    fn quiet(&self) -> bool {
        self.kicks.iter().all(VecDeque::is_empty) && self.dones.is_empty()
    }
}

#[test]
fn every_kick_is_followed_by_a_visit() {
    on_big_stack(|| {
        let mut bench = Bench::new();
        for round in 0..60 {
            let busy = bench.rng.gen_range(1..60);
            let qps = bench.rng.gen_range(1..=QPS);
            for _ in 0..200 {
                for source in 0..3 {
                    if bench.rng.gen_range(0..100) < busy && bench.kicks[source].len() < 4 {
                        let qp = bench.rng.gen_range(0..qps);
                        bench.kicks[source].push_back(qp);
                    }
                }
                let ready = bench.rng.gen_range(0..100) < 20 + round;
                bench.cycle(ready, 30, 40);
            }
            let end = bench.cycle + 20_000;
            let mut still = 0;
            while still < 20 {
                bench.cycle(true, 3, 40);
                still = if bench.quiet() { still + 1 } else { 0 };
                assert!(bench.cycle < end, "visits never end");
            }
            assert_eq!(bench.owed, [0; QPS], "visits are missing");
        }
    });
}

#[test]
fn everybody_gets_the_same_turns() {
    on_big_stack(|| {
        let mut bench = Bench::new();
        bench.kicks[0] = (0..QPS).collect();
        for cycle in 0..3000 {
            // Until all are in the ring, those that are have it for themselves.
            if cycle == 10 * QPS {
                bench.visits = [0; QPS];
            }
            bench.cycle(true, 1, 100);
        }
        let (least, most) = (bench.visits.iter().min(), bench.visits.iter().max());
        let (least, most) = (least.expect("some"), most.expect("some"));
        assert!(most - least <= 1, "{:?}", bench.visits);
        // 16 QPs are enough to have a visit in every cycle.
        assert!(*least >= 3000 / QPS - 11, "{:?}", bench.visits);
    });
}

#[test]
fn an_event_a_cycle() {
    on_big_stack(|| {
        let mut bench = Bench::new();
        let start = 100;
        let cycles = 2000;
        for cycle in 0..start + cycles {
            for kicks in &mut bench.kicks {
                kicks.resize(4, cycle % QPS);
            }
            if cycle == start {
                bench.events = 0;
            }
            bench.cycle(true, 2, 50);
        }
        assert!(bench.events >= cycles - 4, "{} events", bench.events);
    });
}
