//! Cycles a TLP takes on RQ.

use crate::world::{Knobs, Read, World, Write};
use ferroce_emit::harness::random;

/// What there is to send.
#[derive(Debug, Clone, Copy)]
struct Load {
    writes: usize,
    write_bytes: usize,
    offset: u64,
    reads: usize,
}

/// Cycles from the first RQ beat to the last, both counted.
fn cycles(straddle: bool, load: Load) -> u64 {
    let mut world = World::new(straddle, 1, Knobs::smooth(), random());
    for k in 0..load.writes {
        let addr = 0x10_0000 + k as u64 % 8 * 512 + load.offset;
        let write = Write::random(&mut world.rng, addr, load.write_bytes);
        world.writes.push_back(write);
    }
    for _ in 0..load.reads {
        let mut read = Read::anywhere(&mut world.rng);
        read.ordered = false;
        world.reads.push_back(read);
    }
    world.finish();
    let first = world.first_beat.expect("there were beats");
    let cycles = world.last_beat - first + 1;
    println!(
        "straddle {straddle} {load:?}: {cycles} cycles, {} beats",
        world.beats
    );
    cycles
}

/// `tenths` of a cycle a TLP, and as many more in all as filling the pipeline takes.
fn check(straddle: bool, load: Load, tenths: u64) {
    let most = (load.writes + load.reads) as u64 * tenths / 10 + 8;
    let cycles = cycles(straddle, load);
    assert!(cycles <= most, "{cycles} cycles, more than {most}");
}

const WRITES: Load = Load {
    writes: 1000,
    write_bytes: 256,
    offset: 0,
    reads: 0,
};

#[test]
fn writes_of_256_bytes_take_four_and_a_half_cycles() {
    check(true, WRITES, 45);
    check(false, WRITES, 50);
}

#[test]
fn writes_of_64_bytes_take_one_and_a_half_cycles() {
    let load = Load {
        write_bytes: 64,
        ..WRITES
    };
    check(true, load, 15);
    check(false, load, 20);
}

/// Eight doublewords of descriptor and payload: two a beat, but one payload beat a cycle.
#[test]
fn short_writes_take_one_cycle() {
    let load = Load {
        write_bytes: 16,
        offset: 8,
        ..WRITES
    };
    check(true, load, 10);
    check(false, load, 10);
}

#[test]
fn reads_take_one_cycle() {
    let load = Load {
        writes: 0,
        reads: 1000,
        ..WRITES
    };
    check(true, load, 10);
    check(false, load, 10);
}

/// 9 half beats a write and 1 a read.
#[test]
fn reads_fill_the_halves_that_writes_leave() {
    let load = Load {
        writes: 700,
        reads: 700,
        ..WRITES
    };
    check(true, load, 25);
    check(false, load, 30);
}

/// A write of 64 bytes that is not aligned has two payload beats and takes as many cycles.
#[test]
fn unaligned_writes_take_a_cycle_for_each_payload_beat() {
    for offset in [1, 20, 40, 52, 63] {
        let load = Load {
            write_bytes: 64,
            offset,
            ..WRITES
        };
        check(true, load, 20);
        check(false, load, 20);
    }
}

/// RQ beats that a write takes and a read half of one; no cycle goes to what lies at a bad place.
#[test]
fn unaligned_writes_and_reads_take_no_more_than_their_beats() {
    // Halves of RQ beats: a TLP up to the first multiple of 256, one for the rest, a read. Payload beats of 64 bytes are never more.
    for (write_bytes, offset, halves) in [
        (64, 1, 4),
        (64, 31, 4),
        (64, 63, 4),
        (128, 1, 6),
        (128, 32, 6),
        (128, 63, 6),
        (256, 1, 11),
        (256, 31, 11),
        (256, 32, 11),
        (256, 63, 11),
    ] {
        let both = Load {
            writes: 500,
            write_bytes,
            offset,
            reads: 500,
        };
        let cycles = cycles(true, both);
        let most = 500 * halves / 2;
        assert!(
            cycles <= most * 102 / 100 + 8,
            "{both:?}: {cycles} cycles, more than {most}"
        );
    }
}

/// Five payload beats and five RQ beats, though the first payload beat does not fill one.
#[test]
fn writes_from_the_middle_of_a_line_take_five_cycles() {
    for offset in [31, 32, 48, 60, 63] {
        check(true, Load { offset, ..WRITES }, 50);
    }
}
