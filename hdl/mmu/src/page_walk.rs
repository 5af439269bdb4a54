//! Reads page tables.

use crate::desc::{Fill, LineTag, Walk, WalkEnd, SLOTS_LOG2};
use ferroce_abi::page_table::{ENTRY_BYTES, VALID};
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::dma::{DmaReadBeat, DmaReadReq};
use ferroce_rtl::lutram::Lutram;
use ferroce_rtl::skid::Skid;
use ferroce_rtl::stream::{StreamIn, StreamOut};
use ferroce_rtl::sync_fifo::SyncFifo;

const SLOTS: u64 = 1 << SLOTS_LOG2;
/// Where in an entry the valid bit is.
const VALID_BIT: usize = VALID.trailing_zeros() as usize;

/// A walk under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct WalkContext {
    /// The first entry's place in its beat.
    lane: Bits<3>,
    lap: Bit,
    indirect: Bit,
    line: Bits<16>,
    tag: LineTag,
}

/// A leaf's entry to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct LeafRead {
    slot: Bits<5>,
    leaf: Bits<52>,
    place: Bits<9>,
}

/// An answer on its way.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct Answer {
    valid: Bit,
    err: Bit,
    slot: Bits<5>,
    lane: Bits<3>,
    /// The entry is that of a leaf's page, not of a page.
    upper: Bit,
    context: WalkContext,
}

/// Up to `2^SLOTS_LOG2` walks at once, each with a slot and the DMA tag of that number. A walk is begun only when a slot is free, answers are always taken, and
/// the second read of a walk has a place in its FIFO from the beginning: nothing here waits for what waits for it.
#[derive(LogicBlock, Module)]
pub struct PageWalk {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Pages to walk to.
    pub walk: StreamIn<Walk>,
    /// Reads of entries.
    pub dma_req: StreamOut<DmaReadReq>,
    /// Their answers; always taken.
    pub dma_data: StreamIn<DmaReadBeat>,
    /// The oldest ended walk's slot is free again.
    pub released: Signal<In, Bit>,
    /// Ends of walks.
    pub end: Signal<Out, WalkEnd>,
    /// Cache lines to fill.
    pub fill: Signal<Out, Fill>,
    tag_base: Constant<Bits<8>>,
    /// Slot of the next walk, and above it its lap.
    next: DFF<Bits<6>>,
    used: DFF<Bits<6>>,
    has_slot: DFF<Bit>,
    contexts: Lutram<WalkContext>,
    /// The walk has read its upper entry.
    deep: Lutram<Bit>,
    leaves: SyncFifo<LeafRead>,
    reads: Skid<DmaReadReq>,
    beat0: DFF<DmaReadBeat>,
    valid0: DFF<Bit>,
    data1: DFF<Bits<512>>,
    answer1: DFF<Answer>,
    answer2: DFF<Answer>,
    entry2: DFF<Bits<64>>,
    end3: DFF<WalkEnd>,
    fill3: DFF<Fill>,
    slot0: Signal<Local, Bits<5>>,
    begin: Signal<Local, Bit>,
    taken: Signal<Local, Bits<6>>,
    dropped: Signal<Local, Bits<6>>,
    good: Signal<Local, Bit>,
    ends: Signal<Local, Bit>,
}

impl PageWalk {
    /// Uses the DMA tags from `tag_base`, a multiple of their number.
    ///
    /// # Panics
    /// If `tag_base` is none.
    #[must_use]
    pub fn new(tag_base: u8) -> Self {
        assert!(
            u64::from(tag_base) % SLOTS == 0,
            "{SLOTS} tags can't begin at {tag_base}"
        );
        Self {
            clock: Signal::default(),
            walk: StreamIn::default(),
            dma_req: StreamOut::default(),
            dma_data: StreamIn::default(),
            released: Signal::default(),
            end: Signal::default(),
            fill: Signal::default(),
            tag_base: Constant::new(u64::from(tag_base).into()),
            next: DFF::default(),
            used: DFF::default(),
            has_slot: DFF::default(),
            contexts: Lutram::new(SLOTS_LOG2),
            deep: Lutram::new(SLOTS_LOG2),
            leaves: SyncFifo::new(SLOTS_LOG2),
            reads: Skid::default(),
            beat0: DFF::default(),
            valid0: DFF::default(),
            data1: DFF::default(),
            answer1: DFF::default(),
            answer2: DFF::default(),
            entry2: DFF::default(),
            end3: DFF::default(),
            fill3: DFF::default(),
            slot0: Signal::default(),
            begin: Signal::default(),
            taken: Signal::default(),
            dropped: Signal::default(),
            good: Signal::default(),
            ends: Signal::default(),
        }
    }
}

/// Tags from 0.
impl Default for PageWalk {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Logic for PageWalk {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self, clock, next, used, has_slot, beat0, valid0, data1, answer1, answer2, entry2,
            end3, fill3
        );
        clock!(self, clock, contexts, deep, leaves, reads);

