//! The card reads from a software peer: requests byte by byte, and data of every kind.

use anyhow::{ensure, Context, Result};
use ferroce_abi::opcode::rc;
use ferroce_driver::{Access, Counter, Pmtu, SendOp, SendWr, Sge, Status};
use ferroce_sim::link::LinkConfig;
use ferroce_tests::asked::{ask, come, done, placed, Asked};
use ferroce_tests::bench::{Bench, Counts, ACK};
use ferroce_tests::model;
use ferroce_tests::peer::{add24, PeerConfig};
use ferroce_tests::requester::response;
use ferroce_tests::seed::{rng, seed};
use ferroce_tests::setup::{pair, world, Connection};
use rand::Rng;

/// First PSN: it wraps in the middle of the first longer READ.
const PSN: u32 = 0xff_fffe;

fn bench_with(config: PeerConfig) -> Result<Bench> {
    let config = PeerConfig {
        card_psn: PSN,
        ..config
    };
    Bench::new(&model::small()?, seed(), &[config; 2])
}

fn bench() -> Result<Bench> {
    bench_with(PeerConfig::default())
}

/// What is counted when a READ, signaled, has all its data.
fn good(bench: &Bench, asked: &Asked) -> Counts {
    let mut counts = placed(asked.psns(bench).into(), asked.bytes.len() as u64);
    counts.push((Counter::CqeWritten, 1));
    counts
}

/// Once the data is asked for again.
fn again(mut counts: Counts) -> Counts {
    counts.extend([(Counter::Retransmits, 1), (Counter::SequenceNaks, 1)]);
    counts
}

#[test]
fn every_length_lands() -> Result<()> {
    for (pmtu, lens) in [
        (
            Pmtu::B256,
            &[
                0, 1, 2, 3, 4, 5, 63, 64, 65, 255, 256, 257, 511, 512, 513, 4095, 4096, 4097,
            ][..],
        ),
        (Pmtu::B512, &[1, 511, 512, 513, 2000]),
        (Pmtu::B1024, &[0, 1, 1023, 1024, 1025, 4098, 65_537]),
        (Pmtu::B2048, &[2047, 2048, 2049, 9001]),
        (Pmtu::B4096, &[0, 3, 4095, 4096, 4097, 65_535, 65_537]),
    ] {
        let mut bench = bench_with(PeerConfig {
            pmtu,
            ..PeerConfig::default()
        })?;
        let mut psn = PSN;
        for &len in lens {
            let asked = Asked::read(&mut bench, len as u64, len, psn)?;
            ask(&mut bench, std::slice::from_ref(&asked), 1)?;
            asked.landed(&mut bench);
            let (data, counts) = (asked.rest(&bench, 0)?, good(&bench, &asked));
            come(&mut bench, &data, &[], &counts)
                .and_then(|()| done(&bench, &[asked.completion(&bench, Status::Success)]))
                .with_context(|| format!("{len} bytes, path MTU {pmtu:?}"))?;
            psn = asked.at(asked.psns(&bench));
        }
    }
    Ok(())
}

/// Whatever packet of the data is lost, what is missing is asked for at once if more data shows it.
#[test]
fn a_gap_in_the_data_is_asked_for_again() -> Result<()> {
    let mut bench = bench()?;
    let mut psn = PSN;
    for (wr_id, lost) in [(1, 0), (2, 1), (3, 3)] {
        let asked = Asked::read(&mut bench, wr_id, 5 * 256 - 3, psn)?;
        ask(&mut bench, std::slice::from_ref(&asked), 1)?;
        let mut data = asked.rest(&bench, 0)?;
        data.remove(lost as usize);
        let late = 4 - lost;
        let mut counts = again(placed(lost.into(), u64::from(lost) * 256));
        counts.push((Counter::RxOutOfSequence, late.into()));
        let missing = asked.packet(&bench, lost)?;
        come(&mut bench, &data, &[missing], &counts)
            .with_context(|| format!("packet {lost} is lost"))?;
        ensure!(bench.open.cq.poll(1)?.is_empty());
        // The peer may answer with FIRST again, or go on with the opcodes of the first time.
        let rest = if wr_id == 2 {
            (lost..5)
                .map(|n| asked.data(&bench, n))
                .collect::<Result<_>>()?
        } else {
            asked.rest(&bench, lost)?
        };
        asked.landed(&mut bench);
        let mut counts = placed((5 - lost).into(), (5 * 256 - 3) - u64::from(lost) * 256);
        counts.push((Counter::CqeWritten, 1));
        come(&mut bench, &rest, &[], &counts)?;
        done(&bench, &[asked.completion(&bench, Status::Success)])?;
        psn = asked.at(5);
    }
    Ok(())
}

