//! A bad host at both ends: random misfortunes of completions, pauses and few credits; and hosts that ring and read what they like while
//! traffic runs.

use std::collections::VecDeque;

use anyhow::{ensure, Context, Result};
use ferroce_abi::regs::{self, CqDoorbell, QueueDoorbell};
use ferroce_driver::{Counter, Counters, Pmtu, Status};
use ferroce_pcie::block::BlockConfig;
use ferroce_pcie::root::{Credits, Fault, RootConfig, Scripted, Split};
use ferroce_pcie::tlp;
use ferroce_sim::link::LinkConfig;
use ferroce_sim::pair::Pair;
use ferroce_sim::pcie::{BarAccess, PcieConfig};
use ferroce_sim::world::WorldConfig;
use ferroce_tests::model;
use ferroce_tests::rough::Rough;
use ferroce_tests::seed::{rng, rounds, seed};
use ferroce_tests::setup::{connect, pair, world, Connection};
use rand::Rng;
use rand_chacha::ChaCha8Rng;

const QPS: usize = 5;
/// Messages of a QP in each direction.
const MESSAGES: usize = 12;
const LONGEST: usize = 4000;
/// Completion time-out of the block in cycles.
const TIMEOUT: u64 = 4000;
/// Read TLPs to come that are under threat at once.
const AHEAD: u64 = 16;

/// A host with few buffers that answers late, in any order, in pieces.
fn bad_host() -> PcieConfig {
    PcieConfig {
        block: BlockConfig {
            completion_timeout: Some(TIMEOUT),
            pause: 0.1,
            ..BlockConfig::default()
        },
        root: RootConfig {
            max_payload: 128,
            split: Split::Random,
            read_jitter: 200,
            disorder: 16,
            read_slots: 24,
            credits: Credits {
                posted_headers: 8,
                posted_data: 64,
                non_posted_headers: 6,
            },
            pause: 0.05,
            ..RootConfig::default()
        },
    }
}

fn cards(pcie: PcieConfig, seed: u64) -> Result<Pair> {
    let world = WorldConfig {
        pcie,
        ..world(LinkConfig::default(), seed)
    };
    let connection = Connection {
        pmtu: Pmtu::B512,
        ..Connection::default()
    };
    pair(&model::small()?, &world, 16, &[connection; QPS])
}

/// A misfortune, most often none.
fn misfortune(rng: &mut ChaCha8Rng) -> Option<Fault> {
    Some(match rng.gen_range(0..2500) {
        0 => Fault::Status(tlp::Status::UnsupportedRequest),
        1 => Fault::Status(tlp::Status::CompleterAbort),
        2 => Fault::Poisoned,
        3 => Fault::LostRest,
        4..=7 => Fault::Duplicate,
        8..=11 => Fault::Unexpected,
        12..=40 => Fault::Late(rng.gen_range(1..2 * TIMEOUT / 3)),
        _ => return None,
    })
}

/// What the reads of one card suffer.
#[derive(Default)]
struct Threat {
    /// Reads before this one are decided on.
    decided: u64,
    faults: Vec<Scripted>,
}

impl Threat {
    /// Decides on the next reads of a side.
    fn plan(&mut self, pair: &Pair, side: usize, rng: &mut ChaCha8Rng) {
        pair.sim.with(|world| {
            let host = &mut world.card_mut(side).host;
            let reads = host.stats().reads;
            for read in self.decided.max(reads + 1)..=reads + AHEAD {
                if let Some(fault) = misfortune(rng) {
                    let piece = 0;
                    let entry = Scripted { read, piece, fault };
                    host.script(entry);
                    self.faults.push(entry);
                }
            }
            self.decided = reads + AHEAD + 1;
        });
    }

    /// Calls off what has not happened.
    fn end(&mut self, pair: &Pair, side: usize) {
        let left = pair.sim.with(|world| world.card_mut(side).host.unscript());
        self.faults.retain(|entry| !left.contains(entry));
    }

    fn count(&self, what: impl Fn(Fault) -> bool) -> u64 {
        self.faults.iter().filter(|f| what(f.fault)).count() as u64
    }

