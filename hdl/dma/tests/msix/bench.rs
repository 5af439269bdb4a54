//! The table between a host that configures it, events, and a DMA port that stalls.

use super::model::{Message, Model};
use ferroce_dma::msix::{MsixTable, VECTOR_BITS};
use ferroce_emit::harness::Sim;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::bar::{BarReq, BarResp};
use ferroce_rtl::desc::dma::DmaWriteBeat;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use std::collections::VecDeque;

/// Cycles without a message after which none comes: a scan that visits each of 128 masked vectors.
const QUIET: u64 = 1_200;

/// The bench.
pub struct Bench {
    sim: Sim,
    pub rng: ChaCha8Rng,
    pub model: Model,
    accesses: VecDeque<BarReq>,
    answers: VecDeque<u64>,
    events: VecDeque<u64>,
    /// Events that were taken, with their cycle.
    pub fired: Vec<(u64, u64)>,
    /// Messages that were taken, with their cycle.
    pub messages: Vec<(u64, Message)>,
    waiting: Option<Vec<u32>>,
}

impl Bench {
    /// `2^log2` vectors after reset.
    pub fn new(log2: usize, rng: ChaCha8Rng) -> Self {
        Self {
            sim: Sim::new("msix_table", || MsixTable::new(log2)),
            rng,
            model: Model::new(1 << log2),
            accesses: VecDeque::new(),
            answers: VecDeque::new(),
            events: VecDeque::new(),
            fired: Vec::new(),
            messages: Vec::new(),
            waiting: None,
        }
    }

    /// One cycle.
    pub fn cycle(&mut self) {
        let access = self.accesses.front().copied();
        let event: Option<Bits<VECTOR_BITS>> = self.events.front().map(|&vector| vector.into());
        let (answer_ready, write_ready) = (self.rng.gen_bool(0.7), self.rng.gen_bool(0.5));
        self.sim.offer("access", access.as_ref());
        self.sim.offer("fire", event.as_ref());
        self.sim.set("answer_ready", &answer_ready);
        self.sim.set("write_ready", &write_ready);
        self.sim.settle();
        if self.sim.taken("access") {
            self.accesses.pop_front();
        }
        if self.sim.taken("fire") {
            self.fired
                .extend(self.events.pop_front().map(|v| (self.sim.cycle, v)));
        }
        if self.sim.taken("answer") {
            let answer: BarResp = self.sim.get("answer_data");
            self.answers.push_back(answer.data.to_u64());
        }
        if self.sim.high("write_valid") {
            let words = self.sim.words("write_data");
            if let Some(before) = self.waiting.take() {
                assert_eq!(before, words, "a message changed while it waited");
            }
            if self.sim.taken("write") {
                self.messages.push((self.sim.cycle, decode(&words)));
            } else {
                self.waiting = Some(words);
            }
        } else {
            assert_eq!(self.waiting, None, "a message was withdrawn");
        }
        self.sim.tick();
    }

    /// Queues a write.
    pub fn queue_write(&mut self, addr: u64, strobe: u8, data: u64) {
        self.accesses.push_back(BarReq {
            addr: addr.into(),
            write: true,
            data: data.into(),
            strobe: u64::from(strobe).into(),
        });
    }

    /// Queues an event.
    pub fn queue_fire(&mut self, vector: u64) {
        self.events.push_back(vector);
    }

    /// Writes, and waits until it is taken.
    pub fn write(&mut self, addr: u64, strobe: u8, data: u64) {
        self.queue_write(addr, strobe, data);
        while !self.accesses.is_empty() {
            self.cycle();
        }
    }

    /// Reads a word.
    pub fn read(&mut self, addr: u64) -> u64 {
        self.accesses.push_back(BarReq {
            addr: addr.into(),
            write: false,
            data: 0.into(),
            strobe: 0xFF.into(),
        });
        for _ in 0..QUIET {
            self.cycle();
            if let Some(answer) = self.answers.pop_front() {
                return answer;
            }
        }
        panic!("the read of {addr:#x} was not answered");
    }

    /// The function's bits.
    pub fn set_function(&mut self, enable: bool, mask: bool) {
        self.sim.set("enable", &enable);
        self.sim.set("function_mask", &mask);
        self.cycle();
    }

    /// An event; waits until it is taken.
    pub fn fire(&mut self, vector: u64) {
        self.queue_fire(vector);
        for _ in 0..QUIET {
            if self.events.is_empty() {
                return;
            }
            self.cycle();
        }
        panic!("an event of vector {vector} is not taken");
    }

    /// Runs until nothing is queued and no message has come for long.
    pub fn settle_down(&mut self) {
        let mut quiet = 0;
        while quiet < QUIET {
            let before = self.messages.len();
            self.cycle();
            let still = before == self.messages.len() && self.events.is_empty();
            quiet = if still { quiet + 1 } else { 0 };
        }
        assert!(self.accesses.is_empty());
    }

    /// Waits for messages and compares them; in any order if `any_order`.
    pub fn expect_messages(&mut self, mut expected: Vec<Message>, any_order: bool, what: &str) {
        self.settle_down();
        let mut got: Vec<Message> = self.messages.drain(..).map(|(_, m)| m).collect();
        if any_order {
            got.sort();
            expected.sort();
        }
        assert_eq!(got, expected, "{what}");
    }
}

fn decode(words: &[u32]) -> Message {
    let beat: DmaWriteBeat = unpack(words);
    assert_eq!(beat.len.to_u64(), 4);
    assert!(beat.last);
    let addr = beat.addr.to_u64();
    assert_eq!(addr % 4, 0);
    Message {
        addr,
        data: words[(addr % 64 / 4) as usize],
    }
}
