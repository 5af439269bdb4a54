//! Producer side of the completion queues.

use super::desc::{CqEvent, CqPlan, CqState, CqePlace};
use crate::bar::desc::QueuePosition;
use crate::bell_keeper::KeptBell;
use crate::ring_cfg::{RingWrite, MORE, MORE_BITS};
use ferroce_abi::cfg::{field_offset, CqCfg};
use ferroce_abi::cqe::flags;
use ferroce_emit::prelude::*;
use ferroce_rtl::delay::Delay;
use ferroce_rtl::desc::bar::QueueSeen;
use ferroce_rtl::desc::rx::CqeJob;
use ferroce_rtl::ram::{Ram, RAM_LATENCY};
use ferroce_rtl::ram2::Ram2;
use ferroce_rtl::rmw_ram::{RmwRam, RMW_LATENCY};
use ferroce_rtl::stream::StreamIn;

/// Cycles from a job's transfer to its `place`.
pub const RING_LATENCY: usize = 1 + RMW_LATENCY + 2;

/// Where the EQ is in [`RingWrite::more`].
const HAS_EQ: usize = field_offset(CqCfg::FIELDS, "has_eq") - MORE;
const EQ: usize = field_offset(CqCfg::FIELDS, "eq") - MORE;
const _: () = assert!(EQ + 7 <= MORE_BITS);
const SOLICITED: usize = flags::SOLICITED.trailing_zeros() as usize;

/// Gives each completion the next slot of its CQ, one every two cycles: the state's data comes in one cycle,
/// in which differences are taken, and is written in the next, in which they decide. To arm a CQ is an event of this loop like a
/// completion, so the two can't miss each other: the CQE comes first and is seen by the comparison with what the host has seen, or it comes
/// later and finds the CQ armed.
#[derive(LogicBlock, Module)]
pub struct CqRing {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Configuration of CQs; writes are far apart.
    pub cfg: Signal<In, RingWrite>,
    /// Consumer indices; 0 with a CQ's configuration.
    pub seen: Signal<In, QueueSeen>,
    /// Wishes for events. They wait while there is no room for their events.
    pub wish: StreamIn<KeptBell>,
    /// Completions, and the marks behind a QP's last one, which become events.
    pub job: StreamIn<CqeJob>,
    /// Completions may be taken: there is room for the CQE and its event.
    pub open: Signal<In, Bit>,
    /// A completion that has a slot, or an event.
    pub place: Signal<Out, CqePlace>,
    /// CQ to look at for a query.
    pub asked: Signal<In, Bits<14>>,
    /// Where it is, three cycles later.
    pub position: Signal<Out, QueuePosition>,
    /// A completion that has none.
    pub dropped: Signal<Out, Bit>,
    /// Index bits beyond the table.
    beyond: Constant<Bits<14>>,
    states: RmwRam<CqState>,
    rings: Ram<CqPlan>,
    consumers: Ram2<Bits<24>>,
    /// A copy of the states, for queries.
    shown: Ram<CqState>,
    shown_write: DFF<Bit>,
    shown_cq: DFF<Bits<14>>,
    shown_state: DFF<CqState>,
    asked_now: DFF<Bits<14>>,
    /// The plain RAMs are faster than the state's.
    ring_wait: Delay<CqPlan>,
    consumer_wait: Delay<Bits<24>>,
    events: Delay<CqEvent>,
    /// Every other cycle.
    turn: DFF<Bit>,
    restart: DFF<Bit>,
    restart_cq: DFF<Bits<14>>,
    restart_enabled: DFF<Bit>,
    /// The last event was one; completions go first.
    armed_last: DFF<Bit>,
    valid: DFF<Bit>,
    event: DFF<CqEvent>,
    /// First cycle of the loop: differences.
    s1_valid: DFF<Bit>,
    s1_event: DFF<CqEvent>,
    s1_state: DFF<CqState>,
    s1_plan: DFF<CqPlan>,
    s1_mask: DFF<Bits<15>>,
    s1_used: DFF<Bits<24>>,
    s1_phase: DFF<Bit>,
    /// The completion is solicited or failed.
    s1_solicited: DFF<Bit>,
    /// The host has not seen all CQEs.
    s1_unseen: DFF<Bit>,
    /// Solicited and failed CQEs that it has not seen come to here from where it has.
    s1_ahead: DFF<Bits<24>>,
    s1_next: DFF<Bits<24>>,
    s1_unknown: DFF<Bit>,
    out_place: DFF<CqePlace>,
    out_dropped: DFF<Bit>,
    arms: Signal<Local, Bit>,
    take: Signal<Local, Bit>,
    is_job: Signal<Local, Bit>,
    wanted: Signal<Local, Bit>,
    due: Signal<Local, Bit>,
    lost: Signal<Local, Bit>,
    size_mask: Signal<Local, Bits<15>>,
    full: Signal<Local, Bit>,
    accept: Signal<Local, Bit>,
    next: Signal<Local, CqState>,
}

