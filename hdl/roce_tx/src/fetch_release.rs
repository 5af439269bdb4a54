//! Finds out which packets are complete, in order.

use crate::desc::Fetched;
use crate::fetch_collect::FetchEnd;
use crate::fetch_issue::FetchOrder;
use ferroce_emit::prelude::*;
use ferroce_rtl::lutram::Lutram;
use ferroce_rtl::stream::{StreamIn, StreamOut};
use ferroce_rtl::sync_fifo::SyncFifo;

/// Complete packets that wait for the gate, which takes one in a few cycles.
const FIFO_LOG2: usize = 4;

/// What the last answer to a tag was.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct TagResult {
    /// Lap of the answer.
    pub lap: Bit,
    /// It failed.
    pub err: Bit,
}

/// Looks at the oldest read only: one every two cycles. Tags go in a circle, and the lap of a tag's last answer tells
/// whether it is the one waited for.
#[derive(LogicBlock, Module)]
pub struct FetchRelease {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Reads under way, oldest first.
    pub order: StreamIn<FetchOrder>,
    /// Complete reads.
    pub end: Signal<In, FetchEnd>,
    /// Complete packets.
    pub fetched: StreamOut<Fetched>,
    /// Bit of `head` that changes with every lap.
    lap_bit: Constant<Bits<16>>,
    results: Lutram<TagResult>,
    /// Number of the oldest read; its low bits are the tag.
    head: DFF<Bits<16>>,
    arrived: DFF<Bit>,
    failed: DFF<Bit>,
    /// Beats and failure of the packet's first part.
    beats: DFF<Bits<7>>,
    part_failed: DFF<Bit>,
    complete: SyncFifo<Fetched>,
    wanted_lap: Signal<Local, Bit>,
    /// The oldest part was never read.
    fault: Signal<Local, Bit>,
    go: Signal<Local, Bit>,
    finish: Signal<Local, Bit>,
}

impl FetchRelease {
    /// For `2^log2_tags` tags.
    #[must_use]
    pub fn new(log2_tags: usize) -> Self {
        Self {
            clock: Signal::default(),
            order: StreamIn::default(),
            end: Signal::default(),
            fetched: StreamOut::default(),
            lap_bit: Constant::new((1u64 << log2_tags).into()),
            results: Lutram::new(log2_tags),
            head: DFF::default(),
            arrived: DFF::default(),
            failed: DFF::default(),
            beats: DFF::default(),
            part_failed: DFF::default(),
            complete: SyncFifo::new(FIFO_LOG2),
            wanted_lap: Signal::default(),
            fault: Signal::default(),
            go: Signal::default(),
            finish: Signal::default(),
        }
    }
}

/// 64 tags.
impl Default for FetchRelease {
    fn default() -> Self {
        Self::new(6)
    }
}

impl Logic for FetchRelease {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, head, arrived, failed, beats, part_failed);
        clock!(self, clock, results, complete);

        self.results.wr_valid.next = self.end.val().valid;
        self.results.wr_addr.next = bit_cast::<20, 8>(self.end.val().tag);
        self.results.wr_data.next.lap = self.end.val().lap;
        self.results.wr_data.next.err = self.end.val().err;

        // Every other cycle looks, every other one acts.
        self.results.rd_addr.next = bit_cast::<20, 16>(self.head.q.val());
        self.wanted_lap.next = !(self.head.q.val() & self.lap_bit.val()).any();
        self.go.next =
            self.arrived.q.val() & self.order.valid.val() & self.complete.input.ready.val();
        self.finish.next = self.go.val() & self.order.data.val().last;
        self.order.ready.next = self.go.val();
        self.fault.next = self.order.valid.val() & self.order.data.val().fault;
        self.failed.d.next =
            self.results.rd_data.val().err | self.part_failed.q.val() | self.fault.val();
        self.arrived.d.next =
            (self.results.rd_data.val().lap == self.wanted_lap.val()) | self.fault.val();
        if self.go.val() {
            self.arrived.d.next = false;
            if !self.fault.val() {
                self.head.d.next = self.head.q.val() + 1;
            }
            self.beats.d.next = self.order.data.val().beats;
            self.part_failed.d.next = self.failed.q.val();
        }
        if self.finish.val() {
            self.beats.d.next = 0.into();
            self.part_failed.d.next = false;
        }

        self.complete.input.valid.next = self.finish.val();
        self.complete.input.data.next.beats = self.order.data.val().beats + self.beats.q.val();
        self.complete.input.data.next.err = self.failed.q.val();
        StreamOut::<Fetched>::link(&mut self.fetched, &mut self.complete.output);
    }
}

ferroce_emit::register_leaf!("fetch_release", || FetchRelease::new(4));