#[test]
fn data_that_came_before_changes_nothing() -> Result<()> {
    let mut bench = bench()?;
    let asked = Asked::read(&mut bench, 1, 3 * 256, PSN)?;
    ask(&mut bench, std::slice::from_ref(&asked), 1)?;
    let data = asked.rest(&bench, 0)?;
    // The first twice, the second and the first again, the third twice.
    let order = [0, 0, 1, 0, 1, 2, 2];
    let came: Vec<_> = order.iter().map(|&n| data[n].clone()).collect();
    asked.landed(&mut bench);
    let mut counts = good(&bench, &asked);
    // When nothing is asked for, even what was asked for is unasked.
    counts.extend([(Counter::RxDuplicate, 3), (Counter::RxDropOpcode, 1)]);
    come(&mut bench, &came, &[], &counts)?;
    done(&bench, &[asked.completion(&bench, Status::Success)])
}

/// An ACK of something behind a READ tells that its answer is lost; it completes what is before the READ only.
#[test]
fn an_ack_does_not_complete_a_read() -> Result<()> {
    let mut bench = bench()?;
    let first = Asked::read(&mut bench, 1, 600, PSN)?;
    let second = Asked::read(&mut bench, 2, 1, first.at(3))?;
    ask(&mut bench, &[first.clone(), second.clone()], 2)?;
    let both = [first.packet(&bench, 0)?, second.packet(&bench, 0)?];
    let ack = response(&bench, second.psn, ACK)?;
    come(
        &mut bench,
        std::slice::from_ref(&ack),
        &both,
        &again(vec![]),
    )?;
    // The same loss is told only once.
    come(&mut bench, &[ack.clone(), ack], &[], &[])?;
    first.landed(&mut bench);
    let (data, counts) = (first.rest(&bench, 0)?, good(&bench, &first));
    come(&mut bench, &data, &[], &counts)?;
    done(&bench, &[first.completion(&bench, Status::Success)])?;
    second.landed(&mut bench);
    let (data, counts) = (second.rest(&bench, 0)?, good(&bench, &second));
    come(&mut bench, &data, &[], &counts)?;
    done(&bench, &[second.completion(&bench, Status::Success)])
}

#[test]
fn a_nak_ends_a_read() -> Result<()> {
    for (syndrome, status) in [
        (0x61, Status::RemInvReq),
        (0x62, Status::RemAccess),
        (0x63, Status::RemOp),
    ] {
        for before in [0, 2] {
            let mut bench = bench()?;
            let asked = Asked::read(&mut bench, 1, 4 * 256, PSN)?;
            ask(&mut bench, std::slice::from_ref(&asked), 1)?;
            let mut came: Vec<_> = (0..before)
                .map(|n| asked.data(&bench, n))
                .collect::<Result<_>>()?;
            came.push(response(&bench, asked.at(before), syndrome)?);
            let bytes = before as usize * 256;
            let start = asked.place.start;
            bench.image.expect(start, &asked.bytes[..bytes]);
            let mut counts = placed(before.into(), bytes as u64);
            counts.extend([
                (Counter::CqeWritten, 1),
                (Counter::RxAcks, 1),
                (Counter::RequesterErrors, 1),
            ]);
            come(&mut bench, &came, &[], &counts)?;
            done(&bench, &[asked.completion(&bench, status)])?;
        }
    }
    Ok(())
}

