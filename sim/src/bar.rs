//! The host's loads and stores to a card's BAR, one at a time and in order.

use std::collections::VecDeque;

use ferroce_bridge::{BridgeError, Library, Model};

use crate::ports::{Packed, StreamPort};

/// One load or store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BarAccess {
    /// Byte offset in the BAR, a multiple of the access width.
    pub offset: u32,
    /// What to store; `None` loads.
    pub store: Option<u64>,
    /// Bytes: 4 or 8.
    pub width: u8,
}

/// The BAR port of one card.
#[derive(Debug)]
pub struct BarPort {
    request: StreamPort,
    response: StreamPort,
    queue: VecDeque<BarAccess>,
    /// Loads that wait for their answer: whether the upper half of the word is wanted, and width.
    loads: VecDeque<BarAccess>,
    answers: VecDeque<u64>,
    offered: bool,
}

impl BarPort {
    /// The host end of streams `bar_req` and `bar_resp`.
    ///
    /// # Errors
    /// The model lacks one of them.
    pub fn new(library: &Library) -> Result<Self, BridgeError> {
        Ok(Self {
            request: StreamPort::find(library, "bar_req")?,
            response: StreamPort::find(library, "bar_resp")?,
            queue: VecDeque::new(),
            loads: VecDeque::new(),
            answers: VecDeque::new(),
            offered: false,
        })
    }

    /// Queues an access.
    pub fn push(&mut self, access: BarAccess) {
        self.queue.push_back(access);
    }

    /// The answer to the oldest load, if it has come.
    pub fn answer(&mut self) -> Option<u64> {
        self.answers.pop_front()
    }

    /// Whether every access has been taken and answered.
    pub fn idle(&self) -> bool {
        self.queue.is_empty() && self.loads.is_empty()
    }

    /// Looks at the ports just before a rising core clock edge.
    pub fn before_edge(&mut self, model: &Model) {
        if self.offered && self.request.fires(model) {
            self.offered = false;
            if let Some(access) = self.queue.pop_front() {
                if access.store.is_none() {
                    self.loads.push_back(access);
                }
            }
        }
        if self.response.fires(model) {
            let word = Packed::read(model, self.response.data).get(0, 64);
            if let Some(load) = self.loads.pop_front() {
                self.answers.push_back(match load.width {
                    8 => word,
                    _ => (word >> (load.offset % 8 * 8)) & 0xffff_ffff,
                });
            }
        }
    }

    /// Drives the ports after a rising core clock edge.
    pub fn after_edge(&mut self, model: &mut Model) {
        model.set_bool(self.response.ready, true);
        model.set_bool(self.request.valid, !self.queue.is_empty());
        if let (Some(access), false) = (self.queue.front(), self.offered) {
            let shift = access.offset % 8;
            let mut item = Packed::default();
            item.set(0, 20, u64::from(access.offset));
            item.set(20, 1, u64::from(access.store.is_some()));
            item.set(21, 64, access.store.unwrap_or(0) << (shift * 8));
            item.set(85, 8, ((1 << access.width) - 1) << shift);
            item.write(model, self.request.data);
            self.offered = true;
        }
    }
}
