//! What the completer's parts tell each other.

use ferroce_emit::prelude::*;

/// Descriptor of a request and its byte enables, as the PCIe block gives them.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct CqHead {
    /// Descriptor (PG213, completer request descriptor format).
    pub descriptor: Bits<128>,
    /// Byte enables of the first doubleword.
    pub first_be: Bits<4>,
    /// Byte enables of the last doubleword; 0 when there is only one.
    pub last_be: Bits<4>,
}

/// What to do with the beats of one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct CqRequest {
    /// Beats of the TLP, 1 to 17.
    pub beats: Bits<5>,
    /// Makes accesses; else the beats are dropped.
    pub access: Bit,
    /// The accesses are writes.
    pub write: Bit,
    /// Without accesses: a completion waits for every access before.
    pub answer: Bit,
    /// Accesses, 1 to 129.
    pub words: Bits<8>,
    /// First 64-bit word of the BAR.
    pub addr: Bits<17>,
    /// The first doubleword is the upper half of the first word.
    pub phase: Bit,
    /// Bytes to write in the first word.
    pub first_strobe: Bits<8>,
    /// Bytes to write in the last word, if that is another.
    pub last_strobe: Bits<8>,
}

/// A completion to be made.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct CcJob {
    /// Descriptor of the request.
    pub descriptor: Bits<128>,
    /// Byte enables of the request, first and last.
    pub enables: Bits<8>,
    /// Completion status ([`crate::desc::status`]).
    pub status: Bits<3>,
    /// Answers that hold the payload, 1 to 9; 0 for a completion without payload.
    pub words: Bits<4>,
    /// The first doubleword is the upper half of the first answer.
    pub phase: Bit,
    /// Doublewords of payload, 0 to 16.
    pub dwords: Bits<5>,
    /// Byte count.
    pub byte_count: Bits<13>,
    /// Lower address.
    pub lower_address: Bits<7>,
    /// Address type.
    pub at: Bits<2>,
    /// The request is a locked read.
    pub locked: Bit,
}
