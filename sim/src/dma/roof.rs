//! What link, streams, ports, tags and buffers let through at most, for the very TLPs that a load makes.
//!
//! The link counts as in [`ferroce_pcie::root::roof`]; here blocks may begin anywhere. Of a random offset, costs are means over all offsets.

use std::ops::Add;

use ferroce_pcie::root::config::{CORE_HZ, PARTS};
use ferroce_pcie::root::RootConfig;
use ferroce_pcie::tlp::{HEADER_3DW, HEADER_4DW, LINK_OVERHEAD};
use ferroce_pcie::usp::BEAT;
use serde::Serialize;

use super::{cut, Load, PAGE, TAGS};
use crate::pcie::PcieConfig;

/// The reorder buffer's slot, so the longest read TLP.
const SLOT_BYTES: u64 = 512;
/// Descriptor of a request on RQ.
const REQUEST_DESCRIPTOR: u64 = 16;
/// Descriptor of a completion on RC.
const COMPLETION_DESCRIPTOR: u64 = 12;
/// TLPs start at multiples of these bytes when they may share beats.
const RQ_START: u64 = 32;
const RC_START: u64 = 16;
/// Bytes of a posted data credit.
const CREDIT_BYTES: u64 = 16;
/// Kinds of limits.
const LIMITS: usize = 10;

/// Something that has a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// The link towards the host.
    LinkUp,
    /// The link towards the card.
    LinkDown,
    /// Beats of requester requests.
    Rq,
    /// Beats of requester completions.
    Rc,
    /// Beats of the engine's write port, which are aligned to addresses.
    WritePort,
    /// Beats of the engine's port of read data, which are aligned to addresses.
    ReadPort,
    /// Reads under way: client tags and slots of the reorder buffer.
    Tags,
    /// Room for completions in the PCIe block, which the engine reserves.
    Completions,
    /// The host's buffers for writes.
    WriteCredits,
    /// The host's buffers for reads.
    ReadCredits,
}

impl Limit {
    /// All of them.
    const ALL: [Self; LIMITS] = [
        Self::LinkUp,
        Self::LinkDown,
        Self::Rq,
        Self::Rc,
        Self::WritePort,
        Self::ReadPort,
        Self::Tags,
        Self::Completions,
        Self::WriteCredits,
        Self::ReadCredits,
    ];

    /// Name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::LinkUp => "link up",
            Self::LinkDown => "link down",
            Self::Rq => "RQ",
            Self::Rc => "RC",
            Self::WritePort => "write port",
            Self::ReadPort => "read port",
            Self::Tags => "tags",
            Self::Completions => "completions",
            Self::WriteCredits => "write credits",
            Self::ReadCredits => "read credits",
        }
    }
}

/// The highest rate of a load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Roof {
    /// Payload in Gb/s, in each direction that the load uses.
    pub gbps: f64,
    /// What lets no more through.
    pub limit: Limit,
}

/// Core cycles that a block keeps each [`Limit`] busy, in the order of [`Limit::ALL`].
#[derive(Debug, Clone, Copy, Default)]
struct Cost([f64; LIMITS]);

impl Cost {
    fn of(mut self, limit: Limit, cycles: f64) -> Self {
        self.0[limit as usize] += cycles;
        self
    }
}

impl Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(std::array::from_fn(|k| self.0[k] + other.0[k]))
    }
}

/// Bytes of a stream that a TLP of `len` bytes keeps busy.
fn on_stream(len: u64, start: u64, straddle: bool) -> u64 {
    len.next_multiple_of(if straddle { start } else { BEAT as u64 })
}

/// Address-aligned beats of a request.
fn beats(addr: u64, len: u64) -> f64 {
    cut(addr, len, BEAT as u64).count() as f64
}

/// Bytes of the doublewords that hold `len` bytes at `addr`.
fn dword_bytes(addr: u64, len: u64) -> u64 {
    (addr % 4 + len).next_multiple_of(4)
}

/// Completions that answer a read TLP, as long as max payload and the read completion boundary allow (PCIe Base 2.3.1.1).
fn completions(addr: u64, len: u64, root: &RootConfig) -> impl Iterator<Item = (u64, u64)> {
    let (end, boundary) = (addr + len, root.boundary as u64);
    let max_payload = root.max_payload as u64;
    let mut at = addr;
    std::iter::from_fn(move || {
        let reach = at / 4 * 4 + max_payload;
        let next = if end <= reach {
            end
        } else {
            reach / boundary * boundary
        };
        let piece = (at, next - at);
        at = next;
        (piece.1 > 0).then_some(piece)
    })
}

/// Link bytes that pass in a cycle.
fn link_rate(root: &RootConfig) -> f64 {
    root.speed.parts_per_cycle() as f64 / PARTS as f64
}

