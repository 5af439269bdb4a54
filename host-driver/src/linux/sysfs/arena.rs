//! Dividing a piece of memory among buffers.

use std::ops::Range;

/// Smallest piece that is given out, in bytes: what queues are aligned to.
const GRAIN: usize = 4096;

/// Keeps account of a piece of memory.
#[derive(Debug)]
pub(super) struct Arena {
    /// IO address of its first byte.
    base: u64,
    /// Grains that are given out.
    used: Vec<bool>,
}

impl Arena {
    /// Of `len` bytes at IO address `base`, both multiples of the grain.
    pub(super) fn new(base: u64, len: usize) -> Self {
        Self {
            base,
            used: vec![false; len / GRAIN],
        }
    }

    /// IO address of the first byte.
    pub(super) fn base(&self) -> u64 {
        self.base
    }

    /// Takes `len` bytes at an IO address that is a multiple of `align`, a power of two: the first that are free. The
    /// range is one of offsets and is a whole number of grains.
    pub(super) fn take(&mut self, len: usize, align: usize) -> Option<Range<usize>> {
        let count = len.div_ceil(GRAIN);
        let fits = |&first: &usize| {
            let address = self.base + (first * GRAIN) as u64;
            address % align as u64 == 0 && !self.used[first..first + count].contains(&true)
        };
        let first = (0..(self.used.len() + 1).checked_sub(count)?).find(fits)?;
        self.used[first..first + count].fill(true);
        Some(first * GRAIN..(first + count) * GRAIN)
    }

    /// Gives back a range that was taken.
    pub(super) fn give_back(&mut self, range: &Range<usize>) {
        self.used[range.start / GRAIN..range.end / GRAIN].fill(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_disjoint_and_come_back() {
        let mut arena = Arena::new(0x10_0000, 4 * GRAIN);
        let first = arena.take(1, 1).unwrap();
        let second = arena.take(GRAIN + 1, 64).unwrap();
        let third = arena.take(GRAIN, 4096).unwrap();
        assert_eq!(
            (first.clone(), second.clone(), third),
            (0..GRAIN, GRAIN..3 * GRAIN, 3 * GRAIN..4 * GRAIN),
        );
        assert_eq!(arena.take(1, 1), None);
        arena.give_back(&first);
        assert_eq!(arena.take(2 * GRAIN, 1), None);
        arena.give_back(&second);
        assert_eq!(arena.take(3 * GRAIN, 1), Some(0..3 * GRAIN));
    }

    #[test]
    fn it_is_the_address_that_is_aligned() {
        let mut arena = Arena::new(0x10_0000 - GRAIN as u64, 8 * GRAIN);
        assert_eq!(arena.take(GRAIN, 0x10_0000), Some(GRAIN..2 * GRAIN));
        assert_eq!(arena.take(GRAIN, 0x10_0000), None);
        assert_eq!(arena.take(GRAIN, 4 * GRAIN), Some(5 * GRAIN..6 * GRAIN));
    }

    #[test]
    fn all_or_more_than_all() {
        let mut arena = Arena::new(0, 4 * GRAIN);
        assert_eq!(arena.take(4 * GRAIN + 1, 1), None);
        assert_eq!(arena.take(usize::MAX, 1), None);
        assert_eq!(arena.take(4 * GRAIN, 1), Some(0..4 * GRAIN));
    }
}
