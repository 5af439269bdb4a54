//! Random and corner inputs.

use crate::bits::{BitReader, BitWriter};
use rand::seq::SliceRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use std::collections::HashMap;

/// An input port as the stimulus sees it.
#[derive(Debug, Clone)]
pub(super) struct InputPort {
    pub name: String,
    pub width: usize,
    pub is_clock: bool,
    /// Struct fields (offset, width) in order; the whole port if it is none.
    pub fields: Vec<(usize, usize)>,
}

/// The values of a module's inputs in the next cycle.
#[derive(Debug, Clone)]
pub struct Inputs {
    ports: Vec<InputPort>,
    words: Vec<Vec<u32>>,
    by_name: HashMap<String, usize>,
}

impl Inputs {
    pub(super) fn new(ports: Vec<InputPort>) -> Self {
        Self {
            words: ports
                .iter()
                .map(|port| vec![0; port.width.div_ceil(32)])
                .collect(),
            by_name: ports
                .iter()
                .enumerate()
                .map(|(index, port)| (port.name.clone(), index))
                .collect(),
            ports,
        }
    }

    fn index(&self, port: &str) -> usize {
        match self.by_name.get(port) {
            Some(index) => *index,
            None => panic!("no input is called {port}: {:?}", self.by_name.keys()),
        }
    }

    /// Up to 32 bits of a port, from bit `offset`.
    ///
    /// # Panics
    /// If there is no such input.
    #[must_use]
    pub fn get_bits(&self, port: &str, offset: usize, width: usize) -> u32 {
        read(&self.words[self.index(port)], offset, width)
    }

    /// Replaces up to 32 bits of a port, from bit `offset`.
    ///
    /// # Panics
    /// If there is no such input.
    pub fn set_bits(&mut self, port: &str, offset: usize, width: usize, value: u32) {
        let index = self.index(port);
        write(&mut self.words[index], offset, width, value);
    }

    /// The low 32 bits of a port.
    ///
    /// # Panics
    /// If there is no such input.
    #[must_use]
    pub fn get(&self, port: &str) -> u32 {
        self.get_bits(port, 0, 32)
    }

    /// Sets a port of up to 32 bits.
    ///
    /// # Panics
    /// If there is no such input.
    pub fn set(&mut self, port: &str, value: u32) {
        let width = self.ports[self.index(port)].width.min(32);
        self.set_bits(port, 0, width, value);
    }

    pub(super) fn ports(&self) -> &[InputPort] {
        &self.ports
    }

    pub(super) fn words(&self, index: usize) -> &[u32] {
        &self.words[index]
    }

    pub(super) fn replace(&mut self, index: usize, words: Vec<u32>) {
        self.words[index] = words;
    }
}

fn read(words: &[u32], offset: usize, width: usize) -> u32 {
    let mut source = BitReader::new(words);
    let mut skip = offset;
    while skip > 0 {
        skip -= {
            let step = skip.min(32);
            source.take_u32(step);
            step
        };
    }
    source.take_u32(width)
}

fn write(words: &mut [u32], offset: usize, width: usize, value: u32) {
    for bit in 0..width {
        let at = offset + bit;
        if let Some(word) = words.get_mut(at / 32) {
            *word = *word & !(1 << (at % 32)) | (value >> bit & 1) << (at % 32);
        }
    }
}

/// How a field gets its values for a while.
#[derive(Debug, Clone, Copy)]
enum Mode {
    Random,
    Zeros,
    Ones,
    OneHot,
    Walking,
    Small,
    NearWrap,
    Pool,
    Hold,
    FlipBit,
}

const MODES: &[Mode] = &[
    Mode::Random,
    Mode::Random,
    Mode::Zeros,
    Mode::Ones,
    Mode::OneHot,
    Mode::Walking,
    Mode::Small,
    Mode::Small,
    Mode::NearWrap,
    Mode::Pool,
    Mode::Pool,
    Mode::Hold,
    Mode::FlipBit,
];

/// Chances of a single bit to be 1, in sixteenths.
const DUTIES: &[u32] = &[0, 1, 4, 8, 8, 12, 15, 16];

/// Cycles that a field stays in one mode.
const MODE_CYCLES: std::ops::Range<usize> = 8..120;

