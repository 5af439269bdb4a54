//! Synchroniser of single bits and Gray-coded counters.

use ferroce_emit::prelude::*;

/// Two flip-flops that bring an asynchronous value into a clock domain. Every bit is synchronised on its
/// own, so of a value with several bits at most one may change at a time (Gray code). `d` must
/// come straight from a register of the other domain. Latency 2.
#[derive(LogicBlock, Module, Default)]
pub struct Sync2<T: Synth> {
    /// Clock of the destination domain.
    pub clock: Signal<In, Clock>,
    /// Asynchronous value.
    pub d: Signal<In, T>,
    /// The value in the domain of `clock`.
    pub q: Signal<Out, T>,
    _first: T,
}

impl<T: Synth> Logic for Sync2<T> {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            self.q.next = self._first;
            self._first = self.d.val();
        }
    }

    fn connect(&mut self) {
        self.q.connect();
    }

    fn hdl(&self) -> Verilog {
        Verilog::Custom(format!(
            "\
(* ASYNC_REG = \"TRUE\" *)
reg [{high}:0] first;
(* ASYNC_REG = \"TRUE\" *)
reg [{high}:0] second;

initial begin
   first = {width}'d0;
   second = {width}'d0;
end

always @(posedge clock) begin
   first <= d;
   second <= first;
end

assign q = second;
",
            high = T::BITS - 1,
            width = T::BITS,
        ))
    }

    fn timing(&self) -> Vec<TimingInfo> {
        type_tag::<Self>()
    }
}

ferroce_emit::register_leaf!("sync2", Sync2::<Bits<5>>::default);
