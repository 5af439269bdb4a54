//! IO addresses: which there are, and which are free.
//!
//! They are the driver's own choice and not the process's addresses, as an IOMMU may have fewer address bits than a
//! process: 39 are common.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use vfio_bindings::bindings::vfio::{
    vfio_iommu_type1_info, VFIO_IOMMU_INFO_CAPS, VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE,
};

/// First IO address that is given out: a card that uses an address by mistake most often uses a small one.
const FIRST: u64 = 1 << 20;

/// What a kernel that tells no ranges (before 5.4) is taken to have: 39 bits without what interrupts use on x86.
const USUAL: [RangeInclusive<u64>; 2] = [0..=0xFEDF_FFFF, 0xFEF0_0000..=(1 << 39) - 1];

/// Bytes of a capability's header: id and version of 16 bits, offset of the next.
const HEADER_BYTES: usize = 8;

/// The ranges that a `vfio_iommu_type1_info` with its capabilities tells, or the usual ones.
pub(super) fn ranges(info: &[u8]) -> Vec<RangeInclusive<u64>> {
    told_ranges(info).unwrap_or_else(|| USUAL.into())
}

fn told_ranges(info: &[u8]) -> Option<Vec<RangeInclusive<u64>>> {
    let flags = word(info, std::mem::offset_of!(vfio_iommu_type1_info, flags))?;
    if flags & VFIO_IOMMU_INFO_CAPS == 0 {
        return None;
    }
    let mut at = word(
        info,
        std::mem::offset_of!(vfio_iommu_type1_info, cap_offset),
    )? as usize;
    // Offsets ascend, or a malformed chain would go round.
    let mut end = size_of::<vfio_iommu_type1_info>();
    while at >= end {
        let id = word(info, at)? & 0xFFFF;
        let next = word(info, at + 4)? as usize;
        if id == VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE {
            // A count and four reserved bytes, then pairs of first and last address.
            let count = word(info, at + HEADER_BYTES)? as usize;
            let pairs = info
                .get(at + HEADER_BYTES + 8..)?
                .chunks_exact(16)
                .take(count);
            return Some(pairs.filter_map(pair).collect());
        }
        end = at + HEADER_BYTES;
        at = next;
    }
    None
}

fn pair(bytes: &[u8]) -> Option<RangeInclusive<u64>> {
    let (first, last) = bytes.split_first_chunk::<8>()?;
    let last = last.first_chunk::<8>()?;
    Some(u64::from_ne_bytes(*first)..=u64::from_ne_bytes(*last))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_ne_bytes(*four))
}

/// Which IO addresses are free.
#[derive(Debug)]
pub(super) struct IovaSpace {
    /// First and last address of each free range; no two of them touch.
    free: BTreeMap<u64, u64>,
}

impl IovaSpace {
    /// All of `ranges`.
    pub(super) fn new(ranges: impl IntoIterator<Item = RangeInclusive<u64>>) -> Self {
        let mut space = Self {
            free: BTreeMap::new(),
        };
        for range in ranges {
            let first = FIRST.max(*range.start());
            if first <= *range.end() {
                space.insert(first, *range.end());
            }
        }
        space
    }

    /// Takes `len` addresses (at least 1) that begin at a multiple of `align`, a power of two: the first that are free.
    pub(super) fn take(&mut self, len: u64, align: u64) -> Option<u64> {
        let fit = |(&first, &last): (&u64, &u64)| {
            let start = first.checked_next_multiple_of(align)?;
            let end = start.checked_add(len - 1)?;
            (end <= last).then_some((first, last, start, end))
        };
        let (first, last, start, end) = self.free.iter().find_map(fit)?;
        self.free.remove(&first);
        if first < start {
            self.free.insert(first, start - 1);
        }
        if end < last {
            self.free.insert(end + 1, last);
        }
        Some(start)
    }

    /// Gives back `len` addresses from `start` on, which were taken.
    pub(super) fn give_back(&mut self, start: u64, len: u64) {
        self.insert(start, start + (len - 1));
    }

