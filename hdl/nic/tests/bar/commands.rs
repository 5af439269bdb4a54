//! Commands: what they write, and when they are refused.

use crate::bench::{mailbox_word, Bench};
use crate::entries::{good_cq, good_entries, good_eq, Names};
use ferroce_abi::cfg::Table;
use ferroce_abi::mailbox::{Command, CommandStatus, MailboxState, Object, QpState};
use ferroce_abi::regs;
use ferroce_emit::on_big_stack;
use ferroce_rtl::desc::cfg::CFG_SPACING;
use rand::Rng;

const CQN: u32 = 2;

#[test]
fn every_command_writes_its_tables_from_its_blocks() {
    on_big_stack(|| {
        let mut bench = Bench::new();
        bench.stall = 0.0;
        bench.drain_takes = 500;
        let eq = bench.command(Command::CreateEq, 0, &[good_eq()]);
        let cq = bench.command(Command::CreateCq, CQN, &[good_cq(None)]);
        assert_eq!((eq, cq), (CommandStatus::Ok, CommandStatus::Ok));
        let srq = good_entries(Command::CreateSrq, Names::of(CQN));
        assert_eq!(
            bench.command(Command::CreateSrq, 1, &srq),
            CommandStatus::Ok
        );
        for command in Command::ALL.into_iter().filter(|c| !c.queries()) {
            let object = match command.object() {
                Object::Port => 0,
                Object::Qp => 5,
                Object::Cq => 3,
                Object::Eq => 1,
                Object::Mr => 15,
                Object::Srq if command == Command::ModifySrq => 1,
                Object::Srq => 2,
                Object::Ah => 7,
            };
            let entries = good_entries(command, Names::of(CQN));
            bench.fill(&entries);
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
                for (word, &value) in entries[block].iter().enumerate() {
                    assert_eq!(cfg.data.get_bits::<64>(64 * word).to_u64(), value);
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
            // The ring of a queue that is taken away is left alone when the command ends.
            if matches!(command, Command::DestroyCq | Command::DestroyEq) {
                assert!(bench.now - last >= bench.drain_takes);
            }
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
        for opcode in [0, 22, 31, 32, 33, 0x81, 0xFF] {
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
            (Command::CreateEq, 2),
            (Command::DestroyEq, 0x40),
            (Command::CreateSrq, 4),
            (Command::ModifySrq, 0x100),
            (Command::RegMr, 16),
            (Command::DeregMr, 0xFFFF_FFFF),
            (Command::CreateAh, 8),
            (Command::ModifyAh, 0x4000),
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
        let cq = bench.command(Command::CreateCq, CQN, &[good_cq(None)]);
        assert_eq!(cq, CommandStatus::Ok);
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
            let status = bench.command(command, qp, &good_entries(command, Names::of(CQN)));
            let state = &mut states[qp as usize];
            if command.from().contains(state) {
                assert_eq!(status, CommandStatus::Ok, "{command:?} in {state:?}");
                *state = command.to().unwrap_or(*state);
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
