//! Round-robin arbiter of four sources of DMA writes.

use crate::desc::dma::DmaWriteBeat;
use crate::frame_arb4::FrameArb4;
use crate::stream::{StreamIn, StreamOut};
use ferroce_emit::prelude::*;

/// Round robin, write by write (until `last`). Latency 1, a beat every cycle, output from registers.
#[derive(LogicBlock, Module, Default)]
pub struct DmaWriteArb4 {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Source 0.
    pub in0: StreamIn<DmaWriteBeat>,
    /// Source 1.
    pub in1: StreamIn<DmaWriteBeat>,
    /// Source 2.
    pub in2: StreamIn<DmaWriteBeat>,
    /// Source 3.
    pub in3: StreamIn<DmaWriteBeat>,
    /// Items of all sources.
    pub output: StreamOut<DmaWriteBeat>,
    core: FrameArb4<DmaWriteBeat>,
}

impl Logic for DmaWriteArb4 {
    #[kernel]
    fn update(&mut self) {
        clock!(self, clock, core);
        StreamIn::<DmaWriteBeat>::link(&mut self.in0, &mut self.core.in0);
        StreamIn::<DmaWriteBeat>::link(&mut self.in1, &mut self.core.in1);
        StreamIn::<DmaWriteBeat>::link(&mut self.in2, &mut self.core.in2);
        StreamIn::<DmaWriteBeat>::link(&mut self.in3, &mut self.core.in3);
        self.core.last.next = bit_cast::<4, 1>(self.in0.data.val().last.into())
            | (bit_cast::<4, 1>(self.in1.data.val().last.into()) << 1)
            | (bit_cast::<4, 1>(self.in2.data.val().last.into()) << 2)
            | (bit_cast::<4, 1>(self.in3.data.val().last.into()) << 3);
        self.output.data.next = self.core.output.data.val();
        self.output.valid.next = self.core.output.valid.val();
        self.core.output.ready.next = self.output.ready.val();
    }
}

ferroce_emit::register_leaf!("dma_write_arb4", DmaWriteArb4::default);
