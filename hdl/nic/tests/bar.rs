//! The register window with its command engine and counters, as a driver uses it.

mod common;

use common::{connected, random, settle};
use ferroce_abi::cfg::Table;
use ferroce_abi::mailbox::{Command, CommandStatus, MailboxState, Object, QpState};
use ferroce_abi::regs::{self, CqDoorbell, QueueDoorbell};
use ferroce_emit::on_big_stack;
use ferroce_nic::bar::Bar;
use ferroce_nic::NicConfig;
use ferroce_rtl::desc::bar::{BarReq, CqBell, QueueBell};
use ferroce_rtl::desc::cfg::{CfgWrite, CFG_SPACING};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use std::collections::VecDeque;

const CONFIG: NicConfig = NicConfig {
    qps_log2: 3,
    cqs_log2: 2,
    mrs_log2: 4,
    ..NicConfig::SMALL
};

struct Bench {
    uut: Bar,
    rng: ChaCha8Rng,
    requests: VecDeque<BarReq>,
    answers: VecDeque<u64>,
    cfg: Vec<(u64, CfgWrite)>,
    sq: Vec<QueueBell>,
    rq: Vec<QueueBell>,
    cq: Vec<CqBell>,
    rung: usize,
    bad: usize,
    now: u64,
    /// Counter numbers asked for in the last cycles.
    asked: VecDeque<u64>,
    stall: f64,
}

impl Bench {
    fn new() -> Self {
        Self {
            uut: connected(Bar::new(&CONFIG)),
            rng: random(),
            requests: VecDeque::new(),
            answers: VecDeque::new(),
            cfg: Vec::new(),
            sq: Vec::new(),
            rq: Vec::new(),
            cq: Vec::new(),
            rung: 0,
            bad: 0,
            now: 0,
            asked: [0, 0].into(),
            stall: 0.3,
        }
    }

    fn counter_value(number: u64) -> u64 {
        (number + 1) * 0x0101_0101_0101
    }

    fn cycle(&mut self) {
        let stall = self.stall;
        let [answer, sq, rq, cq] = std::array::from_fn(|_| !self.rng.gen_bool(stall));
        let uut = &mut self.uut;
        uut.access.valid.next = !self.requests.is_empty();
        uut.access.data.next = self.requests.front().copied().unwrap_or_default();
        uut.answer.ready.next = answer;
        uut.sq_bell.ready.next = sq;
        uut.rq_bell.ready.next = rq;
        uut.cq_bell.ready.next = cq;
        let number = self.asked.pop_front().unwrap_or_default();
        uut.counter_value.next = Self::counter_value(number).into();
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
        self.rung += usize::from(uut.bell_rung.val());
        self.bad += usize::from(uut.bell_bad.val());
        if uut.cfg.val().valid {
            self.cfg.push((self.now, uut.cfg.val()));
        }
        uut.clock.next = true.into();
        settle(uut);
        self.now += 1;
    }

    fn idle(&mut self, cycles: usize) {
        for _ in 0..cycles {
            self.cycle();
        }
    }

    fn request(&mut self, addr: u64, write: bool, data: u64, strobe: u64) {
        self.requests.push_back(BarReq {
            addr: addr.into(),
            write,
            data: data.into(),
            strobe: strobe.into(),
        });
    }

    fn write64(&mut self, addr: u64, data: u64) {
        self.request(addr, true, data, 0xFF);
    }

    fn write32(&mut self, addr: u64, data: u32) {
        let lane = addr & 4;
        self.request(addr, true, u64::from(data) << (8 * lane), 0xF << lane);
    }

    fn read64(&mut self, addr: u64) -> u64 {
        self.request(addr, false, 0, 0);
        for _ in 0..200 {
            self.cycle();
            if let Some(answer) = self.answers.pop_front() {
                return answer;
            }
        }
        panic!("the read of {addr:#x} was not answered");
    }

    fn read32(&mut self, addr: u64) -> u32 {
        (self.read64(addr) >> (8 * (addr & 4))) as u32
    }

    fn state(&mut self) -> MailboxState {
        MailboxState::from_bits(self.read32(regs::COMMAND_STATUS))
    }

    /// A command with words that name their place.
    fn start(&mut self, opcode: u32, object: u32) {
        self.write32(regs::COMMAND_OBJECT, object);
        self.write32(regs::COMMAND, opcode);
    }

    fn execute(&mut self, opcode: u32, object: u32) -> CommandStatus {
        self.start(opcode, object);
        for _ in 0..200 {
            if let MailboxState::Done(code) = self.state() {
                return CommandStatus::from_code(code).expect("a known code");
            }
        }
        panic!("command {opcode} does not end");
    }

    fn fill_mailbox(&mut self) {
        for word in 0..32 {
            self.write64(regs::MAILBOX_IN + 8 * word, mailbox_word(word));
        }
    }
}

fn mailbox_word(word: u64) -> u64 {
    (word + 1) * 0x1111_0000_2222
}

