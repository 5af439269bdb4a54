//! Payload fetch: host memory reads with many outstanding, data in packet order.

use crate::desc::{FetchJob, FetchReq, Fetched};
use crate::fetch_collect::FetchCollect;
use crate::fetch_issue::{FetchIssue, FetchOrder};
use crate::fetch_pages::FetchPages;
use crate::fetch_read::FetchRead;
use crate::fetch_release::FetchRelease;
use crate::fetch_split::{FetchPart, FetchSplit};
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::dma::{DmaReadBeat, DmaReadReq};
use ferroce_rtl::desc::pages::{PageAnswer, PageReq};
use ferroce_rtl::stream::{StreamIn, StreamOut};

/// Reorder buffer (log2 of beats): 64 KiB. 100 Gb/s and a round trip of 900 ns have 11 KiB under way;
/// a packet stays until its last byte is there, and one of 4 KiB is being sent: 20 KiB. The rest covers
/// round trips of up to 4 us, and hosts whose answers come in bursts.
pub const DEFAULT_LOG2_BEATS: usize = 10;
/// DMA tags (log2): payloads of 128 bytes keep 16 KiB under way.
pub const DEFAULT_LOG2_TAGS: usize = 7;

/// Fetches payloads in the order of `from`. `fetched` says of each that all of it has arrived; `job` says whether it is wanted, and then
/// `payload` has its beats.
///
/// Nothing here waits for anything later: pages are looked up by a translator that waits for host memory alone, reads are issued when there is room for their answers, answers are always
/// taken, and room is freed in the order of issue.
#[derive(LogicBlock, Module)]
pub struct PayloadFetch {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Payloads to fetch.
    pub from: StreamIn<FetchReq>,
    /// Pages wanted.
    pub page_req: StreamOut<PageReq>,
    /// Their places, in the same order.
    pub page_answer: StreamIn<PageAnswer>,
    /// DMA reads.
    pub dma_req: StreamOut<DmaReadReq>,
    /// Their answers; those to other tags are ignored.
    pub dma_data: StreamIn<DmaReadBeat>,
    /// Complete payloads.
    pub fetched: StreamOut<Fetched>,
    /// Payloads that were in WQEs, in the order of their jobs.
    pub inline: StreamIn<Bits<512>>,
    /// What becomes of each of them, and of those that were in WQEs.
    pub job: StreamIn<FetchJob>,
    /// Beats of those that are wanted, address-aligned.
    pub payload: StreamOut<Bits<512>>,
    split: FetchSplit,
    pages: FetchPages,
    issue: FetchIssue,
    collect: FetchCollect,
    release: FetchRelease,
    read: FetchRead,
}

impl PayloadFetch {
    /// Uses the DMA tags `tag_base` to `tag_base + 2^log2_tags - 1` and a reorder buffer of `2^log2_beats` beats.
    ///
    /// # Panics
    /// If `tag_base` is not a multiple of the number of tags, or the buffer has less than 256 or more than
    /// 32768 beats.
    #[must_use]
    pub fn new(tag_base: u8, log2_tags: usize, log2_beats: usize) -> Self {
        Self {
            clock: Signal::default(),
            from: StreamIn::default(),
            page_req: StreamOut::default(),
            page_answer: StreamIn::default(),
            dma_req: StreamOut::default(),
            dma_data: StreamIn::default(),
            fetched: StreamOut::default(),
            inline: StreamIn::default(),
            job: StreamIn::default(),
            payload: StreamOut::default(),
            split: FetchSplit::default(),
            pages: FetchPages::default(),
            issue: FetchIssue::new(tag_base, log2_tags, log2_beats),
            collect: FetchCollect::new(tag_base, log2_tags),
            release: FetchRelease::new(log2_tags),
            read: FetchRead::new(log2_beats),
        }
    }
}

/// 128 tags from 0, 64 KiB.
impl Default for PayloadFetch {
    fn default() -> Self {
        Self::new(0, DEFAULT_LOG2_TAGS, DEFAULT_LOG2_BEATS)
    }
}

impl Logic for PayloadFetch {
    #[kernel]
    fn update(&mut self) {
        clock!(self, clock, split, pages, issue, collect, release, read);
        StreamIn::<FetchReq>::link(&mut self.from, &mut self.split.from);
        StreamOut::<FetchPart>::join(&mut self.split.to, &mut self.pages.from);
        StreamOut::<PageReq>::link(&mut self.page_req, &mut self.pages.page_req);
        StreamIn::<PageAnswer>::link(&mut self.page_answer, &mut self.pages.page_answer);
        StreamOut::<FetchPart>::join(&mut self.pages.to, &mut self.issue.part);
        self.issue.freed.next = self.read.freed.val();
        StreamOut::<DmaReadReq>::link(&mut self.dma_req, &mut self.issue.dma_req);
        StreamOut::<FetchOrder>::join(&mut self.issue.order, &mut self.release.order);
        StreamIn::<DmaReadBeat>::link(&mut self.dma_data, &mut self.collect.dma_data);
        self.collect.base.next = self.issue.base.val();
        self.release.end.next = self.collect.end.val();
        self.read.store.next = self.collect.store.val();
        StreamIn::<FetchJob>::link(&mut self.job, &mut self.read.job);
        StreamIn::<Bits<512>>::link(&mut self.inline, &mut self.read.inline);
        StreamOut::<Fetched>::link(&mut self.fetched, &mut self.release.fetched);
        StreamOut::<Bits<512>>::link(&mut self.payload, &mut self.read.payload);
    }
}

ferroce_emit::register_leaf!("payload_fetch", || PayloadFetch::new(64, 4, 8));
