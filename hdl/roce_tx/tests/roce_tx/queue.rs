//! One QP outside of the transmit side: its send queue, WQE cache, completer and receiver.

use crate::peer::{Connection, Message, PSN_MASK};
use ferroce_abi::wqe::flags;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::lookup::WqeData;
use ferroce_rtl::desc::tx::{CompleterPub, Rewind, SentWrite};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use std::collections::VecDeque;

/// Cycles from the publication of an acknowledgement to the end of visits that have not seen it.
const SENDER_PIPE: u64 = 30;

/// WQEs that the cache holds.
const CACHE: usize = 8;

/// Makes a WQE malformed.
pub type Spoil = fn(&mut WqeData);

/// A send queue. Packets are counted from the first one on, over all messages, without wrap.
pub struct Queue {
    pub conn: Connection,
    pub messages: Vec<Message>,
    /// First packet of each message, and of the next one.
    starts: Vec<u64>,
    /// The cache holds messages `cache.0..cache.1`.
    pub cache: (usize, usize),
    /// Packet that the next frame has unless the sender was sent back.
    pub next_frame: u64,
    /// Packet after the highest one seen on the wire.
    pub highest: u64,
    /// Packets that the sender was sent back to and that have not been seen since.
    pub rewinds: VecDeque<u64>,
    /// Oldest unacknowledged packet.
    pub una: u64,
    /// Earlier values of it, and when they were replaced.
    una_before: VecDeque<(u64, u64)>,
    /// Messages that were begun.
    pub begun: usize,
    /// Last progress of `una`, for the time-out.
    pub progress_at: u64,
    pub frames: u64,
    /// Times that the sender went on after the highest packet, for all were acknowledged.
    pub skips: u64,
    pub lkey: u32,
    /// A message whose WQE is malformed, and how.
    pub fault: Option<(usize, Spoil)>,
}

impl Queue {
    pub fn new(qp: usize, conn: Connection) -> Self {
        Self {
            conn,
            messages: Vec::new(),
            starts: vec![0],
            cache: (0, 0),
            next_frame: 0,
            highest: 0,
            rewinds: VecDeque::new(),
            una: 0,
            una_before: VecDeque::new(),
            begun: 0,
            progress_at: 0,
            frames: 0,
            skips: 0,
            lkey: (qp as u32 + 1) << 8 | 0x5A,
            fault: None,
        }
    }

    /// Protection domain of QP `qp`.
    pub fn pd(qp: usize) -> u16 {
        0x1200 + qp as u16
    }

    pub fn post(&mut self, message: Message) {
        let packets = u64::from(self.conn.pmtu.packets(message.len));
        self.messages.push(message);
        self.starts.push(self.total() + packets);
    }

    /// Packets of all messages.
    pub fn total(&self) -> u64 {
        *self.starts.last().expect("one at least")
    }

    pub fn done(&self) -> bool {
        self.una == self.total()
    }

    pub fn psn(&self, packet: u64) -> u32 {
        (self.conn.first_psn + (packet & u64::from(PSN_MASK)) as u32) & PSN_MASK
    }

    /// The packet with this PSN that is nearest to `near`.
    pub fn packet_of(&self, psn: u32, near: u64) -> Option<u64> {
        let distance = psn.wrapping_sub(self.psn(near)) & PSN_MASK;
        let signed = i64::from((distance << 8) as i32 >> 8);
        near.checked_add_signed(signed)
            .filter(|&packet| packet < self.total())
    }

    /// Message of a packet and the packet's number in it.
    pub fn place(&self, packet: u64) -> (usize, u32) {
        let message = self.starts.partition_point(|&start| start <= packet) - 1;
        (message, (packet - self.starts[message]) as u32)
    }

    /// Oldest message that is not acknowledged as a whole.
    pub fn una_message(&self) -> usize {
        self.place(self.una).0
    }

    /// An acknowledgement takes effect.
    pub fn acknowledge(&mut self, packet: u64, now: u64) {
        self.una_before.push_back((now, self.una));
        self.una = packet;
    }

    /// Oldest message that the sender, which looks at the beginning of its pipeline, may have seen.
    fn una_message_seen(&mut self, now: u64) -> usize {
        while self
            .una_before
            .front()
            .is_some_and(|&(at, _)| at + SENDER_PIPE < now)
        {
            self.una_before.pop_front();
        }
        let seen = self.una_before.front().map_or(self.una, |&(_, una)| una);
        self.place(seen).0
    }

    /// The frame that packet must be.
    pub fn frame(&self, packet: u64) -> Vec<u8> {
        let (message, n) = self.place(packet);
        self.conn
            .request(&self.messages[message], n, self.psn(self.starts[message]))
    }

    /// The full index of a 16-bit one, which is near `near`.
    pub fn full_index(wqe: u64, near: usize) -> usize {
        let distance = (wqe as u16).wrapping_sub(near as u16) as i16;
        near.saturating_add_signed(isize::from(distance))
    }

    /// What the cache answers.
    pub fn read(&self, wqe: u64, rng: &mut ChaCha8Rng) -> WqeData {
        let index = Self::full_index(wqe, self.cache.0);
        if !(self.cache.0..self.cache.1).contains(&index) {
            let noise: Vec<u32> = (0..16).map(|_| rng.gen()).collect();
            return WqeData {
                avail: false,
                ..unpack(&noise)
            };
        }
        let message = &self.messages[index];
        let mut wqe = WqeData {
            avail: true,
            opcode: (message.opcode as u64).into(),
            flags: u64::from(message.flags).into(),
            sges: u64::from(message.len != 0 || index % 2 == 0).into(),
            extra: 0.into(),
            imm: u64::from(u32::from_le_bytes(message.imm)).into(),
            va: message.va.into(),
            rkey: u64::from(message.rkey).into(),
            len: u64::from(message.len).into(),
            addr: message.addr.into(),
            lkey: u64::from(self.lkey).into(),
            sge_len: u64::from(message.len).into(),
            operand: message.atomic().operand.into(),
            compare: message.atomic().compare.into(),
        };
        if let Some((_, spoil)) = self.fault.filter(|&(at, _)| at == index) {
            spoil(&mut wqe);
        }
        wqe
    }

