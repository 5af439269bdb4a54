//! Weighted round-robin arbiter of four streams.

use crate::round_robin4::RoundRobin4;
use crate::share_credit::ShareCredit;
use crate::skid::Skid;
use crate::stream::{StreamIn, StreamOut};
use ferroce_emit::prelude::*;

/// Deficit round robin: source `i` gets `weight_i` units of service a round, where an item costs
/// `cost_i` units, if its stream always has an item; a source that has none loses what is left of its share. Item by item,
/// latency 1, output from registers.
///
/// A source with credit zero or more may go on and into debt, so any cost is served. When no waiting source
/// has credit, one cycle without a grant begins the next round: keep weights well above the usual cost.
/// Bit 0 of a weight counts as 1, so that no weight starves a source.
#[derive(LogicBlock, Module, Default)]
pub struct WeightedArb4<T: Synth> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Source 0.
    pub in0: StreamIn<T>,
    /// Source 1.
    pub in1: StreamIn<T>,
    /// Source 2.
    pub in2: StreamIn<T>,
    /// Source 3.
    pub in3: StreamIn<T>,
    /// Cost of the item that source 0 offers.
    pub cost0: Signal<In, Bits<8>>,
    /// Cost of the item that source 1 offers.
    pub cost1: Signal<In, Bits<8>>,
    /// Cost of the item that source 2 offers.
    pub cost2: Signal<In, Bits<8>>,
    /// Cost of the item that source 3 offers.
    pub cost3: Signal<In, Bits<8>>,
    /// Share of source 0.
    pub weight0: Signal<In, Bits<8>>,
    /// Share of source 1.
    pub weight1: Signal<In, Bits<8>>,
    /// Share of source 2.
    pub weight2: Signal<In, Bits<8>>,
    /// Share of source 3.
    pub weight3: Signal<In, Bits<8>>,
    /// Items of all sources.
    pub output: StreamOut<T>,
    credit0: ShareCredit,
    credit1: ShareCredit,
    credit2: ShareCredit,
    credit3: ShareCredit,
    grant: RoundRobin4,
    slice: Skid<T>,
    valid: Signal<Local, Bits<4>>,
    credit: Signal<Local, Bits<4>>,
    granted: Signal<Local, Bits<4>>,
    refill: Signal<Local, Bit>,
}

impl<T: Synth> Logic for WeightedArb4<T> {
    #[kernel]
    fn update(&mut self) {
        clock!(self, clock, grant, slice, credit0, credit1, credit2, credit3);
        self.valid.next = bit_cast::<4, 1>(self.in0.valid.val().into())
            | (bit_cast::<4, 1>(self.in1.valid.val().into()) << 1)
            | (bit_cast::<4, 1>(self.in2.valid.val().into()) << 2)
            | (bit_cast::<4, 1>(self.in3.valid.val().into()) << 3);
        self.credit.next = bit_cast::<4, 1>(self.credit0.available.val().into())
            | (bit_cast::<4, 1>(self.credit1.available.val().into()) << 1)
            | (bit_cast::<4, 1>(self.credit2.available.val().into()) << 2)
            | (bit_cast::<4, 1>(self.credit3.available.val().into()) << 3);
        self.grant.valid.next = self.valid.val() & self.credit.val();
        self.grant.last.next = 15.into();
        self.grant.space.next = self.slice.input.ready.val();
        self.granted.next = self.grant.ready.val() & self.credit.val();
        self.in0.ready.next = self.granted.val().get_bit(0);
        self.in1.ready.next = self.granted.val().get_bit(1);
        self.in2.ready.next = self.granted.val().get_bit(2);
        self.in3.ready.next = self.granted.val().get_bit(3);

        self.refill.next = self.valid.val().any() & !(self.valid.val() & self.credit.val()).any();
        self.credit0.weight.next = self.weight0.val();
        self.credit1.weight.next = self.weight1.val();
        self.credit2.weight.next = self.weight2.val();
        self.credit3.weight.next = self.weight3.val();
        self.credit0.cost.next = self.cost0.val();
        self.credit1.cost.next = self.cost1.val();
        self.credit2.cost.next = self.cost2.val();
        self.credit3.cost.next = self.cost3.val();
        self.credit0.spend.next = self.granted.val().get_bit(0) & self.in0.valid.val();
        self.credit1.spend.next = self.granted.val().get_bit(1) & self.in1.valid.val();
        self.credit2.spend.next = self.granted.val().get_bit(2) & self.in2.valid.val();
        self.credit3.spend.next = self.granted.val().get_bit(3) & self.in3.valid.val();
        self.credit0.refill.next = self.refill.val();
        self.credit1.refill.next = self.refill.val();
        self.credit2.refill.next = self.refill.val();
        self.credit3.refill.next = self.refill.val();

        self.slice.input.valid.next = self.grant.select_valid.val();
        if self.grant.select.val().get_bit(1) {
            if self.grant.select.val().get_bit(0) {
                self.slice.input.data.next = self.in3.data.val();
            } else {
                self.slice.input.data.next = self.in2.data.val();
            }
        } else if self.grant.select.val().get_bit(0) {
            self.slice.input.data.next = self.in1.data.val();
        } else {
            self.slice.input.data.next = self.in0.data.val();
        }
        self.output.data.next = self.slice.output.data.val();
        self.output.valid.next = self.slice.output.valid.val();
        self.slice.output.ready.next = self.output.ready.val();
    }
}

ferroce_emit::register_leaf!("weighted_arb4", WeightedArb4::<Bits<40>>::default);
