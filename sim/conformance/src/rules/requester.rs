//! What the card sends as a requester, byte by byte, and what it makes of the answers.

use crate::bench::{refused, Bench, ACK};
use crate::peer::{add24, same_frames, PeerConfig, IMM};
use crate::requester::{complete, first_psn, post, respond, response, Sent, DONE, MTU, REMOTE};
use anyhow::{ensure, Context, Result};
use ferroce_abi::frame::on_wire;
use ferroce_abi::headers::syndrome::RNR_TIMER_US;
use ferroce_abi::headers::AtomicAckEth;
use ferroce_abi::opcode::{rc, Opcode};
use ferroce_driver::{Access, Counter, Mr, QpState, SendOp, SendWr, Sge, Status, WcOpcode};
use ferroce_sim::time::CORE_HZ;
use rand::Rng;

/// Every operation, from no packet boundary to several.
pub fn requests_are_built_right(bench: &mut Bench) -> Result<()> {
    let mut psn = first_psn(bench);
    let imm = u32::from_be_bytes(IMM);
    let ops = [
        (SendOp::Send, WcOpcode::Send),
        (SendOp::SendWithImm(imm), WcOpcode::Send),
        (SendOp::Write(REMOTE), WcOpcode::RdmaWrite),
        (SendOp::WriteWithImm(REMOTE, imm), WcOpcode::RdmaWrite),
    ];
    let mut wr_id = 0;
    for (op, opcode) in ops {
        for len in [0, 1, 3, 4, MTU - 1, MTU, MTU + 1, 2 * MTU, 20 * MTU + 5] {
            wr_id += 1;
            let sent = post(bench, wr_id, op, len, psn)?;
            psn = sent.at(sent.packets());
            respond(bench, add24(psn, 0xff_ffff), ACK, &[], &DONE)?;
            complete(bench, wr_id, opcode, len)?;
        }
    }
    Ok(())
}

/// Answers to what was not sent, was acknowledged before, or is reserved.
pub fn responses_that_mean_nothing(bench: &mut Bench) -> Result<()> {
    let psn = first_psn(bench);
    let sent = post(bench, 1, SendOp::Write(REMOTE), 3 * MTU, psn)?;
    let ignored = [(Counter::RxIgnoredAcks, 1)];
    // Acknowledged long ago, never sent, or nothing that anybody has defined.
    for (psn, syndrome) in [
        (sent.at(3), ACK),
        (sent.at(4), ACK),
        (sent.at(1 << 23), ACK),
        (add24(psn, 0xff_ffff), ACK),
        (add24(psn, 0xff_fff0), 0x60),
        (sent.at(3), 0x60),
        (sent.at(9), 0x21),
        (sent.at(3), 0x62),
        (sent.at(1), 0x40),
        (sent.at(1), 0x5f),
        (sent.at(1), 0x65),
        (sent.at(1), 0x7f),
        (sent.at(1), 0x80),
        (sent.at(1), 0xff),
    ] {
        respond(bench, psn, syndrome, &[], &ignored)?;
    }
    for opcode in [
        rc::READ_RESPONSE_FIRST,
        rc::READ_RESPONSE_MIDDLE,
        rc::READ_RESPONSE_LAST,
        rc::READ_RESPONSE_ONLY,
        rc::ATOMIC_ACKNOWLEDGE,
    ] {
        let mut frame = bench.peers[0].response(&bench.open, sent.at(0), ACK, 1);
        let known = Opcode::try_from(opcode)?;
        frame.packet.bth.opcode = opcode;
        if !known.has_aeth() {
            frame.packet.ext.aeth = None;
        }
        if known.has_atomic_ack_eth() {
            frame.packet.ext.atomic_ack = Some(AtomicAckEth { original: 0 });
        }
        let wire = on_wire(frame.encode()?);
        bench
            .exchange(vec![wire], &[], &refused(Counter::RxDropOpcode))
            .with_context(|| format!("opcode {opcode:#04x}"))?;
    }
    // After all that the message is still under way.
    respond(bench, sent.at(0), ACK, &[], &[(Counter::RxAcks, 1)])?;
    respond(bench, sent.at(1), 0, &[], &[(Counter::RxAcks, 1)])?;
    ensure!(bench.open.cq.poll(1)?.is_empty());
    respond(bench, sent.at(2), ACK, &[], &DONE)?;
    complete(bench, 1, WcOpcode::RdmaWrite, 3 * MTU)?;
    respond(bench, sent.at(2), ACK, &[], &ignored)
}

