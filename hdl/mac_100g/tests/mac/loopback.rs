//! Undamaged frames through both directions.

use crate::bench::{Bench, Counts, Rates, FULL};
use crate::frames::{assert_frames, beats, noise, on_wire, padded};
use ferroce_emit::on_big_stack;
use ferroce_mac_100g::Fcs;
use rand::Rng;

/// Sends frames and turns what the MAC was given around to the receive side.
fn loop_back(bench: &mut Bench, frames: &[Vec<u8>], limit: usize) {
    let mut turned = 0;
    for frame in frames {
        let beats = beats(frame, &mut bench.random);
        bench.tx.extend(beats);
    }
    bench.run_until(limit, |bench| {
        while turned < bench.mac_tx.frames.len() {
            let beats = beats(&bench.mac_tx.frames[turned], &mut bench.random);
            bench.mac_rx.extend(beats);
            turned += 1;
        }
        bench.rx.frames.len() == frames.len()
    });
    // Nothing may follow.
    bench.run(200);
}

fn check(bench: &Bench, frames: &[Vec<u8>]) {
    let expected: Vec<_> = frames.iter().map(|frame| on_wire(frame)).collect();
    assert_frames(&bench.mac_tx.frames, &expected);
    let expected: Vec<_> = frames.iter().map(|frame| padded(frame)).collect();
    assert_frames(&bench.rx.frames, &expected);
    assert_eq!(bench.counts, Counts::default());
}

#[test]
fn every_short_length_at_full_rate() {
    on_big_stack(|| {
        let mut bench = Bench::new(Fcs::InCard, FULL);
        let frames: Vec<_> = (1..=330).map(|len| noise(len, &mut bench.random)).collect();
        loop_back(&mut bench, &frames, 5_000);
        check(&bench, &frames);
    });
}

#[test]
fn random_lengths_with_pauses_everywhere() {
    on_big_stack(|| {
        let rates = Rates {
            offer: 0.8,
            mac_ready: 0.6,
            arrive: 0.7,
            ready: 0.95,
        };
        let mut bench = Bench::new(Fcs::InCard, rates);
        let mut frames: Vec<_> = (0..30)
            .map(|_| {
                let longest = [60, 200, 1500, 9596][bench.random.gen_range(0..4)];
                let len = bench.random.gen_range(1..=longest);
                noise(len, &mut bench.random)
            })
            .collect();
        frames.push(noise(9596, &mut bench.random));
        frames.push(noise(1, &mut bench.random));
        loop_back(&mut bench, &frames, 20_000);
        check(&bench, &frames);
    });
}

#[test]
fn smallest_frames_pass_at_one_a_core_cycle() {
    on_big_stack(|| {
        let mut bench = Bench::new(Fcs::InCard, FULL);
        let frames: Vec<_> = (0..2000).map(|_| noise(60, &mut bench.random)).collect();
        let beats: Vec<_> = frames
            .iter()
            .flat_map(|frame| beats(frame, &mut bench.random))
            .collect();
        bench.tx.extend(beats);
        bench.run_until(2100, |bench| bench.mac_tx.frames.len() == 2000);
        // The receive side at the MAC's rate of one a cycle would need 322 M frames/s of the core;
        // at 64 bytes and 100 Gb/s it is 149 M, so it is played at 0.6.
        bench.rates.arrive = 0.6;
        let beats: Vec<_> = bench
            .mac_tx
            .frames
            .iter()
            .flat_map(|frame| crate::frames::beats(frame, &mut bench.random.clone()))
            .collect();
        bench.mac_rx.extend(beats);
        bench.run_until(3000, |bench| bench.rx.frames.len() == 2000);
        check(&bench, &frames);
    });
}

#[test]
fn long_frames_leave_at_the_cores_rate() {
    on_big_stack(|| {
        let mut bench = Bench::new(Fcs::InCard, FULL);
        // A path MTU of 4096 with all headers and ICRC.
        let frames: Vec<_> = (0..40).map(|_| noise(4170, &mut bench.random)).collect();
        let beats: Vec<_> = frames
            .iter()
            .flat_map(|frame| beats(frame, &mut bench.random))
            .collect();
        let count = beats.len();
        bench.tx.extend(beats);
        // One frame's time for storing the first.
        bench.run_until(count + 66 + 60, |bench| bench.mac_tx.frames.len() == 40);
    });
}

#[test]
fn a_mac_with_fcs_gets_and_gives_none() {
    on_big_stack(|| {
        let mut bench = Bench::new(Fcs::InMac, FULL);
        let frames: Vec<_> = (1..200).map(|len| noise(len, &mut bench.random)).collect();
        loop_back(&mut bench, &frames, 5_000);
        let expected: Vec<_> = frames.iter().map(|frame| padded(frame)).collect();
        assert_frames(&bench.mac_tx.frames, &expected);
        assert_frames(&bench.rx.frames, &expected);
        assert_eq!(bench.counts, Counts::default());
    });
}
