//! The block under test between a PCIe block and a register file, both as slow as they like.

use super::ask::{Ask, APERTURE, READ, WRITE};
use super::expect::{untouched, Access, Answer, Expect};
use ferroce_dma::completer::CqAccess;
use ferroce_emit::harness::Sim;
use ferroce_pcie::usp::{keep, CcBeat, CqBeat, BEAT_DWORDS};
use ferroce_rtl::desc::bar::{BarReq, BarResp};
use rand::seq::SliceRandom;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use std::collections::{HashMap, VecDeque};

/// Cycles without any progress that count as hanging.
const PATIENCE: u64 = 5_000;
/// Cycles that are watched when all is done.
const AFTERWARDS: u64 = 60;
const COMPLETION_BYTES: usize = 12;

/// How often each side stalls.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stalls {
    /// No beat on `cq`.
    pub cq: f64,
    /// `access` not ready.
    pub access: f64,
    /// `cc` not ready.
    pub cc: f64,
    /// Most cycles from a read to its answer.
    pub latency: u64,
}

impl Stalls {
    /// Any speed of each.
    pub fn random(rng: &mut ChaCha8Rng) -> Self {
        let mut often = || *[0.0, 0.2, 0.8, 0.97].choose(rng).unwrap();
        Self {
            cq: often(),
            access: often(),
            cc: often(),
            latency: rng.gen_range(0..60),
        }
    }
}

/// A completion as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    pub descriptor: u128,
    pub rest: Vec<u8>,
    /// Accesses taken when its first beat left.
    pub accesses_before: usize,
}

/// The bench.
pub struct Bench {
    pub sim: Sim,
    pub rng: ChaCha8Rng,
    pub expect: Expect,
    pub beats: VecDeque<CqBeat>,
    pub accesses: Vec<Access>,
    pub packets: Vec<Packet>,
    registers: HashMap<u64, u8>,
    /// Answers under way, with the cycle from which on they are there.
    answers: VecDeque<(u64, u64)>,
    partial: Vec<u8>,
    started_after: usize,
    unsupported: usize,
    dropped: usize,
    damaged: usize,
    offered: bool,
    waiting: [Option<Vec<u32>>; 2],
}

impl Bench {
    /// Nothing is under way.
    pub fn new(rng: ChaCha8Rng) -> Self {
        Self {
            sim: Sim::new("cq_access", CqAccess::default),
            rng,
            expect: Expect::default(),
            beats: VecDeque::new(),
            accesses: Vec::new(),
            packets: Vec::new(),
            registers: HashMap::new(),
            answers: VecDeque::new(),
            partial: Vec::new(),
            started_after: 0,
            unsupported: 0,
            dropped: 0,
            damaged: 0,
            offered: false,
            waiting: [None, None],
        }
    }

    /// Queues a request.
    pub fn push(&mut self, ask: &Ask) {
        self.beats.extend(ask.beats());
        self.expect.request(ask);
    }

    /// Queues a beat that means nothing or little.
    pub fn push_noise(&mut self) {
        let words: Vec<u32> = (0..CqBeat::WORDS).map(|_| self.rng.gen()).collect();
        let mut beat = CqBeat::unpack(&words);
        beat.last = self.rng.gen_bool(0.3);
        if self.rng.gen_bool(0.5) {
            // BAR 0 of function 0, a read or write of any length.
            beat.data[9] &= 0x87;
            beat.data[9] |= self.rng.gen_range(0..2) << 3;
            beat.data[13..15].copy_from_slice(&[0, APERTURE << 3]);
        }
        self.beats.push_back(beat);
    }

    fn register(&self, addr: u64) -> u64 {
        (0..8).rev().fold(0, |word, k| {
            let byte = self.registers.get(&(addr + k));
            word << 8 | u64::from(byte.copied().unwrap_or(untouched(addr + k)))
        })
    }

    /// One cycle; whether anything moved.
    pub fn cycle(&mut self, stalls: Stalls) -> bool {
        let now = self.sim.cycle;
        self.offered |= !self.rng.gen_bool(stalls.cq);
        self.offered &= !self.beats.is_empty();
        self.sim.set("cq_valid", &self.offered);
        if self.offered {
            let words = self.beats[0].to_words();
            self.sim.set_words("cq_data", &words);
        }
        let access_ready = !self.rng.gen_bool(stalls.access);
        let cc_ready = !self.rng.gen_bool(stalls.cc);
        self.sim.set("access_ready", &access_ready);
        self.sim.set("cc_ready", &cc_ready);
        let answer = self.answers.front().filter(|(due, _)| *due <= now);
        let answer = answer.map(|&(_, data)| BarResp { data: data.into() });
        self.sim.offer("answer", answer.as_ref());
        self.sim.settle();
        self.check_hold(0, "access");
        self.check_hold(1, "cc");
        assert!(
            self.partial.is_empty() || self.sim.high("cc_valid"),
            "a gap inside a completion"
        );

        let mut moved = false;
        if self.sim.taken("cq") {
            self.beats.pop_front();
            self.offered = false;
            moved = true;
        }
        if self.sim.taken("answer") {
            self.answers.pop_front();
            moved = true;
        }
        if self.sim.taken("access") {
            let access: BarReq = self.sim.get("access_data");
            self.access(access, stalls.latency);
            moved = true;
        }
        if self.sim.taken("cc") {
            let beat = CcBeat::unpack(&self.sim.words("cc_data"));
            self.completion_beat(&beat);
            moved = true;
        }
        self.unsupported += usize::from(self.sim.high("unsupported"));
        self.dropped += usize::from(self.sim.high("dropped"));
        self.damaged += usize::from(self.sim.high("damaged"));
        self.sim.tick();
        moved
    }

