//! Payload at every length and alignment, and the order of data and completions.

use crate::packet::Packet;
use crate::responder::{ready, start_psn, KEY};
use crate::world::{responder, Buffer, Knobs, Region, World, ROUGH, SMOOTH};
use ferroce_abi::opcode::rc;
use ferroce_emit::harness::random;
use rand::Rng;

const BASE: u64 = 0x7FFF_FFFF_0000;

fn big_world(knobs: Knobs) -> World {
    let mut world = ready(random(), knobs);
    let mut cfg = responder(0, start_psn(0));
    cfg.pmtu = 12;
    world.configure_responder(0, &cfg);
    world.regions.push(Region {
        key: 0x777,
        base: BASE,
        len: 1 << 40,
        pd: 7,
        access: 7,
    });
    world.settle();
    world
}

/// Sends SENDs and WRITEs with immediate of these lengths to these places of a page, and compares each when its CQE comes.
fn move_all(world: &mut World, places: impl IntoIterator<Item = (usize, u64)>) {
    let mut index = world.buffers[0].len();
    let mut sent = 0;
    for (len, place) in places {
        let addr = BASE + 0x4000 * (index as u64 % 0x1000) + place;
        let write = world.rng.gen_bool(0.5);
        let packet = Packet {
            opcode: if write {
                rc::WRITE_ONLY_IMM
            } else {
                rc::SEND_ONLY
            },
            psn: start_psn(0).wrapping_add(index as u32),
            va: addr,
            rkey: 0x777,
            payload: (0..len).map(|_| world.rng.gen()).collect(),
            ..Packet::default()
        };
        world.post_receive(
            0,
            Buffer {
                addr,
                lkey: 0x777,
                len: 4096,
                sges: 1,
            },
        );
        world
            .promised
            .insert((0, index as u16), (addr, packet.payload.clone()));
        world.send_frame(&packet.frame(), false);
        index += 1;
        sent += 1;
        if sent % 16 == 0 {
            world.settle();
        }
    }
    world.settle();
    assert!(
        world.promised.is_empty(),
        "{} are missing",
        world.promised.len()
    );
    let wqes: Vec<u16> = world.take_rx_cqes().iter().map(|cqe| cqe.wqe).collect();
    let expected: Vec<u16> = (index - sent..index).map(|wqe| wqe as u16).collect();
    assert_eq!(wqes, expected);
}

#[test]
fn every_alignment() {
    let mut world = big_world(ROUGH);
    let places: Vec<_> = (0..64)
        .flat_map(|offset| [1, 5, 10, 11, 63, 64, 65, 130, 200].map(|len| (len, offset)))
        .collect();
    move_all(&mut world, places);
}

#[test]
fn every_length() {
    let mut world = big_world(ROUGH);
    let places: Vec<_> = (0..=4096)
        .map(|len| (len, world.rng.gen_range(0..4096)))
        .collect();
    move_all(&mut world, places);
}

#[test]
fn page_crossings() {
    let mut world = big_world(SMOOTH);
    let mut places = Vec::new();
    for before in [1, 2, 10, 11, 63, 64, 65, 127, 128, 129, 4095] {
        for after in [0, 1, 2, 63, 64, 65, 1000] {
            if before + after <= 4096 {
                places.push((before + after, 4096 - before as u64));
            }
        }
    }
    move_all(&mut world, places);
}

#[test]
fn writes_of_every_shape_leave_the_rest_alone() {
    let mut world = big_world(ROUGH);
    for step in 0..40u32 {
        let len = world.rng.gen_range(1..300);
        let addr = 0x10000 + u64::from(step) * 512 + world.rng.gen_range(0..200);
        let packet = Packet {
            opcode: rc::WRITE_ONLY,
            psn: start_psn(0) + step,
            va: addr,
            rkey: KEY,
            payload: vec![0xFF; len],
            ..Packet::default()
        };
        let before = world.bytes_written();
        world.send_frame(&packet.frame(), false);
        world.settle();
        assert_eq!(world.bytes_written() - before, len);
        assert_eq!(world.memory_at(addr, len), packet.payload);
    }
}

#[test]
fn a_completion_waits_for_all_data_before_it() {
    let mut world = big_world(SMOOTH);
    world.knobs.writes = 0;
    world.post_receive(0, Buffer::default());
    let write = Packet {
        opcode: rc::WRITE_ONLY,
        psn: start_psn(0),
        va: 0x10000,
        rkey: KEY,
        payload: vec![3; 100],
        ..Packet::default()
    };
    // An empty SEND has no data of its own, but tells of the WRITE's.
    let empty = Packet {
        psn: start_psn(0) + 1,
        ..Packet::default()
    };
    world.send_frame(&write.frame(), false);
    world.send_frame(&empty.frame(), false);
    world.cycles(600);
    assert_eq!(world.take_rx_cqes(), []);
    world.knobs.writes = 100;
    world.settle();
    assert_eq!(world.take_rx_cqes().len(), 1);
}
