//! The register window on a test's strings: accesses in, answers, doorbells and table writes out.

use crate::common::{connected, settle};
use ferroce_abi::mailbox::{Command, CommandStatus, MailboxState};
use ferroce_abi::regs;
use ferroce_emit::harness::random;
use ferroce_nic::bar::desc::{QpPosition, QueuePosition, SrqPosition};
use ferroce_nic::bar::Bar;
use ferroce_nic::NicConfig;
use ferroce_rtl::desc::bar::{BarReq, CqBell, EqBell, QueueBell, QueueSeen};
use ferroce_rtl::desc::cfg::{table, CfgWrite};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use std::collections::VecDeque;

const CONFIG: NicConfig = NicConfig {
    qps_log2: 3,
    cqs_log2: 2,
    eqs_log2: 1,
    mrs_log2: 4,
    ahs_log2: 3,
    ..NicConfig::SMALL
};

pub struct Bench {
    uut: Bar,
    pub rng: ChaCha8Rng,
    pub requests: VecDeque<BarReq>,
    pub answers: VecDeque<u64>,
    pub cfg: Vec<(u64, CfgWrite)>,
    pub sq: Vec<QueueBell>,
    pub rq: Vec<QueueBell>,
    pub cq: Vec<CqBell>,
    pub eq: Vec<EqBell>,
    /// Consumer indices: queue and index.
    pub cq_seen: Vec<(u64, u64)>,
    pub eq_seen: Vec<(u64, u64)>,
    pub rung: usize,
    pub bad: usize,
    pub foreign: usize,
    pub now: u64,
    /// Counter numbers asked for in the last cycles.
    asked: VecDeque<u64>,
    pub stall: f64,
    /// Cycles until a queue that was taken away has no write in the card any more.
    pub drain: Option<u64>,
    pub drain_takes: u64,
}

impl Bench {
    pub fn new() -> Self {
        Self {
            uut: connected(Bar::new(&CONFIG)),
            rng: random(),
            requests: VecDeque::new(),
            answers: VecDeque::new(),
            cfg: Vec::new(),
            sq: Vec::new(),
            rq: Vec::new(),
            cq: Vec::new(),
            eq: Vec::new(),
            cq_seen: Vec::new(),
            eq_seen: Vec::new(),
            rung: 0,
            bad: 0,
            foreign: 0,
            now: 0,
            asked: [0, 0].into(),
            stall: 0.3,
            drain: None,
            drain_takes: 20,
        }
    }

    pub fn counter_value(number: u64) -> u64 {
        (number + 1) * 0x0101_0101_0101
    }

    pub fn cycle(&mut self) {
        let stall = self.stall;
        let [answer, sq, rq, cq, eq] = std::array::from_fn(|_| !self.rng.gen_bool(stall));
        let uut = &mut self.uut;
        uut.access.valid.next = !self.requests.is_empty();
        uut.access.data.next = self.requests.front().copied().unwrap_or_default();
        uut.answer.ready.next = answer;
        uut.sq_bell.ready.next = sq;
        uut.rq_bell.ready.next = rq;
        uut.cq_bell.ready.next = cq;
        uut.eq_bell.ready.next = eq;
        let number = self.asked.pop_front().unwrap_or_default();
        uut.counter_value.next = Self::counter_value(number).into();
        uut.qp_position.next = QpPosition {
            sq_psn: 0xAB_CDEF.into(),
            sq_posted: (uut.asked.val().to_u64() + 1).into(),
            rq_next: 0x8001.into(),
            ..QpPosition::default()
        };
        uut.cq_position.next = queue_position(uut.asked.val().to_u64());
        uut.eq_position.next = queue_position(uut.asked.val().to_u64() + 100);
        uut.srq_position.next = SrqPosition {
            limit: 0x8765.into(),
            posted: (uut.asked.val().to_u64() + 200).into(),
            taken: 0xFFFE.into(),
        };
        uut.drained.next = self.drain == Some(0);
        self.drain = self.drain.and_then(|cycles| cycles.checked_sub(1));
        uut.clock.next = false.into();
        settle(uut);
        self.asked.push_back(uut.counter.val().to_u64());
        if uut.access.valid.val() & uut.access.ready.val() {
            self.requests.pop_front();
        }
        if uut.answer.valid.val() & answer {
            self.answers.push_back(uut.answer.data.val().data.to_u64());
        }
        if uut.sq_bell.valid.val() & sq {
            self.sq.push(uut.sq_bell.data.val());
        }
        if uut.rq_bell.valid.val() & rq {
            self.rq.push(uut.rq_bell.data.val());
        }
        if uut.cq_bell.valid.val() & cq {
            self.cq.push(uut.cq_bell.data.val());
        }
        if uut.eq_bell.valid.val() & eq {
            self.eq.push(uut.eq_bell.data.val());
        }
        note(&mut self.cq_seen, uut.cq_seen.val());
        note(&mut self.eq_seen, uut.eq_seen.val());
        self.rung += usize::from(uut.bell_rung.val());
        self.bad += usize::from(uut.bell_bad.val());
        self.foreign += usize::from(uut.bell_foreign.val());
        if uut.cfg.val().valid {
            let cfg = uut.cfg.val();
            let table = cfg.table.to_u64();
            if (table == table::CQ || table == table::EQ) && !cfg.data.get_bit(0) {
                self.drain = Some(self.drain_takes);
            }
            self.cfg.push((self.now, cfg));
        }
        uut.clock.next = true.into();
        settle(uut);
        self.now += 1;
    }

