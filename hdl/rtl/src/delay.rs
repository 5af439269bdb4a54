//! Shift register of a run-time number of cycles.

use ferroce_emit::prelude::*;
use std::collections::VecDeque;

/// Delays a value by `n` cycles; the output is zero for the first `n`. It has no enable and no
/// reset, so that a long one becomes SRLs.
#[derive(LogicBlock, Module)]
pub struct Delay<T: Synth> {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Value in.
    pub data_in: Signal<In, T>,
    /// The value of `n` cycles ago.
    pub data_out: Signal<Out, T>,
    /// All stages but the last, which is `data_out`; the newest value is at the back.
    _stages: VecDeque<T>,
}

impl<T: Synth> Delay<T> {
    /// A delay of `cycles`.
    ///
    /// # Panics
    /// If `cycles` is 0.
    #[must_use]
    pub fn new(cycles: usize) -> Self {
        assert!(cycles > 0, "a delay of 0 cycles is a wire");
        Self {
            clock: Signal::default(),
            data_in: Signal::default(),
            data_out: Signal::default(),
            _stages: vec![T::default(); cycles - 1].into(),
        }
    }
}

/// One cycle.
impl<T: Synth> Default for Delay<T> {
    fn default() -> Self {
        Self::new(1)
    }
}

impl<T: Synth> Logic for Delay<T> {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            self._stages.push_back(self.data_in.val());
            if let Some(oldest) = self._stages.pop_front() {
                self.data_out.next = oldest;
            }
        }
    }

    fn connect(&mut self) {
        self.data_out.connect();
    }

    fn hdl(&self) -> Verilog {
        let (high, width) = (T::BITS - 1, T::BITS);
        let stages: Vec<String> = (1..=self._stages.len())
            .map(|index| format!("stage{index}"))
            .collect();
        let declarations: String = stages
            .iter()
            .map(|stage| format!("reg [{high}:0] {stage};\n"))
            .collect();
        let registers: Vec<&str> = stages
            .iter()
            .map(String::as_str)
            .chain(["data_out"])
            .collect();
        let initial: String = registers
            .iter()
            .map(|register| format!("   {register} = {width}'d0;\n"))
            .collect();
        let shift: String = ["data_in"]
            .iter()
            .chain(&registers)
            .zip(&registers)
            .map(|(from, to)| format!("   {to} <= {from};\n"))
            .collect();
        Verilog::Custom(format!(
            "\
{declarations}
initial begin
{initial}end

always @(posedge clock) begin
{shift}end
"
        ))
    }

    fn timing(&self) -> Vec<TimingInfo> {
        type_tag::<Self>()
    }
}

ferroce_emit::register_leaf!("delay", || Delay::<Bits<40>>::new(7));
ferroce_emit::register_leaf!("delay_one", Delay::<Bit>::default);
