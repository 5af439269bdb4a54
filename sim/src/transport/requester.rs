//! The requester (9.7.3, 9.7.6, 9.9.2): go-back-N.

use std::collections::VecDeque;

use ferroce_abi::cqe::Status;
use ferroce_abi::frame::Packet;
use ferroce_abi::headers::{NakCode, Syndrome};
use ferroce_abi::opcode::{Kind, Place};

use super::segments::request_packets;
use super::{add24, distance24, packets, HALF};

/// What a work request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkOp {
    /// SEND.
    Send,
    /// SEND with immediate.
    SendWithImm(u32),
    /// SEND that invalidates a key.
    SendWithInv(u32),
    /// RDMA WRITE.
    Write {
        /// Remote address.
        va: u64,
        /// Remote key.
        rkey: u32,
    },
    /// RDMA WRITE with immediate.
    WriteWithImm {
        /// Remote address.
        va: u64,
        /// Remote key.
        rkey: u32,
        /// Immediate.
        imm: u32,
    },
    /// RDMA READ.
    Read {
        /// Remote address.
        va: u64,
        /// Remote key.
        rkey: u32,
        /// Bytes.
        len: u32,
    },
    /// Compare and swap.
    CompareSwap {
        /// Remote address.
        va: u64,
        /// Remote key.
        rkey: u32,
        /// Value to compare.
        compare: u64,
        /// Value to store.
        swap: u64,
    },
    /// Fetch and add.
    FetchAdd {
        /// Remote address.
        va: u64,
        /// Remote key.
        rkey: u32,
        /// Value to add.
        add: u64,
    },
}

impl WorkOp {
    /// Its request packets have payload.
    pub const fn carries_payload(&self) -> bool {
        !self.gets_data()
    }

    /// Its answer is more than an ACK.
    pub const fn gets_data(&self) -> bool {
        matches!(
            self,
            Self::Read { .. } | Self::CompareSwap { .. } | Self::FetchAdd { .. }
        )
    }

    /// The peer gives a receive request for it.
    pub const fn takes_receive(&self) -> bool {
        matches!(
            self,
            Self::Send | Self::SendWithImm(_) | Self::SendWithInv(_) | Self::WriteWithImm { .. }
        )
    }

    /// PSNs that it takes with `len` bytes of payload.
    const fn psns(&self, len: usize, pmtu: usize) -> u32 {
        match *self {
            Self::Read { len, .. } => packets(len as u64, pmtu),
            Self::CompareSwap { .. } | Self::FetchAdd { .. } => 1,
            _ => packets(len as u64, pmtu),
        }
    }
}

/// A work request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    /// Number that comes back.
    pub wr_id: u64,
    /// What to do.
    pub op: WorkOp,
    /// Payload.
    pub data: Vec<u8>,
    /// The peer's completion is a solicited event.
    pub solicited: bool,
}

/// A completion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkDone {
    /// Of the work request.
    pub wr_id: u64,
    /// How it ended.
    pub status: Status,
    /// What a READ or atomic (8 bytes, as the peer's memory has them) has got.
    pub data: Vec<u8>,
}

/// One end of a connection, as its requester sees it.
#[derive(Debug, Clone, Copy)]
pub struct RequesterConfig {
    /// QPN of the responder.
    pub peer_qpn: u32,
    /// Path MTU in bytes.
    pub pmtu: usize,
    /// PSN of the first request.
    pub psn: u32,
}

/// A request that is not completed.
#[derive(Debug)]
struct Pending {
    work: Work,
    first: u32,
    psns: u32,
    /// What a READ or atomic has got so far.
    got: Vec<u8>,
}

/// A requester.
#[derive(Debug)]
pub struct Requester {
    config: RequesterConfig,
    next_psn: u32,
    pending: VecDeque<Pending>,
    done: Vec<WorkDone>,
    dead: bool,
}

impl Requester {
    /// A requester in RTS.
    pub fn new(config: RequesterConfig) -> Self {
        Self {
            next_psn: config.psn,
            config,
            pending: VecDeque::new(),
            done: Vec::new(),
            dead: false,
        }
    }

    /// Requests that are not completed.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Takes the completions made so far.
    pub fn take_done(&mut self) -> Vec<WorkDone> {
        std::mem::take(&mut self.done)
    }

    /// Takes the oldest completion.
    pub fn next_done(&mut self) -> Option<WorkDone> {
        (!self.done.is_empty()).then(|| self.done.remove(0))
    }

    /// Posts a work request; returns its packets.
    pub fn post(&mut self, work: Work) -> Vec<Packet> {
        let RequesterConfig { peer_qpn, pmtu, .. } = self.config;
        let first = self.next_psn;
        let sent = request_packets(&work, peer_qpn, first, pmtu);
        let psns = work.op.psns(work.data.len(), pmtu);
        self.next_psn = add24(first, psns);
        self.pending.push_back(Pending {
            work,
            first,
            psns,
            got: Vec::new(),
        });
        sent
    }

