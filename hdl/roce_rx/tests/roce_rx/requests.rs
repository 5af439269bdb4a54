//! The responder's rules, one by one.

use crate::packet::Packet;
use crate::sim::random;
use crate::world::{responder, Buffer, Cqe, Knobs, Region, World, QPS, ROUGH, SMOOTH};
use ferroce_abi::cqe::{flags, Status, WcOpcode};
use ferroce_abi::opcode::rc;
use ferroce_abi::regs::Counter;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

const ACK: u8 = 0x1F;
const RNR: u8 = 0x20 | 12;
const GAP: u8 = 0x60;
const INVALID: u8 = 0x61;
const ACCESS: u8 = 0x62;
const OPERATIONAL: u8 = 0x63;
/// Path MTU of the fixture.
const MTU: usize = 1024;
pub const KEY: u32 = 0x105;

/// First PSN of a QP of the fixture.
pub fn start_psn(qp: usize) -> u32 {
    0x1000 * (qp as u32 + 1)
}

/// All QPs configured, one region of 64 KiB at 0x10000 that allows everything.
pub fn prepare(world: &mut World) {
    for qp in 0..QPS {
        world.configure_responder(qp, &responder(qp, start_psn(qp)));
    }
    world.regions.push(Region {
        key: KEY,
        base: 0x10000,
        len: 0x10000,
        pd: 7,
        access: 7,
    });
}

pub fn ready(rng: ChaCha8Rng, knobs: Knobs) -> World {
    let mut world = World::new(rng, knobs);
    prepare(&mut world);
    world.settle();
    world.consumed.clear();
    world
}

fn buffer(addr: u64, len: u32) -> Buffer {
    Buffer {
        addr,
        lkey: KEY,
        len,
        sges: 1,
    }
}

/// A packet of QP 0 at `offset` from the first PSN.
fn packet(opcode: u8, offset: u32, len: usize) -> Packet {
    Packet {
        opcode,
        psn: start_psn(0) + offset,
        va: 0x10000,
        rkey: KEY,
        payload: (0..len)
            .map(|k| (k as u32 * 7 + offset + 1) as u8)
            .collect(),
        ..Packet::default()
    }
}

fn send(world: &mut World, packets: &[Packet]) {
    for packet in packets {
        world.send_frame(&packet.frame(), false);
    }
    world.settle();
}

/// Sends and compares the answers, given as offset from the first PSN, syndrome, MSN.
fn expect(world: &mut World, packets: &[Packet], answers: &[(u32, u8, u32)]) {
    send(world, packets);
    let expected: Vec<_> = answers
        .iter()
        .map(|&(offset, syndrome, msn)| (0, start_psn(0) + offset, syndrome, msn))
        .collect();
    assert_eq!(world.take_acks(), expected);
}

fn received(wqe: u16, len: u32) -> Cqe {
    Cqe {
        cq: 1,
        qp: 0,
        opcode: WcOpcode::Recv as u8,
        status: Status::Success as u8,
        flags: 0,
        len,
        imm: 0,
        wqe,
    }
}

/// The CQE of a failure; its other fields mean nothing.
fn failed(world: &mut World) -> Vec<(u16, u8)> {
    world
        .take_rx_cqes()
        .iter()
        .map(|cqe| (cqe.wqe, cqe.status))
        .collect()
}

