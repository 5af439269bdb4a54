//! Which event the state loop takes next.

use super::desc::{BurstDone, EventKind, WqeEvent, PUSH_COPY_CYCLES};
use crate::ring_cfg::RingWrite;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::bar::QueueBell;
use ferroce_rtl::desc::tx::Consumed;
use ferroce_rtl::round_robin4::RoundRobin4;
use ferroce_rtl::stream::StreamIn;

/// Turns that pass without an event behind a doorbell with a push, so that its blocks are copied before another state can be seen: events
/// are then [`PUSH_COPY_CYCLES`] and one more apart. A host can't write pushes faster than that.
const PUSH_TURNS: u64 = (PUSH_COPY_CYCLES.div_ceil(2) - 1) as u64;
const _: () = assert!(2 * (PUSH_TURNS as usize + 1) > PUSH_COPY_CYCLES);

/// Issues one event every two cycles, which is the length of the state loop. Configuration comes first, its writes are far
/// apart; the others take turns, so that none starves and a doorbell flood costs no more than its share.
#[derive(LogicBlock, Module, Default)]
pub struct WqeEvents {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Configuration; writes are far apart.
    pub ring: Signal<In, RingWrite>,
    /// Bursts that have arrived.
    pub arrived: StreamIn<BurstDone>,
    /// Bursts may arrive and pushes be taken: the kick that follows has a place.
    pub kick_open: Signal<In, Bit>,
    /// Owners' positions.
    pub position: StreamIn<Consumed>,
    /// Doorbells.
    pub bell: StreamIn<QueueBell>,
    /// QPs that wait for their turn to fetch.
    pub hungry: StreamIn<Bits<14>>,
    /// A fetch may be issued: it has a tag and a place.
    pub fetch_open: Signal<In, Bit>,
    /// An event in this cycle.
    pub valid: Signal<Out, Bit>,
    /// The event.
    pub event: Signal<Out, WqeEvent>,
    robin: RoundRobin4,
    /// Every other cycle.
    turn: DFF<Bit>,
    /// Turns that are still to pass.
    rest: DFF<Bits<2>>,
    /// An event may be issued.
    may: Signal<Local, Bit>,
    bell_open: Signal<Local, Bit>,
    configure: DFF<Bit>,
    configure_qp: DFF<Bits<14>>,
    configure_enabled: DFF<Bit>,
    event_valid: DFF<Bit>,
    next: DFF<WqeEvent>,
}

impl Logic for WqeEvents {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            turn,
            rest,
            configure,
            configure_qp,
            configure_enabled,
            event_valid,
            next
        );
        clock!(self, clock, robin);
        self.turn.d.next = !self.turn.q.val();
        self.may.next = self.turn.q.val() & !self.rest.q.val().any();
        self.valid.next = self.event_valid.q.val();
        self.event.next = self.next.q.val();
        if self.turn.q.val() & self.rest.q.val().any() {
            self.rest.d.next = self.rest.q.val() - 1;
        }
        if self.event_valid.q.val()
            & (self.next.q.val().kind == EventKind::Doorbell)
            & self.next.q.val().count.any()
        {
            self.rest.d.next = PUSH_TURNS.into();
        }

        self.bell_open.next = self.kick_open.val() | !self.bell.data.val().pushed.any();
        self.robin.valid.next =
            bit_cast::<4, 1>((self.arrived.valid.val() & self.kick_open.val()).into())
                | (bit_cast::<4, 1>(self.position.valid.val().into()) << 1)
                | (bit_cast::<4, 1>((self.bell.valid.val() & self.bell_open.val()).into()) << 2)
                | (bit_cast::<4, 1>((self.hungry.valid.val() & self.fetch_open.val()).into()) << 3);
        self.robin.last.next = 15.into();
        self.robin.space.next = self.may.val() & !self.configure.q.val();
        self.arrived.ready.next = self.robin.ready.val().get_bit(0) & self.kick_open.val();
        self.position.ready.next = self.robin.ready.val().get_bit(1);
        self.bell.ready.next = self.robin.ready.val().get_bit(2) & self.bell_open.val();
        self.hungry.ready.next = self.robin.ready.val().get_bit(3) & self.fetch_open.val();

        self.event_valid.d.next =
            self.may.val() & (self.configure.q.val() | self.robin.select_valid.val());
        self.next.d.next.index = 0.into();
        self.next.d.next.count = self.arrived.data.val().count;
        self.next.d.next.flag = self.arrived.data.val().err;
        self.next.d.next.place = self.bell.data.val().place;
        if self.configure.q.val() {
            self.next.d.next.kind = EventKind::Configure;
            self.next.d.next.qp = self.configure_qp.q.val();
            self.next.d.next.flag = self.configure_enabled.q.val();
        } else if self.robin.select.val() == 0 {
            self.next.d.next.kind = EventKind::Arrived;
            self.next.d.next.qp = self.arrived.data.val().qp;
        } else if self.robin.select.val() == 1 {
            self.next.d.next.kind = EventKind::Position;
            self.next.d.next.qp = self.position.data.val().qp;
            self.next.d.next.index = self.position.data.val().wqe;
        } else if self.robin.select.val() == 2 {
            self.next.d.next.kind = EventKind::Doorbell;
            self.next.d.next.qp = self.bell.data.val().qp;
            self.next.d.next.index = self.bell.data.val().producer;
            self.next.d.next.count = bit_cast::<7, 3>(self.bell.data.val().pushed);
        } else {
            self.next.d.next.kind = EventKind::Fetch;
            self.next.d.next.qp = self.hungry.data.val();
        }

        if self.may.val() {
            self.configure.d.next = false;
        }
        if self.ring.val().valid {
            self.configure.d.next = true;
            self.configure_qp.d.next = self.ring.val().index;
            self.configure_enabled.d.next = self.ring.val().enabled;
        }
    }
}

ferroce_emit::register_leaf!("wqe_events", WqeEvents::default);
