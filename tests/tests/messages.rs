//! Messages of every kind and length over a good cable.

use anyhow::{ensure, Result};
use ferroce_driver::{Counter, Counters, Pmtu};
use ferroce_sim::link::LinkConfig;
use ferroce_sim::load::Op;
use ferroce_tests::seed::{rng, rounds, seed};
use ferroce_tests::setup::{pair, world, Connection};
use ferroce_tests::traffic::{random_messages, Message, Traffic};
use ferroce_tests::{model, seed};
use rand::seq::SliceRandom;
use rand::Rng;

/// Around every border: words, lines, path MTUs, pages, 16-bit lengths.
const LENGTHS: [usize; 22] = [
    0, 1, 2, 3, 4, 5, 63, 64, 65, 255, 256, 257, 1023, 1024, 1025, 4095, 4096, 4097, 4098, 65535,
    65536, 65537,
];
/// A length of many packets, of no round number of bytes.
const LONG: usize = (1 << 20) + 3;

/// On a cable that loses nothing, nothing is repeated, refused or dropped.
fn check_smooth(counters: &[Counters; 2]) -> Result<()> {
    let bad = [
        Counter::RxDropFcs,
        Counter::RxDropRunt,
        Counter::RxDropOversize,
        Counter::RxDropNotRoce,
        Counter::RxDropIpChecksum,
        Counter::RxDropLength,
        Counter::RxDropIcrc,
        Counter::RxDropTver,
        Counter::RxDropOverflow,
        Counter::RxDropAddress,
        Counter::RxDropQpn,
        Counter::RxDropQpState,
        Counter::RxDropPkey,
        Counter::RxDropPeer,
        Counter::RxDropOpcode,
        Counter::TxNakInvalidRequest,
        Counter::TxNakRemoteAccess,
        Counter::TxNakRemoteOperational,
        Counter::TxDmaDropped,
        Counter::Timeouts,
        Counter::RequesterErrors,
        Counter::ResponderErrors,
        Counter::CqeDropped,
        Counter::DmaErrors,
        Counter::MrDenied,
        Counter::DoorbellsBad,
        Counter::DoorbellsForeign,
    ];
    for (side, counters) in counters.iter().enumerate() {
        for counter in bad {
            let count = counters.get(counter);
            ensure!(
                count == 0,
                "side {side} counts {count} {}:\n{counters}",
                counter.name()
            );
        }
        // A receive request may be posted just before the message that needs it arrives.
        let rnr = counters.get(Counter::RnrWaits) > 0;
        ensure!(
            rnr || counters.get(Counter::Retransmits) == 0,
            "side {side} repeats packets:\n{counters}"
        );
    }
    Ok(())
}

/// Each operation with each length and each path MTU, in both directions at once.
#[test]
fn every_length_with_every_path_mtu() -> Result<()> {
    let seed = seed();
    let mut rng = rng(seed);
    // A QP of short packets beside long READs of long packets gets few turns.
    let connections = Pmtu::ALL.map(|pmtu| Connection {
        pmtu,
        timeout: 8,
        ..Connection::default()
    });
    let library = model::small()?;
    let pair = pair(
        &library,
        &world(LinkConfig::default(), seed),
        32,
        &connections,
    )?;
    let mut traffic = Traffic::new(&pair, seed::rng(!seed), 2 * LONG, 12 << 20)?;
    for qp in 0..connections.len() {
        // Of WRITEs and SENDs with a length each direction has two, and READs both.
        for from in 0..2 {
            let mut messages: Vec<Message> = LENGTHS
                .iter()
                .flat_map(|&len| [(len, from), (len, from + 2), (len, 4)])
                .map(|(len, op)| Message {
                    op: Op::ALL[op],
                    len,
                })
                .collect();
            messages.shuffle(&mut rng);
            let op = Op::ALL[(qp + 2 * from) % Op::ALL.len()];
            messages.push(Message { op, len: LONG });
            traffic.add(from, qp, &messages)?;
        }
    }
    check_smooth(&traffic.run()?)
}

/// Many more messages than the rings have entries, and PSNs beyond 0xFFFFFF.
#[test]
fn rings_and_sequence_numbers_wrap() -> Result<()> {
    let seed = seed();
    let mut rng = rng(seed);
    let connections = [Connection {
        pmtu: Pmtu::B256,
        ..Connection::default()
    }; 3];
    let library = model::small()?;
    let pair = pair(
        &library,
        &world(LinkConfig::default(), seed),
        8,
        &connections,
    )?;
    let mut traffic = Traffic::new(&pair, seed::rng(!seed), 1 << 16, 1 << 20)?;
    for qp in 0..connections.len() {
        for from in 0..2 {
            traffic.add(from, qp, &random_messages(&mut rng, 150, 700))?;
        }
    }
    check_smooth(&traffic.run()?)
}

/// All QPs of the card at once, with deep and shallow work.
#[test]
fn all_qps_share_the_card() -> Result<()> {
    let seed = seed();
    let mut rng = rng(seed);
    let connections: Vec<_> = (0..14)
        .map(|_| Connection {
            pmtu: Pmtu::ALL[rng.gen_range(0..Pmtu::ALL.len())],
            psn: [rng.gen::<u32>() >> 8, rng.gen::<u32>() >> 8],
            ..Connection::default()
        })
        .collect();
    let library = model::small()?;
    let pair = pair(
        &library,
        &world(LinkConfig::default(), seed),
        16,
        &connections,
    )?;
    let mut traffic = Traffic::new(&pair, seed::rng(!seed), 1 << 18, 4 << 20)?;
    for qp in 0..connections.len() {
        for from in 0..2 {
            let count = rng.gen_range(1..40);
            traffic.add(from, qp, &random_messages(&mut rng, count, 9000))?;
        }
    }
    check_smooth(&traffic.run()?)
}

/// Receivers that post late; a lossless cable, so that only RNR NAKs hold up anything.
#[test]
fn late_receivers_hold_up_but_lose_nothing() -> Result<()> {
    let seed = seed();
    let mut rng = rng(seed);
    let connections = [Connection::default(); 3];
    let library = model::small()?;
    let pair = pair(
        &library,
        &world(LinkConfig::default(), seed),
        16,
        &connections,
    )?;
    let mut traffic = Traffic::new(&pair, seed::rng(!seed), 1 << 16, 1 << 20)?;
    for qp in 0..connections.len() {
        for from in 0..2 {
            traffic.add(from, qp, &random_messages(&mut rng, 40, 3000))?;
        }
    }
    traffic.lag();
    let counters = traffic.run()?;
    let waits = counters.iter().map(|c| c.get(Counter::RnrWaits));
    ensure!(waits.sum::<u64>() > 0, "nobody had to wait");
    check_smooth(&counters)
}

/// The 16-bit indices of the queues wrap too, which takes a minute, so only the soak test gets there.
#[test]
fn queue_indices_wrap() -> Result<()> {
    let seed = seed();
    let count = rounds(200, 70_000) as usize;
    let library = model::small()?;
    let pair = pair(
        &library,
        &world(LinkConfig::default(), seed),
        128,
        &[Connection::default()],
    )?;
    let mut traffic = Traffic::new(&pair, rng(seed), 4096, 1024 * count + (1 << 16))?;
    let messages: Vec<Message> = (0..count)
        .map(|n| Message {
            op: [Op::Send, Op::WriteImm][n % 2],
            len: n % 2,
        })
        .collect();
    traffic.add(0, 0, &messages)?;
    check_smooth(&traffic.run()?)
}