#[test]
fn sends_fill_receive_buffers() {
    let mut world = ready(random(), ROUGH);
    let mut first = packet(rc::SEND_FIRST, 0, MTU);
    first.ackreq = false;
    let middle = packet(rc::SEND_MIDDLE, 1, MTU);
    let last = packet(rc::SEND_LAST, 2, 17);
    let bytes = [&first.payload[..], &middle.payload, &last.payload].concat();
    world.post_receive(0, buffer(0x10FF3, 3000));
    world.post_receive(0, buffer(0x12001, 8));
    world.post_receive(0, buffer(0x13000, 0));
    world.promised.insert((0, 0), (0x10FF3, bytes));
    expect(
        &mut world,
        &[first, middle, last],
        &[(1, ACK, 0), (2, ACK, 1)],
    );
    assert_eq!(world.take_rx_cqes(), [received(0, 2 * MTU as u32 + 17)]);
    assert_eq!(world.consumed, [(0, 1)]);

    let mut only = packet(rc::SEND_ONLY_IMM, 3, 8);
    only.imm = [1, 2, 3, 4];
    only.se = true;
    world
        .promised
        .insert((0, 1), (0x12001, only.payload.clone()));
    expect(&mut world, &[only], &[(3, ACK, 2)]);
    let cqe = Cqe {
        flags: flags::WITH_IMM | flags::SOLICITED,
        imm: 0x0403_0201,
        ..received(1, 8)
    };
    assert_eq!(world.take_rx_cqes(), [cqe]);
    expect(&mut world, &[packet(rc::SEND_ONLY, 4, 0)], &[(4, ACK, 3)]);
    assert_eq!(world.take_rx_cqes(), [received(2, 0)]);
    assert_eq!(world.consumed, [(0, 1), (0, 2), (0, 3)]);
    assert!(world.promised.is_empty());
}

#[test]
fn writes_reach_their_address() {
    let mut world = ready(random(), ROUGH);
    world.post_receive(0, Buffer::default());
    world.post_receive(0, Buffer::default());
    let mut first = packet(rc::WRITE_FIRST, 0, MTU);
    first.va = 0x10FED;
    first.dma_len = Some(2 * MTU as u32 + 1);
    let middle = packet(rc::WRITE_MIDDLE, 1, MTU);
    let mut last = packet(rc::WRITE_LAST_IMM, 2, 1);
    last.imm = [9, 8, 7, 6];
    let bytes = [&first.payload[..], &middle.payload, &last.payload].concat();
    world.promised.insert((0, 0), (0x10FED, bytes));
    expect(
        &mut world,
        &[first, middle, last],
        &[(0, ACK, 0), (1, ACK, 0), (2, ACK, 1)],
    );
    let imm = Cqe {
        opcode: WcOpcode::RecvRdmaWithImm as u8,
        flags: flags::WITH_IMM,
        imm: 0x0607_0809,
        ..received(0, 2 * MTU as u32 + 1)
    };
    assert_eq!(world.take_rx_cqes(), [imm]);
    assert!(world.promised.is_empty());

    let only = packet(rc::WRITE_ONLY, 3, 33);
    expect(&mut world, std::slice::from_ref(&only), &[(3, ACK, 2)]);
    assert_eq!(world.memory_at(0x10000, 33), only.payload);
    assert_eq!(world.take_rx_cqes(), []);

    // Without bytes, neither key nor address matter (C9-88).
    let mut empty = packet(rc::WRITE_ONLY, 4, 0);
    empty.rkey = 0xDEAD;
    empty.va = u64::MAX;
    let mut empty_imm = packet(rc::WRITE_ONLY_IMM, 5, 0);
    empty_imm.rkey = 0xDEAD;
    expect(&mut world, &[empty, empty_imm], &[(4, ACK, 3), (5, ACK, 4)]);
    let imm = Cqe {
        opcode: WcOpcode::RecvRdmaWithImm as u8,
        flags: flags::WITH_IMM,
        ..received(1, 0)
    };
    assert_eq!(world.take_rx_cqes(), [imm]);
    assert_eq!(world.consumed, [(0, 1), (0, 2)]);
}

