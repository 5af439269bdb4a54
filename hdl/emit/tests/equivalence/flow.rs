//! Order of statements, loops and arrays.

use ferroce_emit::prelude::*;
use ferroce_emit::register_leaf;

/// A temporary that has several values during one pass.
#[derive(LogicBlock, Module, Default)]
struct Reused {
    pub a: Signal<In, Bits<8>>,
    pub b: Signal<In, Bits<8>>,
    pub early: Signal<Out, Bits<8>>,
    pub late: Signal<Out, Bits<8>>,
    pub running: Signal<Out, Bits<8>>,
    pub chained: Signal<Out, Bits<8>>,
    temporary: Signal<Local, Bits<8>>,
    sum: Signal<Local, Bits<8>>,
}

impl Logic for Reused {
    #[kernel]
    fn update(&mut self) {
        self.temporary.next = self.a.val();
        self.early.next = self.temporary.val() + 1;
        if self.b.val() > self.a.val() {
            self.temporary.next = self.b.val();
        }
        self.late.next = self.temporary.val() + 2;
        self.sum.next = 0.into();
        for i in 0..8 {
            if self.a.val().get_bit(i) {
                self.sum.next = self.sum.val() + self.b.val() + 1;
            }
        }
        self.running.next = self.sum.val();
        self.chained.next = self.running.val() ^ self.late.val();
    }
}
register_leaf!("reused", Reused::default);

/// A stage of a pipeline.
#[derive(LogicBlock, Module, Default)]
struct Stage {
    pub clock: Signal<In, Clock>,
    pub input: Signal<In, Bits<8>>,
    pub output: Signal<Out, Bits<8>>,
    held: DFF<Bits<8>>,
}

impl Logic for Stage {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, held);
        self.held.d.next = self.input.val() + 1;
        self.output.next = self.held.q.val();
    }
}
register_leaf!("stage", Stage::default);

const STAGES: usize = 4;

/// Arrays of sub-blocks, registers and ports, wired in loops.
#[derive(LogicBlock, Module, Default)]
struct Chain {
    pub clock: Signal<In, Clock>,
    pub lanes: [Signal<In, Bits<8>>; STAGES],
    pub out: [Signal<Out, Bits<8>>; STAGES],
    pub total: Signal<Out, Bits<64>>,
    stages: [Stage; STAGES],
    saved: [DFF<Bits<8>>; STAGES],
    collected: Signal<Local, Bits<64>>,
}

impl Logic for Chain {
    #[kernel]
    fn update(&mut self) {
        for i in 0..STAGES {
            self.stages[i].clock.next = self.clock.val();
            self.saved[i].clock.next = self.clock.val();
            self.saved[i].d.next = self.saved[i].q.val();
        }
        self.stages[0].input.next = self.lanes[0].val();
        for i in 1..STAGES {
            self.stages[i].input.next = self.stages[i - 1].output.val() ^ self.lanes[i].val();
        }
        self.collected.next = 0.into();
        for i in 0..STAGES {
            if self.lanes[i].val().get_bit(i) {
                self.saved[i].d.next = self.stages[i].output.val();
            }
            self.out[i].next = self.saved[i].q.val();
            self.collected.next = self.collected.val() << 8
                | bit_cast::<64, 8>(self.saved[STAGES - 1 - i].q.val() + i.to_bits());
        }
        self.total.next = self.collected.val();
    }
}
register_leaf!("chain", Chain::default);

/// A parent that passes inputs through children that answer in the same cycle:
/// one `always` block for the kernel would be a loop.
#[derive(LogicBlock, Module, Default)]
struct Through {
    pub a: Signal<In, Bits<8>>,
    pub b: Signal<In, Bits<8>>,
    pub y: Signal<Out, Bits<8>>,
    pub same: Signal<Out, Bits<8>>,
    pub third: Signal<Out, Bits<8>>,
    first: Reused,
    second: Reused,
}

impl Logic for Through {
    #[kernel]
    fn update(&mut self) {
        self.first.a.next = 0.into();
        self.second.a.next = 0.into();
        self.first.b.next = self.b.val();
        self.second.b.next = self.first.late.val();
        self.y.next = self.second.chained.val();
        self.same.next = self.second.chained.val();
        self.third.next = self.first.b.val() ^ self.y.val() + 1;
        if self.b.val().any() {
            self.first.a.next = self.a.val();
            self.second.a.next = self.first.running.val() & self.first.early.val();
        }
    }
}
register_leaf!("through", Through::default);

/// Kernels made by rust-hdl's own macro work, too.
#[derive(LogicBlock, Module, Default)]
struct Foreign {
    pub clock: Signal<In, Clock>,
    pub inputs: [Signal<In, Bits<8>>; 3],
    pub y: Signal<Out, Bits<8>>,
    pub armed: Signal<Out, Bit>,
    stages: [Stage; 3],
    mode: DFF<Mode>,
}

#[derive(LogicState, Copy, Clone, Debug, PartialEq)]
enum Mode {
    Cold,
    Warm,
    Hot,
}

impl Logic for Foreign {
    #[hdl_gen]
    fn update(&mut self) {
        dff_setup!(self, clock, mode);
        for i in 0..3 {
            self.stages[i].clock.next = self.clock.val();
            self.stages[i].input.next = self.inputs[i].val();
        }
        self.y.next = self.stages[0].output.val() + self.stages[2].output.val() + 1;
        self.armed.next = false;
        match self.mode.q.val() {
            Mode::Cold => self.mode.d.next = Mode::Warm,
            Mode::Warm => {
                if self.stages[1].output.val() > 100 {
                    self.mode.d.next = Mode::Hot;
                }
            }
            Mode::Hot => {
                self.armed.next = true;
                self.mode.d.next = Mode::Cold;
            }
        }
    }
}
register_leaf!("foreign", Foreign::default);
