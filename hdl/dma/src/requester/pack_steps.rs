//! Steps of packing: which payload beat goes with which RQ beat.

use super::tlp::{PackStep, PackTlp};
use crate::desc::RqPayload;
use ferroce_emit::prelude::*;
use ferroce_rtl::stream::StreamIn;

/// Walks over TLPs, one step a cycle: a step for every payload beat, one for a read. The rest of the last payload beat, or a TLP no longer
/// than half an RQ beat, waits for the next step:
///
/// * in lanes 0 to 7, a TLP that starts in lane 8 completes its RQ beat;
/// * a TLP that can't start there, and any TLP behind more lanes, starts in the next RQ beat. If its first payload beat does not complete that one, its
///   first step sends the waiting one off;
/// * else the waiting RQ beat leaves in a step of its own.
///
/// From a TLP's first RQ beat on, every step gives one until no TLP is unfinished: a step that gives none is the first of its TLP and finds
/// nothing waiting.
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
    /// Something waits in lanes 0 to 7.
    half: DFF<Bit>,
    /// Something waits that no TLP may share an RQ beat with.
    full: DFF<Bit>,
    /// The next step belongs to the TLP of the one before.
    running: DFF<Bit>,
    rotate: DFF<Bits<4>>,
    end: DFF<Bits<4>>,
    spill: DFF<Bit>,
    step_reg: DFF<PackStep>,
    data_reg: DFF<Bits<512>>,
    /// A TLP may start.
    free: Signal<Local, Bit>,
    starts: Signal<Local, Bit>,
    /// It starts in lane 8.
    upper: Signal<Local, Bit>,
    /// Of this step's TLP.
    its_rotate: Signal<Local, Bits<4>>,
    its_end: Signal<Local, Bits<4>>,
    its_spill: Signal<Local, Bit>,
    /// This step has its last payload beat.
    ends: Signal<Local, Bit>,
    /// What is left behind it may share an RQ beat.
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
            full: DFF::default(),
            running: DFF::default(),
            rotate: DFF::default(),
            end: DFF::default(),
            spill: DFF::default(),
            step_reg: DFF::default(),
            data_reg: DFF::default(),
            free: Signal::default(),
            starts: Signal::default(),
            upper: Signal::default(),
            its_rotate: Signal::default(),
            its_end: Signal::default(),
            its_spill: Signal::default(),
            ends: Signal::default(),
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
        dff_setup!(self, clock, half, full, running, rotate, end, spill, step_reg, data_reg);
        self.free.next = !self.hold.val()
            & !self.running.q.val()
            & !(self.full.q.val() & self.tlp.data.val().emits);
        self.starts.next = self.free.val() & self.tlp.valid.val();
        self.upper.next = self.half.q.val() & !self.tlp.data.val().late;
        self.tlp.ready.next = self.free.val();
        self.payload.ready.next = (self.running.q.val() & !self.hold.val())
            | (self.starts.val() & self.tlp.data.val().write);

        self.its_rotate.next = self.rotate.q.val();
        self.its_end.next = self.end.q.val();
        self.its_spill.next = self.spill.q.val();
        self.ends.next = self.payload.data.val().last;
        if !self.running.q.val() {
            self.its_rotate.next = self.tlp.data.val().rotate;
            self.its_end.next = self.tlp.data.val().end;
            self.its_spill.next = self.tlp.data.val().spill0;
            self.ends.next = self.tlp.data.val().single;
            if self.upper.val() {
                self.its_rotate.next = self.tlp.data.val().rotate ^ 8;
                self.its_end.next = self.tlp.data.val().end ^ 8;
                self.its_spill.next = self.tlp.data.val().spill8;
            }
        }
        self.shares.next = self.straddle.val() & !self.its_end.val().get_bit(3);

        self.step_reg.d.next.valid = false;
        self.step_reg.d.next.emit = false;
        self.step_reg.d.next.flush = false;
        self.step_reg.d.next.sop = false;
        self.step_reg.d.next.upper = self.upper.val();
        self.step_reg.d.next.eop = self.ends.val() & !self.its_spill.val();
        self.step_reg.d.next.eop_rest = self.ends.val() & self.its_spill.val();
        self.step_reg.d.next.end = self.its_end.val();
        self.step_reg.d.next.rotate = self.its_rotate.val();
        self.step_reg.d.next.from = self.its_rotate.val();
        self.step_reg.d.next.write = self.tlp.data.val().write;
        self.step_reg.d.next.addr = self.tlp.data.val().addr;
        self.step_reg.d.next.dwords = self.tlp.data.val().dwords;
        self.step_reg.d.next.tag = self.tlp.data.val().tag;
        self.step_reg.d.next.first_be = self.tlp.data.val().first_be;
        self.step_reg.d.next.last_be = self.tlp.data.val().last_be;
        self.data_reg.d.next = self.payload.data.val().data;

        if !self.hold.val() {
            self.half.d.next = false;
            self.full.d.next = false;
            if self.running.q.val() {
                // A payload beat that is not the first completes an RQ beat, or the TLP.
                self.step_reg.d.next.valid = true;
                self.step_reg.d.next.emit = true;
                self.running.d.next = !self.ends.val();
                self.half.d.next = self.ends.val() & self.its_spill.val() & self.shares.val();
                self.full.d.next = self.ends.val() & self.its_spill.val() & !self.shares.val();
            } else if self.starts.val() {
                self.step_reg.d.next.valid = true;
                self.step_reg.d.next.sop = true;
                self.step_reg.d.next.emit =
                    self.half.q.val() | self.full.q.val() | self.tlp.data.val().emits;
                self.step_reg.d.next.flush =
                    self.full.q.val() | (self.half.q.val() & self.tlp.data.val().late);
                self.step_reg.d.next.from = 4.into();
                if self.upper.val() {
                    self.step_reg.d.next.from = 12.into();
                }
                self.rotate.d.next = self.its_rotate.val();
                self.end.d.next = self.its_end.val();
                self.spill.d.next = self.its_spill.val();
                self.running.d.next = !self.ends.val();
                self.half.d.next = self.ends.val() & self.shares.val();
                self.full.d.next = self.ends.val() & self.its_spill.val() & !self.shares.val();
            } else if self.half.q.val() | self.full.q.val() {
                self.step_reg.d.next.valid = true;
                self.step_reg.d.next.emit = true;
                self.step_reg.d.next.flush = true;
                self.step_reg.d.next.eop = false;
                self.step_reg.d.next.eop_rest = false;
            }
        }
        self.step.next = self.step_reg.q.val();
        self.data.next = self.data_reg.q.val();
    }
}

ferroce_emit::register_leaf!("pack_steps", PackSteps::default);
ferroce_emit::register_leaf!("pack_steps_one_a_beat", || PackSteps::new(false));
