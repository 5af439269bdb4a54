//! Slots of the reorder buffer, and what the reader's parts tell each other about them.
//!
//! A slot has 512 bytes, eight lines of 64, and takes one piece of a read: byte `k` of the slot has address bits 8:0 equal to
//! `k`. Its number is the PCIe tag of the piece. The highest bits name the class as those of the clients' tags do
//! ([`crate::tags`]), and the slots of a class are a ring.

use ferroce_emit::prelude::*;

/// Slots for payload reads (log2), from 0 on: 128 pieces of 256 bytes are a round trip of 2.6 us at 100 Gb/s.
pub const PAYLOAD_LOG2: usize = 7;
/// Slots for SQ WQE reads and page walks of transmit (log2), from 128 on: as many as the two have tags.
pub const SQ_LOG2: usize = 6;
/// Slots for RQ WQE reads and page walks of receive (log2), from 192 on.
pub const RQ_LOG2: usize = 6;
/// Slots of all classes (log2): all tags of eight bits.
pub const SLOTS_LOG2: usize = 8;
/// Lines of a slot (log2).
pub const LINES_LOG2: usize = 3;

/// The class of `2^log2_slots` slots that begins at `base`: the slot bits that name it.
///
/// # Panics
/// If the slots are not aligned to their number.
#[must_use]
pub fn class_mask(base: u8, log2_slots: usize) -> Bits<8> {
    let mask = 0xFF & !((1u64 << log2_slots) - 1);
    assert!(
        (1..SLOTS_LOG2).contains(&log2_slots) && u64::from(base) & mask == u64::from(base),
        "2^{log2_slots} slots can't begin at {base}"
    );
    mask.into()
}

/// A part of a read, within 512 aligned bytes: one TLP.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct ReadPiece {
    /// First doubleword's address, in doublewords.
    pub addr: Bits<62>,
    /// Doublewords, 1 to 128.
    pub dwords: Bits<8>,
    /// Byte enables of the first doubleword.
    pub first_be: Bits<4>,
    /// Byte enables of the last doubleword; 0 if there is only one.
    pub last_be: Bits<4>,
    /// The request's `ordered`.
    pub ordered: Bit,
    /// The client's tag.
    pub tag: Bits<8>,
    /// Last piece of its request.
    pub last: Bit,
    /// First line of the slot that it uses.
    pub first_line: Bits<3>,
    /// Lines behind the first one.
    pub more_lines: Bits<3>,
    /// Address bits 8:0 of the byte behind the last one.
    pub end: Bits<9>,
}

/// A place in a class's ring is taken: by a read, or, if the slot's tag is dead, by nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct ReadIssue {
    /// The piece is read; else it fails at once.
    pub read: Bit,
    /// The place is stepped over; there is no piece.
    pub void: Bit,
    /// Lines of the slot that are read; 0 without `read`.
    pub lines: Bits<4>,
    /// The slot.
    pub slot: Bits<8>,
    /// Changes with every read that uses the slot; 1 in the first.
    pub lap: Bit,
    /// See [`ReadPiece`], as the others.
    pub addr: Bits<62>,
    /// Doublewords.
    pub dwords: Bits<8>,
    /// Byte enables of the first doubleword.
    pub first_be: Bits<4>,
    /// Byte enables of the last doubleword.
    pub last_be: Bits<4>,
    /// Behind writes.
    pub ordered: Bit,
    /// The client's tag.
    pub tag: Bits<8>,
    /// Last piece of its request.
    pub last: Bit,
    /// First line.
    pub first_line: Bits<3>,
    /// Lines behind it.
    pub more_lines: Bits<3>,
    /// Address behind the last byte.
    pub end: Bits<9>,
}

/// A slot waits for completions from now on.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct SlotOpen {
    /// In this cycle.
    pub valid: Bit,
    /// The slot.
    pub slot: Bits<8>,
    /// See [`ReadIssue`].
    pub lap: Bit,
    /// Address bits 8:0 of the byte behind the last one.
    pub end: Bits<9>,
}

/// The completions of a slot are over.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct SlotEnd {
    /// In this cycle.
    pub valid: Bit,
    /// The slot.
    pub slot: Bits<8>,
    /// The lap that is over.
    pub lap: Bit,
    /// The read failed.
    pub err: Bit,
}

/// What the client gets for a place of the ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct SlotRecord {
    /// The slot.
    pub slot: Bits<8>,
    /// See [`ReadIssue`].
    pub lap: Bit,
    /// Completions will come; else the piece has failed.
    pub read: Bit,
    /// Nothing.
    pub void: Bit,
    /// The client's tag.
    pub tag: Bits<8>,
    /// Last piece of its request.
    pub last: Bit,
    /// First line.
    pub first_line: Bits<3>,
    /// Lines behind it.
    pub more_lines: Bits<3>,
    /// Time of issue, in sixteenths of the time-out.
    pub stamp: Bits<5>,
}

/// A place of the ring whose turn has come: lines to read.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct ReadJob {
    /// First line of the reorder buffer.
    pub line: Bits<11>,
    /// Lines behind it.
    pub more_lines: Bits<3>,
    /// The client's tag.
    pub tag: Bits<8>,
    /// Last piece of its request.
    pub last: Bit,
    /// With `last`: the request failed.
    pub err: Bit,
    /// Nothing to read; the place becomes free.
    pub void: Bit,
}
