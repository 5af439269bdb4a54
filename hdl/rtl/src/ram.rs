//! Simple dual-port RAM with an output register.

use crate::memory::{Memory, ADDR_BITS};
use crate::ram_style::RamStyle;
use ferroce_emit::prelude::*;

/// Cycles from `rd_addr` to `rd_data`, whatever the style.
pub const RAM_LATENCY: usize = 2;

/// RAM with one write and one read port on one clock. `rd_data` is the word at the `rd_addr` of
/// [`RAM_LATENCY`] cycles ago as it was *before* a write of that same cycle (old data): it includes the writes of all
/// cycles before the one of its address, and of no later ones.
///
/// All words are zero at the start. A RAM of `2^n` words uses the low `n` bits of an address and
/// ignores the others.
#[derive(LogicBlock, Module)]
pub struct Ram<T: Synth> {
    /// Clock of both ports.
    pub clock: Signal<In, Clock>,
    /// Write in this cycle.
    pub wr_valid: Signal<In, Bit>,
    /// Word to write.
    pub wr_addr: Signal<In, Bits<ADDR_BITS>>,
    /// Its new value.
    pub wr_data: Signal<In, T>,
    /// Word to read; every cycle reads.
    pub rd_addr: Signal<In, Bits<ADDR_BITS>>,
    /// The word, two cycles later.
    pub rd_data: Signal<Out, T>,
    _memory: Memory<T>,
    _fetched: T,
}

impl<T: Synth> Ram<T> {
    /// `2^log2_depth` words in the resource that suits them.
    ///
    /// # Panics
    /// If `log2_depth` is not 1 to 20.
    #[must_use]
    pub fn new(log2_depth: usize) -> Self {
        Self::with_style(log2_depth, RamStyle::for_size(log2_depth, T::BITS))
    }

    /// `words` words, in the resource that suits them. Addresses behind the last word read 0 and are not written; of an address
    /// the bits count that `words - 1` needs.
    ///
    /// # Panics
    /// If `words` is not 2 to `2^20`.
    #[must_use]
    pub fn with_words(words: usize) -> Self {
        let log2_depth = words.next_power_of_two().ilog2() as usize;
        let style = RamStyle::for_size(log2_depth, T::BITS);
        Self::with_memory(Memory::with_words(words, style))
    }

    /// `2^log2_depth` words in the given resource.
    ///
    /// # Panics
    /// If `log2_depth` is not 1 to 20.
    #[must_use]
    pub fn with_style(log2_depth: usize, style: RamStyle) -> Self {
        Self::with_memory(Memory::new(log2_depth, style))
    }

    fn with_memory(memory: Memory<T>) -> Self {
        Self {
            clock: Signal::default(),
            wr_valid: Signal::default(),
            wr_addr: Signal::default(),
            wr_data: Signal::default(),
            rd_addr: Signal::default(),
            rd_data: Signal::default(),
            _memory: memory,
            _fetched: T::default(),
        }
    }
}

/// 16 words.
impl<T: Synth> Default for Ram<T> {
    fn default() -> Self {
        Self::new(4)
    }
}

impl<T: Synth> Logic for Ram<T> {
    fn update(&mut self) {
        if self.clock.pos_edge() {
            self.rd_data.next = self._fetched;
            self._fetched = self._memory.read(self.rd_addr.val());
            if self.wr_valid.val() {
                self._memory.write(self.wr_addr.val(), self.wr_data.val());
            }
        }
    }

    fn connect(&mut self) {
        self.rd_data.connect();
    }

    fn hdl(&self) -> Verilog {
        Verilog::Custom(format!(
            "\
{declaration}reg [{high}:0] fetched;

initial begin
   fetched = {width}'d0;
   rd_data = {width}'d0;
end

always @(posedge clock) begin
   if (wr_valid) begin
      {written} <= wr_data;
   end
   fetched <= {read};
   rd_data <= fetched;
end
",
            declaration = self._memory.declaration(),
            high = T::BITS - 1,
            width = T::BITS,
            written = self._memory.word("wr_addr"),
            read = self._memory.word("rd_addr"),
        ))
    }

    fn timing(&self) -> Vec<TimingInfo> {
        type_tag::<Self>()
    }
}

ferroce_emit::register_leaf!("ram", || Ram::<Bits<40>>::with_style(3, RamStyle::Block));
ferroce_emit::register_leaf!("odd_ram", || Ram::<Bits<40>>::with_words(11));
ferroce_emit::register_leaf!("ultra_ram", || Ram::<Bits<72>>::with_style(
    5,
    RamStyle::Ultra
));
