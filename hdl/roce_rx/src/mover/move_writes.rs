//! Cuts payload into writes.

use crate::mover::move_job::{MoveJob, MoveLabel};
use ferroce_emit::prelude::*;
use ferroce_rtl::header::StripStep;

/// Labels each beat while its frame is being read: one write a frame, or two that meet at a 4 KiB boundary. The beats of a
/// frame are free once the last of them has been read.
#[derive(LogicBlock, Module, Default)]
pub struct MoveWrites {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// The next frame.
    pub job: Signal<In, MoveJob>,
    /// Its steps may begin in the next cycle.
    pub load: Signal<In, Bit>,
    /// The step of this cycle.
    pub step: Signal<In, StripStep>,
    /// What its beat is.
    pub label: Signal<Out, MoveLabel>,
    /// Number of the oldest beat still needed.
    pub freed: Signal<Out, Bits<16>>,
    /// The last step of a frame.
    pub done: Signal<Out, Bit>,
    present: DFF<MoveJob>,
    /// Write beats of the first write to come after this one.
    first_left: DFF<Bits<7>>,
    /// This beat closes the first write of two.
    closes: DFF<Bit>,
    opening: DFF<Bit>,
    second: DFF<Bit>,
    free_ptr: DFF<Bits<16>>,
}

impl Logic for MoveWrites {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, present, first_left, closes, opening, second, free_ptr);
        self.freed.next = self.free_ptr.q.val();
        self.label.next.empty = !self.present.q.val().place;
        self.label.next.cqe = self.step.val().last & self.present.q.val().has_cqe;
        self.label.next.fence = self.step.val().last & self.present.q.val().fence;
        self.label.next.landing = self.step.val().last & self.present.q.val().landing;
        self.label.next.last = self.step.val().last | self.closes.q.val();
        self.label.next.first = self.opening.q.val();
        self.label.next.addr = self.present.q.val().addr;
        self.label.next.len = self.present.q.val().len;
        if self.second.q.val() {
            self.label.next.addr = bit_cast::<64, 52>(self.present.q.val().page2) << 12;
            self.label.next.len = self.present.q.val().len2;
        }

        // A step without a beat of its own passes `opening` on to the one after.
        if self.step.val().emit {
            self.opening.d.next = self.closes.q.val();
            self.first_left.d.next = self.first_left.q.val() - 1;
            self.closes.d.next = self.present.q.val().split & (self.first_left.q.val() == 1);
            if self.closes.q.val() {
                self.second.d.next = true;
            }
        }
        self.done.next = self.step.val().valid & self.step.val().last;
        if self.step.val().valid & self.step.val().last {
            self.free_ptr.d.next = self.present.q.val().freed;
        }
        if self.load.val() {
            self.present.d.next = self.job.val();
            self.first_left.d.next = self.job.val().first_beats - 1;
            self.closes.d.next = self.job.val().split & (self.job.val().first_beats == 1);
            self.opening.d.next = true;
            self.second.d.next = false;
        }
    }
}

ferroce_emit::register_leaf!("move_writes", MoveWrites::default);
