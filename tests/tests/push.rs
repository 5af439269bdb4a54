//! WQEs that are pushed along with their doorbell.

use anyhow::{ensure, Result};
use ferroce_abi::regs::{in_page, QueueDoorbell, PUSH, SQ_DOORBELL};
use ferroce_driver::{Counter, SendOp, SendWr};
use ferroce_sim::latency::Way;
use ferroce_sim::link::LinkConfig;
use ferroce_sim::load::Op;
use ferroce_sim::pair::Pair;
use ferroce_sim::transfer::piece;
use ferroce_tests::model;
use ferroce_tests::seed::{rng, seed};
use ferroce_tests::setup::{pair, world, Connection};
use ferroce_tests::traffic::{random_messages, Traffic};
use rand::Rng;

/// Messages of a direction of a QP.
const MESSAGES: usize = 120;
/// Longest of them: some in their WQEs, some not.
const LONGEST: usize = 300;

/// Small cards with `qps` connections of 32 blocks.
fn cards(seed: u64, qps: usize) -> Result<Pair> {
    let world = world(LinkConfig::default(), seed);
    pair(
        &model::small()?,
        &world,
        32,
        &vec![Connection::default(); qps],
    )
}

fn random_traffic(pair: &Pair, seed: u64) -> Result<()> {
    let mut rng = rng(seed);
    let mut traffic = Traffic::new(pair, ferroce_tests::seed::rng(!seed), 1 << 16, 1 << 20)?;
    for qp in 0..pair.sides[0].qps.len() {
        for from in 0..2 {
            traffic.add(from, qp, &random_messages(&mut rng, MESSAGES, LONGEST))?;
        }
    }
    traffic.run()?;
    Ok(())
}

/// Single requests are pushed, lists are not: both race on the same queues.
#[test]
fn pushes_race_with_plain_doorbells() -> Result<()> {
    let seed = seed();
    let pair = cards(seed, 3)?;
    random_traffic(&pair, seed)
}

/// Whatever becomes of the words of a push, the message is sent, and it is the right one.
#[test]
fn torn_pushes_are_plain_doorbells() -> Result<()> {
    let seed = seed();
    let pair = cards(seed, 3)?;
    pair.sim.with(|world| {
        for side in 0..2 {
            world.card_mut(side).host.tear_pushes(seed ^ side as u64);
        }
    });
    random_traffic(&pair, seed)
}

/// Words and doorbells with pushes that fit nothing: in other pages, behind the window, with wrong numbers of blocks, for old indices, for queues
/// of other pages.
#[test]
fn pushes_that_fit_nothing_do_nothing() -> Result<()> {
    let seed = seed();
    let mut rng = rng(seed);
    let pair = cards(seed, 1)?;
    let [near, far] = &pair.sides;
    let target = far.pd.allocate(
        4096,
        ferroce_driver::Access::LOCAL_WRITE | ferroce_driver::Access::REMOTE_WRITE,
    )?;
    let op = SendOp::Write(target.remote(0)?);
    let (bar, _) = pair.sim.host(0);
    let qp = &near.qps[0];
    let before = near.device.counters()?;
    let (mut producer, mut foreign) = (0u16, 0);
    for n in 0..60u64 {
        let data: Vec<u8> = (0..rng.gen_range(1..=200)).map(|_| rng.gen()).collect();
        for _ in 0..rng.gen_range(0..4) {
            let page = if rng.gen() { 0 } else { rng.gen_range(0..128) };
            let words: [u64; 8] = rng.gen();
            bar.push64(in_page(page, PUSH + 64 * rng.gen_range(0..5)), &words)?;
            if rng.gen_bool(0.3) {
                bar.write32(in_page(page, PUSH + 4 * rng.gen_range(0..64)), rng.gen())?;
            }
            // The producer index is the old one: nothing new was posted.
            let pushed = rng.gen_range(0..8);
            let word = QueueDoorbell {
                qpn: qp.qpn(),
                producer,
                pushed,
            };
            bar.write64(in_page(page, SQ_DOORBELL), word.to_bits())?;
            foreign += u64::from(page != 0);
        }
        let request = SendWr::inline(n, op, &data)?;
        producer = producer.wrapping_add(request.places() as u16);
        qp.post_send(request)?;
        pair.sim.run_until("a message", 100_000, || {
            Ok::<_, anyhow::Error>(!near.send_cq.poll(4)?.is_empty())
        })?;
        ensure!(target.to_vec(0..data.len())? == data, "message {n}");
    }
    let counters = near.device.counters()?.since(&before);
    ensure!(counters.get(Counter::DoorbellsForeign) == foreign);
    ensure!(counters.get(Counter::RequesterErrors) == 0);
    Ok(())
}

/// The host is asked for nothing, and every way keeps its limit, whatever the clocks' phases are.
#[test]
fn short_messages_need_no_reads_and_little_time() -> Result<()> {
    /// So many phases.
    const COUNT: u64 = 24;
    let seed = seed();
    let pair = cards(seed, 1)?;
    let access = ferroce_driver::Access::LOCAL_WRITE | ferroce_driver::Access::REMOTE_WRITE;
    let source = pair.sides[0].pd.allocate(64, access)?;
    let target = pair.sides[1].pd.allocate(64, access)?;
    let message = piece(&source, &target, 0, 64)?;
    for op in [Op::Write, Op::SendImm] {
        let request = |n: u64| SendWr::inline(n, op.request(n, &message), &[n as u8; 64]);
        let splits = pair.splits(op, &message, COUNT, &request)?;
        for (way, splits) in [
            (Way::Posting, &splits.posting),
            (Way::Arrival, &splits.arrival),
            (Way::Acknowledgement, &splits.acknowledgement),
        ] {
            ensure!(
                splits.len() as u64 == COUNT,
                "{way:?} of {op:?}: {} messages",
                splits.len()
            );
            for split in splits {
                ensure!(
                    split.inside() <= way.limit(),
                    "{way:?} of {op:?}: {split:?}"
                );
                ensure!(split.outside() == 0.0, "the host was asked: {split:?}");
            }
        }
    }
    Ok(())
}
