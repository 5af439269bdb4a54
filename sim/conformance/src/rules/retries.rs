//! What becomes of work when the peer does not answer or has no receive request.

use std::sync::Arc;

use crate::open::Open;
use crate::peer::{Peer, PeerConfig};
use crate::setup::{pair, world, Connection};
use anyhow::{ensure, Result};
use ferroce_abi::frame::Frame;
use ferroce_abi::headers::syndrome::RNR_TIMER_US;
use ferroce_bridge::Library;
use ferroce_driver::{Access, Completion, Counter, Pmtu, QpState, RecvWr, SendWr, Status};
use ferroce_sim::link::LinkConfig;
use ferroce_sim::pair::{Pair, PairError};
use ferroce_sim::time::CORE_HZ;

/// Core cycles of a time in microseconds.
const fn cycles(us: u64) -> u64 {
    us * CORE_HZ / 1_000_000
}

/// Polls until `count` completions are there.
fn wait(pair: &Pair, side: usize, count: usize, limit: u64) -> Result<Vec<Completion>> {
    let cq = &pair.sides[side].send_cq;
    let mut done = Vec::new();
    pair.sim.run_until::<PairError>("completions", limit, || {
        done.extend(cq.poll(count - done.len())?);
        Ok(done.len() == count)
    })?;
    Ok(done)
}

/// `retry_cnt` retries after the first transmission, each after about the timeout; then everything fails in order.
pub fn a_silent_peer_ends_in_retry_exceeded(library: &Arc<Library>, seed: u64) -> Result<()> {
    const TIMEOUT: u8 = 1;
    const RETRIES: u8 = 2;
    const WORK: u64 = 6;
    let open = Open::new(library, seed)?;
    let config = PeerConfig {
        timeout: TIMEOUT,
        retry_cnt: RETRIES,
        ..PeerConfig::default()
    };
    let peer = Peer::new(&open, 0x111, config)?;
    let mr = open.pd.allocate(4096, Access::NONE)?;
    let list: Vec<_> = (0..WORK)
        .map(|n| {
            let wr = SendWr::send(n, mr.sge(0..300).unwrap_or_default());
            // A failed request completes whether it was to or not.
            if n % 2 == 0 {
                wr.unsignaled()
            } else {
                wr
            }
        })
        .collect();
    peer.qp.post_send_list(&list)?;
    let start = open.sim.with(|w| w.cycles());
    let mut done = Vec::new();
    let timeout = cycles(4) << TIMEOUT;
    open.sim
        .run_until::<PairError>("flushing", 40 * timeout, || {
            done.extend(open.cq.poll(16)?);
            Ok(done.len() == WORK as usize)
        })?;
    let took = open.sim.with(|w| w.cycles()) - start;
    // T to 4T is allowed for each of the waits.
    let waits = u64::from(RETRIES) + 1;
    ensure!(
        (waits * timeout..4 * waits * timeout).contains(&took),
        "gave up after {took} cycles"
    );
    for (n, completion) in done.iter().enumerate() {
        let status = if n == 0 {
            Status::RetryExc
        } else {
            Status::WrFlush
        };
        ensure!(
            (completion.wr_id, completion.status) == (n as u64, status),
            "{done:#?}"
        );
    }
    ensure!(peer.qp.state() == QpState::Err);
    let sent = open.answers()?;
    let first = sent.iter().filter(|bytes| {
        Frame::decode(&bytes[..bytes.len() - 4])
            .is_ok_and(|frame| frame.packet.bth.psn == config.card_psn)
    });
    ensure!(first.count() as u64 == waits);
    ensure!(open.device.counter(Counter::Timeouts)? == u64::from(RETRIES));
    ensure!(open.device.counter(Counter::RequesterErrors)? == 1);
    ensure!(open.answers()?.is_empty(), "a failed QP goes on sending");
    Ok(())
}

/// A pair with a sender that has one SEND and a receiver without receive requests.
fn unready(library: &Arc<Library>, seed: u64, rnr_retry: u8, min_rnr_timer: u8) -> Result<Pair> {
    let connection = Connection {
        pmtu: Pmtu::B256,
        rnr_retry,
        min_rnr_timer,
        ..Connection::default()
    };
    let pair = pair(
        library,
        &world(LinkConfig::default(), seed),
        8,
        &[connection],
    )?;
    Ok(pair)
}

