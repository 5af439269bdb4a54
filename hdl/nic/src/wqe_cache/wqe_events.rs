//! Which event the state loop takes next.

use super::desc::{BurstDone, EventKind, WqeEvent, PUSH_COPY_CYCLES};
use crate::ring_cfg::RingWrite;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::bar::QueueBell;
use ferroce_rtl::desc::tx::Consumed;
use ferroce_rtl::round_robin4::RoundRobin4;
use ferroce_rtl::skid::Skid;
use ferroce_rtl::stream::StreamIn;

/// Cycles that pass without an event behind a doorbell with a push, so that its blocks are copied before another state can be seen. A
/// host can't write pushes faster than that.
const PUSH_REST: u64 = PUSH_COPY_CYCLES as u64;
const _: () = assert!(PUSH_REST < 8, "three bits count them");

/// Issues an event a cycle, but one of each QP in two cycles, which is the length of the state loop. Configuration comes first, its writes are far
/// apart; the others take turns, so that none starves and a doorbell flood costs no more than its share. Arrivals and fetches, of which there is
/// one for several messages, come in every other cycle, since places are kept for what they lead to.
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
    chosen: Skid<WqeEvent>,
    /// Every other cycle.
    turn: DFF<Bit>,
    /// Cycles that are still to pass.
    rest: DFF<Bits<3>>,
    /// What was issued in the cycle before.
    last: DFF<Bit>,
    last_qp: DFF<Bits<14>>,
    leave: Signal<Local, Bit>,
    /// A QP may be kicked or fetched for.
    kick_open_now: Signal<Local, Bit>,
    fetch_open_now: Signal<Local, Bit>,
    bell_open: Signal<Local, Bit>,
    configure: DFF<Bit>,
    configure_qp: DFF<Bits<14>>,
    configure_enabled: DFF<Bit>,
    next: Signal<Local, WqeEvent>,
}

impl Logic for WqeEvents {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            turn,
            rest,
            last,
            last_qp,
            configure,
            configure_qp,
            configure_enabled
        );
        clock!(self, clock, robin, chosen);
        self.turn.d.next = !self.turn.q.val();

        // What leaves.
        self.leave.next = self.chosen.output.valid.val()
            & !self.rest.q.val().any()
            & !(self.last.q.val() & (self.last_qp.q.val() == self.chosen.output.data.val().qp));
        self.chosen.output.ready.next = self.leave.val();
        self.last.d.next = self.leave.val();
        self.last_qp.d.next = self.chosen.output.data.val().qp;
        self.valid.next = self.leave.val();
        self.event.next = self.chosen.output.data.val();
        if self.rest.q.val().any() {
            self.rest.d.next = self.rest.q.val() - 1;
        }
        if self.leave.val()
            & (self.chosen.output.data.val().kind == EventKind::Doorbell)
            & self.chosen.output.data.val().count.any()
        {
            self.rest.d.next = PUSH_REST.into();
        }

        // What is next.
        self.kick_open_now.next = self.kick_open.val() & self.turn.q.val();
        self.fetch_open_now.next = self.fetch_open.val() & self.turn.q.val();
        self.bell_open.next = self.kick_open.val() | !self.bell.data.val().pushed.any();
        self.robin.valid.next =
            bit_cast::<4, 1>((self.arrived.valid.val() & self.kick_open_now.val()).into())
                | (bit_cast::<4, 1>(self.position.valid.val().into()) << 1)
                | (bit_cast::<4, 1>((self.bell.valid.val() & self.bell_open.val()).into()) << 2)
                | (bit_cast::<4, 1>((self.hungry.valid.val() & self.fetch_open_now.val()).into())
                    << 3);
        self.robin.last.next = 15.into();
        self.robin.space.next = self.chosen.input.ready.val() & !self.configure.q.val();
        self.arrived.ready.next = self.robin.ready.val().get_bit(0) & self.kick_open_now.val();
        self.position.ready.next = self.robin.ready.val().get_bit(1);
        self.bell.ready.next = self.robin.ready.val().get_bit(2) & self.bell_open.val();
        self.hungry.ready.next = self.robin.ready.val().get_bit(3) & self.fetch_open_now.val();

        self.chosen.input.valid.next = self.configure.q.val() | self.robin.select_valid.val();
        self.next.next = WqeEvent::default();
        self.next.next.count = self.arrived.data.val().count;
        self.next.next.flag = self.arrived.data.val().err;
        self.next.next.place = self.bell.data.val().place;
        if self.configure.q.val() {
            self.next.next.kind = EventKind::Configure;
            self.next.next.qp = self.configure_qp.q.val();
            self.next.next.flag = self.configure_enabled.q.val();
        } else if self.robin.select.val() == 0 {
            self.next.next.kind = EventKind::Arrived;
            self.next.next.qp = self.arrived.data.val().qp;
        } else if self.robin.select.val() == 1 {
            self.next.next.kind = EventKind::Position;
            self.next.next.qp = self.position.data.val().qp;
            self.next.next.index = self.position.data.val().wqe;
        } else if self.robin.select.val() == 2 {
            self.next.next.kind = EventKind::Doorbell;
            self.next.next.qp = self.bell.data.val().qp;
            self.next.next.index = self.bell.data.val().producer;
            self.next.next.count = bit_cast::<7, 3>(self.bell.data.val().pushed);
        } else {
            self.next.next.kind = EventKind::Fetch;
            self.next.next.qp = self.hungry.data.val();
        }

        self.chosen.input.data.next = self.next.val();

        if self.chosen.input.ready.val() {
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
