//! Streams into the transmit side and out of it.

use ferroce_emit::harness::Sim;
use ferroce_emit::prelude::*;
use std::collections::{HashMap, VecDeque};

/// An item of a source that holds it until it is taken.
pub struct Source<T> {
    name: &'static str,
    pub items: VecDeque<T>,
    offered: bool,
}

impl<T: FromBits> Source<T> {
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            items: VecDeque::new(),
            offered: false,
        }
    }

    /// Offers the first item; it begins to do so only if `now`.
    pub fn offer(&mut self, sim: &mut Sim, now: bool) {
        self.offered = !self.items.is_empty() && (self.offered || now);
        sim.offer(self.name, self.items.front().filter(|_| self.offered));
    }

    /// Forgets the item if it was taken in this cycle.
    pub fn advance(&mut self, sim: &Sim) {
        if sim.taken(self.name) {
            self.items.pop_front();
            self.offered = false;
        }
    }
}

/// Streams of the transmit side.
const OUTPUTS: [&str; 4] = ["frame", "dma_req", "consumed", "error"];

/// Checks that streams hold what they offer.
#[derive(Default)]
pub struct StreamWatch {
    /// Items offered in the cycle before and not taken.
    offered: HashMap<&'static str, Vec<u32>>,
}

impl StreamWatch {
    /// Looks at one cycle.
    pub fn check(&mut self, sim: &Sim) {
        for stream in OUTPUTS {
            let valid = sim.high(&format!("{stream}_valid"));
            let item = valid.then(|| sim.words(&format!("{stream}_data")));
            if let Some(before) = self.offered.remove(stream) {
                assert_eq!(item.as_ref(), Some(&before), "{stream} withdraws an item");
            }
            if let Some(item) = item.filter(|_| !sim.taken(stream)) {
                self.offered.insert(stream, item);
            }
        }
    }
}
