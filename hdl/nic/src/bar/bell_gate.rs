//! Doorbells of queues that exist, rung in their own page.

use super::desc::{BellWrite, LineWrite, PushWrite};
use super::push_buffer::PushBuffer;
use ferroce_abi::cfg::{field_offset, RingCfg};
use ferroce_emit::prelude::*;
use ferroce_rtl::delay::Delay;
use ferroce_rtl::desc::bar::{CqBell, EqBell, QueueBell, QueueSeen};
use ferroce_rtl::desc::cfg::{table, CfgWrite};
use ferroce_rtl::ram::{Ram, RAM_LATENCY};
use ferroce_rtl::stream::StreamOut;
use ferroce_rtl::sync_fifo::SyncFifo;

/// Places of each doorbell FIFO, log2: a burst of posted writes. Queues take a doorbell every 8 cycles at
/// worst.
const BELLS_LOG2: usize = 5;
const PAGE: usize = field_offset(RingCfg::FIELDS, "page");

/// Checks the indices and the pages of doorbells and queues them by kind. The consumer indices of CQs and EQs are not queued: they are told before any
/// later doorbell has an effect, so no completion of what the host posts later can overtake them.
#[derive(LogicBlock, Module)]
pub struct BellGate {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Configuration bus: which page each queue belongs to.
    pub cfg: Signal<In, CfgWrite>,
    /// Doorbells.
    pub bell: Signal<In, BellWrite>,
    /// Words of push windows.
    pub push: Signal<In, PushWrite>,
    /// Pushed blocks.
    pub line: Signal<Out, LineWrite>,
    /// The place of the oldest push is free again.
    pub push_freed: Signal<In, Bit>,
    /// Take no more doorbells.
    pub hold: Signal<Out, Bit>,
    /// SQ doorbells.
    pub sq: StreamOut<QueueBell>,
    /// RQ doorbells, and SRQ doorbells with the SRQs numbered behind the QPs.
    pub rq: StreamOut<QueueBell>,
    /// CQ arm doorbells.
    pub cq: StreamOut<CqBell>,
    /// EQ doorbells.
    pub eq: StreamOut<EqBell>,
    /// Consumer indices of CQs; 0 when one is made or taken away.
    pub cq_seen: Signal<Out, QueueSeen>,
    /// Consumer indices of EQs; 0 when one is made or taken away.
    pub eq_seen: Signal<Out, QueueSeen>,
    /// A doorbell was rung.
    pub rung: Signal<Out, Bit>,
    /// It names a queue that does not exist.
    pub bad: Signal<Out, Bit>,
    /// It was rung in another page than its queue's.
    pub foreign: Signal<Out, Bit>,
    /// Index bits beyond the tables.
    beyond_qps: Constant<Bits<24>>,
    beyond_cqs: Constant<Bits<24>>,
    beyond_eqs: Constant<Bits<24>>,
    beyond_srqs: Constant<Bits<24>>,
    /// Number of the first SRQ among the receive queues.
    first_srq: Constant<Bits<14>>,
    sq_bells: SyncFifo<QueueBell>,
    rq_bells: SyncFifo<QueueBell>,
    cq_bells: SyncFifo<CqBell>,
    eq_bells: SyncFifo<EqBell>,
    qp_pages: Ram<Bits<7>>,
    cq_pages: Ram<Bits<7>>,
    eq_pages: Ram<Bits<7>>,
    srq_pages: Ram<Bits<7>>,
    bells: Delay<BellWrite>,
    /// Words meet doorbells where these are checked, in order.
    words: Delay<PushWrite>,
    pushes: PushBuffer,
    any_sq: DFF<Bit>,
    page: DFF<Bits<7>>,
    pushed: DFF<Bits<3>>,
    /// The doorbell whose queues' pages have been read.
    rings: Signal<Local, BellWrite>,
    cfg_sq: DFF<Bit>,
    cfg_cq: DFF<Bit>,
    cfg_eq: DFF<Bit>,
    cfg_srq: DFF<Bit>,
    cfg_index: DFF<Bits<14>>,
    cfg_page: DFF<Bits<7>>,
    /// The consumer index of `clear_queue` is to become 0. No doorbells are taken meanwhile, so there is a cycle for it.
    clear_cq: DFF<Bit>,
    clear_eq: DFF<Bit>,
    clear_queue: DFF<Bits<14>>,
    good_sq: DFF<Bit>,
    good_rq: DFF<Bit>,
    good_cq: DFF<Bit>,
    good_eq: DFF<Bit>,
    good_srq: DFF<Bit>,
    arm: DFF<Bit>,
    flag: DFF<Bit>,
    any: DFF<Bit>,
    any_bad: DFF<Bit>,
    any_foreign: DFF<Bit>,
    index: DFF<Bits<14>>,
    value: DFF<Bits<24>>,
    no_qp: Signal<Local, Bit>,
    no_cq: Signal<Local, Bit>,
    no_eq: Signal<Local, Bit>,
    no_srq: Signal<Local, Bit>,
    for_qp: Signal<Local, Bit>,
    for_cq: Signal<Local, Bit>,
    qp_page: Signal<Local, Bit>,
    cq_page: Signal<Local, Bit>,
    eq_page: Signal<Local, Bit>,
    srq_page: Signal<Local, Bit>,
    queue: Signal<Local, QueueBell>,
}

