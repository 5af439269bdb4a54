//! What a receiver does beside writing: buffers that do not fit, duplicates, gaps, missing receive requests.

use crate::bench::{answered, refused, Bench, ACK};
use crate::failure::{fail, frames, renew, writable, Failure, MTU};
use crate::peer::add24;
use anyhow::{ensure, Context, Result};
use ferroce_abi::frame::on_wire;
use ferroce_abi::headers::Reth;
use ferroce_abi::opcode::rc;
use ferroce_driver::{Access, Counter, RecvWr, Sge, Status};

/// NAK: PSN sequence error.
const SEQUENCE: u8 = 0x60;
/// Half of the PSN space.
const HALF: u32 = 1 << 23;

/// A receive request of the first QP.
fn receive(bench: &Bench, sge: Sge) -> Result<()> {
    bench.peers[0].qp.post_recv(RecvWr::new(5, sge))?;
    // Its WQE is fetched.
    ensure!(bench.open.answers()?.is_empty());
    Ok(())
}

/// Receive buffers that are too small, or that the key does not cover, end in NAK and completion.
pub fn buffers(bench: &mut Bench) -> Result<()> {
    let (place, _) = bench.target(4 * MTU)?;
    let none = Reth {
        va: 0,
        rkey: 0,
        dma_len: 0,
    };
    let sge = |bench: &Bench, len| bench.image.mr.sge(place.start..place.start + len);

    receive(bench, sge(bench, 99)?)?;
    let long = frames(bench, &[(rc::SEND_ONLY, 0, 100)], none, place.start)?;
    fail(bench, long, Failure::invalid().with(Status::LocLen)).context("longer than the buffer")?;

    receive(bench, sge(bench, MTU + 1)?)?;
    let script = [(rc::SEND_FIRST, 0, MTU), (rc::SEND_LAST, 0, 2)];
    let long = frames(bench, &script, none, place.start)?;
    fail(bench, long, Failure::invalid().with(Status::LocLen)).context("second packet too long")?;

    receive(bench, sge(bench, 4 * MTU)?)?;
    let script = [(rc::SEND_FIRST, 0, MTU), (rc::WRITE_MIDDLE, 0, MTU)];
    let mixed = frames(bench, &script, none, place.start)?;
    fail(bench, mixed, Failure::invalid().with(Status::RemInvReq)).context("WRITE in a SEND")?;

    receive(bench, sge(bench, 4 * MTU)?)?;
    let script = [(rc::SEND_FIRST, 0, MTU), (rc::SEND_LAST, 0, 0)];
    let empty = frames(bench, &script, none, place.start)?;
    fail(bench, empty, Failure::invalid().with(Status::RemInvReq)).context("empty LAST")?;

    let good = sge(bench, 100)?;
    for (name, bad) in [
        (
            "wrong L_Key",
            Sge {
                lkey: good.lkey ^ 1,
                ..good
            },
        ),
        (
            "buffer outside its region",
            Sge {
                addr: good.addr + (1 << 30),
                ..good
            },
        ),
    ] {
        receive(bench, bad)?;
        let send = frames(bench, &[(rc::SEND_ONLY, 0, 100)], none, place.start)?;
        fail(bench, send, Failure::local()).context(name)?;
    }
    // Reading is all that is allowed there.
    let closed = bench.open.pd.allocate(4096, Access::NONE)?;
    receive(bench, closed.sge(0..100)?)?;
    let send = frames(bench, &[(rc::SEND_ONLY, 0, 100)], none, place.start)?;
    fail(bench, send, Failure::local()).context("no local write")
}