    /// Adds a range and joins it with those that it touches.
    fn insert(&mut self, mut first: u64, mut last: u64) {
        if let Some((&before, &end)) = self.free.range(..first).next_back() {
            if end + 1 == first {
                self.free.remove(&before);
                first = before;
            }
        }
        if let Some(end) = last.checked_add(1).and_then(|next| self.free.remove(&next)) {
            last = end;
        }
        self.free.insert(first, last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: u64 = 4096;

    fn space() -> IovaSpace {
        IovaSpace::new([FIRST..=FIRST + 16 * PAGE - 1])
    }

    #[test]
    fn addresses_are_aligned_disjoint_and_come_back() {
        let mut space = space();
        let a = space.take(PAGE, 1).unwrap();
        let b = space.take(2 * PAGE, 4 * PAGE).unwrap();
        let c = space.take(3 * PAGE, 1).unwrap();
        assert_eq!([a, b, c], [FIRST, FIRST + 4 * PAGE, FIRST + PAGE]);
        assert_eq!(space.take(11 * PAGE, 1), None);
        assert_eq!(space.take(10 * PAGE, 1), Some(FIRST + 6 * PAGE));
        assert_eq!(space.take(1, 1), None);
        for (start, len) in [(b, 2), (a, 1), (FIRST + 6 * PAGE, 10), (c, 3)] {
            space.give_back(start, len * PAGE);
        }
        assert_eq!(space.take(16 * PAGE, 1), Some(FIRST));
    }

    #[test]
    fn ranges_are_not_crossed() {
        let mut space = IovaSpace::new([0..=FIRST + PAGE - 1, FIRST + 2 * PAGE..=u64::MAX]);
        assert_eq!(space.take(2 * PAGE, 1), Some(FIRST + 2 * PAGE));
        assert_eq!(space.take(PAGE, 1), Some(FIRST));
        assert_eq!(space.take(1, 1 << 63), Some(1 << 63));
        assert_eq!(space.take(1 << 63, 1 << 63), None);
        assert_eq!(space.take(u64::MAX, 1), None);
    }

    #[test]
    fn small_addresses_are_not_given_out() {
        let mut space = IovaSpace::new([0..=FIRST - 1]);
        assert_eq!(space.take(1, 1), None);
    }

    /// A `vfio_iommu_type1_info` (24 bytes) with capabilities at the given offsets, and words behind it.
    fn info(flags: u32, cap_offset: u32, words: &[u32]) -> Vec<u8> {
        let header = [0, flags, 0, 0, cap_offset, 0];
        let all = header.iter().chain(words);
        all.flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn the_kernels_ranges_are_found() {
        // Capability 3 (DMA limits) at 24, 12 bytes; then at 36 capability 1, version 1: two ranges.
        let caps = [3 | 1 << 16, 36, 65_535];
        let ranges_cap = [
            1 | 1 << 16,
            0,
            2,
            0,
            0,
            0,
            0xFEDF_FFFF,
            0,
            0xFEF0_0000,
            0,
            0xFFFF_FFFF,
            0x7F,
        ];
        let all: Vec<_> = caps.into_iter().chain(ranges_cap).collect();
        let found = ranges(&info(2, 24, &all));
        assert_eq!(found, [0..=0xFEDF_FFFF, 0xFEF0_0000..=0x7F_FFFF_FFFF]);
        assert_eq!(found, USUAL);
    }

    #[test]
    fn other_answers_mean_the_usual_ranges() {
        let range_cap = [1 | 1 << 16, 0, 1, 0, 0, 0, 0xFFF, 0];
        assert_eq!(ranges(&info(2, 24, &range_cap)), [0..=0xFFF]);
        for answer in [
            // No capabilities, none of this kind, a chain that goes round, one that ends too early.
            info(1, 24, &range_cap),
            info(2, 0, &range_cap),
            info(2, 24, &[2, 0, 0, 0]),
            info(2, 24, &[2, 24, 0, 0]),
            info(2, 24, &range_cap[..2]),
            info(2, 1000, &range_cap),
            vec![],
        ] {
            assert_eq!(ranges(&answer), USUAL);
        }
    }
}