impl CqRing {
    /// `2^cqs_log2` CQs.
    #[must_use]
    pub fn new(cqs_log2: usize) -> Self {
        Self {
            clock: Signal::default(),
            cfg: Signal::default(),
            seen: Signal::default(),
            wish: StreamIn::default(),
            job: StreamIn::default(),
            open: Signal::default(),
            place: Signal::default(),
            asked: Signal::default(),
            position: Signal::default(),
            dropped: Signal::default(),
            beyond: Constant::new((0x3FFF & !((1u64 << cqs_log2) - 1)).into()),
            states: RmwRam::new(cqs_log2),
            rings: Ram::new(cqs_log2),
            consumers: Ram2::new(cqs_log2),
            shown: Ram::new(cqs_log2),
            shown_write: DFF::default(),
            shown_cq: DFF::default(),
            shown_state: DFF::default(),
            asked_now: DFF::default(),
            ring_wait: Delay::new(RMW_LATENCY - RAM_LATENCY),
            consumer_wait: Delay::new(RMW_LATENCY - RAM_LATENCY),
            events: Delay::new(RMW_LATENCY),
            turn: DFF::default(),
            restart: DFF::default(),
            restart_cq: DFF::default(),
            restart_enabled: DFF::default(),
            armed_last: DFF::default(),
            valid: DFF::default(),
            event: DFF::default(),
            s1_valid: DFF::default(),
            s1_event: DFF::default(),
            s1_state: DFF::default(),
            s1_plan: DFF::default(),
            s1_mask: DFF::default(),
            s1_used: DFF::default(),
            s1_phase: DFF::default(),
            s1_solicited: DFF::default(),
            s1_unseen: DFF::default(),
            s1_ahead: DFF::default(),
            s1_next: DFF::default(),
            s1_unknown: DFF::default(),
            out_place: DFF::default(),
            out_dropped: DFF::default(),
            arms: Signal::default(),
            take: Signal::default(),
            is_job: Signal::default(),
            wanted: Signal::default(),
            due: Signal::default(),
            lost: Signal::default(),
            size_mask: Signal::default(),
            full: Signal::default(),
            accept: Signal::default(),
            next: Signal::default(),
        }
    }
}

/// 16 CQs.
impl Default for CqRing {
    fn default() -> Self {
        Self::new(4)
    }
}

