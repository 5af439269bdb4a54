//! Random commands, good and bad, against a model that says how each must end.

use crate::bench::Bench;
use crate::entries::{good_cq, good_entries, Entry, Names};
use ferroce_abi::cfg::{
    field_offset, AhCfg, CompleterCfg, EqCfg, QpInfo, QueueInfo, RingCfg, SenderCfg, SrqInfo, Table,
};
use ferroce_abi::mailbox::{Command, CommandStatus, MailboxState, Object, QpState};
use ferroce_emit::on_big_stack;
use rand::Rng;
use std::collections::HashMap;

const QPS: u32 = 8;
const CQS: u32 = 4;
const EQS: u32 = 2;
const MRS: u32 = 16;
const AHS: u32 = 8;
const SRQS: u32 = 4;

/// CQs of a QP, of receives and of sends, and its SRQ.
#[derive(Clone, Copy, Default)]
struct Uses {
    recv: Option<u32>,
    send: Option<u32>,
    srq: Option<u32>,
}

/// What exists, and what uses it.
#[derive(Default)]
struct Model {
    states: HashMap<u32, QpState>,
    uses: HashMap<u32, Uses>,
    /// CQs and their EQs.
    cqs: HashMap<u32, u32>,
    eqs: Vec<u32>,
    mrs: Vec<u32>,
    /// Address handles and what they hold.
    ahs: HashMap<u32, Entry>,
    /// SRQs, and the EQs of their limits.
    srqs: HashMap<u32, Option<u32>>,
    port: Option<u32>,
}

impl Model {
    fn state(&self, qp: u32) -> QpState {
        self.states.get(&qp).copied().unwrap_or(QpState::Reset)
    }

    /// How a command must end, and what it does; `spoilt` is the block with a bad argument.
    fn run(
        &mut self,
        command: Command,
        object: u32,
        names: Names,
        spoilt: Option<usize>,
    ) -> CommandStatus {
        let Names { cq, eq, srq, .. } = names;
        let (limit, exists) = match command.object() {
            Object::Port => (1, true),
            Object::Qp => (QPS, true),
            Object::Cq => (CQS, self.cqs.contains_key(&object)),
            Object::Eq => (EQS, self.eqs.contains(&object)),
            Object::Mr => (MRS, self.mrs.contains(&object)),
            Object::Ah => (AHS, self.ahs.contains_key(&object)),
            Object::Srq => (SRQS, self.srqs.contains_key(&object)),
        };
        if object >= limit {
            return CommandStatus::BadIndex;
        }
        if command.to().is_some() && !command.from().contains(&self.state(object)) {
            return CommandStatus::BadState;
        }
        match command.makes() {
            Some(true) if exists => return CommandStatus::Exists,
            None | Some(false) if !exists => return CommandStatus::NoObject,
            _ => {}
        }
        let names_cq = matches!(
            command.to(),
            Some(QpState::Init | QpState::Rtr | QpState::Rts | QpState::Err)
        );
        let names_eq = matches!(command, Command::CreateCq | Command::SetAsyncEq)
            || command == Command::ModifySrq && names.shared;
        // Not by the move to RTS, which has no entry of the responder.
        let names_srq = names.shared && command.to() != Some(QpState::Rts) && names_cq;
        let missing = names_cq && !self.cqs.contains_key(&cq)
            || names_eq && !self.eqs.contains(&eq)
            || names_srq && !self.srqs.contains_key(&srq);
        // Blocks are judged in order.
        let naming = command.tables().iter().position(|table| {
            matches!(
                table,
                Table::Responder | Table::Completer | Table::Cq | Table::Async | Table::SrqLimit
            )
        });
        if missing && spoilt.is_some() && naming < spoilt {
            return CommandStatus::NoObject;
        }
        if spoilt.is_some() {
            return CommandStatus::BadArgument;
        }
        if missing {
            return CommandStatus::NoObject;
        }
        let used = match command {
            Command::DestroyCq => self
                .uses
                .values()
                .any(|uses| uses.recv == Some(object) || uses.send == Some(object)),
            Command::DestroyEq => {
                self.port == Some(object)
                    || self.cqs.values().any(|&eq| eq == object)
                    || self.srqs.values().any(|&eq| eq == Some(object))
            }
            Command::DestroySrq => self.uses.values().any(|uses| uses.srq == Some(object)),
            _ => false,
        };
        if used {
            return CommandStatus::InUse;
        }
        self.carry_out(command, object, names);
        CommandStatus::Ok
    }

