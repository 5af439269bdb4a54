//! Requests and the beats that carry them.

use ferroce_pcie::enables::ByteEnables;
use ferroce_pcie::tlp::{MemRead, MemWrite, OtherRequest, Request, RequestType};
use ferroce_pcie::usp::{CqBeat, CqEncoder, CqPacket};
use rand::seq::SliceRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// Type codes.
pub const READ: u8 = 0;
pub const WRITE: u8 = 1;
pub const COMPARE_SWAP: u8 = 6;
pub const LOCKED_READ: u8 = 7;
pub const MESSAGE: u8 = 12;
/// Log2 of the bytes of BAR 0.
pub const APERTURE: u8 = 13;

/// What the block or the link did to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// Nothing.
    None,
    /// Its last beat says that it is to be discarded.
    Discontinue,
    /// Its last beats are missing.
    Cut,
    /// Its first beat is missing.
    Headless,
    /// The descriptor's length is not that of the payload.
    Length,
}

/// A request.
#[derive(Debug, Clone)]
pub struct Ask {
    pub kind: u8,
    /// Multiple of 4.
    pub addr: u64,
    pub dwords: usize,
    pub first: u8,
    pub last: u8,
    pub tag: u8,
    pub requester: u16,
    pub function: u8,
    pub bar: u8,
    pub aperture: u8,
    pub tc: u8,
    pub attr: u8,
    pub at: u8,
    pub payload: Vec<u8>,
    pub damage: Damage,
}

impl Ask {
    /// A memory request for `len` bytes at `addr` of BAR 0.
    pub fn memory(kind: u8, addr: u64, len: usize) -> Self {
        let (dwords, enables) = ByteEnables::covering(addr, len);
        let payload = match kind {
            WRITE => (0..dwords * 4).map(|k| (addr as usize + k) as u8).collect(),
            _ => Vec::new(),
        };
        Self {
            kind,
            addr: addr & !3,
            dwords,
            first: enables.first,
            last: enables.last,
            tag: 0x5A,
            requester: 0x1234,
            function: 0,
            bar: 0,
            aperture: APERTURE,
            tc: 0,
            attr: 0,
            at: 0,
            payload,
            damage: Damage::None,
        }
    }

    /// Whether a completion answers it.
    pub fn posted(&self) -> bool {
        self.kind == WRITE || self.kind >= MESSAGE
    }

    /// Whether its end is missing.
    pub fn is_cut(&self) -> bool {
        self.damage == Damage::Cut
    }

    fn request(&self) -> Request {
        let enables = ByteEnables {
            first: self.first,
            last: self.last,
        };
        let (addr, dwords, tag, requester) = (self.addr, self.dwords, self.tag, self.requester);
        match self.kind {
            READ => Request::Read(MemRead {
                addr,
                dwords,
                enables,
                tag,
                requester,
            }),
            WRITE => Request::Write(MemWrite {
                addr,
                enables,
                requester,
                poisoned: false,
                payload: self.payload.clone(),
            }),
            // 15 is reserved; its code is put in later.
            kind => Request::Other(OtherRequest {
                kind: RequestType::from_code(kind).unwrap_or(RequestType::Message),
                addr,
                dwords,
                enables,
                tag,
                requester,
                payload: self.payload.clone(),
            }),
        }
    }

    /// The descriptor with every field.
    pub fn descriptor(&self) -> u128 {
        let packet = CqPacket {
            request: self.request(),
            function: self.function,
            bar: self.bar,
            aperture: self.aperture,
        };
        let word = packet.descriptor() & !(0xF << 75) & !(0x7FF << 64);
        word | u128::from(self.kind) << 75
            | (self.dwords as u128 & 0x7FF) << 64
            | u128::from(self.at)
            | u128::from(self.tc) << 121
            | u128::from(self.attr) << 124
    }

