//! Keeps the newest doorbell of each queue until it can be handled.

use ferroce_emit::prelude::*;
use ferroce_rtl::ram::Ram;
use ferroce_rtl::stream::{StreamIn, StreamOut};
use ferroce_rtl::sync_fifo::SyncFifo;

/// A doorbell of a queue, or what waits like one.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct KeptBell {
    /// CQ, EQ or QP index.
    pub queue: Bits<14>,
    /// EQE kind of an event of a QP.
    pub kind: Bits<8>,
    /// Stays set until the bell is handed on.
    pub sticky: Bit,
}

/// What is kept of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct KeptState {
    /// The queue is in the ring.
    pub queued: Bit,
    /// It has a bell.
    pub rung: Bit,
    /// One of its bells was sticky.
    pub sticky: Bit,
    /// Kind of the newest one.
    pub kind: Bits<8>,
}

/// Steps of one access to a queue's state.
#[derive(Clone, Copy, Debug, PartialEq, LogicState, FromBits)]
pub enum KeepPhase {
    /// Chooses a queue.
    Idle,
    /// Its state is read.
    Read,
    /// It comes in the next cycle.
    Wait,
    /// It is here and is written anew.
    Decide,
}

/// Takes a doorbell within eight cycles, however long nobody takes `kept`: a bell replaces the one of the same queue that waits, whose
/// `sticky` it inherits. So the host's posted writes never wait for the card's. A queue is in the ring at most once, and the ring has a place for each.
#[derive(LogicBlock, Module, Default)]
pub struct BellKeeper {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Doorbells.
    pub bell: StreamIn<KeptBell>,
    /// A queue is made anew or taken away: its bell is forgotten. At least 16 cycles apart.
    pub forget: Signal<In, Bit>,
    /// That queue.
    pub forget_queue: Signal<In, Bits<14>>,
    /// Bells, one queue after the other; one that is forgotten is taken back.
    pub kept: StreamOut<KeptBell>,
    states: Ram<KeptState>,
    ring: SyncFifo<Bits<14>>,
    phase: DFF<KeepPhase>,
    forget_due: DFF<Bit>,
    forgotten: DFF<Bits<14>>,
    for_forget: DFF<Bit>,
    for_bell: DFF<Bit>,
    /// The last access was for a bell: the ring's turn.
    bell_last: DFF<Bit>,
    item: DFF<KeptBell>,
    out_valid: DFF<Bit>,
    out: DFF<KeptBell>,
    idle: Signal<Local, Bit>,
    takes: Signal<Local, Bit>,
    take_bell: Signal<Local, Bit>,
    take_ring: Signal<Local, Bit>,
    decides: Signal<Local, Bit>,
    stale: Signal<Local, Bit>,
}

impl BellKeeper {
    /// For `2^queues_log2` queues.
    ///
    /// # Panics
    /// If `queues_log2` is not 1 to 14.
    #[must_use]
    pub fn new(queues_log2: usize) -> Self {
        assert!((1..=14).contains(&queues_log2), "2^{queues_log2} queues");
        Self {
            states: Ram::new(queues_log2),
            // A place for every queue.
            ring: SyncFifo::new(queues_log2),
            ..Self::default()
        }
    }
}

impl Logic for BellKeeper {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self, clock, phase, forget_due, forgotten, for_forget, for_bell, bell_last, item,
            out_valid, out
        );
        clock!(self, clock, states, ring);

        // What is next: a queue to forget, else bells and the ring in turn.
        self.idle.next = (self.phase.q.val() == KeepPhase::Idle) & !self.forget_due.q.val();
        self.takes.next = self.ring.output.valid.val() & !self.out_valid.q.val();
        self.take_bell.next = self.idle.val() & !(self.bell_last.q.val() & self.takes.val());
        self.take_ring.next = self.idle.val()
            & !self.out_valid.q.val()
            & (self.bell_last.q.val() | !self.bell.valid.val());
        self.bell.ready.next = self.take_bell.val();
        self.ring.output.ready.next = self.take_ring.val();
        if self.phase.q.val() == KeepPhase::Idle {
            self.for_forget.d.next = self.forget_due.q.val();
            self.for_bell.d.next = self.take_bell.val() & self.bell.valid.val();
            self.item.d.next = self.bell.data.val();
            if self.forget_due.q.val() {
                self.item.d.next.queue = self.forgotten.q.val();
            } else if self.bell.valid.val() & self.take_bell.val() {
                self.bell_last.d.next = true;
            } else {
                self.item.d.next.queue = self.ring.output.data.val();
                self.bell_last.d.next = false;
            }
        }

        // The state's way there and back.
        self.states.rd_addr.next = bit_cast::<20, 14>(self.item.q.val().queue);
        self.decides.next = self.phase.q.val() == KeepPhase::Decide;
        self.states.wr_valid.next = self.decides.val();
        self.states.wr_addr.next = bit_cast::<20, 14>(self.item.q.val().queue);
        self.states.wr_data.next.queued = self.states.rd_data.val().queued;
        self.states.wr_data.next.rung = false;
        self.states.wr_data.next.sticky = false;
        self.states.wr_data.next.kind = self.item.q.val().kind;
        if self.for_bell.q.val() {
            self.states.wr_data.next.queued = true;
            self.states.wr_data.next.rung = true;
            self.states.wr_data.next.sticky =
                self.item.q.val().sticky | self.states.rd_data.val().sticky;
        } else if !self.for_forget.q.val() {
            self.states.wr_data.next.queued = false;
        }
        self.ring.input.data.next = self.item.q.val().queue;
        self.ring.input.valid.next =
            self.decides.val() & self.for_bell.q.val() & !self.states.rd_data.val().queued;

        self.stale.next =
            self.forget_due.q.val() & (self.forgotten.q.val() == self.item.q.val().queue);
        if self.kept.ready.val() {
            self.out_valid.d.next = false;
        }
        if self.forget_due.q.val() & (self.forgotten.q.val() == self.out.q.val().queue) {
            self.out_valid.d.next = false;
        }
        match self.phase.q.val() {
            KeepPhase::Idle => {
                if self.forget_due.q.val()
                    | self.bell.valid.val()
                    | (self.ring.output.valid.val() & self.take_ring.val())
                {
                    self.phase.d.next = KeepPhase::Read;
                }
            }
            KeepPhase::Read => {
                self.phase.d.next = KeepPhase::Wait;
            }
            KeepPhase::Wait => {
                self.phase.d.next = KeepPhase::Decide;
            }
            // Decide.
            _ => {
                self.phase.d.next = KeepPhase::Idle;
                if self.for_forget.q.val() {
                    self.forget_due.d.next = false;
                } else if !self.for_bell.q.val() {
                    self.out_valid.d.next = self.states.rd_data.val().rung & !self.stale.val();
                    self.out.d.next.queue = self.item.q.val().queue;
                    self.out.d.next.kind = self.states.rd_data.val().kind;
                    self.out.d.next.sticky = self.states.rd_data.val().sticky;
                }
            }
        }
        if self.forget.val() {
            self.forget_due.d.next = true;
            self.forgotten.d.next = self.forget_queue.val();
        }
        self.kept.valid.next = self.out_valid.q.val();
        self.kept.data.next = self.out.q.val();
    }
}

ferroce_emit::register_leaf!("bell_keeper", || BellKeeper::new(3));
