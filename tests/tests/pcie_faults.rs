//! Reads of the card that its host answers wrongly or not at all: the work request concerned ends with an error at once, and nobody
//! else notices.

use std::sync::Arc;

use anyhow::{ensure, Context, Result};
use ferroce_bridge::Library;
use ferroce_driver::{Access, Completion, Counter, Counters, Cq, RecvWr, SendWr, Status};
use ferroce_pcie::block::BlockConfig;
use ferroce_pcie::root::{Fault, Scripted};
use ferroce_pcie::tlp;
use ferroce_sim::card::lock;
use ferroce_sim::link::LinkConfig;
use ferroce_sim::pair::{Pair, PairError};
use ferroce_sim::pcie::PcieConfig;
use ferroce_sim::world::WorldConfig;
use ferroce_tests::extra::join;
use ferroce_tests::model;
use ferroce_tests::rough::Rough;
use ferroce_tests::seed::{rng, seed};
use ferroce_tests::setup::{connect, pair, world, Connection};

/// The QP that suffers; the other one is number 1.
const VICTIM: usize = 0;
/// Completion time-out of the block in cycles.
const TIMEOUT: u64 = 4000;
/// Cycles within which an error is reported that the host has told: a few round trips, and less than the ACK time-out.
const AT_ONCE: u64 = 6000;
/// Longest read TLP.
const MAX_READ: u64 = 512;

/// `timeout`: the block's; without it, that of the engine is left.
fn two_qps_of(model: &Arc<Library>, timeout: Option<u64>) -> Result<Pair> {
    let world = WorldConfig {
        pcie: PcieConfig {
            block: BlockConfig {
                completion_timeout: timeout,
                ..BlockConfig::default()
            },
            ..PcieConfig::default()
        },
        ..world(LinkConfig::default(), seed())
    };
    pair(model, &world, 16, &[Connection::default(); 2])
}

fn two_qps() -> Result<Pair> {
    two_qps_of(&model::small()?, Some(TIMEOUT))
}

fn wait(pair: &Pair, cq: &Cq, count: usize, cycles: u64) -> Result<Vec<(u64, Status)>> {
    let mut done: Vec<Completion> = Vec::new();
    pair.sim.run_until::<PairError>("completions", cycles, || {
        done.extend(cq.poll(count - done.len())?);
        Ok(done.len() == count)
    })?;
    Ok(done.iter().map(|c| (c.wr_id, c.status)).collect())
}

/// Makes read number `ahead`, counted from the next one, of a side's card suffer.
fn script(pair: &Pair, side: usize, ahead: u64, fault: Fault) {
    pair.sim.with(|world| {
        let host = &mut world.card_mut(side).host;
        let read = host.stats().reads + ahead;
        let piece = 0;
        host.script(Scripted { read, piece, fault });
    });
}

/// The QPs with these numbers work in both directions.
fn works(pair: &Pair, qps: std::ops::Range<usize>) -> Result<()> {
    let mut rough = Rough::new(pair, &mut rng(7), qps, 6, 3000)?;
    rough.post()?;
    rough.finish(|| Ok(()))?;
    let statuses = rough.check()?;
    let good = |list: &[Status]| list.iter().all(|s| *s == Status::Success);
    ensure!(statuses.iter().all(|(_, list)| good(list)), "{statuses:?}");
    Ok(())
}

/// How these counters of a side have grown.
fn grown(pair: &Pair, side: usize, since: &Counters, of: &[Counter]) -> Result<Vec<u64>> {
    let grown = pair.sides[side].device.counters()?.since(since);
    let mut grown = grown.iter().collect::<Vec<_>>();
    grown.retain(|(counter, _)| of.contains(counter));
    Ok(of
        .iter()
        .filter_map(|c| grown.iter().find(|(counter, _)| counter == c))
        .map(|&(_, count)| count)
        .collect())
}

