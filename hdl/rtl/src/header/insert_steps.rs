//! Steps of header insertion: which payload beat goes with which frame beat.

use super::insert_plan::InsertJob;
use crate::stream::StreamIn;
use ferroce_emit::prelude::*;

/// One step: at most one payload beat in, at most one frame beat out.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct InsertStep {
    /// A step in this cycle: the rotated beat becomes the previous one.
    pub valid: Bit,
    /// It gives a frame beat.
    pub emit: Bit,
    /// First frame beat.
    pub beat0: Bit,
    /// Second frame beat.
    pub beat1: Bit,
    /// Bytes of the frame beat before the payload.
    pub start: Bits<7>,
    /// Bytes of the frame beat up to the payload's end.
    pub end: Bits<7>,
    /// Bytes that come from the previous payload beat.
    pub shift: Bits<6>,
    /// Bytes of the frame beat.
    pub len: Bits<7>,
    /// Last beat of the frame.
    pub last: Bit,
}

/// Walks over frames, which begin when their payload does, one step a cycle: as many steps as the frame has beats, one more if its first beat needs two payload
/// beats. A frame without any bytes takes one step that gives nothing.
#[derive(LogicBlock, Module, Default)]
pub struct InsertSteps {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Frames to be put together.
    pub jobs: StreamIn<InsertJob>,
    /// Payload beats.
    pub payload: StreamIn<Bits<512>>,
    /// No step in this cycle; from a register.
    pub hold: Signal<In, Bit>,
    /// The step taken one cycle ago.
    pub step: Signal<Out, InsertStep>,
    /// Its payload beat; anything if it has none.
    pub data: Signal<Out, Bits<512>>,
    /// Header of its frame.
    pub hdr: Signal<Out, Bits<1016>>,
    /// A step of this frame was taken.
    started: DFF<Bit>,
    /// Index of the next frame beat.
    index: DFF<Bits<7>>,
    /// It is not 0.
    begun: DFF<Bit>,
    /// Payload beats used.
    used: DFF<Bits<7>>,
    /// Once started: the next step takes a payload beat.
    need_next: DFF<Bit>,
    /// Once started: the next step is the last.
    last_next: DFF<Bit>,
    step_reg: DFF<InsertStep>,
    data_reg: DFF<Bits<512>>,
    hdr_reg: DFF<Bits<1016>>,
    need: Signal<Local, Bit>,
    wait: Signal<Local, Bit>,
    load_only: Signal<Local, Bit>,
    go: Signal<Local, Bit>,
    last: Signal<Local, Bit>,
    index_after: Signal<Local, Bits<7>>,
    used_after: Signal<Local, Bits<7>>,
}

impl Logic for InsertSteps {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self, clock, started, index, begun, used, need_next, last_next, step_reg, data_reg,
            hdr_reg
        );
        self.need.next = self.jobs.data.val().plan.first_need;
        self.wait.next = self.jobs.data.val().plan.has_payload;
        self.last.next = self.jobs.data.val().plan.one_step;
        if self.started.q.val() {
            self.need.next = self.need_next.q.val();
            self.wait.next = self.need_next.q.val();
            self.last.next = self.last_next.q.val();
        }
        self.load_only.next = self.jobs.data.val().plan.lead & !self.started.q.val();
        self.go.next = self.jobs.valid.val()
            & !self.hold.val()
            & (self.payload.valid.val() | !self.wait.val());
        self.jobs.ready.next =
            self.last.val() & !self.hold.val() & (self.payload.valid.val() | !self.wait.val());
        self.payload.ready.next = self.jobs.valid.val() & !self.hold.val() & self.need.val();

        self.index_after.next = self.index.q.val() + 1;
        if self.load_only.val() {
            self.index_after.next = self.index.q.val();
        }
        self.used_after.next = self.used.q.val() + bit_cast::<7, 1>(self.need.val().into());
        if self.go.val() {
            self.started.d.next = true;
            self.begun.d.next = !self.load_only.val();
            self.index.d.next = self.index_after.val();
            self.used.d.next = self.used_after.val();
            self.need_next.d.next = self.used_after.val() != self.jobs.data.val().plan.src_beats;
            self.last_next.d.next = self.index_after.val() == self.jobs.data.val().plan.last_index;
            if self.last.val() {
                self.started.d.next = false;
                self.begun.d.next = false;
                self.index.d.next = 0.into();
                self.used.d.next = 0.into();
            }
        }

        self.step_reg.d.next.valid = self.go.val();
        self.step_reg.d.next.emit =
            self.go.val() & !self.load_only.val() & self.jobs.data.val().plan.some;
        self.step_reg.d.next.beat0 = !self.begun.q.val();
        self.step_reg.d.next.beat1 = self.index.q.val() == 1;
        self.step_reg.d.next.start = 0.into();
        if !self.begun.q.val() {
            self.step_reg.d.next.start = self.jobs.data.val().plan.hdr_len;
        } else if (self.index.q.val() == 1) & self.jobs.data.val().plan.hdr_len.get_bit(6) {
            self.step_reg.d.next.start =
                bit_cast::<7, 6>(self.jobs.data.val().plan.hdr_len.get_bits::<6>(0));
        }
        self.step_reg.d.next.end = 0.into();
        if self.index.q.val() < self.jobs.data.val().plan.end_beat {
            self.step_reg.d.next.end = 64.into();
        } else if self.index.q.val() == self.jobs.data.val().plan.end_beat {
            self.step_reg.d.next.end = bit_cast::<7, 6>(self.jobs.data.val().plan.end_off);
        }
        self.step_reg.d.next.shift = self.jobs.data.val().plan.shift;
        self.step_reg.d.next.len = 64.into();
        if self.last.val() {
            self.step_reg.d.next.len = self.jobs.data.val().plan.last_len;
        }
        self.step_reg.d.next.last = self.last.val();
        self.data_reg.d.next = self.payload.data.val();
        self.hdr_reg.d.next = self.jobs.data.val().hdr;
        self.step.next = self.step_reg.q.val();
        self.data.next = self.data_reg.q.val();
        self.hdr.next = self.hdr_reg.q.val();
    }
}

ferroce_emit::register_leaf!("insert_steps", InsertSteps::default);
