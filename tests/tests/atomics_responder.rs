//! The card executes atomics of a software peer.

use anyhow::{ensure, Context, Result};
use ferroce_abi::frame::{on_wire, Extensions};
use ferroce_abi::headers::AtomicEth;
use ferroce_abi::opcode::rc;
use ferroce_driver::{Access, Counter, Pmtu};
use ferroce_tests::bench::{refused, Bench, ACK};
use ferroce_tests::failure::{fail, renew, Failure};
use ferroce_tests::peer::{add24, same_frames};
use ferroce_tests::reads::{atomic, bench, executed, original, read, response, reth};
use rand::Rng;

/// Core cycles in which 16 atomics, one after the other, come back.
const ATOMICS_CYCLES: u64 = 16 * 800;

/// An atomic on the word at `offset`.
fn header(bench: &Bench, offset: usize, operand: u64, compare: u64) -> Result<AtomicEth> {
    let reth = reth(&bench.image.mr, offset, 8)?;
    Ok(AtomicEth {
        va: reth.va,
        rkey: reth.rkey,
        operand,
        compare,
    })
}

/// The word of the plan at `offset`, as a little-endian host sees it.
fn word(bench: &Bench, offset: usize) -> u64 {
    let bytes = bench.image.bytes(offset..offset + 8);
    bytes
        .iter()
        .rev()
        .fold(0, |word, &byte| word << 8 | u64::from(byte))
}

/// Plans an atomic and returns the value before it.
fn plan(bench: &mut Bench, offset: usize, opcode: u8, operand: u64, compare: u64) -> u64 {
    let old = word(bench, offset);
    let new = match opcode {
        rc::FETCH_ADD => old.wrapping_add(operand),
        _ if old == compare => operand,
        _ => old,
    };
    bench.image.expect(offset, &new.to_le_bytes());
    old
}

/// Executes an atomic, alone.
fn good(bench: &mut Bench, qp: usize, opcode: u8, at: usize, operands: (u64, u64)) -> Result<u64> {
    let header = header(bench, at, operands.0, operands.1)?;
    let request = atomic(bench, qp, opcode, 0, header)?;
    let old = plan(bench, at, opcode, operands.0, operands.1);
    let (psn, msn) = (bench.peers[qp].psn, add24(bench.peers[qp].msn, 1));
    let want = original(bench, qp, psn, msn, old)?;
    executed(&mut bench.peers[qp], 1);
    bench.open.inject_raw(request);
    same_frames(&bench.open.run(2000)?, &[want])?;
    bench.counted(&[
        (Counter::RxFrames, 1),
        (Counter::RxPackets, 1),
        (Counter::RxRequests, 1),
        (Counter::RxMessages, 1),
        (Counter::RxAtomics, 1),
        (Counter::TxFrames, 1),
        (Counter::TxAtomicAcks, 1),
    ])?;
    bench.image.check_range(at - at.min(64)..at + 72)?;
    Ok(old)
}

#[test]
fn operations_on_every_place_of_a_line() -> Result<()> {
    let mut bench = bench(Pmtu::B1024)?;
    for lane in 0..8 {
        let at = 4096 + 8 * lane;
        let operand = bench.rng.gen();
        good(&mut bench, 0, rc::FETCH_ADD, at, (operand, 0)).context("fetch and add")?;
        let (new, compare) = (bench.rng.gen(), word(&bench, at));
        good(&mut bench, 0, rc::CMP_SWAP, at, (new, compare)).context("swap")?;
        good(&mut bench, 0, rc::CMP_SWAP, at, (7, !new)).context("no swap")?;
    }
    // Carries, and the high bit alone.
    let at = 8192 - 8;
    let compare = word(&bench, at);
    good(&mut bench, 0, rc::CMP_SWAP, at, (u64::MAX, compare))?;
    good(&mut bench, 0, rc::FETCH_ADD, at, (1, 0))?;
    good(&mut bench, 0, rc::CMP_SWAP, at, (5, 1 << 63))?;
    bench.image.check()
}

#[test]
fn wrong_atomics_are_refused() -> Result<()> {
    let mut bench = bench(Pmtu::B256)?;
    let right = header(&bench, 64, 1, 2)?;
    let closed = bench.open.pd.allocate(
        4096,
        Access::LOCAL_WRITE | Access::REMOTE_READ | Access::REMOTE_WRITE,
    )?;
    let closed = AtomicEth {
        va: closed.addr(),
        rkey: closed.rkey(),
        ..right
    };
    let frame = |bench: &Bench, opcode: u8, atomic: AtomicEth| {
        let reth = ferroce_abi::headers::Reth {
            va: 0,
            rkey: 0,
            dma_len: 0,
        };
        let mut frame = bench.peers[0].request(&bench.open, opcode, 0, reth, &[]);
        frame.packet.ext = Extensions {
            atomic: Some(atomic),
            ..Extensions::default()
        };
        frame
    };
    for opcode in [rc::CMP_SWAP, rc::FETCH_ADD] {
        for (name, bad, failure) in [
            (
                "wrong key",
                AtomicEth {
                    rkey: right.rkey ^ 1,
                    ..right
                },
                Failure::access(),
            ),
            ("no right", closed, Failure::access()),
            (
                "outside",
                AtomicEth {
                    va: bench.image.mr.addr() + bench.image.mr.len() as u64,
                    ..right
                },
                Failure::access(),
            ),
            (
                "not aligned",
                AtomicEth {
                    va: right.va + 4,
                    ..right
                },
                Failure::invalid(),
            ),
        ] {
            let frames = vec![frame(&bench, opcode, bad)];
            fail(&mut bench, frames, failure).context(name)?;
            renew(&mut bench, Access::ALL)?;
        }
    }
    renew(&mut bench, Access::LOCAL_WRITE | Access::REMOTE_WRITE)?;
    let frames = vec![frame(&bench, rc::FETCH_ADD, right)];
    fail(&mut bench, frames, Failure::invalid()).context("QP that takes no atomics")
}

