//! What the completer makes of responses and errors, one rule after the other. Responses arrive as frames; the test plays
//! the sender.

use crate::packet::{ACK, SEQUENCE};
use crate::requester::*;
use crate::responder::ready;
use crate::world::{completer, Cqe, QPS, ROUGH, SMOOTH};
use ferroce_abi::cqe::{Status, WcOpcode};
use ferroce_abi::regs::Counter;
use ferroce_abi::wqe::WrOpcode;
use ferroce_emit::harness::random;
use ferroce_rtl::desc::tx::LocalError;
use rand::Rng;

#[test]
fn acknowledgements_retire_messages() {
    let mut world = ready(random(), ROUGH);
    let mut requester = Requester::start(&mut world, 0, &completer(0, 100));
    requester.send_as(&mut world, 1, WrOpcode::Send, true, 77);
    requester.send_as(&mut world, 3, WrOpcode::RdmaWriteWithImm, true, 3000);
    requester.send_as(&mut world, 2, WrOpcode::RdmaWrite, false, 2000);
    requester.send_as(&mut world, 1, WrOpcode::SendWithImm, true, 5);
    world.settle();
    // Through the middle of the second message.
    requester.respond(&mut world, 102, ACK);
    let cqe = |opcode: WcOpcode, len, wqe| Cqe {
        cq: 0x100,
        qp: 0,
        opcode: opcode as u8,
        status: OK,
        flags: 0,
        len,
        imm: 0,
        wqe,
    };
    assert_eq!(world.tx_cqes, [cqe(WcOpcode::Send, 77, 0)]);
    assert_eq!(world.published[&0], (103, 1));
    assert!(!world.kicks.is_empty());
    // The rest at once; the third message is not signaled.
    requester.respond(&mut world, 106, ACK);
    assert_eq!(
        world.tx_cqes[1..],
        [cqe(WcOpcode::RdmaWrite, 3000, 1), cqe(WcOpcode::Send, 5, 3)]
    );
    assert_eq!(world.published[&0], (107, 4));
    assert_eq!(world.take_rewinds(), []);
    assert_eq!(world.take_counters(), [(Counter::RxAcks, 2)]);
}

#[test]
fn responses_out_of_range_or_reserved_are_ignored() {
    let mut world = ready(random(), SMOOTH);
    let mut requester = Requester::start(&mut world, 0, &completer(0, 100));
    requester.send(&mut world, 2);
    requester.respond(&mut world, 100, ACK);
    world.take_counters();
    let mut ignored = 0;
    for psn in [99, 100, 102, 103, 100 + 0x80_0000, 101 + 0x80_0000] {
        for syndrome in [ACK, SEQUENCE, 0x61, 0x25] {
            requester.respond(&mut world, psn, syndrome);
            ignored += 1;
        }
    }
    for syndrome in [0x40, 0x5F, 0x65, 0x7F, 0x80, 0x9F, 0xE0, 0xFF] {
        requester.respond(&mut world, 101, syndrome);
        ignored += 1;
    }
    assert_eq!(world.take_counters(), [(Counter::RxIgnoredAcks, ignored)]);
    assert_eq!(world.take_tx(), []);
    assert_eq!(world.take_rewinds(), []);
    assert_eq!(world.published[&0], (101, 0));
    // Credits of any kind are an ACK.
    requester.respond(&mut world, 101, 0x03);
    assert_eq!(world.take_tx(), [(0, OK)]);
}

#[test]
fn a_sequence_nak_goes_back_once() {
    let mut world = ready(random(), SMOOTH);
    let mut requester = Requester::start(&mut world, 0, &completer(0, 100));
    for _ in 0..4 {
        requester.send(&mut world, 4);
    }
    // Three messages are done, packet 2 of the fourth is missing.
    requester.respond(&mut world, 114, SEQUENCE);
    assert_eq!(world.take_tx(), [(0, OK), (1, OK), (2, OK)]);
    assert_eq!(world.take_rewinds(), [(0, 3, 114, 112, false)]);
    // Echoes of the same loss.
    requester.respond(&mut world, 114, SEQUENCE);
    requester.respond(&mut world, 113, SEQUENCE);
    assert_eq!(world.take_rewinds(), []);
    // Progress, then another loss.
    requester.respond(&mut world, 114, ACK);
    requester.respond(&mut world, 115, SEQUENCE);
    assert_eq!(world.take_rewinds(), [(0, 3, 115, 112, false)]);
    requester.respond(&mut world, 115, ACK);
    assert_eq!(world.take_tx(), [(3, OK)]);
    let counted = world.take_counters();
    assert!(counted.contains(&(Counter::SequenceNaks, 2)));
    assert!(counted.contains(&(Counter::Retransmits, 2)));
}

