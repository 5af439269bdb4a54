//! What the RAM primitives share: address width, contents in Rust, declaration in Verilog.

use crate::ram_style::RamStyle;
use ferroce_emit::prelude::*;

/// Width of every RAM address port. A memory of `2^n` words uses the low `n` bits and ignores the
/// others, so that one port type serves all run-time depths.
pub const ADDR_BITS: usize = 20;

/// Contents of one memory; all words start at `T::default()`, which is zero bits.
#[derive(Clone, Debug)]
pub struct Memory<T: Synth> {
    words: Vec<T>,
    log2_depth: usize,
    style: RamStyle,
}

impl<T: Synth> Memory<T> {
    /// # Panics
    /// If `log2_depth` is 0 or above [`ADDR_BITS`].
    pub fn new(log2_depth: usize, style: RamStyle) -> Self {
        assert!(
            (1..=ADDR_BITS).contains(&log2_depth),
            "a memory has 2^1 to 2^{ADDR_BITS} words, not 2^{log2_depth}"
        );
        Self {
            words: vec![T::default(); 1 << log2_depth],
            log2_depth,
            style,
        }
    }

    /// A memory of any number of words.
    ///
    /// # Panics
    /// If `words` is not 2 to `2^ADDR_BITS`.
    pub fn with_words(words: usize, style: RamStyle) -> Self {
        assert!(words >= 2, "a memory of {words} words");
        let mut memory = Self::new(words.next_power_of_two().ilog2() as usize, style);
        memory.words.truncate(words);
        memory
    }

    /// `None` behind the last word.
    fn index(&self, address: Bits<ADDR_BITS>) -> Option<usize> {
        let index = address.index() & ((1 << self.log2_depth) - 1);
        (index < self.words.len()).then_some(index)
    }

    pub fn read(&self, address: Bits<ADDR_BITS>) -> T {
        self.index(address)
            .map_or_else(T::default, |index| self.words[index])
    }

    pub fn write(&mut self, address: Bits<ADDR_BITS>, word: T) {
        if let Some(index) = self.index(address) {
            self.words[index] = word;
        }
    }

    /// Declares `mem`. Block RAM, UltraRAM and LUT RAM are zero after configuration, which synthesis
    /// need not be told; simulation is.
    pub fn declaration(&self) -> String {
        format!(
            "(* ram_style = \"{style}\" *)
reg [{high}:0] mem [0:{last}];
`ifndef SYNTHESIS
integer word;
initial begin
   for (word = 0; word <= {last}; word = word + 1) begin
      mem[word] = {width}'d0;
   end
end
`endif
",
            style = self.style.attribute(),
            high = T::BITS - 1,
            last = self.words.len() - 1,
            width = T::BITS,
        )
    }

    /// `mem[port]` with the used bits of the address port.
    pub fn word(&self, port: &str) -> String {
        format!("mem[{port}[{}:0]]", self.log2_depth - 1)
    }
}
