//! Memory for a card behind an IOMMU. IO addresses are the process's own, so that they are unique without
//! bookkeeping.

use super::domain::Domain;
use crate::linux::buffer::{check_request, refused, MappedBuffer};
use crate::linux::pages::{PageKind, Pages, PagesError};
use crate::platform::{DmaBuffer, DmaError, DmaMemory};
use std::io;
use std::sync::Arc;

/// Log2 of the bytes of the huge pages that long buffers get when there are any.
const HUGE_LOG2: u8 = 21;

/// Memory for the card can't be had.
#[derive(Debug, thiserror::Error)]
pub enum MappingError {
    /// No memory.
    #[error(transparent)]
    Pages(#[from] PagesError),
    /// The alignment can't be had.
    #[error("the kernel gave no memory that is aligned to {align} bytes")]
    Alignment {
        /// Wanted.
        align: usize,
    },
    /// The IOMMU does not take it.
    #[error("the IOMMU does not map {len} bytes at {iova:#x}{}", hint(source))]
    Map {
        /// Bytes.
        len: usize,
        /// IO address.
        iova: u64,
        /// Why.
        #[source]
        source: io::Error,
    },
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::OutOfMemory => {
            ": raise the limit of locked memory (`ulimit -l`, or memlock in /etc/security/limits.conf)"
        }
        io::ErrorKind::InvalidInput => {
            ": it may have fewer address bits than the process; `dmesg | grep -i iommu` tells"
        }
        _ => "",
    }
}

/// Pages that the card can reach; taken away from it when dropped.
#[derive(Debug)]
struct Mapping {
    domain: Arc<Domain>,
    pages: Arc<Pages>,
    iova: u64,
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if let Err(error) = self.domain.unmap(self.iova, self.pages.len()) {
            tracing::error!(%error, iova = self.iova, "memory could not be taken away from the card; it is kept");
            std::mem::forget(Arc::clone(&self.pages));
        }
    }
}

/// Gives out memory of any length at IO addresses. The kernel keeps it in place while it is mapped, and counts it against the
/// process's limit of locked memory.
#[derive(Debug)]
pub(super) struct IommuMemory {
    domain: Arc<Domain>,
}

impl IommuMemory {
    pub(super) fn new(domain: Arc<Domain>) -> Self {
        Self { domain }
    }

    fn buffer(&self, len: usize, align: usize) -> Result<Arc<dyn DmaBuffer>, MappingError> {
        let (pages, offset) = aligned_pages(len, align)?;
        let pages = Arc::new(pages);
        let base = pages.address() as u64;
        self.domain
            .map(&pages, base)
            .map_err(|source| MappingError::Map {
                len: pages.len(),
                iova: base,
                source,
            })?;
        let mapping = Mapping {
            domain: Arc::clone(&self.domain),
            pages: Arc::clone(&pages),
            iova: base,
        };
        let iova = base + offset as u64;
        Ok(Arc::new(MappedBuffer::new(
            mapping, pages, offset, len, iova,
        )))
    }
}

/// Pages that hold `len` bytes at an aligned address, and the offset of that address.
fn aligned_pages(len: usize, align: usize) -> Result<(Pages, usize), MappingError> {
    let huge = 1 << HUGE_LOG2;
    let page = rustix::param::page_size();
    if len >= huge && align <= huge {
        if let Some(whole) = len.checked_next_multiple_of(huge) {
            // Without huge pages ordinary ones do: the IOMMU makes them contiguous.
            if let Ok(pages) = Pages::map(whole, PageKind::Huge { log2: HUGE_LOG2 }) {
                return Ok((pages, 0));
            }
        }
    }
    // Pages begin at a page; more alignment takes more of them.
    let spare = align.saturating_sub(page);
    let whole = len
        .checked_add(spare)
        .and_then(|bytes| bytes.checked_next_multiple_of(page))
        .filter(|&bytes| isize::try_from(bytes).is_ok())
        .ok_or(MappingError::Alignment { align })?;
    let pages = Pages::map(whole, PageKind::Ordinary)?;
    let address = pages.address();
    let offset = address.next_multiple_of(align) - address;
    Ok((pages, offset))
}

impl DmaMemory for IommuMemory {
    fn allocate(&self, len: usize, align: usize) -> Result<Arc<dyn DmaBuffer>, DmaError> {
        check_request(len, align)?;
        self.buffer(len, align).map_err(|error| refused(len, error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_hold_the_buffer_at_its_alignment() {
        for len in [1, 4096, 4097, 3 << 20] {
            for align in [1, 64, 4096, 1 << 16, 1 << 21, 1 << 22] {
                let (pages, offset) = aligned_pages(len, align).unwrap();
                assert_eq!((pages.address() + offset) % align, 0);
                assert!(offset + len <= pages.len());
            }
        }
    }

    #[test]
    fn impossible_sizes_are_refused() {
        for (len, align) in [(usize::MAX, 1), (1, 1 << 63), (usize::MAX - 4096, 1 << 21)] {
            assert!(aligned_pages(len, align).is_err());
        }
    }

    #[test]
    fn causes_are_told_what_to_do() {
        let text = |kind: io::ErrorKind| {
            let source = kind.into();
            MappingError::Map {
                len: 1,
                iova: 1,
                source,
            }
            .to_string()
        };
        assert!(text(io::ErrorKind::OutOfMemory).contains("ulimit -l"));
        assert!(text(io::ErrorKind::InvalidInput).contains("address bits"));
    }
}
