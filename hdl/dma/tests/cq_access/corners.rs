//! Requests that are easily got wrong, one by one.

use super::ask::{Ask, Damage, COMPARE_SWAP, LOCKED_READ, MESSAGE, READ, WRITE};
use super::bench::{Bench, Stalls};
use ferroce_emit::harness::random;

fn of(asks: &[Ask]) {
    let mut bench = Bench::new(random());
    for ask in asks {
        bench.push(ask);
        bench.run(Stalls::default());
        bench.check(&format!("{ask:x?}"));
    }
}

/// 16 marked bytes, and then `asks`.
fn behind_a_write(asks: impl IntoIterator<Item = Ask>) {
    let mut all = vec![Ask::memory(WRITE, 0x100, 64)];
    all.extend(asks);
    of(&all);
}

#[test]
fn read_of_no_byte_has_one_doubleword_and_byte_count_one() {
    let mut without_length = Ask::memory(READ, 0x104, 0);
    without_length.dwords = 1;
    behind_a_write([Ask::memory(READ, 0x100, 0), without_length]);
}

#[test]
fn single_bytes_at_every_offset() {
    behind_a_write((0x100..0x110).flat_map(|addr| {
        [
            Ask::memory(READ, addr, 1),
            Ask::memory(WRITE, addr + 0x20, 1),
        ]
    }));
}

#[test]
fn reads_and_writes_of_every_length_at_every_offset() {
    let mut bench = Bench::new(random());
    for offset in 0..8 {
        for len in 1..=64 - offset as usize % 4 {
            bench.push(&Ask::memory(WRITE, 0x200 + offset, len));
            bench.push(&Ask::memory(READ, 0x200 + offset, len));
        }
    }
    bench.run(Stalls::default());
    bench.check("every length at every offset");
}

#[test]
fn sparse_byte_enables() {
    let mut asks = Vec::new();
    for enables in 0..=255 {
        let (first, last) = (enables & 0xF, enables >> 4);
        if first != 0 && last != 0 {
            let mut write = Ask::memory(WRITE, 0x308, 8);
            (write.first, write.last) = (first, last);
            let mut read = Ask::memory(READ, 0x308, 8);
            (read.first, read.last) = (first, last);
            asks.extend([write, read]);
        }
    }
    let mut none = Ask::memory(WRITE, 0x310, 4);
    none.first = 0;
    asks.push(none);
    of(&asks);
}

#[test]
fn reads_of_more_than_64_bytes_are_aborted() {
    behind_a_write([
        Ask::memory(READ, 0x100, 68),
        Ask::memory(READ, 0x100, 64),
        Ask::memory(READ, 0x101, 64),
        Ask::memory(READ, 0, 4096),
        Ask::memory(READ, 0x104, 64),
    ]);
}

#[test]
fn other_requests_are_refused_or_dropped() {
    let other = |kind: u8, dwords: usize, carries: bool| {
        let mut ask = Ask::memory(READ, 0x100, 4 * dwords);
        ask.kind = kind;
        ask.payload = vec![0xEE; if carries { 4 * dwords } else { 0 }];
        ask
    };
    behind_a_write([
        other(2, 1, false),
        other(3, 1, true),
        other(4, 2, true),
        other(5, 1, true),
        other(COMPARE_SWAP, 8, true),
        other(LOCKED_READ, 3, false),
        other(8, 1, false),
        other(10, 1, true),
        other(MESSAGE, 256, true),
        other(MESSAGE, 0, false),
        other(15, 5, true),
        Ask::memory(READ, 0x100, 64),
    ]);
}

#[test]
fn other_places_are_refused_or_dropped() {
    let mut asks = Vec::new();
    for (function, bar) in [(0, 2), (1, 0), (0, 6), (0x80, 0)] {
        for kind in [READ, WRITE] {
            let mut ask = Ask::memory(kind, 0x100, 64);
            (ask.function, ask.bar) = (function, bar);
            asks.push(ask);
        }
    }
    asks.push(Ask::memory(READ, 0x100, 64));
    behind_a_write(asks);
}

#[test]
fn damaged_requests_leave_no_trace() {
    let damaged = |damage, len| Ask {
        damage,
        payload: vec![0xEE; len],
        ..Ask::memory(WRITE, 0x100, len)
    };
    let mut bench = Bench::new(random());
    for ask in [
        Ask::memory(WRITE, 0x100, 64),
        damaged(Damage::Discontinue, 8),
        damaged(Damage::Discontinue, 1024),
        damaged(Damage::Headless, 128),
        damaged(Damage::Cut, 128),
        Ask::memory(READ, 0x100, 64),
        // Longer than any TLP of the block.
        damaged(Damage::None, 1076),
        damaged(Damage::None, 4096),
        damaged(Damage::Length, 64),
        damaged(Damage::Cut, 1024),
        Ask::memory(READ, 0x140, 64),
    ] {
        bench.push(&ask);
    }
    bench.run(Stalls::default());
    bench.check("damaged requests");
}
