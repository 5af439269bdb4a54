//! Memory for a card without an IOMMU: buffers at physical addresses.

use super::arena::Arena;
use super::pagemap::{Locate, Pagemap, PagemapError};
use crate::linux::buffer::{check_request, refused, MappedBuffer};
use crate::linux::pages::{PageKind, Pages, PagesError};
use crate::lock::lock;
use crate::platform::{DmaBuffer, DmaError, DmaMemory, PageList};
use ferroce_abi::page_table::{PageSize, TABLE_ALIGN};
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Log2 of the bytes of the huge pages that are used.
const HUGE_LOG2: u8 = 21;
/// Bytes of a huge page: the longest buffer.
const HUGE_BYTES: usize = 1 << HUGE_LOG2;

/// Settings by which the kernel moves pages of ordinary size, locked or not, below `/proc/sys`.
const MOVERS: [&str; 2] = ["vm/compact_unevictable_allowed", "kernel/numa_balancing"];

/// Memory at known physical addresses can't be had.
#[derive(Debug, thiserror::Error)]
pub enum PhysicalError {
    /// The buffer is longer than any contiguous memory.
    #[error(
        "without an IOMMU a buffer has at most {HUGE_BYTES} bytes: take it from `Pd::allocate`, whose memory may lie scattered, or bind the card to vfio-pci, which has no such limit"
    )]
    TooLong,
    /// No address has this alignment.
    #[error("without an IOMMU a buffer is aligned to at most {HUGE_BYTES} bytes, not {align}")]
    Alignment {
        /// Wanted.
        align: usize,
    },
    /// Neither huge nor ordinary pages give this buffer.
    #[error(
        "no huge page is free, and ordinary pages are not contiguous or aligned as this buffer needs: reserve huge pages, \
         `echo 64 > /proc/sys/vm/nr_hugepages`, or bind the card to vfio-pci"
    )]
    Scattered {
        /// Why there is no huge page.
        #[source]
        huge: PagesError,
    },
    /// The kernel may move ordinary pages while the card uses them.
    #[error(
        "no huge page is free, and the kernel may move ordinary pages: reserve huge pages, \
         `echo 64 > /proc/sys/vm/nr_hugepages`, or `echo 0 > {}`, or bind the card to vfio-pci", setting.display()
    )]
    Movable {
        /// Why there is no huge page.
        #[source]
        huge: PagesError,
        /// Setting that lets the kernel move them.
        setting: PathBuf,
    },
    /// A setting of the kernel can't be read.
    #[error("{} can't be read", path.display())]
    Setting {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Memory.
    #[error(transparent)]
    Pages(#[from] PagesError),
    /// Zeroing failed.
    #[error(transparent)]
    Access(#[from] DmaError),
    /// Physical addresses.
    #[error(transparent)]
    Pagemap(#[from] PagemapError),
}

/// A huge page and who uses it.
#[derive(Debug)]
struct Chunk {
    pages: Arc<Pages>,
    arena: Mutex<Arena>,
}

/// Part of a huge page; free again when dropped.
#[derive(Debug)]
struct Slot {
    chunk: Arc<Chunk>,
    range: Range<usize>,
}

impl Drop for Slot {
    fn drop(&mut self) {
        lock(&self.chunk.arena).give_back(&self.range);
    }
}

/// Gives out memory by physical address, from huge pages of 2 MiB, or ordinary pages when there are none and the kernel
/// does not move them.
#[derive(Debug)]
pub(super) struct PhysicalMemory<L = Pagemap> {
    locate: L,
    kind: PageKind,
    proc: PathBuf,
    chunks: Mutex<Vec<Arc<Chunk>>>,
}

impl PhysicalMemory {
    /// Asks below `proc`, where procfs is mounted, for addresses and settings.
    pub(super) fn new(proc: &Path) -> Result<Self, PagemapError> {
        let kind = PageKind::Huge { log2: HUGE_LOG2 };
        Ok(Self::with(Pagemap::open(proc)?, kind, proc))
    }
}

impl<L: Locate> PhysicalMemory<L> {
    /// With chunks in pages of `kind`.
    fn with(locate: L, kind: PageKind, proc: &Path) -> Self {
        Self {
            locate,
            kind,
            proc: proc.into(),
            chunks: Mutex::new(Vec::new()),
        }
    }

    fn buffer(&self, len: usize, align: usize) -> Result<Arc<dyn DmaBuffer>, PhysicalError> {
        if len > HUGE_BYTES {
            return Err(PhysicalError::TooLong);
        }
        if align > HUGE_BYTES {
            return Err(PhysicalError::Alignment { align });
        }
        let mut chunks = lock(&self.chunks);
        let found = chunks
            .iter()
            .find_map(|chunk| Self::slot(chunk, len, align));
        let slot = match found {
            Some(slot) => slot,
            None => match Pages::map(HUGE_BYTES, self.kind) {
                Ok(pages) => {
                    let chunk = Arc::new(self.chunk(pages)?);
                    let slot = Self::slot(&chunk, len, align);
                    chunks.push(chunk);
                    slot.ok_or(PhysicalError::Alignment { align })?
                }
                Err(huge) => return self.ordinary(len, align, huge),
            },
        };
        let iova = lock(&slot.chunk.arena).base() + slot.range.start as u64;
        let (pages, offset) = (Arc::clone(&slot.chunk.pages), slot.range.start);
        pages.zero(offset, len)?;
        Ok(Arc::new(MappedBuffer::new(slot, pages, offset, len, iova)))
    }

    fn chunk(&self, pages: Pages) -> Result<Chunk, PhysicalError> {
        pages.lock()?;
        // A huge page is contiguous in itself.
        let base = self.locate.physical(pages.address())?;
        Ok(Chunk {
            arena: Mutex::new(Arena::new(base, pages.len())),
            pages: Arc::new(pages),
        })
    }

    fn slot(chunk: &Arc<Chunk>, len: usize, align: usize) -> Option<Slot> {
        let range = lock(&chunk.arena).take(len, align)?;
        Some(Slot {
            chunk: Arc::clone(chunk),
            range,
        })
    }

    /// A buffer in pages of its own; `huge` is why there is no huge page.
    fn ordinary(
        &self,
        len: usize,
        align: usize,
        huge: PagesError,
    ) -> Result<Arc<dyn DmaBuffer>, PhysicalError> {
        if let Some(setting) = self.mover()? {
            return Err(PhysicalError::Movable { huge, setting });
        }
        let page = rustix::param::page_size();
        let pages = Pages::map(len.next_multiple_of(page), PageKind::Ordinary)?;
        pages.lock()?;
        let iova = self.locate.physical(pages.address())?;
        let mut contiguous = iova % align as u64 == 0;
        for at in (page..pages.len()).step_by(page) {
            contiguous &= self.locate.physical(pages.address() + at)? == iova + at as u64;
        }
        if !contiguous {
            return Err(PhysicalError::Scattered { huge });
        }
        Ok(Arc::new(MappedBuffer::new(
            (),
            Arc::new(pages),
            0,
            len,
            iova,
        )))
    }

    /// Memory in pages of its own, wherever they lie: huge ones, or ordinary ones if there are none. Both begin at a page.
    fn scattered(&self, len: usize) -> Result<Arc<dyn DmaBuffer>, PhysicalError> {
        let (pages, size) = match Pages::map(len.next_multiple_of(HUGE_BYTES), self.kind) {
            Ok(pages) => (pages, PageSize::M2),
            Err(huge) => {
                if let Some(setting) = self.mover()? {
                    return Err(PhysicalError::Movable { huge, setting });
                }
                let page = rustix::param::page_size();
                let pages = Pages::map(len.next_multiple_of(page), PageKind::Ordinary)?;
                (pages, PageSize::K4)
            }
        };
        pages.lock()?;
        let list = (0..pages.len())
            .step_by(size.bytes() as usize)
            .map(|at| self.locate.physical(pages.address() + at).map(Some))
            .collect::<Result<_, _>>()?;
        let list = PageList { size, pages: list };
        Ok(Arc::new(MappedBuffer::scattered(
            (),
            Arc::new(pages),
            len,
            list,
        )))
    }

    /// A setting that lets the kernel move ordinary pages. A kernel without the file does not do what it controls.
    fn mover(&self) -> Result<Option<PathBuf>, PhysicalError> {
        for name in MOVERS {
            let path = self.proc.join("sys").join(name);
            match fs::read_to_string(&path) {
                Ok(text) if text.trim() == "0" => {}
                Ok(_) => return Ok(Some(path)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(source) => return Err(PhysicalError::Setting { path, source }),
            }
        }
        Ok(None)
    }
}

impl<L: Locate> DmaMemory for PhysicalMemory<L> {
    fn allocate(&self, len: usize, align: usize) -> Result<Arc<dyn DmaBuffer>, DmaError> {
        check_request(len, align)?;
        self.buffer(len, align).map_err(|error| refused(len, error))
    }

    /// In one piece if it can be had, which needs no page table.
    fn allocate_pages(&self, len: usize) -> Result<Arc<dyn DmaBuffer>, DmaError> {
        let align = TABLE_ALIGN as usize;
        check_request(len, align)?;
        match self.buffer(len, align) {
            Err(PhysicalError::TooLong | PhysicalError::Scattered { .. }) => self.scattered(len),
            buffer => buffer,
        }
        .map_err(|error| refused(len, error))
    }
}

#[cfg(test)]
mod tests;
