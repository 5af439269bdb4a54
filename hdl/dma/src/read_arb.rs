//! Read requests of all clients into one port.

use ferroce_emit::prelude::*;
use ferroce_rtl::arb2::Arb2;
use ferroce_rtl::desc::dma::DmaReadReq;
use ferroce_rtl::stream::{StreamIn, StreamOut};

/// Round robin between payload reads and all others, among these between WQE reads with atomics and page walks, and in each of these between the two
/// sides: what they read brings work for many payload reads and must not wait behind them. One request a cycle, latency 4 at most.
#[derive(LogicBlock, Module, Default)]
pub struct DmaReadArb {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Payload reads, tags from [`crate::tags::PAYLOAD`].
    pub payload: StreamIn<DmaReadReq>,
    /// SQ WQE reads, tags from [`crate::tags::SQ`].
    pub sq: StreamIn<DmaReadReq>,
    /// RQ WQE reads, tags from [`crate::tags::RQ`].
    pub rq: StreamIn<DmaReadReq>,
    /// Page walks for payload to be sent, tags from [`crate::tags::TX_PAGES`].
    pub tx_pages: StreamIn<DmaReadReq>,
    /// Page walks for payload received, tags from [`crate::tags::RX_PAGES`].
    pub rx_pages: StreamIn<DmaReadReq>,
    /// Reads of atomics, tag [`crate::tags::ATOMIC`].
    pub atomic: StreamIn<DmaReadReq>,
    /// All requests.
    pub request: StreamOut<DmaReadReq>,
    queues: Arb2<DmaReadReq>,
    rings: Arb2<DmaReadReq>,
    pages: Arb2<DmaReadReq>,
    others: Arb2<DmaReadReq>,
    all: Arb2<DmaReadReq>,
}

impl Logic for DmaReadArb {
    #[kernel]
    fn update(&mut self) {
        clock!(self, clock, queues, rings, pages, others, all);
        StreamIn::<DmaReadReq>::link(&mut self.sq, &mut self.queues.in0);
        StreamIn::<DmaReadReq>::link(&mut self.rq, &mut self.queues.in1);
        StreamIn::<DmaReadReq>::link(&mut self.payload, &mut self.all.in0);
        StreamIn::<DmaReadReq>::link(&mut self.tx_pages, &mut self.pages.in0);
        StreamIn::<DmaReadReq>::link(&mut self.rx_pages, &mut self.pages.in1);
        StreamOut::<DmaReadReq>::join(&mut self.queues.output, &mut self.rings.in0);
        StreamIn::<DmaReadReq>::link(&mut self.atomic, &mut self.rings.in1);
        StreamOut::<DmaReadReq>::join(&mut self.rings.output, &mut self.others.in0);
        StreamOut::<DmaReadReq>::join(&mut self.pages.output, &mut self.others.in1);
        StreamOut::<DmaReadReq>::join(&mut self.others.output, &mut self.all.in1);
        StreamOut::<DmaReadReq>::link(&mut self.request, &mut self.all.output);
    }
}

ferroce_emit::register_leaf!("dma_read_arb", DmaReadArb::default);
