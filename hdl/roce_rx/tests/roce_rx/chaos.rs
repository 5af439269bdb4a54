//! Nothing hangs and nothing is done twice, whatever comes in.

use crate::packet::Packet;
use crate::requester::Requester;
use crate::responder::{ready, start_psn, KEY};
use crate::world::{completer, responder, Buffer, World, QPS, ROUGH};
use ferroce_abi::cqe::Status;
use ferroce_abi::opcode::rc;
use ferroce_abi::regs::Counter;
use ferroce_emit::harness::random;
use rand::seq::SliceRandom;
use rand::Rng;
use std::collections::HashMap;

/// A packet with a right ICRC and wild contents, near enough to the truth to get far.
fn wild_packet(world: &mut World, psn: u32) -> Vec<u8> {
    let rng = &mut world.rng;
    let len = *[0usize, 1, 4, 60, 1023, 1024, 1025, 4096]
        .choose(rng)
        .expect("some");
    let opcode = if rng.gen_bool(0.9) {
        rng.gen_range(0..0x20)
    } else {
        rng.gen()
    };
    let packet = Packet {
        opcode,
        qpn: if rng.gen_bool(0.98) {
            rng.gen_range(0..QPS as u32)
        } else {
            rng.gen_range(0..1 << 24)
        },
        psn: psn.wrapping_add(rng.gen_range(0..4)).wrapping_sub(1) & 0xFF_FFFF,
        ackreq: rng.gen(),
        se: rng.gen(),
        pkey: if rng.gen_bool(0.98) {
            0xFFFF
        } else {
            rng.gen()
        },
        va: 0x10000 + rng.gen_range(0..0x10000),
        rkey: if rng.gen_bool(0.95) { KEY } else { rng.gen() },
        dma_len: rng
            .gen_bool(0.4)
            .then(|| *[0, 8, 2048, 1 << 31, u32::MAX].choose(rng).expect("some")),
        syndrome: rng.gen(),
        pad: rng.gen_bool(0.05).then(|| rng.gen_range(0..4)),
        payload: vec![rng.gen(); len],
        trailer: rng.gen_range(0..4) * 61,
        ..Packet::default()
    };
    let flip = rng.gen_bool(0.1).then(|| rng.gen::<usize>());
    packet.frame_with(|frame| {
        if let Some(place) = flip {
            let at = place % frame.len();
            frame[at] ^= (place >> 16) as u8;
        }
    })
}

#[test]
fn the_responder_survives_anything() {
    let mut world = ready(random(), ROUGH);
    let mut sent = 0;
    for round in 0..60 {
        for qp in 0..QPS {
            if world.rng.gen_bool(0.5) {
                world.configure_responder(qp, &responder(qp, start_psn(0)));
                world.clear_receives(qp);
            }
        }
        world.settle();
        for _ in 0..40 {
            let frame = wild_packet(&mut world, start_psn(0) + round / 30);
            let damaged = world.rng.gen_bool(0.02);
            world.send_frame(&frame, damaged);
            sent += 1;
            if world.rng.gen_bool(0.1) {
                let qp = world.rng.gen_range(0..QPS);
                let addr = 0x10000 + world.rng.gen_range(0..0x10000);
                world.post_receive(
                    qp,
                    Buffer {
                        addr,
                        lkey: KEY,
                        len: 3000,
                        sges: 1,
                    },
                );
            }
        }
        world.settle();
        assert_eq!(
            world
                .sim
                .get::<ferroce_emit::prelude::Bits<16>>("buffer_used")
                .index(),
            0
        );
    }
    assert_eq!(world.counters[&Counter::RxFrames], sent);
    assert_eq!(
        world.judged_frames, sent,
        "every frame is kept or dropped once"
    );
    for qp in 0..QPS {
        world.configure_responder(qp, &responder(qp, 5));
    }
    world.settle();
    world.take_acks();
    for qp in 0..QPS {
        let probe = Packet {
            opcode: rc::WRITE_ONLY,
            qpn: qp as u32,
            psn: 5,
            ..Packet::default()
        };
        world.send_frame(&probe.frame(), false);
    }
    world.settle();
    let expected: Vec<_> = (0..QPS as u16).map(|qp| (qp, 5, 0x1F, 1)).collect();
    assert_eq!(world.take_acks(), expected);
}

/// Every posted WQE completes exactly once and in order: successes, then at most one failure, then flushes.
fn check_order(statuses: &[(u16, u8)], posted: u16, qp: usize) {
    let mut stage = 0;
    for (index, &(wqe, status)) in statuses.iter().enumerate() {
        assert_eq!(usize::from(wqe), index, "QP {qp}");
        let next = match status {
            s if s == Status::Success as u8 => 0,
            s if s == Status::WrFlush as u8 => 2,
            _ => 1,
        };
        assert!(
            next > stage || (next == stage && next != 1),
            "QP {qp}: {statuses:?}"
        );
        stage = next;
    }
    assert_eq!(statuses.len(), usize::from(posted), "QP {qp}");
}

#[test]
fn every_send_completes_once_whatever_the_peer_says() {
    let mut world = ready(random(), ROUGH);
    for round in 0..12u32 {
        let psn = 0x100_0000 - 40 * round - 1;
        let mut requesters: Vec<Requester> = (0..QPS)
            .map(|qp| {
                let mut cfg = completer(qp, psn);
                cfg.timeout = world.rng.gen_range(0..3);
                cfg.retry_cnt = world.rng.gen_range(0..8);
                cfg.rnr_retry = world.rng.gen_range(0..8);
                Requester::start(&mut world, qp, &cfg)
            })
            .collect();
        world.tx_cqes.clear();
        for _ in 0..300 {
            let qp = world.rng.gen_range(0..QPS);
            let una = world.published.get(&(qp as u16)).map_or(0, |p| p.1);
            let requester = &mut requesters[qp];
            match world.rng.gen_range(0..10) {
                0..=3 if requester.begun.wrapping_sub(una) < 16 => {
                    let packets = world.rng.gen_range(1..5);
                    requester.send(&mut world, packets);
                }
                4 => requester.post(&mut world, 1),
                _ => {
                    let syndrome = match world.rng.gen_range(0..20) {
                        0..=11 => 0x1F,
                        12..=14 => 0x60,
                        15 | 16 => 0x21,
                        17 => world.rng.gen(),
                        _ => 0x1F,
                    };
                    let back = world.rng.gen_range(0..30);
                    let frame = requester.response(requester.psn.wrapping_sub(back), syndrome);
                    world.send_frame(&frame, false);
                }
            }
            let pause = world.rng.gen_range(0..200);
            world.cycles(pause);
        }
        // The driver gives up.
        world.settle();
        for (qp, requester) in requesters.iter().enumerate() {
            let mut cfg = completer(qp, requester.psn);
            cfg.flush = true;
            world.configure_completer(qp, &cfg);
        }
        world.settle();
        let mut statuses: HashMap<usize, Vec<(u16, u8)>> = HashMap::new();
        for cqe in std::mem::take(&mut world.tx_cqes) {
            statuses
                .entry(usize::from(cqe.qp))
                .or_default()
                .push((cqe.wqe, cqe.status));
        }
        for (qp, requester) in requesters.iter().enumerate() {
            let found = statuses.remove(&qp).unwrap_or_default();
            check_order(&found, requester.posted, qp);
        }
    }
}
