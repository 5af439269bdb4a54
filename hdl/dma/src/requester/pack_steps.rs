//! Steps of packing: which payload beat goes with which RQ beat.

use super::tlp::{PackStep, PackTlp};
use crate::desc::RqPayload;
use ferroce_emit::prelude::*;
use ferroce_rtl::stream::StreamIn;

/// Walks over TLPs, one step a cycle: a step for every payload beat (or one for a read), and one more when the last payload beat leaves a rest
/// that nothing may share an RQ beat with. A rest in lanes 0 to 7, or a TLP that is no longer than that, waits for the next step: a TLP that
/// starts in lane 8 completes its RQ beat, and if there is none, it leaves alone.
///
/// From a TLP's first RQ beat on, every step gives one until no TLP is unfinished. A step that gives none is the first of its TLP and
/// starts in lane 0, with nothing before it in the RQ beat: a TLP whose first payload beat is too short for an RQ beat that is
/// begun starts in the next one instead, and its first step sends the begun one off.
#[derive(LogicBlock, Module)]
pub struct PackSteps {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// TLPs.
    pub tlp: StreamIn<PackTlp>,
    /// Payload; offered without a gap from the time when its TLP is.
    pub payload: StreamIn<RqPayload>,
    /// No step in this cycle; from a register.
    pub hold: Signal<In, Bit>,
    /// The step taken one cycle ago.
    pub step: Signal<Out, PackStep>,
    /// Its payload beat; anything if it has none.
    pub data: Signal<Out, Bits<512>>,
    straddle: Constant<Bit>,
    /// Lanes 0 to 7 of an RQ beat are taken and nothing is under way.
    half: DFF<Bit>,
    /// The next step belongs to the TLP of the one before.
    running: DFF<Bit>,
    /// It gives the rest.
    tail: DFF<Bit>,
    rotate: DFF<Bits<4>>,
    end: DFF<Bits<4>>,
    spill: DFF<Bit>,
    step_reg: DFF<PackStep>,
    data_reg: DFF<Bits<512>>,
    first: Signal<Local, Bit>,
    upper: Signal<Local, Bit>,
    /// Of this step's TLP.
    its_rotate: Signal<Local, Bits<4>>,
    its_end: Signal<Local, Bits<4>>,
    its_spill: Signal<Local, Bit>,
    /// The payload ends in this step.
    ends: Signal<Local, Bit>,
    /// The rest must leave in a step of its own.
    alone: Signal<Local, Bit>,
    /// The TLP has no further step.
    done: Signal<Local, Bit>,
    /// Something shares the RQ beat of the TLP's end.
    shares: Signal<Local, Bit>,
}

impl PackSteps {
    /// With or without TLPs that start in lane 8.
    #[must_use]
    pub fn new(straddle: bool) -> Self {
        Self {
            clock: Signal::default(),
            tlp: StreamIn::default(),
            payload: StreamIn::default(),
            hold: Signal::default(),
            step: Signal::default(),
            data: Signal::default(),
            straddle: Constant::new(straddle),
            half: DFF::default(),
            running: DFF::default(),
            tail: DFF::default(),
            rotate: DFF::default(),
            end: DFF::default(),
            spill: DFF::default(),
            step_reg: DFF::default(),
            data_reg: DFF::default(),
            first: Signal::default(),
            upper: Signal::default(),
            its_rotate: Signal::default(),
            its_end: Signal::default(),
            its_spill: Signal::default(),
            ends: Signal::default(),
            alone: Signal::default(),
            done: Signal::default(),
            shares: Signal::default(),
        }
    }
}

/// With straddling.
impl Default for PackSteps {
    fn default() -> Self {
        Self::new(true)
    }
}

