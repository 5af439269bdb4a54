//! Events of QPs.

use crate::bell_keeper::{BellKeeper, KeptBell};
use crate::eq_writer::desc::EventJob;
use ferroce_abi::cfg::{field_offset, AsyncCfg};
use ferroce_abi::cqe::Status;
use ferroce_abi::eqe::EventKind;
use ferroce_emit::prelude::*;
use ferroce_rtl::arb2::Arb2;
use ferroce_rtl::desc::cfg::{table, CfgWrite};
use ferroce_rtl::desc::rx::{Answer, CqeJob};
use ferroce_rtl::stream::{StreamIn, StreamOut};
use ferroce_rtl::sync_fifo::SyncFifo;

const ENABLED: usize = field_offset(AsyncCfg::FIELDS, "enabled");
const EQ: usize = field_offset(AsyncCfg::FIELDS, "eq");
/// NAK: invalid request.
const NAK_INVALID: u64 = 0x61;
/// NAK: remote access error.
const NAK_ACCESS: u64 = 0x62;
/// NAK: remote operational error.
const NAK_OPERATIONAL: u64 = 0x63;
const LOC_QP_OP: u64 = Status::LocQpOp as u64;
const FATAL: u64 = EventKind::QpFatal as u64;
const REQUEST_ERROR: u64 = EventKind::QpRequestError as u64;
const ACCESS_ERROR: u64 = EventKind::QpAccessError as u64;
const LAST: u64 = EventKind::QpLastWqe as u64;

/// Makes an event of every failure of a responder, and of every local QP operation error of a requester. Both come once in
/// a QP's life. It never holds up what it looks at: events wait by QP, and the newest of a QP replaces the one that waits. Those of a QP that is made anew or taken
/// away are forgotten, and without an EQ for them they are dropped.
///
/// That a QP with an SRQ has reached its last WQE comes among the events of CQs, behind the completion of that WQE; it gets its EQ here.
#[derive(LogicBlock, Module, Default)]
pub struct QpEvents {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Configuration bus.
    pub cfg: Signal<In, CfgWrite>,
    /// An answer of the responder leaves in this cycle.
    pub answered: Signal<In, Bit>,
    /// That answer.
    pub answer: Signal<In, Answer>,
    /// A completion of the requester is made in this cycle.
    pub completed: Signal<In, Bit>,
    /// That completion.
    pub completion: Signal<In, CqeJob>,
    /// Events of CQs, and of QPs that have reached their last WQE.
    pub passing: StreamIn<EventJob>,
    /// The same.
    pub passed: StreamOut<EventJob>,
    /// Events.
    pub event: StreamOut<EventJob>,
    has_eq: DFF<Bit>,
    eq: DFF<Bits<7>>,
    forget: DFF<Bit>,
    forget_qp: DFF<Bits<14>>,
    nak: DFF<Bit>,
    nak_bell: DFF<KeptBell>,
    failure: DFF<Bit>,
    failure_bell: DFF<KeptBell>,
    naks: SyncFifo<KeptBell>,
    failures: SyncFifo<KeptBell>,
    both: Arb2<KeptBell>,
    waiting: BellKeeper,
    is_last: Signal<Local, Bit>,
    unheard: Signal<Local, Bit>,
}

impl QpEvents {
    /// For `2^qps_log2` QPs.
    ///
    /// # Panics
    /// If `qps_log2` is not 1 to 14.
    #[must_use]
    pub fn new(qps_log2: usize) -> Self {
        Self {
            // A place for every QP: each fails once in a life, which is longer than what an entry waits here.
            naks: SyncFifo::new(qps_log2),
            failures: SyncFifo::new(qps_log2),
            waiting: BellKeeper::new(qps_log2),
            ..Self::default()
        }
    }
}

impl Logic for QpEvents {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            has_eq,
            eq,
            forget,
            forget_qp,
            nak,
            nak_bell,
            failure,
            failure_bell
        );
        clock!(self, clock, naks, failures, both, waiting);

        // The SQ's ring is written at both ends of a QP's life.
        self.forget.d.next = self.cfg.val().valid & (self.cfg.val().table == table::SQ);
        self.forget_qp.d.next = self.cfg.val().index.get_bits::<14>(0);
        self.waiting.forget.next = self.forget.q.val();
        self.waiting.forget_queue.next = self.forget_qp.q.val();
        if self.cfg.val().valid & (self.cfg.val().table == table::ASYNC) {
            self.has_eq.d.next = self.cfg.val().data.get_bit(ENABLED);
            self.eq.d.next = self.cfg.val().data.get_bits::<7>(EQ);
        }

        self.nak.d.next = self.answered.val()
            & ((self.answer.val().syndrome == NAK_INVALID)
                | (self.answer.val().syndrome == NAK_ACCESS)
                | (self.answer.val().syndrome == NAK_OPERATIONAL));
        self.nak_bell.d.next.queue = self.answer.val().qp;
        self.nak_bell.d.next.sticky = false;
        self.nak_bell.d.next.kind = FATAL.into();
        if self.answer.val().syndrome == NAK_INVALID {
            self.nak_bell.d.next.kind = REQUEST_ERROR.into();
        } else if self.answer.val().syndrome == NAK_ACCESS {
            self.nak_bell.d.next.kind = ACCESS_ERROR.into();
        }
        self.failure.d.next = self.completed.val() & (self.completion.val().status == LOC_QP_OP);
        self.failure_bell.d.next.queue = self.completion.val().qp;
        self.failure_bell.d.next.sticky = false;
        self.failure_bell.d.next.kind = FATAL.into();
        self.naks.input.valid.next = self.nak.q.val();
        self.naks.input.data.next = self.nak_bell.q.val();
        self.failures.input.valid.next = self.failure.q.val();
        self.failures.input.data.next = self.failure_bell.q.val();
        StreamOut::<KeptBell>::join(&mut self.naks.output, &mut self.both.in0);
        StreamOut::<KeptBell>::join(&mut self.failures.output, &mut self.both.in1);
        StreamOut::<KeptBell>::join(&mut self.both.output, &mut self.waiting.bell);

        self.is_last.next = self.passing.data.val().kind == LAST;
        self.unheard.next = self.is_last.val() & !self.has_eq.q.val();
        self.passed.data.next = self.passing.data.val();
        if self.is_last.val() {
            self.passed.data.next.eq = self.eq.q.val();
        }
        self.passed.valid.next = self.passing.valid.val() & !self.unheard.val();
        self.passing.ready.next = self.passed.ready.val() | self.unheard.val();

        self.event.valid.next = self.waiting.kept.valid.val() & self.has_eq.q.val();
        self.waiting.kept.ready.next = self.event.ready.val() | !self.has_eq.q.val();
        self.event.data.next.kind = self.waiting.kept.data.val().kind;
        self.event.data.next.index = self.waiting.kept.data.val().queue;
        self.event.data.next.eq = self.eq.q.val();
    }
}

ferroce_emit::register_leaf!("qp_events", || QpEvents::new(3));
