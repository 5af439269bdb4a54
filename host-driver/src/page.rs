//! Doorbell pages: a process that maps one page of the BAR can ring for its own queues and for no others.

use crate::device::Shared;
use crate::error::Error;
use ferroce_abi::regs::{DOORBELLS, DOORBELL_PAGE};
use std::ops::Range;
use std::sync::Arc;

/// Number of a page; free again when its last user is gone.
#[derive(Debug)]
pub(crate) struct PageShared {
    device: Arc<Shared>,
    number: u8,
}

impl Drop for PageShared {
    fn drop(&mut self) {
        self.device.pages.give_back(self.number.into());
    }
}

/// A doorbell page. Clones name the same page; it lives as long as any queue that belongs to it. Queues that are made without
/// one share page 0.
#[derive(Clone, Debug)]
pub struct DoorbellPage {
    shared: Arc<PageShared>,
}

impl DoorbellPage {
    pub(crate) fn new(device: &Arc<Shared>) -> Result<Self, Error> {
        let number = device.pages.take()? as u8;
        Ok(Self {
            shared: Arc::new(PageShared {
                device: Arc::clone(device),
                number,
            }),
        })
    }

    /// Number of the page.
    pub fn number(&self) -> u8 {
        self.shared.number
    }

    /// Its bytes in BAR 0: what to map for the process that owns its queues.
    pub fn bytes(&self) -> Range<u64> {
        let start = DOORBELLS + u64::from(self.shared.number) * DOORBELL_PAGE;
        start..start + DOORBELL_PAGE
    }

    /// Whether the page is one of `device`.
    pub(crate) fn is_of(&self, device: &Arc<Shared>) -> bool {
        Arc::ptr_eq(&self.shared.device, device)
    }
}

/// Number of a queue's page.
pub(crate) fn number_of(page: Option<&DoorbellPage>) -> u8 {
    page.map_or(0, DoorbellPage::number)
}

/// Fails for a page of another card.
pub(crate) fn check_page(page: Option<&DoorbellPage>, device: &Arc<Shared>) -> Result<(), Error> {
    match page {
        Some(page) if !page.is_of(device) => Err(Error::OtherDevice {
            what: "doorbell page",
        }),
        _ => Ok(()),
    }
}
