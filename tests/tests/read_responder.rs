//! The card answers READs of a software peer.

use anyhow::{ensure, Context, Result};
use ferroce_abi::frame::{on_wire, Frame};
use ferroce_abi::opcode::{rc, Opcode};
use ferroce_driver::{Access, Pmtu};
use ferroce_tests::bench::ACK;
use ferroce_tests::failure::renew;
use ferroce_tests::peer::{add24, same_frames};
use ferroce_tests::reads::{good_read, psns, read, response, reth, READ_CYCLES};
use ferroce_tests::responder::bench;
use rand::Rng;

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
