//! Steps of header removal: which frame beat is read when.

use super::strip_plan::StripJob;
use crate::stream::StreamIn;
use ferroce_emit::prelude::*;

/// One frame beat read.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct StripStep {
    /// There is a step in this cycle.
    pub valid: Bit,
    /// It gives a payload beat; else the frame beat only feeds the next step.
    pub emit: Bit,
    /// Last step of its job.
    pub last: Bit,
    /// Bytes to rotate by; so many bytes come from the beat before.
    pub rotate: Bits<6>,
}

/// One step a cycle without a gap between jobs.
#[derive(LogicBlock, Module, Default)]
pub struct StripSteps {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Payloads to be taken out.
    pub jobs: StreamIn<StripJob>,
    /// Make no step; from a register.
    pub hold: Signal<In, Bit>,
    /// Number of the beat to read for `step`.
    pub rd_addr: Signal<Out, Bits<16>>,
    /// The step of this cycle.
    pub step: Signal<Out, StripStep>,
    busy: DFF<Bit>,
    at: DFF<Bits<16>>,
    rotate: DFF<Bits<6>>,
    prime: DFF<Bit>,
    emit: DFF<Bit>,
    /// Steps to come after this one.
    left: DFF<Bits<7>>,
    is_last: DFF<Bit>,
    go: Signal<Local, Bit>,
    load: Signal<Local, Bit>,
    n: Signal<Local, StripJob>,
}

impl Logic for StripSteps {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, busy, at, rotate, prime, emit, left, is_last);
        self.go.next = self.busy.q.val() & !self.hold.val();
        self.load.next = !self.busy.q.val() | (self.go.val() & self.is_last.q.val());
        self.jobs.ready.next = self.load.val();

        self.rd_addr.next = self.at.q.val();
        self.step.next.valid = self.go.val();
        self.step.next.emit = self.go.val() & self.emit.q.val() & !self.prime.q.val();
        self.step.next.last = self.is_last.q.val();
        self.step.next.rotate = self.rotate.q.val();

        if self.go.val() {
            self.at.d.next = self.at.q.val() + 1;
            self.left.d.next = self.left.q.val() - 1;
            self.is_last.d.next = self.left.q.val() == 1;
            self.prime.d.next = false;
            if self.is_last.q.val() {
                self.busy.d.next = false;
            }
        }
        self.n.next = self.jobs.data.val();
        if self.load.val() {
            self.busy.d.next = self.jobs.valid.val();
            self.at.d.next = self.n.val().start;
            self.rotate.d.next = self.n.val().rotate;
            self.prime.d.next = self.n.val().prime;
            self.emit.d.next = self.n.val().emit;
            self.left.d.next = self.n.val().steps - 1;
            self.is_last.d.next = self.n.val().steps == 1;
        }
    }
}

ferroce_emit::register_leaf!("strip_steps", StripSteps::default);
