//! The clients' side: requests of three classes, how they must be cut, and what must come back.

use ferroce_dma::tags;
use ferroce_emit::pack;
use ferroce_pcie::enables::ByteEnables;
use ferroce_rtl::desc::dma::{DmaReadBeat, DmaReadReq};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use std::collections::VecDeque;

/// First tag and number of tags of each class.
pub const CLASSES: [(u8, u64); 3] = [(tags::PAYLOAD, 128), (tags::SQ, 64), (tags::RQ, 64)];

/// The class of a tag.
pub fn class(tag: u8) -> usize {
    match tag {
        0..=0x7F => 0,
        0x80..=0xBF => 1,
        _ => 2,
    }
}

/// The byte of host memory at an address.
pub fn byte(addr: u64) -> u8 {
    (addr.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as u8
}

/// A read under way.
#[derive(Clone, Debug)]
struct Read {
    addr: u64,
    len: u64,
    tag: u8,
    ordered: bool,
    /// Bytes for which no TLP was seen.
    unread: u64,
    /// It must fail.
    fails: bool,
    /// Beats that came back.
    beats: u64,
}

impl Read {
    fn beat_count(&self) -> u64 {
        (self.addr + self.len - 1) / 64 - self.addr / 64 + 1
    }
}

/// A piece that is the next of its class to be read.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Number of its request, within the class.
    pub request: usize,
    /// Byte address.
    pub addr: u64,
    /// Bytes.
    pub len: u64,
}

/// One client.
#[derive(Default)]
struct Class {
    reads: VecDeque<Read>,
    /// Requests that were answered.
    answered: usize,
    /// Of `reads`, those that were read completely.
    cut: usize,
}

/// All clients.
pub struct Clients {
    classes: [Class; 3],
    free: [VecDeque<u8>; 3],
    /// Most bytes of a TLP.
    limit: u64,
    /// Failed requests.
    pub failed: usize,
    /// Answered requests.
    pub answered: usize,
    /// Bytes that arrived.
    pub bytes: u64,
}

impl Clients {
    /// Clients without requests; `max_read_req` as the host sets it.
    pub fn new(max_read_req: u8) -> Self {
        Self {
            classes: Default::default(),
            free: CLASSES.map(|(base, count)| (0..count).map(|n| base + n as u8).collect()),
            limit: (128 << max_read_req).min(512),
            failed: 0,
            answered: 0,
            bytes: 0,
        }
    }

    /// Whether nothing is under way.
    pub fn idle(&self) -> bool {
        self.classes.iter().all(|class| class.reads.is_empty())
    }

    /// A request of a class for `len` bytes at `addr`, if it has a tag; [`Self::sent`] when it was taken.
    pub fn request(
        &mut self,
        class: usize,
        addr: u64,
        len: u64,
        ordered: bool,
    ) -> Option<DmaReadReq> {
        let tag = self.free[class].pop_front()?;
        Some(DmaReadReq {
            addr: addr.into(),
            len: len.into(),
            tag: u64::from(tag).into(),
            ordered,
        })
    }

    /// A random request of a random class: short, of a whole page, or in between.
    pub fn random_request(&mut self, rng: &mut ChaCha8Rng) -> Option<DmaReadReq> {
        let page: u64 = rng.gen_range(0..1 << 52) << 12;
        let offset: u64 = match rng.gen_range(0..4) {
            0 => 0,
            1 => rng.gen_range(0..64) * 64,
            _ => rng.gen_range(0..4096),
        };
        let most = 4096 - offset;
        let len = match rng.gen_range(0..8) {
            0 => most,
            1 => rng.gen_range(1..=most),
            2 => rng.gen_range(1..=most.min(8)),
            _ => rng.gen_range(1..=most.min(700)),
        };
        self.request(rng.gen_range(0..3), page | offset, len, rng.gen())
    }

    /// The request was taken.
    pub fn sent(&mut self, request: &DmaReadReq) {
        let (tag, len) = (request.tag.to_u64() as u8, request.len.to_u64());
        self.classes[class(tag)].reads.push_back(Read {
            addr: request.addr.to_u64(),
            len,
            tag,
            ordered: request.ordered,
            unread: len,
            fails: false,
            beats: 0,
        });
    }

    /// The next piece of a class; checks that it is what the TLP reads.
    pub fn piece(
        &mut self,
        class: usize,
        (addr, dwords, enables, ordered): (u64, usize, ByteEnables, bool),
    ) -> Piece {
        let limit = self.limit;
        let class = &mut self.classes[class];
        let read = class
            .reads
            .get_mut(class.cut)
            .expect("a TLP belongs to a request");
        let start = read.addr + read.len - read.unread;
        let len = read.unread.min(limit - start % limit);
        assert_eq!(
            ByteEnables::covering(start, len as usize),
            (dwords, enables),
            "{len} bytes at {start:#x}"
        );
        assert_eq!((addr, ordered), (start & !3, read.ordered));
        read.unread -= len;
        let request = class.answered + class.cut;
        if read.unread == 0 {
            class.cut += 1;
        }
        Piece {
            request,
            addr: start,
            len,
        }
    }

    /// A piece fails, so its request must.
    pub fn fail(&mut self, class: usize, request: usize) {
        let class = &mut self.classes[class];
        class.reads[request - class.answered].fails = true;
    }

    /// All requests under way must fail without being read.
    pub fn fail_all(&mut self) {
        for class in &mut self.classes {
            for read in &mut class.reads {
                read.fails = true;
                read.unread = 0;
            }
            class.cut = class.reads.len();
        }
    }

    /// A beat came back.
    pub fn beat(&mut self, beat: &DmaReadBeat) {
        let tag = beat.tag.to_u64() as u8;
        let class_index = class(tag);
        let class = &mut self.classes[class_index];
        let read = class
            .reads
            .front_mut()
            .expect("a beat belongs to a request");
        assert_eq!(tag, read.tag, "answers of a class come in order");
        let line = read.addr / 64 + read.beats;
        read.beats += 1;
        assert_eq!(
            beat.last,
            read.beats == read.beat_count(),
            "beat {} of {read:x?}",
            read.beats
        );
        let err = beat.last && read.fails;
        assert_eq!(beat.err, err, "the read {read:x?}");
        if !read.fails {
            let words = pack(&beat.data);
            for at in (line * 64).max(read.addr)..((line + 1) * 64).min(read.addr + read.len) {
                let k = (at % 64) as usize;
                assert_eq!(
                    words[k / 4].to_le_bytes()[k % 4],
                    byte(at),
                    "byte {at:#x} of {read:x?}"
                );
                self.bytes += 1;
            }
        }
        if beat.last {
            assert_eq!(read.unread, 0, "{read:x?} is answered before it was read");
            self.failed += usize::from(read.fails);
            self.answered += 1;
            self.free[class_index].push_back(tag);
            class.reads.pop_front();
            class.answered += 1;
            class.cut -= 1;
        }
    }
}
