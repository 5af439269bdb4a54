//! Regions that are too long to be kept: their bytes are computed, and what a card writes is compared with them.

use std::ops::Range;

use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Bytes repeat after so many. As that is a prime, bytes that are off by any other distance differ: by packets, pages or a
/// wrong address bit.
const PERIOD: usize = 1_048_583;
/// Most bytes of an access: a card's accesses never cross a page.
pub(super) const LONGEST_ACCESS: usize = 4096;

/// Random bytes that repeat, of any length. Reads return them; writes must bring them, are compared, and leave nothing
/// behind but a note of where they were.
#[derive(Debug)]
pub struct Pattern {
    len: u64,
    /// One period, and its beginning again, so that no access is in two pieces.
    bytes: Box<[u8]>,
    written: Vec<Range<u64>>,
    first_wrong: Option<u64>,
}

impl Pattern {
    /// `len` bytes that follow from `seed`, none of them written.
    pub(super) fn new(len: u64, seed: u64) -> Self {
        let mut bytes = vec![0; PERIOD + LONGEST_ACCESS];
        ChaCha8Rng::seed_from_u64(seed).fill_bytes(&mut bytes[..PERIOD]);
        bytes.copy_within(..LONGEST_ACCESS, PERIOD);
        Self {
            len,
            bytes: bytes.into_boxed_slice(),
            written: Vec::new(),
            first_wrong: None,
        }
    }

    /// Bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Which bytes were written at least once, in ascending ranges that do not touch.
    pub fn written(&self) -> &[Range<u64>] {
        &self.written
    }

    /// Offset of the first byte, in order of time, that was written with another value than it has.
    pub fn first_wrong(&self) -> Option<u64> {
        self.first_wrong
    }

    /// Up to [`LONGEST_ACCESS`] bytes at an offset.
    pub(super) fn slice(&self, offset: u64, len: usize) -> &[u8] {
        let start = (offset % PERIOD as u64) as usize;
        &self.bytes[start..start + len]
    }

    /// Takes a write of up to [`LONGEST_ACCESS`] bytes.
    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) {
        let wrong = self
            .slice(offset, bytes.len())
            .iter()
            .zip(bytes)
            .position(|(should, is)| should != is);
        if let Some(at) = wrong {
            self.first_wrong.get_or_insert(offset + at as u64);
        }
        self.note(offset..offset + bytes.len() as u64);
    }

    fn note(&mut self, new: Range<u64>) {
        if new.is_empty() {
            return;
        }
        // Those that overlap or touch the new one become one with it.
        let from = self.written.partition_point(|old| old.end < new.start);
        let to = self.written.partition_point(|old| old.start <= new.end);
        let merged = match self.written.get(from..to) {
            Some([first, .., last]) => first.start.min(new.start)..last.end.max(new.end),
            Some([only]) => only.start.min(new.start)..only.end.max(new.end),
            _ => new,
        };
        self.written.splice(from..to, [merged]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::slice::from_ref;

    #[test]
    fn the_period_is_prime() {
        let mut divisors = (2..).take_while(|divisor| divisor * divisor <= PERIOD);
        assert!(divisors.all(|divisor| PERIOD % divisor != 0));
    }

    #[test]
    fn bytes_follow_from_seed_and_offset() {
        let pattern = Pattern::new(1 << 40, 5);
        let far = (1 << 39) / PERIOD as u64 * PERIOD as u64 - 7;
        assert_eq!(pattern.slice(far + 7, 100), pattern.slice(0, 100));
        assert_eq!(pattern.slice(far, 4096)[7..], pattern.slice(0, 4089)[..]);
        assert_eq!(
            pattern.slice(far, 64),
            Pattern::new(1, 5).slice(PERIOD as u64 - 7, 64)
        );
        for other in [pattern.slice(1, 64), pattern.slice(1 << 30, 64)] {
            assert_ne!(pattern.slice(0, 64), other);
        }
        assert_ne!(pattern.slice(0, 64), Pattern::new(64, 6).slice(0, 64));
    }

    #[test]
    fn written_ranges_grow_together() {
        let mut pattern = Pattern::new(1 << 32, 1);
        let put = |pattern: &mut Pattern, offset, len| {
            let bytes = pattern.slice(offset, len).to_vec();
            pattern.write(offset, &bytes);
        };
        for (offset, len) in [(100, 10), (300, 50), (200, 10), (0, 0)] {
            put(&mut pattern, offset, len);
        }
        assert_eq!(pattern.written(), [100..110, 200..210, 300..350]);
        put(&mut pattern, 110, 90);
        assert_eq!(pattern.written(), [100..210, 300..350]);
        put(&mut pattern, 310, 5);
        put(&mut pattern, 99, 1);
        assert_eq!(pattern.written(), [99..210, 300..350]);
        put(&mut pattern, 0, 4000);
        assert_eq!(pattern.written(), from_ref(&(0..4000)));
        assert_eq!(pattern.first_wrong(), None);
    }

    #[test]
    fn the_first_wrong_byte_is_kept() {
        let mut pattern = Pattern::new(1 << 32, 1);
        let mut bytes = pattern.slice(1000, 64).to_vec();
        bytes[9] ^= 1;
        pattern.write(1000, &bytes);
        pattern.write(0, &[!pattern.slice(0, 1)[0]]);
        assert_eq!(pattern.first_wrong(), Some(1009));
        assert_eq!(pattern.written(), [0..1, 1000..1064]);
    }
}
