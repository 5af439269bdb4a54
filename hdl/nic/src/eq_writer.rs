//! Writes events into the event queues in host memory and asks for interrupts behind them.

pub mod desc;
pub mod eq_measure;

use crate::ring_cfg::{RingCfgPort, MORE, MORE_BITS};
use desc::{EqPlan, EqState, EventJob};
use eq_measure::EqMeasure;
use ferroce_abi::cfg::{field_offset, EqCfg};
use ferroce_abi::eqe::{EventKind, INDEX, PHASE};
use ferroce_abi::limits::EQE_BYTES;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::bar::EqBell;
use ferroce_rtl::desc::cfg::{table, CfgWrite};
use ferroce_rtl::desc::dma::DmaWriteBeat;
use ferroce_rtl::ram::Ram;
use ferroce_rtl::stream::{StreamIn, StreamOut};

/// Log2 of an EQE's bytes.
const EQE_LOG2: u64 = EQE_BYTES.ilog2() as u64;
const INDEX_AT: u64 = 8 * INDEX as u64;
const PHASE_AT: u64 = 8 * PHASE as u64;
const EQ_OVERRUN: u64 = EventKind::EqOverrun as u64;
/// Where the fields of EQs are in [`crate::ring_cfg::RingWrite::more`].
const VECTOR: usize = field_offset(EqCfg::FIELDS, "vector") - MORE;
const GAP: usize = field_offset(EqCfg::FIELDS, "gap") - MORE;
const _: () = assert!(GAP + 12 <= MORE_BITS);
/// Log2 of the core cycles of a unit of time.
const UNIT_LOG2: usize = 8;
/// Log2 of the cycles between two looks for a gap that is over: 128 EQs are looked at in two units. A visit takes nine cycles when nothing
/// waits.
const SCAN_LOG2: usize = 4;
const SCAN_MASK: u64 = (1 << SCAN_LOG2) - 1;

/// Steps of a visit.
#[derive(Clone, Copy, Debug, PartialEq, LogicState, FromBits)]
pub enum EqPhase {
    /// Waits for something to do.
    Idle,
    /// The EQ's state is read.
    Read,
    /// It comes in the next cycle.
    Wait,
    /// It is here.
    Take,
    /// Differences.
    Measure,
    /// What they mean.
    Compare,
    /// What happens; the new state is written.
    Decide,
    /// The EQE waits to be taken.
    Write,
    /// The interrupt request waits to be taken.
    Fire,
}

/// Visits one EQ after the other, each for one thing: configuration, a doorbell, an event, or a look at its gap. Only one visit is
/// under way, so none can miss another: an EQE is there before the EQ is armed, and the comparison of its index with what the host has seen
/// finds it, or it comes later and finds the EQ armed.
///
/// An interrupt is asked for when its EQE was taken as a host write. An event for a full EQ is dropped and counted; when there is room again, an EQE
/// tells so.
#[derive(LogicBlock, Module)]
pub struct EqWriter {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Configuration bus.
    pub cfg: Signal<In, CfgWrite>,
    /// Doorbells.
    pub bell: StreamIn<EqBell>,
    /// Events.
    pub event: StreamIn<EventJob>,
    /// Host writes of 16 bytes.
    pub write: StreamOut<DmaWriteBeat>,
    /// Interrupt requests: vectors.
    pub fire: StreamOut<Bits<7>>,
    /// An EQE was written.
    pub written: Signal<Out, Bit>,
    /// An event was dropped.
    pub dropped: Signal<Out, Bit>,
    /// Index bits beyond the table.
    beyond: Constant<Bits<7>>,
    ring_port: RingCfgPort,
    states: Ram<EqState>,
    plans: Ram<EqPlan>,
    measure: EqMeasure,
    phase: DFF<EqPhase>,
    /// Time: its upper bits count units.
    clock_count: DFF<Bits<24>>,
    scan_due: DFF<Bit>,
    scan: DFF<Bits<7>>,
    restart_due: DFF<Bit>,
    restart_eq: DFF<Bits<7>>,
    restart_enabled: DFF<Bit>,
    restart_plan: DFF<EqPlan>,
    /// The last visit was for a doorbell; events go first.
    bell_last: DFF<Bit>,
    eq: DFF<Bits<7>>,
    for_restart: DFF<Bit>,
    for_bell: DFF<Bit>,
    for_event: DFF<Bit>,
    bell_item: DFF<EqBell>,
    event_item: DFF<EventJob>,
    known: DFF<Bit>,
    state: DFF<EqState>,
    plan: DFF<EqPlan>,
    consumer: DFF<Bits<24>>,
    addr: DFF<Bits<64>>,
    kind: DFF<Bits<8>>,
    index: DFF<Bits<14>>,
    then_fire: DFF<Bit>,
    written_out: DFF<Bit>,
    dropped_out: DFF<Bit>,
    now: Signal<Local, Bits<16>>,
    take_bell: Signal<Local, Bit>,
    take_event: Signal<Local, Bit>,
    idle: Signal<Local, Bit>,
    free: Signal<Local, Bit>,
    prefer_event: Signal<Local, Bit>,
    writes: Signal<Local, Bit>,
    arms: Signal<Local, Bit>,
    armed: Signal<Local, Bit>,
    trigger: Signal<Local, Bit>,
    due: Signal<Local, Bit>,
    waiting: Signal<Local, Bit>,
    fires: Signal<Local, Bit>,
    next: Signal<Local, EqState>,
    eqe: Signal<Local, Bits<128>>,
}

