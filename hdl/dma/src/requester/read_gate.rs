//! When reads may leave.

use super::read_credit::ReadCredit;
use super::tlp::PackTlp;
use crate::desc::RqTlp;
use ferroce_emit::prelude::*;
use ferroce_rtl::skid::Skid;
use ferroce_rtl::stream::{StreamIn, StreamOut};

/// Lets reads pass in order, each only when the host has a credit for it, and an ordered one only when every DMA write that was taken before it
/// has its place on RQ. A read a cycle, an ordered one in three. Nothing here holds back writes, so an ordered read's turn always comes.
#[derive(LogicBlock, Module)]
pub struct ReadGate {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Reads.
    pub requests: StreamIn<RqTlp>,
    /// The same with their plans.
    pub reads: StreamOut<PackTlp>,
    /// Non-posted header credits as the block reports them; 15: that many or more.
    pub credit: Signal<In, Bits<4>>,
    /// The last beat of a DMA write was taken in this cycle.
    pub write_taken: Signal<In, Bit>,
    /// The last TLP of a DMA write got its place in this cycle.
    pub write_placed: Signal<In, Bit>,
    /// Reads that left on RQ in this cycle.
    pub reads_left: Signal<In, Bits<2>>,
    straddle: Constant<Bit>,
    credits: ReadCredit,
    slice: Skid<PackTlp>,
    head: DFF<RqTlp>,
    head_valid: DFF<Bit>,
    /// Writes taken and placed, modulo 256. Fewer than 128 are between: each has a beat in a FIFO of 64 or in the few registers around it.
    taken: DFF<Bits<8>>,
    placed: DFF<Bits<8>>,
    /// `taken` when the head came.
    mark: DFF<Bits<8>>,
    /// All writes before the head are placed.
    behind: DFF<Bit>,
    missing: Signal<Local, Bits<8>>,
    pass: Signal<Local, Bit>,
    load: Signal<Local, Bit>,
    plan: Signal<Local, PackTlp>,
}

impl ReadGate {
    /// With or without two TLPs in an RQ beat.
    #[must_use]
    pub fn new(straddle: bool) -> Self {
        Self {
            clock: Signal::default(),
            requests: StreamIn::default(),
            reads: StreamOut::default(),
            credit: Signal::default(),
            write_taken: Signal::default(),
            write_placed: Signal::default(),
            reads_left: Signal::default(),
            straddle: Constant::new(straddle),
            credits: ReadCredit::default(),
            slice: Skid::default(),
            head: DFF::default(),
            head_valid: DFF::default(),
            taken: DFF::default(),
            placed: DFF::default(),
            mark: DFF::default(),
            behind: DFF::default(),
            missing: Signal::default(),
            pass: Signal::default(),
            load: Signal::default(),
            plan: Signal::default(),
        }
    }
}

/// With straddling.
impl Default for ReadGate {
    fn default() -> Self {
        Self::new(true)
    }
}

impl Logic for ReadGate {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, head, head_valid, taken, placed, mark, behind);
        clock!(self, clock, credits, slice);
        self.taken.d.next = self.taken.q.val() + bit_cast::<8, 1>(self.write_taken.val().into());
        self.placed.d.next = self.placed.q.val() + bit_cast::<8, 1>(self.write_placed.val().into());

        self.pass.next = self.head_valid.q.val()
            & self.credits.open.val()
            & self.slice.input.ready.val()
            & (self.behind.q.val() | !self.head.q.val().ordered);
        self.load.next = self.pass.val() | !self.head_valid.q.val();
        self.requests.ready.next = self.load.val();
        self.missing.next = self.placed.q.val() - self.mark.q.val();
        self.behind.d.next = !self.missing.val().get_bit(7);
        if self.load.val() {
            self.head.d.next = self.requests.data.val();
            self.head_valid.d.next = self.requests.valid.val();
            self.mark.d.next = self.taken.q.val();
            self.behind.d.next = false;
        }
        self.credits.credit.next = self.credit.val();
        self.credits.issue.next = self.pass.val();
        self.credits.left.next = self.reads_left.val();

        // A descriptor alone: four lanes.
        self.plan.next.write = false;
        self.plan.next.addr = self.head.q.val().addr;
        self.plan.next.dwords = self.head.q.val().dwords;
        self.plan.next.first_be = self.head.q.val().first_be;
        self.plan.next.last_be = self.head.q.val().last_be;
        self.plan.next.tag = self.head.q.val().tag;
        self.plan.next.closes = false;
        self.plan.next.rotate = 0.into();
        self.plan.next.single = true;
        self.plan.next.late = false;
        self.plan.next.emits = !self.straddle.val();
        self.plan.next.end = 3.into();
        self.plan.next.spill0 = false;
        self.plan.next.spill8 = false;
        self.slice.input.data.next = self.plan.val();
        self.slice.input.valid.next = self.pass.val();
        StreamOut::<PackTlp>::link(&mut self.reads, &mut self.slice.output);
    }
}

ferroce_emit::register_leaf!("read_gate", ReadGate::default);
