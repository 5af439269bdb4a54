//! The requester's way out, Verilated: every TLP on RQ is decoded by the model of the PCIe block and compared with what went in.

mod corners;
mod credits;
mod oracle;
mod rates;
#[allow(
    dead_code,
    reason = "the same file serves the other tests of this crate"
)]
mod world;

use ferroce_emit::harness::random;
use rand::Rng;
use world::{Bursts, Credits, Knobs, Read, World, Write};

/// Random writes and reads in surroundings that change from round to round.
fn storm(straddle: bool, max_payload: u64) {
    let rng = random();
    let mut world = World::new(straddle, max_payload, Knobs::smooth(), rng);
    for _ in 0..12 {
        let rng = &mut world.rng;
        let mut bursts = |least: f64| {
            let longest = [1, 3, 30, 300][rng.gen_range(0..4)];
            Bursts::new(rng.gen_range(least..=1.0), longest)
        };
        let (writes, reads, ready) = (bursts(0.2), bursts(0.2), bursts(0.2));
        let delay = rng.gen_range(0..=4);
        let most = rng.gen_range(1..40);
        let credits = Credits::new(most, rng.gen_range(0.05..=1.0), most, delay);
        world.knobs = Knobs {
            writes,
            reads,
            ready,
            credits,
        };
        let (writes, reads) = [(120, 120), (150, 5), (5, 300)][world.rng.gen_range(0..3)];
        for _ in 0..writes {
            let write = Write::anywhere(&mut world.rng);
            world.writes.push_back(write);
        }
        for _ in 0..reads {
            let read = Read::anywhere(&mut world.rng);
            world.reads.push_back(read);
        }
        world.finish();
    }
    assert_eq!(world.oracle.writes_out, world.oracle.writes_in);
    println!(
        "{} writes, {} reads in {} beats, {} cycles",
        world.oracle.writes_out,
        world.oracle.reads_out,
        world.beats,
        world.cycle()
    );
}

#[test]
fn a_storm_arrives_intact_with_straddling() {
    for max_payload in 0..4 {
        storm(true, max_payload);
    }
}

#[test]
fn a_storm_arrives_intact_without_straddling() {
    for max_payload in 0..4 {
        storm(false, max_payload);
    }
}
