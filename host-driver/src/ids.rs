//! Index pools. A freed index is given out again as late as possible, so that what still names the old object is
//! noticed as stale.

use crate::error::Error;
use crate::lock::lock;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Mutex;

/// Free indices of one kind of object.
#[derive(Debug)]
pub(crate) struct IdPool {
    what: &'static str,
    limit: usize,
    free: Mutex<VecDeque<u32>>,
}

impl IdPool {
    pub(crate) fn new(what: &'static str, ids: Range<u32>) -> Self {
        Self {
            what,
            limit: ids.len(),
            free: Mutex::new(ids.collect()),
        }
    }

    pub(crate) fn take(&self) -> Result<u32, Error> {
        lock(&self.free).pop_front().ok_or(Error::Exhausted {
            what: self.what,
            limit: self.limit,
        })
    }

    pub(crate) fn give_back(&self, id: u32) {
        lock(&self.free).push_back(id);
    }
}
