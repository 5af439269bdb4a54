//! RNR waits and ACK time-outs of the completer.

use crate::packet::{ACK, SEQUENCE};
use crate::requester::*;
use crate::responder::ready;
use crate::world::{completer, World, SMOOTH};
use ferroce_abi::cqe::Status;
use ferroce_abi::regs::Counter;
use ferroce_emit::harness::random;

/// RNR timer codes in microseconds.
const RNR_TIMES: [(u8, f64); 8] = [
    (1, 10.0),
    (2, 20.0),
    (3, 30.0),
    (4, 40.0),
    (5, 60.0),
    (8, 160.0),
    (11, 480.0),
    (14, 1280.0),
];

#[test]
fn an_rnr_nak_stops_the_sender_for_its_time() {
    let mut world = ready(random(), SMOOTH);
    let cfg = with(|cfg| cfg.timeout = 1);
    let mut requester = Requester::start(&mut world, 0, &cfg);
    for (code, micros) in RNR_TIMES {
        requester.send(&mut world, 3);
        let first = requester.psn - 3;
        world.send_frame(&requester.response(first + 1, 0x20 | code), false);
        while world.rewinds.is_empty() {
            world.cycle();
        }
        let begin = world.sim.cycle;
        assert_eq!(
            world.take_rewinds(),
            [(0, requester.begun - 1, first + 1, first, true)]
        );
        // Nothing cuts the wait short: not 0x60, not another RNR NAK, not the ACK timer (8.2 us).
        for syndrome in [SEQUENCE, 0x21] {
            world.send_frame(&requester.response(first + 1, syndrome), false);
        }
        while world.rewinds.is_empty() {
            world.cycle();
            assert!(world.sim.cycle - begin < 1_000_000, "it waits for ever");
        }
        let waited = (world.sim.cycle - begin) as f64 * 0.004;
        assert!(
            (micros..micros * 1.5 + 10.0).contains(&waited),
            "code {code}: {micros} us, waited {waited}"
        );
        assert_eq!(
            world.take_rewinds(),
            [(0, requester.begun - 1, first + 1, first, false)]
        );
        requester.respond(&mut world, first + 2, ACK);
        assert_eq!(world.take_tx(), [(requester.begun - 1, OK)]);
    }
    assert!(!world
        .take_counters()
        .iter()
        .any(|c| c.0 == Counter::Timeouts));
}

#[test]
fn progress_during_an_rnr_wait_is_taken() {
    let mut world = ready(random(), SMOOTH);
    let mut requester = Requester::start(&mut world, 0, &completer(0, 100));
    requester.send(&mut world, 2);
    requester.send(&mut world, 1);
    world.send_frame(&requester.response(100, 0x23), false);
    world.send_frame(&requester.response(101, ACK), false);
    world.cycles(400);
    assert_eq!(world.take_tx(), [(0, OK)]);
    assert_eq!(world.take_rewinds(), [(0, 0, 100, 100, true)]);
    world.send_frame(&requester.response(102, ACK), false);
    world.cycles(400);
    assert_eq!(world.take_tx(), [(1, OK)]);
    // The sender must be woken even with nothing left to resend.
    world.cycles(12 * UNIT);
    assert_eq!(world.take_rewinds(), [(0, 2, 103, 103, false)]);
}

#[test]
fn rnr_retries_run_out_and_reload() {
    let mut world = ready(random(), SMOOTH);
    let cfg = with(|cfg| cfg.rnr_retry = 2);
    let mut requester = Requester::start(&mut world, 0, &cfg);
    requester.send(&mut world, 2);
    let rnr = |world: &mut World, requester: &Requester, psn| {
        world.send_frame(&requester.response(psn, 0x21), false);
        world.cycles(6 * UNIT);
        world.take_rewinds().iter().map(|r| r.4).collect::<Vec<_>>()
    };
    assert_eq!(rnr(&mut world, &requester, 100), [true, false]);
    assert_eq!(rnr(&mut world, &requester, 100), [true, false]);
    // Progress reloads: two more.
    assert_eq!(rnr(&mut world, &requester, 101), [true, false]);
    assert_eq!(rnr(&mut world, &requester, 101), [true, false]);
    assert_eq!(world.take_tx(), []);
    assert_eq!(rnr(&mut world, &requester, 101), [true]);
    assert_eq!(world.take_tx(), [(0, Status::RnrRetryExc as u8)]);

    // 0 fails at once, 7 never.
    let mut requester = Requester::start(&mut world, 1, &with(|cfg| cfg.rnr_retry = 0));
    requester.send(&mut world, 1);
    assert_eq!(rnr(&mut world, &requester, 100), [true]);
    assert_eq!(world.take_tx(), [(0, Status::RnrRetryExc as u8)]);
    let mut requester = Requester::start(&mut world, 2, &completer(2, 100));
    requester.send(&mut world, 1);
    for _ in 0..20 {
        assert_eq!(rnr(&mut world, &requester, 100), [true, false]);
    }
}

