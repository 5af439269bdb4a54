//! A card with an SRQ, between its driver and software peers.

use std::ops::Range;

use anyhow::{ensure, Result};
use ferroce_abi::frame::on_wire;
use ferroce_abi::headers::Reth;
use ferroce_abi::opcode::rc;
use ferroce_driver::{Access, Completion, Eq, EqAttr, Event, Mr, Qp, RecvWr, Srq, Status};
use ferroce_tests::model;
use ferroce_tests::open::Open;
use ferroce_tests::peer::{add24, same_frames, Peer, PeerConfig};
use ferroce_tests::seed::seed;

/// Path MTU.
pub const MTU: usize = 256;
/// Bytes of a receive buffer.
pub const BUFFER: usize = 2 * MTU;
pub const ACK: u8 = 0x1f;
pub const INVALID: u8 = 0x61;
pub const OPERATIONAL: u8 = 0x63;

/// A card with several QPs on one SRQ, and one more QP with an RQ of its own.
pub struct Bench {
    pub open: Open,
    pub eq: Eq,
    pub srq: Srq,
    pub peers: Vec<Peer>,
    pub own: Peer,
    pub memory: Mr,
}

impl Bench {
    pub fn new(depth: usize, qps: u32) -> Result<Self> {
        let open = Open::new(&model::small()?, seed())?;
        let eq = open.device.create_eq(EqAttr::new(16, 0), None)?;
        let srq = open.pd.srq(depth).eq(&eq).build()?;
        let peers = (0..qps)
            .map(|k| {
                let qp = open.pd.qp(&open.cq).srq(&srq).build()?;
                peer(&open, qp, 0x500 + k)
            })
            .collect::<Result<Vec<_>>>()?;
        let own = open.pd.qp(&open.cq).recv_depth(16).build()?;
        let own = peer(&open, own, 0x700)?;
        let memory = open.pd.allocate(64 * BUFFER, Access::LOCAL_WRITE)?;
        Ok(Self {
            open,
            eq,
            srq,
            peers,
            own,
            memory,
        })
    }

    /// Buffer 0 is used once.
    pub fn place(number: u64) -> Range<usize> {
        let at = match number as usize {
            0 => 0,
            k => (1 + (k - 1) % 63) * BUFFER,
        };
        at..at + BUFFER
    }

    /// Posts requests whose ids are these numbers, each with a buffer of its own, and lets them reach the card.
    pub fn post(&self, numbers: Range<u64>) -> Result<()> {
        let list = numbers
            .map(|k| Ok(RecvWr::new(k, self.memory.sge(Self::place(k))?)))
            .collect::<Result<Vec<_>>>()?;
        self.srq.post_recv_list(&list)?;
        ensure!(self.open.answers()?.is_empty());
        Ok(())
    }

    /// A packet of `peers[k]` that the card takes or refuses with this syndrome; what it does not take leaves the peer where it is.
    pub fn packet(&mut self, k: usize, opcode: u8, payload: &[u8], syndrome: u8) -> Result<()> {
        exchange(&self.open, &mut self.peers[k], opcode, payload, syndrome)
    }

    pub fn poll(&self) -> Result<Vec<Completion>> {
        Ok(self.open.cq.poll(64)?)
    }

    /// The only completion: of request `wr_id` by `peers[k]`.
    pub fn received(&self, k: usize, wr_id: u64, bytes: &[u8]) -> Result<()> {
        let done = self.poll()?;
        ensure!(done.len() == 1, "{done:?}");
        let c = done[0];
        let expected = (wr_id, self.peers[k].qp.qpn(), Status::Success, bytes.len());
        ensure!(
            (c.wr_id, c.qpn, c.status, c.byte_len as usize) == expected,
            "{c:?}, not {expected:?}"
        );
        let mut got = vec![0; bytes.len()];
        self.memory.read(Self::place(wr_id).start, &mut got)?;
        ensure!(got == bytes, "payload of {c:?}");
        Ok(())
    }

    /// The only completion: request `wr_id` failed.
    pub fn failed(&self, k: usize, wr_id: u64, status: Status) -> Result<()> {
        let done = self.poll()?;
        ensure!(done.len() == 1, "{done:?}");
        let c = done[0];
        let expected = (wr_id, self.peers[k].qp.qpn(), status);
        ensure!(
            (c.wr_id, c.qpn, c.status) == expected,
            "{c:?}, not {expected:?}"
        );
        Ok(())
    }

    pub fn events(&self) -> Result<Vec<Event>> {
        ensure!(self.open.answers()?.is_empty());
        Ok(self.eq.poll()?)
    }

    pub fn limit(&self) -> Event {
        Event::SrqLimit {
            srqn: self.srq.srqn(),
        }
    }
}

pub fn peer(open: &Open, qp: Qp, qpn: u32) -> Result<Peer> {
    let config = PeerConfig::default();
    let mut peer = Peer {
        qp,
        qpn,
        config,
        psn: 0,
        msn: 0,
    };
    peer.connect(open, config)?;
    Ok(peer)
}

pub fn ends(opcode: u8) -> u32 {
    u32::from(!matches!(
        opcode,
        rc::SEND_FIRST | rc::SEND_MIDDLE | rc::WRITE_FIRST | rc::WRITE_MIDDLE
    ))
}

pub fn frame(open: &Open, peer: &Peer, opcode: u8, payload: &[u8]) -> Result<Vec<u8>> {
    let none = Reth {
        va: 0,
        rkey: 0,
        dma_len: 0,
    };
    let frame = peer.request(open, opcode, 0, none, payload);
    Ok(on_wire(frame.encode()?))
}

/// Sends a packet and expects its answer.
pub fn exchange(
    open: &Open,
    peer: &mut Peer,
    opcode: u8,
    payload: &[u8],
    syndrome: u8,
) -> Result<()> {
    open.inject_raw(frame(open, peer, opcode, payload)?);
    let got = open.answers()?;
    let msn = match syndrome {
        ACK => add24(peer.msn, ends(opcode)),
        _ => peer.msn,
    };
    let answer = peer.answer(open, peer.psn, syndrome, msn)?;
    same_frames(&got, &[answer])?;
    if syndrome == ACK {
        (peer.psn, peer.msn) = (add24(peer.psn, 1), msn);
    }
    Ok(())
}

/// Bytes that say whose they are.
pub fn bytes(k: usize, len: usize) -> Vec<u8> {
    (0..len).map(|n| (n * 5 + k * 31 + 1) as u8).collect()
}
