//! Small RAM with an asynchronous read.

use crate::memory::{Memory, ADDR_BITS};
use crate::ram_style::RamStyle;
use ferroce_emit::prelude::*;

/// LUT RAM: writes on the clock, reads in the same cycle. A write of this cycle is read from the next
/// cycle on. All words are zero at the start; address bits above the depth are ignored.
#[derive(LogicBlock, Module)]
pub struct Lutram<T: Synth> {
    /// Clock of the write port.
    pub clock: Signal<In, Clock>,
    /// Write in this cycle.
    pub wr_valid: Signal<In, Bit>,
    /// Word to write.
    pub wr_addr: Signal<In, Bits<ADDR_BITS>>,
    /// Its new value.
    pub wr_data: Signal<In, T>,
    /// Word to read.
    pub rd_addr: Signal<In, Bits<ADDR_BITS>>,
    /// The word, in the same cycle.
    pub rd_data: Signal<Out, T>,
    _memory: Memory<T>,
}

impl<T: Synth> Lutram<T> {
    /// Deepest one (log2): two levels of LUTs, with the multiplexer behind four LUT RAMs.
    pub const MAX_LOG2_DEPTH: usize = 8;

    /// `2^log2_depth` words.
    ///
    /// # Panics
    /// If `log2_depth` is not 1 to [`Self::MAX_LOG2_DEPTH`].
    #[must_use]
    pub fn new(log2_depth: usize) -> Self {
        assert!(
            log2_depth <= Self::MAX_LOG2_DEPTH,
            "2^{log2_depth} words are too many for an asynchronous read"
        );
        Self {
            clock: Signal::default(),
            wr_valid: Signal::default(),
            wr_addr: Signal::default(),
            wr_data: Signal::default(),
            rd_addr: Signal::default(),
            rd_data: Signal::default(),
            _memory: Memory::new(log2_depth, RamStyle::Distributed),
        }
    }
}

/// 16 words.
impl<T: Synth> Default for Lutram<T> {
    fn default() -> Self {
        Self::new(4)
    }
}

impl<T: Synth> Logic for Lutram<T> {
    fn update(&mut self) {
        if self.clock.pos_edge() && self.wr_valid.val() {
            self._memory.write(self.wr_addr.val(), self.wr_data.val());
        }
        self.rd_data.next = self._memory.read(self.rd_addr.val());
    }

    fn connect(&mut self) {
        self.rd_data.connect();
    }

    fn hdl(&self) -> Verilog {
        Verilog::Custom(format!(
            "\
{declaration}
always @(posedge clock) begin
   if (wr_valid) begin
      {written} <= wr_data;
   end
end

assign rd_data = {read};
",
            declaration = self._memory.declaration(),
            written = self._memory.word("wr_addr"),
            read = self._memory.word("rd_addr"),
        ))
    }

    fn timing(&self) -> Vec<TimingInfo> {
        type_tag::<Self>()
    }
}

ferroce_emit::register_leaf!("lutram", || Lutram::<Bits<9>>::new(3));