#[test]
fn psns_wrap() {
    let mut world = ready(random(), SMOOTH);
    world.configure_responder(0, &responder(0, 0xFF_FFFE));
    let at = |k: u32| Packet {
        psn: 0xFF_FFFEu32.wrapping_add(k),
        ..packet(rc::WRITE_ONLY, 0, 4)
    };
    world.settle();
    // In order over the wrap, a duplicate from before it, a gap behind it.
    send(
        &mut world,
        &[at(0), at(1), at(2), at(3), at(1), at(6), at(4)],
    );
    let acks: Vec<_> = world.take_acks().iter().map(|a| (a.1, a.2, a.3)).collect();
    assert_eq!(
        acks,
        [
            (0xFF_FFFE, ACK, 1),
            (0xFF_FFFF, ACK, 2),
            (0, ACK, 3),
            (1, ACK, 4),
            (1, ACK, 4),
            (2, GAP, 4),
            (2, ACK, 5)
        ]
    );
}

#[test]
fn duplicates_are_acknowledged_and_nothing_else() {
    let mut world = ready(random(), SMOOTH);
    world.post_receive(0, buffer(0x10000, 64));
    let only = packet(rc::SEND_ONLY, 0, 10);
    expect(&mut world, std::slice::from_ref(&only), &[(0, ACK, 1)]);
    assert_eq!(world.take_rx_cqes(), [received(0, 10)]);
    let written = world.bytes_written();
    let mut changed = only;
    changed.payload = vec![0xFF; 60];
    changed.ackreq = false;
    let mut write = packet(rc::WRITE_ONLY, 0, 100);
    write.psn = write.psn.wrapping_sub(0x10_0000);
    let read = Packet {
        opcode: rc::READ_REQUEST,
        payload: Vec::new(),
        ..packet(rc::SEND_ONLY, 0, 0)
    };
    world.take_counters();
    expect(
        &mut world,
        &[changed, write, read],
        &[(0, ACK, 1), (0, ACK, 1)],
    );
    assert_eq!(world.take_counters(), [(Counter::RxDuplicate, 3)]);
    assert_eq!(world.bytes_written(), written);
    assert_eq!(world.take_rx_cqes(), []);
}

#[test]
fn a_gap_is_reported_once() {
    let mut world = ready(random(), SMOOTH);
    let at = |offset| packet(rc::WRITE_ONLY, offset, 4);
    expect(
        &mut world,
        &[
            at(0),
            at(2),
            at(3),
            at(7),
            at(1),
            at(2),
            at(9),
            at(9),
            at(3),
        ],
        &[
            (0, ACK, 1),
            (1, GAP, 1),
            (1, ACK, 2),
            (2, ACK, 3),
            (3, GAP, 3),
            (3, ACK, 4),
        ],
    );
    assert_eq!(
        world.take_counters(),
        [(Counter::RxOutOfSequence, 5), (Counter::RxRequests, 4)]
    );
    // The far ends of the two halves of the PSN space.
    let far = |offset: u32| packet(rc::WRITE_ONLY, 4 + offset, 4);
    expect(&mut world, &[far(0x80_0000)], &[(3, ACK, 4)]);
    expect(&mut world, &[far(0x7F_FFFF)], &[(4, GAP, 4)]);
    expect(&mut world, &[far(0xFF_FFFF)], &[(3, ACK, 4)]);
}

/// Opcodes that may follow, by what is in progress: nothing, a SEND, a WRITE.
fn legal(inside: usize, opcode: u8) -> bool {
    let begins = [
        rc::SEND_FIRST,
        rc::SEND_ONLY,
        rc::SEND_ONLY_IMM,
        rc::WRITE_FIRST,
        rc::WRITE_ONLY,
        rc::WRITE_ONLY_IMM,
    ];
    match inside {
        0 => begins.contains(&opcode),
        1 => [rc::SEND_MIDDLE, rc::SEND_LAST, rc::SEND_LAST_IMM].contains(&opcode),
        _ => [rc::WRITE_MIDDLE, rc::WRITE_LAST, rc::WRITE_LAST_IMM].contains(&opcode),
    }
}

