//! Read data back to the clients.

use ferroce_emit::prelude::*;
use ferroce_rtl::desc::dma::DmaReadBeat;
use ferroce_rtl::stream::{StreamIn, StreamOut};

/// Sends each beat to the client that its tag names ([`crate::tags`]). Latency 1, a beat every cycle. Clients
/// reserve room before they ask, so none of them stalls; if one did, all would wait and nothing would be lost.
#[derive(LogicBlock, Module, Default)]
pub struct DmaReadDemux {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Data of all clients.
    pub beat: StreamIn<DmaReadBeat>,
    /// Payload.
    pub payload: StreamOut<DmaReadBeat>,
    /// SQ WQEs.
    pub sq: StreamOut<DmaReadBeat>,
    /// RQ WQEs.
    pub rq: StreamOut<DmaReadBeat>,
    /// A read failed.
    pub failed: Signal<Out, Bit>,
    held: DFF<DmaReadBeat>,
    for_payload: DFF<Bit>,
    for_sq: DFF<Bit>,
    for_rq: DFF<Bit>,
    stalled: Signal<Local, Bit>,
    upper: Signal<Local, Bit>,
    rq_half: Signal<Local, Bit>,
}

impl Logic for DmaReadDemux {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, held, for_payload, for_sq, for_rq);
        self.stalled.next = (self.for_payload.q.val() & !self.payload.ready.val())
            | (self.for_sq.q.val() & !self.sq.ready.val())
            | (self.for_rq.q.val() & !self.rq.ready.val());
        self.beat.ready.next = !self.stalled.val();
        self.upper.next = self.beat.data.val().tag.get_bit(7);
        self.rq_half.next = self.beat.data.val().tag.get_bit(6);
        if !self.stalled.val() {
            self.held.d.next = self.beat.data.val();
            self.for_payload.d.next = self.beat.valid.val() & !self.upper.val();
            self.for_sq.d.next = self.beat.valid.val() & self.upper.val() & !self.rq_half.val();
            self.for_rq.d.next = self.beat.valid.val() & self.upper.val() & self.rq_half.val();
        }
        self.payload.data.next = self.held.q.val();
        self.payload.valid.next = self.for_payload.q.val();
        self.sq.data.next = self.held.q.val();
        self.sq.valid.next = self.for_sq.q.val();
        self.rq.data.next = self.held.q.val();
        self.rq.valid.next = self.for_rq.q.val();
        self.failed.next = !self.stalled.val()
            & self.held.q.val().last
            & self.held.q.val().err
            & (self.for_payload.q.val() | self.for_sq.q.val() | self.for_rq.q.val());
    }
}

ferroce_emit::register_leaf!("dma_read_demux", DmaReadDemux::default);
