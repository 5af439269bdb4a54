//! Producer side of the completion queues.

use crate::ring_cfg::RingWrite;
use ferroce_emit::prelude::*;
use ferroce_rtl::delay::Delay;
use ferroce_rtl::desc::bar::CqBell;
use ferroce_rtl::desc::cfg::RingCfg;
use ferroce_rtl::desc::rx::CqeJob;
use ferroce_rtl::ram::{Ram, RAM_LATENCY};
use ferroce_rtl::rmw_ram::{RmwRam, RMW_LATENCY};
use ferroce_rtl::stream::StreamIn;

/// Cycles from a job's transfer to its `place`.
pub const RING_LATENCY: usize = 1 + RMW_LATENCY + 2;

/// State of a CQ.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct CqState {
    /// The CQ exists.
    pub enabled: Bit,
    /// A CQE found no room.
    pub overrun: Bit,
    /// Running index of the next CQE.
    pub producer: Bits<24>,
}

/// A completion for a CQ, or its configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct CqEvent {
    /// The CQ is made anew or, unless `enabled`, taken away.
    pub restart: Bit,
    /// The CQ exists.
    pub enabled: Bit,
    /// CQ index.
    pub cq: Bits<14>,
    /// The completion.
    pub job: CqeJob,
}

/// A completion and its place.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct CqePlace {
    /// A CQE is to be written.
    pub valid: Bit,
    /// Base address of the ring.
    pub base: Bits<64>,
    /// Slot in the ring.
    pub slot: Bits<15>,
    /// Phase bit: the first pass over the ring.
    pub phase: Bit,
    /// The completion.
    pub job: CqeJob,
}

