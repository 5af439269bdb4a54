//! Memory of the process that a card may access.
#![allow(
    unsafe_code,
    reason = "memory that the card changes is reached through raw pointers"
)]

use super::barrier;
use crate::platform::DmaError;
use memmap2::{Advice, MmapOptions, MmapRaw};
use std::io;
use std::ptr;

/// Memory can't be had.
#[derive(Debug, thiserror::Error)]
pub enum PagesError {
    /// The kernel gives none.
    #[error("mapping {len} bytes in {kind} failed")]
    Map {
        /// Bytes.
        len: usize,
        /// Kind of pages.
        kind: PageKind,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It can't be locked.
    #[error(
        "{len} bytes can't be locked in memory: raise the limit (`ulimit -l`, or memlock in \
         /etc/security/limits.conf) or free memory"
    )]
    Lock {
        /// Bytes.
        len: usize,
        /// Why.
        #[source]
        source: io::Error,
    },
}

/// Kind of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageKind {
    /// The processor's base pages.
    Ordinary,
    /// Huge pages of `2^log2` bytes.
    Huge {
        /// Log2 of a page's bytes.
        log2: u8,
    },
}

impl std::fmt::Display for PageKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ordinary => write!(f, "ordinary pages"),
            Self::Huge { log2 } => write!(f, "huge pages of {} bytes", 1_u64 << log2),
        }
    }
}

/// Zeroed memory of its own, which children of the process don't get.
#[derive(Debug)]
pub(super) struct Pages {
    map: MmapRaw,
}

impl Pages {
    /// Maps `len` bytes, a multiple of the page size.
    pub(super) fn map(len: usize, kind: PageKind) -> Result<Self, PagesError> {
        let mut options = MmapOptions::new();
        options.len(len);
        if let PageKind::Huge { log2 } = kind {
            options.huge(Some(log2));
        }
        let fail = |source| PagesError::Map { len, kind, source };
        let map = MmapRaw::from(options.map_anon().map_err(fail)?);
        // A fork would make pages copy-on-write: the process could get a copy and the card keep the old page.
        map.advise(Advice::DontFork).map_err(fail)?;
        Ok(Self { map })
    }

    /// Makes all pages present and keeps them in memory. This alone does not keep them where they are.
    pub(super) fn lock(&self) -> Result<(), PagesError> {
        self.map.lock().map_err(|source| PagesError::Lock {
            len: self.len(),
            source,
        })
    }

    /// Bytes.
    pub(super) fn len(&self) -> usize {
        self.map.len()
    }

    /// Virtual address of the first byte.
    pub(super) fn address(&self) -> usize {
        self.map.as_ptr().addr()
    }

    fn check(&self, offset: usize, count: usize) -> Result<(), DmaError> {
        let len = self.len();
        match offset.checked_add(count) {
            Some(end) if end <= len => Ok(()),
            _ => Err(DmaError::Range { offset, count, len }),
        }
    }

    /// Copies bytes out.
    pub(super) fn read(&self, offset: usize, bytes: &mut [u8]) -> Result<(), DmaError> {
        self.check(offset, bytes.len())?;
        let (head, words) = split(offset, bytes.len());
        // SAFETY: `check` keeps all accesses inside the mapping, which lives as long as `self`.
        let from = unsafe { self.map.as_ptr().add(offset) };
        for (i, byte) in bytes[..head].iter_mut().enumerate() {
            // SAFETY: `i < head <= bytes.len()`, inside as above; any byte is valid.
            *byte = unsafe { ptr::read_volatile(from.add(i)) };
        }
        let (middle, tail) = bytes[head..].split_at_mut(words * WORD);
        for (i, chunk) in middle.chunks_exact_mut(WORD).enumerate() {
            // SAFETY: inside as above, and `offset + head` is a multiple of a word, as is the mapping's address.
            let word = unsafe { ptr::read_volatile(from.add(head + i * WORD).cast::<u64>()) };
            chunk.copy_from_slice(&word.to_ne_bytes());
        }
        for (i, byte) in tail.iter_mut().enumerate() {
            // SAFETY: as for the head.
            *byte = unsafe { ptr::read_volatile(from.add(head + words * WORD + i)) };
        }
        Ok(())
    }

    /// Reads a byte; later reads see what the card wrote before it wrote this one.
    pub(super) fn load_acquire(&self, offset: usize) -> Result<u8, DmaError> {
        let mut byte = [0];
        self.read(offset, &mut byte)?;
        barrier::after_card_read();
        Ok(byte[0])
    }

