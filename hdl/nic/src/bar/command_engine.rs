//! Executes mailbox commands.

use super::command_box::{CommandBox, WORDS_END};
use super::command_table::{
    command_table, object_number, CHANGES, COUNT, ENTRY_LOG2, MAKES, OBJECT, QUERIES, REMOVES,
    TABLES, TABLE_BITS, TO,
};
use super::desc::{CqRecord, MailboxWrite, QpPosition, QpRecord, QueuePosition, SrqPosition};
use super::entry_check::{EntryCheck, CHECK_LATENCY};
use super::object_book::ObjectBook;
use super::object_check::{ObjectCheck, MISSING_LATENCY, OBJECT_LATENCY};
use super::query_answer::{QueryAnswer, ANSWER_BITS};
use crate::config::NicConfig;
use ferroce_abi::mailbox::{Command, CommandStatus, MailboxState, Object};
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::cfg::{table, CfgWrite, CFG_SPACING};
use ferroce_rtl::ram::RAM_LATENCY;

/// Log2 of the cycles that one configuration write takes: that is their distance. The check of an entry takes as long.
const STEP_LOG2: usize = CFG_SPACING.ilog2() as usize;
/// Cycle of the write.
const WRITE_AT: u64 = WORDS_END;
/// Cycle of a step in which the entry is judged: its fields, and the queue that it names, have been looked at.
const ENTRY_AT: u64 = WORDS_END + (CHECK_LATENCY + RAM_LATENCY + MISSING_LATENCY + 1) as u64;
/// Last cycle of a step.
const STEP_END: u64 = (1 << STEP_LOG2) - 1;
/// Cycle in which the object's record has come and been compared.
const JUDGE_AT: u64 = (RAM_LATENCY + OBJECT_LATENCY + 1) as u64;
/// Cycles from [`CommandEngine::asked`] until the answer is there.
pub const ASK_LATENCY: u64 = 8;

const OK: u64 = CommandStatus::Ok as u64;
const BUSY: u64 = CommandStatus::Busy as u64;
const IN_USE: u64 = CommandStatus::InUse as u64;
const NO_OBJECT: u64 = CommandStatus::NoObject as u64;
const BAD_ARGUMENT: u64 = CommandStatus::BadArgument as u64;
const QP: u64 = object_number(Object::Qp);
const CQ: u64 = object_number(Object::Cq);
const EQ: u64 = object_number(Object::Eq);
const SET_ASYNC_EQ: u64 = Command::SetAsyncEq as u64;
const MR: u64 = object_number(Object::Mr);
const SRQ: u64 = object_number(Object::Srq);
const AH: u64 = object_number(Object::Ah);
/// Status register fields.
const BUSY_BIT: u64 = MailboxState::BUSY.trailing_zeros() as u64;
const DONE_BIT: u64 = MailboxState::DONE.trailing_zeros() as u64;
const CODE_SHIFT: u64 = MailboxState::CODE_SHIFT as u64;

/// What the engine does.
#[derive(Clone, Copy, Debug, PartialEq, LogicState, FromBits)]
pub enum Phase {
    /// Waits for a command.
    Idle,
    /// Looks the command up and checks opcode, index, QP state, and whether the object exists.
    Look,
    /// Checks one entry after the other, a step each.
    Check,
    /// Waits for the answer to a query.
    Ask,
    /// Searches for users of what is to be taken away.
    Search,
    /// Writes one table after the other, a step each.
    Write,
    /// Waits until no write to the queue that was taken away is in the card.
    Drain,
}