impl EqWriter {
    /// Writer for `2^eqs_log2` EQs.
    ///
    /// # Panics
    /// If `eqs_log2` is not 1 to 7.
    #[must_use]
    pub fn new(eqs_log2: usize) -> Self {
        assert!((1..=7).contains(&eqs_log2), "2^{eqs_log2} EQs");
        Self {
            clock: Signal::default(),
            cfg: Signal::default(),
            bell: StreamIn::default(),
            event: StreamIn::default(),
            write: StreamOut::default(),
            fire: StreamOut::default(),
            written: Signal::default(),
            dropped: Signal::default(),
            beyond: Constant::new((0x7F & !((1u64 << eqs_log2) - 1)).into()),
            ring_port: RingCfgPort::new(table::EQ),
            states: Ram::new(eqs_log2),
            plans: Ram::new(eqs_log2),
            measure: EqMeasure::default(),
            phase: DFF::default(),
            clock_count: DFF::default(),
            scan_due: DFF::default(),
            scan: DFF::default(),
            restart_due: DFF::default(),
            restart_eq: DFF::default(),
            restart_enabled: DFF::default(),
            restart_plan: DFF::default(),
            bell_last: DFF::default(),
            eq: DFF::default(),
            for_restart: DFF::default(),
            for_bell: DFF::default(),
            for_event: DFF::default(),
            bell_item: DFF::default(),
            event_item: DFF::default(),
            known: DFF::default(),
            state: DFF::default(),
            plan: DFF::default(),
            consumer: DFF::default(),
            addr: DFF::default(),
            kind: DFF::default(),
            index: DFF::default(),
            then_fire: DFF::default(),
            written_out: DFF::default(),
            dropped_out: DFF::default(),
            now: Signal::default(),
            take_bell: Signal::default(),
            take_event: Signal::default(),
            idle: Signal::default(),
            free: Signal::default(),
            prefer_event: Signal::default(),
            writes: Signal::default(),
            arms: Signal::default(),
            armed: Signal::default(),
            trigger: Signal::default(),
            due: Signal::default(),
            waiting: Signal::default(),
            fires: Signal::default(),
            next: Signal::default(),
            eqe: Signal::default(),
        }
    }
}

/// 4 EQs.
impl Default for EqWriter {
    fn default() -> Self {
        Self::new(2)
    }
}