impl Logic for PackSteps {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, half, running, tail, rotate, end, spill, step_reg, data_reg);
        self.first.next = !self.running.q.val();
        self.upper.next = self.half.q.val() & !self.tlp.data.val().late;
        self.tlp.ready.next = self.first.val() & !self.hold.val();
        self.payload.ready.next = !self.hold.val()
            & ((self.running.q.val() & !self.tail.q.val())
                | (self.first.val() & self.tlp.valid.val() & self.tlp.data.val().write));

        self.its_rotate.next = self.rotate.q.val();
        self.its_end.next = self.end.q.val();
        self.its_spill.next = self.spill.q.val();
        self.ends.next = self.payload.data.val().last;
        if self.first.val() {
            self.ends.next = self.tlp.data.val().single;
            self.its_rotate.next = self.tlp.data.val().rotate;
            self.its_end.next = self.tlp.data.val().end;
            self.its_spill.next = self.tlp.data.val().spill0;
            if self.upper.val() {
                self.its_rotate.next = self.tlp.data.val().rotate ^ 8;
                self.its_end.next = self.tlp.data.val().end ^ 8;
                self.its_spill.next = self.tlp.data.val().spill8;
            }
        }
        self.shares.next = self.straddle.val() & !self.its_end.val().get_bit(3);
        self.alone.next = self.its_spill.val() & !self.shares.val();
        self.done.next = self.ends.val() & !self.alone.val();

        self.step_reg.d.next.valid = false;
        self.step_reg.d.next.emit = false;
        self.step_reg.d.next.flush = false;
        self.step_reg.d.next.sop = false;
        self.step_reg.d.next.upper = self.upper.val();
        self.step_reg.d.next.eop = false;
        self.step_reg.d.next.eop_rest = false;
        self.step_reg.d.next.end = self.its_end.val();
        self.step_reg.d.next.rotate = self.its_rotate.val();
        self.step_reg.d.next.from = bit_cast::<5, 4>(self.its_rotate.val());
        self.step_reg.d.next.write = self.tlp.data.val().write;
        self.step_reg.d.next.addr = self.tlp.data.val().addr;
        self.step_reg.d.next.dwords = self.tlp.data.val().dwords;
        self.step_reg.d.next.tag = self.tlp.data.val().tag;
        self.step_reg.d.next.first_be = self.tlp.data.val().first_be;
        self.step_reg.d.next.last_be = self.tlp.data.val().last_be;
        self.data_reg.d.next = self.payload.data.val().data;

        if !self.hold.val() {
            if self.running.q.val() {
                self.step_reg.d.next.valid = true;
                if self.tail.q.val() {
                    self.step_reg.d.next.emit = true;
                    self.step_reg.d.next.eop = true;
                    self.step_reg.d.next.from = 16.into();
                    self.running.d.next = false;
                    self.tail.d.next = false;
                    self.half.d.next = false;
                } else {
                    self.step_reg.d.next.emit = true;
                    self.step_reg.d.next.eop = self.ends.val() & !self.its_spill.val();
                    self.step_reg.d.next.eop_rest = self.done.val() & self.its_spill.val();
                    self.running.d.next = !self.done.val();
                    self.tail.d.next = self.ends.val() & self.alone.val();
                    self.half.d.next = self.done.val() & self.its_spill.val() & self.shares.val();
                }
            } else if self.tlp.valid.val() {
                self.step_reg.d.next.valid = true;
                self.step_reg.d.next.sop = true;
                self.step_reg.d.next.emit = self.half.q.val() | self.tlp.data.val().emits;
                self.step_reg.d.next.flush = self.half.q.val() & self.tlp.data.val().late;
                self.step_reg.d.next.eop = self.ends.val() & !self.its_spill.val();
                self.step_reg.d.next.eop_rest = self.done.val() & self.its_spill.val();
                self.step_reg.d.next.from = 4.into();
                if self.upper.val() {
                    self.step_reg.d.next.from = 12.into();
                }
                self.rotate.d.next = self.its_rotate.val();
                self.end.d.next = self.its_end.val();
                self.spill.d.next = self.its_spill.val();
                self.running.d.next = !self.done.val();
                self.tail.d.next = self.ends.val() & self.alone.val();
                self.half.d.next = self.done.val() & self.shares.val();
            } else if self.half.q.val() {
                self.step_reg.d.next.valid = true;
                self.step_reg.d.next.emit = true;
                self.step_reg.d.next.flush = true;
                self.half.d.next = false;
            }
        }
        self.step.next = self.step_reg.q.val();
        self.data.next = self.data_reg.q.val();
    }
}

ferroce_emit::register_leaf!("pack_steps", PackSteps::default);
ferroce_emit::register_leaf!("pack_steps_one_a_beat", || PackSteps::new(false));
