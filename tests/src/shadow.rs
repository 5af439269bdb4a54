//! A card as a responder beside the software model: both are shown the same packets.

use std::collections::VecDeque;
use std::sync::Arc;

use anyhow::{ensure, Context, Result};
use ferroce_abi::frame::{on_wire, Frame, Packet};
use ferroce_bridge::Library;
use ferroce_driver::{Access, Mr, Pmtu, RecvWr, Status};
use ferroce_sim::transport::{
    suffer, Memory, Receive, Region, Requester, RequesterConfig, Responder, ResponderConfig, Work,
    WorkOp,
};
use rand::{Rng, RngCore};
use rand_chacha::ChaCha8Rng;

use crate::open::Open;
use crate::peer::{same_frames, Peer, PeerConfig};
use crate::seed;

/// Bytes that peers may write.
const REMOTE: usize = 1 << 16;
/// Bytes of receive buffers.
const BUFFERS: usize = 1 << 16;
/// Number of the protection domain in the model.
const PD: u32 = 1;
/// Packets shown at once, at most.
const BURST: usize = 12;
/// Core cycles in which they are answered: more than the wire needs for them and the card for the last one.
const CYCLES: u64 = 2_500;
/// Receive requests of the QP.
const DEPTH: usize = 16;

/// Card, model, and who talks to both.
pub struct Shadow {
    open: Open,
    peer: Peer,
    remote: Mr,
    buffers: Mr,
    memory: Memory,
    responder: Responder,
    requester: Requester,
    /// Packets on their way.
    wire: VecDeque<Packet>,
    rng: ChaCha8Rng,
    pmtu: Pmtu,
    wr_id: u64,
    /// Receive requests that were posted and not completed.
    posted: usize,
    /// How likely a packet suffers each kind of misfortune.
    evil: f64,
}

impl Shadow {
    /// A card and a model in the same state.
    ///
    /// # Errors
    /// Of simulation and driver.
    pub fn new(library: &Arc<Library>, seed: u64) -> Result<Self> {
        let open = Open::new(library, seed)?;
        let mut rng = seed::rng(seed);
        let remote = open
            .pd
            .allocate(REMOTE, Access::LOCAL_WRITE | Access::REMOTE_WRITE)?;
        let buffers = open.pd.allocate(BUFFERS, Access::LOCAL_WRITE)?;
        let mut memory = Memory::default();
        for mr in [&remote, &buffers] {
            let mut bytes = vec![0; mr.len()];
            rng.fill_bytes(&mut bytes);
            mr.write(0, &bytes)?;
            let region = Region {
                pd: PD,
                access: mr.access(),
                base: mr.addr(),
                bytes,
            };
            memory.insert(mr.rkey(), region);
        }
        let (pmtu, config) = attributes(&mut rng);
        let peer = Peer::new(&open, 0x155, config)?;
        let (requester, responder) = ends(&peer);
        Ok(Self {
            evil: [0.0, 0.02, 0.1][rng.gen_range(0..3)],
            open,
            peer,
            remote,
            buffers,
            memory,
            responder,
            requester,
            wire: VecDeque::new(),
            rng,
            pmtu,
            wr_id: 0,
            posted: 0,
        })
    }

    /// Shows some packets to both ends.
    ///
    /// # Errors
    /// They differ in anything.
    pub fn step(&mut self) -> Result<()> {
        if self.wire.is_empty() {
            self.refill()?;
        }
        let count = self.wire.len().min(self.rng.gen_range(1..=BURST));
        let mut shown: Vec<Packet> = self.wire.drain(..count).collect();
        if self.rng.gen_bool(0.02) {
            shown.push(self.wrong_request());
        }
        self.show(&shown)?;
        self.completions()?;
        if self.responder.is_dead() {
            self.check_memory()?;
            self.renew()?;
        }
        Ok(())
    }

    /// New work, what was lost, or a receive request.
    fn refill(&mut self) -> Result<()> {
        if self.rng.gen_bool(0.7) && self.posted < DEPTH {
            self.post_receive()?;
        }
        let packets = if self.requester.pending() > 0 && self.rng.gen() {
            self.requester.again()
        } else {
            let work = self.work();
            self.requester.post(work)
        };
        self.send(packets);
        Ok(())
    }

    fn send(&mut self, packets: Vec<Packet>) {
        for packet in packets {
            suffer(&mut self.rng, self.evil, &mut self.wire, packet);
        }
    }

    /// A message that the card takes.
    fn work(&mut self) -> Work {
        let pmtu = self.pmtu.bytes() as usize;
        let len = match self.rng.gen_range(0..4) {
            0 => 0,
            1 => pmtu * self.rng.gen_range(1..4),
            _ => self.rng.gen_range(1..5 * pmtu),
        };
        let va = self.remote.addr() + self.rng.gen_range(0..=REMOTE - len) as u64;
        let (rkey, imm) = (self.remote.rkey(), self.rng.gen());
        let op = match self.rng.gen_range(0..4) {
            0 => WorkOp::Send,
            1 => WorkOp::SendWithImm(imm),
            2 => WorkOp::Write { va, rkey },
            _ => WorkOp::WriteWithImm { va, rkey, imm },
        };
        let mut data = vec![0; len];
        self.rng.fill_bytes(&mut data);
        self.wr_id += 1;
        Work {
            wr_id: self.wr_id,
            op,
            data,
            solicited: self.rng.gen(),
        }
    }

