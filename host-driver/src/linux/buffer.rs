//! Buffers that share memory of the process with a card.

use super::pages::Pages;
use crate::platform::{DmaBuffer, DmaError, PageList};
use std::error::Error as StdError;
use std::fmt::Debug;
use std::sync::Arc;

/// A request that no memory answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a buffer has at least one byte and is aligned to a power of two, not {len} bytes aligned to {align}")]
pub struct BadRequest {
    /// Bytes.
    pub len: usize,
    /// Alignment.
    pub align: usize,
}

/// Checks what [`crate::DmaMemory::allocate`] demands.
pub(super) fn check_request(len: usize, align: usize) -> Result<(), DmaError> {
    if len == 0 || !align.is_power_of_two() {
        return Err(refused(len, BadRequest { len, align }));
    }
    Ok(())
}

/// An allocation that failed.
pub(super) fn refused(len: usize, source: impl StdError + Send + Sync + 'static) -> DmaError {
    DmaError::Allocate {
        len,
        source: Box::new(source),
    }
}

/// Part of some pages at an IO address. `G` takes the address away from the card when dropped, before the pages go.
#[derive(Debug)]
pub(super) struct MappedBuffer<G> {
    _guard: G,
    pages: Arc<Pages>,
    offset: usize,
    len: usize,
    iova: u64,
    list: Option<PageList>,
}

impl<G> MappedBuffer<G> {
    /// Of the `len` bytes at `offset` in `pages`, which are at `iova` for the card.
    pub(super) fn new(guard: G, pages: Arc<Pages>, offset: usize, len: usize, iova: u64) -> Self {
        debug_assert!(offset + len <= pages.len());
        Self {
            _guard: guard,
            pages,
            offset,
            len,
            iova,
            list: None,
        }
    }

    /// Of the first `len` bytes of `pages`, which lie where `list` says.
    pub(super) fn scattered(guard: G, pages: Arc<Pages>, len: usize, list: PageList) -> Self {
        let iova = pages.address() as u64;
        Self {
            list: Some(list),
            ..Self::new(guard, pages, 0, len, iova)
        }
    }

    fn at(&self, offset: usize, count: usize) -> Result<usize, DmaError> {
        match offset.checked_add(count) {
            Some(end) if end <= self.len => Ok(self.offset + offset),
            _ => Err(DmaError::Range {
                offset,
                count,
                len: self.len,
            }),
        }
    }
}

impl<G: Debug + Send + Sync> DmaBuffer for MappedBuffer<G> {
    fn iova(&self) -> u64 {
        self.iova
    }

    fn pages(&self) -> Option<&PageList> {
        self.list.as_ref()
    }

    fn len(&self) -> usize {
        self.len
    }

    fn read(&self, offset: usize, bytes: &mut [u8]) -> Result<(), DmaError> {
        self.pages.read(self.at(offset, bytes.len())?, bytes)
    }

    fn load_acquire(&self, offset: usize) -> Result<u8, DmaError> {
        self.pages.load_acquire(self.at(offset, 1)?)
    }

    fn write(&self, offset: usize, bytes: &[u8]) -> Result<(), DmaError> {
        self.pages.write(self.at(offset, bytes.len())?, bytes)
    }
}
