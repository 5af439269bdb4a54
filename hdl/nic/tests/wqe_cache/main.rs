//! The WQE cache against rings in a modelled host memory: every WQE that a read calls available is
//! the one that was posted, every WQE is delivered, whatever rewinds, reorderings and failed reads happen.

mod bench;
#[path = "../common/mod.rs"]
mod common;
mod wqe;

use bench::{Bench, WINDOW_LOG2};
use ferroce_emit::on_big_stack;
use ferroce_rtl::desc::lookup::WQE_READ_LATENCY;
use rand::Rng;
use wqe::{as_read, wqe_of};

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
        bench.post(0, 5);
        bench.idle(200);
        bench.fail_reads = true;
        bench.post(0, 2);
        bench.idle(300);
        for index in 0..5 {
            assert_eq!(
                bench.look_up(0, index),
                as_read(&wqe_of(0, index as u16, 0))
            );
        }
        // Enough is there for any WQE: the read is tried again.
        assert!(!bench.look_up(0, 5).avail);
        // The blocks that are left may be the beginning of a longer WQE.
        bench.stand_at(0, 2);
        bench.idle(300);
        let bad = bench.look_up(0, 5);
        assert!(bad.avail);
        assert_eq!((bad.opcode.to_u64(), bad.sges.to_u64()), (0xFF, 0xFF));
        assert!(!bench.look_up(0, 6).avail);
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

/// Its owner is kicked without a read, sees it only when all of it is there, and sees it in time: a visit that follows a kick reads the WQE
/// 10 cycles later at the earliest.
#[test]
fn a_push_is_read_at_once_and_whole() {
    on_big_stack(|| {
        let mut bench = Bench::new(&[5, 5]);
        bench.idle(80);
        bench.configure(0, true);
        bench.idle(64);
        bench.configure(1, true);
        bench.idle(64);
        let mut index = 0;
        for round in 0..60u64 {
            let count = 1 + round % 4;
            // Beats of reads of another queue come at the same time.
            if bench.queues[1].posted - bench.queues[1].position < 8 {
                bench.post(1, 8);
            }
            let wait = bench.rng.gen_range(0..40);
            bench.idle(wait);
            bench.kicks.clear();
            bench.push(0, count);
            let mut kicked_for = 0;
            // The last block, in every cycle.
            let last = index + count - 1;
            let mut seen = false;
            bench.answers.clear();
            while kicked_for < 10 + WQE_READ_LATENCY {
                bench.cycle(Some((0, last)));
                kicked_for += usize::from(kicked_for > 0 || bench.kicks.contains(&0));
                for (qp, at, data) in std::mem::take(&mut bench.answers) {
                    if (qp, at) == (0, last) && data.avail {
                        assert_eq!(data, as_read(&wqe_of(0, at as u16, at >> 16)));
                        seen = true;
                    }
                }
            }
            assert!(seen, "round {round}");
            // What was asked for last is answered first.
            bench.idle(WQE_READ_LATENCY);
            for at in index..last {
                assert_eq!(
                    bench.look_up(0, at),
                    as_read(&wqe_of(0, at as u16, at >> 16))
                );
            }
            index += count;
            bench.stand_at(0, index);
            bench.queues[0].retired = index;
            let posted = bench.queues[1].posted;
            bench.stand_at(1, posted);
            bench.queues[1].retired = posted;
            bench.idle(20);
        }
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
                if room > 0 && bench.rng.gen_bool(0.5) {
                    let count = bench.rng.gen_range(1..=room.min(4));
                    bench.push(qp, count);
                } else if room > 0 {
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
