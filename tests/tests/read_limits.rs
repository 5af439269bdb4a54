//! What keeps READs of the card within bounds: how many there are at once, fences, retries, regions, and the end of a queue.

use anyhow::{ensure, Context, Result};
use ferroce_driver::{Access, Counter, Pmtu, SendOp, SendWr, Sge, Status};
use ferroce_sim::link::LinkConfig;
use ferroce_tests::asked::{ask, bench, bench_with, come, done, good, placed, Asked, PSN};
use ferroce_tests::model;
use ferroce_tests::peer::{add24, same_frames, PeerConfig};
use ferroce_tests::seed::{rng, seed};
use ferroce_tests::setup::{pair, world, Connection};
use rand::Rng;

/// No more READs than agreed upon are under way; a fenced request waits for all of them.
#[test]
fn as_many_reads_as_agreed_upon() -> Result<()> {
    for limit in [1, 2, 16] {
        let mut bench = bench_with(PeerConfig {
            max_rd_atomic: limit,
            ..PeerConfig::default()
        })?;
        let mut asked = Vec::new();
        let mut psn = PSN;
        for wr_id in 0..16 {
            let len = bench.rng.gen_range(0..600);
            let one = Asked::read(&mut bench, wr_id, len, psn)?;
            psn = one.at(one.psns(&bench));
            asked.push(one);
        }
        let limit = usize::from(limit);
        ask(&mut bench, &asked, limit)?;
        for (n, one) in asked.iter().enumerate() {
            one.landed(&mut bench);
            let next: Vec<_> = asked
                .get(n + limit)
                .map(|next| next.packet(&bench, 0))
                .transpose()?
                .into_iter()
                .collect();
            let (data, counts) = (one.rest(&bench, 0)?, good(&bench, one));
            come(&mut bench, &data, &next, &counts)
                .with_context(|| format!("READ {n} of {limit} at once"))?;
            done(&bench, &[one.completion(&bench, Status::Success)])?;
        }
    }
    Ok(())
}

#[test]
fn without_an_agreement_reads_fail() -> Result<()> {
    let mut bench = bench_with(PeerConfig {
        max_rd_atomic: 0,
        ..PeerConfig::default()
    })?;
    let asked = Asked::read(&mut bench, 1, 8, PSN)?;
    let request = asked.request(&bench)?;
    bench.peers[0].qp.post_send(request)?;
    ensure!(bench.open.run(3000)?.is_empty());
    done(&bench, &[asked.completion(&bench, Status::LocQpOp)])
}

#[test]
fn a_fence_waits_for_data() -> Result<()> {
    let mut bench = bench()?;
    let first = Asked::read(&mut bench, 1, 300, PSN)?;
    let second = Asked::read(&mut bench, 2, 9, first.at(2))?;
    let third = Asked::read(&mut bench, 3, 5, second.at(1))?;
    let requests = [
        first.request(&bench)?,
        second.request(&bench)?,
        third.request(&bench)?.fenced(),
    ];
    bench.peers[0].qp.post_send_list(&requests)?;
    let two = [first.packet(&bench, 0)?, second.packet(&bench, 0)?];
    let sent = |count| [(Counter::TxFrames, count), (Counter::TxRequests, count)];
    same_frames(&bench.open.run(3000)?, &two)?;
    bench.counted(&sent(2))?;
    first.landed(&mut bench);
    let (data, counts) = (first.rest(&bench, 0)?, good(&bench, &first));
    come(&mut bench, &data, &[], &counts)?;
    second.landed(&mut bench);
    let last = [third.packet(&bench, 0)?];
    let (data, counts) = (second.rest(&bench, 0)?, good(&bench, &second));
    come(&mut bench, &data, &last, &counts)?;
    third.landed(&mut bench);
    let (data, counts) = (third.rest(&bench, 0)?, good(&bench, &third));
    come(&mut bench, &data, &[], &counts)?;
    let all = [first, second, third].map(|one| one.completion(&bench, Status::Success));
    done(&bench, &all)
}

#[test]
fn a_mute_peer_is_asked_until_the_retries_are_used_up() -> Result<()> {
    let mut bench = bench_with(PeerConfig {
        timeout: 2,
        retry_cnt: 3,
        ..PeerConfig::default()
    })?;
    let asked = Asked::read(&mut bench, 1, 1000, PSN)?;
    let request = asked.request(&bench)?;
    bench.peers[0].qp.post_send(request)?;
    let packet = asked.packet(&bench, 0)?;
    let sent = bench.open.run(60_000)?;
    same_frames(&sent, &vec![packet; 4])?;
    done(&bench, &[asked.completion(&bench, Status::RetryExc)])
}

