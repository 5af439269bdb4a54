//! A translator as a whole.

use crate::desc::{Lookup, Walk};
use crate::page_front::PageFront;
use crate::page_head::PageHead;
use crate::page_walk::PageWalk;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::dma::{DmaReadBeat, DmaReadReq};
use ferroce_rtl::desc::pages::{PageAnswer, PageEvents, PageReq, PageTableWrite};
use ferroce_rtl::stream::{StreamIn, StreamOut};

/// Answers page requests in order, one a cycle: from its cache, or from page tables in host memory. A miss costs the round trip, and no rate as
/// long as a walk slot is free.
///
/// It waits for host memory only (reads that it has reserved room for), and for its client to take answers.
#[derive(LogicBlock, Module)]
pub struct PageTranslator {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Pages wanted.
    pub request: StreamIn<PageReq>,
    /// Where they are, in the same order.
    pub answer: StreamOut<PageAnswer>,
    /// Page tables of regions.
    pub table: Signal<In, PageTableWrite>,
    /// Empty the cache.
    pub flush: Signal<In, Bit>,
    /// It is being emptied.
    pub flushing: Signal<Out, Bit>,
    /// Reads of page tables.
    pub dma_req: StreamOut<DmaReadReq>,
    /// Their answers.
    pub dma_data: StreamIn<DmaReadBeat>,
    /// What is counted.
    pub events: Signal<Out, PageEvents>,
    front: PageFront,
    walk: PageWalk,
    head: PageHead,
    events_reg: DFF<PageEvents>,
}

impl PageTranslator {
    /// For `2^mrs_log2` regions, with a cache of `2^lines_log2` pages and the DMA tags from `tag_base`.
    ///
    /// # Panics
    /// If a size is out of its range.
    #[must_use]
    pub fn new(mrs_log2: usize, lines_log2: usize, tag_base: u8) -> Self {
        Self {
            clock: Signal::default(),
            request: StreamIn::default(),
            answer: StreamOut::default(),
            table: Signal::default(),
            flush: Signal::default(),
            flushing: Signal::default(),
            dma_req: StreamOut::default(),
            dma_data: StreamIn::default(),
            events: Signal::default(),
            front: PageFront::new(mrs_log2, lines_log2),
            walk: PageWalk::new(tag_base),
            head: PageHead::default(),
            events_reg: DFF::default(),
        }
    }
}

/// 16 regions, 16 pages, tags from 0.
impl Default for PageTranslator {
    fn default() -> Self {
        Self::new(4, 4, 0)
    }
}

impl Logic for PageTranslator {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, events_reg);
        clock!(self, clock, front, walk, head);
        StreamIn::<PageReq>::link(&mut self.request, &mut self.front.request);
        self.front.table.next = self.table.val();
        self.front.fill.next = self.walk.fill.val();
        self.front.flush.next = self.flush.val();
        self.flushing.next = self.front.flushing.val();
        self.front.forget.next = self.head.faulted.val();
        StreamOut::<Walk>::join(&mut self.front.walk, &mut self.walk.walk);
        StreamOut::<Lookup>::join(&mut self.front.lookup, &mut self.head.lookup);
        StreamOut::<DmaReadReq>::link(&mut self.dma_req, &mut self.walk.dma_req);
        StreamIn::<DmaReadBeat>::link(&mut self.dma_data, &mut self.walk.dma_data);
        self.walk.released.next = self.head.released.val();
        self.head.end.next = self.walk.end.val();
        StreamOut::<PageAnswer>::link(&mut self.answer, &mut self.head.answer);
        self.events_reg.d.next.lookup = self.front.looked.val();
        self.events_reg.d.next.miss = self.front.missed.val();
        self.events_reg.d.next.fault = self.head.faulted.val();
        self.events.next = self.events_reg.q.val();
    }
}

ferroce_emit::register_leaf!("page_translator", PageTranslator::default);
