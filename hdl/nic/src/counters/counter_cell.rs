//! One counter's share of the counter bank.

use ferroce_emit::prelude::*;

/// Collects amounts until a token comes by, then puts the sum on the chain. The token takes two
/// cycles a cell and an amount takes one, so amounts of neighbours leave the chain in neighbouring
/// cycles.
#[derive(LogicBlock, Module, Default)]
pub struct CounterCell {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Amount of this cycle.
    pub add: Signal<In, Bits<16>>,
    /// The token is here.
    pub token: Signal<In, Bit>,
    /// The token, two cycles later.
    pub token_out: Signal<Out, Bit>,
    /// Another cell's amount.
    pub amount: Signal<In, Bits<16>>,
    /// It one cycle later, or this cell's.
    pub amount_out: Signal<Out, Bits<16>>,
    pending: DFF<Bits<16>>,
    token1: DFF<Bit>,
    token2: DFF<Bit>,
    passing: DFF<Bits<16>>,
}

impl Logic for CounterCell {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, pending, token1, token2, passing);
        self.token1.d.next = self.token.val();
        self.token2.d.next = self.token1.q.val();
        self.token_out.next = self.token2.q.val();
        self.pending.d.next = self.pending.q.val() + self.add.val();
        self.passing.d.next = self.amount.val();
        if self.token.val() {
            self.pending.d.next = self.add.val();
            self.passing.d.next = self.pending.q.val();
        }
        self.amount_out.next = self.passing.q.val();
    }
}

ferroce_emit::register_leaf!("counter_cell", CounterCell::default);
