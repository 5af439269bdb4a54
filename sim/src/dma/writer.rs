//! The client's writes: without a pause, and compared in host memory before their place is used again.

use ferroce_bridge::{BridgeError, Library, Model};
use rand::{Rng, RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::load::DmaError;
use super::{cut, Offset, PAGE};
use crate::memory::HostMemory;
use crate::ports::{Packed, StreamPort};

/// Places for blocks, used in turn. With a byte a cycle, far more than are ever under way, so that a place has landed when its turn comes again.
const PLACES: u64 = 1024;
/// From place to place: a block at any offset of the first page ends in the second.
const STRIDE: u64 = 2 * PAGE;
/// Bytes of which blocks are made.
const SOURCE_BYTES: usize = 1 << 16;

/// Fields of `DmaWriteBeat` (bit offset, width); the data come first.
const BEAT_ADDR: (usize, usize) = (512, 64);
const BEAT_LEN: (usize, usize) = (576, 13);
const BEAT_LAST: usize = 589;

/// What a place holds: `bytes` of the source from `from` on, `offset` behind its beginning.
#[derive(Debug, Clone, Copy)]
struct Block {
    offset: u64,
    from: usize,
}

/// The writing half of the client.
#[derive(Debug)]
pub struct Writer {
    port: StreamPort,
    bytes: u64,
    offset: Offset,
    base: u64,
    source: Vec<u8>,
    /// By place.
    written: Vec<Option<Block>>,
    /// The block under way and its address.
    current: Option<(Block, u64)>,
    /// Its requests, the one under way last, and the next byte of that.
    requests: Vec<(u64, u64)>,
    at: u64,
    /// Blocks begun.
    pub blocks: u64,
    /// Blocks that the engine has taken as a whole.
    pub finished: u64,
}

impl Writer {
    /// Writes blocks of `bytes` with contents that follow from `seed`.
    pub fn new(
        library: &Library,
        memory: &mut HostMemory,
        (bytes, offset): (u64, Offset),
        seed: u64,
    ) -> Result<Self, BridgeError> {
        let mut source = vec![0; SOURCE_BYTES];
        ChaCha8Rng::seed_from_u64(seed).fill_bytes(&mut source);
        Ok(Self {
            port: StreamPort::find(library, "write")?,
            bytes,
            offset,
            base: memory.allocate((PLACES * STRIDE) as usize, PAGE, 0),
            source,
            written: vec![None; PLACES as usize],
            current: None,
            requests: Vec::new(),
            at: 0,
            blocks: 0,
            finished: 0,
        })
    }

    /// Whether nothing is offered.
    pub fn is_idle(&self) -> bool {
        self.requests.is_empty()
    }

    /// Takes what passes at the coming edge.
    pub fn before_edge(&mut self, model: &Model) {
        let Some(&(addr, len)) = self.requests.last() else {
            return;
        };
        if !self.port.fires(model) {
            return;
        }
        self.at = (self.at / 64 + 1) * 64;
        if self.at >= addr + len {
            self.requests.pop();
            match self.requests.last() {
                Some(&(addr, _)) => self.at = addr,
                None => self.finished += 1,
            }
        }
    }

    /// Offers the next beat after an edge; of a new block only if `more` are wanted.
    ///
    /// # Errors
    /// The place of the new block does not hold what was written there before.
    pub fn after_edge(
        &mut self,
        model: &mut Model,
        memory: &mut HostMemory,
        more: bool,
        rng: &mut ChaCha8Rng,
    ) -> Result<(), DmaError> {
        if self.requests.is_empty() && more {
            self.begin(memory, rng)?;
        }
        let request = self.requests.last().copied();
        if let (Some((addr, len)), Some((block, start))) = (request, self.current) {
            let line = self.at / 64 * 64;
            let (from, to) = (self.at - line, (addr + len - line).min(64));
            let source = block.from + (self.at - start) as usize;
            let mut data = [0; 64];
            data[from as usize..to as usize]
                .copy_from_slice(&self.source[source..][..(to - from) as usize]);
            let mut beat = Packed::default();
            beat.set_beat(&data);
            beat.set(BEAT_ADDR.0, BEAT_ADDR.1, addr);
            beat.set(BEAT_LEN.0, BEAT_LEN.1, len);
            beat.set(BEAT_LAST, 1, u64::from(line + 64 >= addr + len));
            beat.write(model, self.port.data);
        }
        model.set_bool(self.port.valid, request.is_some());
        Ok(())
    }

    fn begin(&mut self, memory: &mut HostMemory, rng: &mut ChaCha8Rng) -> Result<(), DmaError> {
        let place = self.blocks % PLACES;
        self.compare(memory, place)?;
        let block = Block {
            offset: rng.gen_range(self.offset.choices()),
            from: rng.gen_range(0..=SOURCE_BYTES - self.bytes as usize),
        };
        let addr = self.base + place * STRIDE + block.offset;
        self.requests.extend(cut(addr, self.bytes, PAGE));
        self.requests.reverse();
        self.at = addr;
        self.current = Some((block, addr));
        self.written[place as usize] = Some(block);
        self.blocks += 1;
        Ok(())
    }

    /// Compares a place, where all writes have landed, and the bytes around it, then makes it zero again.
    fn compare(&self, memory: &mut HostMemory, place: u64) -> Result<(), DmaError> {
        let Some(block) = self.written[place as usize] else {
            return Ok(());
        };
        let addr = self.base + place * STRIDE;
        let unmapped = |_| DmaError::Written { addr };
        let bytes = memory.slice_mut(addr, STRIDE as usize).map_err(unmapped)?;
        let (before, rest) = bytes.split_at(block.offset as usize);
        let (here, after) = rest.split_at(self.bytes as usize);
        let zero = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0);
        let same = *here == self.source[block.from..][..self.bytes as usize];
        if !(same && zero(before) && zero(after)) {
            return Err(DmaError::Written { addr });
        }
        bytes[block.offset as usize..][..self.bytes as usize].fill(0);
        Ok(())
    }

    /// Compares all places, when all writes have landed.
    ///
    /// # Errors
    /// One of them does not hold what was written there last.
    pub fn finish(&self, memory: &mut HostMemory) -> Result<(), DmaError> {
        (0..PLACES).try_for_each(|place| self.compare(memory, place))
    }
}
