//! Limits of SRQs.

use crate::bar::desc::SrqPosition;
use crate::eq_writer::desc::EventJob;
use ferroce_abi::cfg::{field_offset, SrqLimitCfg};
use ferroce_abi::eqe::EventKind;
use ferroce_abi::limits::SRQ_BITS;
use ferroce_emit::prelude::*;
use ferroce_rtl::delay::Delay;
use ferroce_rtl::desc::cfg::{table, CfgWrite};
use ferroce_rtl::desc::rx::{RqPosition, RqPub};
use ferroce_rtl::ram::{Ram, RAM_LATENCY};
use ferroce_rtl::rmw_ram::{RmwRam, RMW_LATENCY};
use ferroce_rtl::stream::StreamOut;
use ferroce_rtl::sync_fifo::SyncFifo;

const LIMIT: usize = field_offset(SrqLimitCfg::FIELDS, "limit");
const EQ: usize = field_offset(SrqLimitCfg::FIELDS, "eq");
const EVENT: u64 = EventKind::SrqLimit as u64;
// The number of WQEs left is known one cycle before the limit.
const _: () = assert!(RMW_LATENCY == RAM_LATENCY + 1);

/// Limit of an SRQ.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct Limit {
    /// WQEs; 0 is not armed.
    limit: Bits<16>,
    eq: Bits<7>,
    /// An event waits in the FIFO.
    queued: Bit,
}

/// What happens to an SRQ.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
struct Step {
    valid: Bit,
    srq: Bits<SRQ_BITS>,
    /// Index of the next WQE to be taken.
    taken: Bits<16>,
    /// The limit changes.
    arm: Bit,
    limit: Bits<16>,
    eq: Bits<7>,
    /// Its event has left the FIFO.
    left: Bit,
    /// It is only looked at.
    look: Bit,
}

/// Makes one event when fewer WQEs than an SRQ's limit are left to be taken: those posted and not taken, whether they are in the cache or not. Looks
/// whenever a WQE is taken and when the limit is armed.
///
/// A take can't wait and is looked at at once; arming and what leaves the FIFO go between, as takes come every second cycle at most. An SRQ has one
/// event in the FIFO at most: a limit that is passed again meanwhile is told by the event that waits.
#[derive(LogicBlock, Module)]
pub struct SrqLimits {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Configuration bus.
    pub cfg: Signal<In, CfgWrite>,
    /// Takes.
    pub position: Signal<In, RqPosition>,
    /// Fill of the RQ WQE cache: what is posted.
    pub rq_pub: Signal<In, RqPub>,
    /// Events.
    pub event: StreamOut<EventJob>,
    /// SRQ to look at for a query.
    pub asked: Signal<In, Bits<14>>,
    /// Where it is, at most eight cycles later.
    pub shown: Signal<Out, SrqPosition>,
    /// Receive queues from this number on are SRQs.
    first_srq: Constant<Bits<14>>,
    srq_mask: Constant<Bits<SRQ_BITS>>,
    posted: Ram<Bits<16>>,
    taken: Ram<Bits<16>>,
    limits: RmwRam<Limit>,
    /// A place for every SRQ.
    events: SyncFifo<EventJob>,
    /// Configuration that waits for its turn.
    arm: DFF<Bit>,
    arm_step: DFF<Step>,
    left: DFF<Bit>,
    left_srq: DFF<Bits<SRQ_BITS>>,
    step1: DFF<Step>,
    steps: Delay<Step>,
    step3: DFF<Step>,
    asked_now: DFF<Bits<14>>,
    seen3: DFF<SrqPosition>,
    seen: DFF<SrqPosition>,
    /// WQEs that are left after a take, and in any case.
    rest3: DFF<Bits<16>>,
    low: Signal<Local, Bit>,
    fires: Signal<Local, Bit>,
    take: Signal<Local, Bit>,
    limit: Signal<Local, Limit>,
    step2: Signal<Local, Step>,
    now_taken: Signal<Local, Bits<16>>,
    held: Signal<Local, Limit>,
}

impl SrqLimits {
    /// For `2^srqs_log2` SRQs numbered behind `2^qps_log2` QPs.
    #[must_use]
    pub fn new(qps_log2: usize, srqs_log2: usize) -> Self {
        Self {
            clock: Signal::default(),
            cfg: Signal::default(),
            position: Signal::default(),
            rq_pub: Signal::default(),
            event: StreamOut::default(),
            asked: Signal::default(),
            shown: Signal::default(),
            first_srq: Constant::new((1u64 << qps_log2).into()),
            srq_mask: Constant::new(((1u64 << srqs_log2) - 1).into()),
            posted: Ram::new(srqs_log2),
            taken: Ram::new(srqs_log2),
            limits: RmwRam::new(srqs_log2),
            events: SyncFifo::new(srqs_log2),
            arm: DFF::default(),
            arm_step: DFF::default(),
            left: DFF::default(),
            left_srq: DFF::default(),
            step1: DFF::default(),
            steps: Delay::new(RAM_LATENCY),
            step3: DFF::default(),
            asked_now: DFF::default(),
            seen3: DFF::default(),
            seen: DFF::default(),
            rest3: DFF::default(),
            low: Signal::default(),
            fires: Signal::default(),
            take: Signal::default(),
            limit: Signal::default(),
            step2: Signal::default(),
            now_taken: Signal::default(),
            held: Signal::default(),
        }
    }
}

