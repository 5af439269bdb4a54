//! One source's account in a weighted arbiter.

use ferroce_emit::prelude::*;

/// Credit of a deficit round robin. It starts at 0; service takes it below zero at most once, by less than
/// 256; a refill adds the weight, and takes away what was saved up.
#[derive(LogicBlock, Module, Default)]
pub struct ShareCredit {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Units a refill gives; bit 0 counts as 1.
    pub weight: Signal<In, Bits<8>>,
    /// Units the item costs.
    pub cost: Signal<In, Bits<8>>,
    /// The item is served in this cycle.
    pub spend: Signal<In, Bit>,
    /// A round begins; not with `spend`.
    pub refill: Signal<In, Bit>,
    /// The source is not in debt; from a register.
    pub available: Signal<Out, Bit>,
    /// Two's complement: weights and costs have 8 bits, so that it stays within -255 and 255.
    credit: DFF<Bits<10>>,
    share: Signal<Local, Bits<10>>,
    debt: Signal<Local, Bit>,
}

impl Logic for ShareCredit {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, credit);
        self.share.next = bit_cast::<10, 8>(self.weight.val()) | 1;
        self.debt.next = self.credit.q.val().get_bit(9);
        self.available.next = !self.debt.val();
        if self.spend.val() {
            self.credit.d.next = self.credit.q.val() - bit_cast::<10, 8>(self.cost.val());
        }
        if self.refill.val() {
            self.credit.d.next = self.share.val();
            if self.debt.val() {
                self.credit.d.next = self.credit.q.val() + self.share.val();
            }
        }
    }
}

ferroce_emit::register_leaf!("share_credit", ShareCredit::default);