    /// Compares the answer to a query.
    fn check_answer(&self, command: Command, object: u32, answer: Entry) {
        let number = object + if command == Command::QueryEq { 100 } else { 0 };
        let eq = self.cqs.get(&object).copied();
        match command {
            Command::QueryQp => {
                let uses = self.uses.get(&object).copied().unwrap_or_default();
                let info = QpInfo::from_bits(&answer);
                assert_eq!(info.state, self.state(object) as u8);
                let cqs = [(info.has_recv, info.recv_cq), (info.has_send, info.send_cq)]
                    .map(|(has, cq)| has.then_some(u32::from(cq)));
                assert_eq!(cqs, [uses.recv, uses.send]);
                assert_eq!(info.has_srq.then_some(u32::from(info.srq)), uses.srq);
                assert_eq!(
                    (info.sq_psn, u32::from(info.sq_posted), info.rq_next),
                    (0xAB_CDEF, object + 1, 0x8001)
                );
            }
            Command::QuerySrq => {
                let info = SrqInfo::from_bits(&answer);
                assert_eq!(
                    (info.limit, u32::from(info.posted), info.next),
                    (0x8765, object + 200, 0xFFFE)
                );
            }
            Command::QueryCq | Command::QueryEq => {
                let info = QueueInfo::from_bits(&answer);
                assert_eq!(
                    (info.lost, info.armed, info.producer, info.consumer),
                    (false, true, 0x80_0000 + number, number)
                );
                if command == Command::QueryCq {
                    assert_eq!(info.has_eq.then_some(u32::from(info.eq)), eq);
                }
            }
            Command::QueryAh => assert_eq!(Some(&answer), self.ahs.get(&object)),
            _ => assert_eq!(answer, [0; 4]),
        }
    }

    fn carry_out(&mut self, command: Command, object: u32, names: Names) {
        let Names { cq, eq, .. } = names;
        let srq = names.shared.then_some(names.srq);
        if let Some(to) = command.to() {
            self.states.insert(object, to);
            let uses = self.uses.entry(object).or_default();
            match to {
                QpState::Reset => *uses = Uses::default(),
                QpState::Init | QpState::Rtr => (uses.recv, uses.srq) = (Some(cq), srq),
                QpState::Rts => uses.send = Some(cq),
                QpState::Err => (uses.recv, uses.send, uses.srq) = (Some(cq), Some(cq), srq),
            }
        }
        match command {
            Command::CreateCq => drop(self.cqs.insert(object, eq)),
            Command::DestroyCq => drop(self.cqs.remove(&object)),
            Command::CreateEq => self.eqs.push(object),
            Command::DestroyEq => self.eqs.retain(|&eq| eq != object),
            Command::RegMr => self.mrs.push(object),
            Command::DeregMr => self.mrs.retain(|&mr| mr != object),
            Command::SetAsyncEq => self.port = Some(eq),
            Command::CreateSrq => {
                self.srqs.insert(object, None);
            }
            Command::ModifySrq => {
                self.srqs.insert(object, names.shared.then_some(eq));
            }
            Command::DestroySrq => {
                self.srqs.remove(&object);
            }
            Command::CreateAh | Command::ModifyAh => {
                let entries = good_entries(command, names);
                self.ahs.insert(object, entries[0]);
            }
            Command::DestroyAh => {
                self.ahs.remove(&object);
            }
            _ => {}
        }
    }
}

/// Bit of a field.
fn flip(entry: &mut Entry, bit: usize) {
    entry[bit / 64] ^= 1 << (bit % 64);
}

/// Clears a field.
fn clear(entry: &mut Entry, offset: usize, width: usize) {
    for bit in offset..offset + width {
        entry[bit / 64] &= !(1 << (bit % 64));
    }
}

