//! Receive requests: waited for, missing, too short, wrong.

use crate::packet::{Packet, ACK};
use crate::responder::*;
use crate::world::{responder, Buffer, SMOOTH};
use ferroce_abi::cqe::Status;
use ferroce_abi::opcode::rc;
use ferroce_abi::regs::Counter;
use ferroce_emit::harness::random;
use rand::Rng;

#[test]
fn without_a_receive_wqe_nothing_advances() {
    let mut write_first = packet(rc::WRITE_FIRST, 0, MTU);
    write_first.dma_len = Some(MTU as u32 + 8);
    let cases: [(Vec<Packet>, Packet); 5] = [
        (vec![], packet(rc::SEND_ONLY, 0, 8)),
        (vec![], packet(rc::SEND_ONLY_IMM, 0, 0)),
        (vec![], packet(rc::SEND_FIRST, 0, MTU)),
        (vec![], packet(rc::WRITE_ONLY_IMM, 0, 8)),
        (vec![write_first], packet(rc::WRITE_LAST_IMM, 1, 8)),
    ];
    for (before, request) in cases {
        let mut world = ready(random(), SMOOTH);
        let offset = before.len() as u32;
        let answers: Vec<_> = (0..offset).map(|k| (k, ACK, 0)).collect();
        expect(&mut world, &before, &answers);
        let written = world.bytes_written();
        // The packets behind it are ahead now, but get no NAK of their own.
        let behind = packet(rc::WRITE_ONLY, offset + 1, 4);
        expect(
            &mut world,
            &[request.clone(), behind.clone(), behind],
            &[(offset, RNR, 0)],
        );
        assert_eq!(world.bytes_written(), written);
        expect(
            &mut world,
            std::slice::from_ref(&request),
            &[(offset, RNR, 0)],
        );
        assert_eq!((world.take_rx_cqes(), world.consumed.len()), (vec![], 0));
        world.post_receive(0, buffer(0x10000, 2048));
        let msn = u32::from(request.opcode != rc::SEND_FIRST);
        expect(&mut world, &[request], &[(offset, ACK, msn)]);
        assert_eq!(world.consumed, [(0, 1)]);
    }
}

#[test]
fn posted_wqes_are_waited_for() {
    let mut world = ready(random(), SMOOTH);
    for _ in 0..60 {
        world.post_unfetched(0, buffer(0x10000, 64));
    }
    let mut expected = Vec::new();
    for offset in 0..60 {
        world.send_frame(&packet(rc::SEND_ONLY, offset, 8).frame(), false);
        expected.push((0, start_psn(0) + offset, ACK, offset + 1));
        // Other QPs wait behind, and lose nothing.
        let other = Packet {
            qpn: 1,
            psn: start_psn(1) + offset,
            ..packet(rc::WRITE_ONLY, 0, 8)
        };
        world.send_frame(&other.frame(), false);
        expected.push((1, other.psn, ACK, offset + 1));
    }
    // Bursts arrive as slowly as host memory answers, and of any size.
    let mut fetched = 0;
    while fetched < 60 {
        world.cycles(300);
        fetched = (fetched + world.rng.gen_range(1..9)).min(60);
        world.fetch(0, fetched);
    }
    world.settle();
    assert_eq!(world.take_acks(), expected);
    assert!(!world
        .take_counters()
        .iter()
        .any(|c| c.0 == Counter::RxNoReceiveWqe));
}

#[test]
fn a_fetch_that_never_comes_stops_nobody() {
    let mut world = ready(random(), SMOOTH);
    world.post_unfetched(0, buffer(0x10000, 64));
    let other = Packet {
        qpn: 1,
        psn: start_psn(1),
        ..packet(rc::WRITE_ONLY, 0, 8)
    };
    world.send_frame(&packet(rc::SEND_ONLY, 0, 8).frame(), false);
    world.send_frame(&other.frame(), false);
    world.cycles(16_000);
    assert_eq!(world.take_acks(), []);
    world.cycles(1_000);
    assert_eq!(
        world.take_acks(),
        [(0, start_psn(0), RNR, 0), (1, start_psn(1), ACK, 1)]
    );
}

#[test]
fn a_wqe_serves_its_message_to_the_end() {
    let mut world = ready(random(), SMOOTH);
    world.post_receive(0, buffer(0x10000, 4096));
    // With its only WQE in use, the rest of the message still comes in.
    let packets = [
        packet(rc::SEND_FIRST, 0, MTU),
        packet(rc::SEND_MIDDLE, 1, MTU),
        packet(rc::SEND_LAST, 2, 1),
        packet(rc::SEND_ONLY, 3, 1),
    ];
    expect(
        &mut world,
        &packets,
        &[(0, ACK, 0), (1, ACK, 0), (2, ACK, 1), (3, RNR, 1)],
    );
}

#[test]
fn receive_buffers_have_an_end() {
    let too_long = Status::LocLen as u8;
    for (buffer, packets) in [
        (buffer(0x10000, 7), vec![packet(rc::SEND_ONLY, 0, 8)]),
        (
            Buffer {
                sges: 0,
                len: 100,
                ..buffer(0x10000, 0)
            },
            vec![packet(rc::SEND_ONLY, 0, 1)],
        ),
        (
            buffer(0x10000, MTU as u32 + 7),
            vec![packet(rc::SEND_FIRST, 0, MTU), packet(rc::SEND_LAST, 1, 8)],
        ),
    ] {
        let mut world = ready(random(), SMOOTH);
        world.post_receive(0, buffer);
        world.post_receive(0, buffer);
        let bad = packets.len() as u32 - 1;
        let mut answers: Vec<_> = (0..bad).map(|offset| (offset, ACK, 0)).collect();
        answers.push((bad, INVALID, 0));
        // Packets right behind the failing one are in the pipeline already.
        let mut all = packets;
        for offset in bad + 1..bad + 9 {
            all.push(packet(rc::WRITE_ONLY, offset, 4));
        }
        expect(&mut world, &all, &answers);
        assert_eq!(failed(&mut world), [(0, too_long)]);
        assert_eq!(world.bytes_written(), bad as usize * MTU);
        assert_eq!(world.consumed, [(0, 1)]);
        // A restart makes the QP whole.
        world.configure_responder(0, &responder(0, start_psn(0)));
        world.settle();
        assert_eq!(world.consumed, [(0, 1), (0, 0)]);
        expect(&mut world, &[packet(rc::WRITE_ONLY, 0, 4)], &[(0, ACK, 1)]);
    }
}

#[test]
fn local_faults_are_the_receivers() {
    let prot = Status::LocProt as u8;
    let wrong_key = Buffer {
        lkey: 0x999,
        ..buffer(0x10000, 64)
    };
    let two_sges = Buffer {
        sges: 2,
        ..buffer(0x10000, 64)
    };
    for (buffer, status) in [
        (wrong_key, prot),
        (buffer(0x1FFF8, 64), prot),
        (two_sges, Status::LocQpOp as u8),
    ] {
        let mut world = ready(random(), SMOOTH);
        world.post_receive(0, buffer);
        let packets = [packet(rc::SEND_ONLY, 0, 16), packet(rc::WRITE_ONLY, 1, 4)];
        expect(&mut world, &packets, &[(0, OPERATIONAL, 0)]);
        assert_eq!(failed(&mut world), [(0, status)]);
        assert_eq!(world.bytes_written(), 0);
    }
}
