//! Memory of one end, by keys.

use std::collections::BTreeMap;
use std::ops::Range;

use ferroce_abi::mr::Access;

/// An access that keys, rights or bounds do not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Denied;

/// A region.
#[derive(Debug, Clone)]
pub struct Region {
    /// Protection domain.
    pub pd: u32,
    /// What peers may do.
    pub access: Access,
    /// Address of the first byte.
    pub base: u64,
    /// Content.
    pub bytes: Vec<u8>,
}

/// Regions by R_Key.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    regions: BTreeMap<u32, Region>,
}

impl Memory {
    /// Adds a region.
    pub fn insert(&mut self, key: u32, region: Region) {
        self.regions.insert(key, region);
    }

    /// A region's content.
    pub fn bytes(&self, key: u32) -> Option<&[u8]> {
        self.regions.get(&key).map(|region| region.bytes.as_slice())
    }

    /// Makes a key unknown.
    ///
    /// # Errors
    /// It was.
    pub fn invalidate(&mut self, key: u32) -> Result<(), Denied> {
        self.regions.remove(&key).map(|_| ()).ok_or(Denied)
    }

    /// Checks an access of `len` bytes (not 0) and says where in the region it is (10.6.3.1, with addresses that don't
    /// wrap).
    ///
    /// # Errors
    /// [`Denied`].
    pub fn check(
        &self,
        key: u32,
        pd: u32,
        access: Access,
        va: u64,
        len: u64,
    ) -> Result<Range<usize>, Denied> {
        let region = self.regions.get(&key).ok_or(Denied)?;
        let start = va.checked_sub(region.base).ok_or(Denied)?;
        let end = start.checked_add(len).ok_or(Denied)?;
        let fits = end <= region.bytes.len() as u64 && va.checked_add(len - 1).is_some();
        let allowed = region.access.bits() & access.bits() == access.bits();
        if region.pd == pd && allowed && fits {
            Ok(start as usize..end as usize)
        } else {
            Err(Denied)
        }
    }

    /// Stores bytes at an address that was checked before.
    ///
    /// # Errors
    /// The region is no more there, or too short.
    pub fn store(&mut self, key: u32, va: u64, data: &[u8]) -> Result<(), Denied> {
        let region = self.regions.get_mut(&key).ok_or(Denied)?;
        let start = va.checked_sub(region.base).ok_or(Denied)? as usize;
        let place = region.bytes.get_mut(start..start + data.len());
        place.ok_or(Denied)?.copy_from_slice(data);
        Ok(())
    }

    /// Bytes at an address that was checked before.
    ///
    /// # Errors
    /// As [`Self::store`].
    pub fn load(&self, key: u32, va: u64, len: usize) -> Result<&[u8], Denied> {
        let region = self.regions.get(&key).ok_or(Denied)?;
        let start = va.checked_sub(region.base).ok_or(Denied)? as usize;
        region.bytes.get(start..start + len).ok_or(Denied)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accesses_need_key_domain_right_and_range() {
        let mut memory = Memory::default();
        let top = u64::MAX - 9;
        for (key, base, access) in [
            (1, 0x1000, Access::REMOTE_WRITE),
            (2, top, Access::REMOTE_READ | Access::REMOTE_WRITE),
        ] {
            let bytes = vec![0; 10];
            memory.insert(
                key,
                Region {
                    pd: 3,
                    access,
                    base,
                    bytes,
                },
            );
        }
        let write = |key, pd, va, len| memory.check(key, pd, Access::REMOTE_WRITE, va, len);
        assert_eq!(write(1, 3, 0x1000, 10), Ok(0..10));
        assert_eq!(write(1, 3, 0x1009, 1), Ok(9..10));
        assert_eq!(write(2, 3, u64::MAX, 1), Ok(9..10));
        for (key, pd, va, len) in [
            (0, 3, 0x1000, 1),
            (1, 2, 0x1000, 1),
            (1, 3, 0xfff, 2),
            (1, 3, 0x1001, 10),
            (1, 3, 0x1000, u64::MAX),
            (2, 3, u64::MAX, 2),
        ] {
            assert_eq!(
                write(key, pd, va, len),
                Err(Denied),
                "{key} {pd} {va:#x} {len}"
            );
        }
        assert_eq!(
            memory.check(1, 3, Access::REMOTE_READ, 0x1000, 1),
            Err(Denied)
        );
        memory.invalidate(1).unwrap();
        assert_eq!(memory.invalidate(1), Err(Denied));
    }
}