/// The sender waits as long as it is told, as often as it takes, and goes on when the receive request is there.
pub fn a_late_receive_request_is_waited_for(library: &Arc<Library>, seed: u64) -> Result<()> {
    const CODE: u8 = 2;
    let pair = unready(library, seed, 7, CODE)?;
    let [sender, receiver] = &pair.sides;
    let source = sender.pd.allocate(4096, Access::NONE)?;
    let target = receiver.pd.allocate(4096, Access::LOCAL_WRITE)?;
    source.write(0, &[0x5a; 600])?;
    // The WRITE needs no receive request, but must not overtake the SEND.
    let rights = Access::LOCAL_WRITE | Access::REMOTE_WRITE;
    let written = receiver.pd.allocate(64, rights)?;
    sender.qps[0].post_send_list(&[
        SendWr::send(1, source.sge(0..600)?),
        SendWr::write(2, source.sge(0..64)?, written.remote(0)?),
    ])?;
    let wait_us = u64::from(RNR_TIMER_US[usize::from(CODE)]);
    let waits = 9;
    pair.sim.with(|w| w.run(cycles(waits * wait_us)))?;
    ensure!(sender.send_cq.poll(1)?.is_empty());
    ensure!(written.to_vec(0..64)? == [0; 64]);
    let counted = sender.device.counter(Counter::RnrWaits)?;
    // More than two would need a wait shorter than the coded time.
    ensure!(
        (waits / 2..=waits).contains(&counted),
        "{counted} waits in {waits} times the RNR timer"
    );
    receiver.qps[0].post_recv(RecvWr::new(3, target.sge(0..700)?))?;
    let done = wait(&pair, 0, 2, cycles(4 * wait_us))?;
    ensure!(done.iter().map(|c| c.wr_id).eq([1, 2]));
    ensure!(done.iter().all(|c| c.status == Status::Success), "{done:?}");
    let received = receiver.recv_cq.poll(2)?;
    ensure!(received.len() == 1 && received[0].byte_len == 600 && received[0].wr_id == 3);
    ensure!(target.to_vec(0..600)? == [0x5a; 600]);
    ensure!(target.to_vec(600..700)? == [0; 100]);
    ensure!(written.to_vec(0..64)? == [0x5a; 64]);
    let rnr_naks = receiver.device.counter(Counter::TxRnrNaks)?;
    ensure!(rnr_naks == sender.device.counter(Counter::RnrWaits)?);
    ensure!(sender.device.counter(Counter::RequesterErrors)? == 0);
    Ok(())
}

/// `rnr_retry` waits, then the end.
pub fn rnr_retries_run_out(library: &Arc<Library>, seed: u64) -> Result<()> {
    for retries in [0, 2] {
        let pair = unready(library, seed, retries, 1)?;
        let [sender, receiver] = &pair.sides;
        let source = sender.pd.allocate(4096, Access::NONE)?;
        sender.qps[0].post_send_list(&[
            SendWr::send(1, source.sge(0..10)?),
            SendWr::send(2, source.sge(0..10)?).unsignaled(),
            SendWr::send(3, source.sge(0..10)?),
        ])?;
        let done = wait(&pair, 0, 3, cycles(200))?;
        let status: Vec<_> = done.iter().map(|c| (c.wr_id, c.status)).collect();
        ensure!(
            status
                == [
                    (1, Status::RnrRetryExc),
                    (2, Status::WrFlush),
                    (3, Status::WrFlush)
                ],
            "{done:#?}"
        );
        ensure!(sender.device.counter(Counter::RnrWaits)? == u64::from(retries));
        ensure!(receiver.device.counter(Counter::TxRnrNaks)? == u64::from(retries) + 1);
        ensure!(sender.qps[0].state() == QpState::Err);
        // The peer has seen nothing wrong.
        ensure!(receiver.qps[0].state() == QpState::Rts);
    }
    Ok(())
}

/// A failed QP is as good as new after a reset, on both sides.
pub fn a_failed_connection_can_be_made_anew(library: &Arc<Library>, seed: u64) -> Result<()> {
    let pair = unready(library, seed, 0, 1)?;
    let [sender, receiver] = &pair.sides;
    let source = sender.pd.allocate(4096, Access::NONE)?;
    let target = receiver.pd.allocate(4096, Access::LOCAL_WRITE)?;
    source.write(0, b"after the reset")?;
    for round in 0..3u8 {
        sender.qps[0].post_send(SendWr::send(1, source.sge(0..10)?))?;
        let failed = wait(&pair, 0, 1, cycles(100))?;
        ensure!(failed[0].status == Status::RnrRetryExc, "round {round}");
        let connection = Connection {
            psn: [0x123 * u32::from(round), 0x456],
            rnr_retry: 0,
            ..Connection::default()
        };
        crate::setup::connect(&pair, 0, &connection)?;
        target.write(0, &[0; 15])?;
        receiver.qps[0].post_recv(RecvWr::new(2, target.sge(0..15)?))?;
        pair.sim.with(|w| w.run(cycles(5)))?;
        sender.qps[0].post_send(SendWr::send(3, source.sge(0..15)?))?;
        let done = wait(&pair, 0, 1, cycles(100))?;
        ensure!(
            (done[0].wr_id, done[0].status) == (3, Status::Success),
            "round {round}"
        );
        let received = receiver.recv_cq.poll(9)?;
        ensure!(
            received.len() == 1 && received[0].wr_id == 2,
            "{received:?}"
        );
        ensure!(target.to_vec(0..15)? == b"after the reset");
    }
    Ok(())
}
