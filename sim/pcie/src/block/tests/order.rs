//! Order, and random traffic.

use super::*;
use crate::usp::ErrorCode;
use proptest::prelude::*;

#[test]
fn writes_take_effect_in_their_order() {
    let mut bench = Bench::new(BlockConfig::default(), wild(), 5);
    let places: Vec<(u64, usize)> = (0..500u64)
        .map(|k| (BASE + k * 7919 % 1000 * 256, 1 + k as usize * 37 % 256))
        .collect();
    let requests: Vec<Request> = places
        .iter()
        .map(|&(addr, len)| write(addr, &vec![1; len]))
        .collect();
    bench.send(&requests);
    bench.run_until_idle();
    assert_eq!(bench.memory.writes, places);
}

#[test]
fn reads_see_the_writes_before_them() {
    let mut bench = Bench::new(BlockConfig::default(), wild(), 6);
    for k in 0..200u64 {
        let addr = BASE + k % 16 * 4096;
        let tag = k as u8;
        bench.send(&[write(addr, &[tag; 200]), read(addr + 50, 100, tag)]);
    }
    bench.run_until_idle();
    // Each place is written again 16 rounds later; only what is older than the read is wrong.
    for (_, packet) in &bench.packets {
        let (tag, start) = (packet.completion.tag, packet.lower_address % 4);
        let bytes = &packet.completion.payload[usize::from(start)..];
        for byte in &bytes[..packet.completion.bytes()] {
            assert!(
                *byte >= tag && (byte - tag) % 16 == 0,
                "tag {tag} read {byte}"
            );
        }
    }
}

/// Writes are in the lower half and reads in the upper half of memory.
fn traffic() -> impl Strategy<Value = Vec<(bool, u64, usize)>> {
    let one = (any::<bool>(), 0u64..128, 0u64..4096, 1usize..=512);
    let one = one.prop_map(|(write, page, offset, len)| {
        let most = if write { 253 } else { 509 };
        let len = len.min(most).min(4096 - offset as usize);
        (write, page * 4096 + offset, len)
    });
    prop::collection::vec(one, 1..200)
}

#[derive(Debug, Clone, Copy)]
struct Setting {
    straddle: (bool, bool),
    boundary: usize,
    max_payload: usize,
    random: bool,
    interleave: bool,
    pause: f64,
    seed: u64,
}

fn setting() -> impl Strategy<Value = Setting> {
    let sizes = (
        prop::sample::select(vec![64, 128]),
        prop::sample::select(vec![128, 256]),
    );
    let pause = prop::sample::select(vec![0.0, 0.3]);
    (any::<((bool, bool), bool, bool, u64)>(), sizes, pause).prop_map(
        |((straddle, random, interleave, seed), (boundary, max_payload), pause)| Setting {
            straddle,
            boundary,
            max_payload,
            random,
            interleave,
            pause,
            seed,
        },
    )
}

fn bench(s: Setting) -> Bench {
    let config = BlockConfig {
        straddle_rq: s.straddle.0,
        straddle_rc: s.straddle.1,
        pause: s.pause,
        ..BlockConfig::default()
    };
    let root = RootConfig {
        boundary: s.boundary,
        max_payload: s.max_payload,
        split: if s.random {
            Split::Random
        } else {
            Split::Longest
        },
        interleave: s.interleave,
        pause: s.pause,
        ..wild()
    };
    Bench::new(config, root, s.seed)
}

/// Everything that the card got of one tag, checked piece by piece.
fn check_answer(bench: &Bench, tag: u8, offset: u64, len: usize, s: Setting) {
    let mut at = offset as usize;
    let end = at + len;
    for (_, packet) in bench
        .packets
        .iter()
        .filter(|(_, p)| p.completion.tag == tag)
    {
        let c = &packet.completion;
        assert_eq!(packet.error, ErrorCode::None);
        assert_eq!(usize::from(packet.lower_address), at % 4096);
        assert_eq!(c.byte_count, end - at);
        assert!(c.payload.len() <= s.max_payload);
        let bytes = &c.payload[at % 4..][..c.bytes()];
        assert_eq!(bytes, &bench.memory.bytes[at..at + c.bytes()]);
        at += c.bytes();
        assert_eq!(packet.request_completed, at == end);
        assert!(at == end || at % s.boundary == 0, "cut at {at:#x}");
    }
    assert_eq!(at, end);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..crate::seed::cases() })]

    #[test]
    fn random_traffic_arrives(traffic in traffic(), s in setting()) {
        let mut bench = bench(s);
        let half = (bench.memory.bytes.len() / 2) as u64;
        let mut expected = bench.memory.bytes.clone();
        let mut reads = Vec::new();
        let mut requests = Vec::new();
        for &(is_write, offset, len) in &traffic {
            if is_write {
                // A write of 128 bytes that does not begin at a doubleword is too long for a max payload of 128.
                let bytes: Vec<u8> = (0..len.min(125)).map(|k| (k * 3) as u8).collect();
                expected[offset as usize..][..bytes.len()].copy_from_slice(&bytes);
                requests.push(write(BASE + offset, &bytes));
            } else {
                let tag = reads.len() as u8;
                reads.push((offset + half, len));
                requests.push(read(BASE + offset + half, len, tag));
            }
        }
        bench.send(&requests);
        bench.run_until_idle();
        prop_assert_eq!(&bench.memory.bytes, &expected);
        for (tag, &(offset, len)) in reads.iter().enumerate() {
            check_answer(&bench, tag as u8, offset, len, s);
        }
    }

    #[test]
    fn the_seed_decides_everything(s in setting()) {
        let run = || {
            let mut bench = bench(s);
            let requests: Vec<Request> =
                (0..60u64).map(|k| read(BASE + k * 512, 500, k as u8)).collect();
            bench.send(&requests);
            bench.run_until_idle();
            bench.packets
        };
        prop_assert_eq!(run(), run());
    }
}

/// Answers to 64 reads that are due together leave in another order than asked.
#[test]
fn tags_overtake_each_other() {
    let mut bench = Bench::new(BlockConfig::default(), RootConfig::default(), 2);
    let requests: Vec<Request> = (0..64).map(|tag| read(BASE, 256, tag)).collect();
    bench.send(&requests);
    bench.run_until_idle();
    let tags: Vec<u8> = bench
        .packets
        .iter()
        .map(|(_, p)| p.completion.tag)
        .collect();
    assert!(tags.windows(2).any(|w| w[0] > w[1]), "{tags:?}");
}