/// A message of five packets after a good one and before another: its first, middle or last packet's payload fails.
#[test]
fn payload_of_any_packet() -> Result<()> {
    const PACKETS: usize = 5;
    let pair = two_qps()?;
    let [sender, receiver] = &pair.sides;
    let packet = Connection::default().pmtu.bytes() as usize;
    let source = sender.pd.allocate(PACKETS * packet, Access::NONE)?;
    source.write(0, &vec![0xab; PACKETS * packet])?;
    let rights = Access::LOCAL_WRITE | Access::REMOTE_WRITE;
    for (failing, fault) in [
        (0, Fault::Status(tlp::Status::UnsupportedRequest)),
        (2, Fault::Status(tlp::Status::CompleterAbort)),
        (2, Fault::Poisoned),
        (PACKETS - 1, Fault::Status(tlp::Status::UnsupportedRequest)),
    ] {
        let target = receiver.pd.allocate((PACKETS + 2) * packet, rights)?;
        connect(&pair, VICTIM, &Connection::default())?;
        let before = sender.device.counters()?;
        // The reads: all WQEs, the first message, and each packet of the second one in pieces.
        let pieces = packet as u64 / MAX_READ;
        script(&pair, 0, 2 + failing as u64 * pieces, fault);
        let after = PACKETS * packet;
        sender.qps[VICTIM].post_send_list(&[
            SendWr::write(1, source.sge(0..8)?, target.remote(after)?),
            SendWr::write(2, source.sge(0..after)?, target.remote(0)?),
            SendWr::write(3, source.sge(0..8)?, target.remote(after + packet)?),
        ])?;
        let done = wait(&pair, &sender.send_cq, 3, AT_ONCE)?;
        let want = [Status::Success, Status::LocQpOp, Status::WrFlush];
        ensure!(done.iter().map(|d| d.1).eq(want), "{done:?}");
        pair.sim.with(|world| world.run(2000))?;
        // Nothing from the failing packet on was ever sent.
        let bytes = target.to_vec(0..target.len())?;
        let mut wanted = vec![0; bytes.len()];
        wanted[..failing * packet].fill(0xab);
        wanted[after..after + 8].fill(0xab);
        let differs = (0..bytes.len()).find(|&k| bytes[k] != wanted[k]);
        ensure!(differs.is_none(), "packet {failing}: byte {differs:?}");
        let counters = [
            Counter::DmaErrors,
            Counter::PcieReadsFailed,
            Counter::TxDmaDropped,
            Counter::RequesterErrors,
            Counter::Retransmits,
            Counter::PcieUnexpected,
        ];
        let counted = grown(&pair, 0, &before, &counters)?;
        ensure!(counted == [1, 1, 1, 1, 0, 0], "{counters:?}: {counted:?}");
        works(&pair, 1..2)?;
        connect(&pair, VICTIM, &Connection::default())?;
        works(&pair, 0..2)?;
    }
    Ok(())
}

/// The receiver of a QP whose sender failed goes on until the driver, which polls that failure, ends it.
#[test]
fn a_failed_sender_still_answers() -> Result<()> {
    let pair = two_qps()?;
    let [sender, receiver] = &pair.sides;
    let mr = sender
        .pd
        .allocate(4096, Access::LOCAL_WRITE | Access::REMOTE_WRITE)?;
    let far = receiver.pd.allocate(4096, Access::LOCAL_WRITE)?;
    let unsupported = tlp::Status::UnsupportedRequest;
    script(&pair, 0, 1, Fault::Status(unsupported));
    sender.qps[VICTIM].post_send(SendWr::send(1, mr.sge(0..100)?))?;
    pair.sim.with(|world| world.run(AT_ONCE))?;
    ensure!(sender.device.counter(Counter::RequesterErrors)? == 1);
    far.write(0, &[0x5a; 100])?;
    receiver.qps[VICTIM].post_send(SendWr::write(2, far.sge(0..100)?, mr.remote(0)?))?;
    let done = wait(&pair, &receiver.send_cq, 1, AT_ONCE).context("the answer")?;
    ensure!(done == [(2, Status::Success)], "{done:?}");
    ensure!(mr.to_vec(0..100)? == [0x5a; 100]);
    let done = wait(&pair, &sender.send_cq, 1, AT_ONCE)?;
    ensure!(done == [(1, Status::LocQpOp)], "{done:?}");
    connect(&pair, VICTIM, &Connection::default())?;
    works(&pair, 0..2)
}

