//! Matches completions with slots, and ends slots.

use super::rc_header::RcPart;
use super::rc_lane::LaneParts;
use super::slot::{SlotEnd, SlotOpen, SLOTS_LOG2};
use ferroce_emit::prelude::*;
use ferroce_rtl::lutram::Lutram;

/// Cycles from [`RcPlace::part`] to [`RcPlace::lanes`].
pub const PLACE_LATENCY: usize = 1;

/// The slot of a completion waits for it, or the completion is dropped: nothing of it is written. A slot that waits can't be
/// another read's before its completions are over.
///
/// A slot is over with its last completion or one that ends the request. A completion whose payload alone is damaged
/// (poisoned, cut off by the block) spoils the slot; others of the same request still follow.
#[derive(LogicBlock, Module)]
pub struct RcPlace {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Slots that wait from now on.
    pub opened: Signal<In, SlotOpen>,
    /// What arrives.
    pub part: Signal<In, RcPart>,
    /// The same for the lanes, [`PLACE_LATENCY`] cycles later.
    pub lanes: Signal<Out, LaneParts>,
    /// Slots that are over.
    pub end: Signal<Out, SlotEnd>,
    /// A completion for which no slot waits was dropped.
    pub unexpected: Signal<Out, Bit>,
    /// Lap of each slot's newest read.
    laps: Lutram<Bit>,
    /// Lap of each slot's newest end: a slot waits if it is not that of the read.
    ended: Lutram<Bit>,
    /// Slots with damaged payload.
    spoiled: Lutram<Bit>,
    /// The TLP that goes on in the next beat.
    open_slot: DFF<Bits<8>>,
    open_base: DFF<Bits<7>>,
    open_lap: DFF<Bit>,
    open_bad: DFF<Bit>,
    open_over: DFF<Bit>,
    open_accepted: DFF<Bit>,
    lanes_reg: DFF<LaneParts>,
    end_reg: DFF<SlotEnd>,
    unexpected_reg: DFF<Bit>,
    tail_ends: Signal<Local, Bit>,
    head_ends: Signal<Local, Bit>,
    lap: Signal<Local, Bit>,
    accepted: Signal<Local, Bit>,
    ends: Signal<Local, Bit>,
    slot: Signal<Local, Bits<8>>,
    bad: Signal<Local, Bit>,
    over: Signal<Local, Bit>,
    end_lap: Signal<Local, Bit>,
}

impl Default for RcPlace {
    fn default() -> Self {
        Self {
            clock: Signal::default(),
            opened: Signal::default(),
            part: Signal::default(),
            lanes: Signal::default(),
            end: Signal::default(),
            unexpected: Signal::default(),
            laps: Lutram::new(SLOTS_LOG2),
            ended: Lutram::new(SLOTS_LOG2),
            spoiled: Lutram::new(SLOTS_LOG2),
            open_slot: DFF::default(),
            open_base: DFF::default(),
            open_lap: DFF::default(),
            open_bad: DFF::default(),
            open_over: DFF::default(),
            open_accepted: DFF::default(),
            lanes_reg: DFF::default(),
            end_reg: DFF::default(),
            unexpected_reg: DFF::default(),
            tail_ends: Signal::default(),
            head_ends: Signal::default(),
            lap: Signal::default(),
            accepted: Signal::default(),
            ends: Signal::default(),
            slot: Signal::default(),
            bad: Signal::default(),
            over: Signal::default(),
            end_lap: Signal::default(),
        }
    }
}

