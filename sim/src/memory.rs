//! A host's memory as its card sees it: regions of IO virtual addresses.

use std::collections::BTreeMap;

use thiserror::Error;

/// First address that [`HostMemory::allocate`] gives out.
const FIRST_ADDRESS: u64 = 0x0000_7f00_0000_0000;
/// Unmapped space after each region, so that an overrun hits a hole and not a neighbour.
const GUARD: u64 = 4096;

/// An access outside every region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{len} bytes at {addr:#x} are not mapped")]
pub struct Unmapped {
    /// First byte of the access.
    pub addr: u64,
    /// Bytes.
    pub len: usize,
}

/// Regions of memory, separated by holes.
#[derive(Debug, Default)]
pub struct HostMemory {
    regions: BTreeMap<u64, Box<[u8]>>,
    next: Option<u64>,
}

impl HostMemory {
    /// Maps `len` zeroed bytes at an address that is a multiple of `align` (a power of two) plus
    /// `offset`, and returns the address.
    ///
    /// # Panics
    /// `align` is not a power of two.
    pub fn allocate(&mut self, len: usize, align: u64, offset: u64) -> u64 {
        assert!(
            align.is_power_of_two(),
            "alignment {align} is not a power of two"
        );
        let start = self.next.unwrap_or(FIRST_ADDRESS);
        let addr = start.next_multiple_of(align) + offset;
        self.next = Some((addr + len.max(1) as u64).next_multiple_of(GUARD) + GUARD);
        self.regions.insert(addr, vec![0; len].into_boxed_slice());
        addr
    }

    /// Maps `len` zeroed bytes at `addr`, for a peer that has chosen the address itself.
    ///
    /// # Panics
    /// Any of the bytes is mapped already, or they wrap.
    pub fn map(&mut self, addr: u64, len: usize) {
        let end = addr
            .checked_add(len as u64)
            .unwrap_or_else(|| panic!("{len} bytes at {addr:#x} wrap"));
        let below = self.regions.range(..end).next_back();
        let free = below.is_none_or(|(&base, region)| base + region.len() as u64 <= addr);
        assert!(free, "{len} bytes at {addr:#x} overlap a region");
        self.regions.insert(addr, vec![0; len].into_boxed_slice());
    }

    /// Removes the region that begins at `addr`; later accesses fail.
    pub fn release(&mut self, addr: u64) {
        self.regions.remove(&addr);
    }

    fn locate(&self, addr: u64, len: usize) -> Result<(u64, usize), Unmapped> {
        let error = Unmapped { addr, len };
        let (&base, region) = self.regions.range(..=addr).next_back().ok_or(error)?;
        let offset = usize::try_from(addr - base).map_err(|_| error)?;
        match offset.checked_add(len) {
            Some(end) if end <= region.len() => Ok((base, offset)),
            _ => Err(error),
        }
    }

    /// The bytes of an access.
    ///
    /// # Errors
    /// Any of them is not mapped.
    pub fn slice(&self, addr: u64, len: usize) -> Result<&[u8], Unmapped> {
        let (base, offset) = self.locate(addr, len)?;
        Ok(&self.regions[&base][offset..offset + len])
    }

    /// The bytes of an access, to be written.
    ///
    /// # Errors
    /// Any of them is not mapped.
    pub fn slice_mut(&mut self, addr: u64, len: usize) -> Result<&mut [u8], Unmapped> {
        let (base, offset) = self.locate(addr, len)?;
        let region = self.regions.get_mut(&base).ok_or(Unmapped { addr, len })?;
        Ok(&mut region[offset..offset + len])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_are_aligned_zeroed_and_apart() {
        let mut memory = HostMemory::default();
        let a = memory.allocate(100, 4096, 0);
        let b = memory.allocate(5000, 64, 3);
        assert_eq!((a % 4096, b % 64), (0, 3));
        assert!(b >= a + 100 + GUARD);
        assert_eq!(memory.slice(b, 5000).unwrap(), vec![0; 5000]);
        memory.slice_mut(b + 4999, 1).unwrap()[0] = 7;
        assert_eq!(memory.slice(b + 4990, 10).unwrap()[9], 7);
    }

    #[test]
    fn chosen_addresses_are_mapped_as_they_are() {
        let mut memory = HostMemory::default();
        memory.map(0x1001, 7);
        assert_eq!(memory.slice(0x1001, 7).unwrap(), [0; 7]);
        assert!(memory.slice(0x1000, 1).is_err());
        memory.map(0x1008, 1);
        assert_eq!(memory.allocate(1, 4096, 0), FIRST_ADDRESS);
    }

    #[test]
    #[should_panic(expected = "overlap")]
    fn mapped_bytes_are_not_mapped_again() {
        let mut memory = HostMemory::default();
        memory.map(0x1001, 7);
        memory.map(0x1000, 2);
    }

    #[test]
    fn holes_are_errors() {
        let mut memory = HostMemory::default();
        let a = memory.allocate(100, 4096, 0);
        for (addr, len) in [(a - 1, 1), (a, 101), (a + 100, 1), (0, 1), (u64::MAX, 2)] {
            assert_eq!(memory.slice(addr, len), Err(Unmapped { addr, len }));
        }
        assert!(memory.slice(a + 100, 0).is_ok());
        memory.release(a);
        assert!(memory.slice(a, 1).is_err());
    }
}
