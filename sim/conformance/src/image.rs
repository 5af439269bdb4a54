//! A memory region with a plan of what every byte must be.

use std::ops::Range;

use anyhow::{ensure, Result};
use ferroce_driver::{Access, Mr, Pd};
use rand::{Rng, RngCore};

/// Untouched bytes between two pieces, at least.
const GUARD: usize = 64;
const PAGE: usize = 4096;

/// A region full of random bytes, of which pieces are handed out. Whatever no message should have changed must
/// still be what it was: each byte between the pieces is a guard.
#[derive(Debug)]
pub struct Image {
    /// The region.
    pub mr: Mr,
    expected: Vec<u8>,
    next: usize,
}

impl Image {
    /// A region of `len` bytes with all rights; what peers may do is up to the QPs.
    ///
    /// # Errors
    /// Of the driver.
    pub fn new(pd: &Pd, len: usize, rng: &mut impl RngCore) -> Result<Self> {
        let mr = pd.allocate(len, Access::ALL)?;
        let mut expected = vec![0; len];
        rng.fill_bytes(&mut expected);
        mr.write(0, &expected)?;
        Ok(Self {
            mr,
            expected,
            next: 0,
        })
    }

    /// A piece of `len` bytes that nobody else has, at any offset in a 64-byte line, often across a page
    /// boundary.
    ///
    /// # Errors
    /// The region is used up.
    pub fn reserve(&mut self, len: usize, rng: &mut impl Rng) -> Result<Range<usize>> {
        let free = (self.next + GUARD).next_multiple_of(64);
        let start = if (2..PAGE).contains(&len) && rng.gen_bool(0.3) {
            (free + len).next_multiple_of(PAGE) - rng.gen_range(1..len)
        } else {
            free + rng.gen_range(0..64)
        };
        self.next = start;
        self.extend(len)?;
        Ok(start..start + len)
    }

    /// Makes the piece that was reserved last longer by `len` bytes.
    ///
    /// # Errors
    /// The region is used up.
    pub fn extend(&mut self, len: usize) -> Result<()> {
        self.next += len;
        ensure!(
            self.next + GUARD <= self.expected.len(),
            "the region of {} bytes is used up",
            self.expected.len()
        );
        Ok(())
    }

    /// Any `len` bytes of the region, for reading only.
    pub fn anywhere(&self, len: usize, rng: &mut impl Rng) -> Range<usize> {
        let start = rng.gen_range(0..=self.expected.len() - len);
        start..start + len
    }

    /// What bytes should be.
    pub fn bytes(&self, range: Range<usize>) -> &[u8] {
        &self.expected[range]
    }

    /// Bytes from `start` on should become `bytes`.
    pub fn expect(&mut self, start: usize, bytes: &[u8]) {
        self.expected[start..start + bytes.len()].copy_from_slice(bytes);
    }

    /// Compares a part of the region with the plan.
    ///
    /// # Errors
    /// A byte differs.
    pub fn check_range(&self, range: Range<usize>) -> Result<()> {
        let is = self.mr.to_vec(range.clone())?;
        let should = &self.expected[range.clone()];
        if let Some(at) = is.iter().zip(should).position(|(a, b)| a != b) {
            let differ = is.iter().zip(should).filter(|(a, b)| a != b).count();
            anyhow::bail!(
                "byte {:#x} of the region is {:#04x}, not {:#04x}; {differ} bytes of {range:#x?} differ",
                range.start + at,
                is[at],
                should[at],
            );
        }
        Ok(())
    }

    /// Compares the whole region with the plan.
    ///
    /// # Errors
    /// A byte differs.
    pub fn check(&self) -> Result<()> {
        self.check_range(0..self.expected.len())
    }
}
