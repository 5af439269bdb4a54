//! The transmit scheduler: which QP sends the next packet.

use crate::desc::Visit;
use ferroce_emit::prelude::*;
use ferroce_rtl::arb2::Arb2;
use ferroce_rtl::delay::Delay;
use ferroce_rtl::desc::tx::{Kick, VisitDone};
use ferroce_rtl::rmw_ram::{RmwRam, RMW_LATENCY};
use ferroce_rtl::stream::{StreamIn, StreamOut};
use ferroce_rtl::sync_fifo::SyncFifo;

/// Largest ring (log2) in LUT RAM, which costs 256 LUTs then and saves two cycles of latency.
const QUICK_RING_LOG2: usize = 10;

/// Where a QP is.
#[derive(Clone, Copy, Debug, PartialEq, LogicState, FromBits)]
pub enum QpPlace {
    /// Parked: neither in the ring nor visited.
    Idle,
    /// In the ring or being visited.
    Queued,
    /// The same, and kicked since: it gets a further visit whatever the outcome.
    Kicked,
}

/// A kick or the end of a visit.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct SchedEvent {
    /// An event in this cycle.
    pub valid: Bit,
    /// QP index.
    pub qp: Bits<14>,
    /// The end of a visit; else a kick.
    pub done: Bit,
    /// With `done`: the QP wants another visit.
    pub more: Bit,
}

/// Round robin over the QPs that have something to send, in one ring of QP indices. A QP is in the ring at most once, so a ring
/// with a place for every QP never overflows, events are never held back by it, and nothing that waits for
/// visits to end can deadlock. One event a cycle.
#[derive(LogicBlock, Module, Default)]
pub struct TxSched {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Kicks of the SQ WQE cache: WQEs have arrived.
    pub cache_kick: StreamIn<Kick>,
    /// Kicks of the completer: the window has opened.
    pub completer_kick: StreamIn<Kick>,
    /// Kicks of the sender: a rewind was done.
    pub sender_kick: StreamIn<Kick>,
    /// Ends of visits.
    pub done: StreamIn<VisitDone>,
    /// QPs that may send a packet.
    pub visit: StreamOut<Visit>,
    /// Kicks that are answers to the peer or to errors; those of new WQEs join last, for their latency counts.
    later_kicks: Arb2<Kick>,
    kicks: Arb2<Kick>,
    done_turn: DFF<Bit>,
    taken: DFF<SchedEvent>,
    events: Delay<SchedEvent>,
    places: RmwRam<QpPlace>,
    entry: DFF<Visit>,
    entry_valid: DFF<Bit>,
    ring: SyncFifo<Visit>,
    take_done: Signal<Local, Bit>,
    event: Signal<Local, SchedEvent>,
}

impl TxSched {
    /// For `2^log2_qps` QPs.
    ///
    /// # Panics
    /// If `log2_qps` is not 1 to 14.
    #[must_use]
    pub fn new(log2_qps: usize) -> Self {
        Self {
            events: Delay::new(RMW_LATENCY),
            places: RmwRam::new(log2_qps),
            ring: if log2_qps <= QUICK_RING_LOG2 {
                SyncFifo::quick(log2_qps)
            } else {
                SyncFifo::new(log2_qps)
            },
            ..Self::default()
        }
    }
}

impl Logic for TxSched {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, done_turn, taken, entry, entry_valid);
        clock!(self, clock, later_kicks, kicks, events, places, ring);
        StreamIn::<Kick>::link(&mut self.completer_kick, &mut self.later_kicks.in0);
        StreamIn::<Kick>::link(&mut self.sender_kick, &mut self.later_kicks.in1);
        StreamIn::<Kick>::link(&mut self.cache_kick, &mut self.kicks.in0);
        StreamOut::<Kick>::join(&mut self.later_kicks.output, &mut self.kicks.in1);

        // Kicks and ends of visits take turns when both are there.
        self.take_done.next =
            self.done.valid.val() & (self.done_turn.q.val() | !self.kicks.output.valid.val());
        self.done.ready.next = self.done_turn.q.val() | !self.kicks.output.valid.val();
        self.kicks.output.ready.next = !self.take_done.val();
        self.done_turn.d.next = !self.take_done.val();
        self.taken.d.next.valid = self.done.valid.val() | self.kicks.output.valid.val();
        self.taken.d.next.done = self.take_done.val();
        self.taken.d.next.more = self.done.data.val().more;
        self.taken.d.next.qp = self.kicks.output.data.val().qp;
        if self.take_done.val() {
            self.taken.d.next.qp = self.done.data.val().qp;
        }

        self.places.rd_valid.next = self.taken.q.val().valid;
        self.places.rd_addr.next = bit_cast::<20, 14>(self.taken.q.val().qp);
        self.events.data_in.next = self.taken.q.val();

        // The RAM takes the new place in the cycle of the old one, so events of one QP may follow each other.
        self.event.next = self.events.data_out.val();
        self.places.wr_valid.next = self.event.val().valid;
        self.places.wr_addr.next = bit_cast::<20, 14>(self.event.val().qp);
        self.places.wr_data.next = QpPlace::Kicked;
        self.entry.d.next.qp = self.event.val().qp;
        self.entry_valid.d.next = false;
        if self.event.val().done {
            self.places.wr_data.next = QpPlace::Idle;
            if self.event.val().more | (self.places.rd_data.val() == QpPlace::Kicked) {
                self.places.wr_data.next = QpPlace::Queued;
                self.entry_valid.d.next = self.event.val().valid;
            }
        } else if self.places.rd_data.val() == QpPlace::Idle {
            self.places.wr_data.next = QpPlace::Queued;
            self.entry_valid.d.next = self.event.val().valid;
        }

        self.ring.input.data.next = self.entry.q.val();
        self.ring.input.valid.next = self.entry_valid.q.val();
        StreamOut::<Visit>::link(&mut self.visit, &mut self.ring.output);
    }
}

ferroce_emit::register_leaf!("sched", || TxSched::new(4));
