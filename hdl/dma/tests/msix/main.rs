//! MSI-X: the table as the host sees it, and messages, against a plain model.

mod bench;
mod model;
use bench::Bench;
use ferroce_dma::msix::{PBA_OFFSET, WINDOW_BYTES};
#[allow(dead_code)] // Each test uses its own part.
use ferroce_emit::harness::random;
use model::{Message, MASK_BIT};
use rand::seq::SliceRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// One operation at a time, and what follows from it.
fn random_steps(log2: usize, steps: usize) {
    let mut bench = Bench::new(log2, random());
    let vectors = 1 << log2;
    for step in 0..steps {
        let what = format!("step {step} of {vectors} vectors");
        match bench.rng.gen_range(0..12) {
            0..=2 => {
                let (addr, strobe, data) = random_write(&mut bench.rng, vectors);
                bench.write(addr, strobe, data);
                let due = bench.model.write(addr, strobe, data);
                bench.expect_messages(due, true, &what);
            }
            3 | 4 => {
                // Unmask, more often than chance would.
                let vector = bench.rng.gen_range(0..vectors);
                let data = u64::from(bench.rng.gen::<u32>());
                let addr = 16 * vector + 8;
                bench.write(addr, 0xFF, data);
                let due = bench.model.write(addr, 0xFF, data);
                bench.expect_messages(due, true, &what);
            }
            5 | 6 => {
                let addr = bench.rng.gen_range(0..WINDOW_BYTES / 8) * 8;
                let expected = bench.model.read(addr);
                assert_eq!(bench.read(addr), expected, "{addr:#x}, {what}");
            }
            7 => {
                for addr in [PBA_OFFSET, PBA_OFFSET + 8] {
                    let expected = bench.model.read(addr);
                    assert_eq!(bench.read(addr), expected, "{addr:#x}, {what}");
                }
            }
            8 => {
                let (enable, mask) = (bench.rng.gen_bool(0.7), bench.rng.gen_bool(0.3));
                bench.set_function(enable, mask);
                let due = bench.model.set_function(enable, mask);
                bench.expect_messages(due, true, &what);
            }
            _ => {
                let burst = bench.rng.gen_range(1..12);
                let mut due = Vec::new();
                for _ in 0..burst {
                    // Numbers beyond the table, too.
                    let vector = bench.rng.gen_range(0..128);
                    let vector = vector % (2 * vectors).min(128);
                    bench.fire(vector);
                    due.extend(bench.model.fire(vector));
                }
                bench.expect_messages(due, false, &what);
            }
        }
    }
}

fn random_write(rng: &mut ChaCha8Rng, vectors: u64) -> (u64, u8, u64) {
    let addr = match rng.gen_range(0..8) {
        0 => rng.gen_range(0..WINDOW_BYTES / 8) * 8,
        _ => rng.gen_range(0..2 * vectors) * 8,
    };
    let strobe = *[0xFF, 0xFF, 0x0F, 0xF0, 0x7F, 0xF1, 0x00]
        .choose(rng)
        .unwrap();
    (addr, strobe, rng.gen())
}

#[test]
fn every_step_with_128_vectors() {
    random_steps(7, 400);
}

#[test]
fn every_step_with_8_vectors() {
    random_steps(3, 600);
}

/// Table entry of a vector, with data that names it.
fn set_up(bench: &mut Bench, vector: u64, masked: bool) {
    let address = 0xFEE0_0000_0000 + 0x1004 * vector;
    let control = if masked { MASK_BIT } else { 0 };
    for (addr, data) in [
        (16 * vector, address),
        (16 * vector + 8, 0x8000_0000 | vector | control),
    ] {
        bench.write(addr, 0xFF, data);
        bench.model.write(addr, 0xFF, data);
    }
}

fn message(vector: u64) -> Message {
    Message {
        addr: 0xFEE0_0000_0000 + 0x1004 * vector,
        data: 0x8000_0000 | vector as u32,
    }
}

/// All vectors are masked at first; an event sets the pending bit, and unmasking sends one message for all events.
#[test]
fn masked_events_are_sent_once_on_unmask() {
    let mut bench = Bench::new(7, random());
    assert_eq!(bench.read(8), MASK_BIT);
    bench.set_function(true, false);
    set_up(&mut bench, 77, true);
    for _ in 0..5 {
        bench.fire(77);
    }
    bench.expect_messages(vec![], false, "masked");
    assert_eq!(bench.read(PBA_OFFSET + 8), 1 << (77 - 64));
    set_up(&mut bench, 77, false);
    bench.expect_messages(vec![message(77)], false, "unmasked");
    assert_eq!(bench.read(PBA_OFFSET + 8), 0);
    bench.set_function(true, true);
    bench.fire(77);
    bench.expect_messages(vec![], false, "function masked");
    bench.set_function(true, false);
    bench.expect_messages(vec![message(77)], false, "function unmasked");
    bench.set_function(false, false);
    bench.fire(77);
    bench.expect_messages(vec![], false, "disabled");
    bench.set_function(true, false);
    bench.expect_messages(vec![], false, "events while disabled are gone");
}

/// Events, masking and unmasking all at once: nothing is invented, and no vector's last event is lost.
#[test]
fn no_event_is_lost_in_the_crowd() {
    let mut bench = Bench::new(7, random());
    const VECTORS: u64 = 128;
    bench.set_function(true, false);
    for vector in 0..VECTORS {
        set_up(&mut bench, vector, true);
    }
    let mut events = [0_usize; VECTORS as usize];
    let mut last_event = [None; VECTORS as usize];
    for _ in 0..4_000 {
        let vector = bench.rng.gen_range(0..VECTORS);
        match bench.rng.gen_range(0..6) {
            0 => {
                let masked = u64::from(bench.rng.gen::<bool>()) * MASK_BIT;
                bench.queue_write(16 * vector + 8, 0xF0, masked);
            }
            1 => {
                let mask = bench.rng.gen_bool(0.2);
                bench.set_function(true, mask);
            }
            _ => {
                bench.queue_fire(vector);
                events[vector as usize] += 1;
            }
        }
        for _ in 0..bench.rng.gen_range(0..12) {
            bench.cycle();
        }
    }
    bench.set_function(true, false);
    for vector in 0..VECTORS {
        bench.queue_write(16 * vector + 8, 0xF0, 0);
    }
    bench.settle_down();
    for &(cycle, vector) in &bench.fired {
        last_event[vector as usize] = Some(cycle);
    }
    let mut sent = [0_usize; VECTORS as usize];
    let mut last_sent = [None; VECTORS as usize];
    for &(cycle, got) in &bench.messages {
        let vector = u64::from(got.data & 0x7F);
        assert_eq!(got, message(vector));
        sent[vector as usize] += 1;
        last_sent[vector as usize] = Some(cycle);
    }
    for vector in 0..VECTORS as usize {
        assert!(sent[vector] <= events[vector], "vector {vector}");
        assert!(last_sent[vector] >= last_event[vector], "vector {vector}");
    }
    assert_eq!(bench.read(PBA_OFFSET), 0);
    assert_eq!(bench.read(PBA_OFFSET + 8), 0);
}
