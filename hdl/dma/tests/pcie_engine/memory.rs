//! The host's memory.

use ferroce_pcie::root::{HostMemoryPort, Unmapped};

/// A region that is only read; its bytes follow from their addresses.
pub const PATTERN: u64 = 0x12_3450_0000;
/// A region that is written, and the flags behind it.
pub const WRITTEN: u64 = 0xFFFF_FFFF_8000_0000;
/// Bytes of the written region before the flags.
pub const WRITTEN_BYTES: u64 = 0x1_0000;
/// 8-byte counters, each in a line of its own.
pub const FLAGS: u64 = WRITTEN + WRITTEN_BYTES;
/// Flags.
pub const FLAG_COUNT: u64 = 64;
/// Bytes of [`PATTERN`].
const PATTERN_BYTES: u64 = 0x10_0000;

/// Memory and what was written to it.
pub struct Memory {
    pub written: Vec<u8>,
}

/// The byte of the pattern at an address.
pub fn pattern(addr: u64) -> u8 {
    (addr.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as u8
}

impl Memory {
    /// All zero.
    pub fn new() -> Self {
        Self {
            written: vec![0; (WRITTEN_BYTES + 64 * FLAG_COUNT) as usize],
        }
    }

    fn place(&self, addr: u64, len: usize) -> Result<usize, Unmapped> {
        let at = addr.wrapping_sub(WRITTEN) as usize;
        match at.checked_add(len) {
            Some(end) if end <= self.written.len() => Ok(at),
            _ => Err(Unmapped { addr, len }),
        }
    }
}

impl HostMemoryPort for Memory {
    fn read(&self, addr: u64, bytes: &mut [u8]) -> Result<(), Unmapped> {
        if (PATTERN..PATTERN + PATTERN_BYTES).contains(&addr) {
            for (k, byte) in bytes.iter_mut().enumerate() {
                *byte = pattern(addr + k as u64);
            }
            return Ok(());
        }
        let at = self.place(addr, bytes.len())?;
        bytes.copy_from_slice(&self.written[at..][..bytes.len()]);
        Ok(())
    }

    fn write(&mut self, addr: u64, bytes: &[u8]) -> Result<(), Unmapped> {
        let at = self.place(addr, bytes.len())?;
        self.written[at..][..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }
}
