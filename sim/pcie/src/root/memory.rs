//! The host's memory as the root complex uses it.

use thiserror::Error;

/// Some byte of an access is not mapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{len} bytes at {addr:#x} are not mapped")]
pub struct Unmapped {
    /// First byte.
    pub addr: u64,
    /// Bytes.
    pub len: usize,
}

/// Where reads and writes of the card end. An access is of at most 4096 bytes.
pub trait HostMemoryPort {
    /// Reads bytes.
    ///
    /// # Errors
    /// One of them is not mapped.
    fn read(&self, addr: u64, bytes: &mut [u8]) -> Result<(), Unmapped>;

    /// Writes bytes. A write whose byte enables have holes becomes one call for each run of enabled bytes.
    ///
    /// # Errors
    /// One of them is not mapped.
    fn write(&mut self, addr: u64, bytes: &[u8]) -> Result<(), Unmapped>;
}