    /// All messages that are not completed, again: after a time-out, or when an RNR wait is over. Of a READ only what
    /// is missing.
    pub fn again(&self) -> Vec<Packet> {
        let RequesterConfig { peer_qpn, pmtu, .. } = self.config;
        let mut sent = Vec::new();
        for one in &self.pending {
            let mut work = one.work.clone();
            let mut first = one.first;
            if let WorkOp::Read { va, len, .. } = &mut work.op {
                let got = one.got.len();
                first = add24(first, (got / pmtu) as u32);
                *va += got as u64;
                *len -= got as u32;
            }
            sent.extend(request_packets(&work, peer_qpn, first, pmtu));
        }
        sent
    }

    /// The oldest PSN that is not acknowledged.
    fn oldest_psn(&self) -> u32 {
        self.pending.front().map_or(self.next_psn, |one| one.first)
    }

    /// Handles an answer; returns what is sent because of it.
    pub fn receive(&mut self, packet: &Packet) -> Vec<Packet> {
        let psn = packet.bth.psn;
        let Some(opcode) = packet.opcode() else {
            return Vec::new();
        };
        let unsent =
            distance24(psn, self.oldest_psn()) >= distance24(self.next_psn, self.oldest_psn());
        if self.dead || opcode.is_request() || unsent {
            return Vec::new();
        }
        match opcode.kind() {
            Kind::Acknowledge => match packet.ext.aeth.map(|aeth| aeth.syndrome) {
                Some(Syndrome::Ack(_)) => self.acknowledge(psn, true),
                Some(Syndrome::Rnr(_)) => {
                    self.acknowledge(psn, false);
                    Vec::new()
                }
                Some(Syndrome::Nak(code)) => self.refused(psn, code),
                _ => Vec::new(),
            },
            Kind::ReadResponse | Kind::AtomicAcknowledge => self.response(packet, opcode.place()),
            _ => Vec::new(),
        }
    }

    /// Completes what lies before `psn`, and with `itself` what ends with it. A READ or atomic among it has lost its
    /// answer, and is asked for again with all that is behind it (9.7.5.1.4).
    fn acknowledge(&mut self, psn: u32, itself: bool) -> Vec<Packet> {
        let end = add24(psn, itself.into());
        while let Some(one) = self.pending.front() {
            let last_end = add24(one.first, one.psns);
            let covered = distance24(end, last_end) < HALF;
            if !covered {
                break;
            }
            if one.work.op.gets_data() {
                return self.again();
            }
            self.complete(Status::Success);
        }
        Vec::new()
    }

    fn complete(&mut self, status: Status) {
        if let Some(one) = self.pending.pop_front() {
            self.done.push(WorkDone {
                wr_id: one.work.wr_id,
                status,
                data: one.got,
            });
        }
    }

    fn refused(&mut self, psn: u32, code: NakCode) -> Vec<Packet> {
        let resent = self.acknowledge(psn, false);
        if !resent.is_empty() {
            return resent;
        }
        let status = match code {
            NakCode::PsnSequence => return self.from(psn),
            NakCode::InvalidRequest => Status::RemInvReq,
            NakCode::RemoteAccess => Status::RemAccess,
            NakCode::RemoteOperational | NakCode::InvalidRdRequest => Status::RemOp,
        };
        self.dead = true;
        self.complete(status);
        while !self.pending.is_empty() {
            self.complete(Status::WrFlush);
        }
        Vec::new()
    }

    /// What is not acknowledged from `psn` on.
    fn from(&self, psn: u32) -> Vec<Packet> {
        let again = self.again().into_iter();
        again
            .filter(|packet| distance24(packet.bth.psn, psn) < HALF)
            .collect()
    }

    /// Data of a READ or atomic.
    fn response(&mut self, packet: &Packet, place: Place) -> Vec<Packet> {
        // Requests before it are acknowledged by its answer.
        let resent = self.acknowledge(packet.bth.psn, false);
        if !resent.is_empty() {
            return resent;
        }
        let pmtu = self.config.pmtu;
        let Some(one) = self.pending.front_mut() else {
            return Vec::new();
        };
        let wanted = add24(one.first, (one.got.len() / pmtu) as u32);
        if packet.bth.psn != wanted {
            // A gap among the responses: what is missing is asked for again; a duplicate is ignored.
            let gap = distance24(packet.bth.psn, wanted) < HALF;
            return if gap { self.again() } else { Vec::new() };
        }
        match (one.work.op, packet.ext.atomic_ack) {
            (WorkOp::Read { len, .. }, None) => {
                one.got.extend_from_slice(&packet.payload);
                if one.got.len() >= len as usize && place.ends() {
                    self.complete(Status::Success);
                }
            }
            (WorkOp::CompareSwap { .. } | WorkOp::FetchAdd { .. }, Some(answer)) => {
                one.got = answer.original.to_le_bytes().to_vec();
                self.complete(Status::Success);
            }
            _ => {
                self.dead = true;
                self.complete(Status::BadResp);
            }
        }
        Vec::new()
    }
}
