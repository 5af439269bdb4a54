//! Issues DMA reads for which there is room.

use crate::fetch_split::FetchPart;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::dma::DmaReadReq;
use ferroce_rtl::skid::Skid;
use ferroce_rtl::stream::{StreamIn, StreamOut};
use ferroce_rtl::sync_fifo::SyncFifo;

/// Beats that stay free in the reorder buffer when a part is issued: `has_room` is a cycle old, so one
/// part may have been issued that it does not know of, and a part takes 64 beats at most.
const MARGIN_BEATS: u64 = 2 * 64;

/// A read under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct FetchOrder {
    /// Beats reserved for it.
    pub beats: Bits<7>,
    /// Last part of its packet.
    pub last: Bit,
    /// Not read, has no tag, and fails.
    pub fault: Bit,
}

/// Where a tag's beats go in the reorder buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct FetchBase {
    /// A read was issued in this cycle.
    pub valid: Bit,
    /// Its tag, counted from the first one.
    pub tag: Bits<8>,
    /// Place of its first beat; the buffer uses the low bits.
    pub base: Bits<16>,
}

/// Reserve before issue: a read goes out when its tag is free and the reorder buffer has room for all of its beats. Tags are used
/// in a circle, so the order FIFO, with a place for each, is also the tag counter. A part without a page takes its room, as if it were read, and fails in its turn.
#[derive(LogicBlock, Module)]
pub struct FetchIssue {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Parts to fetch.
    pub part: StreamIn<FetchPart>,
    /// A beat has left the reorder buffer.
    pub freed: Signal<In, Bit>,
    /// DMA reads.
    pub dma_req: StreamOut<DmaReadReq>,
    /// Reads under way, oldest first; leaves when the read is complete.
    pub order: StreamOut<FetchOrder>,
    /// Where the answer goes.
    pub base: Signal<Out, FetchBase>,
    tag_base: Constant<Bits<8>>,
    tag_mask: Constant<Bits<8>>,
    /// Highest number of beats in use with which a part may be issued.
    room_up_to: Constant<Bits<16>>,
    tag: DFF<Bits<8>>,
    place: DFF<Bits<16>>,
    used: DFF<Bits<16>>,
    has_room: DFF<Bit>,
    base_reg: DFF<FetchBase>,
    reqs: Skid<DmaReadReq>,
    orders: SyncFifo<FetchOrder>,
    open: Signal<Local, Bit>,
    go: Signal<Local, Bit>,
    reads: Signal<Local, Bit>,
    taken: Signal<Local, Bits<16>>,
}

impl FetchIssue {
    /// Uses the DMA tags `tag_base` to `tag_base + 2^log2_tags - 1` and a buffer of `2^log2_beats` beats.
    ///
    /// # Panics
    /// If the tags are not aligned to their number, or the buffer is too small for two packets.
    #[must_use]
    pub fn new(tag_base: u8, log2_tags: usize, log2_beats: usize) -> Self {
        let tags = 1u64 << log2_tags;
        assert!(
            log2_tags <= 8 && u64::from(tag_base) % tags == 0,
            "2^{log2_tags} tags can't begin at {tag_base}"
        );
        let beats = 1u64 << log2_beats;
        assert!(
            (8..=15).contains(&log2_beats),
            "a reorder buffer of 2^{log2_beats} beats"
        );
        Self {
            clock: Signal::default(),
            part: StreamIn::default(),
            freed: Signal::default(),
            dma_req: StreamOut::default(),
            order: StreamOut::default(),
            base: Signal::default(),
            tag_base: Constant::new(u64::from(tag_base).into()),
            tag_mask: Constant::new((tags - 1).into()),
            room_up_to: Constant::new((beats - MARGIN_BEATS).into()),
            tag: DFF::default(),
            place: DFF::default(),
            used: DFF::default(),
            has_room: DFF::default(),
            base_reg: DFF::default(),
            reqs: Skid::default(),
            orders: SyncFifo::new(log2_tags),
            open: Signal::default(),
            go: Signal::default(),
            reads: Signal::default(),
            taken: Signal::default(),
        }
    }
}

/// 64 tags from 0, 256 beats.
impl Default for FetchIssue {
    fn default() -> Self {
        Self::new(0, 6, 8)
    }
}

impl Logic for FetchIssue {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, tag, place, used, has_room, base_reg);
        clock!(self, clock, reqs, orders);

        self.open.next =
            self.has_room.q.val() & self.reqs.input.ready.val() & self.orders.input.ready.val();
        self.part.ready.next = self.open.val();
        self.go.next = self.open.val() & self.part.valid.val();

        self.reads.next = self.go.val() & !self.part.data.val().fault;
        self.reqs.input.valid.next = self.reads.val();
        self.reqs.input.data.next.addr = self.part.data.val().addr;
        self.reqs.input.data.next.len = self.part.data.val().len;
        self.reqs.input.data.next.tag = self.tag_base.val() | self.tag.q.val();
        self.reqs.input.data.next.ordered = self.part.data.val().ordered;
        self.orders.input.valid.next = self.go.val();
        self.orders.input.data.next.beats = self.part.data.val().beats;
        self.orders.input.data.next.last = self.part.data.val().last;
        self.orders.input.data.next.fault = self.part.data.val().fault;
        self.base_reg.d.next.valid = self.reads.val();
        self.base_reg.d.next.tag = self.tag.q.val();
        self.base_reg.d.next.base = self.place.q.val();
        self.base.next = self.base_reg.q.val();

        if self.reads.val() {
            self.tag.d.next = (self.tag.q.val() + 1) & self.tag_mask.val();
        }
        self.taken.next = 0.into();
        if self.go.val() {
            self.place.d.next = self.place.q.val() + bit_cast::<16, 7>(self.part.data.val().beats);
            self.taken.next = bit_cast::<16, 7>(self.part.data.val().beats);
        }
        self.used.d.next =
            self.used.q.val() + self.taken.val() - bit_cast::<16, 1>(self.freed.val().into());
        self.has_room.d.next = self.used.q.val() <= self.room_up_to.val();

        StreamOut::<DmaReadReq>::link(&mut self.dma_req, &mut self.reqs.output);
        StreamOut::<FetchOrder>::link(&mut self.order, &mut self.orders.output);
    }
}

ferroce_emit::register_leaf!("fetch_issue", || FetchIssue::new(64, 4, 8));
