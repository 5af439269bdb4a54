//! Random numbers of the tests.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// The seed of a test: `FERROCE_SEED` if it is set, else another one each time. It is printed.
///
/// # Panics
/// `FERROCE_SEED` is no number.
pub fn seed() -> u64 {
    let seed = match std::env::var("FERROCE_SEED") {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("FERROCE_SEED={text} is no number")),
        Err(_) => rand::random(),
    };
    println!("FERROCE_SEED={seed}");
    seed
}

/// A generator.
pub fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

/// How many seeds a randomised test tries: `few` in an ordinary run, `many` with `FERROCE_SOAK` set.
pub fn rounds(few: u64, many: u64) -> u64 {
    if std::env::var_os("FERROCE_SOAK").is_some() {
        many
    } else {
        few
    }
}
