//! What the block's room for completions leaves of the link.

use super::bench::Bench;

use ferroce_emit::harness::random;
use ferroce_pcie::block::BlockConfig;
use ferroce_pcie::root::{roof, LinkSpeed, RootConfig};
use rand::Rng;

/// Cycles until the reads are spread over the round trip.
const SETTLE: u64 = 2_000;

/// Pages in reads of 512 bytes and completions of 256, a round trip of 900 ns: 95 % of what the link can carry.
#[test]
fn reads_fill_the_link_within_the_room_for_completions() {
    for straddle in [true, false] {
        let block = BlockConfig {
            straddle_rq: straddle,
            ..BlockConfig::default()
        };
        let root = RootConfig {
            read_latency: 225,
            ..RootConfig::default()
        };
        assert_eq!((root.max_payload, root.max_read), (256, 512));
        let mut bench = Bench::new(block, root, random().gen());
        bench.read_pages(SETTLE);
        let gbps = bench.read_pages(4 * SETTLE);
        let roof = roof::reads_gbps(LinkSpeed::GEN3_X16, 4096, 512, 256);
        println!("straddling {straddle}: {gbps:.1} of {roof:.1} Gb/s");
        assert!(gbps >= 0.95 * roof, "{gbps:.1} of {roof:.1} Gb/s");
        bench.drain();
    }
}
