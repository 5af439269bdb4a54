//! The host's accesses: requests of every kind against a register file and an independent computation of what they do and how they
//! are answered.

mod ask;
mod bench;
mod corners;
mod expect;
mod flow;
use ask::random_ask;
use bench::{Bench, Stalls};
#[allow(dead_code)] // Each test uses its own part.
use ferroce_emit::harness::random;
use rand::Rng;

#[test]
fn random_requests_are_done_in_order_and_answered_exactly() {
    let mut bench = Bench::new(random());
    for round in 0..12 {
        let stalls = Stalls::random(&mut bench.rng);
        let mut after_cut = false;
        for _ in 0..250 {
            let ask = random_ask(&mut bench.rng, after_cut);
            after_cut = ask.is_cut();
            bench.push(&ask);
        }
        // What was cut off is given up when the next request begins.
        let last = random_ask(&mut bench.rng, true);
        bench.push(&last);
        bench.run(stalls);
        bench.check(&format!("round {round}, {stalls:?}"));
    }
}

/// Beats that no block would send: starts and ends anywhere, descriptors of noise. What comes afterwards works.
#[test]
fn noise_does_not_hang_it() {
    let mut bench = Bench::new(random());
    for _ in 0..20 {
        for _ in 0..200 {
            bench.push_noise();
        }
        let marks: [u64; 2] = bench.rng.gen();
        let stalls = Stalls::random(&mut bench.rng);
        bench.run_noise(stalls, marks);
    }
}
