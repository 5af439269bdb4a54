//! Beats that no PCIe block sends, and TLPs that the link leaves unfinished.

use crate::bench::{Bench, BenchConfig, LOG2_TIMEOUT};
use crate::fates::Fate;
use crate::host::HostConfig;
use ferroce_dma::reader::read_budget::COMPLETION_HEADERS;
use ferroce_emit::harness::random;
use rand::Rng;

#[test]
fn reads_go_on_after_noise() {
    let mut bench = Bench::new(
        BenchConfig {
            max_read_req: 2,
            headers: COMPLETION_HEADERS,
            host: HostConfig {
                straddle: true,
                boundary: 64,
                split: 0.5,
                latency: 20,
                disorder: 8,
                errors: 0.0,
                late: 0.0,
                late_cycles: 4 << LOG2_TIMEOUT,
                strays: 0.0,
            },
            request_rate: 0.5,
            reads_rate: 0.9,
            rc_rate: 0.9,
            data_rate: 0.9,
        },
        random(),
    );
    for round in 1..=100 {
        // Nothing waits for what the noise may say.
        for _ in 0..bench.rng.gen_range(1..20) {
            bench.noise();
            bench.drain(10);
        }
        let mut asked = 0;
        while asked < 20 {
            bench.cycle(
                &mut |clients, rng| {
                    asked += 1;
                    clients.random_request(rng)
                },
                &mut |_| Fate::Good,
            );
        }
        bench.drain(5_000);
        assert_eq!(bench.clients.answered, 20 * round);
    }
    assert_eq!((bench.clients.failed, bench.counts.timeouts), (0, 0));
    assert!(bench.counts.unexpected > 0);
}
