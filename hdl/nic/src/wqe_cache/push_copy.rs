//! From pushed lines to cached WQEs.

use super::desc::{PushBeat, PushJob};
use crate::bar::desc::LineWrite;
use crate::bar::push_buffer::PUSHES_LOG2;
use ferroce_abi::limits::WQE_BLOCKS;
use ferroce_emit::prelude::*;
use ferroce_rtl::lutram::Lutram;
use ferroce_rtl::stream::StreamOut;
use ferroce_rtl::sync_fifo::SyncFifo;

/// Lines of all pushes, log2.
const LINES_LOG2: usize = PUSHES_LOG2 + WQE_BLOCKS.ilog2() as usize;

/// Keeps the lines of pushes until the state loop has decided on them, in order, and copies those that it takes.
///
/// A push that is taken is a burst like one from host memory: its window grows when the last block is in its slot.
#[derive(LogicBlock, Module)]
pub struct PushCopy {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Lines.
    pub line: Signal<In, LineWrite>,
    /// Decisions, at most one for each place.
    pub job: Signal<In, PushJob>,
    /// Blocks for their slots.
    pub beat: StreamOut<PushBeat>,
    /// The oldest place is free again.
    pub freed: Signal<Out, Bit>,
    lines: Lutram<Bits<512>>,
    jobs: SyncFifo<PushJob>,
    number: DFF<Bits<2>>,
    freed_reg: DFF<Bit>,
    last: Signal<Local, Bit>,
    ends: Signal<Local, Bit>,
}

impl Default for PushCopy {
    fn default() -> Self {
        Self {
            clock: Signal::default(),
            line: Signal::default(),
            job: Signal::default(),
            beat: StreamOut::default(),
            freed: Signal::default(),
            lines: Lutram::new(LINES_LOG2),
            // A place for every push.
            jobs: SyncFifo::new(PUSHES_LOG2),
            number: DFF::default(),
            freed_reg: DFF::default(),
            last: Signal::default(),
            ends: Signal::default(),
        }
    }
}

impl Logic for PushCopy {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, number, freed_reg);
        clock!(self, clock, lines, jobs);
        self.lines.wr_valid.next = self.line.val().valid;
        self.lines.wr_addr.next = bit_cast::<20, 5>(self.line.val().place);
        self.lines.wr_data.next = self.line.val().data;
        self.jobs.input.valid.next = self.job.val().valid;
        self.jobs.input.data.next = self.job.val();

        self.lines.rd_addr.next = (bit_cast::<20, 3>(self.jobs.output.data.val().place) << 2)
            | bit_cast::<20, 2>(self.number.q.val());
        self.last.next =
            (bit_cast::<3, 2>(self.number.q.val()) + 1) == self.jobs.output.data.val().blocks;
        self.beat.valid.next = self.jobs.output.valid.val() & self.jobs.output.data.val().taken;
        self.beat.data.next.qp = self.jobs.output.data.val().qp;
        self.beat.data.next.index = bit_cast::<8, 16>(
            self.jobs.output.data.val().first + bit_cast::<16, 2>(self.number.q.val()),
        );
        self.beat.data.next.count = self.jobs.output.data.val().blocks;
        self.beat.data.next.last = self.last.val();
        self.beat.data.next.data = self.lines.rd_data.val();
        self.ends.next = self.jobs.output.valid.val()
            & (!self.jobs.output.data.val().taken | (self.last.val() & self.beat.ready.val()));
        self.jobs.output.ready.next = self.ends.val();
        if self.ends.val() {
            self.number.d.next = 0.into();
        } else if self.beat.valid.val() & self.beat.ready.val() {
            self.number.d.next = self.number.q.val() + 1;
        }
        self.freed_reg.d.next = self.ends.val();
        self.freed.next = self.freed_reg.q.val();
    }
}

ferroce_emit::register_leaf!("push_copy", PushCopy::default);