    /// Copies bytes in.
    pub(super) fn write(&self, offset: usize, bytes: &[u8]) -> Result<(), DmaError> {
        self.check(offset, bytes.len())?;
        let (head, words) = split(offset, bytes.len());
        // SAFETY: `check` keeps all accesses inside the mapping, which lives as long as `self` and is writable; no Rust
        // reference points into it.
        let to = unsafe { self.map.as_mut_ptr().add(offset) };
        for (i, &byte) in bytes[..head].iter().enumerate() {
            // SAFETY: `i < head <= bytes.len()`, inside as above.
            unsafe { ptr::write_volatile(to.add(i), byte) };
        }
        let (middle, tail) = bytes[head..].split_at(words * WORD);
        for (i, chunk) in middle.chunks_exact(WORD).enumerate() {
            let mut word = [0; WORD];
            word.copy_from_slice(chunk);
            let word = u64::from_ne_bytes(word);
            // SAFETY: inside as above, and `offset + head` is a multiple of a word, as is the mapping's address.
            unsafe { ptr::write_volatile(to.add(head + i * WORD).cast::<u64>(), word) };
        }
        for (i, &byte) in tail.iter().enumerate() {
            // SAFETY: as for the head.
            unsafe { ptr::write_volatile(to.add(head + words * WORD + i), byte) };
        }
        Ok(())
    }

    /// Zeroes bytes.
    pub(super) fn zero(&self, offset: usize, count: usize) -> Result<(), DmaError> {
        const ZEROS: [u8; 4096] = [0; 4096];
        self.check(offset, count)?;
        (offset..offset + count)
            .step_by(ZEROS.len())
            .try_for_each(|at| self.write(at, &ZEROS[..ZEROS.len().min(offset + count - at)]))
    }
}

/// Bytes of a word copy.
const WORD: usize = 8;

/// Bytes before the first whole word of an access, and its whole words.
fn split(offset: usize, count: usize) -> (usize, usize) {
    let head = (offset.next_multiple_of(WORD) - offset).min(count);
    (head, (count - head) / WORD)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> usize {
        rustix::param::page_size()
    }

    #[test]
    fn every_alignment_and_length_is_copied() {
        let pages = Pages::map(page(), PageKind::Ordinary).unwrap();
        let pattern: Vec<u8> = (1..=40).collect();
        for offset in 0..16 {
            for count in 0..=pattern.len() {
                pages.zero(0, 128).unwrap();
                pages.write(offset, &pattern[..count]).unwrap();
                let mut all = [0xFF; 128];
                pages.read(0, &mut all).unwrap();
                let mut expected = [0; 128];
                expected[offset..offset + count].copy_from_slice(&pattern[..count]);
                assert_eq!(all, expected);
                let mut part = vec![0xFF; count];
                pages.read(offset, &mut part).unwrap();
                assert_eq!(part, pattern[..count]);
            }
        }
    }

    #[test]
    fn zeroing_leaves_the_rest() {
        let pages = Pages::map(3 * page(), PageKind::Ordinary).unwrap();
        let len = pages.len();
        pages.write(0, &vec![7; len]).unwrap();
        pages.zero(5, len - 9).unwrap();
        let mut all = vec![1; len];
        pages.read(0, &mut all).unwrap();
        assert_eq!(all[..5], [7; 5]);
        assert!(all[5..len - 4].iter().all(|&b| b == 0));
        assert_eq!(all[len - 4..], [7; 4]);
    }

    #[test]
    fn accesses_outside_are_refused() {
        let pages = Pages::map(page(), PageKind::Ordinary).unwrap();
        let refused = |result: Result<(), DmaError>| {
            assert!(matches!(result, Err(DmaError::Range { len, .. }) if len == page()));
        };
        refused(pages.read(page(), &mut [0]));
        refused(pages.write(page() - 1, &[0; 2]));
        refused(pages.write(usize::MAX, &[0]));
        refused(pages.zero(1, page()));
        refused(pages.load_acquire(page()).map(drop));
        pages.read(page(), &mut []).unwrap();
    }

    /// Whether the kernel keeps the page at `address` locked: flag `lo` of its mapping.
    fn is_locked(address: usize) -> bool {
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut inside = false;
        for line in maps.lines() {
            let first = line.split_whitespace().next().unwrap_or_default();
            if let Some((start, end)) = first.split_once('-') {
                let number = |text| usize::from_str_radix(text, 16).unwrap();
                inside = (number(start)..number(end)).contains(&address);
            } else if inside && first == "VmFlags:" {
                return line.split_whitespace().any(|flag| flag == "lo");
            }
        }
        panic!("{address:#x} is not mapped");
    }

    #[test]
    fn a_page_is_locked() {
        let pages = Pages::map(page(), PageKind::Ordinary).unwrap();
        assert!(!is_locked(pages.address()));
        pages.lock().unwrap();
        assert!(is_locked(pages.address()));
    }

    #[test]
    fn huge_pages_of_an_impossible_size_fail() {
        let kind = PageKind::Huge { log2: 50 };
        let error = Pages::map(1 << 21, kind).unwrap_err();
        assert!(matches!(error, PagesError::Map { kind: k, .. } if k == kind));
        assert!(error.to_string().contains("huge pages of"));
    }
}
