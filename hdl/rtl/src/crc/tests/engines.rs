//! The engines and the check: value, latency, frames without a gap.

use super::support::*;
use crate::crc::{FcsEngine, IcrcCheck, IcrcEngine, CHECK_LATENCY, FCS_LATENCY, ICRC_LATENCY};
use crate::stream::Beat;
use ferroce_abi::icrc::{fcs, icrc};
use ferroce_emit::prelude::*;
use rand::Rng;
use std::collections::VecDeque;

macro_rules! engine {
    ($engine:ident, $result:ident, $value:ty) => {
        impl Clocked for $engine {
            fn clock(&mut self) -> &mut Signal<In, Clock> {
                &mut self.clock
            }
        }
        impl Engine for $engine {
            type Value = $value;
            fn offer(&mut self, beat: Option<Beat>) {
                self.valid.next = beat.is_some();
                self.beat.next = beat.unwrap_or_default();
            }
            fn result(&self) -> Option<$value> {
                self.done.val().then(|| self.$result.val())
            }
        }
    };
}

/// Longer than any frame of a path MTU of 4096.
const LONGEST: usize = 4200;

/// What the two engines and the check have in common.
pub trait Engine: Clocked {
    type Value: PartialEq + std::fmt::Debug;
    fn offer(&mut self, beat: Option<Beat>);
    fn result(&self) -> Option<Self::Value>;
}
engine!(FcsEngine, crc, Bits<32>);
engine!(IcrcEngine, crc, Bits<32>);
engine!(IcrcCheck, ok, bool);

pub fn number(wire: [u8; 4]) -> Bits<32> {
    u64::from(u32::from_le_bytes(wire)).into()
}

/// Sends frames, with idle cycles by the given chance inside and between them, and expects
/// each result exactly `latency` cycles after the last beat and at no other time.
pub fn run<E: Engine>(
    uut: E,
    latency: usize,
    frames: Vec<(Vec<u8>, E::Value)>,
    idle: f64,
    noise: &mut impl Rng,
) {
    let mut uut = wired(uut);
    let mut queue: VecDeque<Beat> = VecDeque::new();
    let mut values = VecDeque::new();
    for (frame, value) in frames {
        queue.extend(beats(&frame, noise));
        values.push_back((frame.len(), value));
    }
    let mut due: VecDeque<usize> = VecDeque::new();
    let mut now = 0;
    while !queue.is_empty() || !due.is_empty() {
        let offered = if noise.gen_bool(idle) {
            None
        } else {
            queue.pop_front()
        };
        uut.offer(offered);
        settle(&mut uut);
        let result = uut.result();
        assert_eq!(result.is_some(), due.front() == Some(&now), "cycle {now}");
        if let Some(found) = result {
            due.pop_front();
            let (len, value) = values.pop_front().expect("one result a frame");
            assert_eq!(found, value, "frame of {len} bytes");
        }
        if offered.is_some_and(|beat| beat.last) {
            due.push_back(now + latency);
        }
        tick(&mut uut);
        now += 1;
    }
    assert!(values.is_empty());
}

#[test]
fn fcs_of_every_length_without_gaps() {
    on_big_stack(|| {
        let mut noise = seeded("fcs_of_every_length_without_gaps");
        let frames = (1..=LONGEST)
            .map(|len| {
                let frame: Vec<u8> = (0..len).map(|_| noise.gen()).collect();
                let value = number(fcs(&frame));
                (frame, value)
            })
            .collect();
        run(FcsEngine::default(), FCS_LATENCY, frames, 0.0, &mut noise);
    });
}

#[test]
fn fcs_with_gaps() {
    on_big_stack(|| {
        let mut noise = seeded("fcs_with_gaps");
        let frames = (0..60)
            .map(|_| {
                let len = noise.gen_range(1..1600);
                let frame: Vec<u8> = (0..len).map(|_| noise.gen()).collect();
                let value = number(fcs(&frame));
                (frame, value)
            })
            .collect();
        run(FcsEngine::default(), FCS_LATENCY, frames, 0.4, &mut noise);
    });
}

#[test]
fn icrc_of_every_length_without_gaps() {
    on_big_stack(|| {
        let mut noise = seeded("icrc_of_every_length_without_gaps");
        let frames = (SMALLEST_IPV4_FRAME..=LONGEST)
            .map(|len| {
                let frame = ip_frame(len, &mut noise);
                let value = number(icrc(&frame[14..]).expect("an IP packet"));
                (frame, value)
            })
            .collect();
        run(IcrcEngine::default(), ICRC_LATENCY, frames, 0.0, &mut noise);
    });
}

#[test]
fn icrc_with_gaps() {
    on_big_stack(|| {
        let mut noise = seeded("icrc_with_gaps");
        let frames = (0..60)
            .map(|_| {
                let frame = ip_frame(noise.gen_range(SMALLEST_IP_FRAME..1600), &mut noise);
                let value = number(icrc(&frame[14..]).expect("an IP packet"));
                (frame, value)
            })
            .collect();
        run(IcrcEngine::default(), ICRC_LATENCY, frames, 0.4, &mut noise);
    });
}

#[test]
fn one_wrong_bit_fails_the_check() {
    on_big_stack(|| {
        let mut noise = seeded("one_wrong_bit_fails_the_check");
        let frames = (0..150)
            .map(|index| {
                let len = noise.gen_range(SMALLEST_IP_FRAME..400);
                let mut frame = ip_frame(len, &mut noise);
                frame.extend(icrc(&frame[14..]).expect("an IP packet"));
                let damage = index % 2 == 1;
                if damage {
                    // Behind the masked fields everything counts.
                    let byte = noise.gen_range(SMALLEST_IP_FRAME..frame.len());
                    frame[byte] ^= 1 << noise.gen_range(0..8);
                }
                (frame, !damage)
            })
            .collect();
        run(IcrcCheck::default(), CHECK_LATENCY, frames, 0.0, &mut noise);
    });
}
