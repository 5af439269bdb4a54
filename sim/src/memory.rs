//! A host's memory as its card sees it: regions of IO virtual addresses.

mod pattern;

use std::collections::BTreeMap;

use thiserror::Error;

pub use pattern::Pattern;
use pattern::LONGEST_ACCESS;

/// First address that [`HostMemory::allocate`] gives out.
const FIRST_ADDRESS: u64 = 0x0000_7f00_0000_0000;
/// Unmapped space after each region, so that an overrun hits a hole and not a neighbour.
const GUARD: u64 = 4096;

/// Page that MSI-X messages are written to, as on x86. Each counts for the number in it.
pub const MESSAGE_PAGE: u64 = 0xfee0_0000;

/// An access outside every region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{len} bytes at {addr:#x} are not mapped")]
pub struct Unmapped {
    /// First byte of the access.
    pub addr: u64,
    /// Bytes.
    pub len: usize,
}

#[derive(Debug)]
enum Region {
    Bytes(Box<[u8]>),
    Pattern(Pattern),
}

impl Region {
    fn zeroed(len: usize) -> Self {
        Self::Bytes(vec![0; len].into_boxed_slice())
    }

    fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Pattern(pattern) => pattern.len(),
        }
    }
}

/// Regions of memory, separated by holes.
#[derive(Debug, Default)]
pub struct HostMemory {
    regions: BTreeMap<u64, Region>,
    next: Option<u64>,
    /// Messages since they were last taken, by their number.
    messages: BTreeMap<u32, u64>,
}

impl HostMemory {
    /// Maps `len` zeroed bytes at an address that is a multiple of `align` (a power of two) plus
    /// `offset`, and returns the address.
    ///
    /// # Panics
    /// `align` is not a power of two.
    pub fn allocate(&mut self, len: usize, align: u64, offset: u64) -> u64 {
        self.insert(Region::zeroed(len), align, offset)
    }

    /// Maps `len` bytes of the [`Pattern`] that follows from `seed`, however many, `offset` behind the beginning of a
    /// page, and returns the address.
    pub fn allocate_pattern(&mut self, len: u64, offset: u64, seed: u64) -> u64 {
        self.insert(Region::Pattern(Pattern::new(len, seed)), GUARD, offset)
    }

    fn insert(&mut self, region: Region, align: u64, offset: u64) -> u64 {
        assert!(
            align.is_power_of_two(),
            "alignment {align} is not a power of two"
        );
        let start = self.next.unwrap_or(FIRST_ADDRESS);
        let addr = start.next_multiple_of(align) + offset;
        self.next = Some((addr + region.len().max(1)).next_multiple_of(GUARD) + GUARD);
        self.regions.insert(addr, region);
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
        let free = below.is_none_or(|(&base, region)| base + region.len() <= addr);
        assert!(free, "{len} bytes at {addr:#x} overlap a region");
        self.regions.insert(addr, Region::zeroed(len));
    }

    /// Removes the region that begins at `addr`; later accesses fail.
    pub fn release(&mut self, addr: u64) {
        self.regions.remove(&addr);
    }

    /// How many messages `number` have come since the last call.
    pub fn take_messages(&mut self, number: u32) -> u64 {
        self.messages.remove(&number).unwrap_or(0)
    }

    /// The pattern that begins at `addr`, if there is one.
    pub fn pattern(&self, addr: u64) -> Option<&Pattern> {
        match self.regions.get(&addr)? {
            Region::Pattern(pattern) => Some(pattern),
            Region::Bytes(_) => None,
        }
    }

    /// Where an access is: base of its region, and offset there.
    fn locate(&self, addr: u64, len: usize) -> Result<(u64, u64), Unmapped> {
        let error = Unmapped { addr, len };
        let (&base, region) = self.regions.range(..=addr).next_back().ok_or(error)?;
        let offset = addr - base;
        match offset.checked_add(len as u64) {
            Some(end) if end <= region.len() => Ok((base, offset)),
            _ => Err(error),
        }
    }

