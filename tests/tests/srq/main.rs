//! Shared receive queues of whole cards, with software peers that send what they like when they like.

mod bench;
mod crowd;
mod ends;
mod objects;

use anyhow::{ensure, Context, Result};
use bench::{bytes, exchange, frame, Bench, ACK, MTU};
use ferroce_abi::frame::on_wire;
use ferroce_abi::headers::Reth;
use ferroce_abi::opcode::rc;
use ferroce_driver::{RecvWr, WcOpcode};
use ferroce_tests::peer::{add24, same_frames};

#[test]
fn messages_take_requests_in_the_order_of_their_first_packets() -> Result<()> {
    let mut bench = Bench::new(8, 3)?;
    let [a, b, c] = [0, 1, 2].map(|k| bytes(k, 2 * MTU));
    bench.post(10..14)?;
    bench.packet(0, rc::SEND_FIRST, &a[..MTU], ACK)?;
    bench.packet(1, rc::SEND_FIRST, &b[..MTU], ACK)?;
    // A WRITE with immediate needs its request at its end only, and is there first.
    bench.packet(2, rc::WRITE_ONLY_IMM, &[], ACK)?;
    let done = bench.poll()?;
    ensure!(
        done.len() == 1 && done[0].wr_id == 12 && done[0].opcode == WcOpcode::RecvRdmaWithImm,
        "{done:?}"
    );
    bench.packet(2, rc::SEND_FIRST, &c[..MTU], ACK)?;
    bench.packet(1, rc::SEND_LAST, &b[MTU..], ACK)?;
    bench.received(1, 11, &b)?;
    // All are taken, two of them are still in use.
    let rnr = 0x20 | bench.peers[1].config.min_rnr_timer;
    bench.packet(1, rc::SEND_ONLY, &a[..9], rnr)?;
    bench.packet(1, rc::WRITE_ONLY_IMM, &[], rnr)?;
    bench.packet(2, rc::SEND_LAST, &c[MTU..], ACK)?;
    bench.received(2, 13, &c)?;
    bench.post(20..21)?;
    bench.packet(1, rc::SEND_ONLY, &a[..9], ACK)?;
    bench.received(1, 20, &a[..9])?;
    bench.packet(0, rc::SEND_LAST, &a[MTU..], ACK)?;
    bench.received(0, 10, &a)?;
    ensure!(bench.srq.outstanding() == 0);
    Ok(())
}

#[test]
fn duplicates_and_gaps_take_nothing() -> Result<()> {
    let mut bench = Bench::new(8, 2)?;
    bench.post(0..3)?;
    let text = bytes(0, 2 * MTU);
    let first = frame(&bench.open, &bench.peers[0], rc::SEND_FIRST, &text[..MTU])?;
    bench.packet(0, rc::SEND_FIRST, &text[..MTU], ACK)?;
    for _ in 0..3 {
        bench.open.inject_raw(first.clone());
        let got = bench.open.answers()?;
        let peer = &bench.peers[0];
        let again = peer.answer(&bench.open, add24(peer.psn, 0xff_ffff), ACK, peer.msn)?;
        same_frames(&got, &[again])?;
    }
    // A message that begins too early.
    let mut early = bench.peers[1].request(
        &bench.open,
        rc::SEND_ONLY,
        1,
        Reth {
            va: 0,
            rkey: 0,
            dma_len: 0,
        },
        &text[..8],
    );
    early.packet.bth.ackreq = true;
    bench.open.inject_raw(on_wire(early.encode()?));
    ensure!(bench.open.answers()?.len() == 1);
    bench.packet(1, rc::SEND_ONLY, &text[..8], ACK)?;
    bench.received(1, 1, &text[..8])?;
    bench.packet(0, rc::SEND_LAST, &text[MTU..], ACK)?;
    bench.received(0, 0, &text)?;
    ensure!(bench.srq.outstanding() == 1);
    Ok(())
}

#[test]
fn a_slow_message_holds_up_nobody() -> Result<()> {
    let mut bench = Bench::new(4, 2)?;
    let text = bytes(3, 2 * MTU);
    bench.post(0..4)?;
    bench.packet(0, rc::SEND_FIRST, &text[..MTU], ACK)?;
    // Ring, window of the card and 16-bit tags go round many times meanwhile.
    for k in 1..150_u64 {
        let part = &text[..k as usize % MTU + 1];
        bench.packet(1, rc::SEND_ONLY, part, ACK)?;
        bench
            .received(1, k, part)
            .with_context(|| format!("message {k}"))?;
        bench.post(k + 3..k + 4)?;
    }
    bench.packet(0, rc::SEND_LAST, &text[MTU..], ACK)?;
    bench.received(0, 0, &text)
}

#[test]
fn own_and_shared_queues_do_not_mix() -> Result<()> {
    let mut bench = Bench::new(8, 2)?;
    let text = bytes(4, MTU);
    let rnr = 0x20 | bench.own.config.min_rnr_timer;
    bench.post(0..2)?;
    let own = |bench: &mut Bench, syndrome| {
        exchange(&bench.open, &mut bench.own, rc::SEND_ONLY, &text, syndrome)
    };
    own(&mut bench, rnr)?;
    let place = bench.memory.sge(Bench::place(30))?;
    bench.own.qp.post_recv(RecvWr::new(30, place))?;
    ensure!(bench.open.answers()?.is_empty());
    own(&mut bench, ACK)?;
    own(&mut bench, rnr)?;
    let done = bench.poll()?;
    ensure!(done.len() == 1 && done[0].wr_id == 30, "{done:?}");
    for k in 0..2 {
        bench.packet(1, rc::SEND_ONLY, &text, ACK)?;
        bench.received(1, k, &text)?;
    }
    bench.packet(0, rc::SEND_ONLY, &text, rnr)
}