    /// What is offered stays until it is taken.
    fn check_hold(&mut self, index: usize, stream: &str) {
        let words = self.sim.words(&format!("{stream}_data"));
        let valid = self.sim.high(&format!("{stream}_valid"));
        if let Some(before) = self.waiting[index].take() {
            assert!(valid && before == words, "{stream} changed while it waited");
        }
        if valid && !self.sim.taken(stream) {
            self.waiting[index] = Some(words);
        }
    }

    fn access(&mut self, access: BarReq, latency: u64) {
        let addr = access.addr.to_u64();
        let strobe = if access.write {
            access.strobe.to_u64() as u8
        } else {
            0
        };
        let mut data = 0;
        for k in (0..8).filter(|k| strobe >> k & 1 == 1) {
            let byte = (access.data.to_u64() >> (8 * k)) as u8;
            data |= u64::from(byte) << (8 * k);
            self.registers.insert(addr + k, byte);
        }
        if !access.write {
            let due = self.sim.cycle + 1 + self.rng.gen_range(0..=latency);
            self.answers.push_back((due, self.register(addr)));
        }
        self.accesses.push(Access {
            addr,
            write: access.write,
            strobe,
            data,
        });
    }

    fn completion_beat(&mut self, beat: &CcBeat) {
        let first = self.partial.is_empty();
        if first {
            self.started_after = self.accesses.len();
        }
        let dwords = beat.keep.count_ones() as usize;
        assert_eq!(beat.keep, keep(dwords), "tkeep has a hole");
        assert!(beat.last || dwords == BEAT_DWORDS, "a beat is not full");
        let user = &beat.user;
        assert_eq!(user.is_sop, u8::from(first));
        assert_eq!(user.is_eop, u8::from(beat.last));
        assert!(!beat.last || usize::from(user.eop_ptr[0]) == dwords - 1);
        assert!(!user.discontinue);
        self.partial.extend_from_slice(&beat.data[..dwords * 4]);
        if beat.last {
            let bytes = std::mem::take(&mut self.partial);
            let mut descriptor = [0; 16];
            descriptor[..COMPLETION_BYTES].copy_from_slice(&bytes[..COMPLETION_BYTES]);
            self.packets.push(Packet {
                descriptor: u128::from_le_bytes(descriptor),
                rest: bytes[COMPLETION_BYTES..].to_vec(),
                accesses_before: self.started_after,
            });
        }
    }

    /// Runs until `done`, and a little longer.
    pub fn run_until(&mut self, stalls: Stalls, done: impl Fn(&Self) -> bool) {
        let mut still = 0;
        while !done(self) {
            still = if self.cycle(stalls) { 0 } else { still + 1 };
            assert!(still < PATIENCE, "it hangs");
        }
        for _ in 0..AFTERWARDS {
            self.cycle(stalls);
        }
    }

    /// Runs until everything expected has come.
    pub fn run(&mut self, stalls: Stalls) {
        self.run_until(stalls, |bench| {
            bench.beats.is_empty()
                && bench.accesses.len() >= bench.expect.accesses.len()
                && bench.packets.len() >= bench.expect.answers.len()
        });
    }

    /// Runs until the noise is over and a write and a read behind it, with marks of their own, are done.
    pub fn run_noise(&mut self, stalls: Stalls, marks: [u64; 2]) {
        let mut write = Ask::memory(WRITE, 0x40, 16);
        write.payload = marks.iter().flat_map(|mark| mark.to_le_bytes()).collect();
        self.beats.extend(write.beats());
        self.beats.extend(Ask::memory(READ, 0x40, 16).beats());
        let expected = write.payload;
        self.run_until(stalls, |bench| {
            bench.beats.is_empty() && bench.packets.last().is_some_and(|p| p.rest == expected)
        });
        assert!(self.answers.is_empty(), "answers are left over");
        self.packets.clear();
        self.accesses.clear();
    }

    /// Compares everything that came, and forgets it.
    pub fn check(&mut self, what: &str) {
        let expect = &mut self.expect;
        for (k, (got, expected)) in self.accesses.iter().zip(&expect.accesses).enumerate() {
            assert_eq!(got, expected, "access {k}: {what}");
        }
        assert_eq!(self.accesses.len(), expect.accesses.len(), "{what}");
        for (k, (got, expected)) in self.packets.iter().zip(&expect.answers).enumerate() {
            check_packet(got, expected, &format!("completion {k}: {what}"));
        }
        assert_eq!(self.packets.len(), expect.answers.len(), "{what}");
        assert_eq!(self.unsupported, expect.unsupported, "{what}");
        assert_eq!(self.dropped, expect.dropped, "{what}");
        assert_eq!(self.damaged, expect.damaged, "{what}");
        (self.unsupported, self.dropped, self.damaged) = (0, 0, 0);
        self.accesses.clear();
        self.packets.clear();
        *expect = Expect {
            bytes: std::mem::take(&mut expect.bytes),
            ..Expect::default()
        };
    }
}

fn check_packet(got: &Packet, expected: &Answer, what: &str) {
    assert_eq!(
        format!("{:#x}", got.descriptor),
        format!("{:#x}", expected.descriptor),
        "{what}"
    );
    assert_eq!(got.rest.len(), expected.rest.len(), "{what}");
    for (k, valid) in expected.valid.iter().enumerate() {
        assert!(
            !valid || got.rest[k] == expected.rest[k],
            "byte {k} of {what}: {got:x?} for {expected:x?}"
        );
    }
    assert!(
        got.accesses_before >= expected.accesses_before,
        "an answer overtook writes: {what}"
    );
}