fn write_cost(config: &PcieConfig, addr: u64, len: u64) -> Cost {
    let (root, straddle) = (&config.root, config.block.straddle_rq);
    let credits = &root.credits;
    let mut cost = Cost::default();
    for (addr, len) in cut(addr, len, PAGE) {
        cost = cost.of(Limit::WritePort, beats(addr, len));
        for (addr, len) in cut(addr, len, root.max_payload as u64) {
            let payload = dword_bytes(addr, len);
            let link = payload as usize + HEADER_4DW + LINK_OVERHEAD;
            let rq = on_stream(REQUEST_DESCRIPTOR + payload, RQ_START, straddle);
            // Both kinds of credits are held while the write is on its way into the host.
            let header = 1.0 / credits.posted_headers as f64;
            let data = payload.div_ceil(CREDIT_BYTES) as f64 / credits.posted_data as f64;
            cost = cost
                .of(Limit::LinkUp, link as f64 / link_rate(root))
                .of(Limit::Rq, rq as f64 / BEAT as f64)
                .of(
                    Limit::WriteCredits,
                    header.max(data) * root.write_latency as f64,
                );
        }
    }
    cost
}

/// `lone`: mean cycles of a lone read of such a block; `headers`: completions that the PCIe block has room for.
fn read_cost(config: &PcieConfig, addr: u64, len: u64, lone: f64, headers: usize) -> Cost {
    let (root, block) = (&config.root, &config.block);
    let request = HEADER_4DW + LINK_OVERHEAD;
    let rq = on_stream(REQUEST_DESCRIPTOR, RQ_START, block.straddle_rq);
    let latency = root.read_latency as f64 + root.read_jitter as f64 / 2.0;
    let (mut cost, mut requests, mut slots) = (Cost::default(), 0.0, 0.0);
    for (addr, len) in cut(addr, len, PAGE) {
        requests += 1.0;
        cost = cost.of(Limit::ReadPort, beats(addr, len));
        for (addr, len) in cut(addr, len, (root.max_read as u64).min(SLOT_BYTES)) {
            slots += 1.0;
            let room = beats(addr, len) / headers as f64;
            cost = cost
                .of(Limit::Completions, room * latency)
                .of(Limit::LinkUp, request as f64 / link_rate(root))
                .of(Limit::Rq, rq as f64 / BEAT as f64)
                .of(
                    Limit::ReadCredits,
                    root.write_latency as f64 / root.credits.non_posted_headers as f64,
                );
            for (addr, len) in completions(addr, len, root) {
                let payload = dword_bytes(addr, len);
                let link = payload as usize + HEADER_3DW + LINK_OVERHEAD;
                let rc = on_stream(COMPLETION_DESCRIPTOR + payload, RC_START, block.straddle_rc);
                cost = cost
                    .of(Limit::LinkDown, link as f64 / link_rate(root))
                    .of(Limit::Rc, rc as f64 / BEAT as f64);
            }
        }
    }
    // A block of one request holds its tag for the whole latency; of several, each slot is held for the host's share at least.
    let held = if requests * slots == 1.0 {
        lone
    } else {
        slots * latency
    };
    cost.of(Limit::Tags, held / TAGS as f64)
}

/// The highest rate of `load`. `lone` is the mean latency of a lone read of such a block, in core cycles; it bounds what the tags allow,
/// as no load makes a read faster. `headers` is the engine's parameter: completions that the PCIe block has room for.
pub fn roof(config: &PcieConfig, load: Load, lone: f64, headers: usize) -> Roof {
    let mut sum = Cost::default();
    let offsets = load.offset.choices();
    let count = (offsets.end - offsets.start) as f64;
    for offset in offsets {
        if load.op.writes() {
            sum = sum + write_cost(config, offset, load.bytes);
        }
        if load.op.reads() {
            sum = sum + read_cost(config, offset, load.bytes, lone, headers);
        }
    }
    let mut most = (Limit::LinkUp, 0.0);
    for limit in Limit::ALL {
        let cycles = sum.0[limit as usize] / count;
        if cycles > most.1 {
            most = (limit, cycles);
        }
    }
    Roof {
        gbps: load.bytes as f64 / most.1 * gbps_of_bytes_per_cycle(),
        limit: most.0,
    }
}

