//! Host memory without an IOMMU: a buffer's pages lie scattered, at addresses that say nothing of each other.

use std::sync::{Arc, Mutex};

use ferroce_driver::{DmaBuffer, DmaError, DmaMemory, PageList, PageSize};
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::card::lock;
use crate::host::{contiguous, Sim};
use crate::memory::{HostMemory, Unmapped};

/// Bytes before and behind each page that nobody may touch.
const POISONED: u64 = 4096;
/// What they hold.
const POISON: u8 = 0xEB;
/// First virtual address: nothing is mapped there on the bus.
const FIRST_VIRTUAL: u64 = 0xffff_8000_0000_0000;

/// How memory is scattered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scatter {
    /// Size of the pages.
    pub size: PageSize,
    /// Where they lie follows from it.
    pub seed: u64,
}

/// Gives out contiguous memory for rings and tables, and scattered memory for regions.
#[derive(Debug)]
pub struct ScatteredMemory {
    memory: Arc<Mutex<HostMemory>>,
    scatter: Scatter,
    next: Mutex<(ChaCha8Rng, u64)>,
}

impl ScatteredMemory {
    /// Of the host that card `index` is in.
    pub fn new(sim: &Sim, index: usize, scatter: Scatter) -> Self {
        let memory = sim.with(|world| Arc::clone(world.card(index).memory()));
        Self {
            memory,
            scatter,
            next: Mutex::new((ChaCha8Rng::seed_from_u64(scatter.seed), FIRST_VIRTUAL)),
        }
    }

    /// A buffer of `len` bytes that begins `offset` bytes behind the beginning of a page.
    pub fn buffer(&self, len: usize, offset: u64) -> Arc<ScatteredBuffer> {
        let mut next = lock(&self.next);
        let size = self.scatter.size.bytes();
        let base = next.1.next_multiple_of(size) + offset;
        next.1 = base + len as u64 + size;
        Arc::new(ScatteredBuffer::new(
            &self.memory,
            self.scatter.size,
            base,
            len,
            &mut next.0,
        ))
    }

    /// A buffer in other memory at the virtual address of `old`.
    pub fn again(&self, old: &ScatteredBuffer) -> Arc<ScatteredBuffer> {
        Arc::new(ScatteredBuffer::new(
            &self.memory,
            self.scatter.size,
            old.base,
            old.len,
            &mut lock(&self.next).0,
        ))
    }
}

impl DmaMemory for ScatteredMemory {
    fn allocate(&self, len: usize, align: usize) -> Result<Arc<dyn DmaBuffer>, DmaError> {
        contiguous(&self.memory, len, align)
    }

    fn allocate_pages(&self, len: usize) -> Result<Arc<dyn DmaBuffer>, DmaError> {
        Ok(self.buffer(len, 0))
    }
}

/// Memory in pages that lie at random, each with poisoned bytes before and behind it.
#[derive(Debug)]
pub struct ScatteredBuffer {
    memory: Arc<Mutex<HostMemory>>,
    base: u64,
    len: usize,
    list: PageList,
    /// Bus addresses of all pages, also of those that the list lacks.
    frames: Vec<u64>,
}

impl ScatteredBuffer {
    fn new(
        memory: &Arc<Mutex<HostMemory>>,
        size: PageSize,
        base: u64,
        len: usize,
        rng: &mut ChaCha8Rng,
    ) -> Self {
        let count = size.pages(base, len as u64);
        let mut host = lock(memory);
        let mut frames: Vec<u64> = (0..count)
            .map(|_| {
                // Room between them, so that their distances say nothing.
                let skip = rng.gen_range(1..=8) * POISONED;
                let aligned = size.bytes().max(POISONED);
                host.allocate(skip as usize, POISONED, 0);
                let addr = host.allocate(
                    (size.bytes() + 2 * POISONED) as usize,
                    aligned,
                    aligned - POISONED,
                );
                for at in [addr, addr + POISONED + size.bytes()] {
                    if let Ok(bytes) = host.slice_mut(at, POISONED as usize) {
                        bytes.fill(POISON);
                    }
                }
                addr + POISONED
            })
            .collect();
        frames.shuffle(rng);
        Self {
            memory: Arc::clone(memory),
            base,
            len,
            list: PageList {
                size,
                pages: frames.iter().copied().map(Some).collect(),
            },
            frames,
        }
    }

    /// The same buffer as the card is told that page `index` is not there.
    ///
    /// # Panics
    /// There is no such page, or the buffer is shared.
    pub fn without(buffer: Arc<Self>, index: usize) -> Arc<Self> {
        let mut buffer = Arc::try_unwrap(buffer).expect("the buffer is not shared yet");
        buffer.list.pages[index] = None;
        Arc::new(buffer)
    }

    /// Whether nobody has written beside a page.
    pub fn poison_is_intact(&self) -> bool {
        let host = lock(&self.memory);
        self.frames.iter().all(|&frame| {
            [frame - POISONED, frame + self.list.size.bytes()]
                .into_iter()
                .all(|at| {
                    host.slice(at, POISONED as usize)
                        .is_ok_and(|bytes| bytes.iter().all(|&b| b == POISON))
                })
        })
    }

    /// Pieces of bytes `offset..offset + count`: bus address and length of each.
    fn pieces(&self, offset: usize, count: usize) -> Result<Vec<(u64, usize)>, DmaError> {
        let end = offset.checked_add(count).filter(|&end| end <= self.len);
        let end = end.ok_or(DmaError::Range {
            offset,
            count,
            len: self.len,
        })?;
        let size = self.list.size.bytes();
        let first = self.base % size;
        let (mut at, end) = (first + offset as u64, first + end as u64);
        let mut pieces = Vec::new();
        while at < end {
            let inside = at % size;
            let piece = (size - inside).min(end - at);
            pieces.push((self.frames[(at / size) as usize] + inside, piece as usize));
            at += piece;
        }
        Ok(pieces)
    }
}

fn access(error: Unmapped) -> DmaError {
    DmaError::Access(error.into())
}

impl DmaBuffer for ScatteredBuffer {
    fn iova(&self) -> u64 {
        self.base
    }

    fn pages(&self) -> Option<&PageList> {
        Some(&self.list)
    }

    fn len(&self) -> usize {
        self.len
    }

    fn read(&self, offset: usize, mut bytes: &mut [u8]) -> Result<(), DmaError> {
        let memory = lock(&self.memory);
        for (addr, count) in self.pieces(offset, bytes.len())? {
            let (piece, rest) = bytes.split_at_mut(count);
            piece.copy_from_slice(memory.slice(addr, count).map_err(access)?);
            bytes = rest;
        }
        Ok(())
    }

    fn load_acquire(&self, offset: usize) -> Result<u8, DmaError> {
        let mut byte = [0];
        self.read(offset, &mut byte)?;
        Ok(byte[0])
    }

    fn write(&self, offset: usize, mut bytes: &[u8]) -> Result<(), DmaError> {
        let mut memory = lock(&self.memory);
        for (addr, count) in self.pieces(offset, bytes.len())? {
            let (piece, rest) = bytes.split_at(count);
            let target = memory.slice_mut(addr, count).map_err(access)?;
            target.copy_from_slice(piece);
            bytes = rest;
        }
        Ok(())
    }
}

impl Drop for ScatteredBuffer {
    fn drop(&mut self) {
        let mut memory = lock(&self.memory);
        for frame in &self.frames {
            memory.release(frame - POISONED);
        }
    }
}