/// Gives each completion the next slot of its CQ, one every two cycles: the state's data comes in one cycle,
/// in which differences are taken, and is written in the next, in which they decide.
#[derive(LogicBlock, Module)]
pub struct CqRing {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Configuration of CQs; writes are far apart.
    pub cfg: Signal<In, RingWrite>,
    /// Consumer indices.
    pub bell: StreamIn<CqBell>,
    /// Completions.
    pub job: StreamIn<CqeJob>,
    /// Completions may be taken: there is room for the CQE.
    pub open: Signal<In, Bit>,
    /// A completion that has a slot.
    pub place: Signal<Out, CqePlace>,
    /// A completion that has none.
    pub dropped: Signal<Out, Bit>,
    /// Index bits beyond the table.
    beyond: Constant<Bits<14>>,
    states: RmwRam<CqState>,
    rings: Ram<RingCfg>,
    consumers: Ram<Bits<24>>,
    /// The plain RAMs are faster than the state's.
    ring_wait: Delay<RingCfg>,
    consumer_wait: Delay<Bits<24>>,
    events: Delay<CqEvent>,
    /// Every other cycle.
    turn: DFF<Bit>,
    restart: DFF<Bit>,
    restart_cq: DFF<Bits<14>>,
    restart_enabled: DFF<Bit>,
    valid: DFF<Bit>,
    event: DFF<CqEvent>,
    /// First cycle of the loop: differences.
    s1_valid: DFF<Bit>,
    s1_event: DFF<CqEvent>,
    s1_state: DFF<CqState>,
    s1_base: DFF<Bits<64>>,
    s1_mask: DFF<Bits<15>>,
    s1_used: DFF<Bits<24>>,
    s1_phase: DFF<Bit>,
    s1_unknown: DFF<Bit>,
    out_place: DFF<CqePlace>,
    out_dropped: DFF<Bit>,
    take: Signal<Local, Bit>,
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
            bell: StreamIn::default(),
            job: StreamIn::default(),
            open: Signal::default(),
            place: Signal::default(),
            dropped: Signal::default(),
            beyond: Constant::new((0x3FFF & !((1u64 << cqs_log2) - 1)).into()),
            states: RmwRam::new(cqs_log2),
            rings: Ram::new(cqs_log2),
            consumers: Ram::new(cqs_log2),
            ring_wait: Delay::new(RMW_LATENCY - RAM_LATENCY),
            consumer_wait: Delay::new(RMW_LATENCY - RAM_LATENCY),
            events: Delay::new(RMW_LATENCY),
            turn: DFF::default(),
            restart: DFF::default(),
            restart_cq: DFF::default(),
            restart_enabled: DFF::default(),
            valid: DFF::default(),
            event: DFF::default(),
            s1_valid: DFF::default(),
            s1_event: DFF::default(),
            s1_state: DFF::default(),
            s1_base: DFF::default(),
            s1_mask: DFF::default(),
            s1_used: DFF::default(),
            s1_phase: DFF::default(),
            s1_unknown: DFF::default(),
            out_place: DFF::default(),
            out_dropped: DFF::default(),
            take: Signal::default(),
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
            valid,
            event,
            s1_valid,
            s1_event,
            s1_state,
            s1_base,
            s1_mask,
            s1_used,
            s1_phase,
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
            ring_wait,
            consumer_wait,
            events
        );

        // One event every two cycles; configuration comes first.
        self.turn.d.next = !self.turn.q.val();
        self.take.next = self.turn.q.val() & self.open.val() & !self.restart.q.val();
        self.job.ready.next = self.take.val();
        self.valid.d.next =
            (self.take.val() & self.job.valid.val()) | (self.turn.q.val() & self.restart.q.val());
        self.event.d.next.restart = self.restart.q.val();
        self.event.d.next.enabled = self.restart_enabled.q.val();
        self.event.d.next.job = self.job.data.val();
        self.event.d.next.cq = self.job.data.val().cq;
        if self.restart.q.val() {
            self.event.d.next.cq = self.restart_cq.q.val();
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
        self.rings.wr_data.next.enabled = self.cfg.val().enabled;
        self.rings.wr_data.next.base = self.cfg.val().base;
        self.rings.wr_data.next.log_size = self.cfg.val().log_size;
        // Concerns doorbells only.
        self.rings.wr_data.next.page = 0.into();
        self.bell.ready.next = !self.cfg.val().valid;
        self.consumers.wr_valid.next = self.bell.valid.val() | self.cfg.val().valid;
        self.consumers.wr_addr.next = bit_cast::<20, 14>(self.bell.data.val().cq);
        self.consumers.wr_data.next = self.bell.data.val().consumer;
        if self.cfg.val().valid {
            self.consumers.wr_addr.next = bit_cast::<20, 14>(self.cfg.val().index);
            self.consumers.wr_data.next = 0.into();
        }

        self.states.rd_valid.next = self.valid.q.val();
        self.states.rd_addr.next = bit_cast::<20, 14>(self.event.q.val().cq);
        self.rings.rd_addr.next = bit_cast::<20, 14>(self.event.q.val().cq);
        self.consumers.rd_addr.next = bit_cast::<20, 14>(self.event.q.val().cq);
        self.events.data_in.next = self.event.q.val();
        self.ring_wait.data_in.next = self.rings.rd_data.val();
        self.consumer_wait.data_in.next = self.consumers.rd_data.val();

        // First cycle: differences.
        self.size_mask.next = !(Bits::<15>::from(0x7FFF)
            << bit_cast::<15, 4>(self.ring_wait.data_out.val().log_size));
        self.s1_valid.d.next = self.states.data_valid.val();
        self.s1_event.d.next = self.events.data_out.val();
        self.s1_state.d.next = self.states.rd_data.val();
        self.s1_base.d.next = self.ring_wait.data_out.val().base;
        self.s1_mask.d.next = self.size_mask.val();
        self.s1_used.d.next =
            self.states.rd_data.val().producer - self.consumer_wait.data_out.val();
        self.s1_phase.d.next = !self
            .states
            .rd_data
            .val()
            .producer
            .get_bit(self.ring_wait.data_out.val().log_size.index());
        self.s1_unknown.d.next = (self.events.data_out.val().cq & self.beyond.val()).any();

        // Second cycle: decision.
        self.full.next = (self.s1_used.q.val().get_bits::<15>(0) & !self.s1_mask.q.val()).any()
            | self.s1_used.q.val().get_bits::<9>(15).any();
        self.accept.next = self.s1_state.q.val().enabled
            & !self.s1_state.q.val().overrun
            & !self.s1_unknown.q.val()
            & !self.full.val();
        self.next.next = self.s1_state.q.val();
        if self.s1_event.q.val().restart {
            self.next.next.enabled = self.s1_event.q.val().enabled;
            self.next.next.overrun = false;
            self.next.next.producer = 0.into();
        } else if self.accept.val() {
            self.next.next.producer = self.s1_state.q.val().producer + 1;
        } else {
            self.next.next.overrun = self.s1_state.q.val().enabled;
        }
        self.states.wr_valid.next = self.s1_valid.q.val() & !self.s1_unknown.q.val();
        self.states.wr_addr.next = bit_cast::<20, 14>(self.s1_event.q.val().cq);
        self.states.wr_data.next = self.next.val();

        self.out_place.d.next.valid =
            self.s1_valid.q.val() & !self.s1_event.q.val().restart & self.accept.val();
        self.out_place.d.next.base = self.s1_base.q.val();
        self.out_place.d.next.slot =
            self.s1_state.q.val().producer.get_bits::<15>(0) & self.s1_mask.q.val();
        self.out_place.d.next.phase = self.s1_phase.q.val();
        self.out_place.d.next.job = self.s1_event.q.val().job;
        self.out_dropped.d.next =
            self.s1_valid.q.val() & !self.s1_event.q.val().restart & !self.accept.val();
        self.place.next = self.out_place.q.val();
        self.dropped.next = self.out_dropped.q.val();
    }
}

ferroce_emit::register_leaf!("cq_ring", CqRing::default);
