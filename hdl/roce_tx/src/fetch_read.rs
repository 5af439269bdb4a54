//! Reads complete packets out of the reorder buffer.

use crate::desc::FetchJob;
use crate::fetch_collect::FetchStore;
use ferroce_emit::prelude::*;
use ferroce_rtl::delay::Delay;
use ferroce_rtl::ram::{Ram, RAM_LATENCY};
use ferroce_rtl::stream::{StreamIn, StreamOut};
use ferroce_rtl::sync_fifo::SyncFifo;

/// Beats on their way to their frames: what the RAM has in flight, and enough to go on while it drains.
const FIFO_LOG2: usize = 4;

/// The reorder buffer and its read side: a beat a cycle, without a gap between packets. Payloads that were in WQEs join here.
#[derive(LogicBlock, Module)]
pub struct FetchRead {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Beats that arrive.
    pub store: Signal<In, FetchStore>,
    /// Complete packets, in the order in which their places were reserved.
    pub job: StreamIn<FetchJob>,
    /// Beats that were in WQEs, in the order of their jobs.
    pub inline: StreamIn<Bits<512>>,
    /// A place became free.
    pub freed: Signal<Out, Bit>,
    /// Payload, address-aligned: the first byte of a packet is byte `addr mod 64` of its first beat.
    pub payload: StreamOut<Bits<512>>,
    buffer: Ram<Bits<512>>,
    place: DFF<Bits<16>>,
    left: DFF<Bits<7>>,
    /// One is left.
    ends: DFF<Bit>,
    busy: DFF<Bit>,
    drop: DFF<Bit>,
    /// The packet's payload was in its WQE.
    from_wqe: DFF<Bit>,
    step_reg: DFF<Bit>,
    reads: Delay<Bit>,
    /// Beats that were in WQEs take as long as those of the buffer.
    wqe_reads: Delay<Bit>,
    wqe_beats: Delay<Bits<512>>,
    beats: SyncFifo<Bits<512>>,
    step: Signal<Local, Bit>,
    load: Signal<Local, Bit>,
}

impl FetchRead {
    /// A buffer of `2^log2_beats` beats.
    #[must_use]
    pub fn new(log2_beats: usize) -> Self {
        Self {
            clock: Signal::default(),
            store: Signal::default(),
            job: StreamIn::default(),
            inline: StreamIn::default(),
            freed: Signal::default(),
            payload: StreamOut::default(),
            buffer: Ram::new(log2_beats),
            place: DFF::default(),
            left: DFF::default(),
            ends: DFF::default(),
            busy: DFF::default(),
            drop: DFF::default(),
            from_wqe: DFF::default(),
            step_reg: DFF::default(),
            reads: Delay::new(RAM_LATENCY),
            wqe_reads: Delay::new(RAM_LATENCY),
            wqe_beats: Delay::new(RAM_LATENCY),
            beats: SyncFifo::new_with_reserve(FIFO_LOG2, RAM_LATENCY + 2),
            step: Signal::default(),
            load: Signal::default(),
        }
    }
}

/// 256 beats.
impl Default for FetchRead {
    fn default() -> Self {
        Self::new(8)
    }
}

impl Logic for FetchRead {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, place, left, ends, busy, drop, from_wqe, step_reg);
        clock!(self, clock, buffer, reads, wqe_reads, wqe_beats, beats);

        self.buffer.wr_valid.next = self.store.val().valid;
        self.buffer.wr_addr.next = bit_cast::<20, 16>(self.store.val().place);
        self.buffer.wr_data.next = self.store.val().data;

        self.step.next = self.busy.q.val()
            & !self.beats.almost_full.val()
            & (!self.from_wqe.q.val() | self.inline.valid.val());
        self.inline.ready.next = self.step.val() & self.from_wqe.q.val();
        self.load.next = !self.busy.q.val() | (self.step.val() & self.ends.q.val());
        self.job.ready.next = self.load.val();
        if self.step.val() & !self.from_wqe.q.val() {
            self.place.d.next = self.place.q.val() + 1;
        }
        if self.step.val() {
            self.left.d.next = self.left.q.val() - 1;
            self.ends.d.next = self.left.q.val() == 2;
        }
        if self.load.val() {
            self.busy.d.next = self.job.valid.val();
            self.left.d.next = self.job.data.val().beats;
            self.ends.d.next = self.job.data.val().beats == 1;
            self.drop.d.next = self.job.data.val().drop;
            self.from_wqe.d.next = self.job.data.val().inline;
        }

        self.buffer.rd_addr.next = bit_cast::<20, 16>(self.place.q.val());
        self.reads.data_in.next = self.step.val() & !self.drop.q.val();
        self.wqe_reads.data_in.next = self.from_wqe.q.val();
        self.wqe_beats.data_in.next = self.inline.data.val();
        self.step_reg.d.next = self.step.val() & !self.from_wqe.q.val();
        self.freed.next = self.step_reg.q.val();
        self.beats.input.valid.next = self.reads.data_out.val();
        self.beats.input.data.next = self.buffer.rd_data.val();
        if self.wqe_reads.data_out.val() {
            self.beats.input.data.next = self.wqe_beats.data_out.val();
        }
        StreamOut::<Bits<512>>::link(&mut self.payload, &mut self.beats.output);
    }
}

ferroce_emit::register_leaf!("fetch_read", FetchRead::default);
