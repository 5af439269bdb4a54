//! CQE writer and event path against a host that looks at a queue only when it is told to: whatever meets whatever, nothing is left
//! behind, nothing is told twice, and everything is there when it is told.

mod bench;
#[path = "../common/mod.rs"]
mod common;

use bench::{Bench, Setup, CQS, CQ_LOG, UNIT};
use ferroce_emit::on_big_stack;
use ferroce_rtl::desc::bar::CqBell;
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
                bench.cq_bells.push_back(CqBell {
                    cq: (cq as u64).into(),
                    consumer: u64::from(bench.cqs[cq].consumer).into(),
                    ..CqBell::default()
                });
            }
            told = bench.cqs.iter().map(|cq| cq.events).sum();
        }
        bench.idle(3_000);
        bench.check();
        assert!(told > 50, "{told} events");
    });
}
