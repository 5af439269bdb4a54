//! Round-robin arbiter of four streams of frames.

use crate::frame_arb4::FrameArb4;
use crate::stream::{Beat, StreamIn, StreamOut};
use ferroce_emit::prelude::*;

/// Round robin, frame by frame (until `last`). Latency 1, a beat every cycle, output from registers.
#[derive(LogicBlock, Module, Default)]
pub struct BeatArb4 {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Source 0.
    pub in0: StreamIn<Beat>,
    /// Source 1.
    pub in1: StreamIn<Beat>,
    /// Source 2.
    pub in2: StreamIn<Beat>,
    /// Source 3.
    pub in3: StreamIn<Beat>,
    /// Items of all sources.
    pub output: StreamOut<Beat>,
    core: FrameArb4<Beat>,
}

impl Logic for BeatArb4 {
    #[kernel]
    fn update(&mut self) {
        clock!(self, clock, core);
        StreamIn::<Beat>::link(&mut self.in0, &mut self.core.in0);
        StreamIn::<Beat>::link(&mut self.in1, &mut self.core.in1);
        StreamIn::<Beat>::link(&mut self.in2, &mut self.core.in2);
        StreamIn::<Beat>::link(&mut self.in3, &mut self.core.in3);
        self.core.last.next = bit_cast::<4, 1>(self.in0.data.val().last.into())
            | (bit_cast::<4, 1>(self.in1.data.val().last.into()) << 1)
            | (bit_cast::<4, 1>(self.in2.data.val().last.into()) << 2)
            | (bit_cast::<4, 1>(self.in3.data.val().last.into()) << 3);
        self.output.data.next = self.core.output.data.val();
        self.output.valid.next = self.core.output.valid.val();
        self.core.output.ready.next = self.output.ready.val();
    }
}

ferroce_emit::register_leaf!("beat_arb4", BeatArb4::default);
