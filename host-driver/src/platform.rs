//! What the driver needs of the machine it runs on: registers and memory that the card reaches. A simulator and
//! a real card each implement these traits; nothing else of the driver knows which one it is.

use ferroce_abi::page_table::{PageSize, TABLE_ALIGN};
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

type Source = Box<dyn StdError + Send + Sync>;

/// A BAR access failed.
#[derive(Debug, thiserror::Error)]
#[error("access to BAR offset {offset:#x} failed")]
pub struct BarError {
    /// Byte offset.
    pub offset: u64,
    /// Why.
    #[source]
    pub source: Source,
}

/// Memory for the card is not to be had, or an access leaves it.
#[derive(Debug, thiserror::Error)]
pub enum DmaError {
    /// Allocation failed.
    #[error("{len} bytes of memory for the card could not be allocated")]
    Allocate {
        /// Bytes.
        len: usize,
        /// Why.
        #[source]
        source: Source,
    },
    /// An access leaves the buffer.
    #[error("bytes {offset}..{end} leave a buffer of {len} bytes", end = offset.saturating_add(*count))]
    Range {
        /// First byte of the access.
        offset: usize,
        /// Bytes of the access.
        count: usize,
        /// Bytes of the buffer.
        len: usize,
    },
    /// The memory could not be accessed.
    #[error("memory of the card could not be accessed")]
    Access(#[source] Source),
}

/// Interrupts can't be waited for.
#[derive(Debug, thiserror::Error)]
#[error("interrupts of vector {vector} can't be waited for")]
pub struct WaitError {
    /// The vector.
    pub vector: u8,
    /// Why.
    #[source]
    pub source: Source,
}

/// The card's interrupts, by MSI-X vector.
///
/// When a wait has returned, reads of the same thread see what the card wrote before it interrupted.
pub trait Interrupts: fmt::Debug + Send + Sync {
    /// Waits until the card has interrupted with `vector` since the last call, at most `timeout`. Returns how often it has,
    /// 0 when the time has passed. In a simulation it is simulated time.
    ///
    /// # Errors
    /// [`WaitError`] when there is no such vector or it can't be waited for.
    fn wait(&self, vector: u8, timeout: Duration) -> Result<u64, WaitError>;
}

/// The card's registers (BAR 0). Offsets are aligned to the access width.
///
/// Accesses reach the card in program order. A write is ordered behind every earlier [`DmaBuffer::write`]
/// of the same thread: the card that reads memory because of a doorbell sees what was written before it. In
/// a simulation every read lets time pass.
pub trait Bar: fmt::Debug + Send + Sync {
    /// Reads 32 bits.
    ///
    /// # Errors
    /// [`BarError`] when the card can't be reached.
    fn read32(&self, offset: u64) -> Result<u32, BarError>;

    /// Reads 64 bits.
    ///
    /// # Errors
    /// [`BarError`] when the card can't be reached.
    fn read64(&self, offset: u64) -> Result<u64, BarError>;

    /// Writes 32 bits.
    ///
    /// # Errors
    /// [`BarError`] when the card can't be reached.
    fn write32(&self, offset: u64, value: u32) -> Result<(), BarError>;

    /// Writes 64 bits in one piece.
    ///
    /// # Errors
    /// [`BarError`] when the card can't be reached.
    fn write64(&self, offset: u64, value: u64) -> Result<(), BarError>;

    /// Writes 64 bytes, at an offset that is a multiple of 64, in one packet where the machine can do so; else as eight
    /// writes, ascending.
    ///
    /// # Errors
    /// [`BarError`] when the card can't be reached. Some of the words may have been written.
    fn push64(&self, offset: u64, words: &[u64; 8]) -> Result<(), BarError> {
        words
            .iter()
            .zip((offset..).step_by(8))
            .try_for_each(|(&word, at)| self.write64(at, word))
    }
}

/// Gives out memory that the card can reach.
pub trait DmaMemory: fmt::Debug + Send + Sync {
    /// `len` zeroed bytes (at least 1) at an IO address that is a multiple of `align`, a power of two. They stay in place
    /// until the buffer is dropped.
    ///
    /// # Errors
    /// [`DmaError::Allocate`].
    fn allocate(&self, len: usize, align: usize) -> Result<Arc<dyn DmaBuffer>, DmaError>;

