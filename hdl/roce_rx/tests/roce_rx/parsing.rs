//! What is a packet and what is not.

use crate::packet::{ip_checksum, Packet};
use crate::responder::{ready, start_psn};
use crate::world::{World, ROUGH, SMOOTH};
use ferroce_abi::opcode::rc;
use ferroce_abi::regs::Counter;
use ferroce_emit::harness::random;
use rand::Rng;

/// A zero-length WRITE: needs nothing but a QP.
fn probe(psn: u32) -> Packet {
    Packet {
        opcode: rc::WRITE_ONLY,
        psn,
        ..Packet::default()
    }
}

fn fix_checksum(frame: &mut [u8]) {
    frame[24..26].fill(0);
    let sum = ip_checksum(&frame[14..34]);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
}

/// A frame, changed before its ICRC is made, with a right IPv4 checksum.
fn forged(packet: &Packet, change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    packet.frame_with(|frame| {
        change(frame);
        fix_checksum(frame);
    })
}

fn faults() -> Vec<(Vec<u8>, bool, Counter)> {
    let good = Packet {
        payload: vec![0xAB; 40],
        opcode: rc::WRITE_ONLY,
        psn: start_psn(0),
        va: 0x10000,
        rkey: 0x105,
        ..Packet::default()
    };
    let plain = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut frame = good.frame();
        change(&mut frame);
        frame
    };
    let with = |change: &dyn Fn(&mut Packet)| {
        let mut packet = good.clone();
        change(&mut packet);
        packet.frame()
    };
    vec![
        (good.frame(), true, Counter::RxDropFcs),
        (plain(&|f| f.truncate(57)), false, Counter::RxDropRunt),
        (plain(&|f| f.truncate(14)), false, Counter::RxDropRunt),
        (
            forged(&good, |f| f[12..14].copy_from_slice(&[0x86, 0xDD])),
            false,
            Counter::RxDropNotRoce,
        ),
        (
            forged(&good, |f| f[14] = 0x46),
            false,
            Counter::RxDropNotRoce,
        ),
        (
            forged(&good, |f| f[20] = 0x20),
            false,
            Counter::RxDropNotRoce,
        ),
        (forged(&good, |f| f[21] = 1), false, Counter::RxDropNotRoce),
        (forged(&good, |f| f[23] = 6), false, Counter::RxDropNotRoce),
        (forged(&good, |f| f[37] ^= 1), false, Counter::RxDropNotRoce),
        (with(&|p| p.dmac[5] ^= 1), false, Counter::RxDropAddress),
        (with(&|p| p.dmac[0] ^= 4), false, Counter::RxDropAddress),
        (
            with(&|p| p.destination[3] ^= 1),
            false,
            Counter::RxDropAddress,
        ),
        (plain(&|f| f[24] ^= 1), false, Counter::RxDropIpChecksum),
        (plain(&|f| f[15] ^= 1), false, Counter::RxDropIpChecksum),
        (forged(&good, |f| f[39] += 4), false, Counter::RxDropLength),
        (forged(&good, |f| f[17] += 4), false, Counter::RxDropLength),
        (
            forged(&good, |f| {
                f[17] += 4;
                f[39] += 4;
            }),
            false,
            Counter::RxDropLength,
        ),
        (
            plain(&|f| f.truncate(f.len() - 1)),
            false,
            Counter::RxDropLength,
        ),
        (
            forged(&probe(start_psn(0)), |f| f[43] |= 0x30),
            false,
            Counter::RxDropLength,
        ),
        // RETH promised, but the packet ends before it.
        (
            forged(
                &Packet {
                    psn: start_psn(0),
                    ..Packet::default()
                },
                |f| f[42] = rc::WRITE_ONLY,
            ),
            false,
            Counter::RxDropLength,
        ),
        (
            with(&|p| p.payload = vec![1; 4097]),
            false,
            Counter::RxDropOversize,
        ),
        (with(&|p| p.tver = 1), false, Counter::RxDropTver),
        (with(&|p| p.opcode = 0x2A), false, Counter::RxDropOpcode),
        (with(&|p| p.opcode = 0x81), false, Counter::RxDropOpcode),
        (
            plain(&|f| *f.last_mut().expect("bytes") ^= 0x80),
            false,
            Counter::RxDropIcrc,
        ),
        (plain(&|f| f[80] ^= 1), false, Counter::RxDropIcrc),
    ]
}

