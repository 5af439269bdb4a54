//! The card's PCIe engine: DMA and register accesses on the four streams of the UltraScale+ PCIe block.

use crate::axis::{CcBeat, CqBeat, RcBeat, RqBeat};
use crate::completer::CqAccess;
use crate::desc::{PcieLimits, RqTlp};
use crate::reader::read_budget::COMPLETION_HEADERS;
use crate::reader::requester_rx::{RequesterRx, DEFAULT_LOG2_TIMEOUT};
use crate::requester::requester_tx::RequesterTx;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::bar::{BarReq, BarResp};
use ferroce_rtl::desc::dma::{DmaReadBeat, DmaReadReq, DmaWriteBeat};
use ferroce_rtl::stream::{StreamIn, StreamOut};

/// What the engine met that it should not have; each is high for one cycle an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct PcieEvents {
    /// A read of the card was answered with an error.
    pub read_failed: Bit,
    /// Reads of the card, 0 to 3, that were not answered in time.
    pub read_timeouts: Bits<2>,
    /// A completion for which nothing waits was dropped.
    pub unexpected: Bit,
    /// A non-posted request of the host was completed with an error.
    pub unsupported: Bit,
    /// A posted request of the host was dropped.
    pub dropped: Bit,
    /// A damaged request of the host was dropped.
    pub damaged: Bit,
}

/// Joins [`RequesterTx`], [`RequesterRx`] and [`CqAccess`], which describe what each does. Everything that the host does to the
/// card and all that the card does to the host passes here.
#[derive(LogicBlock, Module)]
pub struct PcieEngine {
    /// Clock: the PCIe block's user clock, 250 MHz.
    pub clock: Signal<In, Clock>,
    /// Requester requests.
    pub rq: StreamOut<RqBeat>,
    /// Requester completions.
    pub rc: StreamIn<RcBeat>,
    /// Completer requests; not straddled.
    pub cq: StreamIn<CqBeat>,
    /// Completer completions; not straddled.
    pub cc: StreamOut<CcBeat>,
    /// The host's settings.
    pub limits: Signal<In, PcieLimits>,
    /// Non-posted header credits (`pcie_tfc_nph_av`).
    pub np_credit: Signal<In, Bits<4>>,
    /// Another non-posted request of the host is wanted (bit 0 of `pcie_cq_np_req`).
    pub np_wanted: Signal<Out, Bit>,
    /// DMA reads.
    pub read_req: StreamIn<DmaReadReq>,
    /// Their data.
    pub read_data: StreamOut<DmaReadBeat>,
    /// DMA writes.
    pub write: StreamIn<DmaWriteBeat>,
    /// The host's accesses to BAR 0.
    pub access: StreamOut<BarReq>,
    /// Answers to its reads.
    pub answer: StreamIn<BarResp>,
    /// What should not have happened.
    pub events: Signal<Out, PcieEvents>,
    tx: RequesterTx,
    rx: RequesterRx,
    completer: CqAccess,
}

impl PcieEngine {
    /// `straddle`: TLPs share beats of RQ, as the block is set up; on RC the beats tell. Reads end with an error after
    /// `2^log2_timeout` cycles.
    ///
    /// # Panics
    /// As [`RequesterRx::new`].
    #[must_use]
    pub fn new(straddle: bool, log2_timeout: usize) -> Self {
        Self::with_headers(straddle, log2_timeout, COMPLETION_HEADERS)
    }

    /// [`Self::new`] for a block that can hold `headers` completions of 64 bytes: reads are under way for so many lines at most.
    ///
    /// # Panics
    /// As [`RequesterRx::with_headers`].
    #[must_use]
    pub fn with_headers(straddle: bool, log2_timeout: usize, headers: usize) -> Self {
        Self {
            clock: Signal::default(),
            rq: StreamOut::default(),
            rc: StreamIn::default(),
            cq: StreamIn::default(),
            cc: StreamOut::default(),
            limits: Signal::default(),
            np_credit: Signal::default(),
            np_wanted: Signal::default(),
            read_req: StreamIn::default(),
            read_data: StreamOut::default(),
            write: StreamIn::default(),
            access: StreamOut::default(),
            answer: StreamIn::default(),
            events: Signal::default(),
            tx: RequesterTx::new(straddle),
            rx: RequesterRx::with_headers(log2_timeout, headers),
            completer: CqAccess::default(),
        }
    }
}

/// With straddling and the usual time-out.
impl Default for PcieEngine {
    fn default() -> Self {
        Self::new(true, DEFAULT_LOG2_TIMEOUT)
    }
}

impl Logic for PcieEngine {
    #[kernel]
    fn update(&mut self) {
        clock!(self, clock, tx, rx, completer);
        self.tx.limits.next = self.limits.val();
        self.rx.limits.next = self.limits.val();
        self.tx.np_credit.next = self.np_credit.val();

        StreamIn::<DmaWriteBeat>::link(&mut self.write, &mut self.tx.dma_write);
        StreamIn::<DmaReadReq>::link(&mut self.read_req, &mut self.rx.request);
        StreamOut::<RqTlp>::join(&mut self.rx.reads, &mut self.tx.reads);
        StreamOut::<RqBeat>::link(&mut self.rq, &mut self.tx.rq);
        StreamIn::<RcBeat>::link(&mut self.rc, &mut self.rx.rc);
        StreamOut::<DmaReadBeat>::link(&mut self.read_data, &mut self.rx.data);

        StreamIn::<CqBeat>::link(&mut self.cq, &mut self.completer.cq);
        StreamOut::<CcBeat>::link(&mut self.cc, &mut self.completer.cc);
        StreamOut::<BarReq>::link(&mut self.access, &mut self.completer.access);
        StreamIn::<BarResp>::link(&mut self.answer, &mut self.completer.answer);
        self.np_wanted.next = self.completer.np_wanted.val();

        self.events.next.read_failed = self.rx.failed.val();
        self.events.next.read_timeouts = self.rx.timeouts.val();
        self.events.next.unexpected = self.rx.unexpected.val();
        self.events.next.unsupported = self.completer.unsupported.val();
        self.events.next.dropped = self.completer.dropped.val();
        self.events.next.damaged = self.completer.damaged.val();
    }
}

ferroce_emit::register_leaf!("pcie_engine", || PcieEngine::new(true, 8));
ferroce_emit::register_leaf!("pcie_engine_plain", || PcieEngine::new(
    false,
    DEFAULT_LOG2_TIMEOUT
));
