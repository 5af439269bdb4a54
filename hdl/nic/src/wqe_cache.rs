//! Cache of work queue entries: one instance for the SQs, one for the RQs.

pub mod desc;
pub mod push_copy;
pub mod wqe_events;
pub mod wqe_fetch;
pub mod wqe_state_loop;
pub mod wqe_store;

use crate::bar::desc::LineWrite;
use crate::ring_cfg::RingCfgPort;
use desc::{BlockWrite, BurstDone, WindowPub, MAX_WINDOW_LOG2, TAGS_LOG2};
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::bar::QueueBell;
use ferroce_rtl::desc::cfg::{table, CfgWrite};
use ferroce_rtl::desc::dma::{DmaReadBeat, DmaReadReq};
use ferroce_rtl::desc::lookup::{WqeData, WqeRead};
use ferroce_rtl::desc::tx::{Consumed, Kick};
use ferroce_rtl::stream::{StreamIn, StreamOut};
use ferroce_rtl::sync_fifo::SyncFifo;
use push_copy::PushCopy;
use wqe_events::WqeEvents;
use wqe_fetch::WqeFetch;
use wqe_state_loop::WqeStateLoop;
use wqe_store::WqeStore;

/// Places of the position and kick FIFOs, log2: enough that a turn of the event loop (four events) stalls nobody.
const SMALL_FIFO_LOG2: usize = 4;
/// Arrivals and pushes that may be on the way from the kick FIFO's `almost_full` to its input: 8 cycles with an arrival every two and
/// two pushes, and two that stand in line for the state loop.
const KICKS_UNDER_WAY: usize = 8;

/// Keeps up to `2^window_log2` WQEs of each QP on chip, fetched ahead in bursts.
///
/// At most one burst of a QP is in flight. Nothing in it can wait for ever: the state loop needs no one's leave
/// for positions, doorbells and configuration; arrivals and pushes need a place for their kick, which the owner always takes; a
/// fetch needs a tag, which an arrival frees.
#[derive(LogicBlock, Module)]
pub struct WqeCache {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Configuration bus.
    pub cfg: Signal<In, CfgWrite>,
    /// Doorbells; their queue is the register window's.
    pub bell: StreamIn<QueueBell>,
    /// Pushed blocks.
    pub push_line: Signal<In, LineWrite>,
    /// The place of the oldest push is free again.
    pub push_freed: Signal<Out, Bit>,
    /// Owners' positions.
    pub position: StreamIn<Consumed>,
    /// QPs that have new WQEs.
    pub kick: StreamOut<Kick>,
    /// Look-up, answered [`ferroce_rtl::desc::lookup::WQE_READ_LATENCY`] cycles later.
    pub read: Signal<In, WqeRead>,
    /// The answer.
    pub data: Signal<Out, WqeData>,
    /// Every new state of a queue.
    pub window: Signal<Out, WindowPub>,
    /// Blocks as they are written.
    pub block: Signal<Out, BlockWrite>,
    /// Read requests for WQE bursts.
    pub dma_request: StreamOut<DmaReadReq>,
    /// Their data; ready but while pushed blocks are copied.
    pub dma_beat: StreamIn<DmaReadBeat>,
    ring_port: RingCfgPort,
    events: WqeEvents,
    state_loop: WqeStateLoop,
    fetch: WqeFetch,
    store: WqeStore,
    pushes: PushCopy,
    positions: SyncFifo<Consumed>,
    kicks: SyncFifo<Kick>,
    /// A place for every tag.
    arrivals: SyncFifo<BurstDone>,
    /// A place for every queue.
    hungry: SyncFifo<Bits<14>>,
}

impl WqeCache {
    /// Cache of `2^qps_log2` queues with a window of `2^window_log2` WQEs each; its rings are those of
    /// configuration table `table` ([`ferroce_rtl::desc::cfg::table`]), and it uses the DMA tags `tag_base` and the
    /// `2^TAGS_LOG2 - 1` after it.
    ///
    /// # Panics
    /// If `window_log2` is not 1 to 8 or `qps_log2` not 1 to 14.
    #[must_use]
    pub fn new(qps_log2: usize, window_log2: usize, table: u64, tag_base: u8) -> Self {
        Self::with_store(
            qps_log2,
            window_log2,
            RingCfgPort::new(table),
            tag_base,
            WqeStore::new(qps_log2, window_log2),
        )
    }

