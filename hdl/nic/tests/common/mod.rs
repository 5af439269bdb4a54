//! What the tests of this crate share.

// No test needs all of it.
#![allow(dead_code)]

use ferroce_emit::prelude::*;
use ferroce_rtl::desc::cfg::CfgWrite;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Random numbers from `FERROCE_SEED`, or from a seed that is printed.
pub fn random() -> ChaCha8Rng {
    let seed = std::env::var("FERROCE_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or_else(rand::random);
    println!("FERROCE_SEED={seed}");
    ChaCha8Rng::seed_from_u64(seed)
}

/// Lets combinational logic settle.
pub fn settle<U: Block>(uut: &mut U) {
    assert!(simulate(uut, 64), "logic does not settle");
}

/// Connects a design and checks its wiring.
pub fn connected<U: Block>(mut uut: U) -> U {
    uut.connect_all();
    check_all(&uut).expect("the design is wired");
    uut
}

/// A configuration write of an entry as the driver makes it.
pub fn cfg_write(table: u64, index: usize, words: [u64; 4]) -> CfgWrite {
    let mut data = Bits::<256>::default();
    for (k, word) in words.into_iter().enumerate() {
        let word: Bits<64> = word.into();
        data = data | bit_cast::<256, 64>(word) << (64 * k as u64);
    }
    CfgWrite {
        valid: true,
        table: table.into(),
        index: (index as u64).into(),
        data,
    }
}

/// `N` bytes of a beat from byte `at` on.
pub fn bytes_of<const N: usize>(beat: &Bits<512>, at: usize) -> [u8; N] {
    std::array::from_fn(|k| beat.get_bits::<8>(8 * (at + k)).to_u64() as u8)
}
