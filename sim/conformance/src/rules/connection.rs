//! Rules of connections: PSNs, rings, queues and what needs no key.

use anyhow::{ensure, Context, Result};
use ferroce_abi::frame::on_wire;
use ferroce_abi::headers::Reth;
use ferroce_abi::opcode::rc;
use ferroce_driver::{Counter, RecvWr, Status};

use crate::bench::{answered, refused, Bench, ACK};
use crate::failure::writable;
use crate::peer::{add24, Peer, PeerConfig};

/// NAK: PSN sequence error.
const SEQUENCE: u8 = 0x60;
/// Requests that the QPs' receive rings hold.
const RING: usize = 16;

/// Expected PSN and MSN go on behind 0xFFFFFF, and duplicates are known across it.
pub fn psn_wrap(bench: &mut Bench) -> Result<()> {
    let config = PeerConfig {
        psn: 0xff_fffd,
        ..bench.peers[0].config
    };
    bench.peers[0].connect(&bench.open, config)?;
    for _ in 0..6 {
        bench.good(0)?;
    }
    ensure!(bench.peers[0].psn == 3);
    for behind in 1..=6 {
        let (_, reth) = bench.target(20)?;
        let ahead = 0u32.wrapping_sub(behind);
        let peer = &bench.peers[0];
        let frame = peer.request(&bench.open, rc::WRITE_ONLY, ahead, reth, &[9; 20]);
        let ack = peer.answer(&bench.open, 2, ACK, 6)?;
        let mut counts = answered(Counter::TxAcks);
        counts.push((Counter::RxDuplicate, 1));
        bench
            .exchange(vec![on_wire(frame.encode()?)], &[ack], &counts)
            .with_context(|| format!("{behind} behind"))?;
    }
    bench.image.check()
}

/// Requests of an older connection between the same QPs are not executed in a new one: half of the PSNs are ahead of the new one, and
/// half behind.
pub fn stale_psn(bench: &mut Bench) -> Result<()> {
    const OLD: u32 = 0x10_0000;
    for (new, old_is_ahead) in [(0x20_0000, false), (0x08_0000, true)] {
        let config = PeerConfig {
            psn: OLD,
            access: writable(),
            ..bench.peers[0].config
        };
        bench.peers[0].connect(&bench.open, config)?;
        bench.good(0)?;
        let (late, _) = bench.write_only(0, 40)?;
        let config = PeerConfig { psn: new, ..config };
        bench.peers[0].connect(&bench.open, config)?;
        let peer = &bench.peers[0];
        let (answer, counter, kind) = if old_is_ahead {
            let nak = peer.answer(&bench.open, new, SEQUENCE, 0)?;
            (nak, Counter::TxNakSequence, Counter::RxOutOfSequence)
        } else {
            let ack = peer.answer(&bench.open, new - 1, ACK, 0)?;
            (ack, Counter::TxAcks, Counter::RxDuplicate)
        };
        let mut counts = answered(counter);
        counts.push((kind, 1));
        bench.exchange(vec![on_wire(late.encode()?)], &[answer], &counts)?;
        bench.good(0)?;
    }
    bench.image.check()
}

/// A WRITE of nothing is executed whatever its key and address are.
pub fn zero_length_write(bench: &mut Bench) -> Result<()> {
    for (va, rkey) in [(0, 0), (u64::MAX, 0xdead_beef)] {
        let reth = Reth {
            va,
            rkey,
            dma_len: 0,
        };
        let frame = bench.peers[0].request(&bench.open, rc::WRITE_ONLY, 0, reth, &[]);
        bench.accept(0, on_wire(frame.encode()?), 0..0, &[])?;
    }
    bench.image.check()
}

