//! CQE writer and event path against a host that looks at a queue only when it is told to: whatever meets whatever, nothing is left
//! behind, nothing is told twice, and everything is there when it is told.

mod bench;
#[path = "../common/mod.rs"]
mod common;
mod host;

use bench::{cq_base, Bench, CQS, CQ_LOG, EQS, UNIT};
use ferroce_emit::on_big_stack;
use ferroce_rtl::desc::cfg::table;
use host::Setup;
use rand::Rng;

fn run(setup: Setup, jobs: usize) -> Bench {
    let mut bench = Bench::new(setup);
    for _ in 0..jobs {
        let pause = bench.rng.gen_range(0..12);
        bench.complete();
        bench.idle(pause);
    }
    bench.idle(3_000 + 8 * UNIT * u64::from(setup.gap));
    bench.check();
    assert!(bench.eqe_written > 50, "{} EQEs", bench.eqe_written);
    bench
}

#[test]
fn a_host_that_is_woken_misses_nothing() {
    on_big_stack(|| {
        let setup = Setup {
            eq_log: 4,
            gap: 0,
            solicited_only: false,
        };
        let bench = run(setup, 3_000);
        assert_eq!((bench.eqe_dropped, bench.overruns), (0, 0));
    });
}

#[test]
fn a_full_event_queue_says_what_it_lost() {
    on_big_stack(|| {
        let setup = Setup {
            eq_log: 1,
            gap: 0,
            solicited_only: false,
        };
        let bench = run(setup, 3_000);
        assert!(bench.eqe_dropped > 0 && bench.overruns > 0);
        assert!(bench.overruns <= bench.eqe_dropped);
    });
}

#[test]
fn interrupts_keep_their_gap_and_none_is_lost() {
    on_big_stack(|| {
        let setup = Setup {
            eq_log: 4,
            gap: 3,
            solicited_only: false,
        };
        let bench = run(setup, 3_000);
        // A unit may have begun before the first message, which may itself have waited for the link.
        assert!(bench.shortest > 2 * UNIT - 100, "{} cycles", bench.shortest);
        let messages: u64 = bench.eqs.iter().map(|eq| eq.messages).sum();
        assert!(messages > 10, "{messages} messages");
    });
}

#[test]
fn solicited_completions_are_told() {
    on_big_stack(|| {
        let setup = Setup {
            eq_log: 4,
            gap: 0,
            solicited_only: true,
        };
        let mut bench = Bench::new(setup);
        let mut told = 0;
        for _ in 0..3_000 {
            bench.complete();
            let pause = bench.rng.gen_range(0..12);
            bench.idle(pause);
            // Completions that don't count fill the queue: the host looks when half of it is used.
            for cq in 0..CQS {
                let queue = &bench.cqs[cq];
                if queue.issued - queue.consumer < 1 << (CQ_LOG - 1)
                    || queue.wanted > queue.consumer
                {
                    continue;
                }
                while bench.cqe_at(cq, bench.cqs[cq].consumer).is_some() {
                    bench.cqs[cq].consumer += 1;
                }
                bench.ring_cq(cq, false);
            }
            told = bench.cqs.iter().map(|cq| cq.events).sum();
        }
        bench.idle(3_000);
        bench.check();
        assert!(told > 50, "{told} events");
    });
}

#[test]
fn a_queue_is_gone_when_nothing_of_it_is_left() {
    on_big_stack(|| {
        let setup = Setup {
            eq_log: 4,
            gap: 0,
            solicited_only: false,
        };
        let mut bench = run(setup, 300);
        bench.idle(2_000);
        bench.deaf = true;
        for _ in 0..CQS {
            bench.complete();
            bench.idle(4);
        }
        // One at least is for the queue that goes, which has had others before.
        bench.complete_in(0);
        assert!(bench.cqs[0].told > 0);
        bench.idle(300);
        bench.take_away(table::CQ, 0);
        bench.idle(2_000);
        assert_eq!(bench.gone, 0, "its CQEs are in the card");
        bench.deaf = false;
        while bench.gone == 0 {
            bench.idle(1);
        }
        let before = bench.load::<{ 32 << CQ_LOG }>(cq_base(0));
        bench.idle(3_000);
        assert_eq!(bench.load::<{ 32 << CQ_LOG }>(cq_base(0)), before);
        // An EQ after its CQs.
        for cq in (2..CQS).step_by(EQS) {
            bench.take_away(table::CQ, cq);
            bench.idle(600);
        }
        bench.take_away(table::EQ, 0);
        bench.idle(600);
        assert_eq!(bench.gone, CQS / EQS + 1);
    });
}

/// Cycles in which a doorbell is taken, at worst and with the bench's pauses.
const BELL_PATIENCE: u64 = 80;

#[test]
fn a_deaf_host_may_ring_on_and_misses_nothing_later() {
    on_big_stack(|| {
        let setup = Setup {
            eq_log: 4,
            gap: 0,
            solicited_only: false,
        };
        let mut bench = run(setup, 300);
        bench.deaf = true;
        bench.eager = true;
        // Completions for every queue, whose events and CQEs find no way out.
        for _ in 0..4 * CQS {
            bench.complete();
        }
        bench.idle(1_000);
        for _ in 0..3_000 {
            let cq = bench.rng.gen_range(0..CQS);
            if bench.rng.gen_bool(0.7) {
                bench.arm_cq(cq);
            } else {
                bench.arm_eq(cq % EQS);
            }
            let since = bench.now;
            while !bench.all_rung() {
                bench.idle(1);
                assert!(bench.now - since < BELL_PATIENCE, "a doorbell waits");
            }
        }
        bench.deaf = false;
        bench.idle(3_000);
        bench.check();
        for _ in 0..300 {
            bench.complete();
            bench.idle(8);
        }
        bench.idle(3_000);
        bench.check();
    });
}
