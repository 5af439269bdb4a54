//! Memory regions.

use crate::device::Shared;
use crate::error::Error;
use crate::lock::lock;
use crate::page_table::PageTable;
use crate::pd::PdShared;
use crate::platform::{DmaBuffer, DmaError};
use crate::wr::Remote;
use ferroce_abi::cfg::MrCfg;
use ferroce_abi::mailbox::Command;
use ferroce_abi::mr::{Access, Key};
use ferroce_abi::regs::feature;
use ferroce_abi::wqe::Sge;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// Free MR indices, each with the tag of its next key.
#[derive(Debug)]
pub(crate) struct MrPool {
    limit: usize,
    free: Mutex<VecDeque<Key>>,
}

impl MrPool {
    pub(crate) fn new(mrs: u32) -> Self {
        // Index 0 is left out, so that key 0 is never valid.
        let free: VecDeque<Key> = (1..mrs).filter_map(|index| Key::new(index, 0)).collect();
        Self {
            limit: free.len(),
            free: Mutex::new(free),
        }
    }

    fn take(&self) -> Result<Key, Error> {
        lock(&self.free).pop_front().ok_or(Error::Exhausted {
            what: "memory regions",
            limit: self.limit,
        })
    }

    /// Frees the index; its next key has another tag.
    fn give_back(&self, key: Key) {
        let next = Key::new(key.index(), key.tag().wrapping_add(1));
        lock(&self.free).extend(next);
    }
}

/// Bytes `offset..offset + count` lie in `len`.
fn check(offset: usize, count: usize, len: usize) -> Result<(), DmaError> {
    match offset.checked_add(count) {
        Some(end) if end <= len => Ok(()),
        _ => Err(DmaError::Range { offset, count, len }),
    }
}

/// A memory region. It keeps its buffer alive; dropping it takes the card's access away first.
#[derive(Debug)]
pub struct Mr {
    pd: Arc<PdShared>,
    buffer: Arc<dyn DmaBuffer>,
    range: Range<usize>,
    access: Access,
    key: Key,
    table: Option<PageTable>,
}

impl Mr {
    pub(crate) fn new(
        pd: &Arc<PdShared>,
        buffer: Arc<dyn DmaBuffer>,
        range: Range<usize>,
        access: Access,
    ) -> Result<Self, Error> {
        if !access.is_consistent() {
            return Err(Error::Access);
        }
        check(range.start, range.len(), buffer.len())?;
        let device = &pd.device;
        let base = buffer.iova().wrapping_add(range.start as u64);
        let pages = buffer.pages().filter(|_| !range.is_empty());
        let table = pages
            .map(|list| {
                device.caps.need(feature::PAGES)?;
                let end = base.checked_add(range.len() as u64);
                let end = end.ok_or(Error::PageList {
                    size: list.size.bytes(),
                    pages: list.pages.len(),
                })?;
                PageTable::new(&*device.memory, list, buffer.iova(), base..end)
            })
            .transpose()?;
        let key = device.mrs.take()?;
        let entry = MrCfg {
            valid: true,
            tag: key.tag(),
            pd: pd.number,
            access: access.bits(),
            base,
            len: range.len() as u64,
            paged: table.is_some(),
            indirect: table.as_ref().is_some_and(PageTable::indirect),
            page_size: pages.map_or(0, |list| list.size as u8),
            table: table.as_ref().map_or(0, PageTable::origin),
        };
        let done = entry
            .to_bits()
            .map_err(Error::from)
            .and_then(|bits| device.command(Command::RegMr, key.index(), &[bits]));
        match done {
            Ok(()) => Ok(Self {
                pd: Arc::clone(pd),
                buffer,
                range,
                access,
                key,
                table,
            }),
            Err(error) => {
                if error.nothing_happened() {
                    device.mrs.give_back(key);
                } else {
                    // The region may exist: neither index nor memory may be used again.
                    std::mem::forget((buffer, table));
                }
                Err(error)
            }
        }
    }

    /// Key for scatter/gather entries.
    pub fn lkey(&self) -> u32 {
        self.key.bits()
    }

    /// Key for peers.
    pub fn rkey(&self) -> u32 {
        self.key.bits()
    }

    /// Address of the first byte as the card and peers use it.
    pub fn addr(&self) -> u64 {
        self.buffer.iova() + self.range.start as u64
    }

    /// Bus address of the region's page table, if its memory lies scattered.
    pub fn page_table(&self) -> Option<u64> {
        self.table.as_ref().map(PageTable::address)
    }

    /// Bytes.
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// Asks the card whether it has the region.
    ///
    /// # Errors
    /// [`Error::CommandRefused`] with `NoObject` when it has not, [`Error::Bar`], other command errors.
    pub fn query(&self) -> Result<(), Error> {
        let device = &self.pd.device;
        device.query(Command::QueryMr, self.key.index()).map(|_| ())
    }

    /// Rights.
    pub fn access(&self) -> Access {
        self.access
    }

    /// A scatter/gather entry for bytes `range` of the region.
    ///
    /// # Errors
    /// [`DmaError::Range`] when they leave it or have no 32-bit length.
    pub fn sge(&self, range: Range<usize>) -> Result<Sge, DmaError> {
        let count = range.len();
        check(range.start, count, self.len())?;
        Ok(Sge {
            addr: self.addr() + range.start as u64,
            lkey: self.lkey(),
            len: u32::try_from(count).map_err(|_| DmaError::Range {
                offset: range.start,
                count,
                len: u32::MAX as usize,
            })?,
        })
    }

    /// What a peer needs to reach byte `offset` and what follows.
    ///
    /// # Errors
    /// [`DmaError::Range`] when the offset is behind the region's end.
    pub fn remote(&self, offset: usize) -> Result<Remote, DmaError> {
        check(offset, 0, self.len())?;
        Ok(Remote {
            addr: self.addr() + offset as u64,
            rkey: self.rkey(),
        })
    }

    /// Copies bytes out.
    ///
    /// # Errors
    /// [`DmaError`].
    pub fn read(&self, offset: usize, bytes: &mut [u8]) -> Result<(), DmaError> {
        check(offset, bytes.len(), self.len())?;
        self.buffer.read(self.range.start + offset, bytes)
    }

    /// Copies bytes in.
    ///
    /// # Errors
    /// [`DmaError`].
    pub fn write(&self, offset: usize, bytes: &[u8]) -> Result<(), DmaError> {
        check(offset, bytes.len(), self.len())?;
        self.buffer.write(self.range.start + offset, bytes)
    }

    /// A copy of bytes `range`.
    ///
    /// # Errors
    /// [`DmaError`].
    pub fn to_vec(&self, range: Range<usize>) -> Result<Vec<u8>, DmaError> {
        check(range.start, range.len(), self.len())?;
        let mut bytes = vec![0; range.len()];
        self.read(range.start, &mut bytes)?;
        Ok(bytes)
    }

    fn shared(&self) -> &Shared {
        &self.pd.device
    }
}

impl Drop for Mr {
    fn drop(&mut self) {
        let gone = MrCfg {
            tag: self.key.tag(),
            ..MrCfg::default()
        };
        let done = gone.to_bits().map_err(Error::from).and_then(|bits| {
            self.shared()
                .command(Command::DeregMr, self.key.index(), &[bits])
        });
        match done {
            Ok(()) => self.shared().mrs.give_back(self.key),
            Err(error) => {
                tracing::error!(%error, key = ?self.key, "memory region could not be removed; its memory is kept");
                std::mem::forget((Arc::clone(&self.buffer), self.table.take()));
            }
        }
    }
}