#[test]
fn opcodes_come_in_sequence() {
    let mut world = ready(random(), SMOOTH);
    let requests = (0..=0x1F).filter(|op| !(0x0D..=0x12).contains(op));
    for opcode in requests {
        for inside in 0..3 {
            world.configure_responder(0, &responder(0, start_psn(0)));
            world.clear_receives(0);
            world.settle();
            world.post_receive(0, buffer(0x10000, 4096));
            let mut packets = Vec::new();
            match inside {
                0 => {}
                1 => packets.push(packet(rc::SEND_FIRST, 0, MTU)),
                _ => {
                    let mut first = packet(rc::WRITE_FIRST, 0, MTU);
                    // Both a MIDDLE and a LAST of a full packet must be possible.
                    let more = if opcode == rc::WRITE_MIDDLE { 2 } else { 1 };
                    first.dma_len = Some((MTU + more * MTU) as u32);
                    packets.push(first);
                }
            }
            let offset = packets.len() as u32;
            let mut next = packet(opcode, offset, MTU);
            if opcode == rc::WRITE_FIRST {
                next.dma_len = Some(2 * MTU as u32);
            }
            packets.push(next);
            send(&mut world, &packets);
            let last = *world.take_acks().last().expect("an answer");
            let expected = if legal(inside, opcode) { ACK } else { INVALID };
            assert_eq!(
                (last.1, last.2),
                (start_psn(0) + offset, expected),
                "opcode {opcode:#04x} inside {inside}"
            );
            let cqes = failed(&mut world);
            if expected == INVALID && inside == 1 {
                assert_eq!(cqes, [(0, Status::RemInvReq as u8)]);
            }
            if expected == INVALID && inside != 1 {
                assert_eq!(cqes, []);
            }
        }
    }
}

/// Packets of which the last one has a wrong length.
fn wrong_lengths() -> Vec<Vec<Packet>> {
    let write_first = |total: usize| {
        let mut first = packet(rc::WRITE_FIRST, 0, MTU);
        first.dma_len = Some(total as u32);
        first
    };
    let padded = |mut packet: Packet| {
        packet.payload.truncate(MTU - 4);
        packet.pad = Some(3);
        packet.payload.push(0);
        packet
    };
    let with_total = |opcode, len, total| {
        let mut packet = packet(opcode, 0, len);
        packet.dma_len = Some(total);
        packet
    };
    vec![
        vec![packet(rc::SEND_FIRST, 0, MTU - 4)],
        vec![packet(rc::SEND_FIRST, 0, MTU + 4)],
        vec![padded(packet(rc::SEND_FIRST, 0, MTU))],
        vec![
            packet(rc::SEND_FIRST, 0, MTU),
            packet(rc::SEND_MIDDLE, 1, 4),
        ],
        vec![packet(rc::SEND_FIRST, 0, MTU), packet(rc::SEND_LAST, 1, 0)],
        vec![
            packet(rc::SEND_FIRST, 0, MTU),
            packet(rc::SEND_LAST, 1, MTU + 1),
        ],
        vec![packet(rc::SEND_ONLY, 0, MTU + 1)],
        vec![packet(rc::WRITE_ONLY, 0, MTU + 1)],
        vec![with_total(rc::WRITE_ONLY, 8, 9)],
        vec![with_total(rc::WRITE_ONLY, 8, 7)],
        vec![with_total(rc::WRITE_ONLY, 0, 1)],
        vec![with_total(rc::WRITE_ONLY_IMM, 8, 0)],
        vec![write_first(MTU)],
        vec![with_total(rc::WRITE_FIRST, MTU, 0x8000_0001)],
        vec![with_total(rc::WRITE_FIRST, MTU, u32::MAX)],
        vec![write_first(MTU + 8), packet(rc::WRITE_LAST, 1, 7)],
        vec![write_first(MTU + 8), packet(rc::WRITE_LAST, 1, 9)],
        vec![write_first(MTU + 8), packet(rc::WRITE_LAST_IMM, 1, 12)],
        vec![write_first(2 * MTU), packet(rc::WRITE_MIDDLE, 1, MTU)],
        vec![
            write_first(2 * MTU + 4),
            packet(rc::WRITE_MIDDLE, 1, MTU),
            packet(rc::WRITE_LAST, 2, 8),
        ],
    ]
}

