//! The sending half of a QP, played by the test, for the completer.

use crate::packet::Packet;
use crate::world::{completer, World};
use ferroce_abi::cfg::CompleterCfg;
use ferroce_abi::cqe::Status;
use ferroce_abi::opcode::rc;
use ferroce_abi::wqe::WrOpcode;
use ferroce_rtl::desc::tx::{SenderPub, SentWrite, SqPub};

pub const FLUSHED: u8 = Status::WrFlush as u8;
pub const OK: u8 = Status::Success as u8;
/// Core cycles of a timer unit.
pub const UNIT: u64 = 1024;
pub const PSN_MASK: u32 = 0xFF_FFFF;

/// The sending half of a QP, as far as the completer sees it.
pub struct Requester {
    pub qp: usize,
    pub psn: u32,
    pub begun: u16,
    pub posted: u16,
    /// READs and atomics begun.
    pub jobs: u64,
}

impl Requester {
    pub fn start(world: &mut World, qp: usize, cfg: &CompleterCfg) -> Self {
        world.configure_sq(qp);
        world.configure_completer(qp, cfg);
        let requester = Self {
            qp,
            psn: cfg.psn,
            begun: 0,
            posted: 0,
            jobs: 0,
        };
        requester.publish(world);
        world.sq_pubs.push_back(SqPub {
            valid: true,
            qp: (qp as u64).into(),
            pi: 0.into(),
        });
        world.settle();
        world.take_counters();
        requester
    }

    pub fn publish(&self, world: &mut World) {
        world.sender_pubs.push_back(SenderPub {
            valid: true,
            qp: (self.qp as u64).into(),
            max_psn: u64::from(self.psn).into(),
            begun: u64::from(self.begun).into(),
            jobs: (self.jobs % 64).into(),
        });
    }

    pub fn post(&mut self, world: &mut World, count: u16) {
        self.posted = self.posted.wrapping_add(count);
        world.sq_pubs.push_back(SqPub {
            valid: true,
            qp: (self.qp as u64).into(),
            pi: u64::from(self.posted).into(),
        });
    }

    /// Begins and sends a message of so many packets.
    pub fn send_as(
        &mut self,
        world: &mut World,
        packets: u32,
        opcode: WrOpcode,
        signaled: bool,
        len: u32,
    ) {
        self.begin(world, packets, opcode, signaled, len, None);
    }

    /// Begins and sends a READ or atomic whose answer has so many packets, and whose data goes to an address through a key.
    pub fn ask(
        &mut self,
        world: &mut World,
        packets: u32,
        opcode: WrOpcode,
        len: u32,
        place: (u64, u32),
    ) {
        self.begin(world, packets, opcode, true, len, Some(place));
    }

    fn begin(
        &mut self,
        world: &mut World,
        packets: u32,
        opcode: WrOpcode,
        signaled: bool,
        len: u32,
        place: Option<(u64, u32)>,
    ) {
        if self.begun == self.posted {
            self.post(world, 1);
        }
        let last = self.psn.wrapping_add(packets - 1) & PSN_MASK;
        world.sent.push_back(SentWrite {
            valid: true,
            qp: (self.qp as u64).into(),
            wqe: u64::from(self.begun).into(),
            first_psn: u64::from(self.psn).into(),
            last_psn: u64::from(last).into(),
            opcode: (opcode as u64).into(),
            signaled,
            len: u64::from(len).into(),
            extra: 0.into(),
            job: place.is_some(),
            number: (self.jobs % 16).into(),
            addr: place.map_or(0, |(addr, _)| addr).into(),
            lkey: place.map_or(0, |(_, lkey)| u64::from(lkey)).into(),
        });
        self.jobs += u64::from(place.is_some());
        self.begun = self.begun.wrapping_add(1);
        self.psn = last.wrapping_add(1) & PSN_MASK;
        // The publication follows the entry.
        while world.sender_pubs.len() < world.sent.len() {
            world.sender_pubs.push_back(SenderPub::default());
        }
        self.publish(world);
    }

    pub fn send(&mut self, world: &mut World, packets: u32) {
        self.send_as(world, packets, WrOpcode::RdmaWrite, true, packets * 1024);
    }

    pub fn response(&self, psn: u32, syndrome: u8) -> Vec<u8> {
        Packet {
            opcode: rc::ACKNOWLEDGE,
            qpn: self.qp as u32,
            psn: psn & PSN_MASK,
            syndrome,
            ..Packet::default()
        }
        .frame()
    }

    pub fn respond(&self, world: &mut World, psn: u32, syndrome: u8) {
        let frame = self.response(psn, syndrome);
        world.send_frame(&frame, false);
        world.settle();
    }
}

pub fn with(change: impl FnOnce(&mut CompleterCfg)) -> CompleterCfg {
    let mut cfg = completer(0, 100);
    change(&mut cfg);
    cfg
}