#[test]
fn identification_tells_the_sizes() {
    on_big_stack(|| {
        let mut bench = Bench::new();
        for (register, value) in [
            (regs::MAGIC, regs::MAGIC_VALUE),
            (regs::VERSION, regs::VERSION_VALUE),
            (regs::FEATURES, regs::feature::RC),
            (regs::NUM_QPS, 8),
            (regs::NUM_CQS, 4),
            (regs::NUM_MRS, 16),
            (regs::WQE_WINDOW, 16),
            (regs::RETRANSMIT_DEPTH, 16),
            (regs::MAX_SGE, 1),
            (regs::MAX_PMTU, 12),
            (regs::CORE_CLOCK, 250_000_000),
            (regs::MAX_RD_ATOMIC, 0),
            (regs::COMMAND, 0),
            (regs::COMMAND_STATUS, 0),
            (regs::MAILBOX_IN, 0),
            (regs::MAILBOX_OUT, 0),
            (regs::SQ_DOORBELL, 0),
        ] {
            assert_eq!(bench.read32(register), value, "{register:#x}");
            // The same offset beyond the window is reserved.
            assert_eq!(bench.read64(register + regs::BAR_BYTES), 0);
        }
        for number in [0, 1, 72, 127] {
            assert_eq!(
                bench.read64(regs::COUNTERS + 8 * number),
                Bench::counter_value(number)
            );
        }
        bench.write32(regs::COMMAND_OBJECT, 0x1234_5678);
        assert_eq!(bench.read32(regs::COMMAND_OBJECT), 0x1234_5678);
        bench.write32(regs::MAGIC, 0);
        assert_eq!(bench.read32(regs::MAGIC), regs::MAGIC_VALUE);
    });
}

#[test]
fn doorbells_go_where_they_belong() {
    on_big_stack(|| {
        let mut bench = Bench::new();
        let queue = |qpn, producer| QueueDoorbell { qpn, producer }.to_bits();
        bench.write64(regs::SQ_DOORBELL, queue(7, 0xFFFF));
        bench.write64(regs::RQ_DOORBELL, queue(1, 2));
        bench.write64(
            regs::CQ_DOORBELL,
            CqDoorbell {
                cqn: 3,
                consumer: 0xAB_CDEF,
            }
            .to_bits(),
        );
        // Beyond the tables, and in halves.
        bench.write64(regs::SQ_DOORBELL, queue(8, 1));
        bench.write64(regs::RQ_DOORBELL, queue(0x80_0000, 1));
        bench.write64(
            regs::CQ_DOORBELL,
            CqDoorbell {
                cqn: 4,
                consumer: 0,
            }
            .to_bits(),
        );
        bench.write32(regs::SQ_DOORBELL, 2);
        bench.write32(regs::SQ_DOORBELL + 4, 5);
        bench.write64(regs::SQ_DOORBELL + regs::BAR_BYTES, queue(2, 1));
        bench.idle(60);
        let bell = |qp: u64, producer: u64| QueueBell {
            qp: qp.into(),
            producer: producer.into(),
        };
        assert_eq!(bench.sq, [bell(7, 0xFFFF)]);
        assert_eq!(bench.rq, [bell(1, 2)]);
        assert_eq!(
            bench.cq,
            [CqBell {
                cq: 3.into(),
                consumer: 0xAB_CDEF.into()
            }]
        );
        assert_eq!((bench.rung, bench.bad), (6, 3));
    });
}

#[test]
fn no_doorbell_is_lost_and_no_read_is_reordered_under_stalls() {
    on_big_stack(|| {
        let mut bench = Bench::new();
        bench.stall = 0.9;
        let mut expected = Vec::new();
        let mut reads = Vec::new();
        for index in 0..400_u16 {
            if index % 3 == 0 {
                let number = u64::from(index) % 128;
                bench.request(regs::COUNTERS + 8 * number, false, 0, 0);
                reads.push(Bench::counter_value(number));
            }
            let bell = QueueDoorbell {
                qpn: u32::from(index % 8),
                producer: index,
            };
            bench.write64(regs::SQ_DOORBELL, bell.to_bits());
            expected.push(QueueBell {
                qp: u64::from(index % 8).into(),
                producer: u64::from(index).into(),
            });
        }
        while !bench.requests.is_empty() {
            bench.idle(1);
        }
        bench.stall = 0.0;
        bench.idle(100);
        assert_eq!(bench.sq, expected);
        assert_eq!(Vec::from(bench.answers), reads);
    });
}

