//! Interfaces: alone, in arrays, nested; joined and linked.

use ferroce_emit::prelude::*;
use ferroce_emit::register_leaf;

#[derive(LogicInterface, Module, Default)]
#[join = "StreamIn"]
struct StreamOut<T: Synth> {
    pub data: Signal<Out, T>,
    pub valid: Signal<Out, Bit>,
    pub ready: Signal<In, Bit>,
}

#[derive(LogicInterface, Module, Default)]
#[join = "StreamOut"]
struct StreamIn<T: Synth> {
    pub data: Signal<In, T>,
    pub valid: Signal<In, Bit>,
    pub ready: Signal<Out, Bit>,
}

/// Two streams, one each way.
#[derive(LogicInterface, Module, Default)]
#[join = "PairSlave"]
struct PairMaster<T: Synth> {
    pub forward: StreamOut<T>,
    pub back: StreamIn<T>,
}

#[derive(LogicInterface, Module, Default)]
#[join = "PairMaster"]
struct PairSlave<T: Synth> {
    pub forward: StreamIn<T>,
    pub back: StreamOut<T>,
}

/// A register stage whose `ready` is a register, too.
#[derive(LogicBlock, Module, Default)]
struct Skid<T: Synth> {
    pub clock: Signal<In, Clock>,
    pub from: StreamIn<T>,
    pub to: StreamOut<T>,
    front: DFF<T>,
    front_valid: DFF<Bit>,
    spare: DFF<T>,
    spare_valid: DFF<Bit>,
    advance: Signal<Local, Bit>,
}

impl<T: Synth> Logic for Skid<T> {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, front, front_valid, spare, spare_valid);
        self.advance.next = self.to.ready.val() | !self.front_valid.q.val();
        self.from.ready.next = !self.spare_valid.q.val();
        self.to.data.next = self.front.q.val();
        self.to.valid.next = self.front_valid.q.val();
        if self.advance.val() {
            self.front.d.next = self.from.data.val();
            self.front_valid.d.next = self.from.valid.val() & !self.spare_valid.q.val();
            if self.spare_valid.q.val() {
                self.front.d.next = self.spare.q.val();
                self.front_valid.d.next = true;
                self.spare_valid.d.next = false;
            }
        } else if self.from.valid.val() & !self.spare_valid.q.val() {
            self.spare.d.next = self.from.data.val();
            self.spare_valid.d.next = true;
        }
    }
}
register_leaf!("skid_512", Skid::<Bits<512>>::default);
register_leaf!("skid_8", Skid::<Bits<8>>::default);

const LANES: usize = 3;

/// Arrays of streams through arrays of blocks.
#[derive(LogicBlock, Module, Default)]
struct Lanes {
    pub clock: Signal<In, Clock>,
    pub from: [StreamIn<Bits<8>>; LANES],
    pub to: [StreamOut<Bits<8>>; LANES],
    first: [Skid<Bits<8>>; LANES],
    second: [Skid<Bits<8>>; LANES],
}

impl Logic for Lanes {
    #[kernel]
    fn update(&mut self) {
        for i in 0..LANES {
            self.first[i].clock.next = self.clock.val();
            self.second[i].clock.next = self.clock.val();
            StreamIn::<Bits<8>>::link(&mut self.from[i], &mut self.first[i].from);
            StreamOut::<Bits<8>>::join(&mut self.first[i].to, &mut self.second[LANES - 1 - i].from);
            StreamOut::<Bits<8>>::link(&mut self.to[i], &mut self.second[i].to);
        }
    }
}
register_leaf!("lanes", Lanes::default);

/// One end of a pair of streams: sends back what it gets.
#[derive(LogicBlock, Module, Default)]
struct Echo {
    pub clock: Signal<In, Clock>,
    pub port: PairSlave<Bits<8>>,
    through: Skid<Bits<8>>,
}

impl Logic for Echo {
    #[kernel]
    fn update(&mut self) {
        clock!(self, clock, through);
        StreamIn::<Bits<8>>::link(&mut self.port.forward, &mut self.through.from);
        StreamOut::<Bits<8>>::link(&mut self.port.back, &mut self.through.to);
    }
}
register_leaf!("echo", Echo::default);

/// Names that are words of Verilog, SystemVerilog and C++.
#[derive(LogicBlock, Module, Default)]
struct Words {
    pub priority: Signal<In, Bits<4>>,
    pub packed: Signal<In, Bits<4>>,
    pub int: Signal<In, Bit>,
    pub register: Signal<Out, Bits<4>>,
    pub begin: Signal<Out, Bits<4>>,
    logic: Signal<Local, Bits<4>>,
    always: Signal<Local, Bits<4>>,
}

impl Logic for Words {
    #[kernel]
    fn update(&mut self) {
        self.logic.next = self.priority.val() + self.packed.val();
        self.always.next = self.logic.val();
        if self.int.val() {
            self.always.next = 7.into();
        }
        self.register.next = self.always.val();
        self.begin.next = !self.logic.val();
    }
}
register_leaf!("words", Words::default);

/// Both ends joined through nested interfaces.
#[derive(LogicBlock, Module, Default)]
struct Loopback {
    pub clock: Signal<In, Clock>,
    pub outside: PairSlave<Bits<8>>,
    first: Echo,
    second: Echo,
    here: Sender,
}

/// Forwards a pair of streams through a register each.
#[derive(LogicBlock, Module, Default)]
struct Sender {
    pub clock: Signal<In, Clock>,
    pub outside: PairSlave<Bits<8>>,
    pub inside: PairMaster<Bits<8>>,
    forward: Skid<Bits<8>>,
    back: Skid<Bits<8>>,
}

impl Logic for Sender {
    #[kernel]
    fn update(&mut self) {
        clock!(self, clock, forward, back);
        StreamIn::<Bits<8>>::link(&mut self.outside.forward, &mut self.forward.from);
        StreamOut::<Bits<8>>::link(&mut self.inside.forward, &mut self.forward.to);
        StreamIn::<Bits<8>>::link(&mut self.inside.back, &mut self.back.from);
        StreamOut::<Bits<8>>::link(&mut self.outside.back, &mut self.back.to);
    }
}
register_leaf!("sender", Sender::default);

impl Logic for Loopback {
    #[kernel]
    fn update(&mut self) {
        clock!(self, clock, first, second, here);
        PairSlave::<Bits<8>>::link(&mut self.outside, &mut self.here.outside);
        PairMaster::<Bits<8>>::join(&mut self.here.inside, &mut self.first.port);
        self.second.port.forward.data.next = self.first.port.back.data.val();
        self.second.port.forward.valid.next = self.first.port.back.valid.val();
        self.second.port.back.ready.next = true;
    }
}
register_leaf!("loopback", Loopback::default);
