//! The responder (9.7.4, 9.7.5, 9.9.3).

use std::collections::VecDeque;

use ferroce_abi::cqe::Status;
use ferroce_abi::frame::Packet;
use ferroce_abi::headers::{Aeth, AtomicAckEth, AtomicEth, Bth, NakCode, Reth, Syndrome};
use ferroce_abi::limits::MAX_MESSAGE;
use ferroce_abi::mr::Access;
use ferroce_abi::opcode::{rc, Kind, Opcode, Place};

use super::memory::Memory;
use super::{add24, distance24, packets, pad, HALF};

/// One end of a connection, as its responder sees it.
#[derive(Debug, Clone, Copy)]
pub struct ResponderConfig {
    /// QPN of the requester, where answers go.
    pub peer_qpn: u32,
    /// Path MTU in bytes.
    pub pmtu: usize,
    /// PSN of the first request.
    pub psn: u32,
    /// Protection domain of the QP.
    pub pd: u32,
    /// What the QP allows its peer.
    pub access: Access,
    /// Code of RNR NAKs.
    pub min_rnr_timer: u8,
    /// READs and atomics that are remembered.
    pub max_dest_rd_atomic: usize,
}

/// A receive work request: one buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receive {
    /// Number that comes back.
    pub wr_id: u64,
    /// Key of the buffer's region.
    pub lkey: u32,
    /// First byte.
    pub va: u64,
    /// Bytes.
    pub len: u32,
}

/// A receive completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delivered {
    /// Of the receive request.
    pub wr_id: u64,
    /// How it ended.
    pub status: Status,
    /// Bytes of the message.
    pub byte_len: u32,
    /// Immediate.
    pub imm: Option<u32>,
    /// Key that was invalidated.
    pub invalidated: Option<u32>,
    /// The requester asked for an event.
    pub solicited: bool,
}

/// A message of which packets are still to come.
#[derive(Debug, Clone, Copy)]
enum Inside {
    Send { receive: Receive, done: u32 },
    Write { reth: Reth, done: u32 },
}

/// A READ or atomic that may be asked for again.
#[derive(Debug, Clone, Copy)]
enum Remembered {
    Read { psn: u32, reth: Reth },
    Atomic { psn: u32, original: u64 },
}

/// How a request ends that can't be executed.
enum Refusal {
    Nak(NakCode, Option<Status>),
    NotReady,
    /// The key of a SEND with invalidate can't be invalidated: no NAK.
    Silent(Status),
}

/// A responder.
#[derive(Debug)]
pub struct Responder {
    config: ResponderConfig,
    epsn: u32,
    msn: u32,
    inside: Option<Inside>,
    /// A NAK or RNR NAK for the expected PSN was sent.
    asked_again: bool,
    dead: bool,
    remembered: VecDeque<Remembered>,
    receives: VecDeque<Receive>,
    delivered: Vec<Delivered>,
}

impl Responder {
    /// A responder in RTR.
    pub fn new(config: ResponderConfig) -> Self {
        Self {
            epsn: config.psn,
            config,
            msn: 0,
            inside: None,
            asked_again: false,
            dead: false,
            remembered: VecDeque::new(),
            receives: VecDeque::new(),
            delivered: Vec::new(),
        }
    }

    /// Whether a request has put the QP into the error state.
    pub fn is_dead(&self) -> bool {
        self.dead
    }

    /// PSN that it expects.
    pub fn expected_psn(&self) -> u32 {
        self.epsn
    }

    /// Posts a receive request.
    pub fn post(&mut self, receive: Receive) {
        self.receives.push_back(receive);
    }

    /// Receive requests that no message has taken.
    pub fn receives(&self) -> usize {
        self.receives.len()
    }

    /// Takes the receive completions made so far.
    pub fn take_delivered(&mut self) -> Vec<Delivered> {
        std::mem::take(&mut self.delivered)
    }

    /// Handles a packet to this QP; returns the answers.
    pub fn receive(&mut self, packet: &Packet, memory: &mut Memory) -> Vec<Packet> {
        let opcode = packet.opcode();
        if self.dead || opcode.is_some_and(|opcode| !opcode.is_request()) {
            return Vec::new();
        }
        match distance24(packet.bth.psn, self.epsn) {
            0 => match self.execute(packet, opcode, memory) {
                Ok(answers) => {
                    self.asked_again = false;
                    answers
                }
                Err(refusal) => self.refuse(refusal),
            },
            ahead if ahead < HALF => self.ask_again(Syndrome::Nak(NakCode::PsnSequence)),
            _ => self.repeat(packet, opcode, memory),
        }
    }

