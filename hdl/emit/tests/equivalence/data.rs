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
    pub inside: Signal<Out, Bits<2>>,
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
        self.inside.next = self.input.val().tail.get_bits::<2>(self.at.val().index());
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

/// Everything that is computed when the hardware is generated.
#[derive(LogicBlock, Module)]
struct Folded {
    pub sums: Signal<Out, Bits<24>>,
    pub differences: Signal<Out, Bits<24>>,
    pub bitwise: Signal<Out, Bits<24>>,
    pub shifts: Signal<Out, Bits<24>>,
    pub parts: Signal<Out, Bits<24>>,
    pub tests: Signal<Out, Bits<16>>,
    pub logic: Signal<Out, Bits<8>>,
    a: Constant<Bits<24>>,
    b: Constant<Bits<24>>,
    p: Constant<Bit>,
    q: Constant<Bit>,
    found: Signal<Local, Bits<16>>,
}

impl Folded {
    fn new(a: u64, b: u64, p: bool, q: bool) -> Self {
        Self {
            sums: Default::default(),
            differences: Default::default(),
            bitwise: Default::default(),
            shifts: Default::default(),
            parts: Default::default(),
            tests: Default::default(),
            logic: Default::default(),
            a: Constant::new(a.into()),
            b: Constant::new(b.into()),
            p: Constant::new(p),
            q: Constant::new(q),
            found: Default::default(),
        }
    }
}

impl Logic for Folded {
    #[kernel]
    fn update(&mut self) {
        self.sums.next = self.a.val() + self.b.val() + 0xFF_FF00;
        self.differences.next = 3 - self.a.val() - self.b.val();
        self.bitwise.next = self.a.val() & self.b.val() | !self.a.val() ^ self.b.val();
        self.shifts.next = self.a.val() << 5 | self.b.val() >> 7 | self.a.val() >> 24;
        self.parts.next = bit_cast::<24, 9>(self.a.val().get_bits::<9>(3))
            | bit_cast::<24, 12>(bit_cast::<12, 24>(self.b.val())) << 10
            | self.a.val().replace_bit(23, self.p.val());
        self.found.next = 0.into();
        if self.a.val() == self.b.val() {
            self.found.next = self.found.val() | 0x1;
        }
        if self.a.val() != self.b.val() {
            self.found.next = self.found.val() | 0x2;
        }
        if self.a.val() < self.b.val() {
            self.found.next = self.found.val() | 0x4;
        }
        if self.a.val() <= self.b.val() {
            self.found.next = self.found.val() | 0x8;
        }
        if self.a.val() > self.b.val() {
            self.found.next = self.found.val() | 0x10;
        }
        if self.a.val() >= self.b.val() {
            self.found.next = self.found.val() | 0x20;
        }
        if signed_cast(self.a.val()) < signed_cast(self.b.val()) {
            self.found.next = self.found.val() | 0x40;
        }
        if signed_cast(self.a.val()) >= signed_cast(self.b.val()) {
            self.found.next = self.found.val() | 0x80;
        }
        if self.a.val().any() {
            self.found.next = self.found.val() | 0x100;
        }
        if self.a.val().all() {
            self.found.next = self.found.val() | 0x200;
        }
        if self.a.val().xor() {
            self.found.next = self.found.val() | 0x400;
        }
        self.tests.next = self.found.val();
        self.logic.next = 0.into();
        if self.p.val() && self.q.val() {
            self.logic.next = 1.into();
        } else if self.p.val() || self.q.val() {
            self.logic.next = 2.into();
        } else if !self.p.val() {
            self.logic.next = 3.into();
        }
    }
}
register_leaf!("folded_1", || Folded::new(0xFF_FFFF, 1, true, false));
register_leaf!("folded_2", || Folded::new(0, 0, false, false));
register_leaf!("folded_3", || Folded::new(0x12_3456, 0x80_0001, true, true));
register_leaf!("folded_4", || Folded::new(
    0x80_0000, 0x7F_FFFF, false, true
));
