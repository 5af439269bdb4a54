//! What the PCIe engine reaches of what Gen3 x16 carries, at the settings most hosts have: max payload 256, max read request 512,
//! 900 ns to the answer of a read. All in simulated cycles.

use std::sync::{Arc, OnceLock};

use ferroce_bridge::Library;
use ferroce_dma::reader::read_budget::COMPLETION_HEADERS;
use ferroce_sim::design::{self, Options};
use ferroce_sim::dma::roof::{roof, Roof};
use ferroce_sim::dma::{Bench, Load, Offset, Op, Rate, Window};
use ferroce_sim::pcie::PcieConfig;

/// So long that the 32 KiB that may be under way at its ends are less than 3 % of what passes.
const WINDOW: Window = Window {
    warm_up: 1_000,
    cycles: 24_000,
};

fn engine() -> Arc<Library> {
    static ENGINE: OnceLock<Arc<Library>> = OnceLock::new();
    let build = || design::engine_library(true, COMPLETION_HEADERS, Options::default()).unwrap();
    Arc::clone(ENGINE.get_or_init(build))
}

fn seed() -> u64 {
    let given = std::env::var("FERROCE_SEED").ok();
    let seed = given.map_or(1, |text| text.parse().expect("FERROCE_SEED is a number"));
    println!("FERROCE_SEED={seed}");
    seed
}

/// Mean cycles of a lone read of the load's blocks.
fn lone(load: Load) -> f64 {
    let bench = Bench::new(&engine(), PcieConfig::default(), load, seed()).unwrap();
    let lone = bench.lone_reads(20).unwrap();
    println!("{load:?}: {lone:?}");
    lone.mean
}

fn measure(op: Op, bytes: u64, offset: Offset) -> (Rate, Roof) {
    let load = Load { op, bytes, offset };
    let lone = if op.reads() { lone(load) } else { 0.0 };
    let bench = Bench::new(&engine(), PcieConfig::default(), load, seed()).unwrap();
    let (rate, roof) = (
        bench.rate(WINDOW).unwrap(),
        roof(&PcieConfig::default(), load, lone, COMPLETION_HEADERS),
    );
    println!("{load:?}: {rate:.1?} of {roof:.1?}");
    (rate, roof)
}

#[track_caller]
fn at_least(gbps: f64, share: f64, roof: Roof) {
    assert!(gbps >= share * roof.gbps, "{gbps} of {roof:?}");
    // A window cuts off parts of blocks at both ends, and more or less may be under way there.
    assert!(
        gbps <= 1.03 * roof.gbps,
        "{gbps} is above the roof: {roof:?}"
    );
}

#[test]
fn reads_take_95_per_cent_of_the_link() {
    for bytes in [256, 512, 1024, 4096] {
        let (rate, roof) = measure(Op::Read, bytes, Offset::Fixed(0));
        at_least(rate.read_gbps, 0.95, roof);
        assert_eq!(rate.write_gbps, 0.0);
    }
}

#[test]
fn writes_take_95_per_cent_of_the_link() {
    for bytes in [256, 512, 1024, 4096] {
        let (rate, roof) = measure(Op::Write, bytes, Offset::Fixed(0));
        at_least(rate.write_gbps, 0.95, roof);
        assert_eq!(rate.read_gbps, 0.0);
    }
}

/// Each at least 90 % of what it could have alone, though the requests of reads share the writes' direction.
#[test]
fn both_at_once_take_90_per_cent_each() {
    for bytes in [512, 1024, 4096] {
        let (rate, roof) = measure(Op::Both, bytes, Offset::Fixed(0));
        at_least(rate.read_gbps, 0.95, roof);
        at_least(rate.write_gbps, 0.95, roof);
        for (op, gbps) in [(Op::Read, rate.read_gbps), (Op::Write, rate.write_gbps)] {
            let offset = Offset::Fixed(0);
            let load = Load { op, bytes, offset };
            let alone = self::roof(&PcieConfig::default(), load, 1.0, COMPLETION_HEADERS);
            at_least(gbps, 0.9, alone);
        }
    }
}

/// Wherever a block begins, it costs little more than its TLPs and beats do: on RC a cycle for each further completion in a beat whose
/// doublewords fall on lanes of the one before.
#[test]
fn no_offset_is_a_cliff() {
    for offset in [
        Offset::Fixed(1),
        Offset::Fixed(4),
        Offset::Fixed(63),
        Offset::Random,
    ] {
        for bytes in [512, 4096] {
            for op in [Op::Read, Op::Write] {
                let (rate, roof) = measure(op, bytes, offset);
                at_least(rate.read_gbps + rate.write_gbps, 0.85, roof);
            }
        }
    }
}
