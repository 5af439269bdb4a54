//! Length and address of WQE bursts, and their tags.

use super::desc::{Burst, FetchJob, MAX_BURST_LOG2, TAGS_LOG2};
use crate::ring_cfg::RingWrite;
use ferroce_emit::prelude::*;
use ferroce_rtl::delay::Delay;
use ferroce_rtl::desc::cfg::RingCfg;
use ferroce_rtl::desc::dma::DmaReadReq;
use ferroce_rtl::ram::{Ram, RAM_LATENCY};
use ferroce_rtl::stream::{StreamIn, StreamOut};
use ferroce_rtl::sync_fifo::SyncFifo;

/// Jobs that may be on the way from the `open` that let them start to the request FIFO: 14 cycles (event, state loop,
/// this pipeline, `open` itself), one job every two cycles at most, and two that stand in line for the state loop.
const JOBS_UNDER_WAY: usize = 9;
/// Places of the request FIFO, log2: the jobs under way and nearly as many that wait for the arbiter.
const REQUESTS_LOG2: usize = 4;

/// Tag that is left out: `ferroce_dma::tags` gives that of the RQ cache to atomics.
const LAST_TAG: u64 = (1 << TAGS_LOG2) - 1;

/// Makes one read request of each [`FetchJob`]. The burst is as long as what was posted, what the window has room
/// for, and half of the window allow (so that the next burst is fetched while the owner uses up this
/// one), at most 64 WQEs; it neither wraps around the ring nor crosses a 4 KiB boundary.
#[derive(LogicBlock, Module)]
pub struct WqeFetch {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Configuration of the rings.
    pub ring: Signal<In, RingWrite>,
    /// Bursts to read.
    pub job: Signal<In, FetchJob>,
    /// A job may be started: a tag and a place in the request FIFO are kept for it.
    pub open: Signal<Out, Bit>,
    /// Tags of bursts that were dealt with; always ready.
    pub freed: StreamIn<Bits<5>>,
    /// A burst is requested in this cycle.
    pub burst_valid: Signal<Out, Bit>,
    /// Its tag.
    pub burst_tag: Signal<Out, Bits<5>>,
    /// The burst.
    pub burst: Signal<Out, Burst>,
    /// Read requests.
    pub request: StreamOut<DmaReadReq>,
    tag_base: Constant<Bits<8>>,
    window_size: Constant<Bits<9>>,
    /// Longest burst: half a window, at most 64 WQEs.
    longest: Constant<Bits<16>>,
    rings: Ram<RingCfg>,
    jobs: Delay<FetchJob>,
    /// Free tags; as many places as tags.
    tags: SyncFifo<Bits<5>>,
    requests: SyncFifo<DmaReadReq>,
    /// Fills `tags` once after power-up.
    first_tag: DFF<Bits<6>>,
    open_now: DFF<Bit>,
    /// What was posted, window room, index in ring.
    s1_valid: DFF<Bit>,
    s1_qp: DFF<Bits<14>>,
    s1_first: DFF<Bits<8>>,
    s1_base: DFF<Bits<64>>,
    s1_posted: DFF<Bits<16>>,
    s1_room: DFF<Bits<9>>,
    s1_offset: DFF<Bits<16>>,
    s1_to_end: DFF<Bits<6>>,
    /// Posted, at most the longest burst.
    s2_valid: DFF<Bit>,
    s2_qp: DFF<Bits<14>>,
    s2_first: DFF<Bits<8>>,
    s2_high: DFF<Bits<32>>,
    s2_low: DFF<Bits<33>>,
    s2_posted: DFF<Bits<7>>,
    s2_room: DFF<Bits<9>>,
    s2_to_end: DFF<Bits<7>>,
    /// Smaller of posted and room.
    s3_valid: DFF<Bit>,
    s3_qp: DFF<Bits<14>>,
    s3_first: DFF<Bits<8>>,
    s3_addr: DFF<Bits<64>>,
    s3_count: DFF<Bits<7>>,
    s3_to_end: DFF<Bits<7>>,
    /// Smallest of all.
    s4_valid: DFF<Bit>,
    s4_qp: DFF<Bits<14>>,
    s4_first: DFF<Bits<8>>,
    s4_addr: DFF<Bits<64>>,
    s4_count: DFF<Bits<7>>,
    size_mask: Signal<Local, Bits<16>>,
    high: Signal<Local, Bits<32>>,
}

