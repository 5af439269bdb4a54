//! Protection domains: QPs use only memory regions of their own domain.

use crate::ah::{AddressHandle, AhAttr};
use crate::cq::Cq;
use crate::device::Shared;
use crate::error::Error;
use crate::mr::Mr;
use crate::platform::DmaBuffer;
use crate::qp::QpBuilder;
use crate::srq::SrqBuilder;
use ferroce_abi::mr::Access;
use ferroce_abi::page_table::TABLE_ALIGN;
use ferroce_abi::regs::feature;
use std::ops::Range;
use std::sync::Arc;

/// Number of a domain; free again when its last user is gone.
#[derive(Debug)]
pub(crate) struct PdShared {
    pub(crate) device: Arc<Shared>,
    pub(crate) number: u16,
}

impl Drop for PdShared {
    fn drop(&mut self) {
        self.device.pdns.give_back(self.number.into());
    }
}

/// A protection domain. Clones name the same domain; it lives as long as any region or QP in it.
#[derive(Clone, Debug)]
pub struct Pd {
    pub(crate) shared: Arc<PdShared>,
}

impl Pd {
    pub(crate) fn new(device: &Arc<Shared>) -> Result<Self, Error> {
        let number = device.pdns.take()? as u16;
        Ok(Self {
            shared: Arc::new(PdShared {
                device: Arc::clone(device),
                number,
            }),
        })
    }

    /// Registers a whole buffer.
    ///
    /// # Errors
    /// See [`Self::register_range`].
    pub fn register(&self, buffer: Arc<dyn DmaBuffer>, access: Access) -> Result<Mr, Error> {
        let range = 0..buffer.len();
        self.register_range(buffer, range, access)
    }

    /// Registers bytes `range` of a buffer. The region keeps the buffer alive. For a buffer whose memory lies scattered ([`DmaBuffer::pages`]) a page
    /// table is made, which lives as long as the region.
    ///
    /// # Errors
    /// [`Error::Dma`] when the range leaves the buffer or there is no memory for the page table, [`Error::PageList`], [`Error::Unsupported`] for scattered
    /// memory and a card without page tables, [`Error::Access`] for contradicting rights, [`Error::Exhausted`], command errors.
    pub fn register_range(
        &self,
        buffer: Arc<dyn DmaBuffer>,
        range: Range<usize>,
        access: Access,
    ) -> Result<Mr, Error> {
        Mr::new(&self.shared, buffer, range, access)
    }

    /// Allocates `len` zeroed bytes, aligned to a page, and registers them. They may lie scattered if the card has page tables.
    ///
    /// # Errors
    /// See [`Self::register_range`].
    pub fn allocate(&self, len: usize, access: Access) -> Result<Mr, Error> {
        let device = &self.shared.device;
        let buffer = if device.caps.has(feature::PAGES) {
            device.memory.allocate_pages(len)?
        } else {
            device.memory.allocate(len, TABLE_ALIGN as usize)?
        };
        self.register_range(buffer, 0..len, access)
    }

    /// Makes an address handle.
    ///
    /// # Errors
    /// [`Error::Attribute`], [`Error::Unsupported`] for an IPv6 GID by a card without IPv6, [`Error::Exhausted`], command errors.
    pub fn create_ah(&self, attr: AhAttr) -> Result<AddressHandle, Error> {
        AddressHandle::new(&self.shared, attr)
    }

    /// Starts describing an SRQ that holds at least `depth` receive requests.
    pub fn srq(&self, depth: usize) -> SrqBuilder {
        SrqBuilder::new(self, depth)
    }

    /// Starts describing a QP; `cq` takes completions of both queues unless told otherwise.
    pub fn qp(&self, cq: &Cq) -> QpBuilder {
        QpBuilder::new(self, cq)
    }
}
