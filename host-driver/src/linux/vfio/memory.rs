//! Memory for a card behind an IOMMU, at IO addresses of the driver's choice.

use super::domain::{Domain, MapError};
use crate::linux::buffer::{check_request, refused, MappedBuffer};
use crate::linux::pages::{PageKind, Pages, PagesError};
use crate::platform::{DmaBuffer, DmaError, DmaMemory};
use std::io;
use std::sync::Arc;

/// Log2 of the bytes of the huge pages that long buffers get when there are any.
const HUGE_LOG2: u8 = 21;
/// Their bytes.
const HUGE_BYTES: usize = 1 << HUGE_LOG2;

/// Memory for the card can't be had.
#[derive(Debug, thiserror::Error)]
pub enum MappingError {
    /// No memory.
    #[error(transparent)]
    Pages(#[from] PagesError),
    /// More bytes than any memory has.
    #[error("{len} bytes are more than a process can have")]
    TooLong {
        /// Bytes.
        len: usize,
    },
    /// No IO addresses are free.
    #[error("no {len} IO addresses aligned to {align} are free")]
    Full {
        /// Bytes.
        len: usize,
        /// Wanted alignment.
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
        if let Err(error) = self.domain.unmap(&self.pages, self.iova) {
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
        let pages = Arc::new(pages(len)?);
        let iova = self
            .domain
            .map(&pages, io_align(pages.len(), align))
            .map_err(|error| match error {
                MapError::Full => MappingError::Full { len, align },
                MapError::Refused { iova, source } => MappingError::Map { len, iova, source },
            })?;
        let mapping = Mapping {
            domain: Arc::clone(&self.domain),
            pages: Arc::clone(&pages),
            iova,
        };
        Ok(Arc::new(MappedBuffer::new(mapping, pages, 0, len, iova)))
    }
}

/// Alignment of the IO address of `len` bytes of pages. An IOMMU maps a huge page in one piece only when both of its addresses are
/// aligned to it.
fn io_align(len: usize, align: usize) -> u64 {
    let least = if len >= HUGE_BYTES {
        HUGE_BYTES
    } else {
        rustix::param::page_size()
    };
    align.max(least) as u64
}

/// Pages that hold `len` bytes.
fn pages(len: usize) -> Result<Pages, MappingError> {
    let rounded = |unit| {
        len.checked_next_multiple_of(unit)
            .filter(|&bytes| isize::try_from(bytes).is_ok())
            .ok_or(MappingError::TooLong { len })
    };
    if len >= HUGE_BYTES {
        // Without huge pages ordinary ones do: the IOMMU makes them contiguous.
        let kind = PageKind::Huge { log2: HUGE_LOG2 };
        if let Ok(pages) = Pages::map(rounded(HUGE_BYTES)?, kind) {
            return Ok(pages);
        }
    }
    let whole = rounded(rustix::param::page_size())?;
    Ok(Pages::map(whole, PageKind::Ordinary)?)
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
    fn pages_hold_the_buffer() {
        let page = rustix::param::page_size();
        for len in [1, page, page + 1, HUGE_BYTES - 1, HUGE_BYTES, 3 << 20] {
            let whole = pages(len).unwrap().len();
            assert!(whole >= len && whole % page == 0, "{whole}");
        }
    }

    #[test]
    fn impossible_lengths_are_refused() {
        for len in [usize::MAX, usize::MAX - HUGE_BYTES, isize::MAX as usize] {
            assert!(matches!(
                pages(len),
                Err(MappingError::TooLong { len: l }) if l == len
            ));
        }
        // Possible as a number only.
        assert!(matches!(pages(1 << 60), Err(MappingError::Pages(_))));
    }

    #[test]
    fn io_addresses_are_aligned_to_pages_and_what_is_asked_for() {
        let page = rustix::param::page_size();
        assert_eq!(io_align(page, 1), page as u64);
        assert_eq!(io_align(page, 8 * HUGE_BYTES), 8 * HUGE_BYTES as u64);
        assert_eq!(io_align(HUGE_BYTES, page), HUGE_BYTES as u64);
    }

    #[test]
    fn a_limit_is_told_from_other_causes() {
        let text = |kind: io::ErrorKind| {
            let error = MappingError::Map {
                len: 1,
                iova: 1,
                source: kind.into(),
            };
            error.to_string()
        };
        assert!(text(io::ErrorKind::OutOfMemory).contains("ulimit -l"));
        assert!(!text(io::ErrorKind::InvalidInput).contains("ulimit -l"));
    }
}