#[test]
fn sequence_naks_use_up_retries() {
    let mut world = ready(random(), SMOOTH);
    let cfg = with(|cfg| cfg.retry_cnt = 0);
    let mut requester = Requester::start(&mut world, 0, &cfg);
    requester.send(&mut world, 2);
    requester.send(&mut world, 2);
    requester.post(&mut world, 3);
    requester.respond(&mut world, 103, SEQUENCE);
    let retry = Status::RetryExc as u8;
    assert_eq!(
        world.take_tx(),
        [
            (0, OK),
            (1, retry),
            (2, FLUSHED),
            (3, FLUSHED),
            (4, FLUSHED)
        ]
    );
    let rewinds = world.take_rewinds();
    assert_eq!(rewinds.len(), 1);
    assert!(rewinds[0].4, "the sender stops");
}

#[test]
fn fatal_naks_fail_the_oldest_wqe_and_flush_the_rest() {
    for (syndrome, status) in [
        (0x61, Status::RemInvReq),
        (0x62, Status::RemAccess),
        (0x63, Status::RemOp),
        (0x64, Status::RemInvRdReq),
    ] {
        let mut world = ready(random(), ROUGH);
        let mut requester = Requester::start(&mut world, 0, &completer(0, 100));
        for signaled in [true, false, false, true, false] {
            requester.send_as(&mut world, 2, WrOpcode::Send, signaled, 1500);
        }
        requester.post(&mut world, 40);
        requester.respond(&mut world, 105, syndrome);
        let mut expected = vec![(0, OK), (2, status as u8)];
        expected.extend((3..45).map(|wqe| (wqe, FLUSHED)));
        assert_eq!(world.take_tx(), expected);
        assert_eq!(
            world.take_rewinds().iter().map(|r| r.4).collect::<Vec<_>>(),
            [true]
        );
        // Nothing more comes from acknowledgements, but what is posted later is flushed.
        requester.respond(&mut world, 109, ACK);
        assert_eq!(world.take_tx(), []);
        requester.post(&mut world, 2);
        world.settle();
        assert_eq!(world.take_tx(), [(45, FLUSHED), (46, FLUSHED)]);
        // A restart ends that.
        Requester::start(&mut world, 0, &completer(0, 7)).send(&mut world, 1);
        requester.respond(&mut world, 7, ACK);
        assert_eq!(world.take_tx(), [(0, OK)]);
    }
}

#[test]
fn local_errors_wait_for_their_turn() {
    let mut world = ready(random(), SMOOTH);
    let mut requester = Requester::start(&mut world, 0, &completer(0, 100));
    requester.send(&mut world, 2);
    requester.send(&mut world, 1);
    requester.post(&mut world, 3);
    let error = |wqe: u16| LocalError {
        qp: 0.into(),
        wqe: u64::from(wqe).into(),
        status: (Status::LocProt as u64).into(),
    };
    world.local_errors.push_back(error(2));
    world.settle();
    assert_eq!(world.take_tx(), []);
    requester.respond(&mut world, 101, ACK);
    assert_eq!(world.take_tx(), [(0, OK)]);
    // A rewind makes the sender meet the same error again.
    requester.respond(&mut world, 102, SEQUENCE);
    assert_eq!(world.take_rewinds(), [(0, 1, 102, 102, false)]);
    world.local_errors.push_back(error(2));
    requester.respond(&mut world, 102, ACK);
    let prot = Status::LocProt as u8;
    assert_eq!(
        world.take_tx(),
        [(1, OK), (2, prot), (3, FLUSHED), (4, FLUSHED)]
    );
    // With nothing before it, at once.
    Requester::start(&mut world, 0, &completer(0, 100)).post(&mut world, 2);
    world.local_errors.push_back(error(0));
    world.settle();
    assert_eq!(world.take_tx(), [(0, prot), (1, FLUSHED)]);
}

/// The sender met an error while it repeated a WQE whose first transmission was acknowledged meanwhile.
#[test]
fn local_errors_of_retired_requests_are_passed_over() {
    let mut world = ready(random(), SMOOTH);
    let mut requester = Requester::start(&mut world, 0, &completer(0, 100));
    let error = |wqe: u16| LocalError {
        qp: 0.into(),
        wqe: u64::from(wqe).into(),
        status: (Status::LocQpOp as u64).into(),
    };
    for _ in 0..3 {
        requester.send(&mut world, 1);
    }
    requester.respond(&mut world, 101, ACK);
    assert_eq!(world.take_tx(), [(0, OK), (1, OK)]);
    world.local_errors.push_back(error(1));
    world.settle();
    // What the sender had behind it is sent again: it threw that away.
    assert_eq!(world.take_rewinds(), [(0, 2, 102, 102, false)]);
    assert_eq!(world.take_tx(), []);
    requester.respond(&mut world, 102, ACK);
    assert_eq!(world.take_tx(), [(2, OK)]);
    // Nothing of it is left: not when the indices come round, and with nothing outstanding.
    world.local_errors.push_back(error(2));
    world.settle();
    assert_eq!(world.take_rewinds(), [(0, 3, 103, 103, false)]);
    for _ in 0..5 {
        requester.send(&mut world, 1);
    }
    requester.respond(&mut world, 107, ACK);
    let retired: Vec<_> = (3..8).map(|wqe| (wqe, OK)).collect();
    assert_eq!(world.take_tx(), retired);
}

