//! The card executes atomics of a software peer.

use anyhow::{ensure, Context, Result};
use ferroce_abi::frame::on_wire;
use ferroce_abi::opcode::rc;
use ferroce_driver::Pmtu;
use ferroce_tests::atomics::{good, header, word};
use ferroce_tests::bench::ACK;
use ferroce_tests::peer::{add24, same_frames};
use ferroce_tests::reads::{atomic, read, response, reth};
use ferroce_tests::responder::bench;
use rand::Rng;

/// Core cycles in which 16 atomics, one after the other, come back.
const ATOMICS_CYCLES: u64 = 16 * 800;

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