#[test]
fn every_fault_has_its_counter() {
    let mut world = ready(random(), SMOOTH);
    for (index, (frame, damaged, counter)) in faults().into_iter().enumerate() {
        world.send_frame(&frame, damaged);
        world.settle();
        assert_eq!(world.take_counters(), [(counter, 1)], "fault {index}");
        assert_eq!(world.take_acks(), [], "fault {index}");
    }
    // Back to back, between good ones, with gaps: each good one is acknowledged.
    world.knobs = ROUGH;
    let mut expected = Vec::new();
    for (index, (frame, damaged, _)) in faults().into_iter().enumerate() {
        let psn = start_psn(0) + index as u32;
        world.send_frame(&probe(psn).frame(), false);
        world.send_frame(&frame, damaged);
        expected.push((0, psn, 0x1F, index as u32 + 1));
    }
    world.settle();
    assert_eq!(world.take_acks(), expected);
    assert_eq!(world.bytes_written(), 0);
}

#[test]
fn what_follows_the_packet_is_padding() {
    let mut world = ready(random(), ROUGH);
    let mut psn = start_psn(1);
    let mut expected = Vec::new();
    for len in [0usize, 1, 2, 5, 6, 9, 42, 54, 60, 118] {
        for trailer in [0usize, 1, 4, 5, 63, 64, 65, 200, 1500] {
            let payload: Vec<u8> = (0..len).map(|_| world.rng.gen()).collect();
            let va = 0x10000 + 128 * (psn & 0x7F) as u64;
            let packet = Packet {
                opcode: rc::WRITE_ONLY,
                qpn: 1,
                psn,
                va,
                rkey: 0x105,
                payload: payload.clone(),
                trailer,
                udp_checksum: world.rng.gen(),
                ..Packet::default()
            };
            world.send_frame(&packet.frame(), false);
            expected.push((va, payload));
            psn += 1;
        }
    }
    world.settle();
    assert_eq!(
        world.take_counters(),
        [(Counter::RxRequests, expected.len() as u64)]
    );
    for (va, payload) in expected {
        assert_eq!(world.memory_at(va, payload.len()), payload);
    }
}

/// Whether a changed byte of a frame of `end` bytes may go unnoticed: source MAC, UDP checksum, the
/// masked byte of the BTH, and padding.
fn is_free(byte: usize, end: usize) -> bool {
    (6..12).contains(&byte) || (40..42).contains(&byte) || byte == 46 || byte >= end
}

#[test]
fn no_changed_bit_gets_through() {
    let mut world = ready(random(), SMOOTH);
    let end = 54 + 16 + 40 + 4;
    let good = Packet {
        payload: vec![0x5A; 40],
        opcode: rc::WRITE_ONLY,
        va: 0x10000,
        rkey: 0x105,
        ..Packet::default()
    };
    let mut psn = start_psn(0);
    let mut accepted = 0;
    for bit in 0..8 * end {
        let mut frame = Packet {
            psn,
            ..good.clone()
        }
        .frame();
        frame[bit / 8] ^= 1 << (bit % 8);
        world.send_frame(&frame, false);
        if is_free(bit / 8, end) {
            psn += 1;
            accepted += 1;
        }
    }
    world.settle();
    assert_eq!(accepted, 8 * (6 + 2 + 1));
    let acks: Vec<u32> = world.take_acks().iter().map(|ack| ack.1).collect();
    assert_eq!(acks, (start_psn(0)..psn).collect::<Vec<_>>());
}

#[test]
fn a_full_buffer_drops_whole_frames() {
    let mut world = World::with_buffer(random(), SMOOTH, 7);
    crate::responder::prepare(&mut world);
    world.settle();
    world.knobs.writes = 0;
    let packets: Vec<Packet> = (0..12)
        .map(|k| Packet {
            opcode: rc::WRITE_ONLY,
            psn: start_psn(0) + k,
            va: 0x10000 + 1024 * u64::from(k),
            rkey: 0x105,
            payload: vec![k as u8 + 1; 1024],
            ..Packet::default()
        })
        .collect();
    for packet in &packets {
        world.send_frame(&packet.frame(), false);
    }
    world.cycles(1500);
    let overflows = world.counters[&Counter::RxDropOverflow];
    let kept = world.counters[&Counter::RxPackets];
    assert_eq!(overflows + kept, 12);
    // A frame of 1098 bytes takes 18 beats: seven fit in 128; the mover takes the first ones further.
    assert!((7..11).contains(&kept), "{kept} frames kept");
    world.knobs.writes = 50;
    world.settle();
    world.take_acks();
    // What is missing comes again; it finds a whole buffer.
    for packet in &packets[kept as usize..] {
        world.send_frame(&packet.frame(), false);
        world.settle();
    }
    let acks: Vec<u32> = world.take_acks().iter().map(|ack| ack.1).collect();
    let expected: Vec<u32> = (kept as u32..12).map(|k| start_psn(0) + k).collect();
    assert_eq!(acks, expected);
    for packet in &packets {
        assert_eq!(world.memory_at(packet.va, 1024), packet.payload);
    }
}
