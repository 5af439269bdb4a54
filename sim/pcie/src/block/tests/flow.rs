//! Latency, bandwidth and flow control.

use super::*;
use crate::root::roof;
use crate::root::{Credits, LinkSpeed};

/// 900 ns from the request's beat to the answer's.
#[test]
fn a_lone_read_takes_the_latency() {
    let mut bench = Bench::steady();
    bench.run(1000);
    bench.send(&[read(BASE + 64, 64, 1)]);
    let start = bench.cycle;
    bench.run_until_idle();
    let (cycle, packet) = &bench.packets[0];
    // The beat that passes at edge `start` is answered by one that passes at the edge 225 cycles later.
    assert_eq!(cycle - start, 225);
    assert_eq!(packet.completion.payload, bench.memory.bytes[64..128]);
    assert_eq!(bench.packets.len(), 1);
}

/// Payload each way, in Gb/s, while the card always sends. Reads keep 256 tags busy.
fn rates(config: BlockConfig, root: RootConfig, writes: bool, reads: bool) -> (f64, f64) {
    let mut bench = Bench::new(config, root, 1);
    let mut free: VecDeque<u8> = (0..=255).collect();
    let (mut seen, mut sent) = (0, 0u64);
    let mut before = bench.block.root.stats();
    for cycle in 0..30_000 {
        if cycle == 5_000 {
            before = bench.block.root.stats();
        }
        for (_, packet) in &bench.packets[seen..] {
            if packet.request_completed {
                free.push_back(packet.completion.tag);
            }
        }
        seen = bench.packets.len();
        while bench.rq.len() < 4 {
            let mut batch = Vec::new();
            // As long as possible, because a batch begins at a beat.
            for _ in 0..4 {
                sent += 1;
                if writes {
                    let addr = BASE + sent % 128 * 4096;
                    let bytes = &[0x77; 1024][..root.max_payload];
                    batch.extend((0..2).map(|k| write(addr + k * 1024, bytes)));
                }
                if let (true, Some(tag)) = (reads, free.pop_front()) {
                    batch.push(read(BASE + sent % 64 * 512, 512, tag));
                }
            }
            if batch.is_empty() {
                break;
            }
            bench.send(&batch);
        }
        bench.step();
    }
    assert_eq!(bench.block.violation(), None);
    let after = bench.block.root.stats();
    let up = after.up.payload_gbps(&before.up);
    (up, after.down.payload_gbps(&before.down))
}

fn near(rate: f64, roof: f64) {
    assert!((rate / roof - 1.0).abs() < 0.005, "{rate} is not {roof}");
}

#[test]
fn the_link_carries_what_arithmetic_says() {
    let (config, speed) = (BlockConfig::default(), LinkSpeed::GEN3_X16);
    let with = |max_payload| RootConfig {
        max_payload,
        ..RootConfig::default()
    };
    for max_payload in [512, 1024] {
        let roof = roof::writes_gbps(speed, max_payload, max_payload);
        near(rates(config, with(max_payload), true, false).0, roof);
    }
    for chunk in [128, 256, 512] {
        let roof = roof::reads_gbps(speed, 512, 512, chunk);
        near(rates(config, with(chunk), false, true).1, roof);
    }
    let (up, down) = rates(config, with(1024), true, true);
    // Two writes of 1024 bytes to a read of 512 bytes.
    let read = roof::request_link_bytes(512, 512);
    let writes = roof::write_link_bytes(2048, 1024);
    near(up, speed.gbps() * 2048.0 / (read + writes) as f64);
    near(down, up / 4.0);
}

/// Two writes of 256 bytes and their descriptors need nine beats: the second begins in the middle of the first one's last beat, and ends
/// in the second half of its own. Without straddling they need ten.
#[test]
fn the_streams_can_be_narrower_than_the_link() {
    let root = RootConfig::default();
    let beats = |count: f64| 2.0 * 256.0 / count * 2.0;
    near(
        rates(BlockConfig::default(), root, true, false).0,
        beats(9.0),
    );
    let single = BlockConfig {
        straddle_rq: false,
        ..BlockConfig::default()
    };
    near(rates(single, root, true, false).0, beats(10.0));
}

/// Two buffers for reads: no more than two are with the host, and a write behind a third waits for it.
#[test]
fn reads_without_credit_hold_up_what_follows() {
    let root = RootConfig {
        read_slots: 1,
        read_jitter: 0,
        credits: Credits {
            non_posted_headers: 2,
            ..RootConfig::default().credits
        },
        ..RootConfig::default()
    };
    let mut bench = Bench::new(BlockConfig::default(), root, 0);
    assert_eq!(bench.block.np_credit(), 2);
    // The first takes the slot and gives its buffer back; the next two keep theirs until it is answered.
    let mut requests: Vec<Request> = (0..4).map(|tag| read(BASE, 64, tag)).collect();
    requests.push(write(BASE, &[9; 4]));
    bench.send(&requests);
    bench.run(150);
    assert_eq!(bench.block.np_credit(), 0);
    bench.run(70);
    assert_eq!(bench.memory.writes, []);
    assert!(bench.block.root.stats().starved > 0);
    bench.run_until_idle();
    bench.run(10);
    assert_eq!(bench.block.np_credit(), 2);
    assert_eq!((bench.packets.len(), bench.memory.writes.len()), (4, 1));
}

/// A host that lets nothing take effect fills up, then the block, then RQ stops; nothing is lost when it goes on.
#[test]
fn writes_without_credit_stop_the_card() {
    let stalled = RootConfig {
        pause: 0.999,
        ..RootConfig::default()
    };
    let mut bench = Bench::new(BlockConfig::default(), stalled, 0);
    let requests: Vec<Request> = (0..1000u64)
        .map(|k| write(BASE + k * 256, &[k as u8; 256]))
        .collect();
    bench.send(&requests);
    let mut refused = 0;
    for _ in 0..3000 {
        bench.step();
        refused += u64::from(!bench.block.rq_is_ready());
    }
    assert!(refused > 500, "{refused}");
    bench.run_until_idle();
    assert_eq!(bench.memory.writes.len(), 1000);
    assert_eq!(bench.block.root.stats().write_bytes, 256_000);
}

/// Buffers for one write of 256 bytes: the next leaves when the one before has taken effect.
#[test]
fn a_small_buffer_for_payload_spaces_writes() {
    let root = RootConfig {
        credits: Credits {
            posted_data: 16,
            ..RootConfig::default().credits
        },
        ..RootConfig::default()
    };
    let mut bench = Bench::new(BlockConfig::default(), root, 0);
    let requests: Vec<Request> = (0..5).map(|k| write(BASE + k * 256, &[1; 256])).collect();
    bench.send(&requests);
    let latency = root.write_latency;
    bench.run(3 * latency + 50);
    assert_eq!(bench.memory.writes.len(), 3);
    bench.run_until_idle();
    assert_eq!(bench.memory.writes.len(), 5);
}
