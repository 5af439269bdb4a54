//! The store-and-forward FIFO by itself, small, so that its corners come often.

use ferroce_emit::harness::random;
use ferroce_emit::prelude::*;
use ferroce_mac_100g::frame_fifo::{FrameFifo, WhenFull};
use ferroce_rtl::stream::Beat;
use rand::Rng;
use std::collections::VecDeque;

const LOG2_DEPTH: usize = 4;
const MAX_BEATS: usize = 10;

/// What left, and what was reported.
#[derive(Default)]
struct Seen {
    frames: Vec<Vec<u64>>,
    overflow: usize,
    discarded: usize,
}

/// One frame of numbered beats.
fn frame(number: u64, beats: usize, err: bool) -> Vec<Beat> {
    (0..beats)
        .map(|index| Beat {
            data: (number << 8 | index as u64).into(),
            len: 64.into(),
            last: index + 1 == beats,
            err: err && index + 1 == beats,
        })
        .collect()
}

fn numbers(beats: &[Beat]) -> Vec<u64> {
    beats.iter().map(|beat| low(beat.data)).collect()
}

fn low(data: Bits<512>) -> u64 {
    let words = pack(&data);
    u64::from(words[0]) | u64::from(words[1]) << 32
}

fn run(frames: &[Vec<Beat>], when_full: WhenFull, offer: f64, ready: f64) -> Seen {
    let mut random = random();
    let mut uut = FrameFifo::new(LOG2_DEPTH, MAX_BEATS, when_full);
    uut.connect_all();
    check_all(&uut).expect("the FIFO is wired");
    let mut queue: VecDeque<Beat> = frames.iter().flatten().copied().collect();
    let mut seen = Seen::default();
    let mut present = Vec::new();
    let mut idle = 0;
    let mut offered = false;
    while idle < 200 {
        idle += 1;
        offered |= random.gen_bool(offer);
        uut.input.valid.next = offered && !queue.is_empty();
        uut.input.data.next = queue.front().copied().unwrap_or_default();
        uut.output.ready.next = random.gen_bool(ready);
        assert!(simulate(&mut uut, 32));
        if uut.input.valid.next && uut.input.ready.val() {
            queue.pop_front();
            offered = false;
            idle = 0;
        }
        assert!(when_full == WhenFull::Wait || uut.input.ready.val());
        if uut.output.ready.next {
            assert!(uut.output.valid.val() || present.is_empty(), "a bubble");
            if uut.output.valid.val() {
                idle = 0;
                let beat = uut.output.data.val();
                assert!(!beat.err);
                present.push(low(beat.data));
                if beat.last {
                    seen.frames.push(std::mem::take(&mut present));
                }
            }
        }
        seen.overflow += usize::from(uut.overflow.val());
        seen.discarded += usize::from(uut.discarded.val());
        for level in [true, false] {
            uut.clock.next = level.into();
            assert!(simulate(&mut uut, 32));
        }
    }
    assert!(queue.is_empty(), "the FIFO hangs");
    assert!(present.is_empty());
    seen
}

/// Random frames, some marked, some too long; and those that may leave.
fn traffic(count: u64) -> (Vec<Vec<Beat>>, Vec<Vec<u64>>, usize) {
    let mut random = random();
    let mut good = Vec::new();
    let frames: Vec<Vec<Beat>> = (0..count)
        .map(|number| {
            let beats = random.gen_range(1..=MAX_BEATS + 3);
            let err = random.gen_bool(0.15);
            let frame = frame(number, beats, err);
            if !err && beats <= MAX_BEATS {
                good.push(numbers(&frame));
            }
            frame
        })
        .collect();
    let bad = frames.len() - good.len();
    (frames, good, bad)
}

#[test]
fn waiting_loses_only_bad_frames() {
    ferroce_emit::on_big_stack(|| {
        let (frames, good, bad) = traffic(400);
        for (offer, ready) in [(1.0, 1.0), (0.5, 1.0), (1.0, 0.5), (0.3, 0.3)] {
            let seen = run(&frames, WhenFull::Wait, offer, ready);
            assert_eq!(seen.frames, good);
            assert_eq!((seen.overflow, seen.discarded), (0, bad));
        }
    });
}

#[test]
fn dropping_loses_whole_frames_and_tells() {
    ferroce_emit::on_big_stack(|| {
        let (frames, good, _) = traffic(400);
        for (offer, ready) in [(1.0, 1.0), (1.0, 0.5), (0.3, 0.3)] {
            let seen = run(&frames, WhenFull::Drop, offer, ready);
            let mut rest = good.iter();
            for frame in &seen.frames {
                assert!(rest.any(|good| good == frame), "not one of those sent");
            }
            let told = seen.frames.len() + seen.overflow + seen.discarded;
            assert_eq!(told, frames.len());
            if ready < 1.0 && offer == 1.0 {
                assert!(seen.overflow > 0);
            }
        }
    });
}
