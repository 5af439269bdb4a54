//! The card answers READs of a software peer.

use anyhow::{ensure, Context, Result};
use ferroce_abi::frame::{on_wire, Frame};
use ferroce_abi::headers::Reth;
use ferroce_abi::opcode::{rc, Opcode};
use ferroce_driver::{Access, Counter, Pmtu};
use ferroce_tests::bench::{refused, Bench, ACK};
use ferroce_tests::failure::{fail, renew, Failure, INVALID};
use ferroce_tests::peer::{add24, same_frames};
use ferroce_tests::reads::{bench, executed, psns, read, response, reth};
use rand::Rng;

/// Core cycles in which a few packets with payload come back.
const READ_CYCLES: u64 = 4000;

/// A READ of `len` bytes at `offset` must be answered, alone.
fn good_read(bench: &mut Bench, qp: usize, offset: usize, len: usize) -> Result<()> {
    let reth = reth(&bench.image.mr, offset, len)?;
    let request = read(bench, qp, 0, reth)?;
    let pmtu = bench.peers[qp].config.pmtu;
    let (psn, msn) = (bench.peers[qp].psn, add24(bench.peers[qp].msn, 1));
    let bytes = bench.image.bytes(offset..offset + len);
    let want = response(bench, qp, psn, msn, bytes)?;
    bench.open.inject_raw(request);
    let packets = psns(len, pmtu);
    let got = bench.open.run(READ_CYCLES + len as u64 / 8)?;
    same_frames(&got, &want)?;
    executed(&mut bench.peers[qp], packets);
    bench.counted(&[
        (Counter::RxFrames, 1),
        (Counter::RxPackets, 1),
        (Counter::RxRequests, 1),
        (Counter::RxMessages, 1),
        (Counter::RxReads, 1),
        (Counter::TxFrames, packets.into()),
        (Counter::TxReadResponses, packets.into()),
    ])
}

#[test]
fn every_length_comes_back_and_takes_its_psns() -> Result<()> {
    for (pmtu, lens) in [
        (
            Pmtu::B256,
            &[
                0, 1, 2, 3, 4, 5, 63, 64, 65, 255, 256, 257, 511, 512, 513, 1023, 1025, 4095, 4096,
                4097, 8192, 8193, 20_001,
            ][..],
        ),
        (Pmtu::B1024, &[0, 1, 1023, 1024, 1025, 4098, 9000]),
        (Pmtu::B4096, &[0, 3, 4095, 4096, 4097, 40_000]),
    ] {
        let mut bench = bench(pmtu)?;
        for &len in lens {
            let offset = bench.rng.gen_range(0..100_000);
            good_read(&mut bench, 0, offset, len)
                .with_context(|| format!("{len} bytes at {offset:#x}, path MTU {pmtu:?}"))?;
        }
        bench.good(0)?;
        bench.image.check()?;
    }
    Ok(())
}

#[test]
fn a_read_of_nothing_needs_no_key() -> Result<()> {
    let bench = bench(Pmtu::B256)?;
    let nothing = Reth {
        va: u64::MAX,
        rkey: 0xdead_beef,
        dma_len: 0,
    };
    let request = read(&bench, 0, 0, nothing)?;
    let want = response(&bench, 0, bench.peers[0].psn, 1, &[])?;
    bench.open.inject_raw(request);
    same_frames(&bench.open.answers()?, &want)
}

