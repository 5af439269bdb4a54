//! Bits of signals, and of things that Verilog can't slice.

use ferroce_emit::harness::Inputs;
use ferroce_emit::prelude::*;
use ferroce_emit::register_leaf;

/// Casts cut and extend like Rust's, also around sums.
#[derive(LogicBlock, Module, Default)]
struct Casts {
    pub a: Signal<In, Bits<40>>,
    pub b: Signal<In, Bits<40>>,
    pub cut: Signal<Out, Bits<9>>,
    pub cut_sum: Signal<Out, Bits<9>>,
    pub cut_difference: Signal<Out, Bits<40>>,
    pub back: Signal<Out, Bits<40>>,
    pub extended_sum: Signal<Out, Bits<64>>,
    pub compared: Signal<Out, Bit>,
    pub from_literal: Signal<Out, Bits<100>>,
    pub of_extended: Signal<Out, Bits<6>>,
    pub across: Signal<Out, Bits<6>>,
}

impl Logic for Casts {
    #[kernel]
    fn update(&mut self) {
        self.cut.next = bit_cast::<9, 40>(self.a.val());
        self.cut_sum.next = bit_cast::<9, 40>(self.a.val() + self.b.val() + 3);
        self.cut_difference.next =
            bit_cast::<40, 12>(bit_cast::<12, 40>(self.a.val() - self.b.val())) + self.b.val();
        self.back.next = bit_cast::<40, 33>(bit_cast::<33, 40>(!self.a.val()));
        self.extended_sum.next = bit_cast::<64, 40>(self.a.val() + self.b.val()) + 1;
        self.compared.next = bit_cast::<8, 40>(self.a.val() + 1) == bit_cast::<8, 40>(self.b.val());
        self.of_extended.next = bit_cast::<64, 40>(self.a.val()).get_bits::<6>(11);
        self.across.next = bit_cast::<64, 40>(self.a.val() ^ self.b.val()).get_bits::<6>(37);
        self.from_literal.next = bits::<100>(0xFFFF_FFFF_FFFF) + bit_cast::<100, 40>(self.a.val());
    }
}
register_leaf!("casts", Casts::default);

/// `get_bits` gives zeros past the end and never an unknown.
#[derive(LogicBlock, Module, Default)]
struct GetBits {
    pub data: Signal<In, Bits<512>>,
    pub small: Signal<In, Bits<20>>,
    pub lane: Signal<In, Bits<3>>,
    pub bit: Signal<In, Bits<9>>,
    pub place: Signal<In, Bits<5>>,
    pub fixed: Signal<Out, Bits<64>>,
    pub lane_data: Signal<Out, Bits<64>>,
    pub scaled: Signal<Out, Bits<64>>,
    pub any_place: Signal<Out, Bits<64>>,
    pub past_end: Signal<Out, Bits<8>>,
    pub single: Signal<Out, Bit>,
    pub of_sum: Signal<Out, Bits<6>>,
    pub of_sum_high: Signal<Out, Bits<6>>,
    pub bit_of_sum: Signal<Out, Bit>,
    pub of_shift: Signal<Out, Bits<6>>,
    pub small_bit: Signal<Out, Bit>,
    pub of_shifted_place: Signal<Out, Bits<4>>,
}

impl Logic for GetBits {
    #[kernel]
    fn update(&mut self) {
        self.fixed.next = self.data.val().get_bits::<64>(448);
        self.lane_data.next = self.data.val().get_bits::<64>(self.lane.val().index() * 64);
        self.scaled.next = self
            .data
            .val()
            .get_bits::<64>((bit_cast::<9, 3>(self.lane.val()) << 6).index());
        self.any_place.next = self.data.val().get_bits::<64>(self.bit.val().index());
        self.past_end.next = self.small.val().get_bits::<8>(self.place.val().index());
        self.single.next = self.data.val().get_bit(self.bit.val().index());
        self.of_sum.next = (self.small.val() + 77).get_bits::<6>(0);
        self.of_sum_high.next = (self.small.val() + self.small.val() + 77).get_bits::<6>(13);
        self.bit_of_sum.next = (self.small.val() - 1).get_bit(19);
        self.of_shift.next = (self.small.val() >> self.lane.val()).get_bits::<6>(2);
        self.small_bit.next = self.small.val().get_bit(self.place.val().index());
        self.of_shifted_place.next = self
            .data
            .val()
            .get_bits::<4>((bit_cast::<9, 3>(self.lane.val()) << self.lane.val()).index());
    }
}
register_leaf!("get_bits", GetBits::default, |inputs: &mut Inputs| {
    // Beyond the end Rust refuses an index, and hardware gives anything.
    let place = inputs.get("place") % 20;
    inputs.set("place", place);
});

/// Sums of indices: `Bits` wrap, `usize` does not.
#[derive(LogicBlock, Module, Default)]
struct IndexSums {
    pub data: Signal<In, Bits<40>>,
    pub at: Signal<In, Bits<4>>,
    pub wrapped: Signal<Out, Bits<3>>,
    pub counted_on: Signal<Out, Bits<3>>,
    pub both: Signal<Out, Bit>,
}

impl Logic for IndexSums {
    #[kernel]
    fn update(&mut self) {
        self.wrapped.next = self.data.val().get_bits::<3>((self.at.val() + 9).index());
        self.counted_on.next = self.data.val().get_bits::<3>(self.at.val().index() + 9);
        self.both.next = self.data.val().get_bit((self.at.val() + 7).index() * 2 + 1);
    }
}
register_leaf!("index_sums", IndexSums::default);

/// `replace_bit` of constants, variables and expressions.
#[derive(LogicBlock, Module, Default)]
struct ReplaceBit {
    pub data: Signal<In, Bits<48>>,
    pub at: Signal<In, Bits<5>>,
    pub bit: Signal<In, Bit>,
    pub first: Signal<Out, Bits<48>>,
    pub last: Signal<Out, Bits<48>>,
    pub chosen: Signal<Out, Bits<48>>,
    pub twice: Signal<Out, Bits<48>>,
    pub of_sum: Signal<Out, Bits<48>>,
}

impl Logic for ReplaceBit {
    #[kernel]
    fn update(&mut self) {
        self.first.next = self.data.val().replace_bit(0, self.bit.val());
        self.last.next = self.data.val().replace_bit(47, !self.bit.val());
        self.chosen.next = self
            .data
            .val()
            .replace_bit(self.at.val().index(), self.bit.val());
        self.twice.next = self
            .data
            .val()
            .replace_bit(self.at.val().index() + 16, true)
            .replace_bit(7, self.bit.val());
        self.of_sum.next = (self.data.val() + 1).replace_bit(self.at.val().index(), self.bit.val());
    }
}
register_leaf!("replace_bit", ReplaceBit::default);
