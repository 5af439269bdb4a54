//! Atomics of the peer.

use anyhow::{ensure, Context, Result};
use ferroce_abi::frame::Extensions;
use ferroce_abi::headers::AtomicEth;
use ferroce_abi::opcode::rc;
use ferroce_driver::{Access, Counter};
use rand::Rng;

use crate::atomics::{good, header, word};
use crate::bench::{refused, Bench};
use crate::failure::{fail, renew, Failure};
use crate::peer::same_frames;
use crate::reads::{atomic, original};

/// Keys, rights, bounds and alignment of atomics.
pub fn wrong_atomics_are_refused(bench: &mut Bench) -> Result<()> {
    let right = header(bench, 64, 1, 2)?;
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
            let frames = vec![frame(bench, opcode, bad)];
            fail(bench, frames, failure).context(name)?;
            renew(bench, Access::ALL)?;
        }
    }
    renew(bench, Access::LOCAL_WRITE | Access::REMOTE_WRITE)?;
    let frames = vec![frame(bench, rc::FETCH_ADD, right)];
    fail(bench, frames, Failure::invalid()).context("QP that takes no atomics")
}

/// A duplicate atomic gets the stored result.
pub fn duplicates_get_the_stored_result_and_are_not_executed(bench: &mut Bench) -> Result<()> {
    let at = 640;
    let mut done = Vec::new();
    for n in 0..20 {
        let psn = bench.peers[0].psn;
        let opcode = [rc::FETCH_ADD, rc::CMP_SWAP][n % 2];
        let operands = (bench.rng.gen(), word(bench, at));
        let old = good(bench, 0, opcode, at, operands)?;
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
        let header = header(bench, at, operands.0, operands.1)?;
        let request = atomic(bench, 0, opcode, ahead, header)?;
        let mut counts = refused(Counter::RxDuplicate);
        counts.push((Counter::RxReplays, 1));
        let mut want = Vec::new();
        if n >= 4 {
            want.push(original(bench, 0, psn, msn, old)?);
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
    let next = crate::peer::PeerConfig {
        psn: bench.peers[0].psn,
        ..config
    };
    bench.peers[0].connect(&bench.open, next)?;
    let ahead = psn.wrapping_sub(bench.peers[0].psn);
    let header = header(bench, at, operands.0, operands.1)?;
    bench
        .open
        .inject_raw(atomic(bench, 0, opcode, ahead, header)?);
    ensure!(bench.open.run(2000)?.is_empty());
    bench.counted_any()?;
    good(bench, 0, rc::FETCH_ADD, at, (1, 0))?;
    bench.good(0)?;
    bench.image.check()
}
