//! The card.

use crate::bar::Bar;
use crate::bar_split::BarSplit;
use crate::config::NicConfig;
use crate::cqe_writer::CqeWriter;
use crate::eq_writer::desc::EventJob;
use crate::event_counters::EventCounters;
use crate::events::EventPath;
use crate::inline_reader::InlineReader;
use crate::mr_check::MrChecker;
use crate::qp_events::QpEvents;
use crate::qp_view::QpView;
use crate::srq_limit::SrqLimits;
use crate::stage_trace::StageTrace;
use crate::tx_monitor::TxMonitor;
use crate::wqe_cache::WqeCache;
use crate::write_drain::WriteDrain;
use ferroce_abi::cqe::Status;
use ferroce_dma::pcie_engine::PcieEvents;
use ferroce_dma::read_arb::DmaReadArb;
use ferroce_dma::read_demux::DmaReadDemux;
use ferroce_dma::tags;
use ferroce_emit::prelude::*;
use ferroce_mac_100g::Mac100g;
use ferroce_mmu::page_translator::PageTranslator;
use ferroce_mmu::region_writer::RegionWriter;
use ferroce_roce_rx::{RoceRx, RxSizes};
use ferroce_roce_tx::roce_tx::{RoceTx, TxSizes};
use ferroce_rtl::arb2::Arb2;
use ferroce_rtl::desc::bar::{BarReq, BarResp, CqBell, EqBell, QueueBell};
use ferroce_rtl::desc::cfg::table;
use ferroce_rtl::desc::dma::{DmaReadBeat, DmaReadReq, DmaWriteBeat};
use ferroce_rtl::desc::pages::{PageAnswer, PageReq};
use ferroce_rtl::desc::rx::{Answer, CqeJob, Kill};
use ferroce_rtl::desc::tx::{Consumed, Kick, LocalError, Rewind, SqConsumed};
use ferroce_rtl::dma_write_arb4::DmaWriteArb4;
use ferroce_rtl::stream::{Beat, StreamIn, StreamOut};
use ferroce_rtl::write_fence::WriteFence;

/// Status of a WQE whose memory access was denied.
const LOCAL_PROTECTION: u64 = Status::LocProt as u64;

/// A 100 Gb/s RoCEv2 card between a PCIe engine (register window and DMA port) and a MAC.
#[derive(LogicBlock, Module)]
pub struct Nic {
    /// Clock of the register window and the DMA port, 250 MHz.
    pub core_clock: Signal<In, Clock>,
    /// Clock of `mac_tx`, 322.265625 MHz.
    pub mac_tx_clock: Signal<In, Clock>,
    /// Clock of `mac_rx_*`, 322.265625 MHz.
    pub mac_rx_clock: Signal<In, Clock>,
    /// Accesses to the register window.
    pub bar_req: StreamIn<BarReq>,
    /// Answers to reads of it.
    pub bar_resp: StreamOut<BarResp>,
    /// Reads of host memory.
    pub dma_read_req: StreamOut<DmaReadReq>,
    /// Their data.
    pub dma_read_data: StreamIn<DmaReadBeat>,
    /// Writes to host memory.
    pub dma_write: StreamOut<DmaWriteBeat>,
    /// The PCIe engine offers the host a write or read request.
    pub link_offered: Signal<In, Bit>,
    /// The host takes it.
    pub link_taken: Signal<In, Bit>,
    /// What the PCIe engine met, to be counted.
    pub pcie: Signal<In, PcieEvents>,
    /// MSI-X is enabled.
    pub msix_enable: Signal<In, Bit>,
    /// All MSI-X vectors are masked.
    pub msix_mask: Signal<In, Bit>,
    /// Frames to the MAC, with FCS, no bubble inside a frame.
    pub mac_tx: StreamOut<Beat>,
    /// A beat of a frame from the MAC, with FCS.
    pub mac_rx_data: Signal<In, Beat>,
    /// The MAC offers a beat, which can't wait.
    pub mac_rx_valid: Signal<In, Bit>,
    /// Where messages are, for measurements.
    pub stages: Signal<Out, StageTrace>,
    split: BarSplit,
    bar: Bar,
    counters: EventCounters,
    sq_cache: WqeCache,
    rq_cache: WqeCache,
    inline: InlineReader,
    tx_mrs: MrChecker,
    rx_mrs: MrChecker,
    regions: RegionWriter,
    tx_pages: PageTranslator,
    rx_pages: PageTranslator,
    tx: RoceTx,
    rx: RoceRx,
    mac: Mac100g,
    monitor: TxMonitor,
    cqes: CqeWriter,
    reads: DmaReadArb,
    read_data: DmaReadDemux,
    qp_events: QpEvents,
    limits: SrqLimits,
    async_events: Arb2<EventJob>,
    all_events: Arb2<EventJob>,
    events: EventPath,
    drain: WriteDrain,
    view: QpView,
    writes: DmaWriteArb4,
    payload_fence: WriteFence,
    atomic_fence: WriteFence,
}

