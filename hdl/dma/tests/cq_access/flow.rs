//! Speed, and who may block whom.

use super::ask::{Ask, READ, WRITE};
use super::bench::{Bench, Stalls};
use ferroce_emit::harness::random;

/// Credits that the block's counter holds.
const CREDITS: u32 = 32;

#[test]
fn writes_of_64_bytes_make_a_word_a_cycle() {
    let mut bench = Bench::new(random());
    const WRITES: usize = 200;
    for k in 0..WRITES as u64 {
        bench.push(&Ask::memory(WRITE, 0x1000 + 64 * (k % 32), 64));
    }
    while bench.accesses.is_empty() {
        bench.cycle(Stalls::default());
    }
    let start = bench.sim.cycle;
    while bench.accesses.len() < 8 * WRITES {
        bench.cycle(Stalls::default());
    }
    let cycles = bench.sim.cycle - start;
    assert_eq!(cycles, 8 * WRITES as u64 - 1, "one word a cycle");
    bench.run(Stalls::default());
    bench.check("writes of 64 bytes");
}

#[test]
fn writes_and_reads_of_a_word_take_few_cycles() {
    let mut bench = Bench::new(random());
    const REQUESTS: u64 = 400;
    for k in 0..REQUESTS {
        let kind = if k % 4 == 3 { READ } else { WRITE };
        bench.push(&Ask::memory(kind, 0x1000 + 8 * (k % 128), 8));
    }
    let start = bench.sim.cycle;
    while bench.packets.len() < REQUESTS as usize / 4 {
        bench.cycle(Stalls::default());
    }
    let cycles = bench.sim.cycle - start;
    assert!(cycles < REQUESTS + 60, "{cycles} cycles");
    bench.run(Stalls::default());
    bench.check("words");
}

/// A block that keeps to its credits offers writes although reads wait; a host that takes no completion can't stop them.
#[test]
fn host_that_takes_no_completions_does_not_stop_its_writes() {
    let mut bench = Bench::new(random());
    let never = Stalls {
        cc: 1.0,
        ..Stalls::default()
    };
    let (mut credits, mut reads, mut writes) = (0, 0, 0);
    for k in 0..6_000 {
        if bench.sim.high("np_wanted") {
            credits = CREDITS.min(credits + 1);
        }
        if bench.beats.is_empty() {
            let addr = 0x1000 + k % 256 * 8;
            if credits > 0 && k % 3 == 0 {
                credits -= 1;
                reads += 1;
                bench.push(&Ask::memory(READ, addr - addr % 64, 64));
            } else {
                writes += 1;
                bench.push(&Ask::memory(WRITE, addr, 8));
            }
        }
        bench.cycle(never);
    }
    assert!(reads >= CREDITS, "{reads} reads");
    assert!(writes > 5_000, "{writes} writes");
    assert!(bench.packets.is_empty());
    let taken = bench.accesses.len();
    assert!(
        taken + 40 > bench.expect.accesses.len(),
        "{taken} accesses of {}",
        bench.expect.accesses.len()
    );
    bench.run(Stalls::default());
    bench.check("completions at last");
}

/// Without credits everything waits, and goes on when completions are taken.
#[test]
fn more_reads_than_places_wait() {
    let mut bench = Bench::new(random());
    for k in 0..300_u64 {
        bench.push(&Ask::memory(READ, 0x1000 + 4 * (k % 512), 64));
    }
    let never = Stalls {
        cc: 1.0,
        ..Stalls::default()
    };
    for _ in 0..2_000 {
        bench.cycle(never);
    }
    assert!(!bench.beats.is_empty(), "reads must wait");
    bench.run(Stalls {
        cc: 0.5,
        ..Stalls::default()
    });
    bench.check("waiting reads");
}