#[test]
fn every_command_writes_its_tables_from_its_blocks() {
    on_big_stack(|| {
        let mut bench = Bench::new();
        bench.stall = 0.0;
        bench.fill_mailbox();
        for command in Command::ALL {
            let object = match command.object() {
                Object::Port => 0,
                Object::Qp => 5,
                Object::Cq => 3,
                Object::Mr => 15,
            };
            bench.cfg.clear();
            let status = bench.execute(command as u32, object);
            assert_eq!(status, CommandStatus::Ok, "{command:?}");
            let tables: Vec<u64> = command.tables().iter().map(|&table| table as u64).collect();
            let written: Vec<u64> = bench
                .cfg
                .iter()
                .map(|(_, cfg)| cfg.table.to_u64())
                .collect();
            assert_eq!(written, tables, "{command:?}");
            for (block, (_, cfg)) in bench.cfg.iter().enumerate() {
                assert_eq!(cfg.index.to_u64(), u64::from(object));
                for word in 0..4 {
                    let bits = cfg.data.get_bits::<64>(64 * word);
                    assert_eq!(bits.to_u64(), mailbox_word((4 * block + word) as u64));
                }
            }
            let spacing = bench.cfg.windows(2).map(|pair| pair[1].0 - pair[0].0).min();
            assert!(
                spacing.is_none_or(|cycles| cycles >= CFG_SPACING as u64),
                "{spacing:?}"
            );
            // Done means taken in everywhere.
            let last = bench.cfg.last().map_or(0, |&(time, _)| time);
            assert!(bench.now - last >= CFG_SPACING as u64 - 16);
        }
    });
}

#[test]
fn a_mailbox_half_keeps_the_other_half() {
    on_big_stack(|| {
        let mut bench = Bench::new();
        bench.fill_mailbox();
        bench.write32(regs::MAILBOX_IN + 4, 0xAAAA_5555);
        bench.write32(regs::MAILBOX_IN + 8, 0x3333_CCCC);
        assert_eq!(bench.execute(Command::SetPort as u32, 0), CommandStatus::Ok);
        let (_, cfg) = bench.cfg[0];
        assert_eq!(cfg.table.to_u64(), Table::Port as u64);
        assert_eq!(
            cfg.data.get_bits::<64>(0).to_u64(),
            0xAAAA_5555 << 32 | mailbox_word(0) & 0xFFFF_FFFF
        );
        assert_eq!(
            cfg.data.get_bits::<64>(64).to_u64(),
            mailbox_word(1) >> 32 << 32 | 0x3333_CCCC
        );
    });
}

#[test]
fn refused_commands_change_nothing_and_say_why() {
    on_big_stack(|| {
        let mut bench = Bench::new();
        for opcode in [0, 11, 15, 16, 17, 0x81, 0xFF] {
            assert_eq!(
                bench.execute(opcode, 0),
                CommandStatus::BadOpcode,
                "{opcode}"
            );
        }
        for (command, object) in [
            (Command::SetPort, 1),
            (Command::CreateCq, 4),
            (Command::DestroyCq, 0x8000_0000),
            (Command::RegMr, 16),
            (Command::DeregMr, 0xFFFF_FFFF),
            (Command::QpResetToInit, 8),
            (Command::QpToReset, 0x1_0000),
        ] {
            let status = bench.execute(command as u32, object);
            assert_eq!(status, CommandStatus::BadIndex, "{command:?}");
        }
        assert!(bench.cfg.is_empty());
    });
}

#[test]
fn qp_states_follow_the_state_machine() {
    on_big_stack(|| {
        let mut bench = Bench::new();
        bench.stall = 0.0;
        let mut states = [QpState::Reset; 8];
        let commands: Vec<Command> = Command::ALL
            .into_iter()
            .filter(|command| command.object() == Object::Qp)
            .collect();
        let mut accepted = 0;
        for _ in 0..120 {
            let command = commands[bench.rng.gen_range(0..commands.len())];
            let qp = bench.rng.gen_range(0..3_u32);
            bench.cfg.clear();
            let status = bench.execute(command as u32, qp);
            let state = &mut states[qp as usize];
            if command.from().contains(state) {
                assert_eq!(status, CommandStatus::Ok, "{command:?} in {state:?}");
                *state = command.to().expect("a QP command");
                accepted += 1;
            } else {
                assert_eq!(status, CommandStatus::BadState, "{command:?} in {state:?}");
                assert!(bench.cfg.is_empty());
            }
        }
        assert!(accepted > 20, "only {accepted} commands were legal");
    });
}

#[test]
fn a_second_command_is_refused_while_one_runs() {
    on_big_stack(|| {
        let mut bench = Bench::new();
        bench.stall = 0.0;
        bench.start(Command::SetPort as u32, 0);
        bench.write32(regs::COMMAND, Command::QpResetToInit as u32);
        let shown = bench.read32(regs::COMMAND_STATUS);
        assert_eq!(
            shown,
            MailboxState::BUSY | (CommandStatus::Busy as u32) << MailboxState::CODE_SHIFT
        );
        bench.idle(300);
        assert_eq!(bench.state(), MailboxState::Done(CommandStatus::Ok as u8));
        assert_eq!(bench.cfg.len(), 1);
        // QP 0 is still in RESET.
        assert_eq!(
            bench.execute(Command::QpInitToRtr as u32, 0),
            CommandStatus::BadState
        );
    });
}
