//! The client's reads: every tag in use, every byte compared.

use std::collections::VecDeque;

use ferroce_bridge::{BridgeError, Library, Model};
use ferroce_dma::tags;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::load::DmaError;
use super::{cut, Offset, PAGE, TAGS};
use crate::memory::HostMemory;
use crate::ports::{Packed, StreamPort};

/// Pages of the region that is read; blocks begin in any of them but the last.
const PAGES: u64 = 64;

/// Fields of `DmaReadReq` (bit offset, width).
const REQ_ADDR: (usize, usize) = (0, 64);
const REQ_LEN: (usize, usize) = (64, 13);
const REQ_TAG: (usize, usize) = (77, 8);
/// Fields of `DmaReadBeat`.
const BEAT_TAG: (usize, usize) = (512, 8);
const BEAT_LAST: usize = 520;
const BEAT_ERR: usize = 521;

/// A request under way.
#[derive(Debug, Clone, Copy, Default)]
struct Request {
    /// The next byte that comes.
    addr: u64,
    left: u64,
    /// Last request of its block, so whose end is the block's.
    ends_block: bool,
    /// Cycle at which the block's first request was taken.
    begun: u64,
}

/// The reading half of the client.
#[derive(Debug)]
pub struct Reader {
    request: StreamPort,
    data: StreamPort,
    bytes: u64,
    offset: Offset,
    /// Where it reads.
    base: u64,
    free: VecDeque<u8>,
    by_tag: [Request; TAGS],
    /// Requests of the block that is being asked for.
    block: VecDeque<(u64, u64)>,
    /// When its first request was taken.
    begun: Option<u64>,
    offered: Option<(u64, u64, u8)>,
    /// Blocks begun.
    pub blocks: u64,
    /// Blocks that have come as a whole.
    pub finished: u64,
    /// Payload bytes that came.
    pub received: u64,
    /// From a block's first request to its last beat, in cycles.
    pub latencies: Vec<u64>,
}

impl Reader {
    /// Reads blocks of `bytes` from a pattern that follows from `seed`.
    pub fn new(
        library: &Library,
        memory: &mut HostMemory,
        (bytes, offset): (u64, Offset),
        seed: u64,
    ) -> Result<Self, BridgeError> {
        Ok(Self {
            request: StreamPort::find(library, "read_req")?,
            data: StreamPort::find(library, "read_data")?,
            bytes,
            offset,
            base: memory.allocate_pattern(PAGES * PAGE, 0, seed),
            free: (tags::PAYLOAD..tags::SQ).collect(),
            by_tag: [Request::default(); TAGS],
            block: VecDeque::new(),
            begun: None,
            offered: None,
            blocks: 0,
            finished: 0,
            received: 0,
            latencies: Vec::new(),
        })
    }

    /// Tags in use.
    pub fn outstanding(&self) -> usize {
        TAGS - self.free.len() - usize::from(self.offered.is_some())
    }

    /// Whether nothing is offered or under way.
    pub fn is_idle(&self) -> bool {
        self.free.len() == TAGS && self.block.is_empty()
    }

    /// Takes what passes at the coming edge, the `now`th.
    ///
    /// # Errors
    /// The data are not those of the memory.
    pub fn before_edge(
        &mut self,
        model: &Model,
        memory: &HostMemory,
        now: u64,
    ) -> Result<(), DmaError> {
        if self.offered.is_some() && self.request.fires(model) {
            self.taken(now);
        }
        if self.data.fires(model) {
            self.beat(&Packed::read(model, self.data.data), memory, now)?;
        }
        Ok(())
    }

    fn taken(&mut self, now: u64) {
        let Some((addr, len, tag)) = self.offered.take() else {
            return;
        };
        let begun = *self.begun.get_or_insert(now);
        let ends_block = self.block.is_empty();
        if ends_block {
            self.begun = None;
        }
        self.by_tag[usize::from(tag - tags::PAYLOAD)] = Request {
            addr,
            left: len,
            ends_block,
            begun,
        };
    }

    fn beat(&mut self, beat: &Packed, memory: &HostMemory, now: u64) -> Result<(), DmaError> {
        let tag = beat.get(BEAT_TAG.0, BEAT_TAG.1) as usize;
        let index = tag.wrapping_sub(usize::from(tags::PAYLOAD));
        let request = self.by_tag.get_mut(index).filter(|r| r.left > 0);
        let Some(request) = request else {
            return Err(DmaError::Stray { tag });
        };
        let (addr, at) = (request.addr, (request.addr % 64) as usize);
        let len = (64 - at as u64).min(request.left);
        let last = beat.get(BEAT_LAST, 1) == 1;
        request.addr += len;
        request.left -= len;
        if last != (request.left == 0) || last && beat.get(BEAT_ERR, 1) == 1 {
            return Err(DmaError::Failed { addr });
        }
        let expected = memory.slice(addr, len as usize);
        if expected.is_ok_and(|expected| expected != &beat.beat()[at..at + len as usize]) {
            return Err(DmaError::Read { addr });
        }
        self.received += len;
        if last {
            if request.ends_block {
                self.finished += 1;
                self.latencies.push(now - request.begun);
            }
            self.free.push_back(tag as u8);
        }
        Ok(())
    }

    /// Offers the next request after an edge, if there is a tag; a new block only if `more` are wanted.
    pub fn after_edge(&mut self, model: &mut Model, more: bool, rng: &mut ChaCha8Rng) {
        if self.offered.is_none() {
            if self.block.is_empty() && more && !self.free.is_empty() {
                let at = rng.gen_range(0..PAGES - 1) * PAGE + rng.gen_range(self.offset.choices());
                self.block.extend(cut(self.base + at, self.bytes, PAGE));
                self.blocks += 1;
            }
            if let (Some(&tag), Some(&(addr, len))) = (self.free.front(), self.block.front()) {
                self.free.pop_front();
                self.block.pop_front();
                self.offered = Some((addr, len, tag));
                let mut request = Packed::default();
                request.set(REQ_ADDR.0, REQ_ADDR.1, addr);
                request.set(REQ_LEN.0, REQ_LEN.1, len);
                request.set(REQ_TAG.0, REQ_TAG.1, u64::from(tag));
                request.write(model, self.request.data);
            }
        }
        model.set_bool(self.request.valid, self.offered.is_some());
        model.set_bool(self.data.ready, true);
    }
}
