//! Holds a request back until its payload is there.

use crate::desc::{FetchError, FetchJob, FetchReq, Fetched, LifeWrite, Request};
use crate::gate_filter::GateFilter;
use ferroce_emit::prelude::*;
use ferroce_mmu::drain::Drain;
use ferroce_rtl::desc::pages::Via;
use ferroce_rtl::desc::tx::{LocalError, TxPkt};
use ferroce_rtl::stream::{StreamIn, StreamOut};
use ferroce_rtl::sync_fifo::SyncFifo;

/// Packets that wait for their payload: one for each DMA tag at most, as many as there are.
const WAITING_LOG2: usize = 7;

/// Cycles in which the sender's chunks of packets, all that were made when a drain began, become packets if the gate takes them: 32 chunks of up to 16
/// packets and a cycle or two between them.
const CHUNK_CYCLES: u64 = 1023;

/// A request and where its payload is.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct WaitingPkt {
    /// The packet.
    pub pkt: TxPkt,
    /// See [`Request`].
    pub wqe: Bits<16>,
    /// See [`Request`].
    pub turn: Bits<8>,
    /// See [`Request`].
    pub life: Bits<8>,
    /// See [`Request`].
    pub via: Via,
    /// It has payload in host memory.
    pub has_payload: Bit,
    /// Beats of its payload in the WQE.
    pub inline_beats: Bits<3>,
}

/// Orders a packet's payload as soon as the sender has decided on it, and lets it go on when
/// all of that payload is in the reorder buffer. So ACKs, which join behind this block, overtake requests that wait for the host;
/// a frame once begun never waits; and a packet whose payload can't be read leaves no trace on the wire: see [`GateFilter`].
///
/// Requests stay in order. A packet without payload, or with that in its WQE, waits for those before it only.
#[derive(LogicBlock, Module)]
pub struct TxGate {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Requests of the sender, from registers.
    pub from: StreamIn<Request>,
    /// QPs configured.
    pub life: Signal<In, LifeWrite>,
    /// QPs whose responder was restarted.
    pub answer_life: Signal<In, LifeWrite>,
    /// Payload to fetch.
    pub fetch: StreamOut<FetchReq>,
    /// Payload that has arrived, in the order of `fetch`.
    pub fetched: StreamIn<Fetched>,
    /// What becomes of it.
    pub job: StreamOut<FetchJob>,
    /// Requests whose payload is there.
    pub to: StreamOut<TxPkt>,
    /// WQEs whose payload could not be read.
    pub local_error: StreamOut<LocalError>,
    /// The payload of a packet could not be read.
    pub error: Signal<Out, FetchError>,
    /// Every region that had gone before the last `drain` is used no more.
    pub drained: Signal<Out, Bit>,
    /// Begin to wait for that.
    pub drain: Signal<In, Bit>,
    waiting: SyncFifo<WaitingPkt>,
    filter: GateFilter,
    drains: Drain,
    has_payload: Signal<Local, Bit>,
    takes: Signal<Local, Bit>,
    head_has_payload: Signal<Local, Bit>,
}

impl TxGate {
    /// For `2^log2_qps` QPs.
    #[must_use]
    pub fn new(log2_qps: usize) -> Self {
        Self {
            clock: Signal::default(),
            from: StreamIn::default(),
            life: Signal::default(),
            answer_life: Signal::default(),
            fetch: StreamOut::default(),
            fetched: StreamIn::default(),
            job: StreamOut::default(),
            to: StreamOut::default(),
            local_error: StreamOut::default(),
            error: Signal::default(),
            drained: Signal::default(),
            drain: Signal::default(),
            drains: Drain::new(CHUNK_CYCLES, 0),
            waiting: SyncFifo::quick(WAITING_LOG2),
            filter: GateFilter::new(log2_qps),
            has_payload: Signal::default(),
            takes: Signal::default(),
            head_has_payload: Signal::default(),
        }
    }
}

/// 16 QPs.
impl Default for TxGate {
    fn default() -> Self {
        Self::new(4)
    }
}