/// A time-out in the middle of the data asks for the rest.
#[test]
fn the_rest_is_asked_for_after_a_time_out() -> Result<()> {
    let mut bench = bench_with(PeerConfig {
        // To read the counters takes a good part of it.
        timeout: 7,
        ..PeerConfig::default()
    })?;
    let asked = Asked::read(&mut bench, 1, 1000, PSN)?;
    ask(&mut bench, std::slice::from_ref(&asked), 1)?;
    let data = [asked.data(&bench, 0)?, asked.data(&bench, 1)?];
    come(&mut bench, &data, &[], &placed(2, 512))?;
    let sent = bench.open.run(132_000)?;
    same_frames(&sent, &[asked.packet(&bench, 2)?])?;
    bench.counted_any()?;
    asked.landed(&mut bench);
    let mut counts = placed(2, 1000 - 512);
    counts.push((Counter::CqeWritten, 1));
    let rest = asked.rest(&bench, 2)?;
    come(&mut bench, &rest, &[], &counts)?;
    done(&bench, &[asked.completion(&bench, Status::Success)])
}

/// The region is checked when the READ is sent, and again when its data comes.
#[test]
fn data_lands_in_its_region_only() -> Result<()> {
    let mut bench = bench()?;
    let asked = Asked::read(&mut bench, 1, 512, PSN)?;
    let pd = &bench.open.pd;
    let deaf = pd.allocate(4096, Access::REMOTE_READ)?;
    let request = SendWr::new(1, asked.op, deaf.sge(0..512)?);
    bench.peers[0].qp.post_send(request)?;
    ensure!(bench.open.run(3000)?.is_empty());
    done(&bench, &[asked.completion(&bench, Status::LocProt)])?;

    let mut bench = ferroce_tests::asked::bench()?;
    let target = bench.open.pd.allocate(4096, Access::LOCAL_WRITE)?;
    let sge: Sge = target.sge(100..612)?;
    bench.peers[0].qp.post_send(SendWr::new(1, asked.op, sge))?;
    ensure!(bench.open.run(3000)?.len() == 1);
    bench.counted_any()?;
    let data = asked.rest(&bench, 0)?;
    come(&mut bench, &data[..1], &[], &placed(1, 256))?;
    drop(target);
    let counts = [
        (Counter::MrDenied, 1),
        (Counter::CqeWritten, 1),
        (Counter::RequesterErrors, 1),
    ];
    come(&mut bench, &data[1..], &[], &counts)?;
    done(&bench, &[asked.completion(&bench, Status::LocProt)])
}

/// A QP that is moved to the error state takes no more data, and a new life none of the old one.
#[test]
fn stopped_queues_take_no_data() -> Result<()> {
    let mut bench = bench()?;
    let asked = Asked::read(&mut bench, 1, 512, PSN)?;
    ask(&mut bench, std::slice::from_ref(&asked), 1)?;
    let data = asked.rest(&bench, 0)?;
    bench.peers[0].qp.to_error()?;
    bench.open.run(3000)?;
    bench.counted_any()?;
    come(&mut bench, &data, &[], &[(Counter::RxDropQpState, 2)])?;
    done(&bench, &[asked.completion(&bench, Status::WrFlush)])?;
    let config = bench.peers[0].config;
    bench.peers[0].connect(&bench.open, config)?;
    bench.counted_any()?;
    come(&mut bench, &data, &[], &[(Counter::RxDropOpcode, 2)])?;
    let anew = Asked::read(&mut bench, 2, 300, PSN)?;
    ask(&mut bench, std::slice::from_ref(&anew), 1)?;
    anew.landed(&mut bench);
    let (data, counts) = (anew.rest(&bench, 0)?, good(&bench, &anew));
    come(&mut bench, &data, &[], &counts)?;
    done(&bench, &[anew.completion(&bench, Status::Success)])?;
    ensure!(add24(anew.psn, 2) == 0);
    Ok(())
}

/// When the last request of a stopped queue is flushed, its memory is the program's own again: no data is written any more.
#[test]
fn no_data_is_written_behind_the_flush() -> Result<()> {
    const LEN: usize = 60_000;
    const READS: usize = 16;
    let seed = seed();
    let mut rng = rng(seed);
    let connection = Connection {
        pmtu: Pmtu::B1024,
        ..Connection::default()
    };
    let library = model::small()?;
    for round in 0..6 {
        let config = world(LinkConfig::default(), seed.wrapping_add(round));
        let pair = pair(&library, &config, READS, &[connection])?;
        let [near, far] = &pair.sides;
        let source = far.pd.allocate(LEN, Access::ALL)?;
        source.write(0, &[0xA5; LEN])?;
        let target = near.pd.allocate(READS * LEN, Access::LOCAL_WRITE)?;
        for n in 0..READS {
            let sge = target.sge(n * LEN..(n + 1) * LEN)?;
            let read = SendOp::Read(source.remote(0)?);
            near.qps[0].post_send(SendWr::new(n as u64, read, sge))?;
        }
        let cycles = rng.gen_range(500..20_000);
        pair.sim.with(|world| world.run(cycles))?;
        near.qps[0].to_error()?;
        let mut done = 0;
        pair.sim.run_until("the flush", 100_000, || {
            done += near.send_cq.poll(READS)?.len();
            Ok::<_, anyhow::Error>(done == READS)
        })?;
        let then = target.to_vec(0..READS * LEN)?;
        pair.sim.with(|world| world.run(40_000))?;
        ensure!(
            target.to_vec(0..READS * LEN)? == then,
            "FERROCE_SEED={seed}: stopped after {cycles} cycles"
        );
    }
    Ok(())
}
