//! Room for completions in the PCIe block.

use super::slot::{ReadIssue, SlotEnd, SLOTS_LOG2};
use ferroce_emit::prelude::*;
use ferroce_rtl::lutram::Lutram;
use ferroce_rtl::stream::{StreamIn, StreamOut};

/// Completions that the UltraScale+ block can hold. A completion never crosses a multiple of 64 bytes without ending at one, so with its
/// header it takes at most 80 bytes for each multiple: 256 of them are 20 KiB of the block's 32 KiB, and headers run out first.
pub const COMPLETION_HEADERS: usize = 256;
/// Lines of the largest piece.
const MOST_LINES: usize = 8;

/// Reserve before issue: a read leaves only when the block has room for its completions in the shortest pieces that the read completion
/// boundary of 64 bytes permits, one a line. That is decided last of all, when the read has its slot, since room is what limits the rate: it
/// is given back when the slot's completions are over. A read that has timed out keeps it, since its completions may still come and fill the
/// buffer. Reads of all classes come in turn; places of a ring without a read pass in order.
///
/// When no read has got room and none was given back for the whole time-out, dead reads have what is reserved. Then reads that don't fit
/// fail at once, so that no client waits for ever.
#[derive(LogicBlock, Module)]
pub struct ReadBudget {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Places of rings, with and without reads.
    pub from: StreamIn<ReadIssue>,
    /// The same; a read that fails at once is none.
    pub to: StreamOut<ReadIssue>,
    /// Completions that are over.
    pub end: Signal<In, SlotEnd>,
    /// Time, in sixteenths of the time-out.
    pub now: Signal<In, Bits<5>>,
    most: Constant<Bits<12>>,
    /// Lines of each slot.
    lines: Lutram<Bits<4>>,
    head: DFF<ReadIssue>,
    head_valid: DFF<Bit>,
    /// Less the head's lines.
    head_back: DFF<Bits<12>>,
    /// The head fails.
    refused: DFF<Bit>,
    /// Lines reserved, the head's included.
    need: DFF<Bits<12>>,
    /// Less the lines given back that `need` still has.
    back: DFF<Bits<12>>,
    /// Time of the newest change of what is reserved.
    changed: DFF<Bits<5>>,
    /// No reservation is younger than the time-out.
    stale: DFF<Bit>,
    fits: Signal<Local, Bit>,
    reads: Signal<Local, Bit>,
    leaves: Signal<Local, Bit>,
    step: Signal<Local, Bit>,
    take: Signal<Local, Bit>,
    refuse: Signal<Local, Bit>,
    change: Signal<Local, Bits<12>>,
    kept: Signal<Local, Bits<12>>,
    ended: Signal<Local, Bits<4>>,
    age: Signal<Local, Bits<5>>,
}

impl ReadBudget {
    /// For a block that can hold `headers` completions of 64 bytes.
    ///
    /// # Panics
    /// If they are fewer than a piece may need, 8, or more than all slots have, 2048.
    #[must_use]
    pub fn new(headers: usize) -> Self {
        assert!(
            (MOST_LINES..=MOST_LINES << SLOTS_LOG2).contains(&headers),
            "room for {headers} completions"
        );
        Self {
            clock: Signal::default(),
            from: StreamIn::default(),
            to: StreamOut::default(),
            end: Signal::default(),
            now: Signal::default(),
            most: Constant::new((headers as u64).into()),
            lines: Lutram::new(SLOTS_LOG2),
            head: DFF::default(),
            head_valid: DFF::default(),
            head_back: DFF::default(),
            refused: DFF::default(),
            need: DFF::default(),
            back: DFF::default(),
            changed: DFF::default(),
            stale: DFF::default(),
            fits: Signal::default(),
            reads: Signal::default(),
            leaves: Signal::default(),
            step: Signal::default(),
            take: Signal::default(),
            refuse: Signal::default(),
            change: Signal::default(),
            kept: Signal::default(),
            ended: Signal::default(),
            age: Signal::default(),
        }
    }
}

impl Default for ReadBudget {
    fn default() -> Self {
        Self::new(COMPLETION_HEADERS)
    }
}

impl Logic for ReadBudget {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, head, head_valid, head_back, refused, need, back, changed, stale);
        clock!(self, clock, lines);

        self.fits.next = self.need.q.val() <= self.most.val();
        self.reads.next = self.head.q.val().read & !self.refused.q.val();
        self.leaves.next = self.head_valid.q.val() & self.fits.val() & self.to.ready.val();
        self.step.next = self.leaves.val() | !self.head_valid.q.val();
        self.take.next = self.step.val() & self.from.valid.val();
        self.refuse.next = self.head_valid.q.val() & !self.fits.val() & self.stale.q.val();
        self.from.ready.next = self.step.val();
        if self.step.val() {
            self.head.d.next = self.from.data.val();
            self.head_valid.d.next = self.from.valid.val();
            self.head_back.d.next = bits::<12>(0) - bit_cast::<12, 4>(self.from.data.val().lines);
            self.refused.d.next = false;
        }
        if self.refuse.val() {
            self.refused.d.next = true;
        }
        self.to.valid.next = self.head_valid.q.val() & self.fits.val();
        self.to.data.next = self.head.q.val();
        self.to.data.next.read = self.reads.val();

        // One addition a cycle: what is given back waits while reads come.
        self.change.next = self.back.q.val();
        self.kept.next = 0.into();
        if self.take.val() {
            self.change.next = bit_cast::<12, 4>(self.from.data.val().lines);
            self.kept.next = self.back.q.val();
        }
        if self.refuse.val() {
            self.change.next = self.head_back.q.val();
            self.kept.next = self.back.q.val();
        }
        self.need.d.next = self.need.q.val() + self.change.val();
        self.ended.next = 0.into();
        if self.end.val().valid {
            self.ended.next = self.lines.rd_data.val();
        }
        self.back.d.next = self.kept.val() - bit_cast::<12, 4>(self.ended.val());

        self.lines.wr_valid.next = self.leaves.val() & self.reads.val();
        self.lines.wr_addr.next = bit_cast::<20, 8>(self.head.q.val().slot);
        self.lines.wr_data.next = self.head.q.val().lines;
        self.lines.rd_addr.next = bit_cast::<20, 8>(self.end.val().slot);

        self.age.next = self.now.val() - self.changed.q.val();
        if self.age.val().get_bit(4) {
            self.stale.d.next = true;
        }
        if (self.leaves.val() & self.reads.val()) | self.end.val().valid {
            self.changed.d.next = self.now.val();
            self.stale.d.next = false;
        }
    }
}

ferroce_emit::register_leaf!("read_budget", || ReadBudget::new(16));