/// Data that is not what was asked for fails the READ, and nothing of it is written.
#[test]
fn wrong_data_fails_the_read() -> Result<()> {
    let full = [7; 256];
    for (name, opcode, payload, status) in [
        (
            "short FIRST",
            rc::READ_RESPONSE_FIRST,
            &full[..252],
            Status::LocLen,
        ),
        (
            "ONLY of more",
            rc::READ_RESPONSE_ONLY,
            &full[..],
            Status::LocLen,
        ),
        (
            "MIDDLE at the start",
            rc::READ_RESPONSE_MIDDLE,
            &full[..],
            Status::BadResp,
        ),
        (
            "LAST at the start",
            rc::READ_RESPONSE_LAST,
            &full[..],
            Status::BadResp,
        ),
        ("atomic", rc::ATOMIC_ACKNOWLEDGE, &[], Status::BadResp),
    ] {
        let mut bench = bench()?;
        let asked = Asked::read(&mut bench, 1, 3 * 256, PSN)?;
        ask(&mut bench, std::slice::from_ref(&asked), 1)?;
        let odd = asked.odd(&bench, 0, opcode, payload)?;
        let counts = [(Counter::CqeWritten, 1), (Counter::RequesterErrors, 1)];
        come(&mut bench, &[odd], &[], &counts)
            .and_then(|()| done(&bench, &[asked.completion(&bench, status)]))
            .context(name)?;
    }
    for (name, opcode, len) in [
        ("LAST too short", rc::READ_RESPONSE_LAST, 10),
        ("LAST too long", rc::READ_RESPONSE_LAST, 12),
        ("empty LAST", rc::READ_RESPONSE_LAST, 0),
        ("MIDDLE at the end", rc::READ_RESPONSE_MIDDLE, 256),
    ] {
        let mut bench = bench()?;
        let asked = Asked::read(&mut bench, 1, 256 + 11, PSN)?;
        ask(&mut bench, std::slice::from_ref(&asked), 1)?;
        let came = [
            asked.data(&bench, 0)?,
            asked.odd(&bench, 1, opcode, &full[..len])?,
        ];
        let start = asked.place.start;
        bench.image.expect(start, &asked.bytes[..256]);
        let mut counts = placed(1, 256);
        counts.extend([(Counter::CqeWritten, 1), (Counter::RequesterErrors, 1)]);
        come(&mut bench, &came, &[], &counts)
            .and_then(|()| done(&bench, &[asked.completion(&bench, Status::LocLen)]))
            .context(name)?;
    }
    Ok(())
}

#[test]
fn data_that_nobody_asked_for_is_dropped() -> Result<()> {
    let mut bench = bench()?;
    let asked = Asked::read(&mut bench, 1, 2 * 256, PSN)?;
    let unasked: Vec<_> = asked.rest(&bench, 0)?;
    come(&mut bench, &unasked, &[], &[(Counter::RxDropOpcode, 2)])?;
    ask(&mut bench, std::slice::from_ref(&asked), 1)?;
    // Behind all that was asked for, and far before it.
    for (ahead, counter) in [
        (2, Counter::RxDropOpcode),
        (1 << 22, Counter::RxDropOpcode),
        (0xff_fffe, Counter::RxDuplicate),
        (1 << 23, Counter::RxDuplicate),
    ] {
        let stale = Asked {
            psn: asked.at(ahead),
            ..asked.clone()
        };
        let packet = stale.data(&bench, 0)?;
        come(&mut bench, &[packet], &[], &[(counter, 1)])?;
    }
    asked.landed(&mut bench);
    let (data, counts) = (asked.rest(&bench, 0)?, good(&bench, &asked));
    come(&mut bench, &data, &[], &counts)?;
    done(&bench, &[asked.completion(&bench, Status::Success)])
}

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
    ferroce_tests::peer::same_frames(&bench.open.run(3000)?, &two)?;
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
    ferroce_tests::peer::same_frames(&sent, &vec![packet; 4])?;
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
    ferroce_tests::peer::same_frames(&sent, &[asked.packet(&bench, 2)?])?;
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

    let mut bench = self::bench()?;
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
