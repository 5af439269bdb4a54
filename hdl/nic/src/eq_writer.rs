//! Writes events into the event queues in host memory and asks for interrupts behind them.

pub mod desc;
pub mod eq_measure;
pub mod eq_turns;

use crate::bar::desc::QueuePosition;
use crate::ring_cfg::RingCfgPort;
use desc::{EqPlan, EqState, EqVisit, EventJob};
use eq_measure::EqMeasure;
use eq_turns::EqTurns;
use ferroce_abi::eqe::{EventKind, INDEX, PHASE};
use ferroce_abi::limits::EQE_BYTES;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::bar::{EqBell, QueueSeen};
use ferroce_rtl::desc::cfg::{table, CfgWrite};
use ferroce_rtl::desc::dma::DmaWriteBeat;
use ferroce_rtl::ram::Ram;
use ferroce_rtl::ram2::Ram2;
use ferroce_rtl::stream::{StreamIn, StreamOut};

/// Log2 of an EQE's bytes.
const EQE_LOG2: u64 = EQE_BYTES.ilog2() as u64;
const INDEX_AT: u64 = 8 * INDEX as u64;
const PHASE_AT: u64 = 8 * PHASE as u64;
const EQ_OVERRUN: u64 = EventKind::EqOverrun as u64;

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
    /// Consumer indices; 0 with an EQ's configuration.
    pub seen: Signal<In, QueueSeen>,
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
    /// EQ to look at for a query.
    pub asked: Signal<In, Bits<7>>,
    /// Where it is, two cycles later.
    pub position: Signal<Out, QueuePosition>,
    /// A CQ or EQ is gone: arbiters have taken all that was written for it.
    pub gone: Signal<Out, Bit>,
    /// Index bits beyond the table.
    beyond: Constant<Bits<7>>,
    ring_port: RingCfgPort,
    turns: EqTurns,
    states: Ram2<EqState>,
    /// Running indices after the last EQE that the host has taken out.
    consumers: Ram2<Bits<24>>,
    plans: Ram<EqPlan>,
    measure: EqMeasure,
    phase: DFF<EqPhase>,
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
    gone_out: DFF<Bit>,
    visit: Signal<Local, EqVisit>,
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
            seen: Signal::default(),
            bell: StreamIn::default(),
            event: StreamIn::default(),
            write: StreamOut::default(),
            fire: StreamOut::default(),
            written: Signal::default(),
            dropped: Signal::default(),
            asked: Signal::default(),
            position: Signal::default(),
            gone: Signal::default(),
            beyond: Constant::new((0x7F & !((1u64 << eqs_log2) - 1)).into()),
            ring_port: RingCfgPort::new(table::EQ),
            turns: EqTurns::new(eqs_log2),
            states: Ram2::new(eqs_log2),
            consumers: Ram2::new(eqs_log2),
            plans: Ram::new(eqs_log2),
            measure: EqMeasure::default(),
            phase: DFF::default(),
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
            gone_out: DFF::default(),
            visit: Signal::default(),
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
            known,
            state,
            plan,
            consumer,
            addr,
            kind,
            index,
            then_fire,
            written_out,
            dropped_out,
            gone_out
        );
        clock!(self, clock, ring_port, turns, states, consumers, plans, measure);

        // What to visit next.
        self.ring_port.cfg.next = self.cfg.val();
        self.turns.ring.next = self.ring_port.ring.val();
        StreamIn::<EqBell>::link(&mut self.bell, &mut self.turns.bell);
        StreamIn::<EventJob>::link(&mut self.event, &mut self.turns.event);
        self.turns.idle.next = self.phase.q.val() == EqPhase::Idle;
        self.visit.next = self.turns.visit.val();
        self.plans.wr_valid.next =
            (self.phase.q.val() == EqPhase::Decide) & self.visit.val().restart;
        self.plans.wr_addr.next = bit_cast::<20, 7>(self.visit.val().eq);
        self.plans.wr_data.next = self.turns.plan.val();

        // The EQ's state, and differences.
        self.consumers.wr_valid.next = self.seen.val().valid;
        self.consumers.wr_addr.next = bit_cast::<20, 14>(self.seen.val().queue);
        self.consumers.wr_data.next = self.seen.val().consumer;
        self.consumers.rd0_addr.next = bit_cast::<20, 7>(self.visit.val().eq);
        self.states.rd0_addr.next = bit_cast::<20, 7>(self.visit.val().eq);
        self.plans.rd_addr.next = bit_cast::<20, 7>(self.visit.val().eq);
        self.known.d.next = !(self.visit.val().eq & self.beyond.val()).any();
        if self.phase.q.val() == EqPhase::Take {
            self.state.d.next = self.states.rd0_data.val();
            self.plan.d.next = self.plans.rd_data.val();
            self.consumer.d.next = self.consumers.rd0_data.val();
        }
        self.measure.state.next = self.state.q.val();
        self.measure.plan.next = self.plan.q.val();
        self.measure.consumer.next = self.consumer.q.val();
        self.measure.elapsed.next = self.turns.now.val() - self.state.q.val().last;

        // The decision.
        self.writes.next = self.state.q.val().enabled
            & !self.measure.full.val()
            & (self.visit.val().event | (self.visit.val().bell & self.state.q.val().lost));
        self.arms.next = self.visit.val().bell & self.visit.val().arm;
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
        self.next.next.lost = (self.state.q.val().lost
            & !(self.visit.val().bell & self.writes.val()))
            | (self.visit.val().event & self.measure.full.val());
        if self.writes.val() {
            self.next.next.producer = self.measure.next_producer.val();
        }
        if self.fires.val() {
            self.next.next.waiting = self.measure.has_gap.val();
            self.next.next.last = self.turns.now.val();
        }
        if self.visit.val().restart {
            self.next.next.enabled = self.visit.val().enabled;
            self.next.next.lost = false;
            self.next.next.armed = false;
            self.next.next.pending = false;
            self.next.next.waiting = false;
            self.next.next.producer = 0.into();
        }
        self.states.wr_valid.next = (self.phase.q.val() == EqPhase::Decide)
            & self.known.q.val()
            & (self.state.q.val().enabled | self.visit.val().restart);
        self.states.wr_addr.next = bit_cast::<20, 7>(self.visit.val().eq);
        self.states.wr_data.next = self.next.val();
        self.written_out.d.next = false;
        self.dropped_out.d.next = false;
        self.gone_out.d.next = (self.phase.q.val() == EqPhase::Decide)
            & (self.visit.val().mark | (self.visit.val().restart & !self.visit.val().enabled));
        match self.phase.q.val() {
            EqPhase::Idle => {
                if self.turns.begins.val() {
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
                self.kind.d.next = self.visit.val().kind;
                self.index.d.next = self.visit.val().index;
                if self.visit.val().bell {
                    self.kind.d.next = EQ_OVERRUN.into();
                    self.index.d.next = 0.into();
                }
                self.then_fire.d.next = self.fires.val();
                self.phase.d.next = EqPhase::Idle;
                if self.known.q.val() & self.state.q.val().enabled & !self.visit.val().restart {
                    if self.writes.val() {
                        self.phase.d.next = EqPhase::Write;
                    } else if self.fires.val() {
                        self.phase.d.next = EqPhase::Fire;
                    }
                }
                self.dropped_out.d.next =
                    self.visit.val().event & !(self.known.q.val() & self.writes.val());
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
        self.states.rd1_addr.next = bit_cast::<20, 7>(self.asked.val());
        self.position.next.lost = self.states.rd1_data.val().lost;
        self.position.next.armed = self.states.rd1_data.val().armed;
        self.position.next.producer = self.states.rd1_data.val().producer;
        self.consumers.rd1_addr.next = bit_cast::<20, 7>(self.asked.val());
        self.position.next.consumer = self.consumers.rd1_data.val();
        self.gone.next = self.gone_out.q.val();
    }
}

ferroce_emit::register_leaf!("eq_writer", EqWriter::default);
