//! From pushed lines to cached WQEs.

use super::desc::{PushBeat, PushJob};
use crate::bar::desc::LineWrite;
use crate::bar::push_buffer::PUSHES_LOG2;
use ferroce_abi::limits::WQE_BLOCKS;
use ferroce_emit::prelude::*;
use ferroce_rtl::lutram::Lutram;

/// Lines of all pushes, log2.
const LINES_LOG2: usize = PUSHES_LOG2 + WQE_BLOCKS.ilog2() as usize;

/// Keeps the lines of pushes until the state loop has decided on them, in order, and copies those that it takes, beginning in the cycle of
/// the decision. Nothing holds the copy up, so it is known when it is done ([`super::desc::PUSH_COPY_CYCLES`]): decisions are further apart
/// than that.
#[derive(LogicBlock, Module)]
pub struct PushCopy {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Lines.
    pub line: Signal<In, LineWrite>,
    /// Decisions, none while a copy goes on.
    pub job: Signal<In, PushJob>,
    /// Blocks for their slots.
    pub beat: Signal<Out, PushBeat>,
    /// The oldest place is free again.
    pub freed: Signal<Out, Bit>,
    lines: Lutram<Bits<512>>,
    busy: DFF<Bit>,
    held: DFF<PushJob>,
    number: DFF<Bits<2>>,
    freed_reg: DFF<Bit>,
    now: Signal<Local, PushJob>,
    copies: Signal<Local, Bit>,
    last: Signal<Local, Bit>,
}

impl Default for PushCopy {
    fn default() -> Self {
        Self {
            clock: Signal::default(),
            line: Signal::default(),
            job: Signal::default(),
            beat: Signal::default(),
            freed: Signal::default(),
            lines: Lutram::new(LINES_LOG2),
            busy: DFF::default(),
            held: DFF::default(),
            number: DFF::default(),
            freed_reg: DFF::default(),
            now: Signal::default(),
            copies: Signal::default(),
            last: Signal::default(),
        }
    }
}

impl Logic for PushCopy {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, busy, held, number, freed_reg);
        clock!(self, clock, lines);
        self.lines.wr_valid.next = self.line.val().valid;
        self.lines.wr_addr.next = bit_cast::<20, 5>(self.line.val().place);
        self.lines.wr_data.next = self.line.val().data;

        self.now.next = self.job.val();
        if self.busy.q.val() {
            self.now.next = self.held.q.val();
        }
        self.copies.next = self.busy.q.val() | (self.job.val().valid & self.job.val().taken);
        self.last.next = (bit_cast::<3, 2>(self.number.q.val()) + 1) == self.now.val().blocks;
        self.lines.rd_addr.next =
            (bit_cast::<20, 3>(self.now.val().place) << 2) | bit_cast::<20, 2>(self.number.q.val());
        self.beat.next.valid = self.copies.val();
        self.beat.next.qp = self.now.val().qp;
        self.beat.next.index =
            bit_cast::<8, 16>(self.now.val().first + bit_cast::<16, 2>(self.number.q.val()));
        self.beat.next.data = self.lines.rd_data.val();

        self.held.d.next = self.now.val();
        self.busy.d.next = self.copies.val() & !self.last.val();
        self.number.d.next = 0.into();
        if self.copies.val() & !self.last.val() {
            self.number.d.next = self.number.q.val() + 1;
        }
        self.freed_reg.d.next =
            (self.copies.val() & self.last.val()) | (self.job.val().valid & !self.job.val().taken);
        self.freed.next = self.freed_reg.q.val();
    }
}

ferroce_emit::register_leaf!("push_copy", PushCopy::default);
