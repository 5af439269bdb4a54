//! Clocks, registers and hand-written Verilog.

use ferroce_emit::prelude::*;
use ferroce_emit::register_leaf;

/// A register primitive with a start value.
#[derive(LogicBlock, Module)]
struct Start {
    pub clock: Signal<In, Clock>,
    pub d: Signal<In, Bits<40>>,
    pub q: Signal<Out, Bits<40>>,
    _init: Bits<40>,
}

impl Start {
    fn new(init: u64) -> Self {
        Self {
            clock: Default::default(),
            d: Default::default(),
            q: Signal::new_with_default(init.into()),
            _init: init.into(),
        }
    }
}

impl Logic for Start {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            self.q.next = self.d.val();
        }
    }
    fn connect(&mut self) {
        self.q.connect();
    }
    fn hdl(&self) -> Verilog {
        register_verilog(self._init.verilog())
    }
    fn timing(&self) -> Vec<TimingInfo> {
        register_tag()
    }
}

/// Two clocks, one of them through a sub-block and an output.
#[derive(LogicBlock, Module)]
struct TwoClocks {
    pub fast: Signal<In, Clock>,
    pub slow: Signal<In, Clock>,
    pub fast_out: Signal<Out, Clock>,
    pub a: Signal<In, Bits<40>>,
    pub in_fast: Signal<Out, Bits<40>>,
    pub in_slow: Signal<Out, Bits<40>>,
    pub crossed: Signal<Out, Bits<40>>,
    inner: Inner,
    first: Start,
    second: Start,
    plain: DFF<Bits<40>>,
    counter: DFF<Bits<40>>,
}

impl TwoClocks {
    fn new() -> Self {
        Self {
            fast: Default::default(),
            slow: Default::default(),
            fast_out: Default::default(),
            a: Default::default(),
            in_fast: Default::default(),
            in_slow: Default::default(),
            crossed: Default::default(),
            inner: Default::default(),
            first: Start::new(0xFF_0000_1234),
            second: Start::new(1),
            plain: Default::default(),
            counter: Default::default(),
        }
    }
}

impl Logic for TwoClocks {
    #[kernel]
    fn update(&mut self) {
        clock!(self, fast, first, inner);
        clock!(self, slow, second);
        dff_setup!(self, slow, plain);
        dff_setup!(self, fast, counter);
        self.first.d.next = self.a.val();
        self.second.d.next = self.first.q.val();
        self.plain.d.next = self.second.q.val() ^ self.inner.q.val();
        self.counter.d.next = self.counter.q.val() + 1;
        self.inner.d.next = self.counter.q.val();
        self.fast_out.next = self.inner.clock_out.val();
        self.in_fast.next = self.first.q.val();
        self.in_slow.next = self.second.q.val();
        self.crossed.next = self.plain.q.val();
    }
}
register_leaf!("two_clocks", TwoClocks::new);

#[derive(LogicBlock, Module, Default)]
struct Inner {
    pub clock: Signal<In, Clock>,
    pub clock_out: Signal<Out, Clock>,
    pub d: Signal<In, Bits<40>>,
    pub q: Signal<Out, Bits<40>>,
    held: DFF<Bits<40>>,
}

impl Logic for Inner {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(self, clock, held);
        self.clock_out.next = self.clock.val();
        self.held.d.next = self.d.val();
        self.q.next = self.held.q.val();
    }
}
register_leaf!("inner_clock", Inner::default);

/// A RAM as primitives are written: Rust model, Verilog by hand, a parameter.
#[derive(LogicBlock, Module)]
struct Ram {
    pub clock: Signal<In, Clock>,
    pub write: Signal<In, Bit>,
    pub write_address: Signal<In, Bits<4>>,
    pub write_data: Signal<In, Bits<72>>,
    pub read_address: Signal<In, Bits<4>>,
    pub read_data: Signal<Out, Bits<72>>,
    pub depth: Constant<Bits<5>>,
    _memory: Vec<Bits<72>>,
}

impl Ram {
    fn new(depth: u64) -> Self {
        Self {
            clock: Default::default(),
            write: Default::default(),
            write_address: Default::default(),
            write_data: Default::default(),
            read_address: Default::default(),
            read_data: Default::default(),
            depth: Constant::new(depth.into()),
            _memory: vec![Default::default(); depth as usize],
        }
    }
}

impl Logic for Ram {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            self.read_data.next = self._memory[self.read_address.val().index()];
            if self.write.val() {
                self._memory[self.write_address.val().index()] = self.write_data.val();
            }
        }
    }
    fn connect(&mut self) {
        self.read_data.connect();
    }
    fn hdl(&self) -> Verilog {
        Verilog::Custom(
            "
(* ram_style = \"distributed\" *)
reg [71:0] memory [0:depth - 1];
integer index;
initial begin
    read_data = 72'd0;
    for (index = 0; index < depth; index = index + 1) memory[index] = 72'd0;
end
always @(posedge clock) begin
    read_data <= memory[read_address];
    if (write) memory[write_address] <= write_data;
end"
            .into(),
        )
    }
    fn timing(&self) -> Vec<TimingInfo> {
        type_tag::<Self>()
    }
}
register_leaf!("ram", || Ram::new(16));

/// rust-hdl-widgets' register with a start value, which is a kernel of its own.
#[derive(LogicBlock, Module)]
struct Widget {
    pub clock: Signal<In, Clock>,
    pub d: Signal<In, Bits<8>>,
    pub q: Signal<Out, Bits<8>>,
    held: DFFWithInit<Bits<8>>,
}

impl Logic for Widget {
    #[kernel]
    fn update(&mut self) {
        clock!(self, clock, held);
        self.held.d.next = self.d.val();
        self.q.next = self.held.q.val();
    }
}
register_leaf!("widget", || Widget {
    clock: Default::default(),
    d: Default::default(),
    q: Default::default(),
    held: DFFWithInit::new(0x5A.into()),
});
