//! One work queue: the ring that the card reads, and what the driver remembers of each WQE.

use crate::error::Error;
use crate::platform::DmaBuffer;
use ferroce_abi::limits::WQE_BYTES;
use std::sync::Arc;

/// What is kept of a block.
#[derive(Clone, Copy, Debug, Default)]
struct Kept<T> {
    /// Of the WQE that begins here.
    value: T,
    /// Its blocks; 0 in those behind its first.
    blocks: u16,
}

/// A send or receive queue. `T` is kept for each outstanding WQE. Indices count blocks of 64 bytes.
#[derive(Debug)]
pub(crate) struct WorkQueue<T> {
    name: &'static str,
    memory: Arc<dyn DmaBuffer>,
    log_size: u8,
    /// Index after the newest WQE.
    producer: u16,
    /// Index of the oldest WQE that is not completed.
    oldest: u16,
    /// WQEs that are not completed.
    requests: usize,
    kept: Vec<Kept<T>>,
}

impl<T: Copy + Default> WorkQueue<T> {
    pub(crate) fn new(name: &'static str, memory: Arc<dyn DmaBuffer>, log_size: u8) -> Self {
        Self {
            name,
            memory,
            log_size,
            producer: 0,
            oldest: 0,
            requests: 0,
            kept: vec![Kept::default(); 1 << log_size],
        }
    }

    pub(crate) fn depth(&self) -> usize {
        1 << self.log_size
    }

    /// WQEs that were posted and not completed.
    pub(crate) fn outstanding(&self) -> usize {
        self.requests
    }

    /// Blocks of them.
    fn used(&self) -> usize {
        self.producer.wrapping_sub(self.oldest).into()
    }

    /// Blocks that fit.
    pub(crate) fn free(&self) -> usize {
        self.depth() - self.used()
    }

    /// Running producer index, for the doorbell.
    pub(crate) fn producer(&self) -> u16 {
        self.producer
    }

    fn slot(&self, index: u16) -> usize {
        usize::from(index) & (self.depth() - 1)
    }

    /// Fails when the queue has no room for `blocks`.
    fn check_room(&self, blocks: usize) -> Result<(), Error> {
        if blocks > self.free() {
            return Err(Error::QueueFull {
                queue: self.name,
                depth: self.depth(),
            });
        }
        Ok(())
    }

    /// Writes a WQE into the ring. The card sees it after a doorbell with [`Self::producer`].
    pub(crate) fn push(&mut self, wqe: &[[u8; WQE_BYTES]], keep: T) -> Result<(), Error> {
        self.check_room(wqe.len())?;
        let mut index = self.producer;
        for (behind, block) in wqe.iter().enumerate() {
            let slot = self.slot(index);
            self.memory.write(slot * WQE_BYTES, block)?;
            self.kept[slot] = Kept {
                value: keep,
                blocks: if behind == 0 { wqe.len() as u16 } else { 0 },
            };
            index = index.wrapping_add(1);
        }
        self.producer = index;
        self.requests += 1;
        Ok(())
    }

    /// Takes out everything up to the WQE with running index `index` and returns what was kept of that one;
    /// `None` when it is not outstanding, or not a WQE's first block.
    pub(crate) fn complete(&mut self, index: u16) -> Option<T> {
        let kept = self.kept[self.slot(index)];
        if usize::from(index.wrapping_sub(self.oldest)) >= self.used() || kept.blocks == 0 {
            return None;
        }
        let end = index.wrapping_add(kept.blocks);
        while self.oldest != end {
            self.take();
        }
        Some(kept.value)
    }

    /// Takes out the oldest WQE.
    fn take(&mut self) -> T {
        let kept = self.kept[self.slot(self.oldest)];
        self.oldest = self.oldest.wrapping_add(kept.blocks);
        self.requests -= 1;
        kept.value
    }

    /// Takes out everything; what was kept, oldest first.
    pub(crate) fn flush(&mut self) -> Vec<T> {
        (0..self.requests).map(|_| self.take()).collect()
    }

    /// Forgets everything; indices start at 0 again.
    pub(crate) fn reset(&mut self) {
        self.producer = 0;
        self.oldest = 0;
        self.requests = 0;
    }

    /// Base address and log2 of the number of WQEs.
    pub(crate) fn ring(&self) -> (u64, u8) {
        (self.memory.iova(), self.log_size)
    }

    /// Keeps the memory for ever, as the card may still read it.
    pub(crate) fn leak(&self) {
        std::mem::forget(Arc::clone(&self.memory));
    }
}
