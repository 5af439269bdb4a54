//! Side band of packing.

use super::pack_merge::MERGE_LATENCY;
use super::tlp::{PackStep, PackUser};
use ferroce_emit::prelude::*;
use ferroce_rtl::delay::Delay;

/// Says of each RQ beat which TLPs start and end in it, along with [`PackMerge`](super::pack_merge::PackMerge). A beat that waits for
/// more holds at most one start, in lane 0, and one end. Free running.
#[derive(LogicBlock, Module)]
pub struct RqUser {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// The step.
    pub step: Signal<In, PackStep>,
    /// What its RQ beat needs, [`MERGE_LATENCY`] cycles later.
    pub side: Signal<Out, PackUser>,
    /// The step gave an RQ beat.
    pub valid: Signal<Out, Bit>,
    straddle: Constant<Bit>,
    wait: Delay<PackStep>,
    /// Number of the next TLP.
    number: DFF<Bits<6>>,
    /// A start waits, and what belongs to it.
    sop: DFF<Bit>,
    read: DFF<Bit>,
    first_be: DFF<Bits<4>>,
    last_be: DFF<Bits<4>>,
    seq: DFF<Bits<6>>,
    /// An end waits, and its lane.
    eop: DFF<Bit>,
    end: DFF<Bits<4>>,
    out: DFF<PackUser>,
    out_valid: DFF<Bit>,
    ones: Constant<Bits<16>>,
    now: Signal<Local, PackStep>,
    starts: Signal<Local, Bit>,
    ends: Signal<Local, Bit>,
    first_end: Signal<Local, Bits<4>>,
}

impl RqUser {
    /// With or without two TLPs in a beat.
    #[must_use]
    pub fn new(straddle: bool) -> Self {
        Self {
            clock: Signal::default(),
            step: Signal::default(),
            side: Signal::default(),
            valid: Signal::default(),
            straddle: Constant::new(straddle),
            wait: Delay::new(MERGE_LATENCY - 1),
            number: DFF::default(),
            sop: DFF::default(),
            read: DFF::default(),
            first_be: DFF::default(),
            last_be: DFF::default(),
            seq: DFF::default(),
            eop: DFF::default(),
            end: DFF::default(),
            out: DFF::default(),
            out_valid: DFF::default(),
            ones: Constant::new(0xFFFF.into()),
            now: Signal::default(),
            starts: Signal::default(),
            ends: Signal::default(),
            first_end: Signal::default(),
        }
    }
}

/// With straddling.
impl Default for RqUser {
    fn default() -> Self {
        Self::new(true)
    }
}

impl Logic for RqUser {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self, clock, number, sop, read, first_be, last_be, seq, eop, end, out, out_valid
        );
        clock!(self, clock, wait);
        self.wait.data_in.next = self.step.val();
        self.now.next = self.wait.data_out.val();
        if self.now.val().sop {
            self.number.d.next = self.number.q.val() + 1;
        }

        // What waits comes first in the beat.
        self.starts.next = self.now.val().sop & !self.now.val().flush;
        self.ends.next = self.now.val().eop & !self.now.val().flush;
        self.out.d.next.is_sop = bit_cast::<2, 1>((self.sop.q.val() | self.starts.val()).into())
            | (bit_cast::<2, 1>((self.sop.q.val() & self.starts.val()).into()) << 1);
        self.out.d.next.upper = !self.sop.q.val() & self.starts.val() & self.now.val().upper;
        self.out.d.next.first_be = 0.into();
        self.out.d.next.last_be = 0.into();
        self.out.d.next.seq_num0 = 0.into();
        self.out.d.next.seq_num1 = 0.into();
        if self.sop.q.val() {
            self.out.d.next.first_be = bit_cast::<8, 4>(self.first_be.q.val());
            self.out.d.next.last_be = bit_cast::<8, 4>(self.last_be.q.val());
            self.out.d.next.seq_num0 = self.seq.q.val();
            if self.starts.val() {
                self.out.d.next.first_be = bit_cast::<8, 4>(self.first_be.q.val())
                    | (bit_cast::<8, 4>(self.now.val().first_be) << 4);
                self.out.d.next.last_be = bit_cast::<8, 4>(self.last_be.q.val())
                    | (bit_cast::<8, 4>(self.now.val().last_be) << 4);
                self.out.d.next.seq_num1 = self.number.q.val();
            }
        } else if self.starts.val() {
            self.out.d.next.first_be = bit_cast::<8, 4>(self.now.val().first_be);
            self.out.d.next.last_be = bit_cast::<8, 4>(self.now.val().last_be);
            self.out.d.next.seq_num0 = self.number.q.val();
        }
        self.out.d.next.reads = bit_cast::<2, 1>((self.sop.q.val() & self.read.q.val()).into())
            + bit_cast::<2, 1>((self.starts.val() & !self.now.val().write).into());

        self.out.d.next.is_eop = bit_cast::<2, 1>((self.eop.q.val() | self.ends.val()).into())
            | (bit_cast::<2, 1>((self.eop.q.val() & self.ends.val()).into()) << 1);
        self.first_end.next = self.now.val().end;
        if self.eop.q.val() {
            self.first_end.next = self.end.q.val();
        }
        self.out.d.next.is_eop0_ptr = self.first_end.val();
        self.out.d.next.is_eop1_ptr = self.now.val().end;
        // The block wants all ones when straddling is on.
        self.out.d.next.keep = self.ones.val();
        if !self.straddle.val() & (self.eop.q.val() | self.ends.val()) {
            self.out.d.next.keep = self.ones.val() >> !self.first_end.val();
        }
        self.out_valid.d.next = self.now.val().emit;

        // What a beat that was not given holds, or what begins the next one.
        if self.now.val().valid {
            self.read.d.next = !self.now.val().write;
            self.first_be.d.next = self.now.val().first_be;
            self.last_be.d.next = self.now.val().last_be;
            self.seq.d.next = self.number.q.val();
            self.end.d.next = self.now.val().end;
            self.sop.d.next = self.now.val().sop;
            self.eop.d.next = self.now.val().eop;
            if self.now.val().emit & !self.now.val().flush {
                self.sop.d.next = false;
                self.eop.d.next = self.now.val().eop_rest;
            }
        }
        self.side.next = self.out.q.val();
        self.valid.next = self.out_valid.q.val();
    }
}

ferroce_emit::register_leaf!("rq_user", RqUser::default);
ferroce_emit::register_leaf!("rq_user_one_a_beat", || RqUser::new(false));
