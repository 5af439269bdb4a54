//! The reliable connection in software: what a requester sends and what a responder answers, packet by packet,
//! written from the standard (IBTA volume 1, chapter 9, with annex A17) and independent of the hardware.
//!
//! There is no time in it: who uses it decides when a time-out is over and when a receiver that was not ready is asked
//! again. Tests put it beside a card, show both the same packets, and compare answers, memory and completions.

mod memory;
mod requester;
mod responder;
mod segments;
mod wire;

pub use memory::{Denied, Memory, Region};
pub use requester::{Requester, RequesterConfig, Work, WorkDone, WorkOp};
pub use responder::{Delivered, Receive, Responder, ResponderConfig};
pub use segments::request_packets;
pub use wire::suffer;

/// PSNs and MSNs have 24 bits.
const MASK: u32 = 0xff_ffff;

/// Sum of PSNs or MSNs.
pub const fn add24(a: u32, b: u32) -> u32 {
    a.wrapping_add(b) & MASK
}

/// How far `psn` is behind `from`, counted upwards.
pub const fn distance24(psn: u32, from: u32) -> u32 {
    psn.wrapping_sub(from) & MASK
}

/// Where a PSN lies from another one (9.7.1: half of the numbers are ahead).
const HALF: u32 = 1 << 23;

/// Pad bytes behind a payload of `len` bytes.
const fn pad(len: usize) -> u8 {
    (len.wrapping_neg() & 3) as u8
}

/// Packets that a message of `len` bytes takes; at least one.
pub const fn packets(len: u64, pmtu: usize) -> u32 {
    let count = len.div_ceil(pmtu as u64) as u32;
    if count == 0 {
        1
    } else {
        count
    }
}