impl Logic for RcPlace {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            open_slot,
            open_base,
            open_lap,
            open_bad,
            open_over,
            open_accepted,
            lanes_reg,
            end_reg,
            unexpected_reg
        );
        clock!(self, clock, laps, ended, spoiled);
        self.laps.wr_valid.next = self.opened.val().valid;
        self.laps.wr_addr.next = bit_cast::<20, 8>(self.opened.val().slot);
        self.laps.wr_data.next = self.opened.val().lap;

        self.laps.rd_addr.next = bit_cast::<20, 8>(self.part.val().slot);
        self.ended.rd_addr.next = bit_cast::<20, 8>(self.part.val().slot);
        self.lap.next = self.laps.rd_data.val();
        self.tail_ends.next =
            self.part.val().tail & self.part.val().tail_ends & self.open_accepted.q.val();
        // The tail may end the slot that the head asks for.
        self.accepted.next = (self.laps.rd_data.val() ^ self.ended.rd_data.val())
            & !self.part.val().stray
            & !(self.tail_ends.val()
                & self.open_over.q.val()
                & (self.part.val().slot == self.open_slot.q.val()));
        self.head_ends.next =
            self.part.val().head & self.part.val().head_ends & self.accepted.val();
        self.unexpected_reg.d.next = self.part.val().head & !self.accepted.val();
        self.unexpected.next = self.unexpected_reg.q.val();

        // A head that comes with a tail does not end, so one TLP a cycle does.
        self.ends.next = self.tail_ends.val() | self.head_ends.val();
        self.slot.next = self.part.val().slot;
        self.bad.next = self.part.val().bad;
        self.over.next = self.part.val().over;
        self.end_lap.next = self.lap.val();
        if self.part.val().tail {
            self.slot.next = self.open_slot.q.val();
            self.bad.next = self.open_bad.q.val();
            self.over.next = self.open_over.q.val();
            self.end_lap.next = self.open_lap.q.val();
        }
        self.spoiled.rd_addr.next = bit_cast::<20, 8>(self.slot.val());
        self.end_reg.d.next.valid = self.ends.val() & self.over.val();
        self.end_reg.d.next.slot = self.slot.val();
        self.end_reg.d.next.lap = self.end_lap.val();
        self.end_reg.d.next.err =
            self.bad.val() | self.part.val().discontinue | self.spoiled.rd_data.val();
        self.end.next = self.end_reg.q.val();
        self.ended.wr_valid.next = self.ends.val() & self.over.val();
        self.ended.wr_addr.next = bit_cast::<20, 8>(self.slot.val());
        self.ended.wr_data.next = self.end_lap.val();
        self.spoiled.wr_valid.next = self.ends.val();
        self.spoiled.wr_addr.next = bit_cast::<20, 8>(self.slot.val());
        self.spoiled.wr_data.next = !self.over.val()
            & (self.bad.val() | self.part.val().discontinue | self.spoiled.rd_data.val());

        if self.part.val().tail {
            self.open_base.d.next = self.open_base.q.val() + 16;
        }
        if self.part.val().head {
            self.open_slot.d.next = self.part.val().slot;
            self.open_base.d.next = self.part.val().base + 16;
            self.open_lap.d.next = self.lap.val();
            self.open_bad.d.next = self.part.val().bad;
            self.open_over.d.next = self.part.val().over;
            self.open_accepted.d.next = self.accepted.val();
        }

        self.lanes_reg.d.next.tail =
            self.part.val().tail & self.open_accepted.q.val() & !self.open_bad.q.val();
        self.lanes_reg.d.next.tail_last = self.part.val().tail_last;
        self.lanes_reg.d.next.tail_base = self.open_base.q.val();
        self.lanes_reg.d.next.tail_slot = self.open_slot.q.val();
        self.lanes_reg.d.next.head =
            self.part.val().head & self.accepted.val() & !self.part.val().bad;
        self.lanes_reg.d.next.head_at = self.part.val().head_at;
        self.lanes_reg.d.next.head_last = self.part.val().head_last;
        self.lanes_reg.d.next.head_base = self.part.val().base;
        self.lanes_reg.d.next.head_slot = self.part.val().slot;
        self.lanes.next = self.lanes_reg.q.val();
    }
}

ferroce_emit::register_leaf!("rc_place", RcPlace::default);