    /// Compares the counters with what happened.
    fn check(&self, counters: &Counters) -> Result<()> {
        let grown = |counter| {
            counters
                .iter()
                .find(|(c, _)| *c == counter)
                .map_or(0, |c| c.1)
        };
        let failed = grown(Counter::PcieReadsFailed);
        let (unexpected, errors) = (grown(Counter::PcieUnexpected), grown(Counter::DmaErrors));
        // Each of these ends its read with an error.
        let surely = self
            .count(|fault| matches!(fault, Fault::Status(_) | Fault::Poisoned | Fault::LostRest));
        // The second of two completions, or one for the tag of a read that has just left the card, does if the read goes on.
        let perhaps = self.count(|f| matches!(f, Fault::Duplicate | Fault::Unexpected));
        // A read that was decided on may be delayed beyond the time-out.
        let late = self.count(|f| matches!(f, Fault::Late(_)));
        println!("{surely} failures, {perhaps} strays, {late} late: {failed} reads failed, {errors} errors, {unexpected} unexpected");
        ensure!(failed >= surely && failed <= surely + perhaps + late);
        ensure!(unexpected + (failed - surely) >= perhaps);
        // A DMA read is one TLP or more.
        ensure!(errors <= failed && (errors > 0) == (failed > 0));
        ensure!(grown(Counter::PcieReadTimeouts) == 0);
        Ok(())
    }
}

#[test]
fn random_misfortunes() -> Result<()> {
    let first = seed();
    for round in 0..rounds(1, 20) {
        let seed = first.wrapping_add(round);
        println!("seed {seed}");
        let mut rng = rng(seed);
        let pair = cards(bad_host(), seed)?;
        let before = [0, 1].map(|side: usize| pair.sides[side].device.counters());
        let mut threats = [Threat::default(), Threat::default()];
        let mut rough = Rough::new(&pair, &mut rng, 0..QPS, MESSAGES, LONGEST)?;
        let mut plan = |threats: &mut [Threat; 2]| {
            for (side, threat) in threats.iter_mut().enumerate() {
                threat.plan(&pair, side, &mut rng);
            }
        };
        plan(&mut threats);
        rough.post()?;
        rough.finish(|| {
            plan(&mut threats);
            Ok(())
        })?;
        let mut failures = 0;
        for (side, before) in before.into_iter().enumerate() {
            threats[side].end(&pair, side);
            let counters = pair.sides[side].device.counters()?.since(&before?);
            threats[side].check(&counters)?;
            failures += counters
                .iter()
                .find(|(c, _)| *c == Counter::DmaErrors)
                .map_or(0, |c| c.1);
        }
        let statuses = rough.check()?;
        let mut broken = 0;
        for ((side, qp), list) in &statuses {
            let good = list.iter().take_while(|s| **s == Status::Success).count();
            let Some((first, rest)) = list[good..].split_first() else {
                continue;
            };
            broken += 1;
            // The peer's error ends the other direction too, whose requests are flushed or find no answer.
            let known = [
                Status::LocQpOp,
                Status::RemOp,
                Status::WrFlush,
                Status::RetryExc,
            ];
            ensure!(known.contains(first), "side {side}, QP {qp}: {list:?}");
            ensure!(rest.iter().all(|s| *s == Status::WrFlush), "{list:?}");
        }
        // At most both directions of a QP fall with one read.
        ensure!(broken <= 2 * failures, "{broken} senders, {failures} reads");
        println!("{broken} of {} senders broke", statuses.len());

        for qp in 0..QPS {
            connect(&pair, qp, &Connection::default())?;
        }
        let mut rough = Rough::new(&pair, &mut rng, 0..QPS, 6, 3000)?;
        rough.post()?;
        rough.finish(|| Ok(()))?;
        succeeded(&mut rough)?;
    }
    Ok(())
}

/// Everything succeeded.
fn succeeded(rough: &mut Rough<'_>) -> Result<()> {
    let statuses = rough.check()?;
    let good = |list: &[Status]| list.iter().all(|s| *s == Status::Success);
    ensure!(statuses.iter().all(|(_, list)| good(list)), "{statuses:?}");
    Ok(())
}

