//! Stream ports of a Verilated card: names, handshakes and packed fields.

use ferroce_bridge::{BridgeError, Library, Model, Port};

/// The three ports of a stream.
#[derive(Debug, Clone, Copy)]
pub struct StreamPort {
    /// The packed item.
    pub data: Port,
    /// Offered.
    pub valid: Port,
    /// Taken.
    pub ready: Port,
}

impl StreamPort {
    /// Finds the ports of stream `name`.
    ///
    /// # Errors
    /// The model has no such stream.
    pub fn find(library: &Library, name: &str) -> Result<Self, BridgeError> {
        Ok(Self {
            data: library.port(&format!("{name}_data"))?,
            valid: library.port(&format!("{name}_valid"))?,
            ready: library.port(&format!("{name}_ready"))?,
        })
    }

    /// Whether an item passes at the coming clock edge.
    pub fn fires(&self, model: &Model) -> bool {
        model.get_bool(self.valid) && model.get_bool(self.ready)
    }
}

/// Most words of a packed item: 1024 bits.
pub const MAX_WORDS: usize = 32;

/// A packed item: the first field of its Rust struct is in the lowest bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packed {
    words: [u32; MAX_WORDS],
}

impl Default for Packed {
    fn default() -> Self {
        Self {
            words: [0; MAX_WORDS],
        }
    }
}

impl Packed {
    /// Reads a port.
    pub fn read(model: &Model, port: Port) -> Self {
        let mut packed = Self::default();
        model.read_words(port, &mut packed.words[..port.word_count()]);
        packed
    }

    /// Writes a port.
    pub fn write(&self, model: &mut Model, port: Port) {
        model.write_words(port, &self.words[..port.word_count()]);
    }

    /// The field of `width` bits (1 to 64) at bit `offset`.
    pub fn get(&self, offset: usize, width: usize) -> u64 {
        let (word, shift) = (offset / 32, offset % 32);
        let mut value = 0u128;
        for k in (0..3).rev() {
            value = value << 32 | u128::from(self.words.get(word + k).copied().unwrap_or(0));
        }
        (value >> shift) as u64 & (u64::MAX >> (64 - width))
    }

    /// Sets the field of `width` bits (1 to 64) at bit `offset`, which was 0.
    pub fn set(&mut self, offset: usize, width: usize, value: u64) {
        let (word, shift) = (offset / 32, offset % 32);
        let value = u128::from(value & (u64::MAX >> (64 - width))) << shift;
        for k in 0..3 {
            if let Some(w) = self.words.get_mut(word + k) {
                *w |= (value >> (32 * k)) as u32;
            }
        }
    }

    /// Bytes 0 to 63: the data of a beat, which comes first in every beat struct.
    pub fn beat(&self) -> [u8; 64] {
        let mut bytes = [0; 64];
        for (chunk, word) in bytes.chunks_exact_mut(4).zip(&self.words) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// Sets bytes 0 to 63.
    pub fn set_beat(&mut self, bytes: &[u8; 64]) {
        for (chunk, word) in bytes.chunks_exact(4).zip(&mut self.words) {
            *word = u32::from_le_bytes([chunk[0], chunk[1], chunk[2], chunk[3]]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_at_every_offset_and_width_come_back() {
        let pattern = 0x9e37_79b9_7f4a_7c15;
        for offset in 0..200 {
            for width in 1..=64 {
                let mut packed = Packed::default();
                packed.set(offset, width, pattern);
                assert_eq!(
                    packed.get(offset, width),
                    pattern & (u64::MAX >> (64 - width))
                );
                assert_eq!(packed.get(offset + width, 64), 0);
                assert!(offset == 0 || packed.get(0, offset.min(64)) == 0);
            }
        }
    }

    #[test]
    fn beats_come_first() {
        let mut packed = Packed::default();
        let bytes = std::array::from_fn(|k| k as u8 + 1);
        packed.set_beat(&bytes);
        packed.set(512, 7, 64);
        assert_eq!(packed.beat(), bytes);
        assert_eq!(packed.get(8, 8), 2);
        assert_eq!(packed.get(512, 8), 64);
    }
}
