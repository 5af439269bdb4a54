//! How fast it goes.

use crate::packet::Packet;
use crate::requester::Requester;
use crate::responder::{ready, start_psn, KEY};
use crate::world::{completer, responder, Buffer, Region, World, QPS, SMOOTH};
use ferroce_abi::opcode::rc;
use ferroce_emit::harness::random;

/// Sends WRITEs without a pause on the wire, and gives the cycles a packet from the first packet on the wire
/// to the last write.
fn cycles_per_packet(world: &mut World, packets: u32, len: usize, qps: usize) -> f64 {
    let payload: Vec<u8> = (0..len).map(|k| k as u8).collect();
    for k in 0..packets {
        let qp = k as usize % qps;
        let packet = Packet {
            opcode: rc::WRITE_ONLY,
            qpn: qp as u32,
            psn: start_psn(qp) + k / qps as u32,
            va: 0x8000_0000 + 4096 * u64::from(k % 256) + u64::from(k % 64),
            rkey: 0x777,
            ackreq: true,
            payload: payload.clone(),
            ..Packet::default()
        };
        world.send_frame(&packet.frame(), false);
    }
    let start = world.sim.cycle;
    world.settle();
    assert_eq!(world.take_acks().len(), packets as usize);
    let end = if len == 0 {
        *world.frame_cycles.last().expect("frames")
    } else {
        world.last_write
    };
    (end - start) as f64 / f64::from(packets)
}

fn fast_world() -> World {
    let mut world = World::with_buffer(random(), SMOOTH, 12);
    crate::responder::prepare(&mut world);
    for qp in 0..QPS {
        let mut cfg = responder(qp, start_psn(qp));
        cfg.pmtu = 12;
        world.configure_responder(qp, &cfg);
    }
    world.regions.push(Region {
        key: 0x777,
        base: 0x8000_0000,
        len: 1 << 30,
        pd: 7,
        access: 7,
    });
    world.settle();
    world
}

#[test]
fn packets_go_at_the_beat_rate() {
    for qps in [1, QPS] {
        for (len, most) in [
            // Frames of 66 beats.
            (4096, 66.5),
            (1024, 18.5),
            // Two beats on the wire, one or two to the host: two or three cycles.
            (8, 3.0),
            (40, 3.0),
        ] {
            let mut world = fast_world();
            let cycles = cycles_per_packet(&mut world, 500, len, qps);
            println!("{len} bytes, {qps} QPs: {cycles:.2} cycles a packet");
            assert!(cycles <= most, "{len} bytes, {qps} QPs: {cycles} cycles");
        }
    }
}

#[test]
fn short_sends_go_at_the_beat_rate() {
    for qps in [1, QPS] {
        let mut world = fast_world();
        let packets = 400;
        // A few more than are used: the last ones of an RQ are looked at more closely.
        for k in 0..packets + 8 * qps as u32 {
            let qp = k as usize % qps;
            let buffer = Buffer {
                addr: 0x8000_0000 + 64 * u64::from(k),
                lkey: 0x777,
                len: 64,
                sges: 1,
            };
            world.post_receive(qp, buffer);
        }
        world.settle();
        for k in 0..packets {
            let qp = k as usize % qps;
            let packet = Packet {
                qpn: qp as u32,
                psn: start_psn(qp) + k / qps as u32,
                payload: vec![k as u8; 16],
                ..Packet::default()
            };
            world.send_frame(&packet.frame(), false);
        }
        let start = world.sim.cycle;
        world.settle();
        assert_eq!(world.take_rx_cqes().len(), packets as usize);
        let cycles = (world.last_write - start) as f64 / f64::from(packets);
        println!("16-byte SENDs, {qps} QPs: {cycles:.2} cycles a packet");
        assert!(cycles <= 3.0, "{qps} QPs: {cycles} cycles a packet");
    }
}

#[test]
fn acknowledgements_are_taken_every_second_cycle() {
    // Duplicates of one QP: two beats each.
    let mut world = ready(random(), SMOOTH);
    world.regions[0].key = KEY;
    let packets = 500;
    for _ in 0..packets {
        let packet = Packet {
            opcode: rc::WRITE_ONLY,
            psn: start_psn(0) - 1,
            ..Packet::default()
        };
        world.send_frame(&packet.frame(), false);
    }
    let start = world.sim.cycle;
    while world.acks.len() < packets {
        world.cycle();
    }
    let cycles = (world.sim.cycle - start) as f64 / packets as f64;
    println!("{cycles:.2} cycles an answer");
    assert!(cycles < 2.3, "{cycles} cycles an answer");
}

/// Sixteen messages a QP are acknowledged, one by one or all at once: cycles from the first response to the last CQE.
fn retire(qps: usize, one_by_one: bool) -> f64 {
    let mut world = ready(random(), SMOOTH);
    let mut requesters: Vec<Requester> = (0..qps)
        .map(|qp| Requester::start(&mut world, qp, &completer(qp, 100)))
        .collect();
    for _ in 0..16 {
        for requester in &mut requesters {
            requester.send(&mut world, 1);
        }
    }
    world.settle();
    let first = if one_by_one { 100 } else { 115 };
    for psn in first..116 {
        for requester in &requesters {
            world.send_frame(&requester.response(psn, 0x1F), false);
        }
    }
    while world.sim.get::<bool>("tx_cqes_valid") || world.tx_cqes.is_empty() {
        world.cycle();
    }
    let start = world.sim.cycle;
    while world.tx_cqes.len() < 16 * qps {
        world.cycle();
    }
    (world.sim.cycle - start) as f64 / (16 * qps) as f64
}

#[test]
fn messages_retire_at_the_rate_of_the_wire() {
    for (qps, one_by_one, most) in [
        // A pass of one QP after the other, and the way through the FIFO of repeated events.
        (1, true, 9.0),
        (1, false, 14.0),
        // Passes of several QPs overlap; a response comes every second cycle.
        (QPS, true, 3.0),
        (QPS, false, 2.5),
    ] {
        let cycles = retire(qps, one_by_one);
        println!("{qps} QPs, one by one {one_by_one}: {cycles:.2} cycles a message");
        assert!(
            cycles <= most,
            "{qps} QPs, one by one {one_by_one}: {cycles}"
        );
    }
}
