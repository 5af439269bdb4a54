//! The card's own atomics: against a software peer byte by byte, and against another card over bad cables.

use std::collections::BTreeSet;

use anyhow::{ensure, Context, Result};
use ferroce_driver::{Access, Counter, Mr, Remote, SendOp, SendWr, Sge, Status, WcOpcode};
use ferroce_sim::link::LinkConfig;
use ferroce_sim::pair::Pair;
use ferroce_tests::asked::{ask, bench, come, done, good, placed, Asked, PSN};
use ferroce_tests::bench::ACK;
use ferroce_tests::model;
use ferroce_tests::requester::{response, REMOTE};
use ferroce_tests::seed::{rng, rounds, seed};
use ferroce_tests::setup::{pair, world, Connection};
use rand::Rng;

fn swap(compare: u64, swap: u64) -> SendOp {
    SendOp::CompareAndSwap {
        remote: REMOTE,
        compare,
        swap,
    }
}

fn add(add: u64) -> SendOp {
    SendOp::FetchAndAdd {
        remote: REMOTE,
        add,
    }
}

#[test]
fn operands_go_out_and_values_come_in() -> Result<()> {
    let mut bench = bench()?;
    let mut psn = PSN;
    for wr_id in 0..40 {
        let (a, b) = (bench.rng.gen(), bench.rng.gen());
        let op = if wr_id % 2 == 0 { swap(a, b) } else { add(a) };
        // At every alignment, across lines and pages.
        let asked = Asked::new(&mut bench, wr_id, op, 8, psn)?;
        psn = asked.at(1);
        ask(&mut bench, std::slice::from_ref(&asked), 1)?;
        asked.landed(&mut bench);
        let counts = good(&bench, &asked);
        let data = [asked.data(&bench, 0)?];
        come(&mut bench, &data, &[], &counts)?;
        done(&bench, &[asked.completion(&bench, Status::Success)])?;
    }
    Ok(())
}

/// An answer that is lost is asked for with the very same packet.
#[test]
fn a_lost_answer_is_asked_for_again() -> Result<()> {
    let mut bench = bench()?;
    let first = Asked::new(&mut bench, 1, add(5), 8, PSN)?;
    let second = Asked::new(&mut bench, 2, swap(1, 2), 8, first.at(1))?;
    ask(&mut bench, &[first.clone(), second.clone()], 2)?;
    let both = [first.packet(&bench, 0)?, second.packet(&bench, 0)?];
    let early = second.data(&bench, 0)?;
    let back = [
        (Counter::Retransmits, 1),
        (Counter::SequenceNaks, 1),
        (Counter::RxOutOfSequence, 1),
    ];
    come(&mut bench, &[early], &both, &back)?;
    first.landed(&mut bench);
    second.landed(&mut bench);
    let data = [first.data(&bench, 0)?, second.data(&bench, 0)?];
    let mut counts = placed(2, 16);
    counts.push((Counter::CqeWritten, 2));
    come(&mut bench, &data, &[], &counts)?;
    done(
        &bench,
        &[first, second].map(|one| one.completion(&bench, Status::Success)),
    )
}

#[test]
fn what_is_no_answer_to_an_atomic() -> Result<()> {
    let read = ferroce_abi::opcode::rc::READ_RESPONSE_ONLY;
    let mut bench = bench()?;
    let asked = Asked::new(&mut bench, 1, add(1), 8, PSN)?;
    ask(&mut bench, std::slice::from_ref(&asked), 1)?;
    let odd = asked.odd(&bench, 0, read, &asked.bytes)?;
    let counts = [(Counter::CqeWritten, 1), (Counter::RequesterErrors, 1)];
    come(&mut bench, &[odd], &[], &counts)?;
    done(&bench, &[asked.completion(&bench, Status::BadResp)])?;

    let mut bench = ferroce_tests::asked::bench()?;
    let asked = Asked::new(&mut bench, 1, add(1), 8, PSN)?;
    ask(&mut bench, std::slice::from_ref(&asked), 1)?;
    // An ACK in its place: the answer is lost.
    let ack = response(&bench, asked.psn, ACK)?;
    let packet = asked.packet(&bench, 0)?;
    let back = [(Counter::Retransmits, 1), (Counter::SequenceNaks, 1)];
    come(&mut bench, &[ack], &[packet], &back)?;
    let nak = response(&bench, asked.psn, 0x62)?;
    let counts = [
        (Counter::CqeWritten, 1),
        (Counter::RxAcks, 1),
        (Counter::RequesterErrors, 1),
    ];
    come(&mut bench, &[nak], &[], &counts)?;
    done(&bench, &[asked.completion(&bench, Status::RemAccess)])
}

#[test]
fn an_atomic_has_eight_bytes() -> Result<()> {
    for len in [0, 7, 9, 16] {
        let mut bench = bench()?;
        let asked = Asked::new(&mut bench, 1, add(1), len, PSN)?;
        let request = asked.request(&bench)?;
        bench.peers[0].qp.post_send(request)?;
        ensure!(bench.open.run(3000)?.is_empty());
        done(&bench, &[asked.completion(&bench, Status::LocLen)])
            .with_context(|| format!("{len} bytes"))?;
    }
    Ok(())
}

