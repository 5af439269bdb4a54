//! Cables that lose, damage, repeat, swap and delay frames.

use anyhow::{ensure, Context, Result};
use ferroce_driver::{Counter, Counters, Pmtu};
use ferroce_sim::link::LinkConfig;
use ferroce_sim::load::Op;
use ferroce_sim::time::NS_FS;
use ferroce_tests::model;
use ferroce_tests::seed::{rng, rounds, seed};
use ferroce_tests::setup::{pair, world, Connection};
use ferroce_tests::traffic::{random_messages, Message, Traffic};
use rand::Rng;

/// Packets of the messages with scripted losses.
const PACKETS: u64 = 20;

/// What a scripted loss makes both sides count.
struct Effect {
    /// Sender: NAKs that made it go back.
    sequence_naks: u64,
    /// Sender: time-outs.
    timeouts: u64,
    /// Receiver: at least so many duplicates.
    duplicates: u64,
}

/// A message of [`PACKETS`] packets, or a READ whose answer has so many, while the frames with these numbers are lost towards the receiver and back.
fn lose(op: Op, forward: &[u64], backward: &[u64], effect: &Effect) -> Result<()> {
    let seed = seed();
    let connection = Connection {
        pmtu: Pmtu::B256,
        timeout: 2,
        ..Connection::default()
    };
    let library = model::small()?;
    let pair = pair(
        &library,
        &world(LinkConfig::default(), seed),
        8,
        &[connection],
    )?;
    pair.sim.with(|world| {
        for (card, lost) in [(1, forward), (0, backward)] {
            world.card_mut(card).incoming.drop_frames(lost.to_vec());
        }
    });
    let mut traffic = Traffic::new(&pair, rng(seed), 1 << 16, 1 << 17)?;
    let len = PACKETS as usize * 256 - 7;
    traffic.add(0, 0, &[Message { op, len }])?;
    let [sender, receiver] = traffic.run()?;
    let lost: Vec<u64> = pair.sim.with(|world| {
        [1, 0]
            .map(|card| world.card(card).incoming.stats().dropped)
            .to_vec()
    });
    ensure!(lost == [forward.len() as u64, backward.len() as u64]);
    for (counter, want) in [
        (Counter::SequenceNaks, effect.sequence_naks),
        (Counter::Timeouts, effect.timeouts),
        (Counter::Retransmits, effect.sequence_naks + effect.timeouts),
    ] {
        let count = sender.get(counter);
        ensure!(
            count == want,
            "the sender counts {count} {}, not {want}",
            counter.name()
        );
    }
    let duplicates = receiver.get(Counter::RxDuplicate);
    ensure!(
        duplicates >= effect.duplicates,
        "the receiver counts {duplicates} duplicates"
    );
    ensure!(receiver.get(Counter::RxMessages) == 1);
    let requests = if op == Op::Read { 1 } else { PACKETS };
    ensure!(receiver.get(Counter::RxRequests) == requests);
    Ok(())
}

/// The gap shows with the next packet, and the sender goes back at once.
const SEEN: Effect = Effect {
    sequence_naks: 1,
    timeouts: 0,
    duplicates: 0,
};
/// Nobody notices before the time-out.
const UNSEEN: Effect = Effect {
    sequence_naks: 0,
    timeouts: 1,
    duplicates: 0,
};

#[test]
fn lost_first_packet() -> Result<()> {
    lose(Op::Write, &[0], &[], &SEEN)?;
    lose(Op::SendImm, &[0], &[], &SEEN)
}

#[test]
fn lost_middle_packet() -> Result<()> {
    lose(Op::WriteImm, &[7], &[], &SEEN)?;
    lose(Op::Send, &[PACKETS - 2], &[], &SEEN)
}

#[test]
fn lost_last_packet() -> Result<()> {
    lose(Op::Write, &[PACKETS - 1], &[], &UNSEEN)?;
    lose(Op::Send, &[PACKETS - 1], &[], &UNSEEN)
}

#[test]
fn lost_acknowledgement() -> Result<()> {
    // The 16th packet is acknowledged first, the last one second. Four packets are repeated.
    let effect = Effect {
        duplicates: 4,
        ..UNSEEN
    };
    lose(Op::WriteImm, &[], &[1], &effect)?;
    lose(Op::Send, &[], &[1], &effect)
}

#[test]
fn superfluous_acknowledgement() -> Result<()> {
    let smooth = Effect {
        sequence_naks: 0,
        timeouts: 0,
        duplicates: 0,
    };
    lose(Op::Write, &[], &[0], &smooth)
}

#[test]
fn lost_nak() -> Result<()> {
    lose(Op::Write, &[5], &[0], &UNSEEN)?;
    lose(Op::SendImm, &[5], &[0], &UNSEEN)
}

