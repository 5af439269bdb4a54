//! Steps of packing: which payload beat goes with which RQ beat.

use super::tlp::{PackStep, PackTlp};
use crate::desc::RqPayload;
use ferroce_emit::prelude::*;
use ferroce_rtl::stream::StreamIn;

/// Walks over TLPs, writes and reads in turns, one step a cycle: a step for every payload beat, one for a read. The rest of the last payload
/// beat, or a TLP no longer than half an RQ beat, waits for the next step:
///
/// * in lanes 0 to 7, a TLP that starts in lane 8 completes its RQ beat;
/// * a TLP that can't start there, and any TLP behind more lanes, starts in the next RQ beat. If its first payload beat does not complete that one, or
///   is all of it, its first step sends the waiting one off;
/// * else the waiting RQ beat leaves in a step of its own.
///
/// A read needs no step when a write ends in lanes 0 to 7: it rides along behind the write's end. Unaligned writes have as many payload beats
/// as RQ beats, so a step of its own would be a lost RQ beat.
///
/// From a TLP's first RQ beat on, every step gives one until no TLP is unfinished: a step that gives none is the first of its TLP and finds
/// nothing waiting.
#[derive(LogicBlock, Module)]
pub struct PackSteps {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Writes.
    pub tlp: StreamIn<PackTlp>,
    /// Reads, from registers.
    pub read: StreamIn<PackTlp>,
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
    /// A write has started since the last read got its place.
    read_turn: DFF<Bit>,
    rotate: DFF<Bits<4>>,
    end: DFF<Bits<4>>,
    spill: DFF<Bit>,
    step_reg: DFF<PackStep>,
    data_reg: DFF<Bits<512>>,
    /// A TLP may start.
    free: Signal<Local, Bit>,
    /// What waits has no room beside the first step of the write.
    blocked: Signal<Local, Bit>,
    /// The write would end in lanes 0 to 7 of a beat.
    carries: Signal<Local, Bit>,
    read_next: Signal<Local, Bit>,
    write_starts: Signal<Local, Bit>,
    read_starts: Signal<Local, Bit>,
    /// What starts, if anything does.
    first: Signal<Local, PackTlp>,
    /// A read rides along.
    rides: Signal<Local, Bit>,
    /// The step's TLP ends in the rest.
    in_rest: Signal<Local, Bit>,
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
            read: StreamIn::default(),
            payload: StreamIn::default(),
            hold: Signal::default(),
            step: Signal::default(),
            data: Signal::default(),
            straddle: Constant::new(straddle),
            half: DFF::default(),
            full: DFF::default(),
            running: DFF::default(),
            read_turn: DFF::default(),
            rotate: DFF::default(),
            end: DFF::default(),
            spill: DFF::default(),
            step_reg: DFF::default(),
            data_reg: DFF::default(),
            free: Signal::default(),
            blocked: Signal::default(),
            carries: Signal::default(),
            read_next: Signal::default(),
            write_starts: Signal::default(),
            read_starts: Signal::default(),
            first: Signal::default(),
            rides: Signal::default(),
            in_rest: Signal::default(),
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
        dff_setup!(
            self, clock, half, full, running, read_turn, rotate, end, spill, step_reg, data_reg
        );
        self.free.next = !self.hold.val() & !self.running.q.val();
        self.blocked.next = self.full.q.val()
            & self.tlp.data.val().emits
            & (!self.tlp.data.val().single | self.tlp.data.val().spill0);
        // A write that the read can ride on goes first, so that the read costs no step.
        self.carries.next = self.straddle.val()
            & (self.tlp.data.val().end.get_bit(3)
                == (self.half.q.val() & !self.tlp.data.val().late));
        self.read_next.next = self.read_turn.q.val() & !(self.tlp.valid.val() & self.carries.val());
        self.tlp.ready.next =
            self.free.val() & !self.blocked.val() & !(self.read.valid.val() & self.read_next.val());
        self.write_starts.next = self.tlp.ready.val() & self.tlp.valid.val();
        self.read_starts.next = self.free.val()
            & self.read.valid.val()
            & (self.read_next.val() | !self.tlp.valid.val());
        self.payload.ready.next =
            (self.running.q.val() & !self.hold.val()) | self.write_starts.val();

