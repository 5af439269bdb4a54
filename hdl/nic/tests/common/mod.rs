//! What the tests of this crate share.

use ferroce_emit::prelude::*;
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

/// Runs a test on a stack that holds a design.
pub fn on_big_stack(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new()
        .stack_size(256 << 20)
        .spawn(test)
        .expect("a thread starts");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
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