    pub fn idle(&mut self, cycles: usize) {
        for _ in 0..cycles {
            self.cycle();
        }
    }

    pub fn request(&mut self, addr: u64, write: bool, data: u64, strobe: u64) {
        self.requests.push_back(BarReq {
            addr: addr.into(),
            write,
            data: data.into(),
            strobe: strobe.into(),
        });
    }

    pub fn write64(&mut self, addr: u64, data: u64) {
        self.request(addr, true, data, 0xFF);
    }

    pub fn write32(&mut self, addr: u64, data: u32) {
        let lane = addr & 4;
        self.request(addr, true, u64::from(data) << (8 * lane), 0xF << lane);
    }

    pub fn read64(&mut self, addr: u64) -> u64 {
        self.request(addr, false, 0, 0);
        for _ in 0..200 {
            self.cycle();
            if let Some(answer) = self.answers.pop_front() {
                return answer;
            }
        }
        panic!("the read of {addr:#x} was not answered");
    }

    pub fn read32(&mut self, addr: u64) -> u32 {
        (self.read64(addr) >> (8 * (addr & 4))) as u32
    }

    pub fn state(&mut self) -> MailboxState {
        MailboxState::from_bits(self.read32(regs::COMMAND_STATUS))
    }

    /// A command with words that name their place.
    pub fn start(&mut self, opcode: u32, object: u32) {
        self.write32(regs::COMMAND_OBJECT, object);
        self.write32(regs::COMMAND, opcode);
    }

    pub fn execute(&mut self, opcode: u32, object: u32) -> CommandStatus {
        self.start(opcode, object);
        for _ in 0..200 {
            if let MailboxState::Done(code) = self.state() {
                return CommandStatus::from_code(code).expect("a known code");
            }
        }
        panic!("command {opcode} does not end");
    }

    /// Puts entries into the mailbox, from the first block on.
    pub fn fill(&mut self, entries: &[[u64; 4]]) {
        for (word, &value) in entries.iter().flatten().enumerate() {
            self.write64(regs::MAILBOX_IN + 8 * word as u64, value);
        }
    }

    /// [`Self::execute`] with entries.
    pub fn command(
        &mut self,
        command: Command,
        object: u32,
        entries: &[[u64; 4]],
    ) -> CommandStatus {
        self.fill(entries);
        self.execute(command as u32, object)
    }

    /// The answer to the last query.
    pub fn answer(&mut self) -> [u64; 4] {
        [0, 8, 16, 24].map(|at| self.read64(regs::MAILBOX_OUT + at))
    }

    pub fn fill_mailbox(&mut self) {
        for word in 0..32 {
            self.write64(regs::MAILBOX_IN + 8 * word, mailbox_word(word));
        }
    }
}

fn note(all: &mut Vec<(u64, u64)>, seen: QueueSeen) {
    if seen.valid {
        all.push((seen.queue.to_u64(), seen.consumer.to_u64()));
    }
}

/// Where a queue is, so that it can be told from others.
fn queue_position(number: u64) -> QueuePosition {
    QueuePosition {
        lost: false,
        armed: true,
        producer: (0x80_0000 + number).into(),
        consumer: number.into(),
    }
}

/// What [`Bench::fill_mailbox`] puts into a word.
pub fn mailbox_word(word: u64) -> u64 {
    (word + 1) * 0x1111_0000_2222
}
