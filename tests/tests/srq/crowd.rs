//! Many QPs, many messages.

use std::collections::VecDeque;

use crate::bench::{bytes, Bench, ACK, BUFFER, MTU};
use anyhow::{ensure, Context, Result};
use ferroce_abi::opcode::rc;
use ferroce_driver::{Access, InitAttr, Pmtu, RecvWr, RtrAttr, RtsAttr, SendWr, Status};
use ferroce_sim::link::LinkConfig;
use ferroce_tests::model;
use ferroce_tests::seed::{rng, seed};
use ferroce_tests::setup::{pair, world};
use rand::Rng;

/// What a peer is in the middle of.
#[derive(Default)]
struct Sending {
    /// Request that the message has taken, bytes sent so far.
    message: Option<(u64, Vec<u8>)>,
}

/// Random packets of several QPs against a queue of numbers: first in, first taken, whoever comes.
#[test]
fn random_messages_take_what_the_model_says() -> Result<()> {
    let mut bench = Bench::new(8, 4)?;
    let mut rng = rng(seed());
    let mut posted = VecDeque::new();
    let mut next = 1;
    let mut sending: Vec<Sending> = (0..4).map(|_| Sending::default()).collect();
    for step in 0..150 {
        let k = rng.gen_range(0..4);
        let rnr = 0x20 | bench.peers[k].config.min_rnr_timer;
        let context = || format!("step {step}, peer {k}");
        let held = sending.iter().filter(|s| s.message.is_some()).count();
        ensure!(
            bench.srq.outstanding() == posted.len() + held,
            "{}",
            context()
        );
        match rng.gen_range(0..20) {
            0..6 => {
                let room = (8 - posted.len() - held) as u64;
                let count = rng.gen_range(0..4).min(room);
                if count > 0 {
                    bench.post(next..next + count)?;
                    posted.extend(next..next + count);
                    next += count;
                }
            }
            6 => {
                // Stopped, and connected anew.
                bench.peers[k].qp.to_error()?;
                ensure!(bench.open.answers()?.is_empty());
                match sending[k].message.take() {
                    Some((wr_id, _)) => bench.failed(k, wr_id, Status::WrFlush),
                    None => {
                        ensure!(bench.poll()?.is_empty(), "{}", context());
                        Ok(())
                    }
                }
                .with_context(context)?;
                let config = bench.peers[k].config;
                let Bench { open, peers, .. } = &mut bench;
                peers[k].connect(open, config)?;
            }
            7 if sending[k].message.is_none() => {
                let empty = posted.is_empty();
                bench
                    .packet(k, rc::WRITE_ONLY_IMM, &[], if empty { rnr } else { ACK })
                    .with_context(context)?;
                let done = bench.poll()?;
                let ids: Vec<_> = done.iter().map(|c| c.wr_id).collect();
                let expected: Vec<u64> = posted.pop_front().into_iter().collect();
                ensure!(ids == expected, "{}: {ids:?}, not {expected:?}", context());
            }
            _ => {
                let (first, taken) = match sending[k].message.take() {
                    Some(message) => (false, Some(message)),
                    None => (true, posted.pop_front().map(|wr_id| (wr_id, Vec::new()))),
                };
                let room = taken
                    .as_ref()
                    .map_or(BUFFER, |(_, sent)| BUFFER - sent.len());
                let last = room <= MTU || rng.gen();
                let len = if last { rng.gen_range(1..=MTU) } else { MTU };
                let part = bytes(step, len);
                let opcode = match (first, last) {
                    (true, true) => rc::SEND_ONLY,
                    (true, false) => rc::SEND_FIRST,
                    (false, true) => rc::SEND_LAST,
                    (false, false) => rc::SEND_MIDDLE,
                };
                let syndrome = if taken.is_some() { ACK } else { rnr };
                bench
                    .packet(k, opcode, &part, syndrome)
                    .with_context(context)?;
                if let Some((wr_id, mut sent)) = taken {
                    sent.extend(&part);
                    if last {
                        bench.received(k, wr_id, &sent).with_context(context)?;
                    } else {
                        sending[k].message = Some((wr_id, sent));
                    }
                }
            }
        }
        ensure!(bench.poll()?.is_empty(), "{}", context());
    }
    Ok(())
}