/// The command engine: knows of a command which tables it writes, in which QP states it is allowed and whether it makes or removes its object, which
/// `ferroce_abi` says, and nothing of its meaning. Everything is checked before the first write, so a refused command changes nothing. It is done only `CFG_SPACING` cycles after its last
/// write, when every pipeline has taken it in; an owner that needs longer says so with `wait`.
#[derive(LogicBlock, Module)]
pub struct CommandEngine {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Writes of the host.
    pub host_write: Signal<In, MailboxWrite>,
    /// A table's owner has not taken the last write in yet.
    pub wait: Signal<In, Bit>,
    /// Status register.
    pub status: Signal<Out, Bits<32>>,
    /// Object register.
    pub object: Signal<Out, Bits<32>>,
    /// Configuration bus.
    pub cfg: Signal<Out, CfgWrite>,
    /// Object of the command.
    pub asked: Signal<Out, Bits<14>>,
    /// Where the QP `asked` is, at most [`ASK_LATENCY`] cycles later.
    pub qp_position: Signal<In, QpPosition>,
    /// Where the CQ is.
    pub cq_position: Signal<In, QueuePosition>,
    /// Where the EQ is.
    pub eq_position: Signal<In, QueuePosition>,
    /// Where the SRQ is.
    pub srq_position: Signal<In, SrqPosition>,
    /// What the AH holds.
    pub ah: Signal<In, Bits<ANSWER_BITS>>,
    /// Answer to the last query.
    pub answer: Signal<Out, Bits<ANSWER_BITS>>,
    /// The CQ or EQ that was taken away last has no write in the card any more.
    pub drained: Signal<In, Bit>,
    table: Constant<Bits<TABLE_BITS>>,
    mailbox: CommandBox,
    book: ObjectBook,
    object_check: ObjectCheck,
    check: EntryCheck,
    answers: QueryAnswer,
    phase: DFF<Phase>,
    /// Cycle of the phase's step.
    cycle: DFF<Bits<6>>,
    opcode: DFF<Bits<8>>,
    index: DFF<Bits<32>>,
    command: DFF<Bits<64>>,
    /// Records of the object after the command.
    new_qp: DFF<QpRecord>,
    new_cq: DFF<CqRecord>,
    drained_seen: DFF<Bit>,
    /// Block of the mailbox.
    block: DFF<Bits<3>>,
    tables: DFF<Bits<20>>,
    done: DFF<Bit>,
    refused: DFF<Bit>,
    code: DFF<Bits<8>>,
    write: DFF<CfgWrite>,
    is_qp: Signal<Local, Bit>,
    makes: Signal<Local, Bit>,
    removes: Signal<Local, Bit>,
    /// The object exists afterwards.
    leaves: Signal<Local, Bit>,
    queries: Signal<Local, Bit>,
    is_queue: Signal<Local, Bit>,
    is_srq: Signal<Local, Bit>,
    keeps: Signal<Local, Bit>,
    finish: Signal<Local, Bit>,
    shown: Signal<Local, Bits<8>>,
}

impl CommandEngine {
    /// For the tables of such a card.
    #[must_use]
    pub fn new(config: &NicConfig) -> Self {
        Self {
            clock: Signal::default(),
            host_write: Signal::default(),
            wait: Signal::default(),
            status: Signal::default(),
            object: Signal::default(),
            cfg: Signal::default(),
            asked: Signal::default(),
            qp_position: Signal::default(),
            cq_position: Signal::default(),
            eq_position: Signal::default(),
            srq_position: Signal::default(),
            ah: Signal::default(),
            answer: Signal::default(),
            drained: Signal::default(),
            table: Constant::new(command_table()),
            mailbox: CommandBox::default(),
            book: ObjectBook::new(config),
            object_check: ObjectCheck::new(config),
            check: EntryCheck::new(config.eqs_log2),
            answers: QueryAnswer::default(),
            phase: DFF::default(),
            cycle: DFF::default(),
            opcode: DFF::default(),
            index: DFF::default(),
            command: DFF::default(),
            new_qp: DFF::default(),
            new_cq: DFF::default(),
            drained_seen: DFF::default(),
            block: DFF::default(),
            tables: DFF::default(),
            done: DFF::default(),
            refused: DFF::default(),
            code: DFF::default(),
            write: DFF::default(),
            is_qp: Signal::default(),
            makes: Signal::default(),
            removes: Signal::default(),
            leaves: Signal::default(),
            queries: Signal::default(),
            is_queue: Signal::default(),
            is_srq: Signal::default(),
            keeps: Signal::default(),
            finish: Signal::default(),
            shown: Signal::default(),
        }
    }
}

/// For a small card.
impl Default for CommandEngine {
    fn default() -> Self {
        Self::new(&NicConfig::SMALL)
    }
}