#[test]
fn wrong_reads_are_refused() -> Result<()> {
    let mut bench = bench(Pmtu::B256)?;
    let good = reth(&bench.image.mr, 64, 1000)?;
    let unreadable = bench
        .open
        .pd
        .allocate(4096, Access::LOCAL_WRITE | Access::REMOTE_WRITE)?;
    let other = bench.open.device.create_pd()?.allocate(4096, Access::ALL)?;
    let end = bench.image.mr.addr() + bench.image.mr.len() as u64;
    for (name, bad) in [
        (
            "wrong key",
            Reth {
                rkey: good.rkey ^ 0x80,
                ..good
            },
        ),
        ("no right", reth(&unreadable, 0, 8)?),
        ("other PD", reth(&other, 0, 8)?),
        (
            "one byte too far",
            Reth {
                va: end - 999,
                ..good
            },
        ),
        (
            "wraps",
            Reth {
                va: u64::MAX - 3,
                ..good
            },
        ),
    ] {
        let frame = bench.peers[0].request(&bench.open, rc::READ_REQUEST, 0, bad, &[]);
        fail(&mut bench, vec![frame], Failure::access()).context(name)?;
        renew(&mut bench, Access::ALL)?;
    }
    let long = Reth {
        dma_len: (1 << 31) + 1,
        ..good
    };
    let mut cases = vec![("longer than 2^31", vec![(rc::READ_REQUEST, long, 0)])];
    let first = Reth {
        dma_len: 300,
        ..good
    };
    cases.push((
        "inside a message",
        vec![(rc::WRITE_FIRST, first, 256), (rc::READ_REQUEST, good, 0)],
    ));
    cases.push(("with payload", vec![(rc::READ_REQUEST, good, 16)]));
    for (name, script) in cases {
        let mut frames = Vec::new();
        for (ahead, (opcode, reth, len)) in (0..).zip(script) {
            let payload = bench.payload(len);
            let mut frame = bench.peers[0].request(&bench.open, opcode, ahead, reth, &payload);
            frame.packet.bth.ackreq = false;
            if opcode == rc::WRITE_FIRST {
                bench.image.expect(64, &payload);
            }
            frames.push(frame);
        }
        fail(&mut bench, frames, Failure::invalid()).context(name)?;
        renew(&mut bench, Access::ALL)?;
    }
    renew(&mut bench, Access::LOCAL_WRITE | Access::REMOTE_WRITE)?;
    let frame = bench.peers[0].request(&bench.open, rc::READ_REQUEST, 0, good, &[]);
    fail(&mut bench, vec![frame], Failure::invalid()).context("QP that lets nobody read")
}

/// Decodes what the card sent.
fn decoded(frames: &[Vec<u8>]) -> Result<Vec<Frame>> {
    frames
        .iter()
        .map(|bytes| Ok(Frame::decode(&bytes[..bytes.len() - 4])?))
        .collect()
}

#[test]
fn answers_keep_the_order_of_requests() -> Result<()> {
    let mut bench = bench(Pmtu::B256)?;
    for round in 0..6 {
        let (psn, msn) = (bench.peers[0].psn, bench.peers[0].msn);
        // READ, WRITE, READ of what was written, WRITE; all of them come before the first answer is out.
        // The first READ looks where no WRITE goes: it may see what a later one brings (IBTA 10.8.3.3).
        let old = bench.rng.gen_range(60_000..100_000);
        let long = bench.rng.gen_range(3000..6000);
        let (place, target) = bench.target(200)?;
        let new = bench.payload(200);
        let (other, other_target) = bench.target(100)?;
        let last = bench.payload(100);
        let mut ahead = 0;
        let mut wire = vec![read(&bench, 0, 0, reth(&bench.image.mr, old, long)?)?];
        ahead += psns(long, Pmtu::B256);
        let mut write = bench.peers[0].request(&bench.open, rc::WRITE_ONLY, ahead, target, &new);
        write.packet.bth.ackreq = round % 2 == 0;
        wire.push(on_wire(write.encode()?));
        ahead += 1;
        let before = bench.image.bytes(old..old + long).to_vec();
        bench.image.expect(place.start, &new);
        wire.push(read(&bench, 0, ahead, target)?);
        let second = ahead;
        ahead += 1;
        let write = bench.peers[0].request(&bench.open, rc::WRITE_ONLY, ahead, other_target, &last);
        wire.push(on_wire(write.encode()?));
        bench.image.expect(other.start, &last);

        let mut want = response(&bench, 0, psn, add24(msn, 1), &before)?;
        want.extend(response(
            &bench,
            0,
            add24(psn, second),
            add24(msn, 3),
            &new,
        )?);
        let peer = &bench.peers[0];
        want.push(peer.answer(&bench.open, add24(psn, ahead), ACK, add24(msn, 4))?);
        for frame in wire {
            bench.open.inject_raw(frame);
        }
        // The answer to the second READ covers the first WRITE; an ACK of its own may come in its place.
        let early = peer.answer(&bench.open, add24(psn, second - 1), ACK, add24(msn, 2))?;
        let mut got = bench.open.run(2 * READ_CYCLES)?;
        got.retain(|frame| *frame != early);
        same_frames(&got, &want).with_context(|| format!("round {round}"))?;
        bench.peers[0].psn = add24(psn, ahead + 1);
        bench.peers[0].msn = add24(msn, 4);
    }
    bench.image.check()
}

