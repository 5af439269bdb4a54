//! Round-robin arbiter of two streams.

use crate::frame_arb4::FrameArb4;
use crate::stream::{StreamIn, StreamOut};
use ferroce_emit::prelude::*;

/// Round robin, item by item. Latency 1, an item every cycle, output from registers.
#[derive(LogicBlock, Module, Default)]
pub struct Arb2<T: Synth> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Source 0.
    pub in0: StreamIn<T>,
    /// Source 1.
    pub in1: StreamIn<T>,
    /// Items of all sources.
    pub output: StreamOut<T>,
    core: FrameArb4<T>,
}

impl<T: Synth> Logic for Arb2<T> {
    #[kernel]
    fn update(&mut self) {
        clock!(self, clock, core);
        StreamIn::<T>::link(&mut self.in0, &mut self.core.in0);
        StreamIn::<T>::link(&mut self.in1, &mut self.core.in1);
        // Sources that don't exist never ask.
        self.core.in2.data.next = self.in0.data.val();
        self.core.in2.valid.next = false;
        self.core.in3.data.next = self.in0.data.val();
        self.core.in3.valid.next = false;
        self.core.last.next = 15.into();
        self.output.data.next = self.core.output.data.val();
        self.output.valid.next = self.core.output.valid.val();
        self.core.output.ready.next = self.output.ready.val();
    }
}

ferroce_emit::register_leaf!("arb2", Arb2::<Bits<40>>::default);