/// A NAK 0x60 makes the card repeat from that packet, with the opcodes of the first time, once.
pub fn sequence_naks_repeat_the_rest(bench: &mut Bench) -> Result<()> {
    let mut psn = first_psn(bench);
    for (wr_id, from) in [(1, 0), (2, 1), (3, 3), (4, 4)] {
        let op = SendOp::WriteWithImm(REMOTE, u32::from_be_bytes(IMM));
        let sent = post(bench, wr_id, op, 4 * MTU + 9, psn)?;
        psn = sent.at(sent.packets());
        let again = sent.frames(bench, from)?;
        let went_back = [
            (Counter::RxAcks, 1),
            (Counter::SequenceNaks, 1),
            (Counter::Retransmits, 1),
        ];
        respond(bench, sent.at(from), 0x60, &again, &went_back)?;
        respond(bench, sent.at(from), 0x60, &[], &[(Counter::RxAcks, 1)])?;
        respond(bench, sent.at(4), ACK, &[], &DONE)?;
        complete(bench, wr_id, WcOpcode::RdmaWrite, 4 * MTU + 9)?;
    }
    Ok(())
}

/// The NAK's code is in the completion; later work is flushed; nothing more is sent.
pub fn fatal_naks_fail_the_work_request(bench: &mut Bench) -> Result<()> {
    for (syndrome, status) in [
        (0x61, Status::RemInvReq),
        (0x62, Status::RemAccess),
        (0x63, Status::RemOp),
        (0x64, Status::RemInvRdReq),
    ] {
        let psn = first_psn(bench);
        let first = post(bench, 1, SendOp::Send, 10, psn)?;
        let second = post(bench, 2, SendOp::Write(REMOTE), 2 * MTU, first.at(1))?;
        let _third = post(bench, 3, SendOp::Send, 5, second.at(2))?;
        // It acknowledges what is before it, and fails the message that it points into.
        let counts = [
            (Counter::RxAcks, 1),
            (Counter::CqeWritten, 3),
            (Counter::RequesterErrors, 1),
        ];
        respond(bench, second.at(1), syndrome, &[], &counts)?;
        let done: Vec<_> = bench
            .open
            .cq
            .poll(9)?
            .iter()
            .map(|c| (c.wr_id, c.status))
            .collect();
        ensure!(
            done == [(1, Status::Success), (2, status), (3, Status::WrFlush)],
            "{done:?}"
        );
        let qp = &bench.peers[0].qp;
        ensure!(qp.state() == QpState::Err);
        qp.post_send(SendWr::send(4, bench.image.mr.sge(0..1)?))?;
        ensure!(bench.open.answers()?.is_empty());
        let done = bench.open.cq.poll(9)?;
        ensure!(
            done.len() == 1 && done[0].status == Status::WrFlush,
            "{done:?}"
        );
        bench.counted(&[])?;
        // Responses to what was flushed do nothing. The QP does not take any.
        let wire = response(bench, second.at(1), ACK)?;
        bench.exchange(vec![wire], &[], &refused(Counter::RxDropQpState))?;
        let config = PeerConfig {
            card_psn: bench.rng.gen_range(0..1 << 24),
            ..bench.peers[0].config
        };
        bench.peers[0].connect(&bench.open, config)?;
        bench.good(0)?;
        bench.good(1)?;
    }
    Ok(())
}

