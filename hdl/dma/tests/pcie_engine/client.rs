//! The card's side of DMA: random reads and writes and what must come of them.

use super::memory::{pattern, FLAGS, FLAG_COUNT, PATTERN, WRITTEN, WRITTEN_BYTES};
use ferroce_dma::tags;
use ferroce_emit::{pack, unpack};
use ferroce_rtl::desc::dma::{DmaReadBeat, DmaReadReq, DmaWriteBeat};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use std::collections::{HashMap, VecDeque};

/// Where nothing is mapped.
const NOWHERE: u64 = 0x5_0000_0000;
const PAGE: u64 = 4096;

/// What a read must bring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Truth {
    Pattern,
    /// An error.
    Nothing,
    /// A counter of at least this.
    AtLeast(u64),
}

#[derive(Debug, Clone)]
struct Read {
    addr: u64,
    len: u64,
    truth: Truth,
    beats: u64,
    bytes: Vec<u8>,
}

/// All clients of the DMA port.
pub struct Client {
    free: [VecDeque<u8>; 3],
    reads: HashMap<u8, Read>,
    /// Tags under way, by class, oldest first.
    order: [VecDeque<u8>; 3],
    /// The write under way, beat by beat.
    pub writing: VecDeque<DmaWriteBeat>,
    /// What memory must hold when all writes have landed.
    pub written: Vec<u8>,
    flags: Vec<u64>,
    /// The flag that the write under way sets.
    flag: Option<(u64, u64)>,
    pub finished: usize,
    pub failed: usize,
}

/// Address and length within a page.
fn place(rng: &mut ChaCha8Rng, pages: u64) -> (u64, u64) {
    let offset = match rng.gen_range(0..3) {
        0 => rng.gen_range(0..PAGE / 64) * 64,
        _ => rng.gen_range(0..PAGE),
    };
    let most = PAGE - offset;
    let len = match rng.gen_range(0..6) {
        0 => most,
        1 => rng.gen_range(1..=most),
        2 => rng.gen_range(1..=most.min(8)),
        _ => rng.gen_range(1..=most.min(600)),
    };
    (rng.gen_range(0..pages) * PAGE + offset, len)
}

fn class(tag: u8) -> usize {
    match tag {
        tags::RQ.. => 2,
        tags::SQ.. => 1,
        _ => 0,
    }
}

impl Client {
    /// Nothing under way.
    pub fn new() -> Self {
        let all = |from: u8, to: u8| (from..=to).collect();
        Self {
            free: [
                all(tags::PAYLOAD, tags::SQ - 1),
                all(tags::SQ, tags::RQ - 1),
                all(tags::RQ, u8::MAX),
            ],
            reads: HashMap::new(),
            order: Default::default(),
            writing: VecDeque::new(),
            written: vec![0; (WRITTEN_BYTES + 64 * FLAG_COUNT) as usize],
            flags: vec![0; FLAG_COUNT as usize],
            flag: None,
            finished: 0,
            failed: 0,
        }
    }

    /// Whether nothing is under way.
    pub fn is_idle(&self) -> bool {
        self.reads.is_empty() && self.writing.is_empty()
    }

    /// A read to offer, if there is a tag.
    pub fn next_read(&mut self, rng: &mut ChaCha8Rng) -> Option<DmaReadReq> {
        let tag = *self.free[rng.gen_range(0..3)].front()?;
        let (addr, len, ordered) = match rng.gen_range(0..20) {
            0 => (
                NOWHERE + rng.gen_range(0..64),
                rng.gen_range(1..1500),
                false,
            ),
            1..=4 => (FLAGS + 64 * rng.gen_range(0..FLAG_COUNT), 8, true),
            _ => {
                let (offset, len) = place(rng, 256);
                (PATTERN + offset, len, rng.gen_bool(0.1))
            }
        };
        Some(DmaReadReq {
            addr: addr.into(),
            len: len.into(),
            tag: u64::from(tag).into(),
            ordered,
        })
    }

    /// A payload read of a page, if there is a tag.
    pub fn next_page(&mut self, rng: &mut ChaCha8Rng) -> Option<DmaReadReq> {
        let tag = *self.free[0].front()?;
        Some(DmaReadReq {
            addr: (PATTERN + PAGE * rng.gen_range(0..256)).into(),
            len: PAGE.into(),
            tag: u64::from(tag).into(),
            ordered: false,
        })
    }