    /// A packet with the PSN that the responder expects which may not be executed.
    fn wrong_request(&mut self) -> Packet {
        let mut work = self.work();
        let (va, rkey) = (self.remote.addr(), self.remote.rkey());
        let past = va + REMOTE as u64;
        work.op = match self.rng.gen_range(0..4) {
            0 => WorkOp::Write { va, rkey: !rkey },
            1 => WorkOp::Write { va: past - 1, rkey },
            2 => WorkOp::Write {
                va: u64::MAX - 3,
                rkey,
            },
            _ => WorkOp::Send,
        };
        work.data.resize(8, 7);
        let psn = self.responder.expected_psn();
        let pmtu = self.pmtu.bytes() as usize;
        let dqpn = self.peer.qp.qpn();
        let mut packet = ferroce_sim::transport::request_packets(&work, dqpn, psn, pmtu).remove(0);
        if work.op == WorkOp::Send {
            // Longer than any packet may be.
            packet.payload.resize(pmtu + 4, 9);
        }
        packet
    }

    fn show(&mut self, shown: &[Packet]) -> Result<()> {
        let mut wanted = Vec::new();
        for packet in shown {
            let frame = self.peer.to_card(&self.open, packet.clone());
            self.open.inject_raw(on_wire(frame.encode()?));
            wanted.extend(self.responder.receive(packet, &mut self.memory));
        }
        let answers: Vec<Vec<u8>> = wanted
            .iter()
            .map(|answer| self.peer.from_card(&self.open, answer.clone()))
            .collect::<Result<_>>()?;
        let got = self.open.run(CYCLES)?;
        same_frames(&got, &answers).with_context(|| format!("after {shown:#?}"))?;
        for answer in wanted {
            if !self.rng.gen_bool(self.evil) {
                let again = self.requester.receive(&answer);
                self.send(again);
            }
        }
        Ok(())
    }

    fn post_receive(&mut self) -> Result<()> {
        let len = self.rng.gen_range(0..6 * self.pmtu.bytes() as usize);
        let at = self.rng.gen_range(0..=BUFFERS - len);
        self.wr_id += 1;
        let sge = self.buffers.sge(at..at + len)?;
        self.peer.qp.post_recv(RecvWr::new(self.wr_id, sge))?;
        self.responder.post(Receive {
            wr_id: self.wr_id,
            lkey: self.buffers.rkey(),
            va: self.buffers.addr() + at as u64,
            len: len as u32,
        });
        self.posted += 1;
        // The card learns of it.
        ensure!(self.open.run(CYCLES)?.is_empty(), "an answer to nothing");
        Ok(())
    }

    /// Compares completions. A QP in the error state flushes what is left.
    fn completions(&mut self) -> Result<()> {
        let wanted = self.responder.take_delivered();
        let got = self.open.cq.poll(2 * DEPTH)?;
        ensure!(got.len() >= wanted.len(), "{got:?}, not {wanted:?}");
        for (got, wanted) in got.iter().zip(&wanted) {
            ensure!(
                (got.wr_id, got.status) == (wanted.wr_id, wanted.status),
                "{got:?}, not {wanted:?}"
            );
            let good = (got.byte_len, got.imm, got.solicited)
                == (wanted.byte_len, wanted.imm, wanted.solicited);
            ensure!(
                good || wanted.status != Status::Success,
                "{got:?}, not {wanted:?}"
            );
        }
        for left in &got[wanted.len()..] {
            ensure!(
                self.responder.is_dead() && left.status == Status::WrFlush,
                "nothing has completed {left:?}"
            );
        }
        self.posted -= wanted.len();
        Ok(())
    }

    /// Compares every byte of both regions.
    ///
    /// # Errors
    /// One differs.
    pub fn check_memory(&self) -> Result<()> {
        for mr in [&self.remote, &self.buffers] {
            let wanted = self.memory.bytes(mr.rkey()).context("the model's region")?;
            let got = mr.to_vec(0..mr.len())?;
            let differ = got.iter().zip(wanted).position(|(a, b)| a != b);
            ensure!(differ.is_none(), "byte {differ:?} of {mr:?}");
        }
        Ok(())
    }

    /// A new connection.
    fn renew(&mut self) -> Result<()> {
        let (pmtu, config) = attributes(&mut self.rng);
        self.peer.connect(&self.open, config)?;
        // What the old life left in the CQ.
        self.open.cq.poll(2 * DEPTH)?;
        (self.requester, self.responder) = ends(&self.peer);
        (self.pmtu, self.posted) = (pmtu, 0);
        self.wire.clear();
        Ok(())
    }
}

/// Anything that a connection may be.
fn attributes(rng: &mut ChaCha8Rng) -> (Pmtu, PeerConfig) {
    let pmtu = Pmtu::ALL[rng.gen_range(0..3)];
    let psn = match rng.gen_range(0..3) {
        0 => 0xff_ffff - rng.gen_range(0..16),
        1 => 0x80_0000 - rng.gen_range(0..16),
        _ => rng.gen_range(0..=0xff_ffff),
    };
    let config = PeerConfig {
        pmtu,
        psn,
        min_rnr_timer: rng.gen_range(0..32),
        ..PeerConfig::default()
    };
    (pmtu, config)
}

fn ends(peer: &Peer) -> (Requester, Responder) {
    let pmtu = peer.config.pmtu.bytes() as usize;
    let requester = Requester::new(RequesterConfig {
        peer_qpn: peer.qp.qpn(),
        pmtu,
        psn: peer.config.psn,
    });
    let responder = Responder::new(ResponderConfig {
        peer_qpn: peer.qpn,
        pmtu,
        psn: peer.config.psn,
        pd: PD,
        access: peer.config.access,
        min_rnr_timer: peer.config.min_rnr_timer,
        max_dest_rd_atomic: 16,
    });
    (requester, responder)
}

/// The packet of a frame that a card sent.
///
/// # Errors
/// It is none.
pub fn packet_of(bytes: &[u8]) -> Result<Packet> {
    let frame = Frame::decode(&bytes[..bytes.len() - 4])?;
    Ok(frame.packet)
}
