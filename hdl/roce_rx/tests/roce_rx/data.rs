//! Data of own READs and atomics: where it goes, and when the completer hears of it. The test plays the sender.

use crate::packet::Packet;
use crate::requester::*;
use crate::responder::{ready, KEY};
use crate::world::{completer, World, QPS, ROUGH, SMOOTH};
use ferroce_abi::cqe::Status;
use ferroce_abi::opcode::rc;
use ferroce_abi::regs::Counter;
use ferroce_abi::wqe::WrOpcode;
use ferroce_emit::harness::random;
use rand::seq::SliceRandom;
use rand::Rng;

/// READs and atomics that a QP may have unanswered.
const MOST: u64 = 16;

fn start(world: &mut World, qp: usize) -> Requester {
    Requester::start(world, qp, &completer(qp, 0xFF_FFFA))
}

fn data(qp: usize, opcode: u8, psn: u32, payload: Vec<u8>) -> Packet {
    Packet {
        opcode,
        qpn: qp as u32,
        psn,
        payload,
        ..Packet::default()
    }
}

/// Short answers of all QPs without a gap on the wire, so that each finds the one before it still in the pipeline.
#[test]
fn answers_in_a_row_find_their_places() {
    let mut world = ready(random(), SMOOTH);
    let mut requesters: Vec<_> = (0..QPS).map(|qp| start(&mut world, qp)).collect();
    for _ in 0..3 {
        let mut frames = Vec::new();
        let mut places = Vec::new();
        for (qp, requester) in requesters.iter_mut().enumerate() {
            for n in 0..MOST {
                let bytes: Vec<u8> = (0..world.rng.gen_range(1..60))
                    .map(|k| k ^ n as u8)
                    .collect();
                let addr = 0x10000 + 0x1000 * qp as u64 + 0x80 * n + world.rng.gen_range(0..60);
                let psn = requester.psn;
                let len = bytes.len() as u32;
                requester.ask(&mut world, 1, WrOpcode::RdmaRead, len, (addr, KEY));
                frames.push(data(qp, rc::READ_RESPONSE_ONLY, psn, bytes.clone()).frame());
                places.push((addr, bytes));
                // READs are not the only thing between PSNs.
                if world.rng.gen() {
                    requester.send(&mut world, 1);
                }
            }
        }
        world.settle();
        // All of a QP in a row, or all QPs in turn: what counts is their order in each QP.
        let mut turns: Vec<usize> = (0..frames.len()).map(|k| k / MOST as usize).collect();
        if world.rng.gen() {
            turns.shuffle(&mut world.rng);
        }
        let mut next = [0; QPS];
        for qp in turns {
            world.send_frame(&frames[qp * MOST as usize + next[qp]], false);
            next[qp] += 1;
        }
        world.settle();
        for (addr, bytes) in places {
            assert_eq!(world.memory_at(addr, bytes.len()), bytes, "{addr:#x}");
        }
        for requester in &requesters {
            requester.respond(&mut world, requester.psn.wrapping_sub(1), 0x1F);
        }
        assert_eq!(world.take_rewinds(), []);
        assert!(world.take_tx().iter().all(|&(_, status)| status == OK));
        let counters = world.take_counters();
        assert!(
            counters.contains(&(Counter::RxData, MOST * QPS as u64)),
            "{counters:?}"
        );
    }
}

/// However long the host takes no write: a completion comes when its data has gone, and so do those behind it.
#[test]
fn completions_wait_for_their_data() {
    let mut world = ready(random(), ROUGH);
    let mut requester = start(&mut world, 0);
    let (first, third) = (requester.psn, requester.psn.wrapping_add(3) & PSN_MASK);
    requester.ask(&mut world, 2, WrOpcode::RdmaRead, 1024 + 5, (0x10003, KEY));
    requester.send(&mut world, 1);
    requester.ask(
        &mut world,
        1,
        WrOpcode::AtomicFetchAndAdd,
        8,
        (0x10ffc, KEY),
    );
    world.settle();
    world.knobs.writes = 0;
    let payload: Vec<u8> = (0..1024 + 5).map(|k| (k * 3) as u8).collect();
    let next = first.wrapping_add(1) & PSN_MASK;
    for frame in [
        data(0, rc::READ_RESPONSE_FIRST, first, payload[..1024].to_vec()).frame(),
        data(0, rc::READ_RESPONSE_LAST, next, payload[1024..].to_vec()).frame(),
        requester.response(next.wrapping_add(1), 0x1F),
        data(0, rc::ATOMIC_ACKNOWLEDGE, third, Vec::new()).frame_with(|frame| {
            frame[58..66].copy_from_slice(&0x0102_0304_0506_0708u64.to_be_bytes())
        }),
    ] {
        world.send_frame(&frame, false);
    }
    world.cycles(5000);
    assert!(world.tx_cqes.is_empty());
    world.knobs.writes = 60;
    world.settle();
    assert_eq!(world.memory_at(0x10003, payload.len()), payload);
    assert_eq!(
        world.memory_at(0x10ffc, 8),
        0x0102_0304_0506_0708u64.to_le_bytes()
    );
    assert_eq!(world.take_tx(), [(0, OK), (1, OK), (2, OK)]);
}

/// A request that ran out of retries keeps its memory until all data is through, and what comes later is dropped.
#[test]
fn a_failed_requester_takes_no_data() {
    let mut world = ready(random(), SMOOTH);
    let mut requester = start(&mut world, 0);
    let first = requester.psn;
    requester.ask(&mut world, 3, WrOpcode::RdmaRead, 3 * 1024, (0x12000, KEY));
    requester.post(&mut world, 1);
    world.settle();
    world.knobs.writes = 0;
    let full = vec![0x5A; 1024];
    world.send_frame(
        &data(0, rc::READ_RESPONSE_FIRST, first, full.clone()).frame(),
        false,
    );
    let refused = requester.response(first.wrapping_add(1), 0x62);
    world.send_frame(&refused, false);
    world.cycles(5000);
    assert!(world.tx_cqes.is_empty());
    world.knobs.writes = 100;
    world.settle();
    let access = Status::RemAccess as u8;
    assert_eq!(world.take_tx(), [(0, access), (1, FLUSHED)]);
    let written = world.bytes_written();
    let next = first.wrapping_add(1) & PSN_MASK;
    world.send_frame(
        &data(0, rc::READ_RESPONSE_MIDDLE, next, full).frame(),
        false,
    );
    world.settle();
    assert_eq!(world.bytes_written(), written);
    assert_eq!(world.take_tx(), []);
}
