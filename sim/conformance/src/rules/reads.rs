//! READs of the peer.

use anyhow::{Context, Result};
use ferroce_abi::headers::Reth;
use ferroce_abi::opcode::rc;
use ferroce_driver::{Access, Counter, Pmtu};
use rand::Rng;

use crate::bench::{refused, Bench};
use crate::failure::{fail, renew, Failure, INVALID};
use crate::peer::{add24, same_frames};
use crate::reads::{good_read, psns, read, response, reth, READ_CYCLES};

/// A READ of nothing is answered whatever its key and address are.
pub fn a_read_of_nothing_needs_no_key(bench: &mut Bench) -> Result<()> {
    let nothing = Reth {
        va: u64::MAX,
        rkey: 0xdead_beef,
        dma_len: 0,
    };
    let request = read(bench, 0, 0, nothing)?;
    let want = response(bench, 0, bench.peers[0].psn, 1, &[])?;
    bench.open.inject_raw(request);
    same_frames(&bench.open.answers()?, &want)
}

/// Keys, rights, bounds, lengths and places of READs.
pub fn wrong_reads_are_refused(bench: &mut Bench) -> Result<()> {
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
        fail(bench, vec![frame], Failure::access()).context(name)?;
        renew(bench, Access::ALL)?;
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
        fail(bench, frames, Failure::invalid()).context(name)?;
        renew(bench, Access::ALL)?;
    }
    renew(bench, Access::LOCAL_WRITE | Access::REMOTE_WRITE)?;
    let frame = bench.peers[0].request(&bench.open, rc::READ_REQUEST, 0, good, &[]);
    fail(bench, vec![frame], Failure::invalid()).context("QP that lets nobody read")
}

/// A duplicate READ is executed again, in whole or from any of its packets on.
pub fn duplicates_are_read_again(bench: &mut Bench) -> Result<()> {
    let (offset, len) = (bench.rng.gen_range(0..10_000), 2000);
    let start = bench.peers[0].psn;
    good_read(bench, 0, offset, len)?;
    bench.good(0)?;
    let msn = bench.peers[0].msn;
    let behind = |bench: &Bench, psn: u32| psn.wrapping_sub(bench.peers[0].psn);
    // All of it, and from the middle: address and length are those of the rest.
    for packet in [0, 1, 3, 7, 0] {
        let skip = packet as usize * 256;
        let psn = add24(start, packet);
        let request = read(
            bench,
            0,
            behind(bench, psn),
            reth(&bench.image.mr, offset + skip, len - skip)?,
        )?;
        let bytes = bench.image.bytes(offset + skip..offset + len);
        let want = response(bench, 0, psn, msn, bytes)?;
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
    let end = behind(bench, add24(start, 2));
    for (name, ahead, bad, denied) in [
        ("too far", end, reth(&bench.image.mr, offset, len)?, 0),
        (
            "wrong key",
            behind(bench, start),
            Reth {
                rkey: good.rkey ^ 1,
                ..good
            },
            1,
        ),
        (
            "too long",
            behind(bench, start),
            Reth {
                dma_len: 1 << 31,
                ..good
            },
            0,
        ),
    ] {
        let request = read(bench, 0, ahead, bad)?;
        let mut counts = refused(Counter::RxDuplicate);
        counts.push((Counter::MrDenied, denied));
        bench.exchange(vec![request], &[], &counts).context(name)?;
    }
    good_read(bench, 0, 5, 600)?;
    bench.good(0)
}

/// A READ more than the responder has resources for.
pub fn the_seventeenth_is_refused(bench: &mut Bench) -> Result<()> {
    let len = 16 * 1024;
    let place = reth(&bench.image.mr, 1, len)?;
    let (psn, each) = (bench.peers[0].psn, psns(len, Pmtu::B4096));
    let mut want = Vec::new();
    for n in 0..17 {
        bench.open.inject_raw(read(bench, 0, n * each, place)?);
        if n < 16 {
            let bytes = bench.image.bytes(1..1 + len);
            want.extend(response(bench, 0, add24(psn, n * each), n + 1, bytes)?);
        }
    }
    want.push(bench.peers[0].answer(&bench.open, add24(psn, 16 * each), INVALID, 16)?);
    same_frames(&bench.open.run(40_000)?, &want)?;

    // 16 at a time go on for ever.
    renew(bench, Access::ALL)?;
    for _ in 0..5 {
        let place = reth(&bench.image.mr, 9, 5000)?;
        let (psn, msn) = (bench.peers[0].psn, bench.peers[0].msn);
        let mut want = Vec::new();
        for n in 0..16 {
            bench.open.inject_raw(read(bench, 0, 2 * n, place)?);
            let bytes = bench.image.bytes(9..5009);
            want.extend(response(
                bench,
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