#[test]
fn lost_acknowledgements_time_out() {
    for exponent in [1u8, 2, 4] {
        let mut world = ready(random(), SMOOTH);
        let cfg = with(|cfg| {
            cfg.timeout = exponent;
            cfg.retry_cnt = 3;
        });
        let mut requester = Requester::start(&mut world, 0, &cfg);
        world.cycles(40 * UNIT);
        assert_eq!(world.take_rewinds(), [], "nothing is outstanding");
        requester.send(&mut world, 2);
        requester.send(&mut world, 2);
        requester.send(&mut world, 1);
        let period = UNIT << exponent;
        let mut since = world.sim.cycle;
        for _ in 0..3 {
            while world.rewinds.is_empty() {
                world.cycle();
                assert!(world.sim.cycle - since <= 4 * period, "no time-out");
            }
            let waited = world.sim.cycle - since;
            assert!(waited >= period, "after {waited} of {period} cycles");
            since = world.sim.cycle;
            assert_eq!(world.take_rewinds(), [(0, 0, 100, 100, false)]);
        }
        // Progress restarts the timer and reloads the retries, in the middle of a message.
        world.cycles(period / 2);
        world.send_frame(&requester.response(102, ACK), false);
        since = world.sim.cycle;
        for _ in 0..3 {
            while world.rewinds.is_empty() {
                world.cycle();
            }
            assert!(world.sim.cycle - since >= period);
            since = world.sim.cycle;
            assert_eq!(world.take_rewinds(), [(0, 1, 103, 102, false)]);
        }
        assert_eq!(world.take_tx(), [(0, OK)]);
        requester.post(&mut world, 1);
        world.cycles(4 * period);
        assert_eq!(
            world.take_rewinds().iter().map(|r| r.4).collect::<Vec<_>>(),
            [true]
        );
        assert_eq!(
            world.take_tx(),
            [(1, Status::RetryExc as u8), (2, FLUSHED), (3, FLUSHED)]
        );
        let counted = world.take_counters();
        assert!(counted.contains(&(Counter::Timeouts, 6)), "{counted:?}");
    }
}

#[test]
fn the_timer_stops_with_the_last_acknowledgement() {
    let mut world = ready(random(), SMOOTH);
    let mut requester = Requester::start(&mut world, 0, &with(|cfg| cfg.timeout = 2));
    requester.send(&mut world, 1);
    world.cycles(2 * UNIT);
    requester.respond(&mut world, 100, ACK);
    world.cycles(40 * UNIT);
    assert_eq!(world.take_rewinds(), []);
    // A new packet gets its whole time, not the rest of the old one's.
    requester.send(&mut world, 1);
    let since = world.sim.cycle;
    while world.rewinds.is_empty() {
        world.cycle();
    }
    assert!(world.sim.cycle - since >= 4 * UNIT);
    // Exponent 0 is never.
    let mut requester = Requester::start(&mut world, 1, &completer(1, 100));
    requester.send(&mut world, 1);
    world.take_rewinds();
    world.cycles(100 * UNIT);
    assert!(world.take_rewinds().iter().all(|r| r.0 == 0));
}

#[test]
fn a_restart_leaves_no_timer_running() {
    let mut world = ready(random(), SMOOTH);
    let cfg = with(|cfg| cfg.timeout = 2);
    // The completer restarts first, so for a while the sender seems to be far ahead.
    let mut requester = Requester {
        qp: 0,
        psn: 5000,
        begun: 0,
        posted: 0,
        jobs: 0,
    };
    requester.publish(&mut world);
    world.configure_completer(0, &cfg);
    world.settle();
    world.cycles(UNIT);
    requester.psn = cfg.psn;
    requester.publish(&mut world);
    world.cycles(40 * UNIT);
    assert_eq!(world.take_rewinds(), []);
    requester.send(&mut world, 1);
    let since = world.sim.cycle;
    while world.rewinds.is_empty() {
        world.cycle();
    }
    assert!(world.sim.cycle - since >= 4 * UNIT);
}
