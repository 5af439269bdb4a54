//! Fields of table entries: where they are, and how values get in and out.

use super::ENTRY_WORDS;
use serde::Serialize;

/// Where a field is in its entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BitField {
    /// Name.
    pub name: &'static str,
    /// Lowest bit.
    pub offset: usize,
    /// Bits.
    pub width: usize,
}

/// A value does not fit its field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{entry}.{field}: {value:#x} does not fit {width} bits")]
pub struct FieldOverflow {
    /// Entry type.
    pub entry: &'static str,
    /// Field name.
    pub field: &'static str,
    /// Bits of the field.
    pub width: usize,
    /// The value.
    pub value: u64,
}

/// Types a field may have in Rust.
pub(super) trait FieldValue: Copy {
    fn to_word(self) -> u64;
    fn from_word(word: u64) -> Self;
}

impl FieldValue for bool {
    fn to_word(self) -> u64 {
        u64::from(self)
    }

    fn from_word(word: u64) -> Self {
        word & 1 == 1
    }
}

macro_rules! field_value {
    ($($int:ty),*) => {$(
        impl FieldValue for $int {
            fn to_word(self) -> u64 {
                u64::from(self)
            }

            fn from_word(word: u64) -> Self {
                word as Self
            }
        }
    )*};
}
field_value!(u8, u16, u32, u64);

/// Sets `width` bits at `offset`; they must be 0 before and `value` must fit.
pub(super) fn insert(words: &mut [u64; ENTRY_WORDS], offset: usize, width: usize, value: u64) {
    let (word, shift) = (offset / 64, offset % 64);
    words[word] |= value << shift;
    if shift + width > 64 {
        words[word + 1] |= value >> (64 - shift);
    }
}

/// The inverse of [`insert`].
pub(super) fn extract(words: &[u64; ENTRY_WORDS], offset: usize, width: usize) -> u64 {
    let (word, shift) = (offset / 64, offset % 64);
    let mut value = words[word] >> shift;
    if shift + width > 64 {
        value |= words[word + 1] << (64 - shift);
    }
    value & (u64::MAX >> (64 - width))
}

/// Lowest bit of the field `name`; meant for constants.
///
/// # Panics
/// If no field has that name.
pub const fn field_offset(fields: &[BitField], name: &str) -> usize {
    let mut index = 0;
    while index < fields.len() {
        if same(fields[index].name.as_bytes(), name.as_bytes()) {
            return fields[index].offset;
        }
        index += 1;
    }
    panic!("the entry has no such field")
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    let mut index = 0;
    while index < a.len() && index < b.len() && a[index] == b[index] {
        index += 1;
    }
    index == a.len() && index == b.len()
}