#[test]
fn a_long_read_holds_up_nobody_else() -> Result<()> {
    let mut bench = bench(Pmtu::B1024)?;
    let len = 600_000;
    let long = read(&bench, 0, 0, reth(&bench.image.mr, 3, len)?)?;
    let (write, place) = bench.write_only(1, 100)?;
    let short = reth(&bench.image.mr, 77, 50)?;
    bench.open.inject_raw(long);
    ensure!(!bench.open.run(3000)?.is_empty(), "the READ has begun");
    bench.open.inject_raw(on_wire(write.encode()?));
    bench.image.expect(place.start, &write.packet.payload);
    bench.open.inject_raw(read(&bench, 1, 1, short)?);
    let peer = &bench.peers[1];
    let ack = peer.answer(&bench.open, peer.psn, ACK, 1)?;
    let data = response(&bench, 1, add24(peer.psn, 1), 2, bench.image.bytes(77..127))?;
    // What is in the payload buffer leaves first: 128 KiB, some 2700 cycles of the wire.
    let soon = bench.open.run(6000)?;
    ensure!(soon.contains(&ack) && soon.contains(&data[0]), "held up");
    // What follows belongs to the long READ still.
    let rest = decoded(&bench.open.run(60_000)?)?;
    let end = rest.last().context("the READ had ended")?;
    ensure!(rest.len() > 40, "{} packets", rest.len());
    ensure!(end.packet.bth.opcode == rc::READ_RESPONSE_LAST);
    let last = add24(bench.peers[0].psn, psns(len, Pmtu::B1024) - 1);
    ensure!(end.packet.bth.psn == last, "{:?}", end.packet.bth);
    bench.image.check()
}

#[test]
fn duplicates_are_read_again() -> Result<()> {
    let mut bench = bench(Pmtu::B256)?;
    let (offset, len) = (bench.rng.gen_range(0..10_000), 2000);
    let start = bench.peers[0].psn;
    good_read(&mut bench, 0, offset, len)?;
    bench.good(0)?;
    let msn = bench.peers[0].msn;
    let behind = |bench: &Bench, psn: u32| psn.wrapping_sub(bench.peers[0].psn);
    // All of it, and from the middle: address and length are those of the rest.
    for packet in [0, 1, 3, 7, 0] {
        let skip = packet as usize * 256;
        let psn = add24(start, packet);
        let request = read(
            &bench,
            0,
            behind(&bench, psn),
            reth(&bench.image.mr, offset + skip, len - skip)?,
        )?;
        let bytes = bench.image.bytes(offset + skip..offset + len);
        let want = response(&bench, 0, psn, msn, bytes)?;
        bench.open.inject_raw(request);
        same_frames(&bench.open.run(READ_CYCLES)?, &want)
            .with_context(|| format!("from packet {packet}"))?;
        let packets = want.len() as u64;
        let mut counts = refused(Counter::RxDuplicate);
        counts.extend([
            (Counter::RxReplays, 1),
            (Counter::TxFrames, packets),
            (Counter::TxReadResponses, packets),
        ]);
        bench.counted(&counts)?;
    }
    // One that reaches beyond what was expected, and wrong ones, are dropped.
    let good = reth(&bench.image.mr, offset, len)?;
    let end = behind(&bench, add24(start, 2));
    for (name, ahead, bad, denied) in [
        ("too far", end, reth(&bench.image.mr, offset, len)?, 0),
        (
            "wrong key",
            behind(&bench, start),
            Reth {
                rkey: good.rkey ^ 1,
                ..good
            },
            1,
        ),
        (
            "too long",
            behind(&bench, start),
            Reth {
                dma_len: 1 << 31,
                ..good
            },
            0,
        ),
    ] {
        let request = read(&bench, 0, ahead, bad)?;
        let mut counts = refused(Counter::RxDuplicate);
        counts.push((Counter::MrDenied, denied));
        bench.exchange(vec![request], &[], &counts).context(name)?;
    }
    good_read(&mut bench, 0, 5, 600)?;
    bench.good(0)
}

