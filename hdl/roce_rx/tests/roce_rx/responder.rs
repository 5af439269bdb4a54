//! QPs of the responder's tests, packets to them, and what comes back.

use crate::packet::Packet;
use crate::world::{responder, Buffer, Cqe, Knobs, Region, World, QPS};
use ferroce_abi::cqe::{Status, WcOpcode};
use rand_chacha::ChaCha8Rng;

/// Syndrome of an RNR NAK with the timer code of the fixture.
pub const RNR: u8 = 0x20 | 12;
/// Syndromes of NAKs.
pub const INVALID: u8 = 0x61;
pub const ACCESS: u8 = 0x62;
pub const OPERATIONAL: u8 = 0x63;
/// Path MTU of the fixture.
pub const MTU: usize = 1024;
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

pub fn buffer(addr: u64, len: u32) -> Buffer {
    Buffer {
        addr,
        lkey: KEY,
        len,
        sges: 1,
    }
}

/// A packet of QP 0 at `offset` from the first PSN.
pub fn packet(opcode: u8, offset: u32, len: usize) -> Packet {
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

pub fn send(world: &mut World, packets: &[Packet]) {
    for packet in packets {
        world.send_frame(&packet.frame(), false);
    }
    world.settle();
}

/// Sends and compares the answers, given as offset from the first PSN, syndrome, MSN.
pub fn expect(world: &mut World, packets: &[Packet], answers: &[(u32, u8, u32)]) {
    send(world, packets);
    let expected: Vec<_> = answers
        .iter()
        .map(|&(offset, syndrome, msn)| (0, start_psn(0) + offset, syndrome, msn))
        .collect();
    assert_eq!(world.take_acks(), expected);
}

pub fn received(wqe: u16, len: u32) -> Cqe {
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
pub fn failed(world: &mut World) -> Vec<(u16, u8)> {
    world
        .take_rx_cqes()
        .iter()
        .map(|cqe| (cqe.wqe, cqe.status))
        .collect()
}
