//! Credits of reads.

use ferroce_emit::prelude::*;
use ferroce_rtl::delay::Delay;

/// Cycles from a read's beat on RQ until the report surely counts its credit as used: two in the block (PG213 and PG343, "Avoiding
/// Head-of-Line Blocking for Posted Requests") and two to spare. With the nine cycles from the decision to RQ, the highest report of 15 is enough
/// for a read in every cycle.
const REPORT_DELAY: usize = 4;

/// Says whether the host has room for one more read. Reads count from their decision until [`REPORT_DELAY`] cycles after they left, so
/// the report is never believed twice.
#[derive(LogicBlock, Module)]
pub struct ReadCredit {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Non-posted header credits as the block reports them; 15: that many or more.
    pub credit: Signal<In, Bits<4>>,
    /// A read is decided on; only with `open`.
    pub issue: Signal<In, Bit>,
    /// Reads that left on RQ in this cycle, 0 to 2.
    pub left: Signal<In, Bits<2>>,
    /// A read may be decided on in this cycle; from a register.
    pub open: Signal<Out, Bit>,
    reported: DFF<Bits<4>>,
    /// At most the highest report, 15.
    unseen: DFF<Bits<4>>,
    may: DFF<Bit>,
    seen: Delay<Bits<2>>,
}

impl Default for ReadCredit {
    fn default() -> Self {
        Self {
            clock: Signal::default(),
            credit: Signal::default(),
            issue: Signal::default(),
            left: Signal::default(),
            open: Signal::default(),
            reported: DFF::default(),
            unseen: DFF::default(),
            may: DFF::default(),
            seen: Delay::new(REPORT_DELAY),
        }
    }
}

impl Logic for ReadCredit {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, reported, unseen, may);
        clock!(self, clock, seen);
        self.reported.d.next = self.credit.val();
        self.seen.data_in.next = self.left.val();
        self.unseen.d.next = self.unseen.q.val() + bit_cast::<4, 1>(self.issue.val().into())
            - bit_cast::<4, 2>(self.seen.data_out.val());
        // One issue more in this cycle counts already, one that is seen in this cycle counts still.
        self.may.d.next = self.unseen.q.val() < self.reported.q.val();
        if self.issue.val() {
            self.may.d.next =
                bit_cast::<5, 4>(self.unseen.q.val()) + 1 < bit_cast::<5, 4>(self.reported.q.val());
        }
        self.open.next = self.may.q.val();
    }
}

ferroce_emit::register_leaf!("read_credit", ReadCredit::default);
