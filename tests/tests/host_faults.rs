//! Hosts that let the card down: memory that is gone, completion queues that nobody empties. One QP suffers, the
//! others do not.

use anyhow::{ensure, Result};
use ferroce_driver::{Access, Completion, Counter, Cq, EqAttr, Event, Qp, RecvWr, SendWr, Status};
use ferroce_sim::card::lock;
use ferroce_sim::link::LinkConfig;
use ferroce_sim::pair::{Pair, PairError};
use ferroce_tests::extra::{extra, join, RING_BYTES};
use ferroce_tests::model;
use ferroce_tests::seed::{rng, seed};
use ferroce_tests::setup::{connect, pair, world, Connection};
use ferroce_tests::traffic::{random_messages, Traffic};

/// The QP that suffers; the other one is number 1.
const VICTIM: usize = 0;

fn two_qps() -> Result<Pair> {
    let connection = Connection {
        timeout: 1,
        retry_cnt: 1,
        ..Connection::default()
    };
    pair(
        &model::small()?,
        &world(LinkConfig::default(), seed()),
        8,
        &[connection; 2],
    )
}

/// Memory at `addr` of a side's host is there no more.
fn unmap(pair: &Pair, side: usize, addr: u64) {
    pair.sim
        .with(|world| lock(world.card(side).memory()).release(addr));
}

fn wait(pair: &Pair, cq: &Cq, count: usize) -> Result<Vec<Completion>> {
    let mut done = Vec::new();
    pair.sim
        .run_until::<PairError>("completions", 400_000, || {
            done.extend(cq.poll(count - done.len())?);
            Ok(done.len() == count)
        })?;
    Ok(done)
}

/// The QP with these numbers works in both directions.
fn works(pair: &Pair, qps: &[usize]) -> Result<()> {
    let mut rng = rng(7);
    let mut traffic = Traffic::new(pair, rng.clone(), 1 << 14, 1 << 18)?;
    for &qp in qps {
        for from in 0..2 {
            traffic.add(from, qp, &random_messages(&mut rng, 12, 3000))?;
        }
    }
    traffic.run()?;
    Ok(())
}

#[test]
fn payload_that_cannot_be_read() -> Result<()> {
    let pair = two_qps()?;
    let [sender, receiver] = &pair.sides;
    let source = sender.pd.allocate(8192, Access::NONE)?;
    let rights = Access::LOCAL_WRITE | Access::REMOTE_WRITE;
    let target = receiver.pd.allocate(8192, rights)?;
    unmap(&pair, 0, source.addr());
    sender.qps[VICTIM].post_send_list(&[
        SendWr::write(1, source.sge(0..5000)?, target.remote(0)?),
        SendWr::write(2, source.sge(0..10)?, target.remote(0)?),
    ])?;
    // Nothing wrong is ever sent.
    let done = wait(&pair, &sender.send_cq, 2)?;
    ensure!(
        done[0].status == Status::LocQpOp && done[1].status == Status::WrFlush,
        "{done:?}"
    );
    ensure!(sender.device.counter(Counter::Timeouts)? == 0);
    ensure!(sender.device.counter(Counter::TxDmaDropped)? > 0);
    ensure!(sender.device.counter(Counter::DmaErrors)? > 0);
    ensure!(target.to_vec(0..8192)? == vec![0; 8192]);
    works(&pair, &[1])?;
    connect(&pair, VICTIM, &Connection::default())?;
    works(&pair, &[VICTIM, 1])
}

#[test]
fn targets_that_cannot_be_written() -> Result<()> {
    let pair = two_qps()?;
    let [sender, receiver] = &pair.sides;
    let source = sender.pd.allocate(8192, Access::NONE)?;
    let rights = Access::LOCAL_WRITE | Access::REMOTE_WRITE;
    let target = receiver.pd.allocate(8192, rights)?;
    unmap(&pair, 1, target.addr());
    let write = SendWr::write(1, source.sge(0..5000)?, target.remote(7)?);
    sender.qps[VICTIM].post_send(write)?;
    // Writes to the host are posted: nobody learns of it.
    let done = wait(&pair, &sender.send_cq, 1)?;
    ensure!(done[0].status == Status::Success, "{done:?}");
    pair.sim.with(|world| world.run(1000))?;
    ensure!(pair.sim.with(|world| world.card(1).host.stats().faults) > 0);
    works(&pair, &[VICTIM, 1])
}

