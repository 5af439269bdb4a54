//! Page tables of memory regions, for hosts without an IOMMU whose memory lies scattered.
//!
//! A table is an array of 8-byte little-endian entries in host memory, one for each page that the region touches, ascending. With two
//! levels these arrays are *leaves* of [`LEAF_ENTRIES`] entries, each in a 4 KiB page of its own, and the table holds an entry for each leaf.
//! Entry `n` of a leaf is for the virtual pages whose number is `n` modulo [`LEAF_ENTRIES`].
//!
//! The card keeps translations; a table must not change while its region exists.

use serde::Serialize;

/// Bytes of an entry.
pub const ENTRY_BYTES: u64 = 8;
/// Entry bit: the page or leaf is there. An access through an entry without it fails.
pub const VALID: u64 = 1 << 0;
/// Alignment of tables and leaves in bytes; entries hold the address bits above it.
pub const TABLE_ALIGN: u64 = 4096;
/// Entries of a leaf.
pub const LEAF_ENTRIES: u64 = TABLE_ALIGN / ENTRY_BYTES;
/// Log2 of [`LEAF_ENTRIES`].
pub const LEAF_LOG2: u32 = LEAF_ENTRIES.trailing_zeros();

/// Size of all pages of a region; the number is that of [`crate::cfg::MrCfg`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[repr(u8)]
pub enum PageSize {
    /// 4 KiB.
    K4 = 0,
    /// 64 KiB.
    K64 = 1,
    /// 2 MiB.
    M2 = 2,
}

impl PageSize {
    /// All sizes, smallest first.
    pub const ALL: [Self; 3] = [Self::K4, Self::K64, Self::M2];

    /// Log2 of the bytes.
    pub const fn log2(self) -> u32 {
        match self {
            Self::K4 => 12,
            Self::K64 => 16,
            Self::M2 => 21,
        }
    }

    /// Bytes.
    pub const fn bytes(self) -> u64 {
        1 << self.log2()
    }

    /// Pages that `len` bytes from virtual address `base` touch.
    pub const fn pages(self, base: u64, len: u64) -> u64 {
        if len == 0 {
            return 0;
        }
        let last = base as u128 + len as u128 - 1;
        ((last >> self.log2()) - (base as u128 >> self.log2()) + 1) as u64
    }
}

/// Entry for the page or leaf at `addr`, a multiple of [`TABLE_ALIGN`] and of the page size.
pub const fn entry(addr: u64) -> u64 {
    addr & !(TABLE_ALIGN - 1) | VALID
}

/// What [`crate::cfg::MrCfg`] holds of a table at `table` for a region at virtual address `base`: where the entry of virtual address 0 would be.
/// So the card adds 8 times the page number (with two levels: divided by [`LEAF_ENTRIES`]), modulo 2^64, and needs no
/// subtraction.
pub const fn table_origin(table: u64, base: u64, size: PageSize, indirect: bool) -> u64 {
    let shift = size.log2() + if indirect { LEAF_LOG2 } else { 0 };
    table.wrapping_sub((base >> shift).wrapping_mul(ENTRY_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_touched_are_counted() {
        assert_eq!(PageSize::K4.pages(0xFFF, 2), 2);
        assert_eq!(PageSize::K4.pages(0x1000, 0x1000), 1);
        assert_eq!(PageSize::K64.pages(0xFFFF, 0x1_0002), 3);
        assert_eq!(PageSize::M2.pages(u64::MAX, 1), 1);
        assert_eq!(PageSize::M2.pages(7, 0), 0);
    }

    #[test]
    fn the_origin_leads_to_the_first_entry() {
        let (table, base) = (0x7000, 0xFFFF_8000_1234_5678_u64);
        for size in PageSize::ALL {
            for (indirect, shift) in [(false, size.log2()), (true, size.log2() + 9)] {
                let origin = table_origin(table, base, size, indirect);
                assert_eq!(origin.wrapping_add((base >> shift) * 8), table);
            }
        }
    }
}
