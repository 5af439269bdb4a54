//! Connections that are torn down in the middle of work, and made anew.

use anyhow::{ensure, Context, Result};
use ferroce_driver::{Access, Completion, Cq, Mr, Pmtu, QpState, RecvWr, SendOp, SendWr, Status};
use ferroce_sim::link::LinkConfig;
use ferroce_sim::pair::Pair;
use ferroce_tests::model;
use ferroce_tests::seed::{rng, rounds, seed};
use ferroce_tests::setup::{connect, pair, world, Connection};
use ferroce_tests::traffic::{random_messages, Traffic};
use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// Work requests of each queue.
const DEPTH: usize = 16;
const QPS: usize = 4;

/// How a QP is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    /// Moved to ERR: everything is flushed.
    Error,
    /// Reset: everything is forgotten.
    Reset,
    /// Not at all: the peer finds out.
    Nothing,
}

/// Fills both queues of both sides of a QP, and returns the regions in use. Half of the messages are as long as a
/// hundred packets.
fn fill(pair: &Pair, index: usize, rng: &mut ChaCha8Rng) -> Result<Vec<Mr>> {
    let mut regions = Vec::new();
    for me in 0..2 {
        let side = &pair.sides[me];
        let qp = &side.qps[index];
        let rights = Access::LOCAL_WRITE | Access::REMOTE_WRITE;
        let mr = side.pd.allocate(1 << 16, rights)?;
        for n in 0..DEPTH as u64 {
            qp.post_recv(RecvWr::new(n, mr.sge(0..1 << 16)?))?;
        }
        let remote = pair.sides[1 - me].pd.allocate(1 << 16, rights)?;
        for n in 0..DEPTH as u64 {
            let op = match n % 3 {
                0 => SendOp::Write(remote.remote(0)?),
                1 => SendOp::Send,
                _ => SendOp::WriteWithImm(remote.remote(0)?, 5),
            };
            let len = if rng.gen() {
                25_600
            } else {
                rng.gen_range(1..600)
            };
            let wr = SendWr::new(n, op, mr.sge(0..len)?);
            qp.post_send(if rng.gen() { wr } else { wr.unsignaled() })?;
        }
        regions.extend([mr, remote]);
    }
    Ok(regions)
}

fn drain(cq: &Cq) -> Result<Vec<Completion>> {
    let mut all = Vec::new();
    loop {
        let some = cq.poll(64)?;
        if some.is_empty() {
            return Ok(all);
        }
        all.extend(some);
    }
}

/// Completions of one queue come in order: successes, at most one failure, then flushed ones without a gap to the end.
fn check_order(done: &[Completion], stop: Stop) -> Result<()> {
    let ids: Vec<u64> = done.iter().map(|c| c.wr_id).collect();
    ensure!(ids.windows(2).all(|w| w[0] < w[1]), "{done:#?}");
    let failed = done.iter().position(|c| c.status != Status::Success);
    let Some(first) = failed else { return Ok(()) };
    let flushed = &done[first + 1..];
    ensure!(
        flushed.iter().all(|c| c.status == Status::WrFlush),
        "{done:#?}"
    );
    if stop != Stop::Reset {
        let from = ids[first];
        ensure!(
            ids[first..].iter().copied().eq(from..DEPTH as u64),
            "{done:#?}"
        );
    }
    Ok(())
}

/// One round of destruction, after which all QPs must be as good as new.
fn upheaval(pair: &Pair, rng: &mut ChaCha8Rng) -> Result<()> {
    let victims: Vec<usize> = (0..QPS).filter(|_| rng.gen_bool(0.6)).collect();
    let mut held = Vec::new();
    for &index in &victims {
        let regions = fill(pair, index, rng)?;
        // Else they are dropped now: what is under way to or from them is refused.
        if rng.gen_bool(0.7) {
            held.extend(regions);
        }
        pair.sim.with(|w| w.run(rng.gen_range(0..2500)))?;
    }
    let stops = [Stop::Error, Stop::Reset, Stop::Nothing];
    for &index in &victims {
        let chosen = [stops[rng.gen_range(0..3)], stops[rng.gen_range(0..3)]];
        for (side, stop) in pair.sides.iter().zip(chosen) {
            let qp = &side.qps[index];
            match stop {
                // A QP that failed meanwhile may be in ERR already.
                Stop::Error => qp.to_error()?,
                Stop::Reset => qp.reset()?,
                Stop::Nothing => {}
            }
            pair.sim.with(|w| w.run(rng.gen_range(0..1500)))?;
        }
        for (side, stop) in pair.sides.iter().zip(chosen) {
            for cq in [&side.send_cq, &side.recv_cq] {
                let qpn = side.qps[index].qpn();
                let done: Vec<_> = drain(cq)?.into_iter().filter(|c| c.qpn == qpn).collect();
                check_order(&done, stop).with_context(|| format!("{chosen:?}"))?;
                if stop == Stop::Error {
                    ensure!(side.qps[index].state() == QpState::Err);
                    ensure!(done.last().is_none_or(|c| c.wr_id == DEPTH as u64 - 1));
                }
            }
        }
        let connection = Connection {
            pmtu: Pmtu::ALL[rng.gen_range(0..Pmtu::ALL.len())],
            psn: [rng.gen::<u32>() >> 8, rng.gen::<u32>() >> 8],
            ..Connection::default()
        };
        // Both sides are down before one comes up, or old packets would be taken for new ones.
        for side in &pair.sides {
            side.qps[index].reset()?;
        }
        pair.sim.with(|w| w.run(3000))?;
        connect(pair, index, &connection)?;
    }
    drop(held);
    for side in &pair.sides {
        drain(&side.send_cq)?;
        drain(&side.recv_cq)?;
    }
    let mut traffic = Traffic::new(pair, rng.clone(), 1 << 15, 1 << 19)?;
    for index in 0..QPS {
        for from in 0..2 {
            traffic.add(from, index, &random_messages(rng, 12, 3000))?;
        }
    }
    traffic.run()?;
    Ok(())
}

#[test]
fn torn_connections_come_back() -> Result<()> {
    let seed = seed();
    let mut rng = rng(seed);
    let link = LinkConfig::default();
    let connections = [Connection::default(); QPS];
    let pair = pair(&model::small()?, &world(link, seed), DEPTH, &connections)?;
    for round in 0..rounds(12, 200) {
        upheaval(&pair, &mut rng).with_context(|| format!("round {round}"))?;
    }
    Ok(())
}
