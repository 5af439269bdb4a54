//! A BAR that is mapped into the process.
#![allow(unsafe_code, reason = "registers are reached through raw pointers")]

use super::barrier;
use crate::platform::{Bar, BarError};
use ferroce_abi::regs::MAGIC;
use memmap2::{MmapOptions, MmapRaw};
use std::fmt::Debug;
use std::fs::File;
use std::io;
use std::ptr;

/// Why an access to a mapped BAR failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MmioError {
    /// It leaves the BAR.
    #[error("{width} bytes there leave a BAR of {len} bytes")]
    Range {
        /// Bytes of the access.
        width: usize,
        /// Bytes of the BAR.
        len: usize,
    },
    /// It is not aligned.
    #[error("an access of {width} bytes must be aligned to them")]
    Alignment {
        /// Bytes of the access.
        width: usize,
    },
    /// The card does not answer: every register reads as ones.
    #[error(
        "the card does not answer: it was removed, reset or given another bitstream; open it again"
    )]
    Gone,
}

/// Maps `len` bytes of a file, shared.
pub(super) fn map(file: &File, offset: u64, len: usize) -> io::Result<MmapRaw> {
    let map = MmapOptions::new().offset(offset).len(len).map_raw(file)?;
    // A child has no business with the card.
    map.advise(memmap2::Advice::DontFork)?;
    Ok(map)
}

/// A mapped BAR. `K` is what must live as long as the mapping.
#[derive(Debug)]
pub(super) struct Window<K> {
    plain: MmapRaw,
    /// The same bytes, for combined writes.
    combined: Option<MmapRaw>,
    _keep: K,
}

impl<K> Window<K> {
    /// `combined` is at least as long as `plain`.
    pub(super) fn new(plain: MmapRaw, combined: Option<MmapRaw>, keep: K) -> Self {
        debug_assert!(combined.as_ref().is_none_or(|c| c.len() >= plain.len()));
        Self {
            plain,
            combined,
            _keep: keep,
        }
    }

    /// `offset` as an offset into either mapping at which `width` aligned bytes are.
    fn check(&self, offset: u64, width: usize) -> Result<usize, BarError> {
        let len = self.plain.len();
        let fail = |source: MmioError| BarError {
            offset,
            source: source.into(),
        };
        let at = usize::try_from(offset)
            .ok()
            .filter(|at| at.checked_add(width).is_some_and(|end| end <= len))
            .ok_or_else(|| fail(MmioError::Range { width, len }))?;
        if at % width != 0 {
            return Err(fail(MmioError::Alignment { width }));
        }
        Ok(at)
    }

    /// Reads a register whose width is that of `T`, an unsigned integer of 4 or 8 bytes.
    fn read<T: Copy>(&self, offset: u64) -> Result<T, BarError> {
        let at = self.check(offset, size_of::<T>())?;
        // SAFETY: `check` keeps the access inside the mapping, which lives as long as `self`, and aligned: mappings begin at
        // page borders. Any bytes are a valid integer. Volatile: it is done once, and not torn at these widths.
        let value = unsafe { ptr::read_volatile(self.plain.as_ptr().add(at).cast::<T>()) };
        barrier::after_card_read();
        Ok(value)
    }

    fn write<T: Copy>(&self, offset: u64, value: T) -> Result<(), BarError> {
        let at = self.check(offset, size_of::<T>())?;
        barrier::before_register_write();
        // SAFETY: as in `read`; the mapping is writable and no Rust reference points into it.
        unsafe { ptr::write_volatile(self.plain.as_mut_ptr().add(at).cast::<T>(), value) };
        Ok(())
    }

    /// Fails when a read gave ones only and the magic register does so too.
    fn check_alive(&self, offset: u64, ones: bool) -> Result<(), BarError> {
        if ones && self.read::<u32>(MAGIC)? == u32::MAX {
            return Err(BarError {
                offset,
                source: MmioError::Gone.into(),
            });
        }
        Ok(())
    }
}

impl<K: Debug + Send + Sync> Bar for Window<K> {
    fn read32(&self, offset: u64) -> Result<u32, BarError> {
        let value = self.read(offset)?;
        self.check_alive(offset, value == u32::MAX)?;
        Ok(value)
    }

    fn read64(&self, offset: u64) -> Result<u64, BarError> {
        let value = self.read(offset)?;
        self.check_alive(offset, value == u64::MAX)?;
        Ok(value)
    }

