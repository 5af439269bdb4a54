//! Frames as beats, random RoCEv2 frames, and a clock.

use crate::stream::Beat;
use ferroce_emit::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A generator seeded from `FERROCE_SEED`, or by chance; the seed is printed.
pub fn seeded(test: &str) -> ChaCha8Rng {
    let seed = std::env::var("FERROCE_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or_else(rand::random);
    println!("{test}: FERROCE_SEED={seed}");
    ChaCha8Rng::seed_from_u64(seed)
}

/// Runs `body` on a thread whose stack has room for wide modules.
pub fn on_big_stack(body: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new()
        .stack_size(256 << 20)
        .spawn(body)
        .expect("a thread");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// The beats of a frame, with noise beyond its end.
pub fn beats(frame: &[u8], noise: &mut impl Rng) -> Vec<Beat> {
    let count = frame.len().div_ceil(64);
    frame
        .chunks(64)
        .enumerate()
        .map(|(index, bytes)| {
            let mut filled = [0u8; 64];
            noise.fill_bytes(&mut filled);
            filled[..bytes.len()].copy_from_slice(bytes);
            let words: Vec<u32> = filled
                .chunks(4)
                .map(|word| u32::from_le_bytes(word.try_into().expect("4 bytes")))
                .collect();
            Beat {
                data: unpack(&words),
                len: (bytes.len() as u64).into(),
                last: index + 1 == count,
                err: false,
            }
        })
        .collect()
}

/// The valid bytes of a beat.
pub fn bytes(beat: &Beat) -> Vec<u8> {
    pack(&beat.data)
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .take(beat.len.index())
        .collect()
}

/// Random bytes that look like an IP packet in an Ethernet frame, `len` bytes in all; IPv4 where IPv6 would be too
/// short.
pub fn ip_frame(len: usize, noise: &mut impl Rng) -> Vec<u8> {
    let mut frame = vec![0; len];
    noise.fill_bytes(&mut frame);
    let (ethertype, version): ([u8; 2], u8) = if len < SMALLEST_IP_FRAME || noise.gen() {
        ([0x08, 0x00], 0x40)
    } else {
        ([0x86, 0xDD], 0x60)
    };
    frame[12..14].copy_from_slice(&ethertype);
    frame[14] = version | frame[14] & 0x0F;
    frame
}

/// Smallest frame whose masked fields are all there: IPv6 up to BTH byte 4.
pub const SMALLEST_IP_FRAME: usize = 14 + 53;

/// The same for IPv4: up to BTH byte 4. Shorter than any RoCEv2 frame.
pub const SMALLEST_IPV4_FRAME: usize = 14 + 33;

/// A module with one clock.
pub trait Clocked: Block {
    /// Its clock.
    fn clock(&mut self) -> &mut Signal<In, Clock>;
}

/// A module that settled, wired and checked.
pub fn wired<B: Block>(mut uut: B) -> B {
    uut.connect_all();
    check_all(&uut).expect("the module is wired");
    uut
}

/// Lets the inputs of a cycle take effect.
pub fn settle(uut: &mut impl Clocked) {
    uut.clock().next = false.into();
    assert!(simulate(uut, 64), "settles");
}

/// The clock edge that ends a cycle.
pub fn tick(uut: &mut impl Clocked) {
    uut.clock().next = true.into();
    assert!(simulate(uut, 64), "settles");
}
