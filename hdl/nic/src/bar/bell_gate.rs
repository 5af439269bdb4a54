//! Doorbells of queues that exist.

use super::desc::BellWrite;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::bar::{CqBell, QueueBell};
use ferroce_rtl::stream::StreamOut;
use ferroce_rtl::sync_fifo::SyncFifo;

/// Places of each doorbell FIFO, log2: a burst of posted writes. Queues take a doorbell every 8 cycles at
/// worst.
const BELLS_LOG2: usize = 5;

/// Checks the indices of doorbells and queues them by kind.
#[derive(LogicBlock, Module)]
pub struct BellGate {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Doorbells.
    pub bell: Signal<In, BellWrite>,
    /// Take no more doorbells.
    pub hold: Signal<Out, Bit>,
    /// SQ doorbells.
    pub sq: StreamOut<QueueBell>,
    /// RQ doorbells.
    pub rq: StreamOut<QueueBell>,
    /// CQ doorbells.
    pub cq: StreamOut<CqBell>,
    /// A doorbell was rung.
    pub rung: Signal<Out, Bit>,
    /// It names a queue that does not exist.
    pub bad: Signal<Out, Bit>,
    /// Index bits beyond the tables.
    beyond_qps: Constant<Bits<24>>,
    beyond_cqs: Constant<Bits<24>>,
    sq_bells: SyncFifo<QueueBell>,
    rq_bells: SyncFifo<QueueBell>,
    cq_bells: SyncFifo<CqBell>,
    good_sq: DFF<Bit>,
    good_rq: DFF<Bit>,
    good_cq: DFF<Bit>,
    any: DFF<Bit>,
    any_bad: DFF<Bit>,
    index: DFF<Bits<14>>,
    value: DFF<Bits<24>>,
    no_qp: Signal<Local, Bit>,
    no_cq: Signal<Local, Bit>,
    queue: Signal<Local, QueueBell>,
}

impl BellGate {
    /// For `2^qps_log2` QPs and `2^cqs_log2` CQs; `under_way` doorbells may come after `hold`.
    #[must_use]
    pub fn new(qps_log2: usize, cqs_log2: usize, under_way: usize) -> Self {
        let beyond = |log2: usize| Constant::new((0xFF_FFFF & !((1u64 << log2) - 1)).into());
        Self {
            clock: Signal::default(),
            bell: Signal::default(),
            hold: Signal::default(),
            sq: StreamOut::default(),
            rq: StreamOut::default(),
            cq: StreamOut::default(),
            rung: Signal::default(),
            bad: Signal::default(),
            beyond_qps: beyond(qps_log2),
            beyond_cqs: beyond(cqs_log2),
            // One more for the check's own register.
            sq_bells: SyncFifo::new_with_reserve(BELLS_LOG2, under_way + 1),
            rq_bells: SyncFifo::new_with_reserve(BELLS_LOG2, under_way + 1),
            cq_bells: SyncFifo::new_with_reserve(BELLS_LOG2, under_way + 1),
            good_sq: DFF::default(),
            good_rq: DFF::default(),
            good_cq: DFF::default(),
            any: DFF::default(),
            any_bad: DFF::default(),
            index: DFF::default(),
            value: DFF::default(),
            no_qp: Signal::default(),
            no_cq: Signal::default(),
            queue: Signal::default(),
        }
    }
}

/// 16 QPs and 16 CQs.
impl Default for BellGate {
    fn default() -> Self {
        Self::new(4, 4, 8)
    }
}

impl Logic for BellGate {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, good_sq, good_rq, good_cq, any, any_bad, index, value);
        clock!(self, clock, sq_bells, rq_bells, cq_bells);
        self.no_qp.next = (self.bell.val().index & self.beyond_qps.val()).any();
        self.no_cq.next = (self.bell.val().index & self.beyond_cqs.val()).any();
        self.good_sq.d.next = self.bell.val().sq & !self.no_qp.val();
        self.good_rq.d.next = self.bell.val().rq & !self.no_qp.val();
        self.good_cq.d.next = self.bell.val().cq & !self.no_cq.val();
        self.any.d.next = self.bell.val().sq | self.bell.val().rq | self.bell.val().cq;
        self.any_bad.d.next = ((self.bell.val().sq | self.bell.val().rq) & self.no_qp.val())
            | (self.bell.val().cq & self.no_cq.val());
        self.index.d.next = self.bell.val().index.get_bits::<14>(0);
        self.value.d.next = self.bell.val().value;
        self.rung.next = self.any.q.val();
        self.bad.next = self.any_bad.q.val();

        self.queue.next.qp = self.index.q.val();
        self.queue.next.producer = self.value.q.val().get_bits::<16>(0);
        self.sq_bells.input.valid.next = self.good_sq.q.val();
        self.sq_bells.input.data.next = self.queue.val();
        self.rq_bells.input.valid.next = self.good_rq.q.val();
        self.rq_bells.input.data.next = self.queue.val();
        self.cq_bells.input.valid.next = self.good_cq.q.val();
        self.cq_bells.input.data.next.cq = self.index.q.val();
        self.cq_bells.input.data.next.consumer = self.value.q.val();
        StreamOut::<QueueBell>::link(&mut self.sq, &mut self.sq_bells.output);
        StreamOut::<QueueBell>::link(&mut self.rq, &mut self.rq_bells.output);
        StreamOut::<CqBell>::link(&mut self.cq, &mut self.cq_bells.output);
        self.hold.next = self.sq_bells.almost_full.val()
            | self.rq_bells.almost_full.val()
            | self.cq_bells.almost_full.val();
    }
}

ferroce_emit::register_leaf!("bell_gate", BellGate::default);
