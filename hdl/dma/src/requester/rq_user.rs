//! Side band of packing.

use super::pack_merge::MERGE_LATENCY;
use super::tlp::{PackStep, PackUser};
use ferroce_emit::prelude::*;
use ferroce_rtl::delay::Delay;

/// Says of each RQ beat which TLPs start and end in it, along with [`PackMerge`](super::pack_merge::PackMerge). A beat that waits for
/// more holds at most one start, in lane 0, and one end, and a read that rides along behind that. Free running.
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
    /// A read that rides along waits, and what belongs to it.
    ride: DFF<Bit>,
    ride_first_be: DFF<Bits<4>>,
    ride_last_be: DFF<Bits<4>>,
    ride_seq: DFF<Bits<6>>,
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
    /// A start that is not a rider's is in the RQ beat.
    begun: Signal<Local, Bit>,
    /// A rider is in the RQ beat, and what belongs to it.
    rides: Signal<Local, Bit>,
    rider_first_be: Signal<Local, Bits<4>>,
    rider_last_be: Signal<Local, Bits<4>>,
    rider_seq: Signal<Local, Bits<6>>,
    /// Behind the step's own start.
    behind: Signal<Local, Bits<6>>,
    read_waits: Signal<Local, Bit>,
    read_starts: Signal<Local, Bit>,
    /// What the step's own TLP has in the second place of a field.
    second_first_be: Signal<Local, Bits<4>>,
    second_last_be: Signal<Local, Bits<4>>,
}