/// 4 SRQs behind 16 QPs.
impl Default for SrqLimits {
    fn default() -> Self {
        Self::new(4, 2)
    }
}

impl Logic for SrqLimits {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, arm, arm_step, left, left_srq, step1, step3, rest3);
        dff_setup!(self, clock, asked_now, seen3, seen);
        clock!(self, clock, posted, taken, limits, events, steps);

        self.posted.wr_valid.next =
            self.rq_pub.val().valid & (self.rq_pub.val().queue & self.first_srq.val()).any();
        self.posted.wr_addr.next = bit_cast::<20, 14>(self.rq_pub.val().queue);
        self.posted.wr_data.next = self.rq_pub.val().posted;
        self.take.next =
            self.position.val().valid & (self.position.val().queue & self.first_srq.val()).any();
        self.taken.wr_valid.next = self.take.val();
        self.taken.wr_addr.next = bit_cast::<20, 14>(self.position.val().queue);
        self.taken.wr_data.next = self.position.val().rq;

        // Whose turn it is. An SRQ's number is the lower bits of its queue's.
        self.step1.d.next = Default::default();
        if self.take.val() {
            self.step1.d.next.valid = true;
            self.step1.d.next.srq =
                self.position.val().queue.get_bits::<SRQ_BITS>(0) & self.srq_mask.val();
            self.step1.d.next.taken = self.position.val().rq;
        } else if self.arm.q.val() {
            self.step1.d.next = self.arm_step.q.val();
            self.arm.d.next = false;
        } else if self.left.q.val() {
            self.step1.d.next.valid = true;
            self.step1.d.next.srq = self.left_srq.q.val();
            self.step1.d.next.left = true;
            self.left.d.next = false;
        } else {
            self.step1.d.next.srq =
                self.asked_now.q.val().get_bits::<SRQ_BITS>(0) & self.srq_mask.val();
            self.step1.d.next.look = true;
        }
        self.asked_now.d.next = self.asked.val();
        if self.cfg.val().valid & (self.cfg.val().table == table::SRQ_LIMIT) {
            self.arm.d.next = true;
            self.arm_step.d.next = Default::default();
            self.arm_step.d.next.valid = true;
            self.arm_step.d.next.srq =
                self.cfg.val().index.get_bits::<SRQ_BITS>(0) & self.srq_mask.val();
            self.arm_step.d.next.arm = true;
            self.arm_step.d.next.limit = self.cfg.val().data.get_bits::<16>(LIMIT);
            self.arm_step.d.next.eq = self.cfg.val().data.get_bits::<7>(EQ);
        }

        // How many are left.
        self.posted.rd_addr.next = bit_cast::<20, SRQ_BITS>(self.step1.q.val().srq);
        self.taken.rd_addr.next = bit_cast::<20, SRQ_BITS>(self.step1.q.val().srq);
        self.limits.rd_valid.next = true;
        self.limits.rd_addr.next = bit_cast::<20, SRQ_BITS>(self.step1.q.val().srq);
        self.steps.data_in.next = self.step1.q.val();
        self.step2.next = self.steps.data_out.val();
        self.now_taken.next = self.taken.rd_data.val();
        if !self.step2.val().arm & !self.step2.val().look {
            self.now_taken.next = self.step2.val().taken;
        }
        self.rest3.d.next = self.posted.rd_data.val() - self.now_taken.val();
        self.step3.d.next = self.step2.val();

        // For queries.
        self.seen3.d.next.posted = self.posted.rd_data.val();
        self.seen3.d.next.taken = self.taken.rd_data.val();
        if self.step3.q.val().look {
            self.seen.d.next = self.seen3.q.val();
            self.seen.d.next.limit = self.limits.rd_data.val().limit;
        }
        self.shown.next = self.seen.q.val();

        // Is it too few?
        self.held.next = self.limits.rd_data.val();
        self.limit.next = self.held.val();
        if self.step3.q.val().arm {
            self.limit.next.limit = self.step3.q.val().limit;
            self.limit.next.eq = self.step3.q.val().eq;
        }
        self.low.next = self.rest3.q.val() < self.limit.val().limit;
        self.fires.next = self.step3.q.val().valid & !self.step3.q.val().left & self.low.val();
        self.limits.wr_valid.next = self.step3.q.val().valid;
        self.limits.wr_addr.next = bit_cast::<20, SRQ_BITS>(self.step3.q.val().srq);
        self.limits.wr_data.next = self.limit.val();
        if self.low.val() & !self.step3.q.val().left {
            self.limits.wr_data.next.limit = 0.into();
        }
        self.limits.wr_data.next.queued =
            (self.held.val().queued | self.low.val()) & !self.step3.q.val().left;
        self.events.input.valid.next = self.fires.val() & !self.held.val().queued;
        self.events.input.data.next.kind = EVENT.into();
        self.events.input.data.next.index = bit_cast::<14, SRQ_BITS>(self.step3.q.val().srq);
        self.events.input.data.next.eq = self.limit.val().eq;

        // The event before has to be noted first.
        self.event.data.next = self.events.output.data.val();
        self.event.valid.next = self.events.output.valid.val() & !self.left.q.val();
        self.events.output.ready.next = self.event.ready.val() & !self.left.q.val();
        if self.events.output.valid.val() & self.event.ready.val() & !self.left.q.val() {
            self.left.d.next = true;
            self.left_srq.d.next = self.events.output.data.val().index.get_bits::<SRQ_BITS>(0);
        }
    }
}

ferroce_emit::register_leaf!("srq_limits", SrqLimits::default);
