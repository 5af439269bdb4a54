//! Payload that is in the WQEs themselves.

use crate::wqe_cache::desc::BlockWrite;
use ferroce_emit::prelude::*;
use ferroce_rtl::delay::Delay;
use ferroce_rtl::desc::tx::{Consumed, SqConsumed};
use ferroce_rtl::ram::{Ram, RAM_LATENCY};
use ferroce_rtl::stream::{StreamIn, StreamOut};
use ferroce_rtl::sync_fifo::SyncFifo;

/// Beats that wait for their frames, log2: 16 of the longest or 64 of the shortest payloads, about as many packets as the sender
/// has under way when the host is quick. While it is full, no further WQE is used up.
const BEATS_LOG2: usize = 6;

/// A copy of the cached blocks, from which payload is read in the order of the packets.
///
/// A WQE's blocks may leave the cache once the cache knows the sender behind them. So the sender's positions come
/// through here, and each waits until the payload before it is read: then its slots may be overwritten at once.
#[derive(LogicBlock, Module)]
pub struct InlineReader {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Blocks as the SQ's WQE cache writes them.
    pub block: Signal<In, BlockWrite>,
    /// The sender's positions and payloads.
    pub consumed: StreamIn<SqConsumed>,
    /// Positions whose payloads are read.
    pub position: StreamOut<Consumed>,
    /// Blocks with payload, in order; that of the first block of a WQE begins at byte 32.
    pub payload: StreamOut<Bits<512>>,
    window_log2: Constant<Bits<20>>,
    slot_mask: Constant<Bits<20>>,
    blocks: Ram<Bits<512>>,
    busy: DFF<Bit>,
    qp: DFF<Bits<14>>,
    wqe: DFF<Bits<16>>,
    /// The next block to read.
    index: DFF<Bits<16>>,
    left: DFF<Bits<3>>,
    reads: Delay<Bit>,
    beats: SyncFifo<Bits<512>>,
    step: Signal<Local, Bit>,
    load: Signal<Local, Bit>,
}

impl InlineReader {
    /// For `2^qps_log2` queues with a window of `2^window_log2` blocks.
    #[must_use]
    pub fn new(qps_log2: usize, window_log2: usize) -> Self {
        Self {
            clock: Signal::default(),
            block: Signal::default(),
            consumed: StreamIn::default(),
            position: StreamOut::default(),
            payload: StreamOut::default(),
            window_log2: Constant::new((window_log2 as u64).into()),
            slot_mask: Constant::new(((1u64 << window_log2) - 1).into()),
            blocks: Ram::new(qps_log2 + window_log2),
            busy: DFF::default(),
            qp: DFF::default(),
            wqe: DFF::default(),
            index: DFF::default(),
            left: DFF::default(),
            reads: Delay::new(RAM_LATENCY),
            beats: SyncFifo::new_with_reserve(BEATS_LOG2, RAM_LATENCY + 2),
            step: Signal::default(),
            load: Signal::default(),
        }
    }
}

/// 16 queues with a window of 16 blocks.
impl Default for InlineReader {
    fn default() -> Self {
        Self::new(4, 4)
    }
}

impl Logic for InlineReader {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, busy, qp, wqe, index, left);
        clock!(self, clock, blocks, reads, beats);
        self.blocks.wr_valid.next = self.block.val().valid;
        self.blocks.wr_addr.next = self.block.val().slot;
        self.blocks.wr_data.next = self.block.val().data;

        self.step.next =
            self.busy.q.val() & self.left.q.val().any() & !self.beats.almost_full.val();
        self.position.valid.next = self.busy.q.val() & !self.left.q.val().any();
        self.position.data.next.qp = self.qp.q.val();
        self.position.data.next.wqe = self.wqe.q.val();
        self.load.next =
            !self.busy.q.val() | (!self.left.q.val().any() & self.position.ready.val());
        self.consumed.ready.next = self.load.val();
        if self.step.val() {
            self.index.d.next = self.index.q.val() + 1;
            self.left.d.next = self.left.q.val() - 1;
        }
        if self.load.val() {
            self.busy.d.next = self.consumed.valid.val();
            self.qp.d.next = self.consumed.data.val().qp;
            self.wqe.d.next = self.consumed.data.val().wqe;
            self.index.d.next = self.consumed.data.val().first;
            self.left.d.next = self.consumed.data.val().beats;
        }

        self.blocks.rd_addr.next = (bit_cast::<20, 14>(self.qp.q.val()) << self.window_log2.val())
            | (bit_cast::<20, 16>(self.index.q.val()) & self.slot_mask.val());
        self.reads.data_in.next = self.step.val();
        self.beats.input.valid.next = self.reads.data_out.val();
        self.beats.input.data.next = self.blocks.rd_data.val();
        StreamOut::<Bits<512>>::link(&mut self.payload, &mut self.beats.output);
    }
}

ferroce_emit::register_leaf!("inline_reader", InlineReader::default);
