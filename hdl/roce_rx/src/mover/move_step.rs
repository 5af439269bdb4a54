//! What the mover's parts tell each other.

use ferroce_emit::prelude::*;

/// One frame to be moved or removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct MoveJob {
    /// There is payload to write.
    pub place: Bit,
    /// A CQE follows.
    pub has_cqe: Bit,
    /// Number of the beat in which the payload begins.
    pub start: Bits<16>,
    /// Number of the beat after the frame.
    pub freed: Bits<16>,
    /// Bytes to rotate beats up by.
    pub rotate: Bits<6>,
    /// The first beat gives no write beat of its own.
    pub prime: Bit,
    /// Steps, 1 to 66.
    pub steps: Bits<7>,
    /// The payload crosses a 4 KiB boundary: two writes.
    pub split: Bit,
    /// Beats of the first write.
    pub first_beats: Bits<7>,
    /// Host address of the first write.
    pub addr: Bits<64>,
    /// Its bytes.
    pub len: Bits<13>,
    /// Number of the 4 KiB page in which the second write begins.
    pub page2: Bits<52>,
    /// Bytes of the second write.
    pub len2: Bits<13>,
}

/// One beat through the mover.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct MoveStep {
    /// There is one.
    pub valid: Bit,
    /// No payload: only a CQE passes.
    pub empty: Bit,
    /// The beat only feeds the next one.
    pub prime: Bit,
    /// Bytes to rotate by; so many bytes come from the beat before.
    pub rotate: Bits<6>,
    /// Address of the write.
    pub addr: Bits<64>,
    /// Bytes of the write.
    pub len: Bits<13>,
    /// First beat of the write.
    pub first: Bit,
    /// Last beat of the write.
    pub last: Bit,
    /// The frame's CQE may go when this has gone.
    pub cqe: Bit,
}