    /// Cache of the receive queues: the RQs of `2^qps_log2` QPs, and `2^srqs_log2` SRQs numbered behind them; else as [`Self::new`].
    ///
    /// # Panics
    /// If `window_log2` is not 1 to 8, `qps_log2` not 1 to 13, or `srqs_log2` above `qps_log2`.
    #[must_use]
    pub fn receive(qps_log2: usize, srqs_log2: usize, window_log2: usize, tag_base: u8) -> Self {
        assert!(
            srqs_log2 <= qps_log2,
            "2^{srqs_log2} SRQs beside 2^{qps_log2} QPs"
        );
        let queues = (1 << qps_log2) + (1 << srqs_log2);
        Self::with_store(
            qps_log2 + 1,
            window_log2,
            RingCfgPort::with_behind(table::RQ, table::SRQ, 1 << qps_log2),
            tag_base,
            WqeStore::receive(queues, window_log2),
        )
    }

    fn with_store(
        queues_log2: usize,
        window_log2: usize,
        ring_port: RingCfgPort,
        tag_base: u8,
        store: WqeStore,
    ) -> Self {
        assert!(
            (1..=MAX_WINDOW_LOG2).contains(&window_log2),
            "a window of 2^{window_log2} WQEs"
        );
        assert!((1..=14).contains(&queues_log2), "2^{queues_log2} queues");
        Self {
            clock: Signal::default(),
            cfg: Signal::default(),
            bell: StreamIn::default(),
            push_line: Signal::default(),
            push_freed: Signal::default(),
            position: StreamIn::default(),
            kick: StreamOut::default(),
            read: Signal::default(),
            data: Signal::default(),
            window: Signal::default(),
            block: Signal::default(),
            dma_request: StreamOut::default(),
            dma_beat: StreamIn::default(),
            ring_port,
            events: WqeEvents::default(),
            state_loop: WqeStateLoop::new(queues_log2, window_log2),
            fetch: WqeFetch::new(queues_log2, window_log2, tag_base),
            store,
            pushes: PushCopy::default(),
            positions: SyncFifo::new(SMALL_FIFO_LOG2),
            kicks: SyncFifo::quick_with_reserve(SMALL_FIFO_LOG2, KICKS_UNDER_WAY),
            arrivals: SyncFifo::new(TAGS_LOG2),
            hungry: SyncFifo::new(queues_log2),
        }
    }
}

/// 16 SQs with a window of 16 WQEs.
impl Default for WqeCache {
    fn default() -> Self {
        Self::new(4, 4, table::SQ, 0)
    }
}

impl Logic for WqeCache {
    #[kernel]
    fn update(&mut self) {
        clock!(
            self, clock, ring_port, events, state_loop, fetch, store, pushes, positions, kicks,
            arrivals, hungry
        );
        self.ring_port.cfg.next = self.cfg.val();
        self.events.ring.next = self.ring_port.ring.val();
        self.fetch.ring.next = self.ring_port.ring.val();

        StreamIn::<QueueBell>::link(&mut self.bell, &mut self.events.bell);
        StreamIn::<Consumed>::link(&mut self.position, &mut self.positions.input);
        StreamOut::<Consumed>::join(&mut self.positions.output, &mut self.events.position);
        StreamOut::<BurstDone>::join(&mut self.store.done, &mut self.arrivals.input);
        StreamOut::<BurstDone>::join(&mut self.arrivals.output, &mut self.events.arrived);
        StreamOut::<Bits<14>>::join(&mut self.state_loop.hungry, &mut self.hungry.input);
        StreamOut::<Bits<14>>::join(&mut self.hungry.output, &mut self.events.hungry);
        StreamOut::<Kick>::join(&mut self.state_loop.kick, &mut self.kicks.input);
        StreamOut::<Kick>::link(&mut self.kick, &mut self.kicks.output);
        StreamOut::<DmaReadReq>::link(&mut self.dma_request, &mut self.fetch.request);
        StreamIn::<DmaReadBeat>::link(&mut self.dma_beat, &mut self.store.beat);

        self.events.kick_open.next = !self.kicks.almost_full.val();
        self.events.fetch_open.next = self.fetch.open.val();
        self.state_loop.valid.next = self.events.valid.val();
        self.state_loop.event.next = self.events.event.val();
        self.fetch.job.next = self.state_loop.fetch.val();
        self.fetch.freed.data.next = self.arrivals.output.data.val().tag;
        self.fetch.freed.valid.next =
            self.arrivals.output.valid.val() & self.arrivals.output.ready.val();
        self.store.burst_valid.next = self.fetch.burst_valid.val();
        self.store.burst_tag.next = self.fetch.burst_tag.val();
        self.store.burst.next = self.fetch.burst.val();
        self.pushes.line.next = self.push_line.val();
        self.pushes.job.next = self.state_loop.push.val();
        self.push_freed.next = self.pushes.freed.val();
        self.store.push.next = self.pushes.beat.val();
        self.store.window.next = self.state_loop.readable.val();
        self.window.next = self.state_loop.window.val();
        self.block.next = self.store.block.val();
        self.store.read.next = self.read.val();
        self.data.next = self.store.data.val();
    }
}

ferroce_emit::register_leaf!("wqe_cache", WqeCache::default);
