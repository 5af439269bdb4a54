//! How the link and the host behind it behave.

use serde::{Deserialize, Serialize};

use super::faults::FaultRates;

/// Core cycles a second.
pub const CORE_HZ: u64 = 250_000_000;
/// Link bytes are counted in this many parts: 128b/130b leaves 64 of 65 bits, so that all rates are whole numbers of parts a cycle.
pub const PARTS: u64 = 65;

/// Generation of PCI Express.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Generation {
    /// 2.5 GT/s, 8b/10b.
    Gen1,
    /// 5 GT/s, 8b/10b.
    Gen2,
    /// 8 GT/s, 128b/130b.
    Gen3,
    /// 16 GT/s, 128b/130b.
    Gen4,
}

/// A link: generation and lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkSpeed {
    /// Generation.
    pub generation: Generation,
    /// Lanes: 1, 2, 4, 8 or 16.
    pub lanes: u64,
}

impl LinkSpeed {
    /// Gen3 x16, as fast as Gen4 x8.
    pub const GEN3_X16: Self = Self {
        generation: Generation::Gen3,
        lanes: 16,
    };

    /// What one direction carries in a core cycle, in parts of [`PARTS`] to the byte.
    pub fn parts_per_cycle(self) -> u64 {
        // Transfers of a lane in a cycle, and how many of ten or 65 bits are left by the code.
        let (transfers, left, of) = match self.generation {
            Generation::Gen1 => (10, 8, 10),
            Generation::Gen2 => (20, 8, 10),
            Generation::Gen3 => (32, 64, 65),
            Generation::Gen4 => (64, 64, 65),
        };
        transfers * self.lanes * left * PARTS / of / 8
    }

    /// What one direction carries, in Gb/s.
    pub fn gbps(self) -> f64 {
        (self.parts_per_cycle() * 8 * CORE_HZ) as f64 / PARTS as f64 * 1e-9
    }
}

/// How the host cuts the answer to a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Split {
    /// Completions as long as max payload and the read completion boundary allow.
    Longest,
    /// Completions of random lengths, cut at read completion boundaries.
    Random,
}

/// Buffers of the host, as flow control announces them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credits {
    /// Posted requests.
    pub posted_headers: u64,
    /// Their payload, in units of 16 bytes.
    pub posted_data: u64,
    /// Non-posted requests.
    pub non_posted_headers: u64,
}

/// Link and host. Times are in core cycles.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RootConfig {
    /// Speed of the link.
    pub speed: LinkSpeed,
    /// Max payload in bytes: 128, 256, 512 or 1024.
    pub max_payload: usize,
    /// Max read request in bytes: 128 to 4096.
    pub max_read: usize,
    /// Read completion boundary in bytes: 64 or 128.
    pub boundary: usize,
    /// How answers are cut.
    pub split: Split,
    /// From the last beat of a read request to the first beat of its answer, with an idle link and one completion of 64 bytes.
    pub read_latency: u64,
    /// Greatest random addition to it.
    pub read_jitter: u64,
    /// From the last byte of a request on the link to its effect in the host. Reads see every write before them.
    pub write_latency: u64,
    /// From a load or store of the host's processor to the link.
    pub host_latency: u64,
    /// Answers that are due leave in random order among the oldest `disorder` ones, 1 to 16.
    pub disorder: usize,
    /// Completions of different reads alternate; else a read's completions leave together.
    pub interleave: bool,
    /// Reads that the host works on at once; further ones keep their credit.
    pub read_slots: usize,
    /// Buffers.
    pub credits: Credits,
    /// Probability that requests stop taking effect for a cycle.
    pub pause: f64,
    /// Probabilities of things going wrong.
    pub faults: FaultRates,
}

impl Default for RootConfig {
    fn default() -> Self {
        Self {
            speed: LinkSpeed::GEN3_X16,
            max_payload: 256,
            max_read: 512,
            boundary: 64,
            split: Split::Longest,
            read_latency: 225,
            read_jitter: 32,
            write_latency: 100,
            host_latency: 50,
            disorder: 8,
            interleave: true,
            read_slots: 256,
            // A latency of 100 cycles at the link's rate is 72 writes of 64 bytes or 24 writes of 256 bytes.
            credits: Credits {
                posted_headers: 128,
                posted_data: 2048,
                non_posted_headers: 64,
            },
            pause: 0.0,
            faults: FaultRates::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 8 GT/s on 16 lanes are 128 Gb/s raw; 5 GT/s on 4 lanes lose a fifth.
    #[test]
    fn rates_by_hand() {
        let rate = |generation, lanes| LinkSpeed { generation, lanes }.gbps();
        assert!((rate(Generation::Gen3, 16) - 128.0 * 64.0 / 65.0).abs() < 1e-9);
        assert_eq!(rate(Generation::Gen4, 8), rate(Generation::Gen3, 16));
        assert!((rate(Generation::Gen2, 4) - 16.0).abs() < 1e-9);
        assert!((rate(Generation::Gen1, 1) - 2.0).abs() < 1e-9);
    }
}
