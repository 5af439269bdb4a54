//! The memory of a FIFO, on one clock or two.

use crate::memory::{Memory, ADDR_BITS};
use crate::ram_style::RamStyle;
use ferroce_emit::prelude::*;

/// Simple dual-port RAM whose read stages have enables, so that they hold items like the stages of a
/// pipeline. LUT RAM has one read stage, block RAM and UltraRAM have two (their latch and their
/// output register).
///
/// A word that is read in the cycle in which it is written is the old one; across two clocks a FIFO
/// never does that.
#[derive(LogicBlock, Module)]
pub struct FifoRam<T: Synth> {
    /// Clock of the write port.
    pub wr_clock: Signal<In, Clock>,
    /// Write in this cycle.
    pub wr_valid: Signal<In, Bit>,
    /// Word to write.
    pub wr_addr: Signal<In, Bits<ADDR_BITS>>,
    /// Its new value.
    pub wr_data: Signal<In, T>,
    /// Clock of the read port.
    pub rd_clock: Signal<In, Clock>,
    /// The first stage loads the word at `rd_addr`.
    pub rd_en: Signal<In, Bit>,
    /// Word to read.
    pub rd_addr: Signal<In, Bits<ADDR_BITS>>,
    /// With one stage and one clock: that stage loads `wr_data` instead of a word. Without effect with two.
    pub pass: Signal<In, Bit>,
    /// The second stage, if there is one, loads the first.
    pub out_en: Signal<In, Bit>,
    /// The last stage.
    pub rd_data: Signal<Out, T>,
    _memory: Memory<T>,
    _fetched: T,
    _two_stages: bool,
}

impl<T: Synth> FifoRam<T> {
    /// `2^log2_depth` words.
    ///
    /// # Panics
    /// If `log2_depth` is not 1 to 20.
    #[must_use]
    pub fn new(log2_depth: usize, style: RamStyle) -> Self {
        Self {
            wr_clock: Signal::default(),
            wr_valid: Signal::default(),
            wr_addr: Signal::default(),
            wr_data: Signal::default(),
            rd_clock: Signal::default(),
            rd_en: Signal::default(),
            rd_addr: Signal::default(),
            pass: Signal::default(),
            out_en: Signal::default(),
            rd_data: Signal::default(),
            _memory: Memory::new(log2_depth, style),
            _fetched: T::default(),
            _two_stages: Self::has_two_stages(style),
        }
    }

    /// Whether the read port of a RAM of this style has two stages.
    #[must_use]
    pub fn has_two_stages(style: RamStyle) -> bool {
        style != RamStyle::Distributed
    }

    fn read_port(&self) -> String {
        let word = self._memory.word("rd_addr");
        let (high, width) = (T::BITS - 1, T::BITS);
        if self._two_stages {
            format!(
                "\
reg [{high}:0] fetched;

initial begin
   fetched = {width}'d0;
   rd_data = {width}'d0;
end

always @(posedge rd_clock) begin
   if (rd_en) begin
      fetched <= {word};
   end
   if (out_en) begin
      rd_data <= fetched;
   end
end
"
            )
        } else {
            format!(
                "\
initial begin
   rd_data = {width}'d0;
end

always @(posedge rd_clock) begin
   if (rd_en) begin
      rd_data <= pass ? wr_data : {word};
   end
end
"
            )
        }
    }
}

/// 16 words of LUT RAM.
impl<T: Synth> Default for FifoRam<T> {
    fn default() -> Self {
        Self::new(4, RamStyle::Distributed)
    }
}

impl<T: Synth> Logic for FifoRam<T> {
    fn update(&mut self) {
        if self.rd_clock.pos_edge() {
            if self._two_stages {
                if self.out_en.val() {
                    self.rd_data.next = self._fetched;
                }
                if self.rd_en.val() {
                    self._fetched = self._memory.read(self.rd_addr.val());
                }
            } else if self.rd_en.val() && self.pass.val() {
                self.rd_data.next = self.wr_data.val();
            } else if self.rd_en.val() {
                self.rd_data.next = self._memory.read(self.rd_addr.val());
            }
        }
        if self.wr_clock.pos_edge() && self.wr_valid.val() {
            self._memory.write(self.wr_addr.val(), self.wr_data.val());
        }
    }

    fn connect(&mut self) {
        self.rd_data.connect();
    }

    fn hdl(&self) -> Verilog {
        Verilog::Custom(format!(
            "\
{declaration}
always @(posedge wr_clock) begin
   if (wr_valid) begin
      {written} <= wr_data;
   end
end

{read_port}",
            declaration = self._memory.declaration(),
            written = self._memory.word("wr_addr"),
            read_port = self.read_port(),
        ))
    }

    fn timing(&self) -> Vec<TimingInfo> {
        type_tag::<Self>()
    }
}

ferroce_emit::register_leaf!("fifo_ram_one_stage", || FifoRam::<Bits<40>>::new(
    3,
    RamStyle::Distributed
));
ferroce_emit::register_leaf!("fifo_ram_two_stages", || FifoRam::<Bits<40>>::new(
    3,
    RamStyle::Block
));