    fn write32(&self, offset: u64, value: u32) -> Result<(), BarError> {
        self.write(offset, value)
    }

    fn write64(&self, offset: u64, value: u64) -> Result<(), BarError> {
        self.write(offset, value)
    }

    fn push64(&self, offset: u64, words: &[u64; 8]) -> Result<(), BarError> {
        let at = self.check(offset, size_of_val(words))?;
        let target = self.combined.as_ref().unwrap_or(&self.plain);
        barrier::before_register_write();
        barrier::flush_combined();
        for (i, &word) in words.iter().enumerate() {
            // SAFETY: `check` keeps all eight words inside both mappings, which live as long as `self`, and aligned.
            unsafe { ptr::write_volatile(target.as_mut_ptr().add(at + i * 8).cast::<u64>(), word) };
        }
        barrier::flush_combined();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::FileExt;

    const LEN: usize = 0x2000;

    fn window(combined: bool) -> (Window<()>, File) {
        let file = tempfile::tempfile().unwrap();
        file.set_len(LEN as u64).unwrap();
        let second = combined.then(|| map(&file, 0, LEN).unwrap());
        (Window::new(map(&file, 0, LEN).unwrap(), second, ()), file)
    }

    fn cause(error: BarError) -> MmioError {
        *error.source.downcast().unwrap()
    }

    #[test]
    fn accesses_reach_the_mapped_file() {
        let (window, file) = window(false);
        window.write32(0x44, 0x0403_0201).unwrap();
        window.write64(0x1008, 0x0807_0605_0403_0201).unwrap();
        let mut bytes = [0; 8];
        file.read_exact_at(&mut bytes, 0x44).unwrap();
        assert_eq!(bytes, [1, 2, 3, 4, 0, 0, 0, 0]);
        file.read_exact_at(&mut bytes, 0x1008).unwrap();
        assert_eq!(bytes, [1, 2, 3, 4, 5, 6, 7, 8]);
        file.write_all_at(&[9; 8], 0x400).unwrap();
        assert_eq!(window.read64(0x400).unwrap(), 0x0909_0909_0909_0909);
        assert_eq!(window.read32(0x404).unwrap(), 0x0909_0909);
    }

    #[test]
    fn pushes_reach_the_mapped_file() {
        for combined in [false, true] {
            let (window, file) = window(combined);
            window.push64(0x40, &[1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
            let mut bytes = [0; 80];
            file.read_exact_at(&mut bytes, 0x38).unwrap();
            let words: Vec<_> = bytes
                .chunks(8)
                .map(|chunk| u64::from_le_bytes(chunk.try_into().unwrap()))
                .collect();
            assert_eq!(words, [0, 1, 2, 3, 4, 5, 6, 7, 8, 0]);
        }
    }

    #[test]
    fn accesses_outside_and_unaligned_are_refused() {
        let (window, _) = window(true);
        let range = |width| MmioError::Range { width, len: LEN };
        for offset in [LEN as u64, u64::MAX, u64::MAX - 3] {
            assert_eq!(cause(window.read32(offset).unwrap_err()), range(4));
            assert_eq!(cause(window.write64(offset, 0).unwrap_err()), range(8));
        }
        assert_eq!(cause(window.read64(LEN as u64 - 4).unwrap_err()), range(8));
        let end = LEN as u64 - 32;
        assert_eq!(cause(window.push64(end, &[0; 8]).unwrap_err()), range(64));
        let alignment = |width| MmioError::Alignment { width };
        assert_eq!(cause(window.read32(2).unwrap_err()), alignment(4));
        assert_eq!(cause(window.write64(4, 0).unwrap_err()), alignment(8));
        assert_eq!(cause(window.push64(8, &[0; 8]).unwrap_err()), alignment(64));
    }

    #[test]
    fn a_card_that_is_gone_is_told_from_a_register_of_ones() {
        let (window, _) = window(false);
        window.write64(0x400, u64::MAX).unwrap();
        assert_eq!(window.read64(0x400).unwrap(), u64::MAX);
        window.write32(MAGIC, u32::MAX).unwrap();
        assert_eq!(cause(window.read64(0x400).unwrap_err()), MmioError::Gone);
        assert_eq!(cause(window.read32(0x404).unwrap_err()), MmioError::Gone);
        assert_eq!(window.read32(0x408).unwrap(), 0);
    }
}
