//! QPs that stop or fail while they hold requests of an SRQ.

use crate::bench::{bytes, Bench, ACK, INVALID, MTU, OPERATIONAL};
use anyhow::{ensure, Result};
use ferroce_abi::frame::on_wire;
use ferroce_abi::headers::Reth;
use ferroce_abi::opcode::rc;
use ferroce_driver::{Completion, Event, QpState, RecvWr, Status};
use ferroce_tests::peer::same_frames;

#[test]
fn a_stopped_qp_gives_back_what_it_holds() -> Result<()> {
    let mut bench = Bench::new(8, 3)?;
    let text = bytes(1, 2 * MTU);
    bench.post(0..6)?;
    bench.packet(0, rc::SEND_FIRST, &text[..MTU], ACK)?;
    bench.packet(1, rc::SEND_FIRST, &text[..MTU], ACK)?;
    bench.peers[0].qp.to_error()?;
    ensure!(bench.open.answers()?.is_empty());
    bench.failed(0, 0, Status::WrFlush)?;
    // In RESET nobody hears of it, but the request is back.
    bench.peers[1].qp.reset()?;
    ensure!(bench.open.answers()?.is_empty());
    ensure!(bench.poll()?.is_empty());
    ensure!(bench.srq.outstanding() == 4, "{}", bench.srq.outstanding());
    // Others go on, and these two again.
    bench.packet(2, rc::SEND_ONLY, &text[..1], ACK)?;
    bench.received(2, 2, &text[..1])?;
    for k in 0..2 {
        let config = bench.peers[k].config;
        let Bench { open, peers, .. } = &mut bench;
        peers[k].connect(open, config)?;
        bench.packet(k, rc::SEND_ONLY, &text[..7], ACK)?;
        bench.received(k, 3 + k as u64, &text[..7])?;
    }
    // A QP without a message in progress holds nothing.
    bench.peers[2].qp.to_error()?;
    ensure!(bench.open.answers()?.is_empty() && bench.poll()?.is_empty());
    ensure!(bench.srq.outstanding() == 1);
    Ok(())
}

#[test]
fn a_failing_qp_spends_its_own_requests_only() -> Result<()> {
    let mut bench = Bench::new(64, 3)?;
    let text = bytes(2, 3 * MTU);
    bench.post(0..32)?;
    // Too long for the buffer, in the third packet; what is right behind may be in the card already.
    for part in [rc::SEND_FIRST, rc::SEND_MIDDLE] {
        bench.packet(0, part, &text[..MTU], ACK)?;
    }
    let mut wire = Vec::new();
    for (ahead, opcode) in [(0, rc::SEND_LAST), (1, rc::SEND_ONLY), (2, rc::SEND_ONLY)] {
        let none = Reth {
            va: 0,
            rkey: 0,
            dma_len: 0,
        };
        let frame = bench.peers[0].request(&bench.open, opcode, ahead, none, &text[..1]);
        wire.push(on_wire(frame.encode()?));
    }
    for frame in wire {
        bench.open.inject_raw(frame);
    }
    let got = bench.open.answers()?;
    let peer = &bench.peers[0];
    let nak = peer.answer(&bench.open, peer.psn, INVALID, peer.msn)?;
    same_frames(&got, &[nak])?;
    let done = bench.poll()?;
    let of = |c: &Completion| (c.wr_id, c.status);
    ensure!(of(&done[0]) == (0, Status::LocLen), "{done:?}");
    let late = done.len() as u64 - 1;
    ensure!(late <= 2, "{done:?}");
    for (c, wr_id) in done[1..].iter().zip(1..) {
        ensure!(of(c) == (wr_id, Status::WrFlush), "{done:?}");
    }
    ensure!(bench.peers[0].qp.state() == QpState::Err);
    bench.packet(1, rc::SEND_ONLY, &text[..1], ACK)?;
    bench.received(1, late + 1, &text[..1])?;
    // A request that can't be used takes its QP with it, and no other.
    let mut bad = bench.memory.sge(Bench::place(40))?;
    bad.lkey ^= 1;
    let left = bench.srq.outstanding() as u64;
    for k in 0..left {
        bench.packet(1, rc::SEND_ONLY, &text[..1], ACK)?;
        bench.received(1, late + 2 + k, &text[..1])?;
    }
    bench.srq.post_recv(RecvWr::new(40, bad))?;
    bench.post(41..42)?;
    bench.packet(1, rc::SEND_ONLY, &text[..1], OPERATIONAL)?;
    bench.failed(1, 40, Status::LocProt)?;
    bench.packet(2, rc::SEND_ONLY, &text[..1], ACK)?;
    bench.received(2, 41, &text[..1])?;
    ensure!(bench.srq.outstanding() == 0);
    Ok(())
}
/// The event comes once, behind the completion, and only where it was wished.
#[test]
fn the_last_request_is_told() -> Result<()> {
    let mut bench = Bench::new(16, 4)?;
    let text = bytes(7, 3 * MTU);
    let last = |bench: &Bench, k: usize| Event::QpLastWqe {
        qpn: bench.peers[k].qp.qpn(),
    };
    bench.post(0..8)?;
    bench.peers[3].qp.to_error()?;
    ensure!(bench.events()?.is_empty(), "nobody has asked");
    bench.open.device.set_async_eq(Some(&bench.eq))?;
    // One that holds a request, one that holds none.
    bench.packet(0, rc::SEND_FIRST, &text[..MTU], ACK)?;
    bench.peers[0].qp.to_error()?;
    ensure!(bench.events()? == [last(&bench, 0)]);
    bench.failed(0, 0, Status::WrFlush)?;
    bench.peers[1].qp.to_error()?;
    ensure!(bench.events()? == [last(&bench, 1)]);
    bench.peers[1].qp.to_error()?;
    bench.peers[3].qp.to_error()?;
    bench.own.qp.to_error()?;
    ensure!(bench.events()?.is_empty());
    // One that fails is moved by the driver when the failure is polled.
    for part in [rc::SEND_FIRST, rc::SEND_MIDDLE] {
        bench.packet(2, part, &text[..MTU], ACK)?;
    }
    bench.packet(2, rc::SEND_LAST, &text[..1], INVALID)?;
    let qpn = bench.peers[2].qp.qpn();
    ensure!(bench.events()? == [Event::QpRequestError { qpn }]);
    bench.failed(2, 1, Status::LocLen)?;
    ensure!(bench.peers[2].qp.state() == QpState::Err);
    ensure!(bench.events()? == [last(&bench, 2)]);
    // A new life ends like the first; RESET tells nothing.
    for k in 0..2 {
        let config = bench.peers[k].config;
        let Bench { open, peers, .. } = &mut bench;
        peers[k].connect(open, config)?;
        bench.packet(k, rc::SEND_FIRST, &text[..MTU], ACK)?;
    }
    bench.peers[0].qp.to_error()?;
    bench.peers[1].qp.reset()?;
    ensure!(bench.events()? == [last(&bench, 0)]);
    bench.failed(0, 2, Status::WrFlush)?;
    ensure!(bench.srq.outstanding() == 4);
    Ok(())
}