/// Nothing cuts an RNR wait short.
pub fn rnr_naks_are_obeyed(bench: &mut Bench) -> Result<()> {
    const CODE: u8 = 2;
    let psn = first_psn(bench);
    let sent = post(bench, 1, SendOp::Send, 2 * MTU, psn)?;
    let begin = bench.open.sim.with(|w| w.cycles());
    let wait = u64::from(RNR_TIMER_US[usize::from(CODE)]) * CORE_HZ / 1_000_000;
    let again = sent.frames(bench, 0)?;
    // All within the wait: nothing is sent, though a NAK 0x60 or a new message would have the card do so.
    for syndrome in [0x20 | CODE, 0x60, 0x20 | CODE] {
        let wire = response(bench, sent.at(0), syndrome)?;
        bench.open.inject_raw(wire);
        ensure!(bench.open.run(wait / 8)?.is_empty());
    }
    let bytes = bench.image.bytes(7..12).to_vec();
    let second = Sent {
        op: SendOp::Send,
        bytes,
        psn: sent.at(2),
    };
    bench.peers[0]
        .qp
        .post_send(SendWr::send(2, bench.image.mr.sge(7..12)?))?;
    let mut frames = Vec::new();
    while frames.is_empty() {
        frames = bench.open.run(64)?;
        let waited = bench.open.sim.with(|w| w.cycles()) - begin;
        ensure!(waited < 4 * wait, "the card waits for ever");
        ensure!(
            frames.is_empty() || waited >= wait,
            "resumed after {waited} of {wait} cycles"
        );
    }
    frames.extend(bench.open.answers()?);
    let want = [again, second.frames(bench, 0)?].concat();
    same_frames(&frames, &want)?;
    bench.counted(&[
        (Counter::RxFrames, 3),
        (Counter::RxPackets, 3),
        (Counter::RxAcks, 3),
        (Counter::RnrWaits, 1),
        (Counter::TxFrames, 3),
        (Counter::TxRequests, 3),
    ])?;
    let both = [(Counter::RxAcks, 1), (Counter::CqeWritten, 2)];
    respond(bench, second.at(0), ACK, &[], &both)
}

/// Wrong local memory or length fails without a packet.
pub fn local_errors_send_nothing(bench: &mut Bench) -> Result<()> {
    let foreign: Mr = bench
        .open
        .device
        .create_pd()?
        .allocate(4096, Access::NONE)?;
    let good = bench.image.mr.sge(0..100)?;
    let mut wrong = vec![foreign.sge(0..100)?];
    wrong.push(Sge {
        lkey: good.lkey ^ 1,
        ..good
    });
    wrong.push(Sge { lkey: 0, ..good });
    wrong.push(Sge {
        addr: good.addr - 1,
        ..good
    });
    wrong.push(Sge {
        addr: u64::MAX - 50,
        ..good
    });
    for sge in wrong {
        let psn = first_psn(bench);
        let sent = post(bench, 1, SendOp::Send, 10, psn)?;
        bench.peers[0]
            .qp
            .post_send_list(&[SendWr::send(2, sge).unsignaled(), SendWr::send(3, good)])?;
        ensure!(bench.open.run(3000)?.is_empty(), "{sge:?} is sent");
        // The failure waits for its turn.
        ensure!(bench.open.cq.poll(9)?.is_empty());
        bench.counted(&[(Counter::MrDenied, 1)])?;
        let counts = [
            (Counter::RxAcks, 1),
            (Counter::CqeWritten, 3),
            (Counter::RequesterErrors, 1),
        ];
        respond(bench, sent.at(0), ACK, &[], &counts)?;
        let done: Vec<_> = bench
            .open
            .cq
            .poll(9)?
            .iter()
            .map(|c| (c.wr_id, c.status))
            .collect();
        ensure!(
            done == [
                (1, Status::Success),
                (2, Status::LocProt),
                (3, Status::WrFlush)
            ],
            "{sge:?}: {done:?}"
        );
        let config = bench.peers[0].config;
        bench.peers[0].connect(&bench.open, config)?;
        bench.good(0)?;
    }
    Ok(())
}