/// Doorbells of queues that are not there, of others' queues and, again and again, of one's own.
#[test]
fn doorbell_storms() -> Result<()> {
    let seed = seed();
    let mut rng = rng(seed);
    let pair = cards(bad_host(), seed)?;
    let mut rough = Rough::new(&pair, &mut rng, 0..QPS, MESSAGES, LONGEST)?;
    rough.post()?;
    let (bar, _) = pair.sim.host(0);
    let side = &pair.sides[0];
    let before = side.device.counters()?;
    let (mut bad, mut foreign) = (0, 0);
    let mut storm = || -> Result<()> {
        for _ in 0..4 {
            let qpn = side.qps[rng.gen_range(0..QPS)].qpn();
            let producer = MESSAGES as u16;
            let page = rng.gen_range(1..regs::DOORBELL_PAGES) as u8;
            match rng.gen_range(0..4) {
                0 => {
                    let qpn = rng.gen_range(0x4000..0x100_0000);
                    let word = QueueDoorbell {
                        qpn,
                        producer,
                        pushed: 0,
                    }
                    .to_bits();
                    bar.write64(regs::in_page(0, regs::RQ_DOORBELL), word)?;
                    bad += 1;
                }
                1 => {
                    let word = QueueDoorbell {
                        qpn,
                        producer: rng.gen(),
                        pushed: 0,
                    };
                    bar.write64(regs::in_page(page, regs::SQ_DOORBELL), word.to_bits())?;
                    foreign += 1;
                }
                2 => {
                    let word = CqDoorbell {
                        cqn: side.send_cq.cqn(),
                        consumer: rng.gen_range(0..1 << 24),
                    };
                    bar.write64(regs::in_page(page, regs::CQ_DOORBELL), word.to_bits())?;
                    foreign += 1;
                }
                _ => {
                    let word = QueueDoorbell {
                        qpn,
                        producer,
                        pushed: 0,
                    }
                    .to_bits();
                    bar.write64(regs::in_page(0, regs::SQ_DOORBELL), word)?;
                }
            }
        }
        Ok(())
    };
    // The traffic may be short.
    for _ in 0..30 {
        storm()?;
    }
    rough.finish(storm)?;
    succeeded(&mut rough)?;
    let grown = side.device.counters()?.since(&before);
    let count = |counter| grown.iter().find(|(c, _)| *c == counter).map_or(0, |c| c.1);
    println!("{bad} bad, {foreign} foreign");
    ensure!(count(Counter::DoorbellsBad) == bad && bad > 10);
    ensure!(count(Counter::DoorbellsForeign) == foreign && foreign > 10);
    Ok(())
}

/// Loads of up to 16 doublewords at any place give what is there, longer ones ones, whatever else goes on.
#[test]
fn loads_of_all_lengths() -> Result<()> {
    /// Registers before this one don't change.
    const CONSTANT: u64 = regs::COMMAND;
    const LONGEST_LOAD: usize = 64;
    let seed = seed();
    let mut rng = rng(seed);
    let pair = cards(bad_host(), seed)?;
    let (bar, _) = pair.sim.host(0);
    let mut bytes = Vec::new();
    for word in (0..CONSTANT + LONGEST_LOAD as u64).step_by(8) {
        bytes.extend(bar.read64(word)?.to_le_bytes());
    }
    let device = &pair.sides[0].device;
    let before = device.counters()?;
    let mut rough = Rough::new(&pair, &mut rng, 0..QPS, MESSAGES, LONGEST)?;
    rough.post()?;
    let mut expected = VecDeque::new();
    let mut too_long = 0;
    let mut lengths = (1..=LONGEST_LOAD + 16).cycle();
    let host = pair.sim.clone();
    let answers = |expected: &mut VecDeque<(usize, usize, u64)>| -> Result<()> {
        while let Some(is) = host.with(|world| world.card_mut(0).host.answer()) {
            let (offset, len, should) = expected.pop_front().context("an answer too many")?;
            ensure!(
                is == should,
                "{len} bytes at {offset:#x}: {is:#x}, not {should:#x}"
            );
        }
        Ok(())
    };
    rough.finish(|| {
        answers(&mut expected)?;
        let len = lengths.next().unwrap_or(1);
        let offset = rng.gen_range(0..CONSTANT as usize - 8);
        let mut word = [0; 8];
        let kept = len.min(8);
        word[..kept].copy_from_slice(&bytes[offset..offset + kept]);
        let mut should = u64::from_le_bytes(word);
        if (offset % 4 + len).div_ceil(4) > LONGEST_LOAD / 4 {
            should = u64::MAX;
            too_long += 1;
        }
        expected.push_back((offset, len, should));
        let (offset, width) = (offset as u32, len as u8);
        let load = BarAccess {
            offset,
            store: None,
            width,
        };
        pair.sim.with(|world| world.card_mut(0).host.push(load));
        Ok(())
    })?;
    answers(&mut expected)?;
    ensure!(expected.is_empty(), "{} loads are open", expected.len());
    succeeded(&mut rough)?;
    let grown = device.counters()?.since(&before);
    let refused = grown
        .iter()
        .find(|(counter, _)| *counter == Counter::PcieUnsupported);
    println!("{too_long} loads refused");
    ensure!(refused.map_or(0, |c| c.1) == too_long && too_long > 0);
    Ok(())
}
