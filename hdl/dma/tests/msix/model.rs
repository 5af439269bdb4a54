//! MSI-X as PCIe Base 6.1.4 and 7.7.2 describe it.

use ferroce_dma::msix::PBA_OFFSET;

/// Mask bit of the vector control, in the upper word of an entry.
pub const MASK_BIT: u64 = 1 << 32;

/// A message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Message {
    pub addr: u64,
    pub data: u32,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    low: u32,
    high: u32,
    data: u32,
    masked: bool,
    pending: bool,
}

/// The table.
#[derive(Debug)]
pub struct Model {
    entries: Vec<Entry>,
    enable: bool,
    mask: bool,
}

impl Model {
    /// After reset.
    pub fn new(vectors: usize) -> Self {
        let entry = Entry {
            low: 0,
            high: 0,
            data: 0,
            masked: true,
            pending: false,
        };
        Self {
            entries: vec![entry; vectors],
            enable: false,
            mask: false,
        }
    }

    /// Messages that may go now.
    fn scan(&mut self) -> Vec<Message> {
        if !self.enable || self.mask {
            return Vec::new();
        }
        self.entries
            .iter_mut()
            .filter(|entry| entry.pending && !entry.masked)
            .map(|entry| {
                entry.pending = false;
                entry.message()
            })
            .collect()
    }

    /// A write of the host; what is sent because of it.
    pub fn write(&mut self, addr: u64, strobe: u8, data: u64) -> Vec<Message> {
        if addr < PBA_OFFSET {
            if let Some(entry) = self.entries.get_mut((addr / 16) as usize) {
                let (low, high) = (data as u32, (data >> 32) as u32);
                match (addr % 16, strobe & 0xF == 0xF, strobe >> 4 == 0xF) {
                    (0, write_low, write_high) => {
                        entry.low = if write_low { low & !3 } else { entry.low };
                        entry.high = if write_high { high } else { entry.high };
                    }
                    (_, write_low, write_high) => {
                        entry.data = if write_low { low } else { entry.data };
                        if write_high {
                            entry.masked = high & 1 == 1;
                        }
                    }
                }
            }
        }
        self.scan()
    }

    /// A read of the host.
    pub fn read(&self, addr: u64) -> u64 {
        if addr >= PBA_OFFSET {
            let first = (addr - PBA_OFFSET) as usize * 8;
            return (0..64)
                .filter(|bit| self.entries.get(first + bit).is_some_and(|e| e.pending))
                .fold(0, |word, bit| word | 1 << bit);
        }
        match self.entries.get((addr / 16) as usize) {
            Some(entry) if addr % 16 == 0 => u64::from(entry.high) << 32 | u64::from(entry.low),
            Some(entry) => u64::from(entry.masked) << 32 | u64::from(entry.data),
            None => 0,
        }
    }

    /// The function's enable and mask bits; what is sent because of them.
    pub fn set_function(&mut self, enable: bool, mask: bool) -> Vec<Message> {
        (self.enable, self.mask) = (enable, mask);
        self.scan()
    }

    /// An event; the message that it makes at once.
    pub fn fire(&mut self, vector: u64) -> Option<Message> {
        let (enable, mask) = (self.enable, self.mask);
        let entry = self.entries.get_mut(vector as usize)?;
        if !enable {
            return None;
        }
        if mask || entry.masked {
            entry.pending = true;
            return None;
        }
        Some(entry.message())
    }
}

impl Entry {
    fn message(&self) -> Message {
        Message {
            addr: u64::from(self.high) << 32 | u64::from(self.low),
            data: self.data,
        }
    }
}