/// Duplicates are acknowledged and not executed; requests from the future are refused once.
pub fn sequence_numbers(bench: &mut Bench) -> Result<()> {
    for _ in 0..3 {
        bench.good(0)?;
    }
    let send = |bench: &mut Bench, opcode: u8, ahead: u32, ackreq: bool| -> Result<Vec<u8>> {
        let (_, reth) = bench.target(20)?;
        let mut frame = bench.peers[0].request(&bench.open, opcode, ahead, reth, &[9; 20]);
        frame.packet.bth.ackreq = ackreq;
        Ok(on_wire(frame.encode()?))
    };
    for behind in [1, 2, 3, 100, HALF - 1, HALF] {
        for (opcode, ackreq) in [
            (rc::WRITE_ONLY, true),
            (rc::SEND_ONLY, false),
            (rc::WRITE_MIDDLE, true),
        ] {
            let frame = send(bench, opcode, 0u32.wrapping_sub(behind), ackreq)?;
            let peer = &bench.peers[0];
            let ack = peer.answer(&bench.open, add24(peer.psn, 0xff_ffff), ACK, peer.msn)?;
            let mut counts = answered(Counter::TxAcks);
            counts.push((Counter::RxDuplicate, 1));
            bench
                .exchange(vec![frame], &[ack], &counts)
                .with_context(|| format!("{behind} behind, opcode {opcode:#04x}"))?;
        }
    }
    for ahead in [1, 2, 1000, HALF - 1] {
        for repeat in 0..3 {
            let frame = send(bench, rc::WRITE_ONLY, ahead, true)?;
            let peer = &bench.peers[0];
            let (answers, mut counts) = if repeat == 0 {
                let nak = peer.answer(&bench.open, peer.psn, SEQUENCE, peer.msn)?;
                (vec![nak], answered(Counter::TxNakSequence))
            } else {
                // What is answered counts once more below.
                (
                    vec![],
                    vec![(Counter::RxFrames, 1), (Counter::RxPackets, 1)],
                )
            };
            counts.push((Counter::RxOutOfSequence, 1));
            bench
                .exchange(vec![frame], &answers, &counts)
                .with_context(|| format!("{ahead} ahead, time {repeat}"))?;
        }
        // The expected one makes the card speak again.
        bench.good(0)?;
    }
    bench.image.check()
}

/// Without a receive request: RNR NAK, no NAK for what follows, and all is as before when the request comes again.
pub fn requests_without_a_receive_request(bench: &mut Bench) -> Result<()> {
    let code = bench.peers[0].config.min_rnr_timer;
    for (opcode, len) in [
        (rc::SEND_ONLY, 40),
        (rc::SEND_ONLY_IMM, 1),
        (rc::SEND_FIRST, MTU),
        (rc::WRITE_ONLY_IMM, 33),
    ] {
        let (place, reth) = bench.target(len)?;
        let payload = bench.payload(len);
        let frame = bench.peers[0].request(&bench.open, opcode, 0, reth, &payload);
        let wire = on_wire(frame.encode()?);
        for _ in 0..2 {
            let peer = &bench.peers[0];
            let rnr = peer.answer(&bench.open, peer.psn, 0x20 | code, peer.msn)?;
            let mut counts = answered(Counter::TxRnrNaks);
            counts.push((Counter::RxNoReceiveWqe, 1));
            bench.exchange(vec![wire.clone()], &[rnr], &counts)?;
            let (ahead, _) = bench.write_only(0, 8)?;
            let mut ahead = ahead;
            ahead.packet.bth.psn = add24(ahead.packet.bth.psn, 1);
            let counts = refused(Counter::RxOutOfSequence);
            bench.exchange(vec![on_wire(ahead.encode()?)], &[], &counts)?;
        }
        let buffer = bench.image.mr.sge(place.clone())?;
        receive(bench, buffer)?;
        let peer = &mut bench.peers[0];
        let ends = u32::from(opcode != rc::SEND_FIRST);
        let ack = peer.answer(&bench.open, peer.psn, ACK, add24(peer.msn, ends))?;
        (peer.psn, peer.msn) = (add24(peer.psn, 1), add24(peer.msn, ends));
        let mut counts = answered(Counter::TxAcks);
        counts.extend([
            (Counter::RxRequests, 1),
            (Counter::RxMessages, ends.into()),
            (Counter::RxPayloadBytes, len as u64),
            (Counter::CqeWritten, ends.into()),
        ]);
        bench.exchange(vec![wire], &[ack], &counts)?;
        bench.image.expect(place.start, &payload);
        let done = bench.open.cq.poll(4)?;
        ensure!(done.len() == ends as usize, "{done:?}");
        ensure!(done
            .iter()
            .all(|c| c.status == Status::Success && c.byte_len == len as u32));
        if ends == 0 {
            renew(bench, writable())?;
        }
    }
    bench.image.check()
}