#[test]
fn work_requests() -> Result<()> {
    let pair = two_qps()?;
    let [sender, receiver] = &pair.sides;
    let mr = sender.pd.allocate(4096, Access::LOCAL_WRITE)?;
    let far = receiver.pd.allocate(4096, Access::LOCAL_WRITE)?;
    for fault in [
        Fault::Status(tlp::Status::UnsupportedRequest),
        Fault::Poisoned,
        Fault::Lost,
    ] {
        script(&pair, 0, 0, fault);
        sender.qps[VICTIM].post_send(SendWr::send(1, mr.sge(0..100)?))?;
        let done = wait(&pair, &sender.send_cq, 1, TIMEOUT + AT_ONCE)?;
        ensure!(done == [(1, Status::LocQpOp)], "{fault:?}: {done:?}");
        connect(&pair, VICTIM, &Connection::default())?;

        script(&pair, 0, 0, fault);
        sender.qps[VICTIM].post_recv(RecvWr::new(2, mr.sge(0..100)?))?;
        receiver.qps[VICTIM].post_send(SendWr::send(3, far.sge(0..100)?))?;
        let done = wait(&pair, &receiver.send_cq, 1, 20 * AT_ONCE)?;
        ensure!(done == [(3, Status::RemOp)], "{fault:?}: {done:?}");
        let done = wait(&pair, &sender.recv_cq, 1, AT_ONCE)?;
        ensure!(done == [(2, Status::LocQpOp)], "{fault:?}: {done:?}");
        works(&pair, 1..2)?;
        connect(&pair, VICTIM, &Connection::default())?;
        works(&pair, 0..2)?;
    }
    Ok(())
}

/// While the sender waits for a payload that is lost, its card receives and acknowledges.
#[test]
fn completions_that_get_lost_or_come_too_late() -> Result<()> {
    let pair = two_qps()?;
    let [sender, receiver] = &pair.sides;
    let mr = sender
        .pd
        .allocate(4096, Access::LOCAL_WRITE | Access::REMOTE_WRITE)?;
    let far = receiver.pd.allocate(4096, Access::LOCAL_WRITE)?;
    for fault in [Fault::Lost, Fault::Late(TIMEOUT + 1000)] {
        let before = sender.device.counters()?;
        script(&pair, 0, 1, fault);
        sender.qps[VICTIM].post_send(SendWr::send(1, mr.sge(0..100)?))?;
        receiver.qps[1].post_send(SendWr::write(2, far.sge(0..100)?, mr.remote(0)?))?;
        let done = wait(&pair, &receiver.send_cq, 1, TIMEOUT / 2)?;
        ensure!(done == [(2, Status::Success)], "{done:?}");
        ensure!(sender.send_cq.poll(1)?.is_empty());
        let done = wait(&pair, &sender.send_cq, 1, TIMEOUT + AT_ONCE)?;
        ensure!(done == [(1, Status::LocQpOp)], "{done:?}");
        pair.sim.with(|world| world.run(2000))?;
        let counters = [
            Counter::DmaErrors,
            Counter::PcieReadsFailed,
            Counter::PcieUnexpected,
        ];
        let counted = grown(&pair, 0, &before, &counters)?;
        let late = u64::from(fault != Fault::Lost);
        ensure!(counted == [1, 1, late], "{fault:?}: {counted:?}");
        connect(&pair, VICTIM, &Connection::default())?;
        works(&pair, 0..2)?;
    }
    Ok(())
}

