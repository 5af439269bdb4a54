//! Random tests' seed.

use proptest::test_runner::{Config, RngSeed};

/// The seed in `FERROCE_SEED`, or one that is printed.
pub fn seed() -> u64 {
    let seed = std::env::var("FERROCE_SEED")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or_else(rand::random);
    println!("FERROCE_SEED={seed}");
    seed
}

/// Cases of [`seed`].
pub fn cases() -> Config {
    Config {
        rng_seed: RngSeed::Fixed(seed()),
        failure_persistence: None,
        ..Config::default()
    }
}