#[test]
fn lengths_must_fit() {
    let mut world = ready(random(), SMOOTH);
    for (index, packets) in wrong_lengths().into_iter().enumerate() {
        world.configure_responder(0, &responder(0, start_psn(0)));
        world.clear_receives(0);
        world.settle();
        world.post_receive(0, buffer(0x10000, 8192));
        let good = packets.len() as u32 - 1;
        let mut answers: Vec<_> = (0..good).map(|offset| (offset, ACK, 0)).collect();
        answers.push((good, INVALID, 0));
        println!("case {index}");
        expect(&mut world, &packets, &answers);
    }
}

#[test]
fn longest_message_is_legal() {
    let mut world = ready(random(), SMOOTH);
    world.regions.push(Region {
        key: 0x777,
        base: 0,
        len: 1 << 32,
        pd: 7,
        access: 7,
    });
    let mut first = packet(rc::WRITE_FIRST, 0, MTU);
    first.rkey = 0x777;
    first.dma_len = Some(1 << 31);
    expect(&mut world, &[first], &[(0, ACK, 0)]);
}

#[test]
fn writes_need_rights() {
    type Variant<'a> = &'a dyn Fn(&mut Packet, &mut World);
    let variants: [Variant; 6] = [
        &|packet, _| packet.rkey ^= 1,
        &|packet, _| packet.va = 0xFFFF,
        &|packet, _| packet.va = 0x20000 - 39,
        &|packet, _| packet.va = u64::MAX - 20,
        &|_, world| world.regions[0].access = 5,
        &|_, world| world.regions[0].pd = 8,
    ];
    for variant in variants {
        let mut world = ready(random(), SMOOTH);
        let mut only = packet(rc::WRITE_ONLY, 0, 40);
        variant(&mut only, &mut world);
        expect(
            &mut world,
            &[only, packet(rc::WRITE_ONLY, 1, 4)],
            &[(0, ACCESS, 0)],
        );
        assert_eq!(world.take_rx_cqes(), []);
        assert_eq!(world.bytes_written(), 0);
        assert_eq!(
            world.take_counters(),
            [(Counter::RxDropQpState, 1), (Counter::ResponderErrors, 1)]
        );
    }
    // The QP's own right.
    let mut world = ready(random(), SMOOTH);
    let mut cfg = responder(0, start_psn(0));
    cfg.access = 5;
    world.configure_responder(0, &cfg);
    world.settle();
    expect(
        &mut world,
        &[packet(rc::WRITE_ONLY, 0, 4)],
        &[(0, INVALID, 0)],
    );
    // The whole range is checked with the first packet.
    let mut world = ready(random(), SMOOTH);
    let mut first = packet(rc::WRITE_FIRST, 0, MTU);
    first.dma_len = Some(0x10001);
    expect(&mut world, &[first], &[(0, ACCESS, 0)]);
    assert_eq!(world.bytes_written(), 0);
    // A region that goes away in the middle of a message takes no more.
    let mut world = ready(random(), SMOOTH);
    let mut first = packet(rc::WRITE_FIRST, 0, MTU);
    first.dma_len = Some(2 * MTU as u32);
    expect(&mut world, &[first], &[(0, ACK, 0)]);
    world.regions.clear();
    expect(
        &mut world,
        &[packet(rc::WRITE_LAST, 1, MTU)],
        &[(1, ACCESS, 0)],
    );
    assert_eq!(world.bytes_written(), MTU);
}

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
        assert_eq!(world.consumed.len() as u32, msn);
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
        assert_eq!(world.consumed, []);
        // A restart makes the QP whole.
        world.configure_responder(0, &responder(0, start_psn(0)));
        world.settle();
        assert_eq!(world.consumed, [(0, 0)]);
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