    /// The beats as they reach the card.
    pub fn beats(&self) -> Vec<CqBeat> {
        let mut encoder = CqEncoder::default();
        encoder.load(&CqPacket {
            request: self.request(),
            function: self.function,
            bar: self.bar,
            aperture: self.aperture,
        });
        let mut beats: Vec<CqBeat> = std::iter::from_fn(|| encoder.next_beat()).collect();
        let mut descriptor = self.descriptor();
        if self.damage == Damage::Length {
            // 16 doublewords more are a beat more.
            descriptor += 16 << 64;
        }
        beats[0].data[..16].copy_from_slice(&descriptor.to_le_bytes());
        match self.damage {
            Damage::None | Damage::Length => {}
            Damage::Discontinue => beats.last_mut().unwrap().user.discontinue = true,
            Damage::Cut => {
                beats.pop();
            }
            Damage::Headless => {
                beats.remove(0);
            }
        }
        beats
    }
}

/// Byte enables that a request of this length and place may have.
fn enables(rng: &mut ChaCha8Rng, addr: u64, dwords: usize) -> (u8, u8) {
    match dwords {
        1 => (rng.gen_range(0..16), 0),
        2 if addr % 8 == 0 => (rng.gen_range(1..16), rng.gen_range(1..16)),
        _ => (
            *[8, 12, 14, 15].choose(rng).unwrap(),
            *[1, 3, 7, 15].choose(rng).unwrap(),
        ),
    }
}

/// A request as a host might send it, or worse. `after_cut`: it must begin with a start and not be damaged.
pub fn random_ask(rng: &mut ChaCha8Rng, after_cut: bool) -> Ask {
    let kind = match rng.gen_range(0..10) {
        0..=3 => WRITE,
        4..=7 => READ,
        _ => rng.gen_range(2..16),
    };
    let dwords = match (kind, rng.gen_range(0..10)) {
        (READ | WRITE, 0..=2) => rng.gen_range(1..=2),
        (READ | WRITE, 3..=6) => rng.gen_range(1..=16),
        (READ | WRITE, 7) => rng.gen_range(15..=18),
        (READ | WRITE, 8) => rng.gen_range(1..=256),
        (READ | WRITE, _) => 16,
        (4 | 5, _) => rng.gen_range(1..=2),
        (COMPARE_SWAP, _) => 2 << rng.gen_range(0..3),
        (LOCKED_READ, _) => rng.gen_range(1..=20),
        (2 | 3 | 8..=11, _) => 1,
        _ => rng.gen_range(0..=256),
    };
    let room = 4096 - 4 * dwords as u64;
    let addr = rng.gen::<u64>() & !0xFFF | rng.gen_range(0..=room) & !3;
    let (first, last) = enables(rng, addr, dwords.max(1));
    let carries = matches!(kind, WRITE | 3..=6 | 10 | 11 | 12..);
    let mut payload = vec![0; if carries { dwords * 4 } else { 0 }];
    rng.fill(&mut payload[..]);
    let elsewhere = rng.gen_bool(0.1);
    let beats = (16 + payload.len()).div_ceil(64);
    let damage = match rng.gen_range(0..30) {
        _ if after_cut => Damage::None,
        0 if carries => Damage::Discontinue,
        1 if beats > 1 => Damage::Cut,
        2 if beats > 1 => Damage::Headless,
        3 if kind == WRITE && dwords <= 240 => Damage::Length,
        _ => Damage::None,
    };
    Ask {
        kind,
        addr,
        dwords,
        first,
        last,
        tag: rng.gen(),
        requester: rng.gen(),
        function: if elsewhere { rng.gen_range(0..3) } else { 0 },
        bar: if elsewhere { rng.gen_range(0..7) } else { 0 },
        aperture: rng.gen_range(12..=24),
        tc: rng.gen_range(0..8),
        attr: rng.gen_range(0..8),
        at: if matches!(kind, READ | WRITE | 4..=7) {
            rng.gen_range(0..4)
        } else {
            0
        },
        payload,
        damage,
    }
}
