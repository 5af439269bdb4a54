//! Reads wait; writes don't.

use crate::sim::random;
use crate::world::{Credits, Knobs, Read, World, Write};
use rand::Rng;

fn give(world: &mut World, writes: usize, reads: usize) {
    for _ in 0..writes {
        let write = Write::anywhere(&mut world.rng);
        world.writes.push_back(write);
    }
    for _ in 0..reads {
        let read = Read::anywhere(&mut world.rng);
        world.reads.push_back(read);
    }
}

#[test]
fn without_credits_only_writes_leave() {
    for straddle in [true, false] {
        let mut knobs = Knobs::smooth();
        knobs.credits = Credits::new(0, 0.0, 0, 2);
        let mut world = World::new(straddle, 1, knobs, random());
        give(&mut world, 100, 20);
        while world.oracle.writes_out < 100 {
            world.step();
            assert!(world.cycle() < 20_000, "writes stand still");
        }
        assert_eq!(world.oracle.reads_out, 0);
        // One credit, one read, as often as it takes.
        for reads in 1..=20 {
            world.knobs.credits.free = 1;
            for _ in 0..100 {
                world.step();
            }
            assert_eq!(world.oracle.reads_out, reads);
        }
        world.finish();
    }
}

#[test]
fn no_more_reads_leave_than_the_host_has_room_for() {
    // The world counts; the report may be as late as the block is built for.
    for (most, delay) in [(1, 2), (1, 4), (3, 4), (14, 2), (15, 4), (16, 4), (40, 4)] {
        let mut knobs = Knobs::smooth();
        knobs.credits = Credits::new(most, 0.2, most, delay);
        let mut world = World::new(true, 1, knobs, random());
        for _ in 0..4 {
            world.knobs.credits.refill = world.rng.gen_range(0.02..=1.0);
            give(&mut world, 20, 200);
            world.finish();
        }
    }
}

/// Reads of both kinds, behind writes that never end.
fn among_writes(ordered: bool) -> World {
    let mut world = World::new(true, 1, Knobs::smooth(), random());
    for _ in 0..4 {
        let mut read = Read::anywhere(&mut world.rng);
        read.ordered = ordered;
        world.reads.push_back(read);
        // Writes in stock when the next read comes.
        for _ in 0..300 {
            if world.writes.len() < 4 {
                give(&mut world, 4, 0);
            }
            world.step();
        }
    }
    while world.oracle.reads_out < 4 {
        if world.writes.len() < 4 {
            give(&mut world, 4, 0);
        }
        world.step();
        assert!(world.cycle() < 5_000, "reads stand still");
    }
    world.finish();
    world
}

#[test]
fn ordered_reads_get_their_turn_among_endless_writes_and_pass_none() {
    assert_eq!(among_writes(true).oracle.passed, 0);
    // The first comes before any write, and another may come when all writes before it have just left.
    let passed = among_writes(false).oracle.passed;
    assert!((1..=3).contains(&passed), "{passed} reads passed a write");
}
