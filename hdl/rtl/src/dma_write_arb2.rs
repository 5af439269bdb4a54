//! Round-robin arbiter of two sources of DMA writes.

use crate::desc::dma::DmaWriteBeat;
use crate::frame_arb4::FrameArb4;
use crate::stream::{StreamIn, StreamOut};
use ferroce_emit::prelude::*;

/// Round robin, write by write (until `last`). Latency 1, a beat every cycle, output from registers.
#[derive(LogicBlock, Module, Default)]
pub struct DmaWriteArb2 {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Source 0.
    pub in0: StreamIn<DmaWriteBeat>,
    /// Source 1.
    pub in1: StreamIn<DmaWriteBeat>,
    /// Items of all sources.
    pub output: StreamOut<DmaWriteBeat>,
    core: FrameArb4<DmaWriteBeat>,
}

impl Logic for DmaWriteArb2 {
    #[kernel]
    fn update(&mut self) {
        clock!(self, clock, core);
        StreamIn::<DmaWriteBeat>::link(&mut self.in0, &mut self.core.in0);
        StreamIn::<DmaWriteBeat>::link(&mut self.in1, &mut self.core.in1);
        // Sources that don't exist never ask.
        self.core.in2.data.next = self.in0.data.val();
        self.core.in2.valid.next = false;
        self.core.in3.data.next = self.in0.data.val();
        self.core.in3.valid.next = false;
        self.core.last.next = bit_cast::<4, 1>(self.in0.data.val().last.into())
            | (bit_cast::<4, 1>(self.in1.data.val().last.into()) << 1);
        self.output.data.next = self.core.output.data.val();
        self.output.valid.next = self.core.output.valid.val();
        self.core.output.ready.next = self.output.ready.val();
    }
}

ferroce_emit::register_leaf!("dma_write_arb2", DmaWriteArb2::default);