impl BellGate {
    /// For `2^qps_log2` QPs, `2^cqs_log2` CQs, `2^eqs_log2` EQs and `2^srqs_log2` SRQs; `under_way` doorbells may come after `hold`.
    #[must_use]
    pub fn new(
        qps_log2: usize,
        cqs_log2: usize,
        eqs_log2: usize,
        srqs_log2: usize,
        under_way: usize,
    ) -> Self {
        let beyond = |log2: usize| Constant::new((0xFF_FFFF & !((1u64 << log2) - 1)).into());
        // What is in the look-up and in the check's own register comes after `hold` too.
        let reserve = under_way + RAM_LATENCY + 1;
        Self {
            clock: Signal::default(),
            cfg: Signal::default(),
            bell: Signal::default(),
            push: Signal::default(),
            line: Signal::default(),
            push_freed: Signal::default(),
            hold: Signal::default(),
            sq: StreamOut::default(),
            rq: StreamOut::default(),
            cq: StreamOut::default(),
            eq: StreamOut::default(),
            cq_seen: Signal::default(),
            eq_seen: Signal::default(),
            rung: Signal::default(),
            bad: Signal::default(),
            foreign: Signal::default(),
            beyond_qps: beyond(qps_log2),
            beyond_cqs: beyond(cqs_log2),
            beyond_eqs: beyond(eqs_log2),
            beyond_srqs: beyond(srqs_log2),
            first_srq: Constant::new((1u64 << qps_log2).into()),
            sq_bells: SyncFifo::quick_with_reserve(BELLS_LOG2, reserve),
            rq_bells: SyncFifo::new_with_reserve(BELLS_LOG2, reserve),
            cq_bells: SyncFifo::new_with_reserve(BELLS_LOG2, reserve),
            eq_bells: SyncFifo::new_with_reserve(BELLS_LOG2, reserve),
            qp_pages: Ram::new(qps_log2),
            cq_pages: Ram::new(cqs_log2),
            eq_pages: Ram::new(eqs_log2),
            srq_pages: Ram::new(srqs_log2),
            bells: Delay::new(RAM_LATENCY),
            words: Delay::new(RAM_LATENCY + 1),
            pushes: PushBuffer::default(),
            any_sq: DFF::default(),
            page: DFF::default(),
            pushed: DFF::default(),
            rings: Signal::default(),
            cfg_sq: DFF::default(),
            cfg_cq: DFF::default(),
            cfg_eq: DFF::default(),
            cfg_srq: DFF::default(),
            cfg_index: DFF::default(),
            cfg_page: DFF::default(),
            clear_cq: DFF::default(),
            clear_eq: DFF::default(),
            clear_queue: DFF::default(),
            good_sq: DFF::default(),
            good_rq: DFF::default(),
            good_cq: DFF::default(),
            good_eq: DFF::default(),
            good_srq: DFF::default(),
            arm: DFF::default(),
            flag: DFF::default(),
            any: DFF::default(),
            any_bad: DFF::default(),
            any_foreign: DFF::default(),
            index: DFF::default(),
            value: DFF::default(),
            no_qp: Signal::default(),
            no_cq: Signal::default(),
            no_eq: Signal::default(),
            no_srq: Signal::default(),
            for_qp: Signal::default(),
            for_cq: Signal::default(),
            qp_page: Signal::default(),
            cq_page: Signal::default(),
            eq_page: Signal::default(),
            srq_page: Signal::default(),
            queue: Signal::default(),
        }
    }
}

/// 16 QPs, 16 CQs, 4 EQs and 4 SRQs.
impl Default for BellGate {
    fn default() -> Self {
        Self::new(4, 4, 2, 2, 8)
    }
}