#[test]
fn the_seventeenth_is_refused() -> Result<()> {
    let mut bench = bench(Pmtu::B4096)?;
    let len = 16 * 1024;
    let place = reth(&bench.image.mr, 1, len)?;
    let (psn, each) = (bench.peers[0].psn, psns(len, Pmtu::B4096));
    let mut want = Vec::new();
    for n in 0..17 {
        bench.open.inject_raw(read(&bench, 0, n * each, place)?);
        if n < 16 {
            let bytes = bench.image.bytes(1..1 + len);
            want.extend(response(&bench, 0, add24(psn, n * each), n + 1, bytes)?);
        }
    }
    want.push(bench.peers[0].answer(&bench.open, add24(psn, 16 * each), INVALID, 16)?);
    same_frames(&bench.open.run(40_000)?, &want)?;

    // 16 at a time go on for ever.
    renew(&mut bench, Access::ALL)?;
    for _ in 0..5 {
        let place = reth(&bench.image.mr, 9, 5000)?;
        let (psn, msn) = (bench.peers[0].psn, bench.peers[0].msn);
        let mut want = Vec::new();
        for n in 0..16 {
            bench.open.inject_raw(read(&bench, 0, 2 * n, place)?);
            let bytes = bench.image.bytes(9..5009);
            want.extend(response(
                &bench,
                0,
                add24(psn, 2 * n),
                add24(msn, n + 1),
                bytes,
            )?);
        }
        same_frames(&bench.open.run(16_000)?, &want)?;
        bench.peers[0].psn = add24(psn, 32);
        bench.peers[0].msn = add24(msn, 16);
    }
    bench.counted_any()?;
    bench.good(0)
}

#[test]
fn a_reset_forgets_what_is_not_sent() -> Result<()> {
    let mut bench = bench(Pmtu::B1024)?;
    for round in 0..4 {
        let place = reth(&bench.image.mr, 11, 100_000)?;
        for n in 0..3 {
            let ahead = n * psns(100_000, Pmtu::B1024);
            bench.open.inject_raw(read(&bench, 0, ahead, place)?);
        }
        let sent = bench.open.run(2000 + 700 * round)?;
        ensure!(!sent.is_empty(), "the READs have begun");
        renew(&mut bench, Access::ALL)?;
        // What was under way at the reset comes out now.
        bench.open.run(READ_CYCLES)?;
        let silent = bench.open.run(READ_CYCLES)?;
        ensure!(silent.is_empty(), "old answers: {:?}", decoded(&silent)?);
        bench.counted_any()?;
        good_read(&mut bench, 0, 77, 3000)?;
        bench.good(0)?;
        bench.good(1)?;
    }
    Ok(())
}

/// Opcodes of answers are those of READ responses alone.
#[test]
fn many_small_reads_of_both_qps() -> Result<()> {
    let mut bench = bench(Pmtu::B256)?;
    for _ in 0..4 {
        let mut want = [Vec::new(), Vec::new()];
        let start: Vec<_> = bench.peers.iter().map(|p| (p.psn, p.msn)).collect();
        for n in 0..16 {
            for qp in 0..2 {
                let offset = bench.rng.gen_range(0..50_000);
                let len = bench.rng.gen_range(0..256);
                let place = reth(&bench.image.mr, offset, len)?;
                bench.open.inject_raw(read(&bench, qp, n, place)?);
                let (psn, msn) = start[qp];
                let bytes = bench.image.bytes(offset..offset + len);
                want[qp].extend(response(
                    &bench,
                    qp,
                    add24(psn, n),
                    add24(msn, n + 1),
                    bytes,
                )?);
            }
        }
        let got = bench.open.run(2 * READ_CYCLES)?;
        for (qp, want) in want.iter().enumerate() {
            let mine: Vec<_> = got
                .iter()
                .zip(decoded(&got)?)
                .filter(|(_, frame)| frame.packet.bth.dqpn == bench.peers[qp].qpn)
                .map(|(bytes, _)| bytes.clone())
                .collect();
            same_frames(&mine, want)?;
            bench.peers[qp].psn = add24(start[qp].0, 16);
            bench.peers[qp].msn = add24(start[qp].1, 16);
        }
        let known = decoded(&got)?
            .iter()
            .all(|f| Opcode::try_from(f.packet.bth.opcode).is_ok_and(Opcode::has_aeth));
        ensure!(known);
    }
    Ok(())
}