/// A third QP, connected to nobody yet, whose send or receive ring is gone.
#[test]
fn work_requests_that_cannot_be_read() -> Result<()> {
    for receive in [false, true] {
        let pair = two_qps()?;
        let (here, there) = (usize::from(receive), usize::from(!receive));
        let (side, peer) = (&pair.sides[here], &pair.sides[there]);
        let memory = pair.sim.with(|w| w.card(here).memory().clone());
        let broken = extra(&pair, here, &side.send_cq)?;
        let ring = if receive { broken.rq } else { broken.sq };
        let broken = broken.qp;
        let good = extra(&pair, there, &peer.send_cq)?.qp;
        join(
            &pair,
            if receive {
                [&good, &broken]
            } else {
                [&broken, &good]
            },
        )?;
        let mr = side.pd.allocate(4096, Access::LOCAL_WRITE)?;
        let far = peer.pd.allocate(4096, Access::LOCAL_WRITE)?;
        lock(&memory).slice(ring, RING_BYTES)?;
        unmap(&pair, here, ring);
        // The driver writes into the ring: there must be memory, which is taken away when it is written.
        lock(&memory).map(ring, RING_BYTES);
        if receive {
            broken.post_recv(RecvWr::new(1, mr.sge(0..100)?))?;
        } else {
            broken.post_send(SendWr::send(1, mr.sge(0..100)?))?;
        }
        lock(&memory).release(ring);
        if receive {
            good.post_send(SendWr::send(2, far.sge(0..100)?))?;
        }
        let cq = if receive {
            &side.recv_cq
        } else {
            &side.send_cq
        };
        let done = wait(&pair, cq, 1)?;
        ensure!(
            (done[0].wr_id, done[0].status) == (1, Status::LocQpOp),
            "{done:?}"
        );
        if receive {
            let done = wait(&pair, &peer.send_cq, 1)?;
            ensure!(
                (done[0].wr_id, done[0].status) == (2, Status::RemOp),
                "{done:?}"
            );
        }
        ensure!(side.device.counter(Counter::DmaErrors)? > 0);
        works(&pair, &[VICTIM, 1])?;
    }
    Ok(())
}

/// A full CQ loses what does not fit, for good, and says so; other CQs go on.
#[test]
fn a_full_completion_queue() -> Result<()> {
    let pair = two_qps()?;
    let [sender, receiver] = &pair.sides;
    let cq = sender.device.create_cq(2)?;
    let capacity = cq.capacity();
    let qp = sender.pd.qp(&cq).send_depth(16).build()?;
    let peer = receiver.pd.qp(&receiver.send_cq).build()?;
    join(&pair, [&qp, &peer])?;
    let source = sender.pd.allocate(4096, Access::NONE)?;
    let rights = Access::LOCAL_WRITE | Access::REMOTE_WRITE;
    let target = receiver.pd.allocate(4096, rights)?;
    let post = |n: u64| -> Result<()> {
        Ok(qp.post_send(SendWr::write(
            n,
            source.sge(0..8)?,
            target.remote(8 * n as usize)?,
        ))?)
    };
    source.write(0, &[0xab; 8])?;
    for n in 0..10 {
        post(n)?;
    }
    pair.sim.with(|world| world.run(5000))?;
    let dropped = || sender.device.counter(Counter::CqeDropped);
    ensure!(dropped()? == 10 - capacity as u64);
    let done = cq.poll(16)?;
    ensure!(
        done.iter().map(|c| c.wr_id).eq(0..capacity as u64),
        "{done:?}"
    );
    ensure!(target.to_vec(0..80)? == [0xab; 80]);
    // There is room again, but a gap: what came after it could be taken for something else.
    post(10)?;
    pair.sim.with(|world| world.run(5000))?;
    ensure!(cq.poll(16)?.is_empty() && dropped()? == 11 - capacity as u64);
    works(&pair, &[VICTIM, 1])
}

