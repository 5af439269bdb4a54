//! Byte enables of a request's first and last doubleword (PCIe Base 2.2.5).

use std::ops::Range;

use thiserror::Error;

/// Byte enables that no request may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum EnablesError {
    /// One doubleword has only first enables.
    #[error("a request of one doubleword has last byte enables {0:#06b}, which must be 0")]
    LastOfOne(u8),
    /// More doublewords have both.
    #[error("a request of {0} doublewords has no byte enabled in its first or last one")]
    NoneOfSeveral(usize),
    /// Holes are allowed in one doubleword, and in two at a multiple of 8 bytes.
    #[error("a request of {dwords} doublewords at {addr:#x} has holes in byte enables {first:#06b}, {last:#06b}")]
    Holes {
        /// Byte address of the first doubleword.
        addr: u64,
        /// Doublewords.
        dwords: usize,
        /// First byte enables.
        first: u8,
        /// Last byte enables.
        last: u8,
    },
}

/// Byte enables of the first and the last doubleword, 4 bits each; bit `k` enables byte `k`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ByteEnables {
    /// Of the first doubleword.
    pub first: u8,
    /// Of the last doubleword; 0 when there is only one.
    pub last: u8,
}

impl ByteEnables {
    /// Doublewords and byte enables of `len` bytes at byte address `addr`. Zero bytes are one doubleword without enables.
    pub fn covering(addr: u64, len: usize) -> (usize, Self) {
        let skip = (addr % 4) as usize;
        let dwords = (skip + len).div_ceil(4).max(1);
        let first = 0xf << skip & 0xf;
        let last = 0xf >> ((4 - (skip + len) % 4) % 4);
        let enables = match (len, dwords) {
            (0, _) => Self::default(),
            (_, 1) => Self {
                first: first & last,
                last: 0,
            },
            _ => Self { first, last },
        };
        (dwords, enables)
    }

    /// Checks them for `dwords` doublewords at `addr`.
    ///
    /// # Errors
    /// PCIe Base 2.2.5 forbids them.
    pub fn check(self, addr: u64, dwords: usize) -> Result<(), EnablesError> {
        let Self { first, last } = self;
        if dwords <= 1 {
            return match last {
                0 => Ok(()),
                _ => Err(EnablesError::LastOfOne(last)),
            };
        }
        if first == 0 || last == 0 {
            return Err(EnablesError::NoneOfSeveral(dwords));
        }
        let contiguous = matches!(first, 8 | 12 | 14 | 15) && matches!(last, 1 | 3 | 7 | 15);
        if contiguous || dwords == 2 && addr % 8 == 0 {
            Ok(())
        } else {
            Err(EnablesError::Holes {
                addr,
                dwords,
                first,
                last,
            })
        }
    }

    /// Enables of doubleword `index` of `dwords`.
    pub fn of(self, index: usize, dwords: usize) -> u8 {
        match index {
            0 => self.first,
            k if k + 1 == dwords => self.last,
            _ => 0xf,
        }
    }

    /// From the first enabled byte to behind the last one, counted from the first doubleword's first byte. Empty for a request
    /// of zero bytes.
    pub fn span(self, dwords: usize) -> Range<usize> {
        let (first, last) = match (self.first, self.last) {
            (0, 0) => return 0..0,
            (first, 0) => (first, first),
            both => both,
        };
        let start = first.trailing_zeros() as usize;
        let unused = last.leading_zeros() as usize - 4;
        start..dwords * 4 - unused
    }

    /// Byte count of the completion that ends a read of `dwords` doublewords in one piece (PCIe Base table 2-38); 1 for zero bytes.
    pub fn byte_count(self, dwords: usize) -> usize {
        self.span(dwords).len().max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn be(first: u8, last: u8) -> ByteEnables {
        ByteEnables { first, last }
    }

    #[test]
    fn legal_and_illegal_enables() {
        for (addr, dwords, e, legal) in [
            (0x10, 1, be(0, 0), true),
            (0x14, 1, be(0b1001, 0), true),
            (0x14, 1, be(0xf, 1), false),
            (0x10, 2, be(0b0101, 0b1010), true),
            (0x14, 2, be(0b0101, 0b1010), false),
            (0x14, 2, be(0b1000, 0b0001), true),
            (0x10, 2, be(0, 0xf), false),
            (0x10, 3, be(0xf, 0), false),
            (0x10, 3, be(0b0111, 0xf), false),
            (0x10, 3, be(0xf, 0b1110), false),
            (0x10, 3, be(0b1100, 0b0111), true),
        ] {
            assert_eq!(e.check(addr, dwords).is_ok(), legal, "{dwords} {e:?}");
        }
    }

    /// PCIe Base table 2-38, line by line where it names no don't-cares.
    #[test]
    fn byte_counts_of_the_table() {
        for (dwords, e, count) in [
            (1, be(0b1001, 0), 4),
            (1, be(0b0101, 0), 3),
            (1, be(0b1010, 0), 3),
            (1, be(0b0011, 0), 2),
            (1, be(0b0110, 0), 2),
            (1, be(0b1100, 0), 2),
            (1, be(0b0100, 0), 1),
            (1, be(0, 0), 1),
            (5, be(0b0001, 0b1000), 20),
            (5, be(0b0001, 0b0100), 19),
            (5, be(0b0001, 0b0001), 17),
            (5, be(0b0010, 0b1000), 19),
            (5, be(0b1000, 0b0001), 14),
        ] {
            assert_eq!(e.byte_count(dwords), count, "{dwords} {e:?}");
        }
    }

    proptest! {
        #![proptest_config(crate::seed::cases())]

        #[test]
        fn byte_ranges_come_back(addr in 0u64..64, len in 1usize..200) {
            let (dwords, e) = ByteEnables::covering(addr, len);
            let skip = (addr % 4) as usize;
            prop_assert_eq!(e.check(addr & !3, dwords), Ok(()));
            prop_assert_eq!(e.span(dwords), skip..skip + len);
            let enabled: u32 = (0..dwords).map(|k| e.of(k, dwords).count_ones()).sum();
            prop_assert_eq!(enabled as usize, len);
        }
    }
}
