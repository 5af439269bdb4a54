//! Round-robin decision among four requesters.

use ferroce_emit::prelude::*;

/// The grant of one shared resource among four streams; it holds no data. The stream after the one that was granted
/// last comes first. A grant stays with its stream until an item with `last` has gone through.
///
/// `ready` of a stream does not depend on its own `valid`. Two LUT levels from `valid` to every
/// output.
#[derive(LogicBlock, Module, Default)]
pub struct RoundRobin4 {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Stream `i` offers an item.
    pub valid: Signal<In, Bits<4>>,
    /// The item of stream `i` ends its frame.
    pub last: Signal<In, Bits<4>>,
    /// The resource takes an item in this cycle.
    pub space: Signal<In, Bit>,
    /// Stream `i` is granted.
    pub ready: Signal<Out, Bits<4>>,
    /// The stream whose item goes through, if any does.
    pub select: Signal<Out, Bits<2>>,
    /// An item of `select` is offered.
    pub select_valid: Signal<Out, Bit>,
    owner: DFF<Bits<2>>,
    locked: DFF<Bit>,
    v0: Signal<Local, Bit>,
    v1: Signal<Local, Bit>,
    v2: Signal<Local, Bit>,
    v3: Signal<Local, Bit>,
    /// Streams that nobody before them in turn holds back.
    turn0: Signal<Local, Bit>,
    turn1: Signal<Local, Bit>,
    turn2: Signal<Local, Bit>,
    turn3: Signal<Local, Bit>,
    turns: Signal<Local, Bits<4>>,
}

impl Logic for RoundRobin4 {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, owner, locked);
        self.v0.next = self.valid.val().get_bit(0);
        self.v1.next = self.valid.val().get_bit(1);
        self.v2.next = self.valid.val().get_bit(2);
        self.v3.next = self.valid.val().get_bit(3);

        // Going back from stream i, each neighbour before it must be idle, up to the owner, which is last in turn.
        self.turn0.next = (self.owner.q.val() == 3)
            | (!self.v3.val()
                & ((self.owner.q.val() == 2)
                    | (!self.v2.val() & ((self.owner.q.val() == 1) | !self.v1.val()))));
        self.turn1.next = (self.owner.q.val() == 0)
            | (!self.v0.val()
                & ((self.owner.q.val() == 3)
                    | (!self.v3.val() & ((self.owner.q.val() == 2) | !self.v2.val()))));
        self.turn2.next = (self.owner.q.val() == 1)
            | (!self.v1.val()
                & ((self.owner.q.val() == 0)
                    | (!self.v0.val() & ((self.owner.q.val() == 3) | !self.v3.val()))));
        self.turn3.next = (self.owner.q.val() == 2)
            | (!self.v2.val()
                & ((self.owner.q.val() == 1)
                    | (!self.v1.val() & ((self.owner.q.val() == 0) | !self.v0.val()))));
        if self.locked.q.val() {
            self.turn0.next = self.owner.q.val() == 0;
            self.turn1.next = self.owner.q.val() == 1;
            self.turn2.next = self.owner.q.val() == 2;
            self.turn3.next = self.owner.q.val() == 3;
        }
        self.turns.next = bit_cast::<4, 1>(self.turn0.val().into())
            | (bit_cast::<4, 1>(self.turn1.val().into()) << 1)
            | (bit_cast::<4, 1>(self.turn2.val().into()) << 2)
            | (bit_cast::<4, 1>(self.turn3.val().into()) << 3);

        self.ready.next = 0.into();
        if self.space.val() {
            self.ready.next = self.turns.val();
        }
        self.select_valid.next = (self.turns.val() & self.valid.val()).any();
        self.select.next = 0.into();
        if self.turn1.val() & self.v1.val() {
            self.select.next = 1.into();
        }
        if self.turn2.val() & self.v2.val() {
            self.select.next = 2.into();
        }
        if self.turn3.val() & self.v3.val() {
            self.select.next = 3.into();
        }
        if self.space.val() & self.select_valid.val() {
            self.owner.d.next = self.select.val();
            self.locked.d.next = (self.turns.val() & self.valid.val() & !self.last.val()).any();
        }
    }
}

ferroce_emit::register_leaf!("round_robin4", RoundRobin4::default);
