//! READs and atomics whose memory fails or goes away under them, and how fast READs are answered.

use anyhow::{ensure, Context, Result};
use ferroce_abi::headers::AtomicEth;
use ferroce_abi::opcode::rc;
use ferroce_driver::{Access, Counter, Pmtu};
use ferroce_sim::card::lock;
use ferroce_tests::bench::refused;
use ferroce_tests::failure::renew;
use ferroce_tests::peer::{add24, same_frames};
use ferroce_tests::reads::{atomic, psns, read, response, reth};
use ferroce_tests::responder::bench;

/// NAKs: remote access error, remote operational error.
const ACCESS: u8 = 0x62;
const OPERATIONAL: u8 = 0x63;

#[test]
fn memory_that_cannot_be_read() -> Result<()> {
    let mut bench = bench(Pmtu::B256)?;
    for with_atomic in [false, true] {
        let gone = bench.open.pd.allocate(4096, Access::ALL)?;
        let place = reth(&gone, 8, 700)?;
        let memory = gone.addr();
        bench
            .open
            .sim
            .with(|world| lock(world.card(0).memory()).release(memory));
        let bad = if with_atomic {
            let header = AtomicEth {
                va: place.va,
                rkey: place.rkey,
                operand: 1,
                compare: 0,
            };
            atomic(&bench, 0, rc::FETCH_ADD, 1, header)?
        } else {
            read(&bench, 0, 1, place)?
        };
        // A good READ before it is answered, what comes behind it is not, whenever it comes.
        let good = reth(&bench.image.mr, 100, 40)?;
        let first = read(&bench, 0, 0, good)?;
        let ahead = 1 + if with_atomic {
            1
        } else {
            psns(700, Pmtu::B256)
        };
        let behind = read(&bench, 0, ahead, good)?;
        let peer = &bench.peers[0];
        let mut want = response(
            &bench,
            0,
            peer.psn,
            peer.msn + 1,
            bench.image.bytes(100..140),
        )?;
        want.push(peer.answer(&bench.open, add24(peer.psn, 1), OPERATIONAL, peer.msn + 2)?);
        for frame in [first, bad, behind] {
            bench.open.inject_raw(frame);
        }
        same_frames(&bench.open.run(6000)?, &want)?;
        bench.counted_any()?;
        let late = read(&bench, 0, ahead + 1, good)?;
        bench.exchange(vec![late], &[], &refused(Counter::RxDropQpState))?;
        bench.good(1)?;
        renew(&mut bench, Access::ALL)?;
        bench.good(0)?;
    }
    Ok(())
}

#[test]
fn a_region_that_goes_away() -> Result<()> {
    let mut bench = bench(Pmtu::B1024)?;
    let len = 1 << 20;
    let region = bench.open.pd.allocate(len, Access::ALL)?;
    region.write(0, &vec![0xAB; len])?;
    bench
        .open
        .inject_raw(read(&bench, 0, 0, reth(&region, 0, len)?)?);
    let mut got = bench.open.run(3000)?;
    drop(region);
    got.extend(bench.open.run(20_000)?);
    // Some of it, in order, and then a NAK in place of the rest.
    let nak = got.pop().context("no answer")?;
    let (psn, count) = (bench.peers[0].psn, got.len());
    ensure!(count > 1 && count < psns(len, Pmtu::B1024) as usize);
    let whole = response(&bench, 0, psn, 1, &vec![0xAB; len])?;
    same_frames(&got, &whole[..count])?;
    let peer = &bench.peers[0];
    let want = peer.answer(&bench.open, add24(psn, count as u32), ACCESS, 1)?;
    same_frames(&[nak], &[want])?;
    bench.counted_any()?;
    renew(&mut bench, Access::ALL)?;
    bench.good(0)?;
    bench.good(1)
}

#[test]
fn reads_of_64_kib_fill_the_wire() -> Result<()> {
    const LEN: usize = 64 * 1024;
    let bench = bench(Pmtu::B4096)?;
    let place = reth(&bench.image.mr, 0, LEN)?;
    for n in 0..16 {
        let ahead = n * psns(LEN, Pmtu::B4096);
        bench.open.inject_raw(read(&bench, 0, ahead, place)?);
    }
    let frames = bench.open.sim.with(|world| -> Result<_> {
        world.run(40_000)?;
        Ok(world.take_sent(0))
    })?;
    ensure!(frames.len() == 16 * 16, "{} packets", frames.len());
    let first = frames.first().context("no packets")?.time_fs;
    let last = frames.last().context("no packets")?.time_fs;
    let bits = 8.0 * 4096.0 * (frames.len() - 1) as f64;
    let rate = bits / ((last - first) as f64 * 1e-6);
    println!("READ responses of 64 KiB: {rate:.2} Gb/s");
    ensure!(rate >= 95.0, "{rate:.2} Gb/s");
    Ok(())
}
