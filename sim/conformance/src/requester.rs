//! The card as a requester, whose peer is software: what it must send, and answers to it.

use anyhow::{ensure, Context, Result};
use ferroce_abi::frame::{on_wire, Packet};
use ferroce_abi::headers::{Bth, Reth};
use ferroce_abi::opcode::{rc, Opcode};
use ferroce_driver::{Counter, Remote, SendOp, SendWr, SgeList, Status, WcOpcode};

use crate::bench::{Bench, Counts};
use crate::peer::{add24, same_frames, PeerConfig, IMM};

/// Path MTU in the tests.
pub const MTU: usize = 256;
/// Where the card's WRITEs go; nobody is there.
pub const REMOTE: Remote = Remote {
    addr: 0x0123_4567_89ab_cdef,
    rkey: 0xdead_beef,
};

/// Connections of two QPs whose PSNs wrap soon.
pub fn configs() -> [PeerConfig; 2] {
    let config = PeerConfig {
        card_psn: 0xff_fffe,
        ..PeerConfig::default()
    };
    [config; 2]
}

/// A message of the first QP: operation and bytes in the bench's memory.
pub struct Sent {
    /// Operation; the peer's memory is [`REMOTE`].
    pub op: SendOp,
    /// Payload.
    pub bytes: Vec<u8>,
    /// PSN of its first packet.
    pub psn: u32,
}

impl Sent {
    /// Packets that it takes.
    pub fn packets(&self) -> usize {
        self.bytes.len().div_ceil(MTU).max(1)
    }

    /// PSN of packet `n`.
    pub fn at(&self, n: usize) -> u32 {
        add24(self.psn, n as u32)
    }

    /// The frames from packet `from` on, as the card must send them.
    ///
    /// # Errors
    /// None for real packets.
    pub fn frames(&self, bench: &Bench, from: usize) -> Result<Vec<Vec<u8>>> {
        (from..self.packets())
            .map(|n| self.frame(bench, n))
            .collect()
    }

    fn frame(&self, bench: &Bench, n: usize) -> Result<Vec<u8>> {
        let (first, last) = (n == 0, n + 1 == self.packets());
        let (base, imm) = match self.op {
            SendOp::Write(_) => (rc::WRITE_FIRST, 0),
            SendOp::WriteWithImm(..) => (rc::WRITE_FIRST, 1),
            SendOp::SendWithImm(_) => (rc::SEND_FIRST, 1),
            _ => (rc::SEND_FIRST, 0),
        };
        let opcode = base
            + match (first, last) {
                (true, true) => rc::SEND_ONLY + imm,
                (true, false) => rc::SEND_FIRST,
                (false, true) => rc::SEND_LAST + imm,
                (false, false) => rc::SEND_MIDDLE,
            };
        let known = Opcode::try_from(opcode)?;
        let peer = &bench.peers[0];
        let mut packet = Packet::new(Bth {
            ackreq: last || n % 16 == 15,
            ..Bth::new(opcode, peer.qpn, self.at(n))
        });
        packet.ext.reth = known.has_reth().then_some(Reth {
            va: REMOTE.addr,
            rkey: REMOTE.rkey,
            dma_len: self.bytes.len() as u32,
        });
        packet.ext.imm = known.has_imm().then_some(IMM);
        let end = self.bytes.len().min((n + 1) * MTU);
        packet.payload = self.bytes[n * MTU..end].to_vec();
        peer.from_card(&bench.open, packet)
    }
}

/// Posts a message whose first PSN must be `psn`, and checks the frames.
///
/// # Errors
/// The card sends anything else.
pub fn post(bench: &mut Bench, wr_id: u64, op: SendOp, len: usize, psn: u32) -> Result<Sent> {
    let place = bench.image.anywhere(len, &mut bench.rng);
    let sent = Sent {
        op,
        bytes: bench.image.bytes(place.clone()).to_vec(),
        psn,
    };
    let sges = if len == 0 {
        SgeList::default()
    } else {
        bench.image.mr.sge(place)?.into()
    };
    bench.peers[0].qp.post_send(SendWr::new(wr_id, op, sges))?;
    // Work request, payload, and the way out take longer than an answer.
    let got = bench.open.run(3000)?;
    same_frames(&got, &sent.frames(bench, 0)?)?;
    let packets = sent.packets() as u64;
    bench.counted(&[(Counter::TxFrames, packets), (Counter::TxRequests, packets)])?;
    Ok(sent)
}

/// The first PSN of the card after a restart.
pub fn first_psn(bench: &Bench) -> u32 {
    bench.peers[0].config.card_psn
}

/// A response to the first QP, as it comes out of the cable.
///
/// # Errors
/// None for real packets.
pub fn response(bench: &Bench, psn: u32, syndrome: u8) -> Result<Vec<u8>> {
    let frame = bench.peers[0].response(&bench.open, psn, syndrome, 1);
    Ok(on_wire(frame.encode()?))
}

/// Lets a response come and checks what is counted beside it; the card sends `sent`.
///
/// # Errors
/// The card does anything else.
pub fn respond(
    bench: &mut Bench,
    psn: u32,
    syndrome: u8,
    sent: &[Vec<u8>],
    counts: &[(Counter, u64)],
) -> Result<()> {
    let wire = response(bench, psn, syndrome)?;
    bench.open.inject_raw(wire);
    let got = bench.open.run(3000)?;
    same_frames(&got, sent)?;
    let mut all: Counts = counts.to_vec();
    all.extend([
        (Counter::RxFrames, 1),
        (Counter::RxPackets, 1),
        (Counter::TxFrames, sent.len() as u64),
        (Counter::TxRequests, sent.len() as u64),
    ]);
    bench
        .counted(&all)
        .with_context(|| format!("syndrome {syndrome:#04x} at PSN {psn:#x}"))
}

/// The only completion that is there.
///
/// # Errors
/// It is not there, or wrong.
pub fn complete(bench: &Bench, wr_id: u64, opcode: WcOpcode, len: usize) -> Result<()> {
    let done = bench.open.cq.poll(4)?;
    ensure!(done.len() == 1, "{done:?}");
    let c = done[0];
    ensure!(
        (c.wr_id, c.status, c.opcode) == (wr_id, Status::Success, opcode),
        "{c:?}"
    );
    ensure!(c.byte_len as usize == len && c.imm.is_none(), "{c:?}");
    Ok(())
}

/// Counters of an acknowledged, signaled message.
pub const DONE: [(Counter, u64); 2] = [(Counter::RxAcks, 1), (Counter::CqeWritten, 1)];