impl Logic for EqWriter {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            phase,
            clock_count,
            scan_due,
            scan,
            restart_due,
            restart_eq,
            restart_enabled,
            restart_plan,
            bell_last,
            eq,
            for_restart,
            for_bell,
            for_event,
            bell_item,
            event_item,
            known,
            state,
            plan,
            consumer,
            addr,
            kind,
            index,
            then_fire,
            written_out,
            dropped_out
        );
        clock!(self, clock, ring_port, states, plans, measure);

        // Configuration; writes are further apart than a visit lasts, unless the host takes none.
        self.ring_port.cfg.next = self.cfg.val();
        self.plans.wr_valid.next =
            (self.phase.q.val() == EqPhase::Decide) & self.for_restart.q.val();
        self.plans.wr_addr.next = bit_cast::<20, 7>(self.eq.q.val());
        self.plans.wr_data.next = self.restart_plan.q.val();

        // What to visit next.
        self.clock_count.d.next = self.clock_count.q.val() + 1;
        self.now.next = self.clock_count.q.val().get_bits::<16>(UNIT_LOG2);
        self.idle.next = self.phase.q.val() == EqPhase::Idle;
        self.free.next = self.idle.val() & !self.restart_due.q.val() & !self.scan_due.q.val();
        self.prefer_event.next = self.bell_last.q.val() & self.event.valid.val();
        self.take_bell.next = self.free.val() & !self.prefer_event.val();
        self.take_event.next = self.free.val() & (self.prefer_event.val() | !self.bell.valid.val());
        self.bell.ready.next = self.take_bell.val();
        self.event.ready.next = self.take_event.val();
        if self.idle.val() {
            self.for_restart.d.next = self.restart_due.q.val();
            self.for_bell.d.next = self.take_bell.val() & self.bell.valid.val();
            self.for_event.d.next = self.take_event.val() & self.event.valid.val();
            self.bell_item.d.next = self.bell.data.val();
            self.event_item.d.next = self.event.data.val();
            if self.restart_due.q.val() {
                self.eq.d.next = self.restart_eq.q.val();
                self.restart_due.d.next = false;
            } else if self.scan_due.q.val() {
                self.eq.d.next = self.scan.q.val();
                self.scan.d.next = (self.scan.q.val() + 1) & !self.beyond.val();
                self.scan_due.d.next = false;
            } else if self.prefer_event.val() | !self.bell.valid.val() {
                self.eq.d.next = self.event.data.val().eq;
                self.bell_last.d.next = false;
            } else {
                self.eq.d.next = self.bell.data.val().eq;
                self.bell_last.d.next = true;
            }
        }
        if self.clock_count.q.val().get_bits::<SCAN_LOG2>(0) == SCAN_MASK {
            self.scan_due.d.next = true;
        }
        if self.ring_port.ring.val().valid {
            self.restart_due.d.next = true;
            self.restart_eq.d.next = self.ring_port.ring.val().index.get_bits::<7>(0);
            self.restart_enabled.d.next = self.ring_port.ring.val().enabled;
            self.restart_plan.d.next.base = self.ring_port.ring.val().base;
            self.restart_plan.d.next.log_size = self.ring_port.ring.val().log_size;
            self.restart_plan.d.next.vector = self.ring_port.ring.val().more.get_bits::<7>(VECTOR);
            self.restart_plan.d.next.gap = self.ring_port.ring.val().more.get_bits::<12>(GAP);
        }

        // The EQ's state, and differences.
        self.states.rd_addr.next = bit_cast::<20, 7>(self.eq.q.val());
        self.plans.rd_addr.next = bit_cast::<20, 7>(self.eq.q.val());
        self.known.d.next = !(self.eq.q.val() & self.beyond.val()).any();
        if self.phase.q.val() == EqPhase::Take {
            self.state.d.next = self.states.rd_data.val();
            self.plan.d.next = self.plans.rd_data.val();
            self.consumer.d.next = self.states.rd_data.val().consumer;
            if self.for_bell.q.val() {
                self.consumer.d.next = self.bell_item.q.val().consumer;
            }
        }
        self.measure.state.next = self.state.q.val();
        self.measure.plan.next = self.plan.q.val();
        self.measure.consumer.next = self.consumer.q.val();
        self.measure.elapsed.next = self.now.val() - self.state.q.val().last;

        // The decision.
        self.writes.next = self.state.q.val().enabled
            & !self.measure.full.val()
            & (self.for_event.q.val() | (self.for_bell.q.val() & self.state.q.val().lost));
        self.arms.next = self.for_bell.q.val() & self.bell_item.q.val().arm;
        self.armed.next = self.state.q.val().armed | self.arms.val();
        self.trigger.next =
            self.armed.val() & (self.writes.val() | (self.arms.val() & self.measure.unseen.val()));
        self.due.next = self.trigger.val() | self.state.q.val().pending;
        self.waiting.next = self.state.q.val().waiting & !self.measure.gap_over.val();
        self.fires.next = self.due.val() & !self.waiting.val();
        self.next.next = self.state.q.val();
        self.next.next.armed = self.armed.val() & !self.trigger.val();
        self.next.next.pending = self.due.val() & self.waiting.val();
        self.next.next.waiting = self.waiting.val();
        self.next.next.consumer = self.consumer.q.val();
        self.next.next.lost = (self.state.q.val().lost
            & !(self.for_bell.q.val() & self.writes.val()))
            | (self.for_event.q.val() & self.measure.full.val());
        if self.writes.val() {
            self.next.next.producer = self.measure.next_producer.val();
        }
        if self.fires.val() {
            self.next.next.waiting = self.measure.has_gap.val();
            self.next.next.last = self.now.val();
        }
        if self.for_restart.q.val() {
            self.next.next.enabled = self.restart_enabled.q.val();
            self.next.next.lost = false;
            self.next.next.armed = false;
            self.next.next.pending = false;
            self.next.next.waiting = false;
            self.next.next.producer = 0.into();
            self.next.next.consumer = 0.into();
        }
        self.states.wr_valid.next = (self.phase.q.val() == EqPhase::Decide)
            & self.known.q.val()
            & (self.state.q.val().enabled | self.for_restart.q.val());
        self.states.wr_addr.next = bit_cast::<20, 7>(self.eq.q.val());
        self.states.wr_data.next = self.next.val();
        self.written_out.d.next = false;
        self.dropped_out.d.next = false;
        match self.phase.q.val() {
            EqPhase::Idle => {
                if self.restart_due.q.val()
                    | self.scan_due.q.val()
                    | self.bell.valid.val()
                    | self.event.valid.val()
                {
                    self.phase.d.next = EqPhase::Read;
                }
            }
            EqPhase::Read => {
                self.phase.d.next = EqPhase::Wait;
            }
            EqPhase::Wait => {
                self.phase.d.next = EqPhase::Take;
            }
            EqPhase::Take => {
                self.phase.d.next = EqPhase::Measure;
            }
            EqPhase::Measure => {
                self.phase.d.next = EqPhase::Compare;
            }
            EqPhase::Compare => {
                self.phase.d.next = EqPhase::Decide;
            }
            EqPhase::Decide => {
                self.addr.d.next = self.measure.addr.val();
                self.kind.d.next = self.event_item.q.val().kind;
                self.index.d.next = self.event_item.q.val().index;
                if self.for_bell.q.val() {
                    self.kind.d.next = EQ_OVERRUN.into();
                    self.index.d.next = 0.into();
                }
                self.then_fire.d.next = self.fires.val();
                self.phase.d.next = EqPhase::Idle;
                if self.known.q.val() & self.state.q.val().enabled & !self.for_restart.q.val() {
                    if self.writes.val() {
                        self.phase.d.next = EqPhase::Write;
                    } else if self.fires.val() {
                        self.phase.d.next = EqPhase::Fire;
                    }
                }
                self.dropped_out.d.next =
                    self.for_event.q.val() & !(self.known.q.val() & self.writes.val());
            }
            EqPhase::Write => {
                if self.write.ready.val() {
                    self.written_out.d.next = true;
                    self.phase.d.next = EqPhase::Idle;
                    if self.then_fire.q.val() {
                        self.phase.d.next = EqPhase::Fire;
                    }
                }
            }
            // Fire.
            _ => {
                if self.fire.ready.val() {
                    self.phase.d.next = EqPhase::Idle;
                }
            }
        }

        self.eqe.next = bit_cast::<128, 8>(self.kind.q.val())
            | (bit_cast::<128, 14>(self.index.q.val()) << INDEX_AT)
            | (bit_cast::<128, 1>(self.measure.eqe_phase.val().into()) << PHASE_AT);
        self.write.valid.next = self.phase.q.val() == EqPhase::Write;
        // Wherever the EQE's bytes are in the beat.
        self.write.data.next.data = bit_cast::<512, 128>(self.eqe.val())
            | (bit_cast::<512, 128>(self.eqe.val()) << 128)
            | (bit_cast::<512, 128>(self.eqe.val()) << 256)
            | (bit_cast::<512, 128>(self.eqe.val()) << 384);
        self.write.data.next.addr = self.addr.q.val();
        self.write.data.next.len = (1 << EQE_LOG2).into();
        self.write.data.next.last = true;
        self.fire.valid.next = self.phase.q.val() == EqPhase::Fire;
        self.fire.data.next = self.plan.q.val().vector;
        self.written.next = self.written_out.q.val();
        self.dropped.next = self.dropped_out.q.val();
    }
}

ferroce_emit::register_leaf!("eq_writer", EqWriter::default);