impl Logic for CommandEngine {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            phase,
            cycle,
            opcode,
            index,
            command,
            new_qp,
            new_cq,
            drained_seen,
            block,
            tables,
            done,
            refused,
            code,
            write
        );
        clock!(self, clock, mailbox, book, object_check, check, answers);

        // Registers of the host.
        self.mailbox.host_write.next = self.host_write.val();
        self.mailbox.block.next = self.block.q.val();
        self.mailbox.cycle.next = self.cycle.q.val();
        self.object.next = self.mailbox.object.val();
        self.shown.next = self.code.q.val();
        if self.refused.q.val() {
            self.shown.next = BUSY.into();
        }
        self.status.next = (bit_cast::<32, 8>(self.shown.val()) << CODE_SHIFT)
            | (bit_cast::<32, 1>((self.phase.q.val() != Phase::Idle).into()) << BUSY_BIT)
            | (bit_cast::<32, 1>(self.done.q.val().into()) << DONE_BIT);

        // The object.
        self.book.index.next = self.index.q.val().get_bits::<14>(0);
        self.book.mr.next = self.index.q.val().get_bits::<16>(0);
        self.makes.next = self.command.q.val().get_bit(MAKES);
        self.queries.next = self.command.q.val().get_bit(QUERIES);
        self.removes.next = self.command.q.val().get_bit(REMOVES);
        self.leaves.next = self.makes.val() | self.command.q.val().get_bit(CHANGES);
        self.is_queue.next = (self.command.q.val().get_bits::<3>(OBJECT) == CQ)
            | (self.command.q.val().get_bits::<3>(OBJECT) == EQ);
        self.is_qp.next = self.command.q.val().get_bits::<3>(OBJECT) == QP;
        self.is_srq.next = self.command.q.val().get_bits::<3>(OBJECT) == SRQ;
        self.object_check.opcode.next = self.opcode.q.val();
        self.object_check.command.next = self.command.q.val();
        self.object_check.index.next = self.index.q.val();
        self.object_check.state.next = self.book.qp.val().state;
        self.object_check.cq_exists.next = self.book.cq.val().exists;
        self.object_check.eq_exists.next = self.book.eq_exists.val();
        self.object_check.mr_exists.next = self.book.mr_exists.val();
        self.object_check.srq_exists.next = self.book.srq.val().exists;
        self.object_check.ah_exists.next = self.book.ah_exists.val();

        // The entry, and the queues that it names.
        self.check.entry.next = self.mailbox.entry.val();
        self.check.table.next = self.tables.q.val().get_bits::<4>(0);
        self.check.creates.next = self.leaves.val();
        self.check.resets.next = self.is_qp.val() & !self.command.q.val().get_bits::<3>(TO).any();
        self.book.look.next = self.phase.q.val() == Phase::Check;
        self.book.look_cq.next = self.check.cq.val();
        self.book.look_eq.next = self.check.eq.val();
        self.book.look_srq.next = self.check.srq.val();
        self.object_check.uses_cq.next = self.check.uses_cq.val();
        self.object_check.cq.next = self.check.cq.val();
        self.object_check.uses_eq.next = self.check.uses_eq.val();
        self.object_check.eq.next = self.check.eq.val();
        self.object_check.uses_srq.next = self.check.uses_srq.val();
        self.object_check.srq.next = self.check.srq.val();
        self.book.search.next = self.phase.q.val() == Phase::Search;
        self.book.search_eq.next = self.command.q.val().get_bits::<3>(OBJECT) == EQ;
        self.book.search_srq.next = self.is_srq.val();
        self.drained_seen.d.next = self.drained_seen.q.val() | self.drained.val();

        self.finish.next = false;
        self.keeps.next = false;
        self.write.d.next.valid = false;
        self.write.d.next.table = self.tables.q.val().get_bits::<4>(0);
        self.write.d.next.index = self.index.q.val().get_bits::<16>(0);
        self.write.d.next.data = self.mailbox.entry.val();
        self.cycle.d.next = self.cycle.q.val() + 1;
        match self.phase.q.val() {
            Phase::Idle => {
                self.cycle.d.next = 0.into();
                self.block.d.next = 0.into();
                self.opcode.d.next = self.host_write.val().data.get_bits::<8>(0);
                self.index.d.next = self.mailbox.object.val();
                if self.host_write.val().start {
                    self.phase.d.next = Phase::Look;
                    self.done.d.next = false;
                    self.code.d.next = OK.into();
                }
            }
            Phase::Look => {
                self.command.d.next = self.table.val().get_bits::<64>(
                    (bit_cast::<11, 5>(self.opcode.q.val().get_bits::<5>(0)) << ENTRY_LOG2).index(),
                );
                self.tables.d.next = self.command.q.val().get_bits::<20>(TABLES);
                self.new_qp.d.next = self.book.qp.val();
                self.new_qp.d.next.state = self.command.q.val().get_bits::<3>(TO);
                self.new_cq.d.next.exists = self.leaves.val();
                self.new_cq.d.next.has_eq = false;
                if self.cycle.q.val() == JUDGE_AT {
                    self.cycle.d.next = 0.into();
                    self.phase.d.next = Phase::Check;
                    self.code.d.next = self.object_check.code.val();
                    if self.object_check.code.val().any() {
                        self.finish.next = true;
                    } else if self.queries.val() {
                        self.phase.d.next = Phase::Ask;
                    }
                }
            }
            Phase::Check => {
                if self.cycle.q.val() == ENTRY_AT {
                    if self.tables.q.val().get_bits::<4>(0) == table::RESPONDER {
                        self.new_qp.d.next.has_recv = self.check.uses_cq.val();
                        self.new_qp.d.next.recv_cq = self.check.cq.val();
                        self.new_qp.d.next.has_srq = self.check.uses_srq.val();
                        self.new_qp.d.next.srq = self.check.srq.val();
                    }
                    if self.tables.q.val().get_bits::<4>(0) == table::COMPLETER {
                        self.new_qp.d.next.has_send = self.check.uses_cq.val();
                        self.new_qp.d.next.send_cq = self.check.cq.val();
                    }
                    if self.check.uses_eq.val() {
                        self.new_cq.d.next.has_eq = true;
                        self.new_cq.d.next.eq = self.check.eq.val();
                    }
                    if self.check.bad.val() {
                        self.code.d.next = BAD_ARGUMENT.into();
                        self.finish.next = true;
                    } else if self.object_check.missing.val() {
                        self.code.d.next = NO_OBJECT.into();
                        self.finish.next = true;
                    }
                }
                if self.cycle.q.val() == STEP_END {
                    self.tables.d.next = self.tables.q.val() >> 4;
                    self.block.d.next = self.block.q.val() + 1;
                    if (self.block.q.val() + 1) == self.command.q.val().get_bits::<3>(COUNT) {
                        self.tables.d.next = self.command.q.val().get_bits::<20>(TABLES);
                        self.block.d.next = 0.into();
                        self.phase.d.next = Phase::Write;
                        if self.removes.val() & (self.is_queue.val() | self.is_srq.val()) {
                            self.phase.d.next = Phase::Search;
                        }
                    }
                }
            }
            Phase::Ask => {
                self.finish.next = self.cycle.q.val() == ASK_LATENCY;
            }
            Phase::Search => {
                self.cycle.d.next = 0.into();
                if self.book.searched.val() {
                    self.phase.d.next = Phase::Write;
                    if self.book.in_use.val() {
                        self.code.d.next = IN_USE.into();
                        self.finish.next = true;
                    }
                }
            }
            Phase::Write => {
                self.write.d.next.valid = self.cycle.q.val() == WRITE_AT;
                if self.cycle.q.val() == WRITE_AT {
                    self.drained_seen.d.next = false;
                }
                if (self.cycle.q.val() == STEP_END) & self.wait.val() {
                    self.cycle.d.next = STEP_END.into();
                } else if self.cycle.q.val() == STEP_END {
                    self.tables.d.next = self.tables.q.val() >> 4;
                    self.block.d.next = self.block.q.val() + 1;
                    if (self.block.q.val() + 1) == self.command.q.val().get_bits::<3>(COUNT) {
                        self.keeps.next = true;
                        self.finish.next = !(self.removes.val() & self.is_queue.val());
                        self.phase.d.next = Phase::Drain;
                    }
                }
            }
            // Drain.
            _ => {
                self.finish.next = self.drained_seen.q.val();
            }
        }
        self.asked.next = self.index.q.val().get_bits::<14>(0);
        self.answers.take.next = (self.phase.q.val() == Phase::Ask) & self.finish.val();
        self.answers.object.next = self.command.q.val().get_bits::<3>(OBJECT);
        self.answers.qp.next = self.book.qp.val();
        self.answers.cq.next = self.book.cq.val();
        self.answers.qp_position.next = self.qp_position.val();
        self.answers.cq_position.next = self.cq_position.val();
        self.answers.eq_position.next = self.eq_position.val();
        self.answers.srq_position.next = self.srq_position.val();
        self.answers.ah.next = self.ah.val();
        self.answer.next = self.answers.answer.val();
        self.book.new_qp.next = self.new_qp.q.val();
        self.book.new_cq.next = self.new_cq.q.val();
        self.book.write_qp.next = self.keeps.val() & self.is_qp.val();
        self.book.write_cq.next =
            self.keeps.val() & (self.command.q.val().get_bits::<3>(OBJECT) == CQ);
        self.book.write_eq.next =
            self.keeps.val() & (self.command.q.val().get_bits::<3>(OBJECT) == EQ);
        self.book.write_srq.next = self.keeps.val() & self.is_srq.val();
        // Of the tables of the port, one names an EQ.
        self.book.write_port.next = self.keeps.val() & (self.opcode.q.val() == SET_ASYNC_EQ);
        self.book.write_mr.next =
            self.keeps.val() & (self.command.q.val().get_bits::<3>(OBJECT) == MR);
        self.book.write_ah.next =
            self.keeps.val() & (self.command.q.val().get_bits::<3>(OBJECT) == AH);
        self.refused.d.next = self.refused.q.val() | self.host_write.val().start;
        if self.phase.q.val() == Phase::Idle {
            self.refused.d.next = false;
        }
        if self.finish.val() {
            self.phase.d.next = Phase::Idle;
            self.done.d.next = true;
            self.refused.d.next = false;
        }
        self.cfg.next = self.write.q.val();
    }
}

ferroce_emit::register_leaf!("command_engine", CommandEngine::default);
