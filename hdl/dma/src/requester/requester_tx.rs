//! The requester's way out.

use super::read_gate::ReadGate;
use super::rq_pack::RqPack;
use super::tlp::PackTlp;
use super::write_split::WriteSplit;
use crate::axis::RqBeat;
use crate::desc::{PcieLimits, RqPayload, RqTlp};
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::dma::DmaWriteBeat;
use ferroce_rtl::stream::{StreamIn, StreamOut};

/// DMA writes and read requests onto RQ. Writes stay in order; reads stay in order among themselves, wait for credits and don't hold back
/// writes; an ordered read leaves behind every write whose last beat was taken before it.
#[derive(LogicBlock, Module)]
pub struct RequesterTx {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// DMA writes.
    pub dma_write: StreamIn<DmaWriteBeat>,
    /// Read requests, with `write` low.
    pub reads: StreamIn<RqTlp>,
    /// Max payload.
    pub limits: Signal<In, PcieLimits>,
    /// Non-posted header credits as the block reports them (`pcie_tfc_nph_av`); 15: that many or more.
    pub np_credit: Signal<In, Bits<4>>,
    /// To the block.
    pub rq: StreamOut<RqBeat>,
    split: WriteSplit,
    gate: ReadGate,
    pack: RqPack,
}

impl RequesterTx {
    /// With straddling (two TLPs may share a beat) or without, as the block is set up.
    #[must_use]
    pub fn new(straddle: bool) -> Self {
        Self {
            clock: Signal::default(),
            dma_write: StreamIn::default(),
            reads: StreamIn::default(),
            limits: Signal::default(),
            np_credit: Signal::default(),
            rq: StreamOut::default(),
            split: WriteSplit::new(straddle),
            gate: ReadGate::new(straddle),
            pack: RqPack::new(straddle),
        }
    }
}

/// With straddling.
impl Default for RequesterTx {
    fn default() -> Self {
        Self::new(true)
    }
}

impl Logic for RequesterTx {
    #[kernel]
    fn update(&mut self) {
        clock!(self, clock, split, gate, pack);
        StreamIn::<DmaWriteBeat>::link(&mut self.dma_write, &mut self.split.dma_write);
        self.split.limits.next = self.limits.val();
        StreamOut::<PackTlp>::join(&mut self.split.tlps, &mut self.pack.writes);
        StreamOut::<RqPayload>::join(&mut self.split.payload, &mut self.pack.payload);

        StreamIn::<RqTlp>::link(&mut self.reads, &mut self.gate.requests);
        StreamOut::<PackTlp>::join(&mut self.gate.reads, &mut self.pack.reads);
        self.gate.credit.next = self.np_credit.val();
        self.gate.write_taken.next = self.dma_write.valid.val()
            & self.split.dma_write.ready.val()
            & self.dma_write.data.val().last;
        self.gate.write_placed.next = self.pack.write_placed.val();
        self.gate.reads_left.next = self.pack.reads_left.val();

        StreamOut::<RqBeat>::link(&mut self.rq, &mut self.pack.rq);
    }
}

ferroce_emit::register_leaf!("requester_tx", RequesterTx::default);
ferroce_emit::register_leaf!("requester_tx_one_a_beat", || RequesterTx::new(false));