impl Nic {
    /// A card of the given size.
    ///
    /// # Panics
    /// If a size is out of its range, see [`NicConfig::check`].
    #[must_use]
    pub fn new(config: NicConfig) -> Self {
        if let Err(error) = config.check() {
            panic!("{error}");
        }
        Self {
            core_clock: Signal::default(),
            mac_tx_clock: Signal::default(),
            mac_rx_clock: Signal::default(),
            bar_req: StreamIn::default(),
            bar_resp: StreamOut::default(),
            dma_read_req: StreamOut::default(),
            dma_read_data: StreamIn::default(),
            dma_write: StreamOut::default(),
            link_offered: Signal::default(),
            link_taken: Signal::default(),
            pcie: Signal::default(),
            msix_enable: Signal::default(),
            msix_mask: Signal::default(),
            mac_tx: StreamOut::default(),
            mac_rx_data: Signal::default(),
            mac_rx_valid: Signal::default(),
            stages: Signal::default(),
            split: BarSplit::default(),
            bar: Bar::new(&config),
            counters: EventCounters::default(),
            sq_cache: WqeCache::new(config.qps_log2, config.sq_window_log2, table::SQ, tags::SQ),
            rq_cache: WqeCache::receive(
                config.qps_log2,
                config.srqs_log2,
                config.rq_window_log2,
                tags::RQ,
            ),
            inline: InlineReader::new(config.qps_log2, config.sq_window_log2),
            tx_mrs: MrChecker::new(config.mrs_log2),
            rx_mrs: MrChecker::new(config.mrs_log2),
            regions: RegionWriter::new(config.mrs_log2),
            tx_pages: PageTranslator::new(config.mrs_log2, config.page_cache_log2, tags::TX_PAGES),
            rx_pages: PageTranslator::new(config.mrs_log2, config.page_cache_log2, tags::RX_PAGES),
            tx: RoceTx::new(TxSizes {
                log2_qps: config.qps_log2,
                log2_messages: config.retransmit_log2,
                tag_base: tags::PAYLOAD,
                log2_mrs: config.mrs_log2,
                atomic_tag: tags::ATOMIC,
                log2_tags: config.payload_reads_log2,
                log2_beats: config.payload_buffer_log2,
            }),
            rx: RoceRx::new(RxSizes {
                log2_qps: config.qps_log2,
                log2_srqs: config.srqs_log2,
                log2_window: config.retransmit_log2,
                log2_buffer_beats: config.packet_buffer_log2,
            }),
            mac: Mac100g::default(),
            monitor: TxMonitor::default(),
            cqes: CqeWriter::new(config.cqs_log2),
            reads: DmaReadArb::default(),
            read_data: DmaReadDemux::default(),
            qp_events: QpEvents::new(config.qps_log2),
            all_events: Arb2::default(),
            limits: SrqLimits::new(config.qps_log2, config.srqs_log2),
            async_events: Arb2::default(),
            events: EventPath::new(config.eqs_log2),
            drain: WriteDrain::default(),
            view: QpView::new(config.qps_log2),
            writes: DmaWriteArb4::default(),
            payload_fence: WriteFence::default(),
            atomic_fence: WriteFence::default(),
        }
    }
}

/// A small card.
impl Default for Nic {
    fn default() -> Self {
        Self::new(NicConfig::SMALL)
    }
}

