//! Gives the slots of a class to pieces, in a ring.

use super::slot::{class_mask, ReadIssue, ReadPiece, SlotEnd, SlotOpen};
use ferroce_emit::prelude::*;
use ferroce_rtl::in_flight::InFlight;
use ferroce_rtl::lutram::Lutram;
use ferroce_rtl::skid::Skid;
use ferroce_rtl::stream::{StreamIn, StreamOut};

/// Reserve before issue: a piece takes the next slot of the ring, when its place has been given back. A place every two cycles.
///
/// The slot's tag may be dead: the read timed out, and its completion may still come. Such a place is stepped over. After a
/// round in which all were dead, pieces fail at once, until a tag is alive again. A slot's lap changes only when its read is sure to leave
/// (`opened`), which is long before its turn comes again.
#[derive(LogicBlock, Module)]
pub struct SlotRing {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Pieces to read.
    pub piece: StreamIn<ReadPiece>,
    /// Slots that wait from now on, of all classes.
    pub opened: Signal<In, SlotOpen>,
    /// Completions that are over, of all classes.
    pub end: Signal<In, SlotEnd>,
    /// The oldest place of the ring is free again.
    pub freed: Signal<In, Bit>,
    /// Places taken.
    pub issue: StreamOut<ReadIssue>,
    base: Constant<Bits<8>>,
    class: Constant<Bits<8>>,
    highest: Constant<Bits<8>>,
    /// Lap of each slot's newest read.
    laps: Lutram<Bit>,
    /// Lap of each slot's newest end.
    ended: Lutram<Bit>,
    in_use: InFlight,
    tail: DFF<Bits<8>>,
    /// `lap` and `dead` are those of the tail.
    looked: DFF<Bit>,
    lap: DFF<Bit>,
    dead: DFF<Bit>,
    /// Dead ones since the last read.
    skipped: DFF<Bits<8>>,
    all_dead: DFF<Bit>,
    issues: Skid<ReadIssue>,
    open: Signal<Local, Bit>,
    void: Signal<Local, Bit>,
    go: Signal<Local, Bit>,
}

impl SlotRing {
    /// The `2^log2_slots` slots from `base`.
    ///
    /// # Panics
    /// If they are not aligned to their number.
    #[must_use]
    pub fn new(base: u8, log2_slots: usize) -> Self {
        Self {
            clock: Signal::default(),
            piece: StreamIn::default(),
            opened: Signal::default(),
            end: Signal::default(),
            freed: Signal::default(),
            issue: StreamOut::default(),
            base: Constant::new(u64::from(base).into()),
            class: Constant::new(class_mask(base, log2_slots)),
            highest: Constant::new(((1u64 << log2_slots) - 1).into()),
            laps: Lutram::new(log2_slots),
            ended: Lutram::new(log2_slots),
            in_use: InFlight::new(1 << log2_slots),
            tail: DFF::default(),
            looked: DFF::default(),
            lap: DFF::default(),
            dead: DFF::default(),
            skipped: DFF::default(),
            all_dead: DFF::default(),
            issues: Skid::default(),
            open: Signal::default(),
            void: Signal::default(),
            go: Signal::default(),
        }
    }
}

impl Default for SlotRing {
    fn default() -> Self {
        Self::new(crate::tags::PAYLOAD, super::slot::PAYLOAD_LOG2)
    }
}

impl Logic for SlotRing {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, tail, looked, lap, dead, skipped, all_dead);
        clock!(self, clock, laps, ended, in_use, issues);
        self.ended.wr_valid.next =
            self.end.val().valid & ((self.end.val().slot & self.class.val()) == self.base.val());
        self.ended.wr_addr.next = bit_cast::<20, 8>(self.end.val().slot);
        self.ended.wr_data.next = self.end.val().lap;

        self.laps.wr_valid.next = self.opened.val().valid
            & ((self.opened.val().slot & self.class.val()) == self.base.val());
        self.laps.wr_addr.next = bit_cast::<20, 8>(self.opened.val().slot);
        self.laps.wr_data.next = self.opened.val().lap;

        self.laps.rd_addr.next = bit_cast::<20, 8>(self.tail.q.val());
        self.ended.rd_addr.next = bit_cast::<20, 8>(self.tail.q.val());
        self.looked.d.next = true;
        self.lap.d.next = self.laps.rd_data.val();
        // A read that is not over and has left the ring has timed out.
        self.dead.d.next = self.laps.rd_data.val() ^ self.ended.rd_data.val();

        self.open.next =
            self.looked.q.val() & self.issues.input.ready.val() & !self.in_use.full.val();
        self.void.next = self.dead.q.val() & !self.all_dead.q.val();
        self.piece.ready.next = self.open.val() & !self.void.val();
        self.go.next = self.open.val() & self.piece.valid.val();
        self.in_use.start.next = self.go.val();
        self.in_use.done.next = self.freed.val();
        if self.go.val() {
            self.looked.d.next = false;
            self.tail.d.next = (self.tail.q.val() + 1) & self.highest.val();
            if !self.dead.q.val() {
                self.skipped.d.next = 0.into();
                self.all_dead.d.next = false;
            } else if self.void.val() {
                self.skipped.d.next = self.skipped.q.val() + 1;
                self.all_dead.d.next = self.skipped.q.val() == self.highest.val();
            }
        }
        self.issues.input.valid.next = self.go.val();
        self.issues.input.data.next.read = !self.dead.q.val();
        self.issues.input.data.next.void = self.void.val();
        self.issues.input.data.next.lines = 0.into();
        if !self.dead.q.val() {
            self.issues.input.data.next.lines =
                bit_cast::<4, 3>(self.piece.data.val().more_lines) + 1;
        }
        self.issues.input.data.next.slot = self.base.val() | self.tail.q.val();
        self.issues.input.data.next.lap = !self.lap.q.val();
        self.issues.input.data.next.addr = self.piece.data.val().addr;
        self.issues.input.data.next.dwords = self.piece.data.val().dwords;
        self.issues.input.data.next.first_be = self.piece.data.val().first_be;
        self.issues.input.data.next.last_be = self.piece.data.val().last_be;
        self.issues.input.data.next.ordered = self.piece.data.val().ordered;
        self.issues.input.data.next.tag = self.piece.data.val().tag;
        self.issues.input.data.next.last = self.piece.data.val().last;
        self.issues.input.data.next.first_line = self.piece.data.val().first_line;
        self.issues.input.data.next.more_lines = self.piece.data.val().more_lines;
        self.issues.input.data.next.end = self.piece.data.val().end;
        StreamOut::<ReadIssue>::link(&mut self.issue, &mut self.issues.output);
    }
}

ferroce_emit::register_leaf!("slot_ring", || SlotRing::new(8, 3));
