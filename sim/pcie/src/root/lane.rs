//! One direction of the link: TLPs in order, a budget of bytes a cycle.

use std::collections::VecDeque;

use serde::Serialize;

use super::config::{LinkSpeed, PARTS};
use crate::tlp::{Completion, Request};

/// A packet on the link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tlp {
    /// A request.
    Request(Request),
    /// A completion.
    Completion(Completion),
}

impl Tlp {
    /// Bytes on the link.
    pub fn link_bytes(&self) -> usize {
        match self {
            Self::Request(request) => request.link_bytes(),
            Self::Completion(completion) => completion.link_bytes(),
        }
    }

    /// Bytes of payload.
    pub fn payload_bytes(&self) -> usize {
        match self {
            Self::Request(request) => request.payload().len(),
            Self::Completion(completion) => completion.payload.len(),
        }
    }
}

/// What one direction carried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct LaneStats {
    /// TLPs.
    pub tlps: u64,
    /// Their bytes, framing, headers and LCRC included.
    pub bytes: u64,
    /// Their payload bytes.
    pub payload: u64,
    /// Core cycles.
    pub cycles: u64,
    /// Parts of bytes that it could have carried in those.
    capacity: u64,
}

impl LaneStats {
    /// Share of the time that the direction was busy, 0 to 1.
    pub fn busy(&self) -> f64 {
        match self.capacity {
            0 => 0.0,
            capacity => (self.bytes * PARTS) as f64 / capacity as f64,
        }
    }

    /// Payload since `earlier`, in Gb/s.
    pub fn payload_gbps(&self, earlier: &Self) -> f64 {
        let cycles = (self.cycles - earlier.cycles).max(1) as f64;
        (self.payload - earlier.payload) as f64 / cycles * 8e-9 * super::config::CORE_HZ as f64
    }
}

/// One direction.
#[derive(Debug)]
pub struct Lane {
    /// Parts of bytes a cycle.
    rate: u64,
    /// Packets that wait or are being sent.
    queue: VecDeque<Tlp>,
    queued_bytes: usize,
    /// Of the front packet, parts still to be sent; 0 when it has not begun.
    left: u64,
    /// Parts that this cycle still has.
    budget: u64,
    stats: LaneStats,
}

impl Lane {
    /// An idle direction.
    pub fn new(speed: LinkSpeed) -> Self {
        Self {
            rate: speed.parts_per_cycle(),
            queue: VecDeque::new(),
            queued_bytes: 0,
            left: 0,
            budget: 0,
            stats: LaneStats::default(),
        }
    }

    /// Queues a packet.
    pub fn push(&mut self, tlp: Tlp) {
        self.queued_bytes += tlp.link_bytes();
        self.queue.push_back(tlp);
    }

    /// Link bytes of the packets that have not been sent as a whole.
    pub fn queued_bytes(&self) -> usize {
        self.queued_bytes
    }

    /// Begins a cycle.
    pub fn begin_cycle(&mut self) {
        self.budget = self.rate;
        self.stats.cycles += 1;
        self.stats.capacity += self.rate;
    }

    /// The front packet, when it would begin now.
    pub fn beginning(&self) -> Option<&Tlp> {
        match self.left {
            0 if self.budget > 0 => self.queue.front(),
            _ => None,
        }
    }

    /// Sends of the front packet what the cycle allows; returns it when all of it is sent.
    pub fn send(&mut self) -> Option<Tlp> {
        let bytes = self.queue.front()?.link_bytes();
        if self.left == 0 {
            self.left = bytes as u64 * PARTS;
        }
        let now = self.left.min(self.budget);
        self.left -= now;
        self.budget -= now;
        if self.left > 0 {
            return None;
        }
        let tlp = self.queue.pop_front()?;
        self.queued_bytes -= bytes;
        self.stats.tlps += 1;
        self.stats.bytes += bytes as u64;
        self.stats.payload += tlp.payload_bytes() as u64;
        Some(tlp)
    }

    /// Whether nothing waits or is being sent.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Whether a packet is being sent.
    pub fn sending(&self) -> bool {
        self.left > 0
    }

    /// What it carried so far.
    pub fn stats(&self) -> LaneStats {
        self.stats
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tlp::MemWrite;

    /// 280 bytes each at 63.015 bytes a cycle.
    #[test]
    fn the_rate_is_kept() {
        let mut lane = Lane::new(LinkSpeed::GEN3_X16);
        let write = MemWrite::of_bytes(1 << 40, &[0; 256], 0);
        for _ in 0..1000 {
            lane.push(Tlp::Request(Request::Write(write.clone())));
        }
        let mut sent = 0;
        for _ in 0..3000 {
            lane.begin_cycle();
            while lane.send().is_some() {
                sent += 1;
            }
        }
        assert_eq!(sent, 3000 * 64 * 64 / 65 / 280);
        let stats = lane.stats();
        assert!((stats.busy() - 1.0).abs() < 0.002);
        assert!((stats.payload_gbps(&LaneStats::default()) - 115.2).abs() < 0.2);
    }
}