    /// The bytes of an access.
    ///
    /// # Errors
    /// Any of them is not mapped, or they are more than a page of a pattern.
    pub fn slice(&self, addr: u64, len: usize) -> Result<&[u8], Unmapped> {
        let (base, offset) = self.locate(addr, len)?;
        match &self.regions[&base] {
            Region::Bytes(bytes) => Ok(&bytes[offset as usize..][..len]),
            Region::Pattern(pattern) if len <= LONGEST_ACCESS => Ok(pattern.slice(offset, len)),
            Region::Pattern(_) => Err(Unmapped { addr, len }),
        }
    }

    /// The bytes of an access, to be written.
    ///
    /// # Errors
    /// Any of them is not mapped, or belongs to a pattern.
    pub fn slice_mut(&mut self, addr: u64, len: usize) -> Result<&mut [u8], Unmapped> {
        let (base, offset) = self.locate(addr, len)?;
        match self.regions.get_mut(&base) {
            Some(Region::Bytes(bytes)) => Ok(&mut bytes[offset as usize..][..len]),
            _ => Err(Unmapped { addr, len }),
        }
    }

    /// Writes to memory, or has a pattern compare the bytes with its own.
    ///
    /// # Errors
    /// Any of them is not mapped, or they are more than a page of a pattern.
    pub fn write(&mut self, addr: u64, bytes: &[u8]) -> Result<(), Unmapped> {
        let len = bytes.len();
        if let (MESSAGE_PAGE, &[a, b, c, d]) = (addr, bytes) {
            let number = u32::from_le_bytes([a, b, c, d]);
            *self.messages.entry(number).or_insert(0) += 1;
            return Ok(());
        }
        let (base, offset) = self.locate(addr, len)?;
        match self.regions.get_mut(&base) {
            Some(Region::Pattern(pattern)) if len <= LONGEST_ACCESS => {
                pattern.write(offset, bytes);
            }
            _ => self.slice_mut(addr, len)?.copy_from_slice(bytes),
        }
        Ok(())
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
    fn patterns_are_read_and_compared() {
        let mut memory = HostMemory::default();
        let a = memory.allocate_pattern(1 << 33, 13, 7);
        let b = memory.allocate(100, 4096, 0);
        assert_eq!(a % 4096, 13);
        assert!(b >= a + (1 << 33) + GUARD);
        let bytes = memory.slice(a + (1 << 32), 4096).unwrap().to_vec();
        memory.write(a + (1 << 32), &bytes).unwrap();
        memory.write(b, &bytes[..100]).unwrap();
        assert_eq!(memory.slice(b, 100).unwrap(), &bytes[..100]);
        let pattern = memory.pattern(a).unwrap();
        let range = 1 << 32..(1 << 32) + 4096;
        assert_eq!(pattern.written(), std::slice::from_ref(&range));
        assert_eq!(pattern.first_wrong(), None);
        assert!(memory.pattern(b).is_none());
        // Not in pieces longer than a card's, and not beyond the end.
        assert!(memory.slice(a, 4097).is_err());
        assert!(memory.slice_mut(a, 1).is_err());
        assert!(memory.write(a, &[0; 4097]).is_err());
        assert!(memory.write(a + (1 << 33) - 1, &[0; 2]).is_err());
        assert_eq!(memory.pattern(a).unwrap().written().len(), 1);
    }

    #[test]
    fn messages_are_counted_by_number() {
        let mut memory = HostMemory::default();
        for number in [3u32, 5, 3] {
            memory.write(MESSAGE_PAGE, &number.to_le_bytes()).unwrap();
        }
        assert!(memory.write(MESSAGE_PAGE, &[0; 8]).is_err());
        assert_eq!([3, 3, 5, 7].map(|n| memory.take_messages(n)), [2, 0, 1, 0]);
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
