//! Structs, enums and constants.

use ferroce_emit::prelude::*;
use ferroce_emit::register_leaf;

#[derive(LogicState, FromBits, Copy, Clone, Debug, PartialEq)]
enum State {
    Idle,
    Busy,
    Done,
}

#[derive(LogicStruct, FromBits, Default, Copy, Clone, Debug, PartialEq)]
struct Inner {
    low: Bits<3>,
    flag: Bit,
}

#[derive(LogicStruct, FromBits, Default, Copy, Clone, Debug, PartialEq)]
struct Outer {
    data: Bits<40>,
    inner: Inner,
    state: State,
    tail: Bits<9>,
}

const LIMIT: u64 = 37;
const MASK: u64 = 0xFF_0000_00FF;

/// Fields are read, written one by one, nested, and over a default.
#[derive(LogicBlock, Module, Default)]
struct Fields {
    pub input: Signal<In, Outer>,
    pub at: Signal<In, Bits<3>>,
    pub patched: Signal<Out, Outer>,
    pub assembled: Signal<Out, Outer>,
    pub constant: Signal<Out, Inner>,
    pub bits: Signal<Out, Bits<55>>,
    pub low: Signal<Out, Bits<3>>,
    pub picked: Signal<Out, Bits<4>>,
    pub state: Signal<Out, State>,
}

impl Logic for Fields {
    #[kernel]
    fn update(&mut self) {
        self.patched.next = self.input.val();
        if self.input.val().inner.flag {
            self.patched.next.tail = self.input.val().tail + 1;
            self.patched.next.inner.low = !self.input.val().inner.low;
        } else if self.input.val().data == MASK {
            self.patched.next.state = State::Done;
        }
        self.assembled.next.data = self.input.val().data ^ MASK;
        self.assembled.next.state = self.input.val().state;
        self.assembled.next.tail = bit_cast::<9, 40>(self.input.val().data);
        self.assembled.next.inner.low = 5.into();
        self.assembled.next.inner.flag = self.input.val().tail > LIMIT;
        self.constant.next.low = 3.into();
        self.constant.next.flag = true;
        self.bits.next = self.input.val().into();
        self.low.next = self.input.val().inner.low;
        self.picked.next = self.input.val().tail.get_bits::<4>(self.at.val().index());
        self.state.next = self.input.val().state;
    }
}
register_leaf!("fields", Fields::default);

/// A state machine with an encoding that means nothing.
#[derive(LogicBlock, Module, Default)]
struct Machine {
    pub clock: Signal<In, Clock>,
    pub go: Signal<In, Bit>,
    pub stop: Signal<In, Bit>,
    pub state: Signal<Out, State>,
    pub code: Signal<Out, Bits<4>>,
    pub value: Signal<Out, Bits<8>>,
    pub is_idle: Signal<Out, Bit>,
    pub choice: Signal<Out, Bits<8>>,
    now: DFF<State>,
    count: DFF<Bits<8>>,
}

impl Logic for Machine {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, now, count);
        match self.now.q.val() {
            State::Idle => {
                self.count.d.next = 0.into();
                if self.go.val() {
                    self.now.d.next = State::Busy;
                }
            }
            State::Busy => {
                self.count.d.next = self.count.q.val() + 1;
                if self.stop.val() || self.count.q.val() == LIMIT {
                    self.now.d.next = State::Done;
                }
            }
            State::Done => self.now.d.next = State::Idle,
        }
        self.state.next = self.now.q.val();
        self.code.next = match self.now.q.val() {
            State::Idle => 1.into(),
            State::Busy | State::Done => 9.into(),
        };
        self.value.next = if self.go.val() {
            self.count.q.val()
        } else if self.stop.val() {
            LIMIT.into()
        } else {
            Default::default()
        };
        self.is_idle.next = self.now.q.val() == State::Idle;
        self.choice.next = 0.into();
        match self.go.val() {
            true => self.choice.next = self.count.q.val(),
            _ => {}
        }
    }
}
register_leaf!("machine", Machine::default);

/// Parameters of generation decide what hardware there is.
#[derive(LogicBlock, Module)]
struct Parameters {
    pub a: Signal<In, Bits<16>>,
    pub scaled: Signal<Out, Bits<16>>,
    pub over: Signal<Out, Bit>,
    pub fixed: Signal<Out, Bits<16>>,
    pub feature: Signal<Out, Bits<16>>,
    pub reset_state: Signal<Out, State>,
    depth: Constant<Bits<16>>,
    enabled: Constant<Bit>,
}

impl Parameters {
    const OFFSET: u64 = 3;

    fn new(depth: u64, enabled: bool) -> Self {
        Self {
            a: Default::default(),
            scaled: Default::default(),
            over: Default::default(),
            fixed: Default::default(),
            feature: Default::default(),
            reset_state: Default::default(),
            depth: Constant::new(depth.into()),
            enabled: Constant::new(enabled),
        }
    }
}

impl Logic for Parameters {
    #[kernel]
    fn update(&mut self) {
        self.scaled.next = self.a.val() + self.depth.val() + Self::OFFSET;
        self.over.next = self.a.val() >= self.depth.val();
        self.fixed.next = self.depth.val();
        if self.enabled.val() & (self.depth.val() != 0) {
            self.feature.next = self.a.val() & self.depth.val();
        } else {
            self.feature.next = 0xFFFF.into();
        }
        self.reset_state.next = State::Done;
    }
}
register_leaf!("parameters_on", || Parameters::new(1000, true));
register_leaf!("parameters_off", || Parameters::new(7, false));