impl Logic for CqRing {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            turn,
            restart,
            restart_cq,
            restart_enabled,
            armed_last,
            valid,
            event,
            s1_valid,
            s1_event,
            s1_state,
            s1_plan,
            s1_mask,
            s1_used,
            s1_phase,
            s1_solicited,
            s1_unseen,
            s1_ahead,
            s1_next,
            s1_unknown,
            out_place,
            out_dropped
        );
        clock!(
            self,
            clock,
            states,
            rings,
            consumers,
            shown,
            ring_wait,
            consumer_wait,
            events
        );
        dff_setup!(self, clock, shown_write, shown_cq, shown_state, asked_now);

        // One event every two cycles; configuration comes first.
        self.turn.d.next = !self.turn.q.val();
        self.take.next = self.turn.q.val() & self.open.val() & !self.restart.q.val();
        self.arms.next = self.wish.valid.val() & !(self.armed_last.q.val() & self.job.valid.val());
        self.job.ready.next = self.take.val() & !self.arms.val();
        self.wish.ready.next = self.take.val() & self.arms.val();
        self.valid.d.next = (self.take.val() & (self.job.valid.val() | self.arms.val()))
            | (self.turn.q.val() & self.restart.q.val());
        if self.take.val() {
            self.armed_last.d.next = self.arms.val();
        }
        self.event.d.next.arm = self.arms.val() & !self.restart.q.val();
        self.event.d.next.solicited_only = !self.wish.data.val().sticky;
        self.event.d.next.restart = self.restart.q.val();
        self.event.d.next.enabled = self.restart_enabled.q.val();
        self.event.d.next.job = self.job.data.val();
        self.event.d.next.last =
            self.job.data.val().last & !self.arms.val() & !self.restart.q.val();
        self.event.d.next.cq = self.job.data.val().cq;
        if self.restart.q.val() {
            self.event.d.next.cq = self.restart_cq.q.val();
        } else if self.arms.val() {
            self.event.d.next.cq = self.wish.data.val().queue;
        }
        if self.turn.q.val() {
            self.restart.d.next = false;
        }
        if self.cfg.val().valid {
            self.restart.d.next = true;
            self.restart_cq.d.next = self.cfg.val().index;
            self.restart_enabled.d.next = self.cfg.val().enabled;
        }

        self.rings.wr_valid.next = self.cfg.val().valid;
        self.rings.wr_addr.next = bit_cast::<20, 14>(self.cfg.val().index);
        self.rings.wr_data.next.base = self.cfg.val().base;
        self.rings.wr_data.next.log_size = self.cfg.val().log_size;
        self.rings.wr_data.next.has_eq = self.cfg.val().more.get_bit(HAS_EQ);
        self.rings.wr_data.next.eq = self.cfg.val().more.get_bits::<7>(EQ);
        self.consumers.wr_valid.next = self.seen.val().valid;
        self.consumers.wr_addr.next = bit_cast::<20, 14>(self.seen.val().queue);
        self.consumers.wr_data.next = self.seen.val().consumer;

        self.states.rd_valid.next = self.valid.q.val();
        self.states.rd_addr.next = bit_cast::<20, 14>(self.event.q.val().cq);
        self.rings.rd_addr.next = bit_cast::<20, 14>(self.event.q.val().cq);
        self.consumers.rd0_addr.next = bit_cast::<20, 14>(self.event.q.val().cq);
        self.events.data_in.next = self.event.q.val();
        self.ring_wait.data_in.next = self.rings.rd_data.val();
        self.consumer_wait.data_in.next = self.consumers.rd0_data.val();

        // First cycle: differences.
        self.size_mask.next = !(Bits::<15>::from(0x7FFF)
            << bit_cast::<15, 4>(self.ring_wait.data_out.val().log_size));
        self.s1_valid.d.next = self.states.data_valid.val();
        self.s1_event.d.next = self.events.data_out.val();
        self.s1_state.d.next = self.states.rd_data.val();
        self.s1_plan.d.next = self.ring_wait.data_out.val();
        self.s1_mask.d.next = self.size_mask.val();
        self.s1_used.d.next =
            self.states.rd_data.val().producer - self.consumer_wait.data_out.val();
        self.s1_phase.d.next = !self
            .states
            .rd_data
            .val()
            .producer
            .get_bit(self.ring_wait.data_out.val().log_size.index());
        self.s1_solicited.d.next = self.events.data_out.val().job.flags.get_bit(SOLICITED)
            | self.events.data_out.val().job.status.any();
        self.s1_unseen.d.next =
            self.states.rd_data.val().producer != self.consumer_wait.data_out.val();
        self.s1_ahead.d.next =
            self.states.rd_data.val().after_solicited - self.consumer_wait.data_out.val();
        self.s1_next.d.next = self.states.rd_data.val().producer + 1;
        self.s1_unknown.d.next = (self.events.data_out.val().cq & self.beyond.val()).any();

        // Second cycle: decision.
        self.full.next = (self.s1_used.q.val().get_bits::<15>(0) & !self.s1_mask.q.val()).any()
            | self.s1_used.q.val().get_bits::<9>(15).any();
        self.accept.next = self.s1_state.q.val().enabled
            & !self.s1_state.q.val().overrun
            & !self.s1_unknown.q.val()
            & !self.full.val();
        self.is_job.next = self.s1_valid.q.val()
            & !self.s1_event.q.val().restart
            & !self.s1_event.q.val().arm
            & !self.s1_event.q.val().last;
        // The host is up to the ring's size behind, never ahead.
        self.due.next = self.s1_unseen.q.val();
        if self.s1_event.q.val().solicited_only {
            self.due.next =
                self.s1_ahead.q.val().any() & !self.s1_ahead.q.val().get_bits::<8>(16).any();
        }
        self.wanted.next = self.s1_state.q.val().armed
            & (self.s1_solicited.q.val() | !self.s1_state.q.val().solicited_only);
        self.lost.next = self.s1_state.q.val().enabled
            & !self.s1_state.q.val().overrun
            & !self.s1_unknown.q.val()
            & self.full.val();
        self.next.next = self.s1_state.q.val();
        if self.s1_event.q.val().restart {
            self.next.next.enabled = self.s1_event.q.val().enabled;
            self.next.next.overrun = false;
            self.next.next.producer = 0.into();
            self.next.next.armed = false;
            self.next.next.after_solicited = 0.into();
        } else if self.s1_event.q.val().arm {
            self.next.next.armed = !self.due.val();
            self.next.next.solicited_only = self.s1_event.q.val().solicited_only
                & (!self.s1_state.q.val().armed | self.s1_state.q.val().solicited_only);
        } else if self.s1_event.q.val().last {
            self.next.next = self.s1_state.q.val();
        } else if self.accept.val() {
            self.next.next.producer = self.s1_next.q.val();
            self.next.next.armed = self.s1_state.q.val().armed & !self.wanted.val();
            if self.s1_solicited.q.val() {
                self.next.next.after_solicited = self.s1_next.q.val();
            }
        } else {
            self.next.next.overrun = self.s1_state.q.val().enabled;
        }
        self.states.wr_valid.next = self.s1_valid.q.val() & !self.s1_unknown.q.val();
        self.states.wr_addr.next = bit_cast::<20, 14>(self.s1_event.q.val().cq);
        self.states.wr_data.next = self.next.val();
        self.shown_write.d.next = self.s1_valid.q.val() & !self.s1_unknown.q.val();
        self.shown_cq.d.next = self.s1_event.q.val().cq;
        self.shown_state.d.next = self.next.val();
        self.asked_now.d.next = self.asked.val();
        self.shown.wr_valid.next = self.shown_write.q.val();
        self.shown.wr_addr.next = bit_cast::<20, 14>(self.shown_cq.q.val());
        self.shown.wr_data.next = self.shown_state.q.val();
        self.shown.rd_addr.next = bit_cast::<20, 14>(self.asked_now.q.val());
        self.consumers.rd1_addr.next = bit_cast::<20, 14>(self.asked_now.q.val());
        self.position.next.lost = self.shown.rd_data.val().overrun;
        self.position.next.armed = self.shown.rd_data.val().armed;
        self.position.next.producer = self.shown.rd_data.val().producer;
        self.position.next.consumer = self.consumers.rd1_data.val();

        self.out_place.d.next.write = self.is_job.val() & self.accept.val();
        self.out_place.d.next.event = self.s1_plan.q.val().has_eq
            & ((self.is_job.val() & ((self.accept.val() & self.wanted.val()) | self.lost.val()))
                | (self.s1_valid.q.val()
                    & self.s1_event.q.val().arm
                    & self.s1_state.q.val().enabled
                    & self.due.val()));
        self.out_place.d.next.last = self.s1_valid.q.val() & self.s1_event.q.val().last;
        self.out_place.d.next.gone =
            self.s1_valid.q.val() & self.s1_event.q.val().restart & !self.s1_event.q.val().enabled;
        // A queue that is taken away has no size any more and looks full: it loses nothing by that.
        self.out_place.d.next.overrun = self.is_job.val() & self.lost.val();
        self.out_place.d.next.eq = self.s1_plan.q.val().eq;
        self.out_place.d.next.cq = self.s1_event.q.val().cq;
        self.out_place.d.next.base = self.s1_plan.q.val().base;
        self.out_place.d.next.slot =
            self.s1_state.q.val().producer.get_bits::<15>(0) & self.s1_mask.q.val();
        self.out_place.d.next.phase = self.s1_phase.q.val();
        self.out_place.d.next.job = self.s1_event.q.val().job;
        self.out_dropped.d.next = self.is_job.val() & !self.accept.val();
        self.place.next = self.out_place.q.val();
        self.dropped.next = self.out_dropped.q.val();
    }
}

ferroce_emit::register_leaf!("cq_ring", CqRing::default);
