//! The four 512-bit streams of the UltraScale+ PCIe block (PG213), seen from the block: it takes requests (RQ) and completions
//! (CC) of the card, and gives completions (RC) and requests (CQ) to it.

mod bits;
pub mod cc;
pub mod cq;
pub mod desc;
mod dwords;
pub mod rc;
pub mod rq;
pub mod split_table;
pub mod user;

#[cfg(test)]
pub(crate) mod inverse;

pub use bits::{AxisBeat, User};
pub use cc::{CcDecoder, CcError};
pub use cq::{CqEncoder, CqPacket};
pub use rc::{ErrorCode, RcEncoder, RcPacket};
pub use rq::{RqDecoder, RqError, RqLimits};
pub use split_table::SplitTable;
pub use user::{CcBeat, CqBeat, RcBeat, RqBeat};

/// Bytes of a beat.
pub const BEAT: usize = 64;
/// Doublewords of a beat.
pub const BEAT_DWORDS: usize = 16;

/// `tkeep` of a beat whose first `dwords` doublewords are valid.
pub fn keep(dwords: usize) -> u16 {
    match dwords {
        0 => 0,
        n => u16::MAX >> (BEAT_DWORDS - n.min(BEAT_DWORDS)),
    }
}
