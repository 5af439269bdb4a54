//! Writes completions into the completion queues in host memory.

pub mod cq_ring;
pub mod cqe_format;

use crate::ring_cfg::RingCfgPort;
use cq_ring::{CqRing, RING_LATENCY};
use cqe_format::{CqeFormat, FORMAT_LATENCY};
use ferroce_emit::prelude::*;
use ferroce_rtl::arb2::Arb2;
use ferroce_rtl::desc::bar::CqBell;
use ferroce_rtl::desc::cfg::{table, CfgWrite};
use ferroce_rtl::desc::dma::DmaWriteBeat;
use ferroce_rtl::desc::rx::CqeJob;
use ferroce_rtl::stream::{StreamIn, StreamOut};

/// Completions that may be on the way from the output FIFO's `almost_full` to its input, one every two
/// cycles, and one more.
const JOBS_UNDER_WAY: usize = (RING_LATENCY + FORMAT_LATENCY).div_ceil(2) + 1;

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
    /// Consumer indices.
    pub bell: StreamIn<CqBell>,
    /// Completions of receives, after their payload.
    pub rx_job: StreamIn<CqeJob>,
    /// Completions of sends.
    pub tx_job: StreamIn<CqeJob>,
    /// Host writes of 32 bytes.
    pub write: StreamOut<DmaWriteBeat>,
    /// A CQE was written.
    pub written: Signal<Out, Bit>,
    /// A CQE was dropped.
    pub dropped: Signal<Out, Bit>,
    ring_port: RingCfgPort,
    jobs: Arb2<CqeJob>,
    ring: CqRing,
    format: CqeFormat,
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
            bell: StreamIn::default(),
            rx_job: StreamIn::default(),
            tx_job: StreamIn::default(),
            write: StreamOut::default(),
            written: Signal::default(),
            dropped: Signal::default(),
            ring_port: RingCfgPort::new(table::CQ),
            jobs: Arb2::default(),
            ring: CqRing::new(cqs_log2),
            format: CqeFormat::new(JOBS_UNDER_WAY),
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
        clock!(self, clock, ring_port, jobs, ring, format);
        self.ring_port.cfg.next = self.cfg.val();
        self.ring.cfg.next = self.ring_port.ring.val();
        StreamIn::<CqBell>::link(&mut self.bell, &mut self.ring.bell);
        StreamIn::<CqeJob>::link(&mut self.rx_job, &mut self.jobs.in0);
        StreamIn::<CqeJob>::link(&mut self.tx_job, &mut self.jobs.in1);
        StreamOut::<CqeJob>::join(&mut self.jobs.output, &mut self.ring.job);
        self.ring.open.next = self.format.open.val();
        self.format.place.next = self.ring.place.val();
        StreamOut::<DmaWriteBeat>::link(&mut self.write, &mut self.format.write);
        self.written.next = self.ring.place.val().valid;
        self.dropped.next = self.ring.dropped.val();
    }
}

ferroce_emit::register_leaf!("cqe_writer", CqeWriter::default);