/// Gb/s of one byte a core cycle.
pub fn gbps_of_bytes_per_cycle() -> f64 {
    8e-9 * CORE_HZ as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dma::{Offset, Op};
    use ferroce_dma::reader::read_budget::COMPLETION_HEADERS;
    use ferroce_pcie::root::roof as link;

    fn of(config: &PcieConfig, op: Op, bytes: u64, offset: u64) -> Roof {
        let load = Load {
            op,
            bytes,
            offset: Offset::Fixed(offset),
        };
        // So short that tags never bind.
        roof(config, load, 1.0, COMPLETION_HEADERS)
    }

    /// Wherever the link binds aligned blocks, its own arithmetic says the same.
    #[test]
    fn aligned_blocks_agree_with_the_links_roof() {
        for max_payload in [128, 256, 512, 1024] {
            for max_read in [128, 256, 512, 4096] {
                let mut config = PcieConfig::default();
                (config.root.max_payload, config.root.max_read) = (max_payload, max_read);
                let (speed, read) = (config.root.speed, max_read.min(SLOT_BYTES as usize));
                let chunk = max_payload.min(read);
                for bytes in [256usize, 512, 1024, 4096] {
                    let expected = [
                        link::reads_gbps(speed, bytes, read, chunk),
                        link::writes_gbps(speed, bytes, max_payload),
                        link::both_gbps(speed, bytes, max_payload, read, chunk),
                    ];
                    for (op, expected) in [Op::Read, Op::Write, Op::Both].into_iter().zip(expected)
                    {
                        let roof = of(&config, op, bytes as u64, 0);
                        let by_link = [Limit::LinkUp, Limit::LinkDown].contains(&roof.limit);
                        assert!(by_link || roof.gbps < expected, "{op:?} {bytes} {roof:?}");
                        let same = (roof.gbps - expected).abs() < 1e-9;
                        assert!(!by_link || same, "{op:?} {bytes} {roof:?} {expected}");
                    }
                }
            }
        }
    }

    /// By hand: a block of 256 bytes at byte 1 is written as 255 and 1 bytes, 256 + 24 and 4 + 24 bytes on the link at 63.015 a cycle.
    #[test]
    fn unaligned_blocks_by_hand() {
        let config = PcieConfig::default();
        let near = |roof: Roof, limit, gbps: f64| {
            assert_eq!(roof.limit, limit, "{roof:?}");
            assert!((roof.gbps - gbps).abs() < 0.01, "{roof:?}");
        };
        let link = 128.0 * 64.0 / 65.0;
        // Five beats of RQ (nine and one halves) and of the write port are 128 * 256 / 320; the link would carry 104.7.
        near(of(&config, Op::Write, 256, 1), Limit::Rq, 102.4);
        let mut long = config;
        long.root.max_payload = 1024;
        near(
            of(&long, Op::Write, 1024, 1),
            Limit::LinkUp,
            link * 1024.0 / (1028.0 + 2.0 * 24.0),
        );
        // Completions of 255 and 1 bytes; on RC 272 and 16 bytes, the port of read data has five beats.
        near(of(&config, Op::Read, 256, 1), Limit::ReadPort, 102.4);
        near(
            of(&config, Op::Read, 4096, 1),
            Limit::LinkDown,
            link * 4096.0 / (4100.0 + 17.0 * 20.0),
        );
        // A block of 2 bytes across a page border is two of everything.
        near(of(&config, Op::Write, 2, 4095), Limit::WritePort, 2.0);
    }

    /// Without straddling 256 bytes take five beats, 64 bytes take two.
    #[test]
    fn streams_bind_without_straddling() {
        let mut config = PcieConfig::default();
        (config.block.straddle_rq, config.block.straddle_rc) = (false, false);
        for (op, limit) in [(Op::Read, Limit::Rc), (Op::Write, Limit::Rq)] {
            let roof = of(&config, op, 256, 0);
            assert_eq!((roof.limit, roof.gbps), (limit, 102.4));
            let roof = of(&config, op, 64, 0);
            assert_eq!((roof.limit, roof.gbps), (limit, 64.0));
        }
    }

    /// Room for 256 lines of 64 bytes; the host takes 1000 cycles and up to 32 more.
    #[test]
    fn room_for_completions_binds_far_hosts() {
        let mut config = PcieConfig::default();
        config.root.read_latency = 1000;
        let roof = of(&config, Op::Read, 512, 0);
        assert_eq!(roof.limit, Limit::Completions);
        assert!((roof.gbps - 256.0 * 64.0 / 1016.0 * 2.0).abs() < 1e-9);
    }

    /// 128 reads of 64 bytes in 500 cycles.
    #[test]
    fn tags_bind_small_reads() {
        let load = Load {
            op: Op::Read,
            bytes: 64,
            offset: Offset::Fixed(0),
        };
        let roof = roof(&PcieConfig::default(), load, 500.0, COMPLETION_HEADERS);
        assert_eq!(roof.limit, Limit::Tags);
        assert!((roof.gbps - 128.0 * 64.0 / 500.0 * 2.0).abs() < 1e-9);
    }
}
