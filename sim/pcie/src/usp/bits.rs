//! Beats as typed fields and as packed bits: data 512, keep 16, last 1, then `tuser` in the vendor's order.

use super::BEAT;

/// Where `tuser` begins in a packed beat.
const USER_AT: usize = 512 + 16 + 1;

/// Visits the fields of a `tuser`, lowest bits first, to read or to write them.
pub trait Fields {
    /// The next `width` bits, 1 to 64.
    fn bits(&mut self, value: u64, width: usize) -> u64;

    /// A field of any type.
    fn field<T: Field>(&mut self, value: &mut T, width: usize) {
        *value = T::from_bits(self.bits(value.to_bits(), width));
    }
}

/// A type of field.
pub trait Field: Copy {
    /// From the lowest bits.
    fn from_bits(bits: u64) -> Self;
    /// In the lowest bits.
    fn to_bits(self) -> u64;
}

macro_rules! integer_field {
    ($($type:ty),*) => {$(
        impl Field for $type {
            fn from_bits(bits: u64) -> Self {
                bits as $type
            }
            fn to_bits(self) -> u64 {
                u64::from(self)
            }
        }
    )*};
}
integer_field!(u8, u16, u64);

impl Field for bool {
    fn from_bits(bits: u64) -> Self {
        bits != 0
    }
    fn to_bits(self) -> u64 {
        u64::from(self)
    }
}

/// `tuser` of one of the streams.
pub trait User: Copy + Default {
    /// Its width.
    const BITS: usize;

    /// Visits every field in order.
    fn visit(&mut self, fields: &mut impl Fields);
}

struct Reader<'a> {
    words: &'a [u32],
    at: usize,
}

impl Fields for Reader<'_> {
    fn bits(&mut self, _: u64, width: usize) -> u64 {
        let (word, shift) = (self.at / 32, self.at % 32);
        self.at += width;
        let at = |k: usize| u128::from(self.words.get(word + k).copied().unwrap_or(0));
        let value = at(0) | at(1) << 32 | at(2) << 64;
        (value >> shift) as u64 & (u64::MAX >> (64 - width))
    }
}

struct Writer<'a> {
    words: &'a mut [u32],
    at: usize,
}

impl Fields for Writer<'_> {
    fn bits(&mut self, value: u64, width: usize) -> u64 {
        let (word, shift) = (self.at / 32, self.at % 32);
        self.at += width;
        let bits = u128::from(value & (u64::MAX >> (64 - width))) << shift;
        for k in 0..3 {
            if let Some(w) = self.words.get_mut(word + k) {
                *w |= (bits >> (32 * k)) as u32;
            }
        }
        value
    }
}

/// A beat of one of the streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AxisBeat<U> {
    /// `tdata`, byte `k` in bits `8k+7:8k`.
    pub data: [u8; BEAT],
    /// `tkeep`, a bit a doubleword.
    pub keep: u16,
    /// `tlast`.
    pub last: bool,
    /// `tuser`.
    pub user: U,
}

impl<U: User> Default for AxisBeat<U> {
    fn default() -> Self {
        Self {
            data: [0; BEAT],
            keep: 0,
            last: false,
            user: U::default(),
        }
    }
}

impl<U: User> AxisBeat<U> {
    /// Bits of a packed beat.
    pub const BITS: usize = USER_AT + U::BITS;
    /// 32-bit words of a packed beat.
    pub const WORDS: usize = Self::BITS.div_ceil(32);

    /// Reads a packed beat; words that are missing count as 0.
    pub fn unpack(words: &[u32]) -> Self {
        let mut beat = Self::default();
        for (bytes, word) in beat.data.chunks_exact_mut(4).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        let mut reader = Reader { words, at: 512 };
        reader.field(&mut beat.keep, 16);
        reader.field(&mut beat.last, 1);
        beat.user.visit(&mut reader);
        beat
    }

    /// Packs the beat into at least [`Self::WORDS`] words, which are overwritten.
    pub fn pack(&self, words: &mut [u32]) {
        words.fill(0);
        for (bytes, word) in self.data.chunks_exact(4).zip(words.iter_mut()) {
            *word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        let mut writer = Writer { words, at: 512 };
        let mut beat = *self;
        writer.field(&mut beat.keep, 16);
        writer.field(&mut beat.last, 1);
        beat.user.visit(&mut writer);
    }

    /// The packed beat.
    pub fn to_words(&self) -> Vec<u32> {
        let mut words = vec![0; Self::WORDS];
        self.pack(&mut words);
        words
    }
}