    /// The sender stands at `wqe`.
    pub fn position(&mut self, wqe: u64) {
        let index = Self::full_index(wqe, self.cache.0);
        self.cache = if (self.cache.0..=self.cache.1).contains(&index) {
            (index, self.cache.1)
        } else {
            (index, index)
        };
    }

    /// Fetches one WQE more; whether there was one.
    pub fn fetch(&mut self) -> bool {
        let fetches = self.cache.1 < self.messages.len() && self.cache.1 < self.cache.0 + CACHE;
        self.cache.1 += usize::from(fetches);
        fetches
    }

    /// READs and atomics among messages `from..to`.
    fn jobs(&self, from: usize, to: usize) -> usize {
        let range = &self.messages[from..to];
        range.iter().filter(|message| message.is_job()).count()
    }

    /// A check of local memory at `va` is for a READ or atomic, which will write it.
    pub fn lands_at(&self, va: u64) -> bool {
        let mut at = self.messages.iter().filter(|message| message.addr == va);
        at.any(Message::is_job)
    }

    /// What the sender must report when it begins a message.
    pub fn check_sent(&mut self, sent: &SentWrite, depth: usize, now: u64) {
        let index = Self::full_index(sent.wqe.to_u64(), self.begun);
        assert!(index <= self.begun, "message {index} was begun too early");
        let una = self.una_message();
        let seen = self.una_message_seen(now);
        assert!(index >= seen, "message {index} is retired, {seen} is not");
        assert!(
            index < una + depth,
            "message {index} has no place in the table"
        );
        let message = &self.messages[index];
        let signaled = message.flags & flags::SIGNALED != 0;
        assert_eq!(sent.first_psn.to_u64() as u32, self.psn(self.starts[index]));
        assert_eq!(
            sent.last_psn.to_u64() as u32,
            self.psn(self.starts[index + 1] - 1)
        );
        assert_eq!(sent.opcode.to_u64(), message.opcode as u64);
        assert_eq!(sent.signaled, signaled);
        assert_eq!(sent.len.to_u64(), u64::from(message.len));
        if index == self.begun {
            let waiting = self.jobs(una.min(index), index);
            if message.is_job() {
                assert!(
                    waiting < usize::from(self.conn.max_reads),
                    "one READ too many"
                );
            }
            let fenced = message.flags & flags::FENCE != 0;
            assert!(!fenced || waiting == 0, "message {index} does not wait");
        }
        assert_eq!(sent.job, index == self.begun && message.is_job());
        if sent.job {
            assert_eq!(sent.number.index(), self.jobs(0, index) % 16);
            assert_eq!(sent.addr.to_u64(), message.addr);
            assert_eq!(sent.lkey.to_u64(), u64::from(self.lkey));
        }
        self.begun = self.begun.max(index + 1);
    }

    /// The completer's position.
    pub fn publish(&self, qp: usize) -> CompleterPub {
        CompleterPub {
            valid: true,
            qp: (qp as u64).into(),
            una_psn: u64::from(self.psn(self.una)).into(),
            una_wqe: (self.una_message() as u64 & 0xFFFF).into(),
            jobs: (self.jobs(0, self.una_message()) as u64 & 0x3F).into(),
        }
    }

    /// Sends the sender back to a packet.
    pub fn rewind(&mut self, qp: usize, packet: u64, halt: bool) -> Rewind {
        let (message, _) = self.place(packet);
        self.rewinds.push_back(packet);
        Rewind {
            qp: (qp as u64).into(),
            wqe: (message as u64 & 0xFFFF).into(),
            psn: u64::from(self.psn(packet)).into(),
            first_psn: u64::from(self.psn(self.starts[message])).into(),
            halt,
        }
    }

    /// A frame with this PSN has come: it must be the next one, or the one that the sender was sent back to,
    /// or, when all that was ever sent is acknowledged, the one after it.
    pub fn arrive(&mut self, psn: u32) -> u64 {
        let packet = self
            .packet_of(psn, self.next_frame)
            .unwrap_or_else(|| panic!("PSN {psn:#x} belongs to no packet"));
        let expected = self.next_frame;
        if packet != expected {
            if let Some(at) = self.rewinds.iter().position(|&rewind| rewind == packet) {
                self.rewinds.drain(..=at);
            } else {
                assert_eq!(packet, self.highest, "instead of {expected}");
                assert_eq!(self.una, packet, "unacknowledged packets were skipped");
                self.skips += 1;
            }
        }
        let message = self.place(packet).0;
        self.next_frame = if self.messages[message].is_job() {
            self.starts[message + 1]
        } else {
            packet + 1
        };
        self.highest = self.highest.max(self.next_frame);
        self.frames += 1;
        packet
    }
}

impl Queue {
    /// Packet before which `psn` is the next PSN; it may be that after the last message.
    pub fn packet_of_next(&self, psn: u32) -> u64 {
        let distance = psn.wrapping_sub(self.psn(self.next_frame)) & PSN_MASK;
        let signed = i64::from((distance << 8) as i32 >> 8);
        self.next_frame.saturating_add_signed(signed)
    }
}
