//! Values as bits: the packing shared by Verilog ports and Rust types.
//!
//! Bit 0 of word 0 is the least significant bit, words are little-endian, and
//! the first field of a `LogicStruct` is the least significant one.

use rust_hdl::prelude::{Bits, Clock, Synth};

/// Reads bits from 32-bit words, least significant first; reading past the
/// end gives zeros.
#[derive(Debug, Clone)]
pub struct BitReader<'a> {
    words: &'a [u32],
    position: usize,
}

impl<'a> BitReader<'a> {
    /// Starts at bit 0 of `words`.
    #[must_use]
    pub fn new(words: &'a [u32]) -> Self {
        Self { words, position: 0 }
    }

    /// Takes the next `width` bits, at most 32.
    ///
    /// # Panics
    /// If `width` is above 32.
    pub fn take_u32(&mut self, width: usize) -> u32 {
        assert!(width <= 32, "{width} bits don't fit in a u32");
        let (word, shift) = (self.position / 32, self.position % 32);
        self.position += width;
        let low = u64::from(self.words.get(word).copied().unwrap_or(0));
        let high = u64::from(self.words.get(word + 1).copied().unwrap_or(0));
        let value = (low | high << 32) >> shift;
        (value & ((1u64 << width) - 1)) as u32
    }
}

/// Collects bits into 32-bit words, least significant first.
#[derive(Debug, Clone, Default)]
pub struct BitWriter {
    words: Vec<u32>,
    length: usize,
}

impl BitWriter {
    /// Appends the low `width` bits of `value`.
    ///
    /// # Panics
    /// If `width` is above 32.
    pub fn push_u32(&mut self, value: u32, width: usize) {
        assert!(width <= 32, "{width} bits don't fit in a u32");
        let value = u64::from(value) & ((1u64 << width) - 1);
        let (word, shift) = (self.length / 32, self.length % 32);
        self.length += width;
        self.words.resize(self.length.div_ceil(32), 0);
        let shifted = value << shift;
        if let Some(low) = self.words.get_mut(word) {
            *low |= shifted as u32;
        }
        if let Some(high) = self.words.get_mut(word + 1) {
            *high |= (shifted >> 32) as u32;
        }
    }

    /// Number of bits written.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether nothing was written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The words; unused high bits of the last one are 0.
    #[must_use]
    pub fn into_words(self) -> Vec<u32> {
        self.words
    }
}

/// A hardware value that can be built from its bits and back.
///
/// Derive it beside `LogicStruct` or `LogicState`; `Bits`, `bool` and `Clock`
/// have it.
pub trait FromBits: Synth {
    /// Takes `Self::BITS` bits.
    fn from_bits(source: &mut BitReader<'_>) -> Self;
    /// Appends `Self::BITS` bits.
    fn write_bits(&self, sink: &mut BitWriter);
}

impl FromBits for bool {
    fn from_bits(source: &mut BitReader<'_>) -> Self {
        source.take_u32(1) != 0
    }
    fn write_bits(&self, sink: &mut BitWriter) {
        sink.push_u32(u32::from(*self), 1);
    }
}

impl FromBits for Clock {
    fn from_bits(source: &mut BitReader<'_>) -> Self {
        bool::from_bits(source).into()
    }
    fn write_bits(&self, sink: &mut BitWriter) {
        self.clk.write_bits(sink);
    }
}

impl<const N: usize> FromBits for Bits<N> {
    fn from_bits(source: &mut BitReader<'_>) -> Self {
        if N <= 32 {
            return u64::from(source.take_u32(N)).into();
        }
        let mut bits = [false; N];
        for chunk in bits.chunks_mut(32) {
            let word = source.take_u32(chunk.len());
            for (index, bit) in chunk.iter_mut().enumerate() {
                *bit = word >> index & 1 != 0;
            }
        }
        Bits::Long(bits.into())
    }

    fn write_bits(&self, sink: &mut BitWriter) {
        if let Bits::Short(short) = self {
            sink.push_u32(short.short(), N);
            return;
        }
        for start in (0..N).step_by(32) {
            let width = (N - start).min(32);
            let word = (0..width).fold(0u32, |word, index| {
                word | u32::from(self.get_bit(start + index)) << index
            });
            sink.push_u32(word, width);
        }
    }
}

/// The value's bits as little-endian words, as a Verilated port holds them.
#[must_use]
pub fn pack<T: FromBits>(value: &T) -> Vec<u32> {
    let mut sink = BitWriter::default();
    value.write_bits(&mut sink);
    sink.into_words()
}

/// The value in `words` (see [`pack`]); missing words read as 0.
#[must_use]
pub fn unpack<T: FromBits>(words: &[u32]) -> T {
    T::from_bits(&mut BitReader::new(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_cross_boundaries() {
        let mut sink = BitWriter::default();
        sink.push_u32(0x1_FFFF, 17);
        sink.push_u32(0xDEAD_BEEF, 32);
        sink.push_u32(0, 0);
        sink.push_u32(5, 3);
        assert_eq!(sink.len(), 52);
        let words = sink.into_words();
        let mut source = BitReader::new(&words);
        assert_eq!(source.take_u32(17), 0x1_FFFF);
        assert_eq!(source.take_u32(32), 0xDEAD_BEEF);
        assert_eq!(source.take_u32(0), 0);
        assert_eq!(source.take_u32(3), 5);
        assert_eq!(source.take_u32(32), 0);
    }

    #[test]
    fn wide_values_keep_every_bit() {
        let mut value = Bits::<513>::default();
        for index in [0, 31, 32, 63, 200, 511, 512] {
            value = value.replace_bit(index, true);
        }
        let words = pack(&value);
        assert_eq!(words.len(), 17);
        assert_eq!(words[0], 0x8000_0001);
        assert_eq!(words[16], 1);
        assert_eq!(unpack::<Bits<513>>(&words), value);
        assert_eq!(pack(&unpack::<Bits<32>>(&[0xFFFF_FFFF])), [0xFFFF_FFFF]);
    }
}