/// Two QPs of one card count in a word of the other's memory; every count is given once, whatever the cable does.
fn count(pair: &Pair, per_qp: u64) -> Result<[u64; 2]> {
    let [near, far] = &pair.sides;
    let word = far.pd.allocate(64, Access::ALL)?;
    let results = near
        .pd
        .allocate(16 * 8 * near.qps.len(), Access::LOCAL_WRITE)?;
    let remote = word.remote(24)?;
    word.write(24, &0u64.to_le_bytes())?;
    let mut posted = vec![0; near.qps.len()];
    let mut values = BTreeSet::new();
    let total = per_qp * near.qps.len() as u64;
    let mut done = 0;
    pair.sim.run_until("all counts", 40_000_000, || {
        for (index, qp) in near.qps.iter().enumerate() {
            while posted[index] < per_qp && qp.free_send_places() > 0 {
                let wr_id = posted[index] << 8 | index as u64;
                let sge = place(&results, wr_id)?;
                let op = SendOp::FetchAndAdd { remote, add: 1 };
                qp.post_send(SendWr::new(wr_id, op, sge))?;
                posted[index] += 1;
            }
        }
        for c in near.send_cq.poll(64)? {
            ensure!(
                (c.status, c.opcode, c.byte_len) == (Status::Success, WcOpcode::FetchAdd, 8),
                "{c:?}"
            );
            let at = slot(c.wr_id);
            let mut value = [0; 8];
            value.copy_from_slice(&results.to_vec(at..at + 8)?);
            ensure!(
                values.insert(u64::from_le_bytes(value)),
                "{c:?}: {value:?} again"
            );
            done += 1;
        }
        Ok::<_, anyhow::Error>(done == total)
    })?;
    ensure!(values == (0..total).collect());
    let mut end = [0; 8];
    end.copy_from_slice(&word.to_vec(24..32)?);
    let counters = far.device.counters()?;
    ensure!(counters.get(Counter::RxAtomics) == total);
    Ok([u64::from_le_bytes(end), total])
}

/// Of the 16 that a QP may have under way each has its own place.
fn slot(wr_id: u64) -> usize {
    let (qp, number) = (wr_id as usize & 0xff, (wr_id >> 8) as usize);
    8 * (16 * qp + number % 16)
}

fn place(results: &Mr, wr_id: u64) -> Result<Sge> {
    let at = slot(wr_id);
    Ok(results.sge(at..at + 8)?)
}

#[test]
fn every_count_is_given_once_over_bad_cables() -> Result<()> {
    let first = seed();
    for seed in (0..rounds(3, 40)).map(|n| first.wrapping_add(n)) {
        let mut rng = rng(seed);
        let rate = rng.gen_range(0.01..0.08);
        let link = LinkConfig {
            drop: rate,
            duplicate: rate,
            reorder: rate,
            ..LinkConfig::default()
        };
        let connection = Connection {
            timeout: 3,
            ..Connection::default()
        };
        let library = model::small()?;
        let pair = pair(&library, &world(link, seed), 16, &[connection; 2])?;
        let [end, total] =
            count(&pair, 150).with_context(|| format!("cable FERROCE_SEED={seed}"))?;
        ensure!(
            end == total,
            "FERROCE_SEED={seed}: the word is {end} after {total} counts"
        );
    }
    Ok(())
}

#[test]
fn swaps_take_turns() -> Result<()> {
    let library = model::small()?;
    let pair = pair(
        &library,
        &world(LinkConfig::default(), seed()),
        16,
        &[Connection::default()],
    )?;
    let [near, far] = &pair.sides;
    let word = far.pd.allocate(64, Access::ALL)?;
    let results = near.pd.allocate(64, Access::LOCAL_WRITE)?;
    word.write(8, &7u64.to_le_bytes())?;
    // The second is too late, the third is not.
    for (wr_id, (compare, swap, was, is)) in
        [(7, 9, 7, 9), (7, 11, 9, 9), (9, u64::MAX, 9, u64::MAX)]
            .into_iter()
            .enumerate()
    {
        let op = SendOp::CompareAndSwap {
            remote: Remote { ..word.remote(8)? },
            compare,
            swap,
        };
        let at = 3 + 8 * wr_id;
        near.qps[0].post_send(SendWr::new(wr_id as u64, op, results.sge(at..at + 8)?))?;
        pair.sim.run_until("the swap", 100_000, || {
            Ok::<_, anyhow::Error>(match near.send_cq.poll(1)?.first() {
                Some(c) => {
                    ensure!(
                        (c.status, c.opcode) == (Status::Success, WcOpcode::CompSwap),
                        "{c:?}"
                    );
                    true
                }
                None => false,
            })
        })?;
        ensure!(results.to_vec(at..at + 8)? == u64::to_le_bytes(was));
        ensure!(word.to_vec(8..16)? == u64::to_le_bytes(is));
    }
    Ok(())
}