        // Second reads go first: they end walks.
        self.begin.next = self.walk.valid.val()
            & self.has_slot.q.val()
            & self.reads.input.ready.val()
            & !self.leaves.output.valid.val();
        self.walk.ready.next =
            self.has_slot.q.val() & self.reads.input.ready.val() & !self.leaves.output.valid.val();
        self.leaves.output.ready.next = self.reads.input.ready.val();
        self.reads.input.valid.next =
            self.leaves.output.valid.val() | (self.walk.valid.val() & self.has_slot.q.val());
        self.reads.input.data.next.addr = self.walk.data.val().entry;
        self.reads.input.data.next.tag =
            self.tag_base.val() | bit_cast::<8, 5>(self.next.q.val().get_bits::<5>(0));
        self.reads.input.data.next.len = ENTRY_BYTES.into();
        self.reads.input.data.next.ordered = false;
        if self.leaves.output.valid.val() {
            self.reads.input.data.next.addr =
                (bit_cast::<64, 52>(self.leaves.output.data.val().leaf) << 12)
                    | (bit_cast::<64, 9>(self.leaves.output.data.val().place) << 3);
            self.reads.input.data.next.tag =
                self.tag_base.val() | bit_cast::<8, 5>(self.leaves.output.data.val().slot);
        }
        StreamOut::<DmaReadReq>::link(&mut self.dma_req, &mut self.reads.output);
        self.contexts.wr_valid.next = self.begin.val();
        self.contexts.wr_addr.next = bit_cast::<20, 5>(self.next.q.val().get_bits::<5>(0));
        self.contexts.wr_data.next.lane = self.walk.data.val().entry.get_bits::<3>(3);
        self.contexts.wr_data.next.lap = !self.next.q.val().get_bit(SLOTS_LOG2);
        self.contexts.wr_data.next.indirect = self.walk.data.val().indirect;
        self.contexts.wr_data.next.line = self.walk.data.val().line;
        self.contexts.wr_data.next.tag = self.walk.data.val().tag;
        self.taken.next = 0.into();
        if self.begin.val() {
            self.next.d.next = self.next.q.val() + 1;
            self.taken.next = 1.into();
        }
        self.dropped.next = bit_cast::<6, 1>(self.released.val().into());
        self.used.d.next = self.used.q.val() + self.taken.val() - self.dropped.val();
        // A cycle old, so one slot stays free.
        self.has_slot.d.next = self.used.q.val() < (SLOTS - 1);

        // The answer, and whose it is.
        self.dma_data.ready.next = true;
        self.beat0.d.next = self.dma_data.data.val();
        self.valid0.d.next = self.dma_data.valid.val() & self.dma_data.data.val().last;
        self.slot0.next = self.beat0.q.val().tag.get_bits::<5>(0);
        self.contexts.rd_addr.next = bit_cast::<20, 5>(self.slot0.val());
        self.deep.rd_addr.next = bit_cast::<20, 5>(self.slot0.val());
        self.data1.d.next = self.beat0.q.val().data;
        self.answer1.d.next.valid = self.valid0.q.val();
        self.answer1.d.next.err = self.beat0.q.val().err;
        self.answer1.d.next.slot = self.slot0.val();
        self.answer1.d.next.context = self.contexts.rd_data.val();
        self.answer1.d.next.upper = self.contexts.rd_data.val().indirect & !self.deep.rd_data.val();
        self.answer1.d.next.lane = self.contexts.rd_data.val().lane;
        if self.deep.rd_data.val() {
            self.answer1.d.next.lane = self.contexts.rd_data.val().tag.number.get_bits::<3>(0);
        }

        self.answer2.d.next = self.answer1.q.val();
        self.entry2.d.next = self
            .data1
            .q
            .val()
            .get_bits::<64>((bit_cast::<9, 3>(self.answer1.q.val().lane) << 6).index());

        // A page, a leaf, or nothing.
        self.good.next = self.entry2.q.val().get_bit(VALID_BIT) & !self.answer2.q.val().err;
        self.ends.next = !self.good.val() | !self.answer2.q.val().upper;
        self.deep.wr_valid.next = self.answer2.q.val().valid;
        self.deep.wr_addr.next = bit_cast::<20, 5>(self.answer2.q.val().slot);
        self.deep.wr_data.next = !self.ends.val();
        self.leaves.input.valid.next = self.answer2.q.val().valid & !self.ends.val();
        self.leaves.input.data.next.slot = self.answer2.q.val().slot;
        self.leaves.input.data.next.leaf = self.entry2.q.val().get_bits::<52>(12);
        self.leaves.input.data.next.place =
            self.answer2.q.val().context.tag.number.get_bits::<9>(0);
        self.end3.d.next.valid = self.answer2.q.val().valid & self.ends.val();
        self.end3.d.next.slot = self.answer2.q.val().slot;
        self.end3.d.next.lap = self.answer2.q.val().context.lap;
        self.end3.d.next.frame = self.entry2.q.val().get_bits::<52>(12);
        self.end3.d.next.fault = !self.good.val();
        self.fill3.d.next.valid =
            self.answer2.q.val().valid & self.good.val() & !self.answer2.q.val().upper;
        self.fill3.d.next.line = self.answer2.q.val().context.line;
        self.fill3.d.next.tag = self.answer2.q.val().context.tag;
        self.fill3.d.next.frame = self.entry2.q.val().get_bits::<52>(12);
        self.end.next = self.end3.q.val();
        self.fill.next = self.fill3.q.val();
    }
}

ferroce_emit::register_leaf!("page_walk", PageWalk::default);