/// What is allocated next on the host of side 0 is here.
fn next_ring(pair: &Pair) -> u64 {
    const PAGE: u64 = 4096;
    let memory = pair.sim.with(|world| world.card(0).memory().clone());
    // A guard page is between two regions.
    let marker = lock(&memory).allocate(1, PAGE, 0);
    marker + 2 * PAGE
}

/// A QP of side 0 whose completions go to `cq`; its peer; and what writes 8 bytes there.
fn writer(pair: &Pair, cq: &Cq) -> Result<(Qp, Qp, impl Fn(&Qp) -> Result<()>)> {
    let [sender, receiver] = &pair.sides;
    let qp = sender.pd.qp(cq).send_depth(8).build()?;
    let peer = receiver.pd.qp(&receiver.send_cq).build()?;
    join(pair, [&qp, &peer])?;
    let source = sender.pd.allocate(4096, Access::NONE)?;
    let rights = Access::LOCAL_WRITE | Access::REMOTE_WRITE;
    let target = receiver.pd.allocate(4096, rights)?;
    let sim = pair.sim.clone();
    let write = move |qp: &Qp| -> Result<()> {
        qp.post_send(SendWr::write(1, source.sge(0..8)?, target.remote(0)?))?;
        Ok(sim.with(|world| world.run(5000))?)
    };
    Ok((qp, peer, write))
}

/// Writes to the host are posted, so nobody learns of a CQ's ring that is not there, until it would be full.
#[test]
fn a_completion_queue_that_cannot_be_written() -> Result<()> {
    let pair = two_qps()?;
    let device = &pair.sides[0].device;
    let memory = pair.sim.with(|world| world.card(0).memory().clone());
    let eq = device.create_eq(EqAttr::new(8, 0), None)?;
    let ring = next_ring(&pair);
    let cq = device.create_cq_with(&eq, None, 2)?;
    let ring_bytes = 32 * cq.capacity();
    let (qp, _peer, write) = writer(&pair, &cq)?;
    lock(&memory).slice(ring, ring_bytes)?;
    unmap(&pair, 0, ring);
    let cqn = cq.cqn();
    cq.request_notify(false)?;
    for _ in 0..cq.capacity() {
        write(&qp)?;
    }
    ensure!(eq.poll()? == [Event::Completion { cqn }]);
    ensure!(pair.sim.with(|world| world.card(0).host.stats().faults) == 2);
    write(&qp)?;
    ensure!(eq.poll()? == [Event::CqOverrun { cqn }]);
    works(&pair, &[VICTIM, 1])?;
    // The driver looks there when it ends.
    lock(&memory).map(ring, ring_bytes);
    Ok(())
}

/// Nor of an EQ's; its CQs go on, and so do other EQs.
#[test]
fn an_event_queue_that_cannot_be_written() -> Result<()> {
    let pair = two_qps()?;
    let device = &pair.sides[0].device;
    let memory = pair.sim.with(|world| world.card(0).memory().clone());
    let ring = next_ring(&pair);
    let broken = device.create_eq(EqAttr::new(2, 0), None)?;
    let good = device.create_eq(EqAttr::new(2, 1), None)?;
    let cq = device.create_cq_with(&broken, None, 8)?;
    let other = device.create_cq_with(&good, None, 8)?;
    let (qp, _peer, write) = writer(&pair, &cq)?;
    let (other_qp, _other_peer, other_write) = writer(&pair, &other)?;
    lock(&memory).slice(ring, 16 * broken.capacity())?;
    unmap(&pair, 0, ring);
    for _ in 0..broken.capacity() + 1 {
        cq.request_notify(false)?;
        write(&qp)?;
        ensure!(cq.poll(2)?.len() == 1);
    }
    ensure!(pair.sim.with(|world| world.card(0).host.stats().faults) == 2);
    ensure!(device.counter(Counter::EqeDropped)? == 1);
    other.request_notify(false)?;
    other_write(&other_qp)?;
    ensure!(good.poll()? == [Event::Completion { cqn: other.cqn() }]);
    works(&pair, &[VICTIM, 1])
}
