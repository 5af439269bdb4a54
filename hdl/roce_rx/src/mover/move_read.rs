//! Steps through the beats of each frame.

use crate::mover::move_step::{MoveJob, MoveStep};
use ferroce_emit::prelude::*;
use ferroce_rtl::stream::StreamIn;

/// One step a cycle without a gap between jobs; removing a frame takes one cycle. The beats of a frame are free once the
/// last of them has been read.
#[derive(LogicBlock, Module, Default)]
pub struct MoveRead {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Frames to be moved or removed.
    pub jobs: StreamIn<MoveJob>,
    /// Make no step; from a register.
    pub hold: Signal<In, Bit>,
    /// Beat to read now, for `step`.
    pub rd_addr: Signal<Out, Bits<16>>,
    /// Number of the oldest beat still needed.
    pub freed: Signal<Out, Bits<16>>,
    /// The step of this cycle.
    pub step: Signal<Out, MoveStep>,
    busy: DFF<Bit>,
    job: DFF<MoveJob>,
    at: DFF<Bits<16>>,
    /// Steps to come after this one.
    left: DFF<Bits<7>>,
    is_last: DFF<Bit>,
    /// Write beats of the first write to come after this one.
    first_left: DFF<Bits<7>>,
    /// This step closes the first write of two.
    closes: DFF<Bit>,
    opening: DFF<Bit>,
    second: DFF<Bit>,
    free_ptr: DFF<Bits<16>>,
    go: Signal<Local, Bit>,
    load: Signal<Local, Bit>,
    emits: Signal<Local, Bit>,
    n: Signal<Local, MoveJob>,
}

impl Logic for MoveRead {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self, clock, busy, job, at, left, is_last, first_left, closes, opening, second,
            free_ptr
        );
        self.go.next = self.busy.q.val() & !self.hold.val();
        self.load.next = !self.busy.q.val() | (self.go.val() & self.is_last.q.val());
        self.jobs.ready.next = self.load.val();
        self.emits.next = !(self.job.q.val().prime & self.opening.q.val());

        self.rd_addr.next = self.at.q.val();
        self.freed.next = self.free_ptr.q.val();
        self.step.next.valid = self.go.val() & (self.job.q.val().place | self.job.q.val().has_cqe);
        self.step.next.empty = !self.job.q.val().place;
        self.step.next.prime = !self.emits.val();
        self.step.next.rotate = self.job.q.val().rotate;
        self.step.next.cqe = self.is_last.q.val() & self.job.q.val().has_cqe;
        self.step.next.last = self.is_last.q.val() | self.closes.q.val();
        // `opening` falls after the first step; a prime step passes it on to the one after.
        self.step.next.first = self.opening.q.val();
        self.step.next.addr = self.job.q.val().addr;
        self.step.next.len = self.job.q.val().len;
        if self.second.q.val() {
            self.step.next.addr = bit_cast::<64, 52>(self.job.q.val().page2) << 12;
            self.step.next.len = self.job.q.val().len2;
        }

        if self.go.val() {
            self.at.d.next = self.at.q.val() + 1;
            self.left.d.next = self.left.q.val() - 1;
            self.is_last.d.next = self.left.q.val() == 1;
            if self.emits.val() {
                self.opening.d.next = self.closes.q.val();
                self.first_left.d.next = self.first_left.q.val() - 1;
                self.closes.d.next = self.job.q.val().split & (self.first_left.q.val() == 1);
                if self.closes.q.val() {
                    self.second.d.next = true;
                }
            } else {
                // The prime step is over.
                self.job.d.next.prime = false;
            }
            if self.is_last.q.val() {
                self.busy.d.next = false;
                self.free_ptr.d.next = self.job.q.val().freed;
            }
        }
        self.n.next = self.jobs.data.val();
        if self.load.val() {
            self.busy.d.next = self.jobs.valid.val();
            self.job.d.next = self.n.val();
            self.at.d.next = self.n.val().start;
            self.left.d.next = self.n.val().steps - 1;
            self.is_last.d.next = self.n.val().steps == 1;
            self.first_left.d.next = self.n.val().first_beats - 1;
            self.closes.d.next = self.n.val().split & (self.n.val().first_beats == 1);
            self.opening.d.next = true;
            self.second.d.next = false;
        }
    }
}

ferroce_emit::register_leaf!("move_read", MoveRead::default);
