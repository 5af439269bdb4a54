//! A card as a requester, whose peer is the software model: every packet, completion and byte is judged.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use anyhow::{bail, ensure, Context, Result};
use ferroce_abi::frame::{on_wire, Packet};
use ferroce_abi::headers::Syndrome;
use ferroce_bridge::Library;
use ferroce_driver::{Access, Mr, Pmtu, Remote, SendOp, SendWr, SgeList, Status};
use ferroce_sim::transport::{
    add24, distance24, request_packets, suffer, Memory, Receive, Region, Requester,
    RequesterConfig, Responder, ResponderConfig, Work, WorkOp,
};
use rand::{Rng, RngCore};
use rand_chacha::ChaCha8Rng;

use crate::open::Open;
use crate::peer::{Peer, PeerConfig};
use crate::seed;
use crate::shadow::packet_of;

/// Bytes that the card sends from, and of each of the peer's regions.
const ROOM: usize = 1 << 16;
/// Keys of the peer: memory that the card may write, and receive buffers.
const REMOTE: u32 = 0x0bad_cafe;
const BUFFERS: u32 = 0x0bad_f00d;
/// Addresses there.
const BASE: u64 = 0xffff_ffff_ffff_0000;
/// Number of the protection domain in the model.
const PD: u32 = 1;
/// Work requests that may be outstanding; the QP holds 16.
const DEPTH: usize = 16;
/// Core cycles between two looks.
const CYCLES: u64 = 600;
/// Looks after which work counts as stuck.
const STUCK: usize = 20_000;

/// Card, peer, and what both should have.
pub struct Judge {
    open: Open,
    peer: Peer,
    source: Mr,
    bytes: Vec<u8>,
    memory: Memory,
    responder: Responder,
    /// What a requester has when it gets what the card gets.
    ledger: Requester,
    /// Every packet that the card may send, by PSN.
    packets: BTreeMap<u32, Packet>,
    next_psn: u32,
    /// PSN behind the furthest packet that the card has sent.
    sent_to: u32,
    last_sent: Option<u32>,
    /// First PSN that nothing has acknowledged, now and at the times since the last look.
    unacknowledged: Vec<u32>,
    wr_id: u64,
    outstanding: VecDeque<(u64, WorkOp)>,
    rng: ChaCha8Rng,
    pmtu: Pmtu,
    evil: f64,
    /// Go-backs that were seen.
    pub go_backs: usize,
}

impl Judge {
    /// A card and a peer, connected.
    ///
    /// # Errors
    /// Of simulation and driver.
    pub fn new(library: &Arc<Library>, seed: u64) -> Result<Self> {
        let open = Open::new(library, seed)?;
        let mut rng = seed::rng(seed);
        let source = open.pd.allocate(ROOM, Access::NONE)?;
        let mut bytes = vec![0; ROOM];
        rng.fill_bytes(&mut bytes);
        source.write(0, &bytes)?;
        let mut memory = Memory::default();
        for key in [REMOTE, BUFFERS] {
            let region = Region {
                pd: PD,
                access: Access::REMOTE_WRITE,
                base: BASE,
                bytes: vec![0; ROOM],
            };
            memory.insert(key, region);
        }
        let pmtu = Pmtu::ALL[rng.gen_range(0..3)];
        let psn = match rng.gen_range(0..2) {
            0 => 0xff_ffff - rng.gen_range(0..16),
            _ => rng.gen_range(0..=0xff_ffff),
        };
        let config = PeerConfig {
            pmtu,
            card_psn: psn,
            timeout: 3,
            ..PeerConfig::default()
        };
        let peer = Peer::new(&open, 0x166, config)?;
        let pmtu_bytes = pmtu.bytes() as usize;
        Ok(Self {
            responder: Responder::new(ResponderConfig {
                peer_qpn: peer.qp.qpn(),
                pmtu: pmtu_bytes,
                psn,
                pd: PD,
                access: Access::REMOTE_WRITE,
                min_rnr_timer: 1,
                max_dest_rd_atomic: 16,
            }),
            ledger: Requester::new(RequesterConfig {
                peer_qpn: peer.qpn,
                pmtu: pmtu_bytes,
                psn,
            }),
            evil: [0.0, 0.02, 0.05][rng.gen_range(0..3)],
            open,
            peer,
            source,
            bytes,
            memory,
            packets: BTreeMap::new(),
            next_psn: psn,
            sent_to: psn,
            last_sent: None,
            unacknowledged: vec![psn],
            wr_id: 0,
            outstanding: VecDeque::new(),
            rng,
            pmtu,
            go_backs: 0,
        })
    }