#[test]
fn strangers_are_ignored() {
    let mut world = ready(random(), SMOOTH);
    type Change<'a> = &'a dyn Fn(&mut Packet);
    let cases: [(Change, Counter); 7] = [
        (&|p| p.qpn = QPS as u32, Counter::RxDropQpn),
        (&|p| p.qpn = 0xFF_FFFF, Counter::RxDropQpn),
        (&|p| p.qpn = 1 << 14, Counter::RxDropQpn),
        (&|p| p.pkey = 0xFFFE, Counter::RxDropPkey),
        (&|p| p.pkey = 0, Counter::RxDropPkey),
        (&|p| p.source[3] = 9, Counter::RxDropPeer),
        (&|p| p.qpn = 5, Counter::RxDropQpState),
    ];
    let mut disabled = responder(5, start_psn(0));
    disabled.enabled = false;
    world.configure_responder(5, &disabled);
    world.settle();
    for (index, (change, counter)) in cases.into_iter().enumerate() {
        let mut stranger = packet(rc::WRITE_ONLY, 0, 4);
        change(&mut stranger);
        expect(&mut world, &[stranger], &[]);
        assert_eq!(world.take_counters(), [(counter, 1)], "case {index}");
    }
    // Limited members reach full ones, and not each other.
    expect(
        &mut world,
        &[Packet {
            pkey: 0x7FFF,
            ..packet(rc::WRITE_ONLY, 0, 4)
        }],
        &[(0, ACK, 1)],
    );
    let mut limited = responder(0, start_psn(0));
    limited.pkey = 0x7FFF;
    world.configure_responder(0, &limited);
    world.settle();
    expect(
        &mut world,
        &[
            Packet {
                pkey: 0x7FFF,
                ..packet(rc::WRITE_ONLY, 0, 4)
            },
            packet(rc::WRITE_ONLY, 0, 4),
        ],
        &[(0, ACK, 1)],
    );
    // Responses of kinds that nothing here asks for.
    world.take_counters();
    for opcode in [
        rc::READ_RESPONSE_FIRST,
        rc::READ_RESPONSE_MIDDLE,
        rc::READ_RESPONSE_ONLY,
        rc::ATOMIC_ACKNOWLEDGE,
    ] {
        expect(&mut world, &[packet(opcode, 0, 0)], &[]);
    }
    assert_eq!(world.take_counters(), [(Counter::RxDropOpcode, 4)]);
    assert_eq!(world.bytes_written(), 4);
}

#[test]
fn qps_do_not_disturb_each_other() {
    let mut world = ready(random(), SMOOTH);
    let mut expected = vec![Vec::new(); QPS];
    let mut next = [0; QPS];
    for _ in 0..400 {
        let qp = world.rng.gen_range(0..QPS);
        let offset = next[qp];
        let mut write = packet(rc::WRITE_ONLY, 0, 4);
        write.qpn = qp as u32;
        write.psn = start_psn(qp) + offset;
        // QP 3 fails with its fifth packet.
        if qp == 3 && offset == 4 {
            write.rkey = 0;
        }
        world.send_frame(&write.frame(), false);
        match (qp, offset) {
            (3, 4) => expected[qp].push((write.psn, ACCESS, 4)),
            (3, 5..) => {}
            _ => expected[qp].push((write.psn, ACK, offset + 1)),
        }
        next[qp] += 1;
    }
    world.settle();
    let mut found = vec![Vec::new(); QPS];
    for (qp, psn, syndrome, msn) in world.take_acks() {
        found[usize::from(qp)].push((psn, syndrome, msn));
    }
    assert_eq!(found, expected);
}
