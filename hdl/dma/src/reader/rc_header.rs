//! Reads the descriptors of completions.

use super::rc_segments::RcSlice;
use super::slot::{SlotOpen, SLOTS_LOG2};
use crate::desc::status;
use ferroce_emit::prelude::*;
use ferroce_rtl::lutram::Lutram;

/// Cycles through [`RcHeader`].
pub const HEADER_LATENCY: usize = 4;

/// Error codes of RC descriptors (PG213).
mod code {
    /// Request ended by UR, CA or CRS.
    pub const BAD_STATUS: u64 = 2;
    /// Request ended by a completion of a wrong length.
    pub const BAD_LENGTH: u64 = 3;
    /// No such request.
    pub const BAD_TAG: u64 = 6;
    /// Request ended by a function-level reset, and all codes above: by the block's time-out.
    pub const RESET: u64 = 8;
}

/// An [`RcSlice`] of which it is known where its payload goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct RcPart {
    /// See [`RcSlice`].
    pub tail: Bit,
    /// Its TLP ends.
    pub tail_ends: Bit,
    /// Its last doubleword.
    pub tail_last: Bits<4>,
    /// A TLP that starts.
    pub head: Bit,
    /// Where its descriptor is.
    pub head_at: Bits<2>,
    /// It ends.
    pub head_ends: Bit,
    /// Its last doubleword.
    pub head_last: Bits<4>,
    /// Parts that end are damaged.
    pub discontinue: Bit,
    /// The head's slot.
    pub slot: Bits<8>,
    /// Doubleword of the slot in which the beat's doubleword 0 would be.
    pub base: Bits<7>,
    /// The head's payload can't be used.
    pub bad: Bit,
    /// No completion of this request follows.
    pub over: Bit,
    /// The completion belongs to no request of the block.
    pub stray: Bit,
}

/// The slot's end, less the bytes that were missing, is where the payload begins. Only seven bits of the address are in
/// the completion itself; they must agree, and the payload must fit into the slot.
#[derive(LogicBlock, Module)]
pub struct RcHeader {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Slots that are in use from now on.
    pub opened: Signal<In, SlotOpen>,
    /// What arrives.
    pub slice: Signal<In, RcSlice>,
    /// The same, [`HEADER_LATENCY`] cycles later.
    pub part: Signal<Out, RcPart>,
    slot_ends: Lutram<Bits<9>>,
    c: DFF<RcSlice>,
    d: DFF<RcSlice>,
    d_end: DFF<Bits<9>>,
    d_bad: DFF<Bit>,
    d_over: DFF<Bit>,
    e: DFF<RcSlice>,
    e_start: DFF<Bits<9>>,
    e_bad: DFF<Bit>,
    e_over: DFF<Bit>,
    f: DFF<RcPart>,
    terminated: Signal<Local, Bit>,
    stop: Signal<Local, Bits<9>>,
}

impl Default for RcHeader {
    fn default() -> Self {
        Self {
            clock: Signal::default(),
            opened: Signal::default(),
            slice: Signal::default(),
            part: Signal::default(),
            slot_ends: Lutram::new(SLOTS_LOG2),
            c: DFF::default(),
            d: DFF::default(),
            d_end: DFF::default(),
            d_bad: DFF::default(),
            d_over: DFF::default(),
            e: DFF::default(),
            e_start: DFF::default(),
            e_bad: DFF::default(),
            e_over: DFF::default(),
            f: DFF::default(),
            terminated: Signal::default(),
            stop: Signal::default(),
        }
    }
}

impl Logic for RcHeader {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, c, d, d_end, d_bad, d_over, e, e_start, e_bad, e_over, f);
        clock!(self, clock, slot_ends);
        self.slot_ends.wr_valid.next = self.opened.val().valid;
        self.slot_ends.wr_addr.next = bit_cast::<20, 8>(self.opened.val().slot);
        self.slot_ends.wr_data.next = self.opened.val().end;

        self.c.d.next = self.slice.val();

        self.slot_ends.rd_addr.next = bit_cast::<20, 8>(self.c.q.val().tag);
        self.d.d.next = self.c.q.val();
        self.d_end.d.next = self.slot_ends.rd_data.val();
        // Other fields may be invalid in what is no completion but a notice of the block.
        self.terminated.next = (self.c.q.val().error_code == code::BAD_STATUS)
            | (self.c.q.val().error_code == code::BAD_LENGTH)
            | (self.c.q.val().error_code >= code::RESET);
        self.d_over.d.next = self.c.q.val().completed
            | self.terminated.val()
            | (self.c.q.val().status != status::SC);
        self.d_bad.d.next = (self.c.q.val().error_code != 0)
            | (self.c.q.val().status != status::SC)
            | self.c.q.val().poisoned;

        self.e.d.next = self.d.q.val();
        self.e_start.d.next = self.d_end.q.val() - self.d.q.val().byte_count.get_bits::<9>(0);
        self.e_bad.d.next = self.d_bad.q.val()
            | (self.d.q.val().byte_count > 512)
            | (self.d.q.val().dwords == 0)
            | (self.d.q.val().dwords > 128);
        self.e_over.d.next = self.d_over.q.val();

        self.stop.next = bit_cast::<9, 7>(self.e_start.q.val().get_bits::<7>(2))
            + bit_cast::<9, 8>(self.e.q.val().dwords.get_bits::<8>(0));
        self.f.d.next.tail = self.e.q.val().tail;
        self.f.d.next.tail_ends = self.e.q.val().tail_ends;
        self.f.d.next.tail_last = self.e.q.val().tail_last;
        self.f.d.next.head = self.e.q.val().head;
        self.f.d.next.head_at = self.e.q.val().head_at;
        self.f.d.next.head_ends = self.e.q.val().head_ends;
        self.f.d.next.head_last = self.e.q.val().head_last;
        self.f.d.next.discontinue = self.e.q.val().discontinue;
        self.f.d.next.slot = self.e.q.val().tag;
        self.f.d.next.base = self.e_start.q.val().get_bits::<7>(2)
            - ((bit_cast::<7, 2>(self.e.q.val().head_at) << 2) | 3);
        self.f.d.next.bad = self.e_bad.q.val()
            | (self.stop.val() > 128)
            | (self.e_start.q.val().get_bits::<7>(0) != self.e.q.val().lower_address);
        self.f.d.next.over = self.e_over.q.val();
        self.f.d.next.stray = self.e.q.val().error_code == code::BAD_TAG;
        self.part.next = self.f.q.val();
    }
}

ferroce_emit::register_leaf!("rc_header", RcHeader::default);