    /// Has the card do `count` pieces of work.
    ///
    /// # Errors
    /// It does anything wrong, or nothing.
    pub fn run(&mut self, count: usize) -> Result<()> {
        let mut posted = 0;
        let mut looks = 0;
        while posted < count || !self.outstanding.is_empty() {
            while posted < count && self.outstanding.len() < DEPTH && self.rng.gen_bool(0.6) {
                let work = self.work();
                self.post(work)?;
                posted += 1;
            }
            self.look()?;
            looks += 1;
            ensure!(looks < STUCK, "stuck: {:?}", self.outstanding);
        }
        Ok(())
    }

    /// A request that the peer refuses, with work behind it that is flushed.
    ///
    /// # Errors
    /// It ends otherwise.
    pub fn end(&mut self) -> Result<()> {
        // The peer says once that it has failed, and is silent afterwards.
        self.evil = 0.0;
        for rkey in [!REMOTE, REMOTE] {
            let mut work = self.work();
            work.op = WorkOp::Write { va: BASE, rkey };
            work.data = self.bytes[..8].to_vec();
            self.post_from(work, 0)?;
        }
        let mut looks = 0;
        while !self.outstanding.is_empty() {
            self.look()?;
            looks += 1;
            ensure!(looks < STUCK, "stuck: {:?}", self.outstanding);
        }
        Ok(())
    }

    /// When all is done, the card has nothing more to say.
    ///
    /// # Errors
    /// It has.
    pub fn is_quiet(&self) -> Result<()> {
        let got = self.open.run(4 * CYCLES)?;
        ensure!(got.is_empty(), "{} frames after the end", got.len());
        Ok(())
    }

    fn work(&mut self) -> Work {
        let pmtu = self.pmtu.bytes() as usize;
        let len = match self.rng.gen_range(0..4) {
            0 => 0,
            1 => pmtu * self.rng.gen_range(1..4),
            _ => self.rng.gen_range(1..6 * pmtu),
        };
        let va = BASE + self.rng.gen_range(0..=ROOM - len) as u64;
        let (rkey, imm) = (REMOTE, self.rng.gen());
        let op = match self.rng.gen_range(0..4) {
            0 => WorkOp::Send,
            1 => WorkOp::SendWithImm(imm),
            2 => WorkOp::Write { va, rkey },
            _ => WorkOp::WriteWithImm { va, rkey, imm },
        };
        self.wr_id += 1;
        Work {
            wr_id: self.wr_id,
            op,
            data: vec![0; len],
            solicited: self.rng.gen(),
        }
    }

    /// Posts work on random bytes of the source.
    fn post(&mut self, mut work: Work) -> Result<()> {
        let at = self.rng.gen_range(0..=ROOM - work.data.len());
        let len = work.data.len();
        work.data.copy_from_slice(&self.bytes[at..at + len]);
        self.post_from(work, at)
    }

    fn post_from(&mut self, work: Work, at: usize) -> Result<()> {
        let remote = |addr, rkey| Remote { addr, rkey };
        let op = match work.op {
            WorkOp::Send => SendOp::Send,
            WorkOp::SendWithImm(imm) => SendOp::SendWithImm(imm),
            WorkOp::Write { va, rkey } => SendOp::Write(remote(va, rkey)),
            WorkOp::WriteWithImm { va, rkey, imm } => SendOp::WriteWithImm(remote(va, rkey), imm),
            other => bail!("{other:?} is not judged"),
        };
        let sges = match work.data.len() {
            0 => SgeList::default(),
            len => self.source.sge(at..at + len)?.into(),
        };
        let mut request = SendWr::new(work.wr_id, op, sges);
        request.solicited = work.solicited;
        self.peer.qp.post_send(request)?;
        let pmtu = self.pmtu.bytes() as usize;
        for packet in request_packets(&work, self.peer.qpn, self.next_psn, pmtu) {
            self.next_psn = add24(packet.bth.psn, 1);
            self.packets.insert(packet.bth.psn, packet);
        }
        self.outstanding.push_back((work.wr_id, work.op));
        self.ledger.post(work);
        Ok(())
    }