/// SENDs take receive requests in their order, around the end of the ring and again.
pub fn receive_ring_wrap(bench: &mut Bench) -> Result<()> {
    const LEN: usize = 24;
    let none = Reth {
        va: 0,
        rkey: 0,
        dma_len: 0,
    };
    for n in 0..5 * RING / 2 {
        let (place, _) = bench.target(LEN)?;
        let sge = bench.image.mr.sge(place.clone())?;
        bench.peers[0].qp.post_recv(RecvWr::new(n as u64, sge))?;
        ensure!(bench.open.answers()?.is_empty());
        let payload = bench.payload(LEN);
        let peer = &mut bench.peers[0];
        let frame = peer.request(&bench.open, rc::SEND_ONLY, 0, none, &payload);
        let ack = peer.answer(&bench.open, peer.psn, ACK, add24(peer.msn, 1))?;
        (peer.psn, peer.msn) = (add24(peer.psn, 1), add24(peer.msn, 1));
        let mut counts = answered(Counter::TxAcks);
        counts.extend([
            (Counter::RxRequests, 1),
            (Counter::RxMessages, 1),
            (Counter::RxPayloadBytes, LEN as u64),
            (Counter::CqeWritten, 1),
        ]);
        bench.exchange(vec![on_wire(frame.encode()?)], &[ack], &counts)?;
        bench.image.expect(place.start, &payload);
        let done = bench.open.cq.poll(4)?;
        let good = done.len() == 1
            && (done[0].wr_id, done[0].status) == (n as u64, Status::Success)
            && done[0].byte_len as usize == LEN;
        ensure!(good, "number {n}: {done:?}");
    }
    bench.image.check()
}

/// The code of the RNR NAK is the one that the QP was given.
pub fn rnr_timer_codes(bench: &mut Bench) -> Result<()> {
    let none = Reth {
        va: 0,
        rkey: 0,
        dma_len: 0,
    };
    for code in 0..32 {
        let config = PeerConfig {
            min_rnr_timer: code,
            ..bench.peers[0].config
        };
        bench.peers[0].connect(&bench.open, config)?;
        let peer = &bench.peers[0];
        let frame = peer.request(&bench.open, rc::SEND_ONLY, 0, none, &[1; 8]);
        let rnr = peer.answer(&bench.open, peer.psn, 0x20 | code, 0)?;
        let mut counts = answered(Counter::TxRnrNaks);
        counts.push((Counter::RxNoReceiveWqe, 1));
        bench
            .exchange(vec![on_wire(frame.encode()?)], &[rnr], &counts)
            .with_context(|| format!("code {code}"))?;
    }
    Ok(())
}

/// Completions that a full CQ has no room for are lost and counted; those in it stay, and other CQs go on.
pub fn full_cq(bench: &mut Bench) -> Result<()> {
    const ROOM: usize = 2;
    const SENT: u64 = 4;
    let none = Reth {
        va: 0,
        rkey: 0,
        dma_len: 0,
    };
    let cq = bench.open.device.create_cq(ROOM)?;
    let mut peer = Peer {
        qp: bench.open.pd.qp(&cq).build()?,
        qpn: 0x333,
        config: PeerConfig::default(),
        psn: 0,
        msn: 0,
    };
    peer.connect(&bench.open, PeerConfig::default())?;
    let (place, _) = bench.target(64)?;
    for n in 0..SENT {
        let sge = bench.image.mr.sge(place.clone())?;
        peer.qp.post_recv(RecvWr::new(n, sge))?;
    }
    ensure!(bench.open.answers()?.is_empty());
    let before = bench.open.device.counter(Counter::CqeDropped)?;
    for n in 0..SENT as u32 {
        let frame = peer.request(&bench.open, rc::SEND_ONLY, n, none, &[3; 64]);
        bench.open.inject(frame.encode()?);
    }
    bench.open.answers()?;
    bench.image.expect(place.start, &[3; 64]);
    let dropped = bench.open.device.counter(Counter::CqeDropped)? - before;
    ensure!(dropped == SENT - ROOM as u64, "{dropped} lost");
    let done = cq.poll(2 * ROOM)?;
    ensure!(done.iter().map(|c| c.wr_id).eq(0..ROOM as u64), "{done:?}");
    ensure!(done.iter().all(|c| c.status == Status::Success), "{done:?}");
    bench.counted_any()?;
    bench.good(0)?;
    bench.image.check()
}

/// A packet to a QP in the error state is dropped without an answer.
pub fn error_state(bench: &mut Bench) -> Result<()> {
    let (late, _) = bench.write_only(0, 10)?;
    bench.peers[0].qp.to_error()?;
    bench.open.answers()?;
    bench.counted_any()?;
    let counts = refused(Counter::RxDropQpState);
    bench.exchange(vec![on_wire(late.encode()?)], &[], &counts)?;
    bench.good(1)
}
