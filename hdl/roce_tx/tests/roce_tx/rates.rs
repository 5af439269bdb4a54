//! How many cycles packets take. 100 Gb/s are 50 bytes a cycle: a packet of 4096 bytes may take 83.

use crate::world::{World, SMOOTH};
use crate::{connections, message, ORDERLY};
use ferroce_abi::limits::Pmtu;
use ferroce_emit::harness::random;

/// Cycles a frame while `count` frames pass, in the middle of the run.
fn cycles_per_frame(world: &World, skip: usize, count: usize) -> f64 {
    let first = world.frame_cycles[skip];
    let last = world.frame_cycles[skip + count];
    (last - first) as f64 / count as f64
}

#[test]
fn full_packets_keep_the_wire_busy() {
    let mut rng = random();
    for (queues, offset) in [(1, 0), (1, 5), (16, 0), (16, 60)] {
        let conns = connections(&mut rng, &vec![Pmtu::B4096; queues]);
        let mut world = World::new(rng.clone(), SMOOTH, ORDERLY, &conns);
        for qp in 0..queues {
            for _ in 0..160 / queues {
                let message = message(&mut world.rng, 2 * 4096, offset);
                world.queues[qp].post(message);
            }
        }
        world.run(200_000);
        let cycles = cycles_per_frame(&world, 60, 200);
        println!("{queues} QPs, offset {offset}: {cycles:.2} cycles a packet of 4096 bytes");
        assert!(cycles <= 66.0, "{cycles} cycles");
    }
}

#[test]
fn small_messages_of_many_queues_flow() {
    let mut rng = random();
    let conns = connections(&mut rng, &[Pmtu::B4096; 16]);
    let mut world = World::new(rng, SMOOTH, ORDERLY, &conns);
    for qp in 0..16 {
        for _ in 0..60 {
            let message = message(&mut world.rng, 64, 0);
            world.queues[qp].post(message);
        }
    }
    world.run(100_000);
    let cycles = cycles_per_frame(&world, 300, 400);
    println!("16 QPs: {cycles:.2} cycles a message of 64 bytes");
    assert!(cycles <= 8.0, "{cycles} cycles");
}

#[test]
fn one_queue_alone_fills_the_wire() {
    let mut rng = random();
    for (pmtu, len, most) in [
        (Pmtu::B256, 8192, 5.5),
        (Pmtu::B1024, 8192, 18.0),
        // One message a visit: the scheduler's round trip.
        (Pmtu::B4096, 64, 30.0),
    ] {
        let conns = connections(&mut rng, &[pmtu]);
        let mut world = World::new(rng.clone(), SMOOTH, ORDERLY, &conns);
        for _ in 0..100 {
            let message = message(&mut world.rng, len, 0);
            world.queues[0].post(message);
        }
        world.run(200_000);
        let count = world.frame_cycles.len();
        let cycles = cycles_per_frame(&world, count / 4, count / 2);
        println!("1 QP, {pmtu:?}, messages of {len} bytes: {cycles:.2} cycles a packet");
        assert!(cycles <= most, "{cycles} cycles");
    }
}
