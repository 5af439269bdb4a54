//! Beats and cycles.

use crate::bench::{Bench, BenchConfig, LOG2_TIMEOUT};
use crate::fates::Fate;
use crate::host::{HostConfig, ALL_SLOTS};
use ferroce_emit::harness::random;
use rand::Rng;

const CONFIG: BenchConfig = BenchConfig {
    max_read_req: 2,
    // So that RC alone sets the pace.
    headers: ALL_SLOTS,
    host: HostConfig {
        straddle: true,
        boundary: 64,
        split: 0.0,
        latency: 225,
        disorder: 1,
        errors: 0.0,
        late: 0.0,
        late_cycles: 4 << LOG2_TIMEOUT,
        strays: 0.0,
    },
    request_rate: 1.0,
    reads_rate: 1.0,
    rc_rate: 1.0,
    data_rate: 1.0,
};

/// Fills all payload slots, then answers without a gap: beats of RC, cycles in which one waited, cycles for the data.
fn answer_all(config: BenchConfig, offset: u64, len: u64) -> Bench {
    let mut bench = Bench::new(config, random());
    bench.open_rc(false);
    let mut asked = 0;
    for _ in 0..2_000 {
        bench.cycle(
            &mut |clients, _| {
                asked += 1;
                (asked <= 128)
                    .then(|| clients.request(0, 4096 * asked + offset, len, false))
                    .flatten()
            },
            &mut |_| Fate::Good,
        );
    }
    assert_eq!(bench.host.outstanding(), 128);
    bench.open_rc(true);
    bench.drain(10_000);
    let counts = bench.counts;
    println!(
        "{} RC beats, {} stalls, {} data beats in {} cycles",
        counts.rc_beats,
        counts.rc_stalls,
        counts.data_beats,
        counts.data_last + 1 - counts.data_first
    );
    bench
}

#[test]
fn aligned_completions_of_256_bytes_take_a_beat_a_cycle() {
    let mut config = CONFIG;
    config.host.boundary = 256;
    config.host.split = 1.0;
    let bench = answer_all(config, 0, 512);
    // 256 completions of 12 + 256 bytes, each from a multiple of 16 on.
    assert_eq!(bench.counts.rc_beats, 256 * 272 / 64);
    assert_eq!(bench.counts.rc_stalls, 0);
    let counts = bench.counts;
    assert_eq!(counts.data_beats, 1024);
    assert!(counts.data_last - counts.data_first < 1024 * 272 / 256 + 8);
}

#[test]
fn completions_of_64_bytes_take_a_beat_a_cycle() {
    let mut config = CONFIG;
    config.host.split = 1.0;
    let bench = answer_all(config, 0, 512);
    assert_eq!(bench.counts.rc_beats, 1024 * 80 / 64);
    assert_eq!(bench.counts.rc_stalls, 0);
}

#[test]
fn completions_take_a_beat_a_cycle_without_straddling() {
    let mut config = CONFIG;
    config.host.straddle = false;
    config.host.boundary = 256;
    config.host.split = 1.0;
    let bench = answer_all(config, 0, 512);
    assert_eq!(bench.counts.rc_beats, 256 * 5);
    assert_eq!(bench.counts.rc_stalls, 0);
}

#[test]
fn unaligned_completions_take_a_cycle_for_each_part_at_most() {
    for offset in [4, 20, 36, 60, 63] {
        let mut config = CONFIG;
        config.host.boundary = 128;
        config.host.split = 1.0;
        let bench = answer_all(config, offset, 400);
        let starts = 128 * ((offset + 400 - 1) / 128 + 1);
        assert!(
            bench.counts.rc_stalls <= starts,
            "{} stalls, {starts} completions",
            bench.counts.rc_stalls
        );
    }
}

#[test]
fn slots_that_are_over_come_out_a_line_a_cycle() {
    let bench = {
        let mut config = CONFIG;
        config.data_rate = 0.0;
        let mut bench = Bench::new(config, random());
        let mut asked = 0;
        for _ in 0..4_000 {
            bench.cycle(
                &mut |clients, rng| {
                    asked += 1;
                    let len = [64, 128, 512][rng.gen_range(0..3)];
                    (asked <= 128)
                        .then(|| clients.request(0, 4096 * asked, len, false))
                        .flatten()
                },
                &mut |_| Fate::Good,
            );
        }
        bench.config.data_rate = 1.0;
        bench.drain(4_000);
        bench
    };
    let counts = bench.counts;
    assert_eq!(
        counts.data_last + 1 - counts.data_first,
        counts.data_beats,
        "a cycle without a beat"
    );
}

/// Payload reads of 4 KiB without end, in TLPs of 256 bytes, a round trip of 900 ns.
#[test]
fn reads_keep_rc_busy_for_ever() {
    let mut config = CONFIG;
    config.max_read_req = 1;
    let mut bench = Bench::new(config, random());
    let cycle = |bench: &mut Bench| {
        bench.cycle(
            &mut |clients, rng| {
                let page = rng.gen_range(0..1 << 40) << 12;
                clients.request(0, page, 4096, false)
            },
            &mut |_| Fate::Good,
        );
    };
    for _ in 0..1_000 {
        cycle(&mut bench);
    }
    let before = bench.counts.data_beats;
    for _ in 0..4_000 {
        cycle(&mut bench);
    }
    let beats = bench.counts.data_beats - before;
    println!("{beats} beats in 4000 cycles");
    // 256 of 272 bytes are payload.
    assert!(beats >= 4_000 * 256 / 272 - 16, "{beats} beats");
    bench.drain(10_000);
    bench.check_counts();
}
