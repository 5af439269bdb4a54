//! Random numbers that can be had again.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// The number in an environment variable.
///
/// # Panics
/// It is set to something else.
pub(super) fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{name} must be a number, not {text:?}"))
    })
}

/// The random numbers of a test: from the seed in `FERROCE_SEED`, else from a new one. It is printed.
///
/// # Panics
/// `FERROCE_SEED` is no number.
#[must_use]
pub fn random() -> ChaCha8Rng {
    let seed = number("FERROCE_SEED").unwrap_or_else(rand::random);
    println!("FERROCE_SEED={seed}");
    ChaCha8Rng::seed_from_u64(seed)
}
