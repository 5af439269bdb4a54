//! Host memory for the register-level card: regions of IO addresses that can be looked at from both sides.

use ferroce_driver::{DmaBuffer, DmaError, DmaMemory};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

type Regions = Arc<Mutex<BTreeMap<u64, Vec<u8>>>>;

/// Allocates from an address space that is never reused.
#[derive(Clone, Debug, Default)]
pub struct TestMemory {
    regions: Regions,
    next: Arc<Mutex<u64>>,
}

#[derive(Debug)]
struct TestBuffer {
    regions: Regions,
    base: u64,
    len: usize,
}

impl TestMemory {
    /// Regions that are allocated now.
    pub fn regions(&self) -> usize {
        self.regions.lock().unwrap().len()
    }

    /// What the card reads at an IO address.
    pub fn read(&self, addr: u64, bytes: &mut [u8]) {
        let regions = self.regions.lock().unwrap();
        let (base, region) = regions.range(..=addr).next_back().unwrap();
        let at = (addr - base) as usize;
        bytes.copy_from_slice(&region[at..at + bytes.len()]);
    }

    /// What the card writes at an IO address.
    pub fn write(&self, addr: u64, bytes: &[u8]) {
        let mut regions = self.regions.lock().unwrap();
        let (base, region) = regions.range_mut(..=addr).next_back().unwrap();
        let at = (addr - base) as usize;
        region[at..at + bytes.len()].copy_from_slice(bytes);
    }
}

impl DmaMemory for TestMemory {
    fn allocate(&self, len: usize, align: usize) -> Result<Arc<dyn DmaBuffer>, DmaError> {
        let mut next = self.next.lock().unwrap();
        let base = (*next + 0x10_0000).next_multiple_of(align as u64);
        *next = base + len as u64;
        let regions = Arc::clone(&self.regions);
        regions.lock().unwrap().insert(base, vec![0; len]);
        Ok(Arc::new(TestBuffer { regions, base, len }))
    }
}

impl TestBuffer {
    fn check(&self, offset: usize, count: usize) -> Result<(), DmaError> {
        if offset + count <= self.len {
            return Ok(());
        }
        Err(DmaError::Range {
            offset,
            count,
            len: self.len,
        })
    }
}

impl DmaBuffer for TestBuffer {
    fn iova(&self) -> u64 {
        self.base
    }

    fn len(&self) -> usize {
        self.len
    }

    fn read(&self, offset: usize, bytes: &mut [u8]) -> Result<(), DmaError> {
        self.check(offset, bytes.len())?;
        let regions = self.regions.lock().unwrap();
        bytes.copy_from_slice(&regions[&self.base][offset..offset + bytes.len()]);
        Ok(())
    }

    fn load_acquire(&self, offset: usize) -> Result<u8, DmaError> {
        let mut byte = [0];
        self.read(offset, &mut byte)?;
        Ok(byte[0])
    }

    fn write(&self, offset: usize, bytes: &[u8]) -> Result<(), DmaError> {
        self.check(offset, bytes.len())?;
        let mut regions = self.regions.lock().unwrap();
        let region = regions.get_mut(&self.base).unwrap();
        region[offset..offset + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }
}

impl Drop for TestBuffer {
    fn drop(&mut self) {
        self.regions.lock().unwrap().remove(&self.base);
    }
}
