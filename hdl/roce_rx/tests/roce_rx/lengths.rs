//! Lengths of packets and messages that the responder takes, and that it does not.

use crate::packet::{Packet, ACK};
use crate::responder::*;
use crate::world::{responder, Region, SMOOTH};
use ferroce_abi::opcode::rc;
use ferroce_emit::harness::random;

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
