//! Where sums wrap, what operators mean, how shifts end.

use ferroce_emit::prelude::*;
use ferroce_emit::register_leaf;

type W = Bits<24>;

/// `(a + 1) == b` wraps at 24 bits; the PSN window test is right after wrap.
#[derive(LogicBlock, Module, Default)]
struct Wrap {
    pub a: Signal<In, W>,
    pub b: Signal<In, W>,
    pub next_is: Signal<Out, Bit>,
    pub in_window: Signal<Out, Bit>,
    pub below: Signal<Out, Bit>,
    pub literal_first: Signal<Out, Bit>,
    pub average: Signal<Out, W>,
    pub carry: Signal<Out, Bits<25>>,
}

impl Logic for Wrap {
    #[kernel]
    fn update(&mut self) {
        self.next_is.next = (self.a.val() + 1) == self.b.val();
        self.in_window.next = (self.a.val() - self.b.val()) < 0x80_0000;
        self.below.next = self.a.val() - 1 <= self.b.val() + 3;
        self.literal_first.next = 5 - self.a.val() > 1 + self.b.val();
        self.average.next = (self.a.val() + self.b.val()) >> 1;
        self.carry.next = bit_cast::<25, 24>(self.a.val()) + bit_cast::<25, 24>(self.b.val());
    }
}
register_leaf!("wrap", Wrap::default);

/// `a & b == c` is `(a & b) == c` in Rust.
#[derive(LogicBlock, Module, Default)]
struct Precedence {
    pub a: Signal<In, W>,
    pub b: Signal<In, W>,
    pub c: Signal<In, W>,
    pub p: Signal<In, Bit>,
    pub q: Signal<In, Bit>,
    pub masked: Signal<Out, Bit>,
    pub mixed: Signal<Out, W>,
    pub shifted: Signal<Out, W>,
    pub logic: Signal<Out, Bit>,
    pub negated: Signal<Out, Bit>,
}

impl Logic for Precedence {
    #[kernel]
    fn update(&mut self) {
        self.masked.next = self.a.val() & self.b.val() == self.c.val();
        self.mixed.next = self.a.val() | self.b.val() ^ self.c.val() & self.a.val() + self.b.val();
        self.shifted.next = self.a.val() + self.b.val() << 2 | self.c.val() >> 3;
        self.logic.next = self.p.val() & (self.a.val() == self.b.val()) | self.q.val()
            && !self.p.val()
            || self.a.val() > self.c.val();
        self.negated.next = !(self.p.val() | self.q.val()) ^ self.p.val();
    }
}
register_leaf!("precedence", Precedence::default);

/// Shifts by the width or more give 0, whatever carries the amount.
#[derive(LogicBlock, Module, Default)]
struct Shifts {
    pub narrow: Signal<In, Bits<5>>,
    pub value: Signal<In, W>,
    pub wide: Signal<In, Bits<70>>,
    pub amount: Signal<In, Bits<6>>,
    pub far: Signal<In, Bits<40>>,
    pub left: Signal<Out, W>,
    pub right: Signal<Out, W>,
    pub wide_left: Signal<Out, Bits<70>>,
    pub wide_right: Signal<Out, Bits<70>>,
    pub far_left: Signal<Out, Bits<70>>,
    pub far_right: Signal<Out, Bits<70>>,
    pub one_hot: Signal<Out, Bits<64>>,
    pub gone: Signal<Out, W>,
    pub low: Signal<Out, Bits<4>>,
    pub sum_shifted: Signal<Out, Bits<4>>,
    pub nested: Signal<Out, Bits<70>>,
}

impl Logic for Shifts {
    #[kernel]
    fn update(&mut self) {
        self.left.next = self.value.val() << self.amount.val();
        self.right.next = self.value.val() >> self.amount.val();
        self.wide_left.next = self.wide.val() << self.amount.val();
        self.wide_right.next = self.wide.val() >> (self.amount.val() + 9);
        self.far_left.next = self.wide.val() << self.far.val();
        self.far_right.next = self.wide.val() >> self.far.val();
        self.one_hot.next = 1 << self.narrow.val();
        self.gone.next = self.value.val() << 24;
        self.nested.next =
            self.wide.val() >> (bit_cast::<7, 5>(self.narrow.val()) << self.amount.val());
        self.low.next = bit_cast::<4, 24>(self.value.val() << self.amount.val());
        self.sum_shifted.next =
            bit_cast::<4, 24>((self.value.val() + self.value.val() + 7) >> self.amount.val());
    }
}
register_leaf!("shifts", Shifts::default);

/// Reductions, and bits that count.
#[derive(LogicBlock, Module, Default)]
struct Reductions {
    pub narrow: Signal<In, Bits<7>>,
    pub wide: Signal<In, Bits<512>>,
    pub single: Signal<In, Bits<1>>,
    pub bit: Signal<In, Bit>,
    pub all: Signal<Out, Bits<3>>,
    pub any: Signal<Out, Bits<3>>,
    pub parity: Signal<Out, Bits<3>>,
    pub counted: Signal<Out, Bits<7>>,
    pub same: Signal<Out, Bit>,
    pub inverted_any: Signal<Out, Bit>,
}

impl Logic for Reductions {
    #[kernel]
    fn update(&mut self) {
        self.all.next = bit_cast::<3, 1>(self.narrow.val().all().into())
            | bit_cast::<3, 1>(self.wide.val().all().into()) << 1
            | bit_cast::<3, 1>(self.single.val().all().into()) << 2;
        self.any.next = bit_cast::<3, 1>(self.narrow.val().any().into())
            | bit_cast::<3, 1>(self.wide.val().any().into()) << 1
            | bit_cast::<3, 1>(self.single.val().any().into()) << 2;
        self.parity.next = bit_cast::<3, 1>(self.narrow.val().xor().into())
            | bit_cast::<3, 1>(self.wide.val().xor().into()) << 1
            | bit_cast::<3, 1>(self.single.val().xor().into()) << 2;
        self.counted.next = self.narrow.val() + self.bit.val();
        self.same.next = self.single.val() == self.bit.val();
        self.inverted_any.next = (!self.narrow.val()).any();
    }
}
register_leaf!("reductions", Reductions::default);

/// Two's complement.
#[derive(LogicBlock, Module, Default)]
struct SignedNumbers {
    pub a: Signal<In, Bits<12>>,
    pub b: Signal<In, Bits<12>>,
    pub less: Signal<Out, Bit>,
    pub at_least: Signal<Out, Bit>,
    pub difference: Signal<Out, Bits<12>>,
    pub negative: Signal<Out, Bits<12>>,
}

impl Logic for SignedNumbers {
    #[kernel]
    fn update(&mut self) {
        self.less.next = signed_cast(self.a.val()) < signed_cast(self.b.val());
        self.at_least.next = signed_cast(self.a.val() + 1) >= signed_cast(self.b.val());
        self.difference.next = unsigned_cast(signed_cast(self.a.val()) - signed_cast(self.b.val()));
        self.negative.next = unsigned_cast(-signed_cast(self.a.val()));
    }
}
register_leaf!("signed_numbers", SignedNumbers::default);
