//! DMA alone: a Verilated `PcieEngine` between a client that never rests and the models of the PCIe block, the link and the host,
//! and what each of them can carry at most.

mod load;
mod reader;
pub mod roof;
mod writer;

pub use load::{Bench, DmaError, Lone, Rate, Window};

use ferroce_dma::tags;
use serde::Serialize;

/// Tags of payload reads.
pub const TAGS: usize = (tags::SQ - tags::PAYLOAD) as usize;
/// Requests of a client don't cross multiples of this.
pub const PAGE: u64 = 4096;
/// Largest block of a load.
pub const MAX_BLOCK: u64 = PAGE;

/// What a client does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// As many reads as writes.
    Both,
}

impl Op {
    /// Name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Both => "both",
        }
    }

    /// Whether blocks are read.
    pub fn reads(self) -> bool {
        self != Self::Write
    }

    /// Whether blocks are written.
    pub fn writes(self) -> bool {
        self != Self::Read
    }
}

/// Where a block begins: so many bytes behind the beginning of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Offset {
    /// Always the same, below [`PAGE`].
    Fixed(u64),
    /// Any, each block another.
    Random,
}

impl Offset {
    /// All offsets, each as likely as the others.
    pub fn choices(self) -> std::ops::Range<u64> {
        match self {
            Self::Fixed(offset) => offset..offset + 1,
            Self::Random => 0..PAGE,
        }
    }
}

/// Blocks that a client moves, each as the one or two requests that page borders make of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Load {
    /// What is done.
    pub op: Op,
    /// Bytes of a block, 1 to [`MAX_BLOCK`].
    pub bytes: u64,
    /// Where blocks begin.
    pub offset: Offset,
}

/// Pieces of `len` bytes at `addr`, cut at multiples of `unit`: address and bytes of each.
pub fn cut(addr: u64, len: u64, unit: u64) -> impl Iterator<Item = (u64, u64)> {
    let end = addr + len;
    let mut at = addr;
    std::iter::from_fn(move || {
        let piece = (at, end.min((at / unit + 1) * unit) - at);
        at += piece.1;
        (piece.1 > 0).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_are_at_multiples() {
        let pieces = |addr, len, unit| cut(addr, len, unit).collect::<Vec<_>>();
        assert_eq!(pieces(0, 4096, 4096), [(0, 4096)]);
        assert_eq!(pieces(1, 4096, 4096), [(1, 4095), (4096, 1)]);
        assert_eq!(pieces(250, 300, 256), [(250, 6), (256, 256), (512, 38)]);
    }
}