impl WqeFetch {
    /// `2^qps_log2` queues with a window of `2^window_log2` WQEs; tags are `tag_base` and the
    /// `2^TAGS_LOG2 - 2` after it.
    #[must_use]
    pub fn new(qps_log2: usize, window_log2: usize, tag_base: u8) -> Self {
        Self {
            clock: Signal::default(),
            ring: Signal::default(),
            job: Signal::default(),
            open: Signal::default(),
            freed: StreamIn::default(),
            burst_valid: Signal::default(),
            burst_tag: Signal::default(),
            burst: Signal::default(),
            request: StreamOut::default(),
            tag_base: Constant::new(u64::from(tag_base).into()),
            window_size: Constant::new((1u64 << window_log2).into()),
            longest: Constant::new((1u64 << MAX_BURST_LOG2.min(window_log2 - 1)).into()),
            rings: Ram::new(qps_log2),
            jobs: Delay::new(RAM_LATENCY),
            tags: SyncFifo::new(TAGS_LOG2),
            requests: SyncFifo::new_with_reserve(REQUESTS_LOG2, JOBS_UNDER_WAY),
            first_tag: DFF::default(),
            open_now: DFF::default(),
            s1_valid: DFF::default(),
            s1_qp: DFF::default(),
            s1_first: DFF::default(),
            s1_base: DFF::default(),
            s1_posted: DFF::default(),
            s1_room: DFF::default(),
            s1_offset: DFF::default(),
            s1_to_end: DFF::default(),
            s2_valid: DFF::default(),
            s2_qp: DFF::default(),
            s2_first: DFF::default(),
            s2_high: DFF::default(),
            s2_low: DFF::default(),
            s2_posted: DFF::default(),
            s2_room: DFF::default(),
            s2_to_end: DFF::default(),
            s3_valid: DFF::default(),
            s3_qp: DFF::default(),
            s3_first: DFF::default(),
            s3_addr: DFF::default(),
            s3_count: DFF::default(),
            s3_to_end: DFF::default(),
            s4_valid: DFF::default(),
            s4_qp: DFF::default(),
            s4_first: DFF::default(),
            s4_addr: DFF::default(),
            s4_count: DFF::default(),
            size_mask: Signal::default(),
            high: Signal::default(),
        }
    }
}

/// 16 queues with a window of 16 WQEs.
impl Default for WqeFetch {
    fn default() -> Self {
        Self::new(4, 4, 0)
    }
}