/// Many QPs send at once over a cable that loses frames: every message arrives whole, in its QP's order, in one request.
#[test]
fn a_crowd_over_a_bad_cable() -> Result<()> {
    const QPS: usize = 4;
    const MESSAGES: u64 = 24;
    const DEPTH: usize = 16;
    const SLOT: usize = 4096;
    let seed = seed();
    let link = LinkConfig {
        drop: 0.03,
        duplicate: 0.02,
        reorder: 0.02,
        ..LinkConfig::default()
    };
    let pair = pair(&model::small()?, &world(link, seed), 32, &[])?;
    let [from, to] = &pair.sides;
    let srq = to.pd.srq(DEPTH).build()?;
    let cqs = [from.device.create_cq(256)?, to.device.create_cq(256)?];
    let mut qps = Vec::new();
    for k in 0..QPS {
        // One has its own queue.
        let builder = to.pd.qp(&cqs[1]).recv_depth(32);
        let builder = if k == 0 { builder } else { builder.srq(&srq) };
        let ends = [from.pd.qp(&cqs[0]).build()?, builder.build()?];
        for (me, peer) in [(0, 1), (1, 0)] {
            let rtr = RtrAttr {
                pmtu: Pmtu::B1024,
                min_rnr_timer: 1,
                ..RtrAttr::new(pair.sides[peer].address, ends[peer].qpn(), 0xff_fff0)
            };
            let rts = RtsAttr {
                timeout: 4,
                ..RtsAttr::new(0xff_fff0)
            };
            ends[me].connect(InitAttr::default(), rtr, rts)?;
        }
        qps.push(ends);
    }
    let source = from.pd.allocate(SLOT * QPS, Access::LOCAL_WRITE)?;
    let target = to.pd.allocate(SLOT * (DEPTH + 32), Access::LOCAL_WRITE)?;
    let mut rng = rng(seed);
    for k in 0..QPS {
        source.write(k * SLOT, &bytes(k, SLOT))?;
    }
    let slot = |n: u64| n as usize * SLOT..(n as usize + 1) * SLOT;
    for n in 0..32 {
        let n = DEPTH as u64 + n;
        qps[0][1].post_recv(RecvWr::new(n, target.sge(slot(n))?))?;
    }
    // Fewer than come, so that the queue runs dry.
    for n in 0..DEPTH as u64 {
        srq.post_recv(RecvWr::new(n, target.sge(slot(n))?))?;
    }
    let mut lengths = vec![VecDeque::new(); QPS];
    for n in 0..MESSAGES {
        for (k, ends) in qps.iter().enumerate() {
            let len = rng.gen_range(1..=SLOT);
            let sge = source.sge(k * SLOT..k * SLOT + len)?;
            ends[0].post_send(SendWr::send(n, sge))?;
            lengths[k].push_back(len);
        }
    }
    let mut left = MESSAGES as usize * QPS;
    let limit = pair.sim.with(|world| world.cycles()) + 4_000_000;
    while left > 0 {
        pair.sim.with(|world| world.run(500))?;
        ensure!(
            pair.sim.with(|world| world.cycles()) < limit,
            "{left} are missing"
        );
        for c in cqs[1].poll(64)? {
            ensure!(c.status == Status::Success, "{c:?}");
            let Some(k) = qps.iter().position(|ends| ends[1].qpn() == c.qpn) else {
                anyhow::bail!("whose is {c:?}?");
            };
            ensure!(Some(c.byte_len as usize) == lengths[k].pop_front(), "{c:?}");
            let mut got = vec![0; c.byte_len as usize];
            target.read(slot(c.wr_id).start, &mut got)?;
            ensure!(got == bytes(k, SLOT)[..got.len()], "payload of {c:?}");
            ensure!((c.wr_id < DEPTH as u64) == (k != 0), "{c:?}");
            if k != 0 {
                srq.post_recv(RecvWr::new(c.wr_id, target.sge(slot(c.wr_id))?))?;
            }
            left -= 1;
        }
        for c in cqs[0].poll(64)? {
            ensure!(c.status == Status::Success, "{c:?}");
        }
    }
    ensure!(srq.outstanding() == DEPTH);
    Ok(())
}