impl Logic for BellGate {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            good_sq,
            good_rq,
            good_cq,
            good_eq,
            good_srq,
            arm,
            flag,
            any,
            any_bad,
            any_foreign,
            index,
            value
        );
        dff_setup!(self, clock, any_sq, page, pushed);
        dff_setup!(self, clock, clear_cq, clear_eq, clear_queue);
        dff_setup!(self, clock, cfg_sq, cfg_cq, cfg_eq, cfg_srq, cfg_index, cfg_page);
        clock!(
            self, clock, sq_bells, rq_bells, cq_bells, eq_bells, qp_pages, cq_pages, eq_pages,
            srq_pages, bells, words, pushes
        );

        // Pages of queues.
        self.cfg_sq.d.next = self.cfg.val().valid & (self.cfg.val().table == table::SQ);
        self.cfg_cq.d.next = self.cfg.val().valid & (self.cfg.val().table == table::CQ);
        self.cfg_eq.d.next = self.cfg.val().valid & (self.cfg.val().table == table::EQ);
        self.cfg_srq.d.next = self.cfg.val().valid & (self.cfg.val().table == table::SRQ);
        self.cfg_index.d.next = self.cfg.val().index.get_bits::<14>(0);
        self.cfg_page.d.next = self.cfg.val().data.get_bits::<7>(PAGE);
        self.qp_pages.wr_valid.next = self.cfg_sq.q.val();
        self.qp_pages.wr_addr.next = bit_cast::<20, 14>(self.cfg_index.q.val());
        self.qp_pages.wr_data.next = self.cfg_page.q.val();
        self.cq_pages.wr_valid.next = self.cfg_cq.q.val();
        self.cq_pages.wr_addr.next = bit_cast::<20, 14>(self.cfg_index.q.val());
        self.cq_pages.wr_data.next = self.cfg_page.q.val();
        self.eq_pages.wr_valid.next = self.cfg_eq.q.val();
        self.eq_pages.wr_addr.next = bit_cast::<20, 14>(self.cfg_index.q.val());
        self.eq_pages.wr_data.next = self.cfg_page.q.val();
        self.srq_pages.wr_valid.next = self.cfg_srq.q.val();
        self.srq_pages.wr_addr.next = bit_cast::<20, 14>(self.cfg_index.q.val());
        self.srq_pages.wr_data.next = self.cfg_page.q.val();
        self.srq_pages.rd_addr.next = bit_cast::<20, 14>(self.bell.val().index.get_bits::<14>(0));
        self.eq_pages.rd_addr.next = bit_cast::<20, 14>(self.bell.val().index.get_bits::<14>(0));
        self.qp_pages.rd_addr.next = bit_cast::<20, 14>(self.bell.val().index.get_bits::<14>(0));
        self.cq_pages.rd_addr.next = bit_cast::<20, 14>(self.bell.val().index.get_bits::<14>(0));
        self.bells.data_in.next = self.bell.val();
        self.words.data_in.next = self.push.val();
        self.rings.next = self.bells.data_out.val();

        // Checks.
        self.no_qp.next = (self.rings.val().index & self.beyond_qps.val()).any();
        self.no_cq.next = (self.rings.val().index & self.beyond_cqs.val()).any();
        self.no_eq.next = (self.rings.val().index & self.beyond_eqs.val()).any();
        self.no_srq.next = (self.rings.val().index & self.beyond_srqs.val()).any();
        self.for_qp.next = self.rings.val().sq | self.rings.val().rq;
        self.for_cq.next = self.rings.val().cq | self.rings.val().arm;
        self.qp_page.next = self.qp_pages.rd_data.val() == self.rings.val().page;
        self.cq_page.next = self.cq_pages.rd_data.val() == self.rings.val().page;
        self.eq_page.next = self.eq_pages.rd_data.val() == self.rings.val().page;
        self.srq_page.next = self.srq_pages.rd_data.val() == self.rings.val().page;
        self.good_sq.d.next = self.rings.val().sq & !self.no_qp.val() & self.qp_page.val();
        self.good_rq.d.next = self.rings.val().rq & !self.no_qp.val() & self.qp_page.val();
        self.good_cq.d.next = self.for_cq.val() & !self.no_cq.val() & self.cq_page.val();
        self.good_eq.d.next = self.rings.val().eq & !self.no_eq.val() & self.eq_page.val();
        self.good_srq.d.next = self.rings.val().srq & !self.no_srq.val() & self.srq_page.val();
        self.any.d.next =
            self.for_qp.val() | self.for_cq.val() | self.rings.val().eq | self.rings.val().srq;
        self.any_bad.d.next = (self.for_qp.val() & self.no_qp.val())
            | (self.for_cq.val() & self.no_cq.val())
            | (self.rings.val().eq & self.no_eq.val())
            | (self.rings.val().srq & self.no_srq.val());
        self.any_foreign.d.next = (self.for_qp.val() & !self.no_qp.val() & !self.qp_page.val())
            | (self.for_cq.val() & !self.no_cq.val() & !self.cq_page.val())
            | (self.rings.val().eq & !self.no_eq.val() & !self.eq_page.val())
            | (self.rings.val().srq & !self.no_srq.val() & !self.srq_page.val());
        self.arm.d.next = self.rings.val().arm;
        self.flag.d.next = self.rings.val().flag;
        self.any_sq.d.next = self.rings.val().sq;
        self.page.d.next = self.rings.val().page;
        self.pushed.d.next = self.rings.val().pushed;
        self.index.d.next = self.rings.val().index.get_bits::<14>(0);
        self.value.d.next = self.rings.val().value;
        self.rung.next = self.any.q.val();
        self.bad.next = self.any_bad.q.val();
        self.foreign.next = self.any_foreign.q.val();

        self.queue.next.qp = self.index.q.val();
        self.queue.next.producer = self.value.q.val().get_bits::<16>(0);
        self.queue.next.pushed = 0.into();
        self.queue.next.place = 0.into();
        self.pushes.write.next = self.words.data_out.val();
        self.pushes.bell.next = self.any_sq.q.val();
        self.pushes.page.next = self.page.q.val();
        self.pushes.announced.next = self.pushed.q.val();
        self.pushes.good.next = self.good_sq.q.val();
        self.pushes.freed.next = self.push_freed.val();
        self.line.next = self.pushes.line.val();
        self.sq_bells.input.valid.next = self.good_sq.q.val();
        self.sq_bells.input.data.next = self.queue.val();
        self.sq_bells.input.data.next.pushed = self.pushes.blocks.val();
        self.sq_bells.input.data.next.place = self.pushes.place.val();
        self.rq_bells.input.valid.next = self.good_rq.q.val() | self.good_srq.q.val();
        self.rq_bells.input.data.next = self.queue.val();
        if self.good_srq.q.val() {
            self.rq_bells.input.data.next.qp = self.index.q.val() | self.first_srq.val();
        }
        self.cq_bells.input.valid.next = self.good_cq.q.val() & self.arm.q.val();
        self.cq_bells.input.data.next.cq = self.index.q.val();
        self.cq_bells.input.data.next.solicited_only = self.flag.q.val();
        self.eq_bells.input.valid.next = self.good_eq.q.val();
        self.eq_bells.input.data.next.eq = self.index.q.val().get_bits::<7>(0);
        self.eq_bells.input.data.next.arm = self.flag.q.val();

        // Consumer indices.
        self.clear_cq.d.next = self.cfg_cq.q.val() | (self.clear_cq.q.val() & self.good_cq.q.val());
        self.clear_eq.d.next = self.cfg_eq.q.val() | (self.clear_eq.q.val() & self.good_eq.q.val());
        if self.cfg_cq.q.val() | self.cfg_eq.q.val() {
            self.clear_queue.d.next = self.cfg_index.q.val();
        }
        self.cq_seen.next.valid = self.good_cq.q.val() | self.clear_cq.q.val();
        self.cq_seen.next.queue = self.clear_queue.q.val();
        self.cq_seen.next.consumer = 0.into();
        if self.good_cq.q.val() {
            self.cq_seen.next.queue = self.index.q.val();
            self.cq_seen.next.consumer = self.value.q.val();
        }
        self.eq_seen.next.valid = self.good_eq.q.val() | self.clear_eq.q.val();
        self.eq_seen.next.queue = self.clear_queue.q.val();
        self.eq_seen.next.consumer = 0.into();
        if self.good_eq.q.val() {
            self.eq_seen.next.queue = self.index.q.val();
            self.eq_seen.next.consumer = self.value.q.val();
        }
        StreamOut::<QueueBell>::link(&mut self.sq, &mut self.sq_bells.output);
        StreamOut::<QueueBell>::link(&mut self.rq, &mut self.rq_bells.output);
        StreamOut::<CqBell>::link(&mut self.cq, &mut self.cq_bells.output);
        StreamOut::<EqBell>::link(&mut self.eq, &mut self.eq_bells.output);
        self.hold.next = self.sq_bells.almost_full.val()
            | self.rq_bells.almost_full.val()
            | self.cq_bells.almost_full.val()
            | self.eq_bells.almost_full.val()
            | self.clear_cq.q.val()
            | self.clear_eq.q.val();
    }
}

ferroce_emit::register_leaf!("bell_gate", BellGate::default);
