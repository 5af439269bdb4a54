//! One work queue: the ring that the card reads, and what the driver remembers of each WQE.

use crate::error::Error;
use crate::platform::DmaBuffer;
use ferroce_abi::limits::WQE_BYTES;
use std::sync::Arc;

/// A send or receive queue. `T` is kept for each outstanding WQE.
#[derive(Debug)]
pub(crate) struct WorkQueue<T> {
    name: &'static str,
    memory: Arc<dyn DmaBuffer>,
    log_size: u8,
    /// Index after the newest WQE.
    producer: u16,
    /// Index of the oldest WQE that is not completed.
    oldest: u16,
    kept: Vec<T>,
}

impl<T: Copy + Default> WorkQueue<T> {
    pub(crate) fn new(name: &'static str, memory: Arc<dyn DmaBuffer>, log_size: u8) -> Self {
        Self {
            name,
            memory,
            log_size,
            producer: 0,
            oldest: 0,
            kept: vec![T::default(); 1 << log_size],
        }
    }

    pub(crate) fn depth(&self) -> usize {
        1 << self.log_size
    }

    /// WQEs that were posted and not completed.
    pub(crate) fn outstanding(&self) -> usize {
        self.producer.wrapping_sub(self.oldest).into()
    }

    /// Running producer index, for the doorbell.
    pub(crate) fn producer(&self) -> u16 {
        self.producer
    }

    fn slot(&self, index: u16) -> usize {
        usize::from(index) & (self.depth() - 1)
    }

    /// Fails when the queue is full.
    pub(crate) fn check_room(&self) -> Result<(), Error> {
        if self.outstanding() == self.depth() {
            return Err(Error::QueueFull {
                queue: self.name,
                depth: self.depth(),
            });
        }
        Ok(())
    }

    /// Writes a WQE into the ring. The card sees it after a doorbell with [`Self::producer`].
    pub(crate) fn push(&mut self, wqe: &[u8; WQE_BYTES], keep: T) -> Result<(), Error> {
        self.check_room()?;
        let slot = self.slot(self.producer);
        self.memory.write(slot * WQE_BYTES, wqe)?;
        self.kept[slot] = keep;
        self.producer = self.producer.wrapping_add(1);
        Ok(())
    }

    /// Takes out everything up to the WQE with running index `index` and returns what was kept of that one;
    /// `None` when it is not outstanding.
    pub(crate) fn complete(&mut self, index: u16) -> Option<T> {
        if usize::from(index.wrapping_sub(self.oldest)) >= self.outstanding() {
            return None;
        }
        self.oldest = index.wrapping_add(1);
        Some(self.kept[self.slot(index)])
    }

    /// Takes out everything; what was kept, oldest first.
    pub(crate) fn flush(&mut self) -> Vec<T> {
        let mut all = Vec::with_capacity(self.outstanding());
        while self.oldest != self.producer {
            all.push(self.kept[self.slot(self.oldest)]);
            self.oldest = self.oldest.wrapping_add(1);
        }
        all
    }

    /// Forgets everything; indices start at 0 again.
    pub(crate) fn reset(&mut self) {
        self.producer = 0;
        self.oldest = 0;
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