/// Makes one of the entries wrong, if it can be.
fn spoil(bench: &mut Bench, command: Command, entries: &mut [Entry]) -> Option<usize> {
    if entries.is_empty() {
        return None;
    }
    let block = bench.rng.gen_range(0..entries.len());
    let entry = &mut entries[block];
    let on = entry[0] & 1 == 1;
    match command.tables()[block] {
        Table::Cq | Table::Eq | Table::Mr | Table::Srq | Table::Ah if bench.rng.gen_bool(0.3) => {
            flip(entry, 0);
        }
        Table::Eq if on && bench.rng.gen_bool(0.5) => {
            // The card has two vectors.
            let at = field_offset(EqCfg::FIELDS, "vector");
            flip(entry, at + bench.rng.gen_range(1..7));
        }
        Table::Sq | Table::Rq | Table::Cq | Table::Eq | Table::Srq if on => {
            if bench.rng.gen_bool(0.5) {
                let at = field_offset(RingCfg::FIELDS, "base");
                flip(entry, at + bench.rng.gen_range(0..12));
            } else {
                clear(entry, field_offset(RingCfg::FIELDS, "log_size"), 4);
            }
        }
        Table::Ah if on => {
            let at = if bench.rng.gen_bool(0.5) {
                // No IPv4 address.
                field_offset(AhCfg::FIELDS, "dgid_low") + bench.rng.gen_range(32..64)
            } else {
                field_offset(AhCfg::FIELDS, "sgid_index") + bench.rng.gen_range(0..8)
            };
            flip(entry, at);
        }
        Table::Sender if on => clear(entry, field_offset(SenderCfg::FIELDS, "pmtu"), 4),
        Table::Completer if on => {
            // 8 is the smallest.
            flip(entry, field_offset(CompleterCfg::FIELDS, "pmtu") + 3);
        }
        _ => return None,
    }
    Some(block)
}

#[test]
fn random_commands_end_as_the_model_says() {
    on_big_stack(|| {
        let mut bench = Bench::new();
        bench.stall = 0.0;
        let mut model = Model::default();
        let mut ends: HashMap<CommandStatus, usize> = HashMap::new();
        for number in 0..2_000 {
            let command = Command::ALL[bench.rng.gen_range(0..Command::ALL.len())];
            let limit = match command.object() {
                Object::Port => 1,
                Object::Qp => 3,
                Object::Cq => CQS,
                Object::Eq => EQS,
                Object::Mr | Object::Ah => 4,
                Object::Srq => SRQS,
            };
            let mut object = bench.rng.gen_range(0..limit);
            if bench.rng.gen_bool(0.03) {
                object += 16 << bench.rng.gen_range(0..20);
            }
            // Beyond the tables too.
            let names = Names {
                cq: bench.rng.gen_range(0..CQS + 1),
                eq: bench.rng.gen_range(0..EQS + 1),
                srq: bench.rng.gen_range(0..SRQS + 1),
                shared: bench.rng.gen(),
            };
            let mut entries = good_entries(command, names);
            let spoilt = if bench.rng.gen_bool(0.1) {
                spoil(&mut bench, command, &mut entries)
            } else {
                None
            };
            bench.cfg.clear();
            let status = bench.command(command, object, &entries);
            let expected = model.run(command, object, names, spoilt);
            assert_eq!(
                status, expected,
                "{number}: {command:?} of {object}, {names:?}"
            );
            let writes = if status == CommandStatus::Ok {
                command.tables().len()
            } else {
                0
            };
            assert_eq!(bench.cfg.len(), writes, "{command:?}");
            if status == CommandStatus::Ok && command.queries() {
                model.check_answer(command, object, bench.answer());
            }
            *ends.entry(status).or_default() += 1;
        }
        for status in [
            CommandStatus::Ok,
            CommandStatus::BadIndex,
            CommandStatus::BadState,
            CommandStatus::InUse,
            CommandStatus::NoObject,
            CommandStatus::BadArgument,
            CommandStatus::Exists,
        ] {
            assert!(
                ends.contains_key(&status),
                "{status:?} never came: {ends:?}"
            );
        }
    });
}

#[test]
fn a_queue_that_does_not_drain_keeps_the_command_busy() {
    on_big_stack(|| {
        let mut bench = Bench::new();
        let entry = good_cq(None);
        assert_eq!(
            bench.command(Command::CreateCq, 1, &[entry]),
            CommandStatus::Ok
        );
        bench.drain_takes = 5_000;
        bench.fill(&[[0; 4]]);
        bench.start(Command::DestroyCq as u32, 1);
        bench.idle(4_000);
        assert_eq!(bench.state(), MailboxState::Busy);
        bench.idle(2_000);
        assert_eq!(bench.state(), MailboxState::Done(0));
    });
}
