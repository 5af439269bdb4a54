//! Event queue entries: 16 bytes, little-endian, written by the card in one piece.
//!
//! | bytes | content |
//! |---|---|
//! | 0 | [`EventKind`] |
//! | 1..4 | 0 |
//! | 4..8 | CQ index or SRQ number, as the kind says |
//! | 8..15 | 0 |
//! | 15 | bit 0: phase |
//!
//! The phase bit is that of CQEs ([`crate::cqe::phase_of`]).

use crate::limits::EQE_BYTES;

/// Byte offset of the kind.
pub const KIND: usize = 0;
/// Byte offset of the index.
pub const INDEX: usize = 4;
/// Byte offset of the phase; the phase is bit 0.
pub const PHASE: usize = 15;

/// What an EQE tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum EventKind {
    /// An armed CQ has a completion that it was armed for; it is not armed any more.
    Completion = 1,
    /// A CQ was full and has lost a completion; it takes no more.
    CqOverrun = 2,
    /// The EQ was full and has lost events; of which CQs is not known. The index is 0.
    EqOverrun = 3,
    /// A QP met an error of its own: a malformed WQE, or memory that can't be read or written. The index is its QPN.
    QpFatal = 4,
    /// The peer sent a QP a request that is not allowed. The index is its QPN.
    QpRequestError = 5,
    /// The peer wanted memory of a QP without the right to it. The index is its QPN.
    QpAccessError = 6,
    /// Fewer WQEs than its limit are left in an SRQ; its limit is not armed any more.
    SrqLimit = 7,
    /// A QP with an SRQ was moved to the error state: it takes no more WQEs, and those that it had taken are in its CQ. The index is its QPN.
    QpLastWqe = 8,
}

impl EventKind {
    /// All kinds, ascending.
    pub const ALL: [Self; 8] = [
        Self::Completion,
        Self::CqOverrun,
        Self::EqOverrun,
        Self::QpFatal,
        Self::QpRequestError,
        Self::QpAccessError,
        Self::SrqLimit,
        Self::QpLastWqe,
    ];
}

/// No event has this kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("event kind {0} is unknown")]
pub struct UnknownEvent(pub u8);

impl TryFrom<u8> for EventKind {
    type Error = UnknownEvent;

    fn try_from(byte: u8) -> Result<Self, UnknownEvent> {
        let mut all = Self::ALL.into_iter();
        all.find(|&kind| kind as u8 == byte)
            .ok_or(UnknownEvent(byte))
    }
}

/// An EQE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Eqe {
    /// What it tells.
    pub kind: EventKind,
    /// CQ index, QPN or SRQ number.
    pub index: u32,
    /// Phase bit.
    pub phase: bool,
}

impl Eqe {
    /// The bytes in the ring.
    pub fn encode(&self) -> [u8; EQE_BYTES] {
        let mut bytes = [0; EQE_BYTES];
        bytes[KIND] = self.kind as u8;
        bytes[INDEX..INDEX + 4].copy_from_slice(&self.index.to_le_bytes());
        bytes[PHASE] = u8::from(self.phase);
        bytes
    }

    /// The inverse of [`Self::encode`].
    ///
    /// # Errors
    /// [`UnknownEvent`].
    pub fn decode(bytes: &[u8; EQE_BYTES]) -> Result<Self, UnknownEvent> {
        Ok(Self {
            kind: EventKind::try_from(bytes[KIND])?,
            index: u32::from_le_bytes([0, 1, 2, 3].map(|k| bytes[INDEX + k])),
            phase: bytes[PHASE] & 1 == 1,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back_and_unknown_kinds_are_named() {
        let eqe = Eqe {
            kind: EventKind::CqOverrun,
            index: 0x1234,
            phase: true,
        };
        let bytes = eqe.encode();
        assert_eq!(
            bytes,
            [2, 0, 0, 0, 0x34, 0x12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]
        );
        assert_eq!(Eqe::decode(&bytes), Ok(eqe));
        assert_eq!(Eqe::decode(&[0; 16]), Err(UnknownEvent(0)));
    }
}