        self.first.next = self.tlp.data.val();
        if self.read_starts.val() {
            self.first.next = self.read.data.val();
        }
        self.upper.next = self.half.q.val() & !self.first.val().late;
        self.its_rotate.next = self.rotate.q.val();
        self.its_end.next = self.end.q.val();
        self.its_spill.next = self.spill.q.val();
        self.ends.next = self.payload.data.val().last;
        if !self.running.q.val() {
            self.its_rotate.next = self.first.val().rotate;
            self.its_end.next = self.first.val().end;
            self.its_spill.next = self.first.val().spill0;
            self.ends.next = self.first.val().single;
            if self.upper.val() {
                self.its_rotate.next = self.first.val().rotate ^ 8;
                self.its_end.next = self.first.val().end ^ 8;
                self.its_spill.next = self.first.val().spill8;
            }
        }
        self.shares.next = self.straddle.val() & !self.its_end.val().get_bit(3);
        self.rides.next =
            self.read.valid.val() & self.payload.ready.val() & self.ends.val() & self.shares.val();
        self.read.ready.next = self.read_starts.val() | self.rides.val();

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
        self.step_reg.d.next.write = self.first.val().write;
        self.step_reg.d.next.addr = self.first.val().addr;
        self.step_reg.d.next.dwords = self.first.val().dwords;
        self.step_reg.d.next.tag = self.first.val().tag;
        self.step_reg.d.next.first_be = self.first.val().first_be;
        self.step_reg.d.next.last_be = self.first.val().last_be;
        self.step_reg.d.next.ride = self.rides.val();
        self.step_reg.d.next.ride_addr = self.read.data.val().addr;
        self.step_reg.d.next.ride_dwords = self.read.data.val().dwords;
        self.step_reg.d.next.ride_tag = self.read.data.val().tag;
        self.step_reg.d.next.ride_first_be = self.read.data.val().first_be;
        self.step_reg.d.next.ride_last_be = self.read.data.val().last_be;
        self.data_reg.d.next = self.payload.data.val().data;

        self.in_rest.next = self.its_spill.val();
        if !self.running.q.val() {
            self.in_rest.next = self.its_spill.val()
                | self.full.q.val()
                | (self.half.q.val() & self.first.val().late);
        }
        self.step_reg.d.next.ride_rest = self.in_rest.val();
        if !self.hold.val() {
            self.half.d.next = false;
            self.full.d.next = false;
            if self.running.q.val() {
                // A payload beat that is not the first completes an RQ beat, or the TLP.
                self.step_reg.d.next.valid = true;
                self.step_reg.d.next.emit = true;
                self.running.d.next = !self.ends.val();
                self.half.d.next =
                    self.ends.val() & self.its_spill.val() & self.shares.val() & !self.rides.val();
                self.full.d.next = self.ends.val()
                    & self.its_spill.val()
                    & (!self.shares.val() | self.rides.val());
            } else if self.write_starts.val() | self.read_starts.val() {
                self.step_reg.d.next.valid = true;
                self.step_reg.d.next.sop = true;
                self.step_reg.d.next.emit = self.half.q.val()
                    | self.full.q.val()
                    | self.first.val().emits
                    | self.rides.val();
                self.step_reg.d.next.flush =
                    self.full.q.val() | (self.half.q.val() & self.first.val().late);
                self.step_reg.d.next.from = 4.into();
                if self.upper.val() {
                    self.step_reg.d.next.from = 12.into();
                }
                self.rotate.d.next = self.its_rotate.val();
                self.end.d.next = self.its_end.val();
                self.spill.d.next = self.its_spill.val();
                self.running.d.next = !self.ends.val();
                self.half.d.next = self.ends.val() & self.shares.val() & !self.rides.val();
                self.full.d.next =
                    self.ends.val() & self.in_rest.val() & (!self.shares.val() | self.rides.val());
            } else if self.half.q.val() | self.full.q.val() {
                self.step_reg.d.next.valid = true;
                self.step_reg.d.next.emit = true;
                self.step_reg.d.next.flush = true;
                self.step_reg.d.next.eop = false;
                self.step_reg.d.next.eop_rest = false;
            }
        }
        if self.write_starts.val() {
            self.read_turn.d.next = true;
        }
        if self.read.ready.val() {
            self.read_turn.d.next = false;
        }
        self.step.next = self.step_reg.q.val();
        self.data.next = self.data_reg.q.val();
    }
}

ferroce_emit::register_leaf!("pack_steps", PackSteps::default);
ferroce_emit::register_leaf!("pack_steps_one_a_beat", || PackSteps::new(false));
