//! One direction of a cable: delay, and on request loss, damage, duplicates and disorder.
//!
//! A frame is delivered as a whole one `delay` after its last bit was sent, as behind one
//! store-and-forward hop.

use std::collections::VecDeque;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// A frame as on the wire, from the destination address to the FCS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// Bytes, FCS included.
    pub bytes: Vec<u8>,
    /// When its last bit was sent, later when it arrives.
    pub time_fs: u64,
}

/// What a link does to frames; probabilities from 0 to 1, each frame suffers at most one of them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LinkConfig {
    /// Propagation delay in femtoseconds, at least one core cycle.
    pub delay_fs: u64,
    /// The frame is lost.
    pub drop: f64,
    /// One bit is flipped.
    pub corrupt: f64,
    /// The frame arrives twice.
    pub duplicate: f64,
    /// The frame arrives after the one behind it.
    pub reorder: f64,
    /// The frame arrives late by up to [`LinkConfig::jitter_fs`], order kept.
    pub late: f64,
    /// Greatest extra delay of a late frame in femtoseconds.
    pub jitter_fs: u64,
}

impl Default for LinkConfig {
    fn default() -> Self {
        Self {
            delay_fs: 300 * crate::time::NS_FS,
            drop: 0.0,
            corrupt: 0.0,
            duplicate: 0.0,
            reorder: 0.0,
            late: 0.0,
            jitter_fs: 2_000 * crate::time::NS_FS,
        }
    }
}

/// What a link did so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct LinkStats {
    /// Frames sent into the link.
    pub sent: u64,
    /// Frames lost.
    pub dropped: u64,
    /// Frames damaged.
    pub corrupted: u64,
    /// Frames delivered twice.
    pub duplicated: u64,
    /// Frames overtaken.
    pub reordered: u64,
    /// Frames delayed.
    pub delayed: u64,
}

/// One direction of a link.
#[derive(Debug)]
pub struct Link {
    config: LinkConfig,
    rng: ChaCha8Rng,
    queue: VecDeque<Frame>,
    /// A frame that waits to be overtaken.
    held: Option<Frame>,
    last_arrival_fs: u64,
    stats: LinkStats,
    /// Frames (counted from 0) that are lost whatever the probabilities say, in order.
    scripted_drops: VecDeque<u64>,
}

impl Link {
    /// A link whose misfortunes follow from `seed`.
    pub fn new(config: LinkConfig, seed: u64) -> Self {
        Self {
            config,
            rng: ChaCha8Rng::seed_from_u64(seed),
            queue: VecDeque::new(),
            held: None,
            last_arrival_fs: 0,
            stats: LinkStats::default(),
            scripted_drops: VecDeque::new(),
        }
    }

    /// Counters so far.
    pub fn stats(&self) -> LinkStats {
        self.stats
    }

    /// Loses the frames with these numbers (in sending order, the next frame is
    /// `stats().sent`).
    pub fn drop_frames(&mut self, numbers: impl IntoIterator<Item = u64>) {
        self.scripted_drops.extend(numbers);
        self.scripted_drops.make_contiguous().sort_unstable();
    }

    /// Takes a frame whose last bit was sent at its `time_fs`.
    pub fn send(&mut self, mut frame: Frame) {
        let number = self.stats.sent;
        self.stats.sent += 1;
        while self.scripted_drops.front().is_some_and(|&n| n < number) {
            self.scripted_drops.pop_front();
        }
        if self.scripted_drops.front() == Some(&number) {
            self.stats.dropped += 1;
            return;
        }
        frame.time_fs += self.config.delay_fs;
        let c = self.config;
        let mut fate = self.rng.gen::<f64>();
        let mut befalls = |probability: f64| {
            let hit = fate < probability;
            fate -= probability;
            hit && probability > 0.0
        };
        if befalls(c.drop) {
            self.stats.dropped += 1;
            return;
        } else if befalls(c.corrupt) {
            self.stats.corrupted += 1;
            let bit = self.rng.gen_range(0..frame.bytes.len() * 8);
            frame.bytes[bit / 8] ^= 1 << (bit % 8);
            self.deliver(frame);
        } else if befalls(c.duplicate) {
            self.stats.duplicated += 1;
            self.deliver(frame.clone());
            self.deliver(frame);
        } else if befalls(c.reorder) && self.held.is_none() {
            self.stats.reordered += 1;
            self.held = Some(frame);
            return;
        } else {
            if befalls(c.late) {
                self.stats.delayed += 1;
                frame.time_fs += self.rng.gen_range(0..=c.jitter_fs);
            }
            self.deliver(frame);
        }
        if let Some(held) = self.held.take() {
            self.deliver(held);
        }
    }

    /// Arrivals keep the wire's rate: a frame can't arrive while the one before it still does.
    fn deliver(&mut self, mut frame: Frame) {
        let earliest = self.last_arrival_fs + crate::time::wire_time_fs(frame.bytes.len());
        frame.time_fs = frame.time_fs.max(earliest);
        self.last_arrival_fs = frame.time_fs;
        self.queue.push_back(frame);
    }

    /// The next frame that has arrived by `now_fs`. A frame held back for reordering is let go
    /// once nothing followed it for ten times the delay.
    pub fn receive(&mut self, now_fs: u64) -> Option<Frame> {
        let patience = 10 * self.config.delay_fs;
        if self
            .held
            .as_ref()
            .is_some_and(|f| f.time_fs + patience <= now_fs)
        {
            let held = self.held.take()?;
            self.deliver(held);
        }
        if self.queue.front()?.time_fs > now_fs {
            return None;
        }
        self.queue.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(config: LinkConfig, frames: u64) -> (Vec<Frame>, LinkStats) {
        let mut link = Link::new(config, 1);
        for k in 0..frames {
            link.send(Frame {
                bytes: k.to_le_bytes().repeat(8),
                time_fs: k * 10_000_000,
            });
        }
        let mut out = Vec::new();
        while let Some(frame) = link.receive(u64::MAX / 2) {
            out.push(frame);
        }
        (out, link.stats())
    }

    #[test]
    fn a_good_link_only_delays() {
        let (out, stats) = run(LinkConfig::default(), 100);
        assert_eq!((out.len(), stats.sent), (100, 100));
        for (k, frame) in out.iter().enumerate() {
            assert_eq!(frame.bytes, (k as u64).to_le_bytes().repeat(8));
            assert_eq!(frame.time_fs, k as u64 * 10_000_000 + 300_000_000);
        }
    }

    #[test]
    fn misfortunes_happen_at_their_rates() {
        let config = LinkConfig {
            drop: 0.1,
            corrupt: 0.1,
            duplicate: 0.1,
            reorder: 0.1,
            late: 0.1,
            ..LinkConfig::default()
        };
        let (out, s) = run(config, 10_000);
        for n in [s.dropped, s.corrupted, s.duplicated, s.reordered, s.delayed] {
            assert!((800..1200).contains(&n), "{s:?}");
        }
        assert_eq!(out.len() as u64, s.sent - s.dropped + s.duplicated);
        assert!(out.windows(2).all(|w| w[0].time_fs < w[1].time_fs));
    }

    #[test]
    fn scripted_losses_hit_the_named_frames() {
        let mut link = Link::new(LinkConfig::default(), 0);
        link.drop_frames([2, 0]);
        for k in 0..4u8 {
            link.send(Frame {
                bytes: vec![k; 64],
                time_fs: 0,
            });
        }
        let got: Vec<u8> = std::iter::from_fn(|| link.receive(u64::MAX / 2))
            .map(|f| f.bytes[0])
            .collect();
        assert_eq!(got, [1, 3]);
    }
}