    /// `len` zeroed bytes (at least 1) for a memory region of a card with page tables: they may lie scattered, see
    /// [`DmaBuffer::pages`]. They begin at the beginning of a 4 KiB page.
    ///
    /// # Errors
    /// [`DmaError::Allocate`].
    fn allocate_pages(&self, len: usize) -> Result<Arc<dyn DmaBuffer>, DmaError> {
        self.allocate(len, TABLE_ALIGN as usize)
    }
}

/// Where the pages of scattered memory lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageList {
    /// Size of all pages.
    pub size: PageSize,
    /// Their bus addresses, multiples of the size; the first page is that of the buffer's first byte. The card refuses accesses to a page that is not
    /// there.
    pub pages: Vec<Option<u64>>,
}

/// Memory that the driver shares with the card. It is accessed by copying, as the card may change it at
/// any time.
pub trait DmaBuffer: fmt::Debug + Send + Sync {
    /// IO address of the first byte: what the card uses. Of memory with [`Self::pages`] it is any virtual address with the same place in
    /// its page.
    fn iova(&self) -> u64;

    /// Where the memory lies if not in one piece at [`Self::iova`]. Such memory is for memory regions only, and its pages stay where they are.
    fn pages(&self) -> Option<&PageList> {
        None
    }

    /// Bytes.
    fn len(&self) -> usize;

    /// Whether there are no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Copies bytes out.
    ///
    /// # Errors
    /// [`DmaError::Range`], [`DmaError::Access`].
    fn read(&self, offset: usize, bytes: &mut [u8]) -> Result<(), DmaError>;

    /// Reads one byte; later reads of the same thread see what the card wrote before it wrote this byte.
    ///
    /// # Errors
    /// [`DmaError::Range`], [`DmaError::Access`].
    fn load_acquire(&self, offset: usize) -> Result<u8, DmaError>;

    /// Copies bytes in.
    ///
    /// # Errors
    /// [`DmaError::Range`], [`DmaError::Access`].
    fn write(&self, offset: usize, bytes: &[u8]) -> Result<(), DmaError>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// Notes 64-bit writes, and refuses those from an offset on.
    #[derive(Debug)]
    struct Notes {
        written: Mutex<Vec<(u64, u64)>>,
        end: u64,
    }

    impl Notes {
        fn refuse<T>(offset: u64) -> Result<T, BarError> {
            let source = "not there".into();
            Err(BarError { offset, source })
        }
    }

    impl Bar for Notes {
        fn read32(&self, offset: u64) -> Result<u32, BarError> {
            Self::refuse(offset)
        }

        fn read64(&self, offset: u64) -> Result<u64, BarError> {
            Self::refuse(offset)
        }

        fn write32(&self, offset: u64, _: u32) -> Result<(), BarError> {
            Self::refuse(offset)
        }

        fn write64(&self, offset: u64, value: u64) -> Result<(), BarError> {
            if offset >= self.end {
                return Self::refuse(offset);
            }
            self.written.lock().unwrap().push((offset, value));
            Ok(())
        }
    }

    #[test]
    fn a_push_is_eight_ascending_writes() {
        let bar = Notes {
            written: Mutex::default(),
            end: 0x110,
        };
        let words = [10, 11, 12, 13, 14, 15, 16, 17];
        bar.push64(0x40, &words).unwrap();
        let expected: Vec<_> = (0x40..0x80).step_by(8).zip(10..).collect();
        assert_eq!(std::mem::take(&mut *bar.written.lock().unwrap()), expected);
        let error = bar.push64(0x100, &words).unwrap_err();
        assert_eq!(error.offset, 0x110);
        assert_eq!(*bar.written.lock().unwrap(), [(0x100, 10), (0x108, 11)]);
    }
}