#[test]
fn lost_retransmission() -> Result<()> {
    // Packet 3 is lost; of the frames behind it some are under way when it comes again.
    let effect = Effect {
        timeouts: 1,
        ..SEEN
    };
    lose(Op::Write, &[3, PACKETS], &[], &effect)
}

/// Behind a gap in the data of a READ the rest is asked for at once, else after the time-out.
#[test]
fn lost_read_data() -> Result<()> {
    lose(Op::Read, &[], &[0], &SEEN)?;
    lose(Op::Read, &[], &[7], &SEEN)?;
    lose(Op::Read, &[], &[PACKETS - 1], &UNSEEN)
}

#[test]
fn lost_read_request() -> Result<()> {
    lose(Op::Read, &[0], &[], &UNSEEN)?;
    let twice = Effect {
        timeouts: 2,
        ..UNSEEN
    };
    lose(Op::Read, &[0, 1], &[], &twice)?;
    // The request for the rest.
    let again = Effect {
        timeouts: 1,
        ..SEEN
    };
    lose(Op::Read, &[1], &[5], &again)
}

/// A cable for a seed: each misfortune alone, or all together.
fn misfortune(choice: u64, rate: f64) -> LinkConfig {
    let good = LinkConfig::default();
    match choice % 6 {
        0 => LinkConfig { drop: rate, ..good },
        1 => LinkConfig {
            corrupt: rate,
            ..good
        },
        2 => LinkConfig {
            duplicate: rate,
            ..good
        },
        3 => LinkConfig {
            reorder: rate,
            ..good
        },
        4 => LinkConfig { late: rate, ..good },
        _ => LinkConfig {
            drop: rate / 4.0,
            corrupt: rate / 4.0,
            duplicate: rate / 4.0,
            reorder: rate / 4.0,
            late: rate / 4.0,
            jitter_fs: 5_000 * NS_FS,
            ..good
        },
    }
}

/// Repeats have a cause: no go-back without something that happened to a frame.
fn check_plausible(counters: &[Counters; 2], incidents: u64) -> Result<()> {
    let sum = |c: Counter| counters[0].get(c) + counters[1].get(c);
    let go_backs = sum(Counter::Retransmits);
    let causes = incidents + sum(Counter::RnrWaits);
    ensure!(
        go_backs <= 4 * causes,
        "{go_backs} go-backs for {causes} causes"
    );
    ensure!(sum(Counter::RequesterErrors) + sum(Counter::ResponderErrors) == 0);
    ensure!(sum(Counter::MrDenied) + sum(Counter::DmaErrors) == 0);
    ensure!(sum(Counter::Retransmits) == sum(Counter::Timeouts) + sum(Counter::SequenceNaks));
    Ok(())
}

/// Traffic in both directions over a bad cable.
fn bad_cable(seed: u64) -> Result<()> {
    let mut rng = rng(seed);
    let connections: Vec<_> = (0..3)
        .map(|_| Connection {
            pmtu: [Pmtu::B256, Pmtu::B512, Pmtu::B1024][rng.gen_range(0..3)],
            timeout: rng.gen_range(2..4),
            max_rd_atomic: [1, 2, 4, 16][rng.gen_range(0..4)],
            ..Connection::default()
        })
        .collect();
    let link = misfortune(seed, rng.gen_range(0.01..0.08));
    let library = model::small()?;
    let pair = pair(&library, &world(link, seed), 16, &connections)?;
    let mut traffic = Traffic::new(&pair, rng.clone(), 1 << 17, 1 << 20)?;
    for qp in 0..connections.len() {
        for from in 0..2 {
            traffic.add(from, qp, &random_messages(&mut rng, 24, 6000))?;
        }
    }
    if rng.gen_bool(0.25) {
        traffic.lag();
    }
    let counters = traffic.run()?;
    let incidents = (0..2)
        .map(|card| {
            let s = pair.sim.with(|world| world.card(card).incoming.stats());
            s.dropped + s.corrupted + s.duplicated + s.reordered + s.delayed
        })
        .sum();
    check_plausible(&counters, incidents)
}

/// `count` seeds from `first` on.
fn bad_cables(first: u64, count: u64) -> Result<()> {
    for seed in (0..count).map(|n| first.wrapping_add(n)) {
        bad_cable(seed).with_context(|| format!("cable FERROCE_SEED={seed}"))?;
    }
    Ok(())
}

// Two tests, so that they run beside each other.
#[test]
fn everything_arrives_over_bad_cables() -> Result<()> {
    bad_cables(seed(), rounds(12, 200))
}

#[test]
fn everything_arrives_over_other_bad_cables() -> Result<()> {
    bad_cables(seed().wrapping_add(1 << 32), rounds(12, 200))
}
