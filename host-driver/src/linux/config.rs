//! The command register of PCI configuration space.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Offset of the command register, 16 bits.
const COMMAND: u64 = 0x04;
/// The function answers to its memory BARs.
pub(super) const MEMORY_SPACE: u16 = 1 << 1;
/// The function may access memory and send MSI-X.
pub(super) const BUS_MASTER: u16 = 1 << 2;

/// The command register of a function whose configuration space is `base` bytes into a file.
#[derive(Clone, Debug)]
pub(super) struct CommandRegister {
    file: Arc<File>,
    base: u64,
}

impl CommandRegister {
    pub(super) fn new(file: Arc<File>, base: u64) -> Self {
        Self { file, base }
    }

    /// Its content; `None` when the function does not answer, which reads as ones.
    pub(super) fn read(&self) -> io::Result<Option<u16>> {
        let mut bytes = [0; 2];
        self.file.read_exact_at(&mut bytes, self.base + COMMAND)?;
        let bits = u16::from_le_bytes(bytes);
        Ok((bits != u16::MAX).then_some(bits))
    }

    /// Sets some bits and clears others; the rest stays. A function that does not answer is an error.
    pub(super) fn change(&self, set: u16, clear: u16) -> io::Result<()> {
        let bits = self.read()?.ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::NotConnected,
                "the card does not answer: its configuration space reads as ones",
            )
        })?;
        let wanted = (bits | set) & !clear;
        self.file
            .write_all_at(&wanted.to_le_bytes(), self.base + COMMAND)
    }

    /// Lets the function access memory and send interrupts, or stops it.
    pub(super) fn set_bus_master(&self, on: bool) -> io::Result<()> {
        if on {
            self.change(BUS_MASTER, 0)
        } else {
            self.change(0, BUS_MASTER)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn register(base: u64, bits: u16) -> (CommandRegister, Arc<File>) {
        let file = Arc::new(tempfile::tempfile().unwrap());
        file.write_all_at(&[0xA5; 64], base).unwrap();
        file.write_all_at(&bits.to_le_bytes(), base + 4).unwrap();
        (CommandRegister::new(Arc::clone(&file), base), file)
    }

    #[test]
    fn only_the_named_bits_change() {
        // SERR# (bit 8) and INTx disable (bit 10) are not the driver's.
        let (register, file) = register(0x700_0000, 0x0504);
        register.change(MEMORY_SPACE, BUS_MASTER).unwrap();
        assert_eq!(register.read().unwrap(), Some(0x0502));
        register.set_bus_master(true).unwrap();
        assert_eq!(register.read().unwrap(), Some(0x0506));
        register.set_bus_master(false).unwrap();
        assert_eq!(register.read().unwrap(), Some(0x0502));
        let mut around = [0; 8];
        file.read_exact_at(&mut around, 0x700_0000).unwrap();
        assert_eq!(around, [0xA5, 0xA5, 0xA5, 0xA5, 0x02, 0x05, 0xA5, 0xA5]);
    }

    #[test]
    fn a_card_that_does_not_answer_is_left_alone() {
        let (register, _file) = register(0, u16::MAX);
        assert_eq!(register.read().unwrap(), None);
        let error = register.change(MEMORY_SPACE, 0).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotConnected);
        assert_eq!(register.read().unwrap(), None);
    }
}
