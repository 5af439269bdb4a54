//! Entry of a free-running pipeline.

use crate::stream::StreamIn;
use ferroce_emit::prelude::*;

/// Turns a stream into items that can't be held back any more, as long as `hold` is low. Wire `hold` to the
/// `almost_full` of the FIFO at the pipeline's end; with `n` cycles from this block's output to the
/// FIFO's input, the FIFO needs a reserve of `n + 2`. Latency 1.
#[derive(LogicBlock, Module, Default)]
pub struct FlowGate<T: Synth> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Items in.
    pub input: StreamIn<T>,
    /// Take nothing in this cycle; from a register.
    pub hold: Signal<In, Bit>,
    /// The item taken one cycle ago.
    pub data: Signal<Out, T>,
    /// An item was taken one cycle ago.
    pub valid: Signal<Out, Bit>,
    item: DFF<T>,
    item_valid: DFF<Bit>,
}

impl<T: Synth> Logic for FlowGate<T> {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, item, item_valid);
        self.input.ready.next = !self.hold.val();
        self.item.d.next = self.input.data.val();
        self.item_valid.d.next = self.input.valid.val() & !self.hold.val();
        self.data.next = self.item.q.val();
        self.valid.next = self.item_valid.q.val();
    }
}

ferroce_emit::register_leaf!("flow_gate", FlowGate::<Bits<40>>::default);
