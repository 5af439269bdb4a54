//! Clears what a short last beat carries beyond its length.

use crate::stream::Beat;
use ferroce_emit::prelude::*;

/// Registers beats, with every byte beyond `len` set to 0, and marks the first beat of a frame.
/// Latency 1, or none when the beats are known to have zeros there: then they only are marked.
#[derive(LogicBlock, Module)]
pub struct TailZero {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// A beat is here.
    pub valid: Signal<In, Bit>,
    /// The beat.
    pub beat: Signal<In, Beat>,
    /// `valid`, with the beat.
    pub zeroed_valid: Signal<Out, Bit>,
    /// The beat is its frame's first.
    pub first: Signal<Out, Bit>,
    /// The beat, 0 beyond `len`.
    pub zeroed: Signal<Out, Beat>,
    clears: Constant<Bit>,
    valid_reg: DFF<Bit>,
    beat_reg: DFF<Beat>,
    first_reg: DFF<Bit>,
    in_frame: DFF<Bit>,
}

impl TailZero {
    /// `clears`: bytes beyond `len` may be anything.
    #[must_use]
    pub fn new(clears: bool) -> Self {
        Self {
            clock: Signal::default(),
            valid: Signal::default(),
            beat: Signal::default(),
            zeroed_valid: Signal::default(),
            first: Signal::default(),
            zeroed: Signal::default(),
            clears: Constant::new(clears),
            valid_reg: DFF::default(),
            beat_reg: DFF::default(),
            first_reg: DFF::default(),
            in_frame: DFF::default(),
        }
    }
}

/// One that clears.
impl Default for TailZero {
    fn default() -> Self {
        Self::new(true)
    }
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
        if self.clears.val() {
            self.zeroed_valid.next = self.valid_reg.q.val();
            self.zeroed.next = self.beat_reg.q.val();
            self.first.next = self.first_reg.q.val();
        } else {
            self.zeroed_valid.next = self.valid.val();
            self.zeroed.next = self.beat.val();
            self.first.next = !self.in_frame.q.val();
        }
    }
}

ferroce_emit::register_leaf!("tail_zero", TailZero::default);
ferroce_emit::register_leaf!("tail_zero_marking", || TailZero::new(false));
