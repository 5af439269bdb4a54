//! Byte rotator of a beat.

use ferroce_emit::prelude::*;

/// Cycles through [`Rotate64`].
pub const ROTATE_LATENCY: usize = 3;

/// Rotates 64 bytes up by 0 to 63 places: byte `k` of `data_in` becomes byte `(k + amount) mod 64` of
/// `data_out`. (Down by `n` is up by `64 - n`.) Free running, latency 3, one 4:1 multiplexer a stage.
/// `side_in` of any type (valid bits, lengths) goes along.
#[derive(LogicBlock, Module, Default)]
pub struct Rotate64<S: Synth> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// 64 bytes, byte 0 in bits 7:0.
    pub data_in: Signal<In, Bits<512>>,
    /// Bytes to rotate by.
    pub amount: Signal<In, Bits<6>>,
    /// Goes along.
    pub side_in: Signal<In, S>,
    /// Rotated bytes of three cycles ago.
    pub data_out: Signal<Out, Bits<512>>,
    /// `side_in` of three cycles ago.
    pub side_out: Signal<Out, S>,
    by16: DFF<Bits<512>>,
    amount1: DFF<Bits<4>>,
    side1: DFF<S>,
    by4: DFF<Bits<512>>,
    amount2: DFF<Bits<2>>,
    side2: DFF<S>,
    by1: DFF<Bits<512>>,
    side3: DFF<S>,
    sixteens: Signal<Local, Bits<2>>,
    fours: Signal<Local, Bits<2>>,
}

impl<S: Synth> Logic for Rotate64<S> {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, by16, amount1, side1, by4, amount2, side2, by1, side3);
        self.sixteens.next = self.amount.val().get_bits::<2>(4);
        self.by16.d.next = self.data_in.val();
        if self.sixteens.val() == 1 {
            self.by16.d.next = (self.data_in.val() << 128) | (self.data_in.val() >> 384);
        }
        if self.sixteens.val() == 2 {
            self.by16.d.next = (self.data_in.val() << 256) | (self.data_in.val() >> 256);
        }
        if self.sixteens.val() == 3 {
            self.by16.d.next = (self.data_in.val() << 384) | (self.data_in.val() >> 128);
        }
        self.amount1.d.next = self.amount.val().get_bits::<4>(0);
        self.side1.d.next = self.side_in.val();

        self.fours.next = self.amount1.q.val().get_bits::<2>(2);
        self.by4.d.next = self.by16.q.val();
        if self.fours.val() == 1 {
            self.by4.d.next = (self.by16.q.val() << 32) | (self.by16.q.val() >> 480);
        }
        if self.fours.val() == 2 {
            self.by4.d.next = (self.by16.q.val() << 64) | (self.by16.q.val() >> 448);
        }
        if self.fours.val() == 3 {
            self.by4.d.next = (self.by16.q.val() << 96) | (self.by16.q.val() >> 416);
        }
        self.amount2.d.next = self.amount1.q.val().get_bits::<2>(0);
        self.side2.d.next = self.side1.q.val();

        self.by1.d.next = self.by4.q.val();
        if self.amount2.q.val() == 1 {
            self.by1.d.next = (self.by4.q.val() << 8) | (self.by4.q.val() >> 504);
        }
        if self.amount2.q.val() == 2 {
            self.by1.d.next = (self.by4.q.val() << 16) | (self.by4.q.val() >> 496);
        }
        if self.amount2.q.val() == 3 {
            self.by1.d.next = (self.by4.q.val() << 24) | (self.by4.q.val() >> 488);
        }
        self.side3.d.next = self.side2.q.val();
        self.data_out.next = self.by1.q.val();
        self.side_out.next = self.side3.q.val();
    }
}

ferroce_emit::register_leaf!("rotate64", Rotate64::<Bits<9>>::default);