    /// A read was taken.
    pub fn read_taken(&mut self, request: &DmaReadReq) {
        let (addr, tag) = (request.addr.to_u64(), request.tag.to_u64() as u8);
        let truth = if (NOWHERE..NOWHERE + PAGE).contains(&addr) {
            Truth::Nothing
        } else if addr >= FLAGS {
            Truth::AtLeast(self.flags[((addr - FLAGS) / 64) as usize])
        } else {
            Truth::Pattern
        };
        self.free[class(tag)].pop_front();
        self.order[class(tag)].push_back(tag);
        self.reads.insert(
            tag,
            Read {
                addr,
                len: request.len.to_u64(),
                truth,
                beats: 0,
                bytes: Vec::new(),
            },
        );
    }

    /// Begins a write.
    pub fn next_write(&mut self, rng: &mut ChaCha8Rng) {
        let (addr, bytes) = if rng.gen_bool(0.3) {
            let index = rng.gen_range(0..FLAG_COUNT);
            let value = self.flags[index as usize] + 1;
            self.flag = Some((index, value));
            (FLAGS + 64 * index, value.to_le_bytes().to_vec())
        } else {
            let (offset, len) = place(rng, WRITTEN_BYTES / PAGE);
            (WRITTEN + offset, (0..len).map(|_| rng.gen()).collect())
        };
        let at = (addr - WRITTEN) as usize;
        self.written[at..][..bytes.len()].copy_from_slice(&bytes);
        let lead = (addr % 64) as usize;
        let beats = (lead + bytes.len()).div_ceil(64);
        // Bytes outside the write must not matter.
        let mut image: Vec<u8> = (0..beats * 64).map(|_| rng.gen()).collect();
        image[lead..][..bytes.len()].copy_from_slice(&bytes);
        for (k, chunk) in image.chunks(64).enumerate() {
            let words: Vec<u32> = chunk
                .chunks(4)
                .map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
                .collect();
            self.writing.push_back(DmaWriteBeat {
                data: unpack(&words),
                addr: addr.into(),
                len: (bytes.len() as u64).into(),
                last: k + 1 == beats,
            });
        }
    }

    /// A beat of the write was taken.
    pub fn write_taken(&mut self) {
        let beat = self.writing.pop_front().expect("a beat was offered");
        if beat.last {
            if let Some((index, value)) = self.flag.take() {
                self.flags[index as usize] = value;
            }
        }
    }

    /// A beat of data came.
    pub fn data(&mut self, beat: &DmaReadBeat) {
        let tag = beat.tag.to_u64() as u8;
        assert_eq!(self.order[class(tag)].front(), Some(&tag), "class order");
        let read = self.reads.get_mut(&tag).expect("a read has this tag");
        let line = read.addr / 64 + read.beats;
        read.beats += 1;
        let bytes: Vec<u8> = pack(&beat.data)
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        let end = read.addr + read.len;
        for addr in (line * 64).max(read.addr)..((line + 1) * 64).min(end) {
            read.bytes.push(bytes[(addr % 64) as usize]);
        }
        assert_eq!(beat.last, (line + 1) * 64 >= end, "{read:x?}");
        if !beat.last {
            return;
        }
        assert_eq!(beat.err, read.truth == Truth::Nothing, "{read:x?}");
        match read.truth {
            Truth::Nothing => self.failed += 1,
            Truth::Pattern => {
                let expected: Vec<u8> = (read.addr..end).map(pattern).collect();
                assert_eq!(read.bytes, expected, "{read:x?}");
            }
            Truth::AtLeast(least) => {
                let mut value = [0; 8];
                value.copy_from_slice(&read.bytes);
                assert!(u64::from_le_bytes(value) >= least, "{read:x?}");
            }
        }
        self.reads.remove(&tag);
        self.order[class(tag)].pop_front();
        self.free[class(tag)].push_back(tag);
        self.finished += 1;
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("reads", &self.order)
            .field("writing", &self.writing.len())
            .field("finished", &self.finished)
            .finish()
    }
}
