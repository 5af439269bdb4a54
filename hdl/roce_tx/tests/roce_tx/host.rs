//! Host memory behind a DMA engine that answers late and in any order.

use ferroce_emit::prelude::*;
use ferroce_rtl::desc::dma::{DmaReadBeat, DmaReadReq};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use std::collections::BTreeSet;

/// The byte at an address: every byte of the address space has a fixed, scattered content.
pub fn byte_at(addr: u64) -> u8 {
    let mixed = (addr ^ addr >> 31).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed >> 56) as u8
}

/// `len` bytes from `addr`.
pub fn bytes_at(addr: u64, len: usize) -> Vec<u8> {
    (0..len as u64)
        .map(|k| byte_at(addr.wrapping_add(k)))
        .collect()
}

struct Read {
    addr: u64,
    len: u64,
    /// Bytes answered.
    done: u64,
    tag: u64,
    ready_at: u64,
    fails: bool,
}

/// How the engine behaves.
#[derive(Clone, Copy)]
pub struct Timing {
    /// Least latency in cycles.
    pub latency: u64,
    /// Latency on top, random.
    pub jitter: u64,
    /// Cycles in 100 that have a beat if there is one.
    pub rate: u32,
    /// Answers come in any order and interleaved.
    pub shuffled: bool,
}

/// The DMA engine's read side.
pub struct Host {
    pub timing: Timing,
    tags: std::ops::Range<u64>,
    reads: Vec<Read>,
    pub most_outstanding: usize,
    /// Reads that touch one of these pages fail.
    pub bad_pages: BTreeSet<u64>,
}

impl Host {
    pub fn new(tags: std::ops::Range<u64>, timing: Timing) -> Self {
        Self {
            timing,
            tags,
            reads: Vec::new(),
            most_outstanding: 0,
            bad_pages: BTreeSet::new(),
        }
    }

    pub fn idle(&self) -> bool {
        self.reads.is_empty()
    }

    /// A request arrives: it must keep the rules.
    pub fn request(&mut self, request: &DmaReadReq, now: u64, rng: &mut ChaCha8Rng) {
        let (addr, len) = (request.addr.to_u64(), request.len.to_u64());
        let tag = request.tag.to_u64();
        assert!((1..=4096).contains(&len), "a read of {len} bytes");
        assert_eq!(addr >> 12, (addr + (len - 1)) >> 12, "a read across pages");
        assert!(self.tags.contains(&tag), "tag {tag} is not ours");
        assert!(
            self.reads.iter().all(|read| read.tag != tag),
            "tag {tag} is in use"
        );
        self.reads.push(Read {
            addr,
            len,
            done: 0,
            tag,
            ready_at: now + self.timing.latency + rng.gen_range(0..=self.timing.jitter),
            fails: self.bad_pages.contains(&(addr >> 12)),
        });
        self.most_outstanding = self.most_outstanding.max(self.reads.len());
    }

    /// The beat of this cycle.
    pub fn beat(&mut self, now: u64, rng: &mut ChaCha8Rng) -> Option<DmaReadBeat> {
        if rng.gen_range(0..100) >= self.timing.rate {
            return None;
        }
        let ready: Vec<usize> = (0..self.reads.len())
            .filter(|&k| self.reads[k].ready_at <= now)
            .collect();
        let index = if self.timing.shuffled {
            *ready.get(rng.gen_range(0..ready.len().max(1)))?
        } else {
            *ready.first().filter(|&&k| k == 0)?
        };
        let read = &mut self.reads[index];
        let at = read.addr + read.done;
        let block = at & !63;
        let end = (read.addr + read.len).min(block + 64);
        read.done = end - read.addr;
        let last = read.done == read.len;
        let mut words = [0u32; 16];
        for (k, word) in words.iter_mut().enumerate() {
            let bytes: [u8; 4] = std::array::from_fn(|byte| {
                let addr = block + (4 * k + byte) as u64;
                if (at..end).contains(&addr) && !read.fails {
                    byte_at(addr)
                } else {
                    rng.gen()
                }
            });
            *word = u32::from_le_bytes(bytes);
        }
        let beat = DmaReadBeat {
            data: unpack(&words),
            tag: read.tag.into(),
            last,
            err: last && read.fails,
        };
        if last {
            self.reads.remove(index);
        }
        Some(beat)
    }
}