    fn refuse(&mut self, refusal: Refusal) -> Vec<Packet> {
        let (nak, status) = match refusal {
            Refusal::NotReady => {
                self.asked_again = true;
                return vec![self.aeth(self.epsn, Syndrome::Rnr(self.config.min_rnr_timer))];
            }
            Refusal::Nak(code, status) => (Some(code), status),
            Refusal::Silent(status) => (None, Some(status)),
        };
        self.dead = true;
        // A request that had taken a receive request ends it.
        if let Some(Inside::Send { receive, .. }) = self.inside.take() {
            self.delivered.push(Delivered {
                wr_id: receive.wr_id,
                status: status.unwrap_or(Status::RemInvReq),
                byte_len: 0,
                imm: None,
                invalidated: None,
                solicited: false,
            });
        }
        nak.map(|code| self.aeth(self.epsn, Syndrome::Nak(code)))
            .into_iter()
            .collect()
    }

    /// Says once that a packet is missing (9.7.5.2.8).
    fn ask_again(&mut self, syndrome: Syndrome) -> Vec<Packet> {
        if std::mem::replace(&mut self.asked_again, true) {
            return Vec::new();
        }
        vec![self.aeth(self.epsn, syndrome)]
    }

    /// A duplicate request (9.7.5.1.2, C9-105 on).
    fn repeat(&mut self, packet: &Packet, opcode: Option<Opcode>, memory: &Memory) -> Vec<Packet> {
        let psn = packet.bth.psn;
        match opcode.map(Opcode::kind) {
            Some(Kind::Send | Kind::Write) => {
                vec![self.aeth(add24(self.epsn, 0xff_ffff), Syndrome::Ack(31))]
            }
            Some(Kind::ReadRequest) => packet
                .ext
                .reth
                .filter(|wanted| self.remembers_read(psn, wanted))
                .and_then(|reth| self.read(psn, reth, memory).ok())
                .unwrap_or_default(),
            Some(Kind::CmpSwap | Kind::FetchAdd) => {
                let found = self.remembered.iter().find_map(|one| match one {
                    Remembered::Atomic { psn: at, original } if *at == psn => Some(*original),
                    _ => None,
                });
                let answer = found.map(|original| self.atomic_answer(psn, original));
                answer.into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    /// `wanted` is the end of a READ that was executed, from the packet with `psn` on.
    fn remembers_read(&self, psn: u32, wanted: &Reth) -> bool {
        self.remembered.iter().any(|one| match one {
            Remembered::Read { psn: first, reth } => {
                let n = distance24(psn, *first);
                let done = u64::from(n) * self.config.pmtu as u64;
                n < packets(reth.dma_len.into(), self.config.pmtu)
                    && wanted.va == reth.va.wrapping_add(done)
                    && wanted.rkey == reth.rkey
                    && u64::from(wanted.dma_len) + done == u64::from(reth.dma_len)
            }
            Remembered::Atomic { .. } => false,
        })
    }

    fn execute(
        &mut self,
        packet: &Packet,
        opcode: Option<Opcode>,
        memory: &mut Memory,
    ) -> Result<Vec<Packet>, Refusal> {
        let invalid = Refusal::Nak(NakCode::InvalidRequest, None);
        let Some(opcode) = opcode else {
            return Err(invalid);
        };
        let (kind, place) = (opcode.kind(), opcode.place());
        let fits = match &self.inside {
            None => place.begins(),
            Some(Inside::Send { .. }) => kind == Kind::Send && !place.begins(),
            Some(Inside::Write { .. }) => kind == Kind::Write && !place.begins(),
        };
        let length = packet.payload.len();
        let full = match place {
            Place::First | Place::Middle => length == self.config.pmtu,
            Place::Last => (1..=self.config.pmtu).contains(&length),
            Place::Only => length <= self.config.pmtu,
        };
        if !fits || !full || !self.qp_allows(kind) {
            return Err(invalid);
        }
        match kind {
            Kind::Send => self.send(packet, opcode, memory)?,
            Kind::Write => self.write(packet, opcode, memory)?,
            Kind::ReadRequest => {
                let reth = packet.ext.reth.ok_or(invalid)?;
                let answers = self.read_request(packet.bth.psn, reth, memory)?;
                return Ok(answers);
            }
            Kind::CmpSwap | Kind::FetchAdd => {
                let atomic = packet.ext.atomic.ok_or(invalid)?;
                return self.atomic(packet.bth.psn, kind, &atomic, memory);
            }
            _ => return Err(invalid),
        }
        self.epsn = add24(self.epsn, 1);
        self.msn = add24(self.msn, place.ends().into());
        let ack = packet
            .bth
            .ackreq
            .then(|| self.aeth(packet.bth.psn, Syndrome::Ack(31)));
        Ok(ack.into_iter().collect())
    }

    fn qp_allows(&self, kind: Kind) -> bool {
        let needed = match kind {
            Kind::Write => Access::REMOTE_WRITE,
            Kind::ReadRequest => Access::REMOTE_READ,
            Kind::CmpSwap | Kind::FetchAdd => Access::REMOTE_ATOMIC,
            _ => Access::NONE,
        };
        self.config.access.bits() & needed.bits() == needed.bits()
    }

    fn send(
        &mut self,
        packet: &Packet,
        opcode: Opcode,
        memory: &mut Memory,
    ) -> Result<(), Refusal> {
        let (receive, done) = match self.inside {
            Some(Inside::Send { receive, done }) => (receive, done),
            _ => (self.receives.pop_front().ok_or(Refusal::NotReady)?, 0),
        };
        self.inside = Some(Inside::Send { receive, done });
        let now = done + packet.payload.len() as u32;
        if now > receive.len {
            return Err(Refusal::Nak(NakCode::InvalidRequest, Some(Status::LocLen)));
        }
        if !packet.payload.is_empty() {
            let stored = memory.store(receive.lkey, receive.va + u64::from(done), &packet.payload);
            let fault = Refusal::Nak(NakCode::RemoteOperational, Some(Status::LocProt));
            stored.map_err(|_| fault)?;
        }
        self.inside = Some(Inside::Send { receive, done: now });
        if opcode.place().ends() {
            let key = packet.ext.ieth.map(u32::from_be_bytes);
            if let Some(key) = key {
                let gone = memory.invalidate(key);
                gone.map_err(|_| Refusal::Silent(Status::LocQpOp))?;
            }
            self.inside = None;
            self.deliver(receive.wr_id, now, packet, key);
        }
        Ok(())
    }

    fn write(
        &mut self,
        packet: &Packet,
        opcode: Opcode,
        memory: &mut Memory,
    ) -> Result<(), Refusal> {
        let invalid = || Refusal::Nak(NakCode::InvalidRequest, None);
        let (reth, done) = match (self.inside, packet.ext.reth) {
            (Some(Inside::Write { reth, done }), _) => (reth, done),
            (_, Some(reth)) => (reth, 0),
            _ => return Err(invalid()),
        };
        if opcode.takes_receive_wqe() && self.receives.is_empty() {
            return Err(Refusal::NotReady);
        }
        let now = u64::from(done) + packet.payload.len() as u64;
        let whole = u64::from(reth.dma_len);
        let longest = u64::from(MAX_MESSAGE);
        let ends = opcode.place().ends();
        if whole > longest || (if ends { now != whole } else { now >= whole }) {
            return Err(invalid());
        }
        if opcode.place().begins() && whole != 0 {
            let access = Access::REMOTE_WRITE;
            let checked = memory.check(reth.rkey, self.config.pd, access, reth.va, whole);
            checked.map_err(|_| Refusal::Nak(NakCode::RemoteAccess, None))?;
        }
        if !packet.payload.is_empty() {
            let va = reth.va + u64::from(done);
            let stored = memory.store(reth.rkey, va, &packet.payload);
            stored.map_err(|_| Refusal::Nak(NakCode::RemoteAccess, None))?;
        }
        let done = now as u32;
        self.inside = (!ends).then_some(Inside::Write { reth, done });
        if opcode.takes_receive_wqe() {
            if let Some(receive) = self.receives.pop_front() {
                self.deliver(receive.wr_id, reth.dma_len, packet, None);
            }
        }
        Ok(())
    }

    fn deliver(&mut self, wr_id: u64, byte_len: u32, packet: &Packet, invalidated: Option<u32>) {
        self.delivered.push(Delivered {
            wr_id,
            status: Status::Success,
            byte_len,
            imm: packet.ext.imm.map(u32::from_be_bytes),
            invalidated,
            solicited: packet.bth.se,
        });
    }

    fn read_request(
        &mut self,
        psn: u32,
        reth: Reth,
        memory: &Memory,
    ) -> Result<Vec<Packet>, Refusal> {
        if reth.dma_len > MAX_MESSAGE {
            return Err(Refusal::Nak(NakCode::InvalidRequest, None));
        }
        // A READ is complete, for the MSN, when it is accepted (C9-148).
        let before = self.msn;
        self.msn = add24(before, 1);
        let answers = self
            .read(psn, reth, memory)
            .inspect_err(|_| self.msn = before)?;
        self.epsn = add24(psn, answers.len() as u32);
        self.remember(Remembered::Read { psn, reth });
        Ok(answers)
    }

    /// Responses from `psn` on.
    fn read(&self, psn: u32, reth: Reth, memory: &Memory) -> Result<Vec<Packet>, Refusal> {
        let len = u64::from(reth.dma_len);
        let data = if len == 0 {
            &[]
        } else {
            let access = Access::REMOTE_READ;
            memory
                .check(reth.rkey, self.config.pd, access, reth.va, len)
                .and_then(|_| memory.load(reth.rkey, reth.va, len as usize))
                .map_err(|_| Refusal::Nak(NakCode::RemoteAccess, None))?
        };
        let count = packets(len, self.config.pmtu);
        let answers = (0..count).map(|n| {
            let opcode = match (n == 0, n + 1 == count) {
                (true, true) => rc::READ_RESPONSE_ONLY,
                (true, false) => rc::READ_RESPONSE_FIRST,
                (false, true) => rc::READ_RESPONSE_LAST,
                (false, false) => rc::READ_RESPONSE_MIDDLE,
            };
            let mut packet = Packet::new(Bth::new(opcode, self.config.peer_qpn, add24(psn, n)));
            if opcode != rc::READ_RESPONSE_MIDDLE {
                packet.ext.aeth = Some(self.acknowledged());
            }
            let from = n as usize * self.config.pmtu;
            packet.payload = data[from..data.len().min(from + self.config.pmtu)].to_vec();
            packet.bth.pad = pad(packet.payload.len());
            packet
        });
        Ok(answers.collect())
    }

    fn atomic(
        &mut self,
        psn: u32,
        kind: Kind,
        atomic: &AtomicEth,
        memory: &mut Memory,
    ) -> Result<Vec<Packet>, Refusal> {
        if atomic.va % 8 != 0 {
            return Err(Refusal::Nak(NakCode::InvalidRequest, None));
        }
        let denied = |_| Refusal::Nak(NakCode::RemoteAccess, None);
        let access = Access::REMOTE_ATOMIC;
        memory
            .check(atomic.rkey, self.config.pd, access, atomic.va, 8)
            .map_err(denied)?;
        let loaded = memory.load(atomic.rkey, atomic.va, 8).map_err(denied)?;
        let mut bytes = [0; 8];
        bytes.copy_from_slice(loaded);
        // The host's own order of bytes (9.4.5: the original is returned as a number).
        let original = u64::from_le_bytes(bytes);
        let new = match kind {
            Kind::FetchAdd => original.wrapping_add(atomic.operand),
            _ if original == atomic.compare => atomic.operand,
            _ => original,
        };
        memory
            .store(atomic.rkey, atomic.va, &new.to_le_bytes())
            .map_err(denied)?;
        self.epsn = add24(self.epsn, 1);
        self.msn = add24(self.msn, 1);
        self.remember(Remembered::Atomic { psn, original });
        Ok(vec![self.atomic_answer(psn, original)])
    }

    fn remember(&mut self, one: Remembered) {
        self.remembered.push_back(one);
        if self.remembered.len() > self.config.max_dest_rd_atomic {
            self.remembered.pop_front();
        }
    }

    fn atomic_answer(&self, psn: u32, original: u64) -> Packet {
        let bth = Bth::new(rc::ATOMIC_ACKNOWLEDGE, self.config.peer_qpn, psn);
        let mut packet = Packet::new(bth);
        packet.ext.aeth = Some(self.acknowledged());
        packet.ext.atomic_ack = Some(AtomicAckEth { original });
        packet
    }

    fn acknowledged(&self) -> Aeth {
        Aeth {
            syndrome: Syndrome::Ack(31),
            msn: self.msn,
        }
    }

    fn aeth(&self, psn: u32, syndrome: Syndrome) -> Packet {
        let bth = Bth::new(rc::ACKNOWLEDGE, self.config.peer_qpn, psn);
        let mut packet = Packet::new(bth);
        let msn = self.msn;
        packet.ext.aeth = Some(Aeth { syndrome, msn });
        packet
    }
}
