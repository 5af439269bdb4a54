//! What a card must not do.

use thiserror::Error;

use crate::usp::{CcError, RqError};

/// The card broke a rule of the block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Violation {
    /// A rule of RQ.
    #[error("RQ: {0}")]
    Rq(#[from] RqError),
    /// A rule of CC.
    #[error("CC: {0}")]
    Cc(#[from] CcError),
    /// `tvalid` dropped inside a TLP.
    #[error("{0}: tvalid dropped inside a TLP")]
    Gap(&'static str),
    /// A tag names two requests.
    #[error("RQ: tag {0:#04x} is used while its request is outstanding")]
    TagInUse(u8),
    /// The card asked for more than fits.
    #[error("RC: {completions} completions of {bytes} bytes wait, more than the block can hold")]
    Overflow {
        /// Completions.
        completions: usize,
        /// Bytes of buffer.
        bytes: usize,
    },
}
