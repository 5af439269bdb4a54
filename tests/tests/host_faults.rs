//! Hosts that let the card down: memory that is gone, completion queues that nobody empties. One QP suffers, the
//! others do not.

use anyhow::{ensure, Result};
use ferroce_driver::{Access, Completion, Counter, Cq, RecvWr, SendWr, Status};
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
