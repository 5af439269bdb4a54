//! Holds a request back until its payload is there.

use crate::desc::{FetchError, FetchReq, Fetched};
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::tx::TxPkt;
use ferroce_rtl::skid::Skid;
use ferroce_rtl::stream::{StreamIn, StreamOut};
use ferroce_rtl::sync_fifo::SyncFifo;

/// Packets that wait for their payload: one for each DMA tag at most, as many as there are.
const WAITING_LOG2: usize = 7;

/// A packet and whether it has any payload.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct WaitingPkt {
    /// The packet.
    pub pkt: TxPkt,
    /// Its length is not 0.
    pub has_payload: Bit,
}

/// Orders a packet's payload as soon as the sender has decided on it, and lets it go on when
/// all of that payload is in the reorder buffer. So ACKs, which join behind this block, overtake requests that wait for the host;
/// a frame once begun never waits; and a packet whose payload can't be read leaves no trace.
///
/// Requests stay in order. A packet without payload waits for those before it only.
#[derive(LogicBlock, Module)]
pub struct TxGate {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Requests of the sender.
    pub from: StreamIn<TxPkt>,
    /// Payload to fetch.
    pub fetch: StreamOut<FetchReq>,
    /// Payload that has arrived, in the order of `fetch`.
    pub fetched: StreamIn<Fetched>,
    /// Requests whose payload is there.
    pub to: StreamOut<TxPkt>,
    /// A packet was dropped because its payload could not be read.
    pub error: Signal<Out, FetchError>,
    arrived: Skid<WaitingPkt>,
    waiting: SyncFifo<WaitingPkt>,
    passed: Skid<TxPkt>,
    error_reg: DFF<FetchError>,
    has_payload: Signal<Local, Bit>,
    head_has_payload: Signal<Local, Bit>,
    drop: Signal<Local, Bit>,
}

impl Default for TxGate {
    fn default() -> Self {
        Self {
            clock: Signal::default(),
            from: StreamIn::default(),
            fetch: StreamOut::default(),
            fetched: StreamIn::default(),
            to: StreamOut::default(),
            error: Signal::default(),
            arrived: Skid::default(),
            waiting: SyncFifo::new(WAITING_LOG2),
            passed: Skid::default(),
            error_reg: DFF::default(),
            has_payload: Signal::default(),
            head_has_payload: Signal::default(),
            drop: Signal::default(),
        }
    }
}

impl Logic for TxGate {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, error_reg);
        clock!(self, clock, arrived, waiting, passed);
        self.arrived.input.data.next.pkt = self.from.data.val();
        self.arrived.input.data.next.has_payload = self.from.data.val().len != 0;
        self.arrived.input.valid.next = self.from.valid.val();
        self.from.ready.next = self.arrived.input.ready.val();

        // Each of the two sinks takes the packet only together with the other.
        self.has_payload.next = self.arrived.output.data.val().has_payload;
        self.fetch.data.next.addr = self.arrived.output.data.val().pkt.addr;
        self.fetch.data.next.len = self.arrived.output.data.val().pkt.len;
        self.fetch.valid.next = self.arrived.output.valid.val()
            & self.has_payload.val()
            & self.waiting.input.ready.val();
        self.waiting.input.data.next = self.arrived.output.data.val();
        self.waiting.input.valid.next =
            self.arrived.output.valid.val() & (!self.has_payload.val() | self.fetch.ready.val());
        self.arrived.output.ready.next =
            self.waiting.input.ready.val() & (!self.has_payload.val() | self.fetch.ready.val());

        self.head_has_payload.next = self.waiting.output.data.val().has_payload;
        self.drop.next = self.head_has_payload.val() & self.fetched.data.val().err;
        self.passed.input.data.next = self.waiting.output.data.val().pkt;
        self.passed.input.valid.next = self.waiting.output.valid.val()
            & (!self.head_has_payload.val() | self.fetched.valid.val())
            & !self.drop.val();
        self.waiting.output.ready.next = (!self.head_has_payload.val() | self.fetched.valid.val())
            & (self.passed.input.ready.val() | self.drop.val());
        self.fetched.ready.next = self.waiting.output.valid.val()
            & self.head_has_payload.val()
            & (self.passed.input.ready.val() | self.drop.val());
        self.error_reg.d.next.valid =
            self.waiting.output.valid.val() & self.fetched.valid.val() & self.drop.val();
        self.error_reg.d.next.qp = self.waiting.output.data.val().pkt.qp;
        self.error.next = self.error_reg.q.val();

        StreamOut::<TxPkt>::link(&mut self.to, &mut self.passed.output);
    }
}

ferroce_emit::register_leaf!("gate", TxGate::default);
