//! Watches the handshake of a stream.

use ferroce_emit::prelude::*;

/// Listens to a stream and remembers whether its source ever broke the rule that `valid` and
/// `data` hold until the transfer. It compares whole items in one cycle, so it belongs into testbenches, not
/// into a card.
#[derive(LogicBlock, Module, Default)]
pub struct StreamCheck<T: Synth> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// The stream's data.
    pub data: Signal<In, T>,
    /// The stream's valid.
    pub valid: Signal<In, Bit>,
    /// The stream's ready.
    pub ready: Signal<In, Bit>,
    /// The rule was broken, from the cycle after on.
    pub violation: Signal<Out, Bit>,
    data1: DFF<T>,
    /// An item was offered and not taken one cycle ago.
    stalled: DFF<Bit>,
    broken: DFF<Bit>,
}

impl<T: Synth> Logic for StreamCheck<T> {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, data1, stalled, broken);
        self.data1.d.next = self.data.val();
        self.stalled.d.next = self.valid.val() & !self.ready.val();
        if self.stalled.q.val() & (!self.valid.val() | (self.data.val() != self.data1.q.val())) {
            self.broken.d.next = true;
        }
        self.violation.next = self.broken.q.val();
    }
}

ferroce_emit::register_leaf!("stream_check", StreamCheck::<Bits<40>>::default);