impl Logic for TxGate {
    #[kernel]
    fn update(&mut self) {
        clock!(self, clock, waiting, filter, drains);
        // Each of the two sinks takes the packet only together with the other.
        self.has_payload.next =
            (self.from.data.val().pkt.len != 0) & !self.from.data.val().inline_beats.any();
        self.fetch.data.next.addr = self.from.data.val().pkt.addr;
        self.fetch.data.next.len = self.from.data.val().pkt.len;
        // What the peer has written before must be what it reads. Payload of requests that the card itself still has on
        // its way to memory is nobody's to send.
        self.fetch.data.next.ordered = self.from.data.val().pkt.answer;
        self.fetch.data.next.via = self.from.data.val().via;
        self.fetch.valid.next =
            self.from.valid.val() & self.has_payload.val() & self.waiting.input.ready.val();
        self.waiting.input.data.next.pkt = self.from.data.val().pkt;
        self.waiting.input.data.next.wqe = self.from.data.val().wqe;
        self.waiting.input.data.next.turn = self.from.data.val().turn;
        self.waiting.input.data.next.life = self.from.data.val().life;
        self.waiting.input.data.next.via = self.from.data.val().via;
        self.waiting.input.data.next.has_payload = self.has_payload.val();
        self.waiting.input.data.next.inline_beats = self.from.data.val().inline_beats;
        self.waiting.input.valid.next =
            self.from.valid.val() & (!self.has_payload.val() | self.fetch.ready.val());
        self.takes.next =
            self.waiting.input.ready.val() & (!self.has_payload.val() | self.fetch.ready.val());
        self.from.ready.next = self.takes.val();

        self.head_has_payload.next = self.waiting.output.data.val().has_payload;
        self.filter.item.data.next.pkt = self.waiting.output.data.val().pkt;
        self.filter.item.data.next.wqe = self.waiting.output.data.val().wqe;
        self.filter.item.data.next.turn = self.waiting.output.data.val().turn;
        self.filter.item.data.next.life = self.waiting.output.data.val().life;
        self.filter.item.data.next.inline = self.waiting.output.data.val().inline_beats.any();
        self.filter.item.data.next.has_payload =
            self.head_has_payload.val() | self.waiting.output.data.val().inline_beats.any();
        self.filter.item.data.next.beats = self.fetched.data.val().beats;
        self.filter.item.data.next.err = self.fetched.data.val().err;
        if !self.head_has_payload.val() {
            self.filter.item.data.next.beats =
                bit_cast::<7, 3>(self.waiting.output.data.val().inline_beats);
            self.filter.item.data.next.err = false;
        }
        self.filter.item.valid.next = self.waiting.output.valid.val()
            & (!self.head_has_payload.val() | self.fetched.valid.val());
        self.waiting.output.ready.next = self.filter.item.ready.val()
            & (!self.head_has_payload.val() | self.fetched.valid.val());
        self.fetched.ready.next = self.filter.item.ready.val()
            & self.waiting.output.valid.val()
            & self.head_has_payload.val();

        // A packet leaves with all of its payload read.
        self.drains.mark.next = self.drain.val();
        self.drains.stalled_before.next = self.from.valid.val() & !self.takes.val();
        self.drains.entered.next = self.from.valid.val() & self.takes.val();
        self.drains.left.next = self.filter.item.valid.val() & self.filter.item.ready.val();
        self.drains.stalled_behind.next = false;
        self.drained.next = self.drains.drained.val();

        self.filter.life.next = self.life.val();
        self.filter.answer_life.next = self.answer_life.val();
        StreamOut::<FetchJob>::link(&mut self.job, &mut self.filter.job);
        StreamOut::<TxPkt>::link(&mut self.to, &mut self.filter.to);
        StreamOut::<LocalError>::link(&mut self.local_error, &mut self.filter.local_error);
        self.error.next = self.filter.error.val();
    }
}

ferroce_emit::register_leaf!("gate", TxGate::default);
