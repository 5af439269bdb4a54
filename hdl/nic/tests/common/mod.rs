//! What the tests of this crate share.

// No test needs all of it.
#![allow(dead_code)]

use ferroce_emit::prelude::*;

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

/// `N` bytes of a beat from byte `at` on.
pub fn bytes_of<const N: usize>(beat: &Bits<512>, at: usize) -> [u8; N] {
    std::array::from_fn(|k| beat.get_bits::<8>(8 * (at + k)).to_u64() as u8)
}
