//! Writes completions into the completion queues in host memory.

pub mod cq_ring;
pub mod cqe_format;
pub mod cqe_pair;
pub mod desc;

use crate::bar::desc::QueuePosition;
use crate::bell_keeper::{BellKeeper, KeptBell};
use crate::eq_writer::desc::EventJob;
use crate::ring_cfg::RingCfgPort;
use cq_ring::{CqRing, RING_LATENCY};
use cqe_format::{CqeFormat, CqeWrite, FORMAT_LATENCY, WRITES_LOG2};
use cqe_pair::{CqePair, PAIR_PLACES};
use ferroce_emit::prelude::*;
use ferroce_rtl::arb2::Arb2;
use ferroce_rtl::desc::bar::{CqBell, QueueSeen};
use ferroce_rtl::desc::cfg::{table, CfgWrite};
use ferroce_rtl::desc::dma::DmaWriteBeat;
use ferroce_rtl::desc::rx::CqeJob;
use ferroce_rtl::stream::{StreamIn, StreamOut};
use ferroce_rtl::sync_fifo::SyncFifo;

/// Completions that may be on the way from the output FIFO's `almost_full` to its input, one every two
/// cycles, one more, and the mark of a CQ that is gone, of which there is one at a time.
const JOBS_UNDER_WAY: usize = (RING_LATENCY + FORMAT_LATENCY).div_ceil(2) + 2;

/// Events that may come after the event FIFO's `almost_full`: of every CQE that waits for the write arbiter and of those under way,
/// and what is in the registers around the FIFO.
const EVENTS_UNDER_WAY: usize = (1 << WRITES_LOG2) + PAIR_PLACES + JOBS_UNDER_WAY + 2;
/// Places of the event FIFO, log2: those under way and as many that wait for their EQ.
const EVENTS_LOG2: usize = 6;
const _: () = assert!(2 * EVENTS_UNDER_WAY <= 1 << EVENTS_LOG2);

/// Takes a completion every two cycles, the same CQ's too, from receives and sends in turn.
///
/// A CQE for a CQ that is full or does not exist is dropped and counted. A CQ that was found full stays
/// dead until it is configured anew, since a later CQE would hide the loss.
#[derive(LogicBlock, Module)]
pub struct CqeWriter {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Configuration bus.
    pub cfg: Signal<In, CfgWrite>,
    /// Consumer indices; 0 with a CQ's configuration.
    pub seen: Signal<In, QueueSeen>,
    /// Wishes for events. They are taken whether the host takes writes or not.
    pub bell: StreamIn<CqBell>,
    /// Completions of receives, after their payload.
    pub rx_job: StreamIn<CqeJob>,
    /// Completions of sends.
    pub tx_job: StreamIn<CqeJob>,
    /// Host writes of 32 bytes, or of 64 for two neighbours.
    pub write: StreamOut<DmaWriteBeat>,
    /// Events of CQs that have an EQ, behind the writes of their CQEs. Completions wait when these are not taken.
    pub event: StreamOut<EventJob>,
    /// CQ to look at for a query.
    pub asked: Signal<In, Bits<14>>,
    /// Where it is, three cycles later.
    pub position: Signal<Out, QueuePosition>,
    /// A CQE was written.
    pub written: Signal<Out, Bit>,
    /// A CQE was dropped.
    pub dropped: Signal<Out, Bit>,
    ring_port: RingCfgPort,
    jobs: Arb2<CqeJob>,
    /// Wishes; a sticky one is for any completion.
    wishes: BellKeeper,
    ring: CqRing,
    format: CqeFormat,
    pairs: CqePair,
    events: SyncFifo<EventJob>,
}

impl CqeWriter {
    /// Writer for `2^cqs_log2` CQs.
    ///
    /// # Panics
    /// If `cqs_log2` is not 1 to 14.
    #[must_use]
    pub fn new(cqs_log2: usize) -> Self {
        assert!((1..=14).contains(&cqs_log2), "2^{cqs_log2} CQs");
        Self {
            clock: Signal::default(),
            cfg: Signal::default(),
            seen: Signal::default(),
            bell: StreamIn::default(),
            rx_job: StreamIn::default(),
            tx_job: StreamIn::default(),
            write: StreamOut::default(),
            event: StreamOut::default(),
            asked: Signal::default(),
            position: Signal::default(),
            written: Signal::default(),
            dropped: Signal::default(),
            ring_port: RingCfgPort::new(table::CQ),
            jobs: Arb2::default(),
            wishes: BellKeeper::new(cqs_log2),
            ring: CqRing::new(cqs_log2),
            format: CqeFormat::new(JOBS_UNDER_WAY),
            pairs: CqePair::default(),
            events: SyncFifo::new_with_reserve(EVENTS_LOG2, EVENTS_UNDER_WAY),
        }
    }
}

/// 16 CQs.
impl Default for CqeWriter {
    fn default() -> Self {
        Self::new(4)
    }
}

impl Logic for CqeWriter {
    #[kernel]
    fn update(&mut self) {
        clock!(self, clock, ring_port, jobs, wishes, ring, format, pairs, events);
        self.ring_port.cfg.next = self.cfg.val();
        self.ring.cfg.next = self.ring_port.ring.val();
        self.ring.seen.next = self.seen.val();
        self.wishes.bell.valid.next = self.bell.valid.val();
        self.bell.ready.next = self.wishes.bell.ready.val();
        self.wishes.bell.data.next.queue = self.bell.data.val().cq;
        self.wishes.bell.data.next.kind = 0.into();
        self.wishes.bell.data.next.sticky = !self.bell.data.val().solicited_only;
        self.wishes.forget.next = self.ring_port.ring.val().valid;
        self.wishes.forget_queue.next = self.ring_port.ring.val().index;
        StreamOut::<KeptBell>::join(&mut self.wishes.kept, &mut self.ring.wish);
        StreamIn::<CqeJob>::link(&mut self.rx_job, &mut self.jobs.in0);
        StreamIn::<CqeJob>::link(&mut self.tx_job, &mut self.jobs.in1);
        StreamOut::<CqeJob>::join(&mut self.jobs.output, &mut self.ring.job);
        self.ring.open.next = self.format.open.val() & !self.events.almost_full.val();
        self.format.place.next = self.ring.place.val();
        StreamOut::<CqeWrite>::join(&mut self.format.output, &mut self.pairs.input);
        StreamOut::<DmaWriteBeat>::link(&mut self.write, &mut self.pairs.write);
        self.events.input.valid.next = self.pairs.event_valid.val();
        self.events.input.data.next = self.pairs.event.val();
        StreamOut::<EventJob>::link(&mut self.event, &mut self.events.output);
        self.ring.asked.next = self.asked.val();
        self.position.next = self.ring.position.val();
        self.written.next = self.ring.place.val().write;
        self.dropped.next = self.ring.dropped.val();
    }
}

ferroce_emit::register_leaf!("cqe_writer", CqeWriter::default);
