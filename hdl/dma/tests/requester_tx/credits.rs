//! Reads wait; writes don't.

use crate::world::{Bursts, Credits, Knobs, Read, World, Write};
use ferroce_emit::harness::random;
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

/// As many writes before the block as it takes and a few more: it never runs out.
fn keep_writing(world: &mut World) {
    if world.writes.len() < 4 {
        give(world, 4, 0);
    }
    world.step();
}

fn give_read(world: &mut World, ordered: bool) {
    let mut read = Read::anywhere(&mut world.rng);
    read.ordered = ordered;
    world.reads.push_back(read);
}

#[test]
fn reads_get_their_turn_among_endless_writes() {
    for ordered in [true, false] {
        let mut world = World::new(true, 1, Knobs::smooth(), random());
        for read in 1..=4 {
            give_read(&mut world, ordered);
            let due = world.cycle() + 1_200;
            while world.oracle.reads_out < read {
                keep_writing(&mut world);
                assert!(world.cycle() < due, "a read stands still");
            }
        }
        world.finish();
    }
}

/// Reads that come when the block is full of writes, since RQ takes nothing.
fn behind_a_jam(ordered: bool) -> World {
    let mut world = World::new(true, 1, Knobs::smooth(), random());
    for read in 1..=4 {
        world.knobs.ready = Bursts::new(0.0, 1);
        let mut quiet = 0;
        while quiet < 50 {
            let before = world.oracle.writes_in;
            let one_beat = Write::random(&mut world.rng, 64 * read, 64);
            world.writes.push_back(one_beat);
            world.step();
            world.writes.truncate(1);
            quiet = if world.oracle.writes_in == before {
                quiet + 1
            } else {
                0
            };
        }
        give_read(&mut world, ordered);
        for _ in 0..20 {
            world.step();
        }
        assert!(world.reads.is_empty(), "a read is not taken");
        world.knobs.ready = Bursts::always();
        while world.oracle.reads_out < read {
            keep_writing(&mut world);
            assert!(world.cycle() < 5_000, "reads stand still");
        }
    }
    world.finish();
    world
}

#[test]
fn reads_pass_waiting_writes_unless_they_are_ordered() {
    assert_eq!(behind_a_jam(true).oracle.passed, 0);
    assert_eq!(behind_a_jam(false).oracle.passed, 4);
}
