//! Read data back to the clients.

use crate::tags;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::dma::DmaReadBeat;
use ferroce_rtl::stream::{StreamIn, StreamOut};

const SQ: u64 = tags::SQ as u64 >> CLIENT_SHIFT;
const RQ: u64 = tags::RQ as u64 >> CLIENT_SHIFT;
const TX_PAGES: u64 = tags::TX_PAGES as u64 >> CLIENT_SHIFT;
const RX_PAGES: u64 = tags::RX_PAGES as u64 >> CLIENT_SHIFT;
/// Bits below those that name the client.
const CLIENT_SHIFT: u32 = 5;
const ATOMIC: u64 = tags::ATOMIC as u64;

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
    /// Entries of page tables for payload to be sent.
    pub tx_pages: StreamOut<DmaReadBeat>,
    /// Entries of page tables for payload received.
    pub rx_pages: StreamOut<DmaReadBeat>,
    /// Words of atomics.
    pub atomic: StreamOut<DmaReadBeat>,
    /// A read failed.
    pub failed: Signal<Out, Bit>,
    held: DFF<DmaReadBeat>,
    for_payload: DFF<Bit>,
    for_sq: DFF<Bit>,
    for_rq: DFF<Bit>,
    for_tx_pages: DFF<Bit>,
    for_rx_pages: DFF<Bit>,
    for_atomic: DFF<Bit>,
    stalled: Signal<Local, Bit>,
    client: Signal<Local, Bits<3>>,
    is_atomic: Signal<Local, Bit>,
}

impl Logic for DmaReadDemux {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            held,
            for_payload,
            for_sq,
            for_rq,
            for_tx_pages,
            for_rx_pages,
            for_atomic
        );
        self.stalled.next = (self.for_payload.q.val() & !self.payload.ready.val())
            | (self.for_sq.q.val() & !self.sq.ready.val())
            | (self.for_rq.q.val() & !self.rq.ready.val())
            | (self.for_tx_pages.q.val() & !self.tx_pages.ready.val())
            | (self.for_rx_pages.q.val() & !self.rx_pages.ready.val())
            | (self.for_atomic.q.val() & !self.atomic.ready.val());
        self.beat.ready.next = !self.stalled.val();
        self.client.next = self.beat.data.val().tag.get_bits::<3>(5);
        self.is_atomic.next = self.beat.data.val().tag == ATOMIC;
        if !self.stalled.val() {
            self.held.d.next = self.beat.data.val();
            self.for_payload.d.next = self.beat.valid.val() & !self.client.val().get_bit(2);
            self.for_sq.d.next = self.beat.valid.val() & (self.client.val() == SQ);
            self.for_rq.d.next =
                self.beat.valid.val() & (self.client.val() == RQ) & !self.is_atomic.val();
            self.for_atomic.d.next = self.beat.valid.val() & self.is_atomic.val();
            self.for_tx_pages.d.next = self.beat.valid.val() & (self.client.val() == TX_PAGES);
            self.for_rx_pages.d.next = self.beat.valid.val() & (self.client.val() == RX_PAGES);
        }
        self.payload.data.next = self.held.q.val();
        self.payload.valid.next = self.for_payload.q.val();
        self.sq.data.next = self.held.q.val();
        self.sq.valid.next = self.for_sq.q.val();
        self.rq.data.next = self.held.q.val();
        self.rq.valid.next = self.for_rq.q.val();
        self.tx_pages.data.next = self.held.q.val();
        self.tx_pages.valid.next = self.for_tx_pages.q.val();
        self.rx_pages.data.next = self.held.q.val();
        self.rx_pages.valid.next = self.for_rx_pages.q.val();
        self.atomic.data.next = self.held.q.val();
        self.atomic.valid.next = self.for_atomic.q.val();
        self.failed.next = !self.stalled.val()
            & self.held.q.val().last
            & self.held.q.val().err
            & (self.for_payload.q.val()
                | self.for_sq.q.val()
                | self.for_rq.q.val()
                | self.for_tx_pages.q.val()
                | self.for_rx_pages.q.val()
                | self.for_atomic.q.val());
    }
}

ferroce_emit::register_leaf!("dma_read_demux", DmaReadDemux::default);