/// Lane in which a read that rides along ends.
const RIDER_END: u64 = 11;

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
            ride: DFF::default(),
            ride_first_be: DFF::default(),
            ride_last_be: DFF::default(),
            ride_seq: DFF::default(),
            eop: DFF::default(),
            end: DFF::default(),
            out: DFF::default(),
            out_valid: DFF::default(),
            ones: Constant::new(0xFFFF.into()),
            now: Signal::default(),
            starts: Signal::default(),
            ends: Signal::default(),
            first_end: Signal::default(),
            begun: Signal::default(),
            rides: Signal::default(),
            rider_first_be: Signal::default(),
            rider_last_be: Signal::default(),
            rider_seq: Signal::default(),
            behind: Signal::default(),
            read_waits: Signal::default(),
            read_starts: Signal::default(),
            second_first_be: Signal::default(),
            second_last_be: Signal::default(),
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
            self,
            clock,
            number,
            sop,
            read,
            first_be,
            last_be,
            seq,
            ride,
            ride_first_be,
            ride_last_be,
            ride_seq,
            eop,
            end,
            out,
            out_valid
        );
        clock!(self, clock, wait);
        self.wait.data_in.next = self.step.val();
        self.now.next = self.wait.data_out.val();
        self.behind.next = self.number.q.val() + bit_cast::<6, 1>(self.now.val().sop.into());
        self.number.d.next = self.behind.val();
        if self.now.val().ride {
            self.number.d.next = self.behind.val() + 1;
        }

        // What waits comes first in the beat, a rider last; a beat with a rider has at most one other TLP that starts and one that ends.
        self.starts.next = self.now.val().sop & !self.now.val().flush;
        self.ends.next = self.now.val().eop & !self.now.val().flush;
        self.begun.next = self.sop.q.val() | self.starts.val();
        self.rides.next = self.ride.q.val() | (self.now.val().ride & !self.now.val().ride_rest);
        self.rider_first_be.next = self.now.val().ride_first_be;
        self.rider_last_be.next = self.now.val().ride_last_be;
        self.rider_seq.next = self.behind.val();
        if self.ride.q.val() {
            self.rider_first_be.next = self.ride_first_be.q.val();
            self.rider_last_be.next = self.ride_last_be.q.val();
            self.rider_seq.next = self.ride_seq.q.val();
        }
        self.out.d.next.is_sop = bit_cast::<2, 1>((self.begun.val() | self.rides.val()).into())
            | (bit_cast::<2, 1>(
                ((self.sop.q.val() & self.starts.val()) | (self.begun.val() & self.rides.val()))
                    .into(),
            ) << 1);
        self.out.d.next.upper = !self.sop.q.val()
            & ((self.starts.val() & self.now.val().upper)
                | (!self.starts.val() & self.rides.val()));
        self.second_first_be.next = self.now.val().first_be;
        self.second_last_be.next = self.now.val().last_be;
        self.out.d.next.seq_num1 = 0.into();
        if self.sop.q.val() & self.starts.val() {
            self.out.d.next.seq_num1 = self.number.q.val();
        }
        if self.begun.val() & self.rides.val() {
            self.second_first_be.next = self.rider_first_be.val();
            self.second_last_be.next = self.rider_last_be.val();
            self.out.d.next.seq_num1 = self.rider_seq.val();
        }
        self.out.d.next.first_be = 0.into();
        self.out.d.next.last_be = 0.into();
        self.out.d.next.seq_num0 = 0.into();
        if self.sop.q.val() {
            self.out.d.next.first_be = bit_cast::<8, 4>(self.first_be.q.val());
            self.out.d.next.last_be = bit_cast::<8, 4>(self.last_be.q.val());
            self.out.d.next.seq_num0 = self.seq.q.val();
            if self.starts.val() | self.rides.val() {
                self.out.d.next.first_be = bit_cast::<8, 4>(self.first_be.q.val())
                    | (bit_cast::<8, 4>(self.second_first_be.val()) << 4);
                self.out.d.next.last_be = bit_cast::<8, 4>(self.last_be.q.val())
                    | (bit_cast::<8, 4>(self.second_last_be.val()) << 4);
            }
        } else if self.starts.val() {
            self.out.d.next.first_be = bit_cast::<8, 4>(self.now.val().first_be);
            self.out.d.next.last_be = bit_cast::<8, 4>(self.now.val().last_be);
            self.out.d.next.seq_num0 = self.number.q.val();
            if self.rides.val() {
                self.out.d.next.first_be = bit_cast::<8, 4>(self.now.val().first_be)
                    | (bit_cast::<8, 4>(self.rider_first_be.val()) << 4);
                self.out.d.next.last_be = bit_cast::<8, 4>(self.now.val().last_be)
                    | (bit_cast::<8, 4>(self.rider_last_be.val()) << 4);
            }
        } else if self.rides.val() {
            self.out.d.next.first_be = bit_cast::<8, 4>(self.rider_first_be.val());
            self.out.d.next.last_be = bit_cast::<8, 4>(self.rider_last_be.val());
            self.out.d.next.seq_num0 = self.rider_seq.val();
        }
        self.read_waits.next = self.sop.q.val() & self.read.q.val();
        self.read_starts.next = self.starts.val() & !self.now.val().write;
        self.out.d.next.reads = bit_cast::<2, 1>(
            (self.read_waits.val() ^ self.read_starts.val() ^ self.rides.val()).into(),
        ) | (bit_cast::<2, 1>(
            ((self.read_waits.val() & (self.read_starts.val() | self.rides.val()))
                | (self.read_starts.val() & self.rides.val()))
            .into(),
        ) << 1);

        self.out.d.next.is_eop =
            bit_cast::<2, 1>((self.eop.q.val() | self.ends.val() | self.rides.val()).into())
                | (bit_cast::<2, 1>(
                    ((self.eop.q.val() & self.ends.val()) | self.rides.val()).into(),
                ) << 1);
        self.first_end.next = self.now.val().end;
        if self.eop.q.val() {
            self.first_end.next = self.end.q.val();
        }
        self.out.d.next.is_eop0_ptr = self.first_end.val();
        self.out.d.next.is_eop1_ptr = self.now.val().end;
        if self.rides.val() {
            self.out.d.next.is_eop1_ptr = RIDER_END.into();
        }
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
            self.ride.d.next = self.now.val().ride & self.now.val().ride_rest;
            self.ride_first_be.d.next = self.now.val().ride_first_be;
            self.ride_last_be.d.next = self.now.val().ride_last_be;
            self.ride_seq.d.next = self.behind.val();
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