/// With the block's time-out switched off the engine's own ends the wait, for the request concerned alone. What comes after that is taken for
/// what it is, and its tag is used again.
#[test]
fn completions_that_only_the_engine_misses() -> Result<()> {
    let pair = two_qps_of(&model::buffered()?, None)?;
    let timeout = 1 << model::BUFFERED.read_timeout_log2;
    let [sender, receiver] = &pair.sides;
    let mr = sender
        .pd
        .allocate(4096, Access::LOCAL_WRITE | Access::REMOTE_WRITE)?;
    let far = receiver.pd.allocate(4096, Access::LOCAL_WRITE)?;
    let late = Fault::Late(timeout + 1000);
    // The WQE's read and the payload's.
    for (ahead, fault) in [(0, Fault::Lost), (1, Fault::Lost), (0, late), (1, late)] {
        let before = sender.device.counters()?;
        script(&pair, 0, ahead, fault);
        sender.qps[VICTIM].post_send(SendWr::send(1, mr.sge(0..100)?))?;
        receiver.qps[1].post_send(SendWr::write(2, far.sge(0..100)?, mr.remote(0)?))?;
        let done = wait(&pair, &receiver.send_cq, 1, timeout / 2)?;
        ensure!(done == [(2, Status::Success)], "{done:?}");
        pair.sim.with(|world| world.run(timeout / 2))?;
        ensure!(sender.send_cq.poll(1)?.is_empty());
        let done = wait(&pair, &sender.send_cq, 1, timeout / 2 + AT_ONCE)?;
        ensure!(done == [(1, Status::LocQpOp)], "{fault:?}: {done:?}");
        works(&pair, 1..2)?;
        pair.sim.with(|world| world.run(timeout))?;
        let counters = [
            Counter::DmaErrors,
            Counter::PcieReadTimeouts,
            Counter::PcieReadsFailed,
            Counter::PcieUnexpected,
        ];
        let counted = grown(&pair, 0, &before, &counters)?;
        ensure!(
            counted == [1, 1, 0, 0],
            "read {ahead}, {fault:?}: {counted:?}"
        );
        connect(&pair, VICTIM, &Connection::default())?;
        works(&pair, 0..2)?;
    }
    Ok(())
}

/// Completions that can't be written are lost, as posted writes are; what they report has happened.
#[test]
fn a_completion_queue_that_is_not_there() -> Result<()> {
    const PAGE: u64 = 4096;
    let pair = two_qps()?;
    let [sender, receiver] = &pair.sides;
    let memory = pair.sim.with(|world| world.card(0).memory().clone());
    // The ring follows what was allocated just before: a guard page apart.
    let marker = lock(&memory).allocate(1, PAGE, 0);
    let cq = sender.device.create_cq(16)?;
    let ring = marker + 2 * PAGE;
    lock(&memory)
        .slice(ring, 32 * cq.capacity())
        .context("the ring")?;
    let qp = sender.pd.qp(&cq).send_depth(16).build()?;
    let peer = receiver.pd.qp(&receiver.send_cq).build()?;
    join(&pair, [&qp, &peer])?;
    let source = sender.pd.allocate(4096, Access::NONE)?;
    source.write(0, &[0xab; 80])?;
    let rights = Access::LOCAL_WRITE | Access::REMOTE_WRITE;
    let target = receiver.pd.allocate(4096, rights)?;
    lock(&memory).release(ring);
    let faults = || pair.sim.with(|world| world.card(0).host.stats().faults);
    let before = faults();
    for n in 0..10 {
        let at = 8 * n as usize;
        qp.post_send(SendWr::write(
            n,
            source.sge(at..at + 8)?,
            target.remote(at)?,
        ))?;
    }
    pair.sim.with(|world| world.run(8000))?;
    ensure!(target.to_vec(0..80)? == [0xab; 80]);
    ensure!(faults() - before == 10);
    works(&pair, 0..2)
}
