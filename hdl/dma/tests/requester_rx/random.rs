//! Random reads, answered in every way.

use crate::bench::{Bench, BenchConfig, LOG2_TIMEOUT};
use crate::fates::Fate;
use crate::host::{HostConfig, ALL_SLOTS};
use ferroce_dma::reader::read_budget::COMPLETION_HEADERS;
use ferroce_emit::harness::random;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

fn config(rng: &mut ChaCha8Rng) -> BenchConfig {
    let rates = [1.0, 0.9, 0.5];
    let mut rate = || rates[rng.gen_range(0..rates.len())];
    let (request_rate, reads_rate, rc_rate, data_rate) = (rate(), rate(), rate(), rate());
    BenchConfig {
        max_read_req: rng.gen_range(0..6),
        headers: [16, COMPLETION_HEADERS][rng.gen_range(0..2)],
        host: HostConfig {
            straddle: rng.gen(),
            boundary: 64 << rng.gen_range(0..2),
            split: [0.0, 0.3, 1.0][rng.gen_range(0..3)],
            latency: rng.gen_range(1..300),
            disorder: [1, 4, 32][rng.gen_range(0..3)],
            errors: 0.0,
            late: 0.0,
            late_cycles: 3 << LOG2_TIMEOUT,
            strays: 0.0,
        },
        request_rate,
        reads_rate,
        rc_rate,
        data_rate,
    }
}

fn run(config: BenchConfig, rng: ChaCha8Rng, cycles: u64) -> Bench {
    println!("{config:?}");
    let (errors, late) = (config.host.errors, config.host.late);
    let mut bench = Bench::new(config, rng);
    while bench.now() < cycles {
        bench.cycle(
            &mut |clients, rng| clients.random_request(rng),
            &mut |rng| Fate::random(rng, errors, late),
        );
    }
    bench.drain_steadily(8 << LOG2_TIMEOUT);
    bench.check_counts();
    bench
}

#[test]
fn data_of_good_reads_is_that_of_the_host() {
    let mut rng = random();
    for _ in 0..8 {
        let config = config(&mut rng);
        // Room for two of the largest pieces lets few reads through.
        let enough = [10, 200][usize::from(config.headers == COMPLETION_HEADERS)];
        let bench = run(config, rng.clone(), 6_000);
        assert!(
            bench.clients.answered > enough,
            "{}",
            bench.clients.answered
        );
        assert_eq!(bench.clients.failed, 0);
    }
}

#[test]
fn errors_reach_the_client_whose_read_failed_and_nobody_else() {
    let mut rng = random();
    for _ in 0..6 {
        let mut config = config(&mut rng);
        config.host.errors = 0.1;
        config.host.strays = 0.05;
        // With little room for completions few reads are made at all.
        let enough = [0, 10][usize::from(config.headers == COMPLETION_HEADERS)];
        let bench = run(config, rng.clone(), 8_000);
        assert!(bench.clients.failed > enough, "{}", bench.clients.failed);
        assert!(bench.clients.answered > bench.clients.failed);
        assert!(bench.counts.unexpected > 0);
    }
}

#[test]
fn late_answers_land_in_no_other_read() {
    let mut rng = random();
    for _ in 0..3 {
        let mut config = config(&mut rng);
        // The host does not know of reads that fail for want of room.
        config.headers = ALL_SLOTS;
        config.host.late = 0.02;
        config.host.errors = 0.02;
        let bench = run(config, rng.clone(), 60_000);
        assert!(bench.counts.timeouts > 10, "{}", bench.counts.timeouts);
    }
}