#[test]
fn configuration_can_flush() {
    let mut world = ready(random(), SMOOTH);
    let mut requester = Requester::start(&mut world, 0, &completer(0, 100));
    requester.send(&mut world, 2);
    requester.send(&mut world, 1);
    requester.post(&mut world, 1);
    requester.respond(&mut world, 101, ACK);
    let flush = with(|cfg| {
        cfg.flush = true;
        cfg.enabled = false;
    });
    world.configure_completer(0, &flush);
    world.settle();
    assert_eq!(world.take_tx(), [(0, OK), (1, FLUSHED), (2, FLUSHED)]);
    assert_eq!(
        world.take_rewinds().iter().map(|r| r.4).collect::<Vec<_>>(),
        [true]
    );
    // A QP that goes back to RESET leaves nothing behind, in either order of its tables.
    let mut requester = Requester::start(&mut world, 0, &completer(0, 5));
    requester.send(&mut world, 1);
    requester.respond(&mut world, 5, ACK);
    assert_eq!(world.take_tx(), [(0, OK)]);
    // A disabled QP takes nothing.
    let off = with(|cfg| cfg.enabled = false);
    let mut requester = Requester::start(&mut world, 0, &off);
    requester.send(&mut world, 1);
    requester.respond(&mut world, 100, ACK);
    requester.respond(&mut world, 100, SEQUENCE);
    world.cycles(20 * UNIT);
    assert_eq!((world.take_tx(), world.take_rewinds()), (vec![], vec![]));
}

#[test]
fn psns_and_wqe_indices_wrap() {
    let mut world = ready(random(), SMOOTH);
    let psn = 0xFF_FF00;
    let mut requester = Requester::start(&mut world, 0, &completer(0, psn));
    let mut expected = 0u32;
    while expected < 0x1_0040 {
        let mut last = 0;
        for _ in 0..16 {
            let packets = world.rng.gen_range(1..4);
            requester.send_as(&mut world, packets, WrOpcode::RdmaWrite, true, 1);
            last = requester.psn.wrapping_sub(1);
        }
        world.cycles(20);
        world.send_frame(&requester.response(last, ACK), false);
        while world.tx_cqes.len() < 16 {
            world.cycle();
        }
        for (wqe, status) in world.take_tx() {
            assert_eq!((wqe, status), (expected as u16, OK));
            expected += 1;
        }
    }
    assert_eq!(world.published[&0], (requester.psn, requester.begun));
}

#[test]
fn qps_retire_in_any_mixture() {
    let mut world = ready(random(), ROUGH);
    let mut requesters: Vec<Requester> = (0..QPS)
        .map(|qp| Requester::start(&mut world, qp, &completer(qp, 0xFF_FFF0)))
        .collect();
    // Per QP: PSN after the last one of each message.
    let mut ends: Vec<Vec<u32>> = vec![Vec::new(); QPS];
    let mut una = [0xFF_FFF0u32; QPS];
    let mut done = [0usize; QPS];
    for _ in 0..1500 {
        let qp = world.rng.gen_range(0..QPS);
        if world.rng.gen_bool(0.5) && ends[qp].len() - done[qp] < 16 {
            let packets = world.rng.gen_range(1..6);
            requesters[qp].send_as(&mut world, packets, WrOpcode::RdmaWrite, true, 9);
            ends[qp].push(requesters[qp].psn);
            world.cycles(4);
        } else {
            // Anything from a while ago to a while ahead.
            let psn = una[qp]
                .wrapping_add(world.rng.gen_range(0..12))
                .wrapping_sub(3)
                & PSN_MASK;
            let frame = requesters[qp].response(psn, ACK);
            world.send_frame(&frame, false);
            let outstanding = requesters[qp].psn.wrapping_sub(una[qp]) & PSN_MASK;
            if psn.wrapping_sub(una[qp]) & PSN_MASK < outstanding {
                una[qp] = psn.wrapping_add(1) & PSN_MASK;
                let left = |end: &u32| una[qp].wrapping_sub(*end) & PSN_MASK < 0x80_0000;
                done[qp] += ends[qp][done[qp]..]
                    .iter()
                    .take_while(|end| left(end))
                    .count();
            }
            // The model takes responses at once, the card when they are through.
            world.settle();
        }
    }
    world.settle();
    let mut found = vec![Vec::new(); QPS];
    for cqe in &world.tx_cqes {
        assert_eq!((cqe.status, cqe.cq), (OK, cqe.qp + 0x100));
        found[usize::from(cqe.qp)].push(usize::from(cqe.wqe));
    }
    for qp in 0..QPS {
        assert_eq!(found[qp], (0..done[qp]).collect::<Vec<_>>(), "QP {qp}");
        assert_eq!(world.published[&(qp as u16)], (una[qp], done[qp] as u16));
    }
}
