//! Clears what a short last beat carries beyond its length.

use crate::stream::Beat;
use ferroce_emit::prelude::*;

/// Registers beats, with every byte beyond `len` set to 0, and marks the first beat of a frame.
/// Latency 1.
#[derive(LogicBlock, Module, Default)]
pub struct TailZero {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// A beat is here.
    pub valid: Signal<In, Bit>,
    /// The beat.
    pub beat: Signal<In, Beat>,
    /// `valid`, one cycle later.
    pub zeroed_valid: Signal<Out, Bit>,
    /// The beat is its frame's first.
    pub first: Signal<Out, Bit>,
    /// The beat, one cycle later, 0 beyond `len`.
    pub zeroed: Signal<Out, Beat>,
    valid_reg: DFF<Bit>,
    beat_reg: DFF<Beat>,
    first_reg: DFF<Bit>,
    in_frame: DFF<Bit>,
}

impl Logic for TailZero {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, valid_reg, beat_reg, first_reg, in_frame);
        self.valid_reg.d.next = self.valid.val();
        self.beat_reg.d.next = self.beat.val();
        self.beat_reg.d.next.data = self.beat.val().data
            & !(!bits::<512>(0) << (bit_cast::<10, 7>(self.beat.val().len) << 3));
        self.first_reg.d.next = !self.in_frame.q.val();
        if self.valid.val() {
            self.in_frame.d.next = !self.beat.val().last;
        }
        self.zeroed_valid.next = self.valid_reg.q.val();
        self.zeroed.next = self.beat_reg.q.val();
        self.first.next = self.first_reg.q.val();
    }
}

ferroce_emit::register_leaf!("tail_zero", TailZero::default);