#[test]
fn duplicates_get_the_stored_result_and_are_not_executed() -> Result<()> {
    let mut bench = bench(Pmtu::B256)?;
    let at = 640;
    let mut done = Vec::new();
    for n in 0..20 {
        let psn = bench.peers[0].psn;
        let opcode = [rc::FETCH_ADD, rc::CMP_SWAP][n % 2];
        let operands = (bench.rng.gen(), word(&bench, at));
        let old = good(&mut bench, 0, opcode, at, operands)?;
        done.push((psn, opcode, operands, old));
        if n % 3 == 0 {
            bench.good(0)?;
        }
    }
    let msn = bench.peers[0].msn;
    // Newest first, twice; the results of the first four have made room for others.
    for (n, &(psn, opcode, operands, old)) in done.iter().enumerate().rev().chain([(19, &done[19])])
    {
        let ahead = psn.wrapping_sub(bench.peers[0].psn);
        let header = header(&bench, at, operands.0, operands.1)?;
        let request = atomic(&bench, 0, opcode, ahead, header)?;
        let mut counts = refused(Counter::RxDuplicate);
        counts.push((Counter::RxReplays, 1));
        let mut want = Vec::new();
        if n >= 4 {
            want.push(original(&bench, 0, psn, msn, old)?);
            counts.extend([(Counter::TxFrames, 1), (Counter::TxAtomicAcks, 1)]);
        }
        bench.open.inject_raw(request);
        same_frames(&bench.open.run(2000)?, &want).with_context(|| format!("number {n}"))?;
        bench.counted(&counts)?;
    }
    bench.image.check()?;
    // A restart forgets them all.
    let (psn, opcode, operands, _) = done[19];
    let config = bench.peers[0].config;
    let next = ferroce_tests::peer::PeerConfig {
        psn: bench.peers[0].psn,
        ..config
    };
    bench.peers[0].connect(&bench.open, next)?;
    let ahead = psn.wrapping_sub(bench.peers[0].psn);
    let header = header(&bench, at, operands.0, operands.1)?;
    bench
        .open
        .inject_raw(atomic(&bench, 0, opcode, ahead, header)?);
    ensure!(bench.open.run(2000)?.is_empty());
    bench.counted_any()?;
    good(&mut bench, 0, rc::FETCH_ADD, at, (1, 0))?;
    bench.good(0)?;
    bench.image.check()
}

#[test]
fn atomics_of_two_qps_on_one_word_with_all_else() -> Result<()> {
    let mut bench = bench(Pmtu::B256)?;
    let at = 1024;
    let start = word(&bench, at);
    // Each QP: 14 times +1, between a WRITE and a READ of the word by the first one.
    let (place, target) = bench.target(50)?;
    let bytes = bench.payload(50);
    let write = bench.peers[0].request(&bench.open, rc::WRITE_ONLY, 0, target, &bytes);
    bench.image.expect(place.start, &bytes);
    let add = header(&bench, at, 1, 0)?;
    bench.open.inject_raw(on_wire(write.encode()?));
    for n in 0..14 {
        for qp in 0..2 {
            let ahead = n + u32::from(qp == 0);
            let request = atomic(&bench, qp, rc::FETCH_ADD, ahead, add)?;
            bench.open.inject_raw(request);
        }
    }
    let last = reth(&bench.image.mr, at, 8)?;
    bench.open.inject_raw(read(&bench, 0, 15, last)?);
    let got = bench.open.run(2 * ATOMICS_CYCLES)?;
    let mut seen = Vec::new();
    let mut psns = [bench.peers[0].psn, bench.peers[1].psn];
    let mut ended = false;
    for bytes in &got {
        let packet = ferroce_abi::frame::Frame::decode(&bytes[..bytes.len() - 4])?.packet;
        let qp = usize::from(packet.bth.dqpn == bench.peers[1].qpn);
        ensure!(packet.bth.psn == psns[qp], "{:?}", packet.bth);
        psns[qp] = add24(psns[qp], 1);
        match packet.ext.atomic_ack {
            Some(value) => seen.push(value.original),
            None if packet.bth.opcode == rc::READ_RESPONSE_ONLY => {
                // All of the first QP's are in it.
                let value = packet
                    .payload
                    .iter()
                    .rev()
                    .fold(0, |w, &b| w << 8 | u64::from(b));
                ensure!((start.wrapping_add(14)..=start.wrapping_add(28)).contains(&value));
                ended = true;
            }
            None => {
                let ack = bench.peers[0].answer(&bench.open, bench.peers[0].psn, ACK, 1)?;
                ensure!(*bytes == ack);
            }
        }
    }
    seen.sort_unstable();
    let want: Vec<_> = (0..28).map(|n| start.wrapping_add(n)).collect();
    ensure!(ended && seen == want, "{seen:x?} from {start:#x} on");
    bench
        .image
        .expect(at, &start.wrapping_add(28).to_le_bytes());
    bench.image.check()?;
    // The response of a READ alone.
    let psn = add24(bench.peers[0].psn, 16);
    let request = read(&bench, 0, 16, last)?;
    bench.open.inject_raw(request);
    let want = response(&bench, 0, psn, 17, bench.image.bytes(at..at + 8))?;
    same_frames(&bench.open.run(2000)?, &want)
}