impl Logic for Nic {
    #[kernel]
    fn update(&mut self) {
        self.split.clock.next = self.core_clock.val();
        self.qp_events.clock.next = self.core_clock.val();
        self.all_events.clock.next = self.core_clock.val();
        self.limits.clock.next = self.core_clock.val();
        self.async_events.clock.next = self.core_clock.val();
        self.events.clock.next = self.core_clock.val();
        self.drain.clock.next = self.core_clock.val();
        self.view.clock.next = self.core_clock.val();
        self.bar.clock.next = self.core_clock.val();
        self.counters.clock.next = self.core_clock.val();
        self.sq_cache.clock.next = self.core_clock.val();
        self.rq_cache.clock.next = self.core_clock.val();
        self.inline.clock.next = self.core_clock.val();
        self.tx_mrs.clock.next = self.core_clock.val();
        self.rx_mrs.clock.next = self.core_clock.val();
        self.regions.clock.next = self.core_clock.val();
        self.tx_pages.clock.next = self.core_clock.val();
        self.rx_pages.clock.next = self.core_clock.val();
        self.tx.clock.next = self.core_clock.val();
        self.rx.clock.next = self.core_clock.val();
        self.monitor.clock.next = self.core_clock.val();
        self.cqes.clock.next = self.core_clock.val();
        self.reads.clock.next = self.core_clock.val();
        self.read_data.clock.next = self.core_clock.val();
        self.writes.clock.next = self.core_clock.val();
        self.payload_fence.clock.next = self.core_clock.val();
        self.atomic_fence.clock.next = self.core_clock.val();
        self.mac.core_clock.next = self.core_clock.val();
        self.mac.mac_tx_clock.next = self.mac_tx_clock.val();
        self.mac.mac_rx_clock.next = self.mac_rx_clock.val();

        // Register window, configuration, doorbells.
        StreamIn::<BarReq>::link(&mut self.bar_req, &mut self.split.access);
        StreamOut::<BarResp>::link(&mut self.bar_resp, &mut self.split.answer);
        StreamOut::<BarReq>::join(&mut self.split.regs, &mut self.bar.access);
        StreamOut::<BarResp>::join(&mut self.bar.answer, &mut self.split.regs_answer);
        StreamOut::<BarReq>::join(&mut self.split.msix, &mut self.events.access);
        StreamOut::<BarResp>::join(&mut self.events.answer, &mut self.split.msix_answer);
        self.events.cfg.next = self.bar.cfg.val();
        self.qp_events.cfg.next = self.bar.cfg.val();
        self.drain.start.next = self.events.gone.val();
        self.drain.offered.next = self.link_offered.val();
        self.drain.taken.next = self.link_taken.val();
        self.bar.drained.next = self.drain.drained.val();

        // Queries.
        self.view.qp.next = self.bar.asked.val();
        self.cqes.asked.next = self.bar.asked.val();
        self.events.asked.next = self.bar.asked.val().get_bits::<7>(0);
        self.bar.qp_position.next = self.view.shown.val();
        self.bar.cq_position.next = self.cqes.position.val();
        self.bar.eq_position.next = self.events.position.val();
        self.limits.asked.next = self.bar.asked.val();
        self.bar.srq_position.next = self.limits.shown.val();
        self.view.sender.next = self.tx.publish.val();
        self.view.completer.next = self.rx.completer_pub.val();
        self.view.sq.next = self.sq_cache.window.val();
        self.view.rq.next = self.rq_cache.window.val();
        self.view.received.next =
            self.rx.rq_consumed.valid.val() & self.rq_cache.position.ready.val();
        self.view.position.next = self.rx.rq_consumed.data.val();
        self.events.msix_enable.next = self.msix_enable.val();
        self.events.msix_mask.next = self.msix_mask.val();
        self.sq_cache.cfg.next = self.bar.cfg.val();
        self.rq_cache.cfg.next = self.bar.cfg.val();
        self.tx.cfg.next = self.bar.cfg.val();
        self.rx.cfg.next = self.bar.cfg.val();
        self.cqes.cfg.next = self.bar.cfg.val();
        StreamOut::<QueueBell>::join(&mut self.bar.sq_bell, &mut self.sq_cache.bell);
        self.sq_cache.push_line.next = self.bar.push_line.val();
        self.bar.push_freed.next = self.sq_cache.push_freed.val();
        // Receive WQEs are not pushed.
        self.rq_cache.push_line.next = Default::default();
        StreamOut::<QueueBell>::join(&mut self.bar.rq_bell, &mut self.rq_cache.bell);
        StreamOut::<CqBell>::join(&mut self.bar.cq_bell, &mut self.cqes.bell);
        StreamOut::<EqBell>::join(&mut self.bar.eq_bell, &mut self.events.bell);
        self.cqes.seen.next = self.bar.cq_seen.val();
        self.events.seen.next = self.bar.eq_seen.val();

        // Memory regions: gone for new accesses first, done when the old ones have left.
        self.regions.cfg.next = self.bar.cfg.val();
        self.tx_mrs.write.next = self.regions.region.val();
        self.tx.region.next = self.regions.region.val();
        self.rx_mrs.write.next = self.regions.region.val();
        self.tx_pages.table.next = self.regions.table.val();
        self.rx_pages.table.next = self.regions.table.val();
        self.tx.drain.next = self.regions.mark.val();
        self.rx.drain.next = self.regions.mark.val();
        self.regions.drained.next = self.tx.drained.val() & self.rx.drained.val();
        self.tx_pages.flush.next = self.regions.flush.val();
        self.rx_pages.flush.next = self.regions.flush.val();
        self.regions.flushing.next = self.tx_pages.flushing.val() | self.rx_pages.flushing.val();
        self.bar.cfg_wait.next = self.regions.busy.val() | self.rx.hold_configs.val();

        // Transmit side and its queues.
        StreamOut::<Kick>::join(&mut self.sq_cache.kick, &mut self.tx.cache_kick);
        StreamOut::<SqConsumed>::join(&mut self.tx.consumed, &mut self.inline.consumed);
        StreamOut::<Consumed>::join(&mut self.inline.position, &mut self.sq_cache.position);
        StreamOut::<Bits<512>>::join(&mut self.inline.payload, &mut self.tx.inline);
        self.inline.block.next = self.sq_cache.block.val();
        self.sq_cache.read.next = self.tx.wqe_read.val();
        self.tx.wqe_data.next = self.sq_cache.data.val();
        self.tx_mrs.check.next = self.tx.mr_check.val();
        self.tx.mr_answer.next = self.tx_mrs.answer.val();

        // Receive side and its queues, whose owner needs no kick.
        self.rq_cache.kick.ready.next = true;
        StreamOut::<Consumed>::join(&mut self.rx.rq_consumed, &mut self.rq_cache.position);
        self.rq_cache.read.next = self.rx.rq_read.val();
        self.rx.rq_data.next = self.rq_cache.data.val();
        self.rx.rq_pub.next.valid = self.rq_cache.window.val().valid;
        self.rx.rq_pub.next.queue = self.rq_cache.window.val().qp;
        self.rx.rq_pub.next.fetched = self.rq_cache.window.val().fetched;
        self.rx.rq_pub.next.posted = self.rq_cache.window.val().producer;
        self.limits.cfg.next = self.bar.cfg.val();
        self.limits.position.next = self.rx.rq_position.val();
        self.limits.rq_pub.next = self.rx.rq_pub.val();
        self.rx_mrs.check.next = self.rx.mr_check.val();
        self.rx.mr_answer.next = self.rx_mrs.answer.val();

        // Between the two.
        StreamOut::<Answer>::join(&mut self.rx.answers, &mut self.tx.answers);
        StreamOut::<Kill>::join(&mut self.tx.kills, &mut self.rx.kills);
        self.rx.answered.next = self.tx.answered.val();
        StreamOut::<Rewind>::join(&mut self.rx.rewinds, &mut self.tx.rewind);
        StreamOut::<Kick>::join(&mut self.rx.kicks, &mut self.tx.completer_kick);
        StreamOut::<LocalError>::join(&mut self.tx.error, &mut self.rx.local_errors);
        self.tx.una.next = self.rx.completer_pub.val();
        self.rx.sender_pub.next = self.tx.publish.val();
        self.rx.sent_write.next = self.tx.sent.val();
        self.rx.sq_pub.next.valid = self.sq_cache.window.val().valid;
        self.rx.sq_pub.next.qp = self.sq_cache.window.val().qp;
        self.rx.sq_pub.next.pi = self.sq_cache.window.val().producer;

        // Host memory.
        StreamOut::<PageReq>::join(&mut self.tx.page_req, &mut self.tx_pages.request);
        StreamOut::<PageAnswer>::join(&mut self.tx_pages.answer, &mut self.tx.page_answer);
        StreamOut::<PageReq>::join(&mut self.rx.page_req, &mut self.rx_pages.request);
        StreamOut::<PageAnswer>::join(&mut self.rx_pages.answer, &mut self.rx.page_answer);
        StreamOut::<DmaReadReq>::join(&mut self.tx_pages.dma_req, &mut self.reads.tx_pages);
        StreamOut::<DmaReadReq>::join(&mut self.rx_pages.dma_req, &mut self.reads.rx_pages);
        StreamOut::<DmaReadBeat>::join(&mut self.read_data.tx_pages, &mut self.tx_pages.dma_data);
        StreamOut::<DmaReadBeat>::join(&mut self.read_data.rx_pages, &mut self.rx_pages.dma_data);
        StreamOut::<DmaReadReq>::join(&mut self.tx.dma_req, &mut self.reads.payload);
        StreamOut::<DmaReadReq>::join(&mut self.sq_cache.dma_request, &mut self.reads.sq);
        StreamOut::<DmaReadReq>::join(&mut self.rq_cache.dma_request, &mut self.reads.rq);
        StreamOut::<DmaReadReq>::join(&mut self.tx.atomic_req, &mut self.reads.atomic);
        StreamOut::<DmaReadReq>::link(&mut self.dma_read_req, &mut self.reads.request);
        StreamIn::<DmaReadBeat>::link(&mut self.dma_read_data, &mut self.read_data.beat);
        StreamOut::<DmaReadBeat>::join(&mut self.read_data.payload, &mut self.tx.dma_data);
        StreamOut::<DmaReadBeat>::join(&mut self.read_data.sq, &mut self.sq_cache.dma_beat);
        StreamOut::<DmaReadBeat>::join(&mut self.read_data.rq, &mut self.rq_cache.dma_beat);
        StreamOut::<DmaReadBeat>::join(&mut self.read_data.atomic, &mut self.tx.atomic_data);
        StreamOut::<CqeJob>::join(&mut self.rx.rx_cqes, &mut self.cqes.rx_job);
        StreamOut::<CqeJob>::join(&mut self.rx.tx_cqes, &mut self.cqes.tx_job);
        StreamOut::<DmaWriteBeat>::join(&mut self.rx.writes, &mut self.writes.in0);
        StreamOut::<DmaWriteBeat>::join(&mut self.cqes.write, &mut self.writes.in1);
        // An event leaves the CQE writer only when this arbiter has taken the CQE.
        StreamOut::<EventJob>::join(&mut self.cqes.event, &mut self.qp_events.passing);
        StreamOut::<EventJob>::join(&mut self.qp_events.passed, &mut self.all_events.in0);
        StreamOut::<EventJob>::join(&mut self.qp_events.event, &mut self.async_events.in0);
        StreamOut::<EventJob>::join(&mut self.limits.event, &mut self.async_events.in1);
        StreamOut::<EventJob>::join(&mut self.async_events.output, &mut self.all_events.in1);
        StreamOut::<EventJob>::join(&mut self.all_events.output, &mut self.events.event);
        self.qp_events.answered.next = self.rx.answers.valid.val() & self.tx.answers.ready.val();
        self.qp_events.answer.next = self.rx.answers.data.val();
        self.qp_events.completed.next = self.rx.tx_cqes.valid.val() & self.cqes.tx_job.ready.val();
        self.qp_events.completion.next = self.rx.tx_cqes.data.val();
        StreamOut::<DmaWriteBeat>::join(&mut self.events.write, &mut self.writes.in2);
        StreamOut::<DmaWriteBeat>::join(&mut self.tx.atomic_write, &mut self.writes.in3);
        StreamOut::<DmaWriteBeat>::link(&mut self.dma_write, &mut self.writes.output);
        // READs and atomics begin when what was written before them is at the DMA port, which keeps ordered reads behind.
        self.payload_fence.mark.next = self.rx.fenced.val();
        self.payload_fence.offered.next = self.writes.output.valid.val();
        self.payload_fence.taken.next = self.dma_write.ready.val();
        self.tx.fences.next = self.payload_fence.passed.val();
        self.atomic_fence.mark.next = self.tx.atomic_written.val();
        self.atomic_fence.offered.next = self.writes.output.valid.val();
        self.atomic_fence.taken.next = self.dma_write.ready.val();
        self.tx.atomic_settled.next = self.atomic_fence.passed.val() != 0;

        // Wire.
        StreamOut::<Beat>::join(&mut self.tx.frame, &mut self.mac.tx);
        StreamOut::<Beat>::join(&mut self.mac.rx, &mut self.rx.frames);
        StreamOut::<Beat>::link(&mut self.mac_tx, &mut self.mac.mac_tx);
        self.mac.mac_rx_data.next = self.mac_rx_data.val();
        self.mac.mac_rx_valid.next = self.mac_rx_valid.val();

        // Stages.
        self.stages.next.sq_bell = self.bar.sq_bell.valid.val() & self.sq_cache.bell.ready.val();
        self.stages.next.sq_fetch =
            self.sq_cache.dma_request.valid.val() & self.reads.sq.ready.val();
        self.stages.next.sq_kick = self.sq_cache.kick.valid.val() & self.tx.cache_kick.ready.val();
        self.stages.next.wqe_read = self.tx.wqe_read_valid.val();
        self.stages.next.sent = self.tx.sent.val().valid;
        self.stages.next.payload_read =
            self.tx.dma_req.valid.val() & self.reads.payload.ready.val();
        self.stages.next.tx_frame = self.tx.frame.valid.val() & self.mac.tx.ready.val();
        self.stages.next.rx_frame = self.mac.rx.valid.val() & self.rx.frames.ready.val();
        self.stages.next.payload_write = self.rx.writes.valid.val() & self.writes.in0.ready.val();
        self.stages.next.rx_cqe = self.rx.rx_cqes.valid.val() & self.cqes.rx_job.ready.val();
        self.stages.next.tx_cqe = self.rx.tx_cqes.valid.val() & self.cqes.tx_job.ready.val();
        self.stages.next.cqe_write = self.cqes.write.valid.val() & self.writes.in1.ready.val();

        // Counters.
        self.monitor.moved.next = self.tx.frame.valid.val() & self.mac.tx.ready.val();
        self.monitor.beat.next = self.tx.frame.data.val();
        self.counters.rx.next = self.rx.events.val();
        self.counters.tx.next = self.monitor.events.val();
        self.counters.pages.next.tx = self.tx_pages.events.val();
        self.counters.pages.next.rx = self.rx_pages.events.val();
        self.counters.pcie.next = self.pcie.val();
        self.counters.mac.next.bad_fcs = self.mac.rx_bad_fcs.val();
        self.counters.mac.next.runt = self.mac.rx_runt.val();
        self.counters.mac.next.oversize = self.mac.rx_oversize.val();
        self.counters.mac.next.overflow = self.mac.rx_overflow.val();
        self.counters.host.next.tx_dma_dropped = self.tx.fetch_error.val().valid;
        self.counters.host.next.cqe_written = self.cqes.written.val();
        self.counters.host.next.cqe_dropped = self.cqes.dropped.val();
        self.counters.host.next.eqe_written = self.events.written.val();
        self.counters.host.next.eqe_dropped = self.events.dropped.val();
        self.counters.host.next.interrupt = self.events.interrupt.val();
        self.counters.host.next.dma_read =
            self.reads.request.valid.val() & self.dma_read_req.ready.val();
        self.counters.host.next.dma_write = self.writes.output.valid.val()
            & self.writes.output.data.val().last
            & self.dma_write.ready.val();
        self.counters.host.next.dma_error = self.read_data.failed.val();
        self.counters.host.next.sq_fetch =
            self.sq_cache.dma_request.valid.val() & self.reads.sq.ready.val();
        self.counters.host.next.rq_fetch =
            self.rq_cache.dma_request.valid.val() & self.reads.rq.ready.val();
        self.counters.host.next.tx_denied = self.tx.error.valid.val()
            & self.rx.local_errors.ready.val()
            & (self.tx.error.data.val().status == LOCAL_PROTECTION);
        // Without a packet to place, the receive side asks about 0 bytes, which is never denied.
        self.counters.host.next.rx_denied = !self.rx_mrs.answer.val().ok;
        self.counters.host.next.bell = self.bar.bell_rung.val();
        self.counters.host.next.bell_bad = self.bar.bell_bad.val();
        self.counters.host.next.bell_foreign = self.bar.bell_foreign.val();
        self.counters.number.next = self.bar.counter.val();
        self.bar.counter_value.next = self.counters.value.val();
    }
}

ferroce_emit::register_leaf!("nic", Nic::default);
