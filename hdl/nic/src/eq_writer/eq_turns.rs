//! What the EQ writer does next.

use super::desc::{EqPlan, EqVisit, EventJob, QUEUE_GONE};
use crate::ring_cfg::{RingWrite, MORE, MORE_BITS};
use ferroce_abi::cfg::{field_offset, EqCfg};
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::bar::EqBell;
use ferroce_rtl::stream::StreamIn;

/// Where the fields of EQs are in [`RingWrite::more`].
const VECTOR: usize = field_offset(EqCfg::FIELDS, "vector") - MORE;
const GAP: usize = field_offset(EqCfg::FIELDS, "gap") - MORE;
const _: () = assert!(GAP + 12 <= MORE_BITS);
/// Log2 of the core cycles of a unit of time.
const UNIT_LOG2: usize = 8;
/// Log2 of the cycles between two looks for a gap that is over: 128 EQs are looked at in two units. A visit takes nine cycles when nothing
/// waits.
const SCAN_LOG2: usize = 4;
const SCAN_MASK: u64 = (1 << SCAN_LOG2) - 1;

/// Chooses the next visit: configuration first, then a look at the gap that is due, then doorbells and events in turn.
#[derive(LogicBlock, Module)]
pub struct EqTurns {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Configuration of EQs; writes are further apart than a visit lasts, unless the host takes none.
    pub ring: Signal<In, RingWrite>,
    /// Doorbells.
    pub bell: StreamIn<EqBell>,
    /// Events.
    pub event: StreamIn<EventJob>,
    /// A visit may begin in this cycle.
    pub idle: Signal<In, Bit>,
    /// It does.
    pub begins: Signal<Out, Bit>,
    /// The visit that has begun, from the next cycle on.
    pub visit: Signal<Out, EqVisit>,
    /// What the EQ is configured with, if the visit is for that.
    pub plan: Signal<Out, EqPlan>,
    /// Time in units.
    pub now: Signal<Out, Bits<16>>,
    /// Index bits beyond the table.
    beyond: Constant<Bits<7>>,
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
    chosen: DFF<EqVisit>,
    free: Signal<Local, Bit>,
    prefer_event: Signal<Local, Bit>,
    take_bell: Signal<Local, Bit>,
    take_event: Signal<Local, Bit>,
}

impl EqTurns {
    /// For `2^eqs_log2` EQs.
    #[must_use]
    pub fn new(eqs_log2: usize) -> Self {
        Self {
            clock: Signal::default(),
            ring: Signal::default(),
            bell: StreamIn::default(),
            event: StreamIn::default(),
            idle: Signal::default(),
            begins: Signal::default(),
            visit: Signal::default(),
            plan: Signal::default(),
            now: Signal::default(),
            beyond: Constant::new((0x7F & !((1u64 << eqs_log2) - 1)).into()),
            clock_count: DFF::default(),
            scan_due: DFF::default(),
            scan: DFF::default(),
            restart_due: DFF::default(),
            restart_eq: DFF::default(),
            restart_enabled: DFF::default(),
            restart_plan: DFF::default(),
            bell_last: DFF::default(),
            chosen: DFF::default(),
            free: Signal::default(),
            prefer_event: Signal::default(),
            take_bell: Signal::default(),
            take_event: Signal::default(),
        }
    }
}

/// 4 EQs.
impl Default for EqTurns {
    fn default() -> Self {
        Self::new(2)
    }
}

impl Logic for EqTurns {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            clock_count,
            scan_due,
            scan,
            restart_due,
            restart_eq,
            restart_enabled,
            restart_plan,
            bell_last,
            chosen
        );
        self.clock_count.d.next = self.clock_count.q.val() + 1;
        self.now.next = self.clock_count.q.val().get_bits::<16>(UNIT_LOG2);
        self.free.next = self.idle.val() & !self.restart_due.q.val() & !self.scan_due.q.val();
        self.prefer_event.next = self.bell_last.q.val() & self.event.valid.val();
        self.take_bell.next = self.free.val() & !self.prefer_event.val();
        self.take_event.next = self.free.val() & (self.prefer_event.val() | !self.bell.valid.val());
        self.bell.ready.next = self.take_bell.val();
        self.event.ready.next = self.take_event.val();
        self.begins.next = self.idle.val()
            & (self.restart_due.q.val()
                | self.scan_due.q.val()
                | self.bell.valid.val()
                | self.event.valid.val());
        if self.idle.val() {
            self.chosen.d.next.restart = self.restart_due.q.val();
            self.chosen.d.next.enabled = self.restart_enabled.q.val();
            self.chosen.d.next.bell = self.take_bell.val() & self.bell.valid.val();
            self.chosen.d.next.arm = self.bell.data.val().arm;
            self.chosen.d.next.event = self.take_event.val()
                & self.event.valid.val()
                & (self.event.data.val().kind != QUEUE_GONE);
            self.chosen.d.next.mark = self.take_event.val()
                & self.event.valid.val()
                & (self.event.data.val().kind == QUEUE_GONE);
            self.chosen.d.next.kind = self.event.data.val().kind;
            self.chosen.d.next.index = self.event.data.val().index;
            if self.restart_due.q.val() {
                self.chosen.d.next.eq = self.restart_eq.q.val();
                self.restart_due.d.next = false;
            } else if self.scan_due.q.val() {
                self.chosen.d.next.eq = self.scan.q.val();
                self.scan.d.next = (self.scan.q.val() + 1) & !self.beyond.val();
                self.scan_due.d.next = false;
            } else if self.prefer_event.val() | !self.bell.valid.val() {
                self.chosen.d.next.eq = self.event.data.val().eq;
                self.bell_last.d.next = false;
            } else {
                self.chosen.d.next.eq = self.bell.data.val().eq;
                self.bell_last.d.next = true;
            }
        }
        if self.clock_count.q.val().get_bits::<SCAN_LOG2>(0) == SCAN_MASK {
            self.scan_due.d.next = true;
        }
        if self.ring.val().valid {
            self.restart_due.d.next = true;
            self.restart_eq.d.next = self.ring.val().index.get_bits::<7>(0);
            self.restart_enabled.d.next = self.ring.val().enabled;
            self.restart_plan.d.next.base = self.ring.val().base;
            self.restart_plan.d.next.log_size = self.ring.val().log_size;
            self.restart_plan.d.next.vector = self.ring.val().more.get_bits::<7>(VECTOR);
            self.restart_plan.d.next.gap = self.ring.val().more.get_bits::<12>(GAP);
        }
        self.visit.next = self.chosen.q.val();
        self.plan.next = self.restart_plan.q.val();
    }
}

ferroce_emit::register_leaf!("eq_turns", EqTurns::default);
