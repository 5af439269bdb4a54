//! What a request does to the registers and how it is answered, computed byte by byte.

use super::ask::{Ask, Damage, COMPARE_SWAP, LOCKED_READ, READ, WRITE};
use std::collections::HashMap;

/// Beats of the block's longest TLP: descriptor and 1024 bytes.
const MAX_BEATS: usize = (16_usize + 1024).div_ceil(64);

/// An access to a 64-bit word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    pub addr: u64,
    pub write: bool,
    /// Bytes to write.
    pub strobe: u8,
    /// Word to write; other bytes are 0.
    pub data: u64,
}

/// A completion, descriptor and what follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub descriptor: u128,
    /// Payload, or the request behind an error.
    pub rest: Vec<u8>,
    /// Which bytes of `rest` matter.
    pub valid: Vec<bool>,
    /// Accesses that come before it.
    pub accesses_before: usize,
}

/// The registers and what is expected.
#[derive(Debug, Default)]
pub struct Expect {
    pub bytes: HashMap<u64, u8>,
    pub accesses: Vec<Access>,
    pub answers: Vec<Answer>,
    pub unsupported: usize,
    pub dropped: usize,
    pub damaged: usize,
}

/// Content of a register that was never written.
pub fn untouched(addr: u64) -> u8 {
    (addr.wrapping_mul(0x9E37_79B9) >> 13) as u8
}

impl Expect {
    fn byte(&self, addr: u64) -> u8 {
        self.bytes.get(&addr).copied().unwrap_or(untouched(addr))
    }

    /// A request comes.
    pub fn request(&mut self, ask: &Ask) {
        if matches!(
            ask.damage,
            Damage::Discontinue | Damage::Cut | Damage::Headless
        ) || (16 + ask.payload.len()).div_ceil(64) > MAX_BEATS
        {
            self.damaged += 1;
            return;
        }
        let here = ask.bar == 0 && ask.function == 0;
        match ask.kind {
            WRITE if here && ask.damage == Damage::None => self.write(ask),
            READ if here && ask.dwords <= 16 => self.read(ask),
            READ if here => self.refuse(ask, 4),
            _ if ask.posted() => self.dropped += 1,
            _ => self.refuse(ask, 1),
        }
    }

    fn enabled(ask: &Ask) -> Vec<bool> {
        (0..4 * ask.dwords)
            .map(|k| {
                let enables = match k / 4 {
                    0 => ask.first,
                    d if d + 1 == ask.dwords => ask.last,
                    _ => 0xF,
                };
                enables >> (k % 4) & 1 == 1
            })
            .collect()
    }

    fn offset(ask: &Ask) -> u64 {
        ask.addr % (1 << ask.aperture.min(20))
    }

    /// Addresses of the words that a request touches.
    fn words(ask: &Ask) -> impl Iterator<Item = u64> {
        let start = Self::offset(ask);
        let end = start + 4 * ask.dwords as u64;
        (start / 8..end.div_ceil(8)).map(|word| word * 8)
    }

    fn write(&mut self, ask: &Ask) {
        let (start, enabled) = (Self::offset(ask), Self::enabled(ask));
        for addr in Self::words(ask) {
            let (mut strobe, mut word) = (0, 0);
            for k in 0..8 {
                let Some(at) = (addr + k).checked_sub(start) else {
                    continue;
                };
                if enabled.get(at as usize) == Some(&true) {
                    let byte = ask.payload[at as usize];
                    strobe |= 1 << k;
                    word |= u64::from(byte) << (8 * k);
                    self.bytes.insert(addr + k, byte);
                }
            }
            self.accesses.push(Access {
                addr,
                write: true,
                strobe,
                data: word,
            });
        }
    }

    fn read(&mut self, ask: &Ask) {
        for addr in Self::words(ask) {
            self.accesses.push(Access {
                addr,
                write: false,
                strobe: 0,
                data: 0,
            });
        }
        let start = Self::offset(ask);
        let valid = Self::enabled(ask);
        let rest = (0..valid.len() as u64)
            .map(|k| self.byte(start + k))
            .collect();
        self.answer(ask, 0, rest, valid);
    }

    /// Lower address and byte count of a memory read.
    fn span(ask: &Ask) -> (u64, usize) {
        let enabled = Self::enabled(ask);
        let first = enabled.iter().position(|&e| e);
        let last = enabled.iter().rposition(|&e| e);
        let count = first.zip(last).map_or(1, |(first, last)| last - first + 1);
        ((ask.addr + first.unwrap_or(0) as u64) & 0x7F, count)
    }

    fn refuse(&mut self, ask: &Ask, status: u8) {
        self.unsupported += 1;
        let mut rest = vec![ask.first | ask.last << 4, 0, 0, 0];
        rest.extend(ask.descriptor().to_le_bytes());
        let valid = vec![true; rest.len()];
        self.answer(ask, status, rest, valid);
    }

    fn answer(&mut self, ask: &Ask, status: u8, rest: Vec<u8>, valid: Vec<bool>) {
        let dwords = if status == 0 { ask.dwords } else { 0 };
        let (lower, count) = match ask.kind {
            READ | LOCKED_READ => Self::span(ask),
            COMPARE_SWAP => (0, ask.dwords * 2),
            4 | 5 => (0, ask.dwords * 4),
            _ => (0, 4),
        };
        // PCIe block's CC descriptor.
        let descriptor = u128::from(lower)
            | u128::from(ask.at) << 8
            | (count as u128) << 16
            | u128::from(ask.kind == LOCKED_READ) << 29
            | (dwords as u128) << 32
            | u128::from(status) << 43
            | u128::from(ask.requester) << 48
            | u128::from(ask.tag) << 64
            | u128::from(ask.function) << 72
            | u128::from(ask.tc) << 89
            | u128::from(ask.attr) << 92;
        self.answers.push(Answer {
            descriptor,
            rest,
            valid,
            accesses_before: self.accesses.len(),
        });
    }
}
