//! The whole engine between a PCIe block with a host behind it and a card that reads, writes and is accessed at the same time.

mod bench;
mod client;
mod host;
mod memory;
mod rates;
use bench::{Bench, Load};
#[allow(dead_code)] // Each test uses its own part.
use ferroce_emit::harness::random;
use ferroce_pcie::block::BlockConfig;
use ferroce_pcie::root::{RootConfig, Split};
use rand::seq::SliceRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// Any host, any speed of its parts.
fn random_host(rng: &mut ChaCha8Rng) -> (BlockConfig, RootConfig) {
    let default = RootConfig::default();
    let root = RootConfig {
        max_payload: *[128, 256, 512, 1024].choose(rng).unwrap(),
        max_read: *[128, 256, 512, 4096].choose(rng).unwrap(),
        boundary: *[64, 128].choose(rng).unwrap(),
        split: *[Split::Longest, Split::Random].choose(rng).unwrap(),
        read_latency: rng.gen_range(110..400),
        read_jitter: rng.gen_range(0..200),
        disorder: rng.gen_range(1..=16),
        interleave: rng.gen(),
        read_slots: *[4, 32, 256].choose(rng).unwrap(),
        ..default
    };
    let block = BlockConfig {
        straddle_rc: rng.gen(),
        pause: *[0.0, 0.3].choose(rng).unwrap(),
        ..BlockConfig::default()
    };
    (block, root)
}

fn everything_at_once(straddle: bool) {
    let mut rng = random();
    for round in 0..6 {
        let (block, root) = random_host(&mut rng);
        println!("round {round}: {block:?} {root:?}");
        let block = BlockConfig {
            straddle_rq: straddle,
            ..block
        };
        let mut bench = Bench::new(block, root, rng.gen());
        let load = Load {
            reads: *[0.05, 0.5].choose(&mut rng).unwrap(),
            writes: *[0.05, 0.5].choose(&mut rng).unwrap(),
            host: *[0.02, 0.2].choose(&mut rng).unwrap(),
            stall: *[0.0, 0.3].choose(&mut rng).unwrap(),
        };
        bench.run(6_000, load);
        bench.drain();
        bench.check();
    }
}

/// Completions pass no store of the host, so registers that take none let all that was asked for pile up in the block: it must fit, and
/// the block must be full of it or there is nothing to see.
#[test]
fn completions_behind_stores_that_wait_fit_into_the_block() {
    let mut rng = random();
    let root = RootConfig {
        max_payload: 128,
        split: Split::Random,
        ..RootConfig::default()
    };
    let mut bench = Bench::new(BlockConfig::default(), root, rng.gen());
    let load = Load {
        reads: 1.0,
        writes: 0.2,
        host: 0.2,
        stall: 1.0,
    };
    bench.run(6_000, load);
    let held = bench.held_completions();
    println!("{held} completions wait");
    assert!(held > 100, "{held} completions wait");
    bench.run(6_000, Load { stall: 0.3, ..load });
    bench.drain();
    bench.check();
}

#[test]
fn everything_at_once_with_straddling() {
    everything_at_once(true);
}

#[test]
fn everything_at_once_without_straddling() {
    everything_at_once(false);
}
