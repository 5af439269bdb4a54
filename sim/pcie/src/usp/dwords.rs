//! A TLP on its way through a stream that does not straddle: from doubleword 0 of its first beat on, `tlast` in its last.

use thiserror::Error;

use super::{keep, BEAT_DWORDS};

/// `tlast` or `tkeep` contradicts the descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum FrameError {
    /// `tlast`.
    #[error("tlast is {last} with {left} doublewords of the TLP left from this beat on")]
    Last {
        /// As it is.
        last: bool,
        /// Doublewords in this beat and behind it.
        left: usize,
    },
    /// `tkeep`.
    #[error("tkeep is {keep:#06x} with {left} doublewords of the TLP left from this beat on")]
    Keep {
        /// As it is.
        keep: u16,
        /// Doublewords in this beat and behind it.
        left: usize,
    },
}

/// Checks a beat that holds the first of the `left` last doublewords of a TLP.
pub fn check_frame(keep_bits: u16, last: bool, left: usize) -> Result<(), FrameError> {
    if last != (left <= BEAT_DWORDS) {
        return Err(FrameError::Last { last, left });
    }
    if keep_bits != keep(left.min(BEAT_DWORDS)) {
        return Err(FrameError::Keep {
            keep: keep_bits,
            left,
        });
    }
    Ok(())
}
