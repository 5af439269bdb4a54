//! Damaged, short, long and unwelcome frames.

use crate::bench::{Bench, Counts, FULL};
use crate::frames::{assert_frames, beats, noise, on_wire, padded, with_fcs};
use ferroce_emit::on_big_stack;
use ferroce_mac_100g::Fcs;
use rand::Rng;

/// Lets frames arrive from the MAC and waits until they are through.
fn receive(bench: &mut Bench, frames: &[Vec<u8>]) {
    for frame in frames {
        let beats = beats(frame, &mut bench.random);
        bench.mac_rx.extend(beats);
    }
    bench.run_until(100_000, |bench| bench.mac_rx.is_empty());
    // Longer than the FIFOs take to drain.
    bench.run(1000);
}

#[test]
fn one_wrong_bit_drops_the_frame() {
    on_big_stack(|| {
        let mut bench = Bench::new(Fcs::InCard, FULL);
        bench.rates.arrive = 0.7;
        let (mut wire, mut good) = (Vec::new(), Vec::new());
        for index in 0..300 {
            let len = bench.random.gen_range(60..300);
            let frame = noise(len, &mut bench.random);
            let mut on_wire = with_fcs(&frame);
            if index % 3 == 0 {
                let byte = bench.random.gen_range(0..on_wire.len());
                on_wire[byte] ^= 1 << bench.random.gen_range(0..8);
            } else {
                good.push(frame);
            }
            wire.push(on_wire);
        }
        receive(&mut bench, &wire);
        assert_frames(&bench.rx.frames, &good);
        let expected = Counts {
            bad_fcs: 100,
            ..Counts::default()
        };
        assert_eq!(bench.counts, expected);
    });
}

#[test]
fn a_frame_that_the_mac_marks_is_dropped() {
    on_big_stack(|| {
        for fcs in [Fcs::InCard, Fcs::InMac] {
            let mut bench = Bench::new(fcs, FULL);
            let frames: Vec<_> = (0..6).map(|_| noise(200, &mut bench.random)).collect();
            for (index, frame) in frames.iter().enumerate() {
                let on_wire = match fcs {
                    Fcs::InCard => with_fcs(frame),
                    Fcs::InMac => frame.clone(),
                };
                let mut beats = beats(&on_wire, &mut bench.random);
                if let (1 | 4, Some(beat)) = (index, beats.last_mut()) {
                    beat.err = true;
                }
                bench.mac_rx.extend(beats);
            }
            bench.run(300);
            let good: Vec<_> = [0, 2, 3, 5]
                .map(|index: usize| frames[index].clone())
                .into();
            assert_frames(&bench.rx.frames, &good);
            let expected = Counts {
                bad_fcs: 2,
                ..Counts::default()
            };
            assert_eq!(bench.counts, expected);
        }
    });
}

#[test]
fn runts_and_oversize_frames_are_dropped_and_counted() {
    on_big_stack(|| {
        let mut bench = Bench::new(Fcs::InCard, FULL);
        bench.rates.arrive = 0.7;
        // All with a correct FCS.
        let mut wire: Vec<_> = (1..=4).map(|len| noise(len, &mut bench.random)).collect();
        let mut good = Vec::new();
        for len in (1..=136).chain([9595, 9596, 9597, 9598, 60, 9660, 9597, 12_000, 60]) {
            let frame = noise(len, &mut bench.random);
            wire.push(with_fcs(&frame));
            if (60..=9596).contains(&len) {
                good.push(frame);
            }
        }
        receive(&mut bench, &wire);
        assert_frames(&bench.rx.frames, &good);
        let expected = Counts {
            runt: 4 + 59,
            oversize: 5,
            ..Counts::default()
        };
        assert_eq!(bench.counts, expected);
    });
}

#[test]
fn runts_when_the_mac_strips() {
    on_big_stack(|| {
        let mut bench = Bench::new(Fcs::InMac, FULL);
        let wire: Vec<_> = (1..=130).map(|len| noise(len, &mut bench.random)).collect();
        receive(&mut bench, &wire);
        assert_frames(&bench.rx.frames, &wire[59..]);
        assert_eq!(bench.counts.runt, 59);
    });
}

#[test]
fn what_finds_no_room_is_dropped_whole() {
    on_big_stack(|| {
        let mut bench = Bench::new(Fcs::InCard, FULL);
        bench.rates.ready = 0.0;
        let frames: Vec<_> = (0..120)
            .map(|_| {
                let len = bench.random.gen_range(60..1500);
                noise(len, &mut bench.random)
            })
            .collect();
        let wire: Vec<_> = frames.iter().map(|frame| with_fcs(frame)).collect();
        receive(&mut bench, &wire);
        let lost = bench.counts.overflow;
        assert!(lost > 20, "{lost} frames were dropped");
        assert_eq!(bench.rx.frames.len(), 0);
        bench.rates.ready = 0.5;
        bench.run(3000);
        // What arrived is the rest, in order and whole.
        assert_eq!(bench.rx.frames.len(), frames.len() - lost);
        let mut rest = frames.iter();
        for found in &bench.rx.frames {
            assert!(rest.any(|frame| frame == found), "a frame nobody sent");
        }
        // There is room again.
        let before = bench.rx.frames.len();
        receive(&mut bench, &wire[..10]);
        assert_frames(&bench.rx.frames[before..], &frames[..10]);
        assert_eq!(bench.counts.overflow, lost);
    });
}

#[test]
fn marked_and_endless_frames_are_not_sent() {
    on_big_stack(|| {
        let mut bench = Bench::new(Fcs::InCard, FULL);
        let lengths = [9601, 60, 700, 30_000, 64, 10, 9596, 500];
        let marked = [2, 5];
        let mut good = Vec::new();
        for (index, len) in lengths.into_iter().enumerate() {
            let frame = noise(len, &mut bench.random);
            let mut beats = beats(&frame, &mut bench.random);
            if let (true, Some(beat)) = (marked.contains(&index), beats.last_mut()) {
                beat.err = true;
            } else if len <= 9600 {
                good.push(frame);
            }
            bench.tx.extend(beats);
        }
        bench.run_until(5000, |bench| bench.mac_tx.frames.len() == good.len());
        bench.run(100);
        let expected: Vec<_> = good.iter().map(|frame| on_wire(frame)).collect();
        assert_frames(&bench.mac_tx.frames, &expected);
        assert_eq!(bench.counts.discarded, 4);
        assert_eq!(padded(&good[0]), good[0]);
    });
}
