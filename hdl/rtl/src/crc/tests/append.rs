//! ICRC insertion: bytes, beats, back-pressure, bubbles.

use super::support::*;
use crate::crc::IcrcInsert;
use crate::stream::Beat;
use ferroce_abi::icrc::icrc;
use ferroce_emit::prelude::*;
use rand::Rng;
use std::collections::VecDeque;

impl Clocked for IcrcInsert {
    fn clock(&mut self) -> &mut Signal<In, Clock> {
        &mut self.clock
    }
}

/// What came out of a run.
struct Output {
    beats: Vec<Beat>,
    /// Cycle in which each beat left.
    cycles: Vec<usize>,
}

/// Sends beats through the block. The sink is ready by the given chance, the source offers by the
/// other; an offered beat stays until it is taken.
fn pass(sent: Vec<Beat>, expected: usize, offer: f64, ready: f64, noise: &mut impl Rng) -> Output {
    let mut uut = wired(IcrcInsert::default());
    let mut queue: VecDeque<Beat> = sent.into();
    let mut output = Output {
        beats: Vec::new(),
        cycles: Vec::new(),
    };
    let mut offered = false;
    let mut stalled: Option<Beat> = None;
    for cycle in 0..200_000 {
        offered |= noise.gen_bool(offer);
        uut.from.valid.next = offered && !queue.is_empty();
        uut.from.data.next = queue.front().copied().unwrap_or_default();
        uut.to.ready.next = noise.gen_bool(ready);
        settle(&mut uut);
        if uut.from.valid.next && uut.from.ready.val() {
            queue.pop_front();
            offered = false;
        }
        if let Some(beat) = stalled {
            assert!(uut.to.valid.val(), "an offered beat was withdrawn");
            assert_eq!(uut.to.data.val(), beat, "an offered beat changed");
        }
        stalled = None;
        if uut.to.valid.val() {
            if uut.to.ready.next {
                output.beats.push(uut.to.data.val());
                output.cycles.push(cycle);
            } else {
                stalled = Some(uut.to.data.val());
            }
        }
        tick(&mut uut);
        if output.beats.len() == expected {
            return output;
        }
    }
    panic!("{} of {expected} beats came out", output.beats.len());
}

fn with_icrc(frame: &[u8]) -> Vec<u8> {
    [frame, &icrc(&frame[14..]).expect("an IP packet")].concat()
}

/// Frames of every length modulo 64 and some long ones, and their beats.
fn traffic(noise: &mut impl Rng) -> (Vec<Vec<u8>>, Vec<Beat>) {
    let mut frames: Vec<Vec<u8>> = (0..130)
        .map(|extra| ip_frame(SMALLEST_IP_FRAME + extra, noise))
        .collect();
    frames.extend((0..4).map(|_| ip_frame(noise.gen_range(1000..4200), noise)));
    let sent = frames.iter().flat_map(|f| beats(f, noise)).collect();
    (frames, sent)
}

fn check(frames: &[Vec<u8>], output: &Output) {
    let mut beats = output.beats.iter();
    for frame in frames {
        let expected = with_icrc(frame);
        let mut found = Vec::new();
        for beat in beats.by_ref() {
            found.extend(bytes(beat));
            assert!(beat.last || beat.len.index() == 64, "a short beat inside");
            assert!(!beat.err, "an undamaged frame");
            if beat.last {
                break;
            }
        }
        assert_eq!(found, expected, "frame of {} bytes", frame.len());
    }
    assert!(beats.next().is_none());
}

fn beats_out(frames: &[Vec<u8>]) -> usize {
    frames.iter().map(|f| (f.len() + 4).div_ceil(64)).sum()
}

#[test]
fn full_rate_without_bubbles() {
    on_big_stack(|| {
        let mut noise = seeded("full_rate_without_bubbles");
        let (frames, sent) = traffic(&mut noise);
        let output = pass(sent, beats_out(&frames), 1.0, 1.0, &mut noise);
        check(&frames, &output);
        for pair in output.cycles.windows(2) {
            assert_eq!(pair[1], pair[0] + 1, "a bubble");
        }
    });
}

#[test]
fn random_stalls_change_nothing() {
    on_big_stack(|| {
        let mut noise = seeded("random_stalls_change_nothing");
        let (frames, sent) = traffic(&mut noise);
        for (offer, ready) in [(0.9, 0.3), (0.3, 0.9), (0.6, 0.6)] {
            let expected = beats_out(&frames);
            let output = pass(sent.clone(), expected, offer, ready, &mut noise);
            check(&frames, &output);
        }
    });
}

#[test]
fn damaged_frames_stay_marked_and_get_no_valid_icrc() {
    on_big_stack(|| {
        let mut noise = seeded("damaged_frames_stay_marked_and_get_no_valid_icrc");
        for len in [100, 124, 128, 500] {
            let frame = ip_frame(len, &mut noise);
            let mut sent = beats(&frame, &mut noise);
            if let Some(beat) = sent.last_mut() {
                beat.err = true;
            }
            let expected = beats_out(std::slice::from_ref(&frame));
            let output = pass(sent, expected, 1.0, 1.0, &mut noise);
            let last = output.beats.last().expect("a beat");
            assert!(last.err && last.last);
            assert_eq!(output.beats.iter().filter(|beat| beat.err).count(), 1);
            let found: Vec<u8> = output.beats.iter().flat_map(bytes).collect();
            let inverted: Vec<u8> = with_icrc(&frame)[len..].iter().map(|b| !b).collect();
            assert_eq!(found[len..], inverted);
        }
    });
}