    /// Lets time pass, judges what the card has sent, and answers it.
    fn look(&mut self) -> Result<()> {
        let frames = self.open.run(CYCLES)?;
        let mut arriving = VecDeque::new();
        for frame in frames {
            let packet = packet_of(&frame)?;
            let wanted = self.judge(&packet)?;
            let wire = self.peer.from_card(&self.open, wanted)?;
            ensure!(
                frame == wire,
                "{packet:#?} differs in a byte outside of its headers"
            );
            suffer(&mut self.rng, self.evil, &mut arriving, packet);
        }
        self.unacknowledged.drain(..self.unacknowledged.len() - 1);
        if self.responder.receives() < 2 && self.rng.gen_bool(0.3) {
            self.post_receive();
        }
        let mut back = VecDeque::new();
        for packet in arriving {
            for answer in self.responder.receive(&packet, &mut self.memory) {
                suffer(&mut self.rng, self.evil, &mut back, answer);
            }
        }
        for answer in back {
            self.answer(&answer)?;
        }
        self.responder.take_delivered();
        self.completions()
    }

    /// The packet as it should be; with the card's AckReq, which it may set more often than it must.
    fn judge(&mut self, got: &Packet) -> Result<Packet> {
        let psn = got.bth.psn;
        let mut wanted = self.packets.get(&psn).cloned().context("no such PSN")?;
        let must = std::mem::replace(&mut wanted.bth.ackreq, got.bth.ackreq);
        ensure!(got.bth.ackreq || !must, "AckReq is missing in {got:#?}");
        ensure!(*got == wanted, "the card sent {got:#?}, not {wanted:#?}");
        let follows = self.last_sent.is_none_or(|last| psn == add24(last, 1));
        if !follows {
            let known = self.unacknowledged.contains(&psn);
            ensure!(
                known,
                "the card went back to {psn:#x} from {:#x?}; unacknowledged are {:#x?}",
                self.last_sent,
                self.unacknowledged
            );
            self.go_backs += 1;
        }
        self.last_sent = Some(psn);
        if psn == self.sent_to {
            self.sent_to = add24(psn, 1);
        }
        let ahead = distance24(self.sent_to, psn);
        ensure!(
            (1..1 << 23).contains(&ahead),
            "the card skipped PSNs before {psn:#x}"
        );
        Ok(wanted)
    }

    /// Sends an answer to the card and notes what it says.
    fn answer(&mut self, answer: &Packet) -> Result<()> {
        let frame = self.peer.to_card(&self.open, answer.clone());
        self.open.inject_raw(on_wire(frame.encode()?));
        self.ledger.receive(answer);
        let psn = answer.bth.psn;
        let first = match answer.ext.aeth.map(|aeth| aeth.syndrome) {
            Some(Syndrome::Ack(_)) => add24(psn, 1),
            _ => psn,
        };
        let last = self.unacknowledged.last().copied().unwrap_or(first);
        if distance24(first, last) < 1 << 23 {
            self.unacknowledged.push(first);
        }
        Ok(())
    }

    fn post_receive(&mut self) {
        let len = 6 * self.pmtu.bytes();
        let at = self.rng.gen_range(0..=ROOM as u64 - u64::from(len));
        self.wr_id += 1;
        self.responder.post(Receive {
            wr_id: self.wr_id,
            lkey: BUFFERS,
            va: BASE + at,
            len,
        });
    }

    /// The card's completions are those of the ledger, in order; they may be late, but not early.
    fn completions(&mut self) -> Result<()> {
        for done in self.open.cq.poll(2 * DEPTH)? {
            let (wr_id, _) = self.outstanding.pop_front().context("nothing is open")?;
            ensure!(done.wr_id == wr_id, "{done:?}, not number {wr_id}");
            let due = self.due(wr_id).with_context(|| format!("{done:?}"))?;
            ensure!(done.status == due, "{done:?}, not {due}");
        }
        Ok(())
    }

    /// How the ledger ended the oldest request that it has ended.
    fn due(&mut self, wr_id: u64) -> Result<Status> {
        let due = self
            .ledger
            .next_done()
            .context("completed before its ACK")?;
        ensure!(due.wr_id == wr_id, "{due:?}, not number {wr_id}");
        Ok(due.status)
    }
}
