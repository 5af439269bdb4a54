//! What all tests share: seeds, a clocked circuit, ends of streams.

use ferroce_emit::prelude::*;
use ferroce_rtl::stream::{Beat, StreamIn, StreamOut};
use rand::Rng;
use std::collections::VecDeque;

/// Cycles after which a test gives up.
pub const MAX_CYCLES: usize = 50_000;

/// A circuit with one clock.
pub struct Bench<U: Block> {
    pub uut: Box<U>,
    cycles: usize,
    set_clock: fn(&mut U, Clock),
}

impl<U: Block> Bench<U> {
    pub fn new(uut: U, set_clock: fn(&mut U, Clock)) -> Self {
        let mut uut = Box::new(uut);
        uut.connect_all();
        check_all(uut.as_ref()).expect("the circuit is wired");
        Self {
            uut,
            cycles: 0,
            set_clock,
        }
    }

    /// Lets the inputs of this cycle act, so that its outputs can be read.
    pub fn settle(&mut self) {
        (self.set_clock)(&mut self.uut, false.into());
        assert!(simulate(self.uut.as_mut(), 64), "the circuit oscillates");
    }

    /// Ends the cycle. No test takes long: what goes on for ever fails here.
    pub fn edge(&mut self) {
        self.cycles += 1;
        assert!(self.cycles < MAX_CYCLES, "the circuit hangs");
        (self.set_clock)(&mut self.uut, true.into());
        assert!(simulate(self.uut.as_mut(), 64), "the circuit oscillates");
    }
}

/// Bench of a circuit whose clock port is `clock`.
#[macro_export]
macro_rules! bench {
    ($uut: expr) => {
        $crate::bench::Bench::new($uut, |uut, level| uut.clock.next = level)
    };
}

/// An item type that tests can make from random bits.
pub trait Item: Synth {
    fn random(random: &mut impl Rng) -> Self;
}

impl<const N: usize> Item for Bits<N> {
    fn random(random: &mut impl Rng) -> Self {
        (0..N).fold(Self::default(), |bits, index| {
            bits.replace_bit(index, random.gen())
        })
    }
}

impl Item for Bit {
    fn random(random: &mut impl Rng) -> Self {
        random.gen()
    }
}

impl Item for Beat {
    fn random(random: &mut impl Rng) -> Self {
        let last = random.gen_bool(0.3);
        Self {
            data: Bits::random(random),
            len: if last {
                random.gen_range(1..=64u64)
            } else {
                64
            }
            .into(),
            last,
            err: last && random.gen_bool(0.2),
        }
    }
}

/// The source of a stream under test. Without an item it drives noise on `data`.
pub struct Source<T> {
    /// Probability of an offer in a cycle without a pending one.
    pub rate: f64,
    /// Still to be sent.
    pub queue: VecDeque<T>,
    offer: Option<T>,
    /// Items taken so far.
    pub sent: usize,
}

impl<T: Item> Source<T> {
    pub fn new(rate: f64, items: impl IntoIterator<Item = T>) -> Self {
        Self {
            rate,
            queue: items.into_iter().collect(),
            offer: None,
            sent: 0,
        }
    }

    /// Before a cycle settles.
    pub fn drive(&mut self, port: &mut StreamIn<T>, random: &mut impl Rng) {
        if self.offer.is_none() && random.gen_bool(self.rate) {
            self.offer = self.queue.pop_front();
        }
        port.valid.next = self.offer.is_some();
        port.data.next = self.offer.unwrap_or_else(|| T::random(random));
    }

    /// After it has settled: the item taken in this cycle.
    pub fn take(&mut self, port: &StreamIn<T>) -> Option<T> {
        if port.ready.val() && self.offer.is_some() {
            self.sent += 1;
            return self.offer.take();
        }
        None
    }
}

/// The sink of a stream under test. It fails if an offer does not hold.
pub struct Sink<T> {
    /// Probability of `ready`.
    pub rate: f64,
    pub received: Vec<T>,
    stalled: Option<T>,
}

impl<T: Item> Sink<T> {
    pub fn new(rate: f64) -> Self {
        Self {
            rate,
            received: Vec::new(),
            stalled: None,
        }
    }

    /// Before a cycle settles.
    pub fn drive(&mut self, port: &mut StreamOut<T>, random: &mut impl Rng) {
        port.ready.next = random.gen_bool(self.rate);
    }

    /// After it has settled.
    pub fn take(&mut self, port: &StreamOut<T>) -> Option<T> {
        let offer = port.valid.val().then(|| port.data.val());
        if self.stalled.is_some() {
            assert_eq!(offer, self.stalled, "an offer did not hold");
        }
        self.stalled = offer.filter(|_| !port.ready.val());
        let taken = offer.filter(|_| port.ready.val());
        self.received.extend(taken);
        taken
    }
}

/// Pairs of source and sink rates that every stream test runs with.
pub const RATES: [(f64, f64); 5] = [(1.0, 1.0), (1.0, 0.5), (0.5, 1.0), (0.6, 0.6), (0.1, 0.9)];

/// A wire of `N` bits that carries bytes, the first one lowest.
pub fn wire<const N: usize>(bytes: &[u8]) -> Bits<N> {
    let mut bytes = bytes.to_vec();
    bytes.resize(N.div_ceil(32) * 4, 0);
    let words: Vec<u32> = bytes
        .chunks(4)
        .map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")))
        .collect();
    unpack(&words)
}

/// The bytes of a wire.
pub fn bytes<const N: usize>(wire: &Bits<N>) -> Vec<u8> {
    let mut bytes: Vec<u8> = pack(wire)
        .iter()
        .flat_map(|word: &u32| word.to_le_bytes())
        .collect();
    bytes.truncate(N / 8);
    bytes
}

/// `len` random bytes.
pub fn noise(len: usize, random: &mut impl Rng) -> Vec<u8> {
    let mut bytes = vec![0; len];
    random.fill_bytes(&mut bytes);
    bytes
}

/// Payload lengths around everything that matters, and one of any length.
pub fn payload_lengths(random: &mut impl Rng) -> [usize; 7] {
    [0, 1, 63, 64, 65, 4096, random.gen_range(1..4096)]
}

/// Compares bytes, and tells where they differ first.
pub fn assert_same(got: &[u8], expected: &[u8], what: &impl std::fmt::Debug) {
    assert_eq!(got.len(), expected.len(), "length of {what:?}");
    let different = got
        .iter()
        .zip(expected)
        .position(|(got, expected)| got != expected);
    assert_eq!(different, None, "the first wrong byte of {what:?}");
}