impl Logic for WqeFetch {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self, clock, first_tag, open_now, s1_valid, s1_qp, s1_first, s1_base, s1_posted,
            s1_room, s1_offset, s1_to_end, s2_valid, s2_qp, s2_first, s2_high, s2_low, s2_posted,
            s2_room, s2_to_end, s3_valid, s3_qp, s3_first, s3_addr, s3_count, s3_to_end, s4_valid,
            s4_qp, s4_first, s4_addr, s4_count
        );
        clock!(self, clock, rings, jobs, tags, requests);

        self.rings.wr_valid.next = self.ring.val().valid;
        self.rings.wr_addr.next = bit_cast::<20, 14>(self.ring.val().index);
        self.rings.wr_data.next.enabled = self.ring.val().enabled;
        self.rings.wr_data.next.base = self.ring.val().base;
        self.rings.wr_data.next.log_size = self.ring.val().log_size;
        // Concerns doorbells only.
        self.rings.wr_data.next.page = 0.into();
        self.rings.rd_addr.next = bit_cast::<20, 14>(self.job.val().qp);
        self.jobs.data_in.next = self.job.val();

        self.size_mask.next =
            !(Bits::<16>::from(0xFFFF) << bit_cast::<16, 4>(self.rings.rd_data.val().log_size));
        self.s1_valid.d.next = self.jobs.data_out.val().valid;
        self.s1_qp.d.next = self.jobs.data_out.val().qp;
        self.s1_first.d.next = self.jobs.data_out.val().fetched.get_bits::<8>(0);
        self.s1_base.d.next = self.rings.rd_data.val().base;
        self.s1_posted.d.next =
            self.jobs.data_out.val().producer - self.jobs.data_out.val().fetched;
        self.s1_room.d.next = self.window_size.val() - self.jobs.data_out.val().level;
        self.s1_offset.d.next = self.jobs.data_out.val().fetched & self.size_mask.val();
        // WQEs of this 4 KiB page, or of the ring if it is smaller, after the first one.
        self.s1_to_end.d.next = self.size_mask.val().get_bits::<6>(0)
            & !self.jobs.data_out.val().fetched.get_bits::<6>(0);

        self.s2_valid.d.next = self.s1_valid.q.val();
        self.s2_qp.d.next = self.s1_qp.q.val();
        self.s2_first.d.next = self.s1_first.q.val();
        self.s2_high.d.next = self.s1_base.q.val().get_bits::<32>(32);
        self.s2_low.d.next = bit_cast::<33, 32>(self.s1_base.q.val().get_bits::<32>(0))
            + (bit_cast::<33, 16>(self.s1_offset.q.val()) << 6);
        self.s2_posted.d.next = self.s1_posted.q.val().get_bits::<7>(0);
        if self.s1_posted.q.val() > self.longest.val() {
            self.s2_posted.d.next = self.longest.val().get_bits::<7>(0);
        }
        self.s2_room.d.next = self.s1_room.q.val();
        self.s2_to_end.d.next = bit_cast::<7, 6>(self.s1_to_end.q.val()) + 1;

        self.s3_valid.d.next = self.s2_valid.q.val();
        self.s3_qp.d.next = self.s2_qp.q.val();
        self.s3_first.d.next = self.s2_first.q.val();
        self.high.next = self.s2_high.q.val();
        if self.s2_low.q.val().get_bit(32) {
            self.high.next = self.s2_high.q.val() + 1;
        }
        self.s3_addr.d.next = (bit_cast::<64, 32>(self.high.val()) << 32)
            | bit_cast::<64, 32>(self.s2_low.q.val().get_bits::<32>(0));
        self.s3_count.d.next = self.s2_posted.q.val();
        if bit_cast::<9, 7>(self.s2_posted.q.val()) > self.s2_room.q.val() {
            self.s3_count.d.next = self.s2_room.q.val().get_bits::<7>(0);
        }
        self.s3_to_end.d.next = self.s2_to_end.q.val();

        self.s4_valid.d.next = self.s3_valid.q.val();
        self.s4_qp.d.next = self.s3_qp.q.val();
        self.s4_first.d.next = self.s3_first.q.val();
        self.s4_addr.d.next = self.s3_addr.q.val();
        self.s4_count.d.next = self.s3_count.q.val();
        if self.s3_count.q.val() > self.s3_to_end.q.val() {
            self.s4_count.d.next = self.s3_to_end.q.val();
        }

        // `open` has kept a tag and a place.
        self.tags.output.ready.next = self.s4_valid.q.val();
        self.burst_valid.next = self.s4_valid.q.val();
        self.burst_tag.next = self.tags.output.data.val();
        self.burst.next.qp = self.s4_qp.q.val();
        self.burst.next.first = self.s4_first.q.val();
        self.burst.next.count = self.s4_count.q.val();
        self.requests.input.valid.next = self.s4_valid.q.val();
        self.requests.input.data.next.addr = self.s4_addr.q.val();
        self.requests.input.data.next.len = bit_cast::<13, 7>(self.s4_count.q.val()) << 6;
        self.requests.input.data.next.tag =
            self.tag_base.val() | bit_cast::<8, 5>(self.tags.output.data.val());
        // Only the host writes WQEs.
        self.requests.input.data.next.ordered = false;
        StreamOut::<DmaReadReq>::link(&mut self.request, &mut self.requests.output);

        self.tags.input.valid.next = self.freed.valid.val();
        self.tags.input.data.next = self.freed.data.val();
        self.freed.ready.next = true;
        if !self.first_tag.q.val().get_bit(TAGS_LOG2) {
            self.first_tag.d.next = self.first_tag.q.val() + 1;
            self.tags.input.valid.next = self.first_tag.q.val() != LAST_TAG;
            self.tags.input.data.next = self.first_tag.q.val().get_bits::<5>(0);
        }
        self.open_now.d.next = self.first_tag.q.val().get_bit(TAGS_LOG2)
            & (self.tags.used.val() > JOBS_UNDER_WAY as u64)
            & !self.requests.almost_full.val();
        self.open.next = self.open_now.q.val();
    }
}

ferroce_emit::register_leaf!("wqe_fetch", WqeFetch::default);