/// A field's generator.
#[derive(Debug)]
struct Field {
    port: usize,
    offset: usize,
    width: usize,
    mode: Mode,
    duty: u32,
    left: usize,
    position: usize,
    value: Vec<u32>,
}

/// The generators of a module's inputs.
#[derive(Debug)]
pub(super) struct Stimulus {
    fields: Vec<Field>,
    /// Values that fields of one width share, so that comparisons come true.
    pools: HashMap<usize, Vec<Vec<u32>>>,
}

impl Stimulus {
    pub fn new(ports: &[InputPort], rng: &mut ChaCha8Rng) -> Self {
        let mut fields = Vec::new();
        let mut pools: HashMap<usize, Vec<Vec<u32>>> = HashMap::new();
        for (port, info) in ports.iter().enumerate().filter(|(_, p)| !p.is_clock) {
            for &(offset, width) in &info.fields {
                pools
                    .entry(width)
                    .or_insert_with(|| (0..4).map(|_| random(rng, width)).collect());
                fields.push(Field {
                    port,
                    offset,
                    width,
                    mode: Mode::Random,
                    duty: 8,
                    left: rng.gen_range(MODE_CYCLES),
                    position: 0,
                    value: vec![0; width.div_ceil(32)],
                });
            }
        }
        Self { fields, pools }
    }

    /// New values for all fields of the ports that `keep` does not hold.
    pub fn next(&mut self, inputs: &mut Inputs, keep: &[bool], rng: &mut ChaCha8Rng) {
        for field in &mut self.fields {
            if keep[field.port] {
                continue;
            }
            let pool = &self.pools[&field.width];
            field.step(pool, rng);
            let mut offset = field.offset;
            let mut left = field.width;
            for word in &field.value {
                let width = left.min(32);
                write(&mut inputs.words[field.port], offset, width, *word);
                offset += width;
                left -= width;
            }
        }
    }
}

impl Field {
    fn step(&mut self, pool: &[Vec<u32>], rng: &mut ChaCha8Rng) {
        if self.left == 0 {
            self.left = rng.gen_range(MODE_CYCLES);
            self.mode = *MODES.choose(rng).unwrap_or(&Mode::Random);
            self.duty = *DUTIES.choose(rng).unwrap_or(&8);
            self.position = rng.gen_range(0..self.width);
        }
        self.left -= 1;
        if self.width == 1 {
            self.value[0] = u32::from(rng.gen_range(0..16) < self.duty);
            return;
        }
        match self.mode {
            Mode::Random => self.value = random(rng, self.width),
            Mode::Zeros => self.value.fill(0),
            Mode::Ones => self.value = ones(self.width),
            Mode::OneHot => {
                self.value.fill(0);
                self.flip(rng.gen_range(0..self.width));
            }
            Mode::Walking => {
                self.value.fill(0);
                self.flip(self.position);
                self.position = (self.position + 1) % self.width;
            }
            Mode::Small => {
                self.value.fill(0);
                self.value[0] = rng.gen_range(0..8) & ones(self.width)[0];
            }
            Mode::NearWrap => {
                // All ones minus a few, or half of the range plus or minus one.
                self.value = ones(self.width);
                if rng.gen() {
                    self.flip(self.width - 1);
                }
                self.value[0] &= !rng.gen_range(0..4);
                if rng.gen() {
                    let all = ones(self.width);
                    for (word, all) in self.value.iter_mut().zip(all) {
                        *word ^= all;
                    }
                }
            }
            Mode::Pool => {
                if let Some(value) = pool.choose(rng) {
                    self.value.clone_from(value);
                }
            }
            Mode::Hold => {}
            Mode::FlipBit => self.flip(rng.gen_range(0..self.width)),
        }
    }

    fn flip(&mut self, bit: usize) {
        self.value[bit / 32] ^= 1 << (bit % 32);
    }
}

fn random(rng: &mut ChaCha8Rng, width: usize) -> Vec<u32> {
    let mut sink = BitWriter::default();
    for start in (0..width).step_by(32) {
        sink.push_u32(rng.gen(), (width - start).min(32));
    }
    sink.into_words()
}

fn ones(width: usize) -> Vec<u32> {
    let mut sink = BitWriter::default();
    for start in (0..width).step_by(32) {
        sink.push_u32(u32::MAX, (width - start).min(32));
    }
    sink.into_words()
}
