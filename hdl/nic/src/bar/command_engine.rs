//! Executes mailbox commands.

use super::command_table::{
    command_table, object_number, COUNT, ENTRY_LOG2, FROM, KNOWN, MAKES, OBJECT, OPCODES, QUERIES,
    REMOVES, TABLES, TABLE_BITS, TO,
};
use super::desc::{CqRecord, MailboxWrite, QpPosition, QpRecord, QueuePosition};
use super::entry_check::{EntryCheck, CHECK_LATENCY};
use super::object_book::ObjectBook;
use super::query_answer::{QueryAnswer, ANSWER_BITS};
use ferroce_abi::mailbox::{Command, CommandStatus, MailboxState, Object};
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::cfg::{table, CfgWrite, CFG_SPACING};
use ferroce_rtl::ram::{Ram, RAM_LATENCY};

/// Log2 of the cycles that one configuration write takes: that is their distance. The check of an entry takes as long.
const STEP_LOG2: usize = CFG_SPACING.ilog2() as usize;
/// In a step, the first 16 cycles collect the four words of the entry, one in every fourth.
const WORDS_END: u64 = 16;
/// Cycle of the write.
const WRITE_AT: u64 = WORDS_END;
/// Cycle of a step in which the entry is judged: its fields, and the queue that it names, have been looked at.
const ENTRY_AT: u64 = WORDS_END + CHECK_LATENCY as u64 + RAM_LATENCY as u64 + 2;
/// Last cycle of a step.
const STEP_END: u64 = (1 << STEP_LOG2) - 1;
/// Cycle in which the object's record has come and been compared.
const JUDGE_AT: u64 = 6;
/// Cycles from [`CommandEngine::asked`] until the answer is there.
pub const ASK_LATENCY: u64 = 8;

const OK: u64 = CommandStatus::Ok as u64;
const BAD_OPCODE: u64 = CommandStatus::BadOpcode as u64;
const BAD_INDEX: u64 = CommandStatus::BadIndex as u64;
const BAD_STATE: u64 = CommandStatus::BadState as u64;
const BUSY: u64 = CommandStatus::Busy as u64;
const IN_USE: u64 = CommandStatus::InUse as u64;
const NO_OBJECT: u64 = CommandStatus::NoObject as u64;
const BAD_ARGUMENT: u64 = CommandStatus::BadArgument as u64;
const EXISTS: u64 = CommandStatus::Exists as u64;
const PORT: u64 = object_number(Object::Port);
const QP: u64 = object_number(Object::Qp);
const CQ: u64 = object_number(Object::Cq);
const EQ: u64 = object_number(Object::Eq);
const SET_ASYNC_EQ: u64 = Command::SetAsyncEq as u64;
const MR: u64 = object_number(Object::Mr);
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
    /// Answer to the last query.
    pub answer: Signal<Out, Bits<ANSWER_BITS>>,
    /// The CQ or EQ that was taken away last has no write in the card any more.
    pub drained: Signal<In, Bit>,
    table: Constant<Bits<TABLE_BITS>>,
    /// Object bits beyond the tables.
    beyond_qps: Constant<Bits<32>>,
    beyond_cqs: Constant<Bits<32>>,
    beyond_eqs: Constant<Bits<32>>,
    beyond_mrs: Constant<Bits<32>>,
    low: Ram<Bits<32>>,
    high: Ram<Bits<32>>,
    book: ObjectBook,
    check: EntryCheck,
    answers: QueryAnswer,
    phase: DFF<Phase>,
    /// Cycle of the phase's step.
    cycle: DFF<Bits<6>>,
    object_reg: DFF<Bits<32>>,
    opcode: DFF<Bits<8>>,
    index: DFF<Bits<32>>,
    command: DFF<Bits<64>>,
    opcode_known: DFF<Bit>,
    not_port: DFF<Bit>,
    no_qp: DFF<Bit>,
    no_cq: DFF<Bit>,
    no_eq: DFF<Bit>,
    no_mr: DFF<Bit>,
    index_bad: DFF<Bit>,
    state_good: DFF<Bit>,
    /// The object exists.
    exists: DFF<Bit>,
    /// Queues that the entry names are outside the tables.
    cq_beyond: DFF<Bit>,
    eq_beyond: DFF<Bit>,
    /// A queue that the entry names does not exist.
    missing: DFF<Bit>,
    /// Records of the object after the command.
    new_qp: DFF<QpRecord>,
    new_cq: DFF<CqRecord>,
    drained_seen: DFF<Bit>,
    /// Block of the mailbox.
    block: DFF<Bits<3>>,
    tables: DFF<Bits<20>>,
    entry: DFF<Bits<256>>,
    done: DFF<Bit>,
    refused: DFF<Bit>,
    code: DFF<Bits<8>>,
    write: DFF<CfgWrite>,
    is_qp: Signal<Local, Bit>,
    makes: Signal<Local, Bit>,
    removes: Signal<Local, Bit>,
    queries: Signal<Local, Bit>,
    is_queue: Signal<Local, Bit>,
    keeps: Signal<Local, Bit>,
    finish: Signal<Local, Bit>,
    word_addr: Signal<Local, Bits<20>>,
    word: Signal<Local, Bits<64>>,
    shown: Signal<Local, Bits<8>>,
}

impl CommandEngine {
    /// For tables of `2^qps_log2` QPs, `2^cqs_log2` CQs, `2^eqs_log2` EQs, `2^mrs_log2` memory regions.
    #[must_use]
    pub fn new(qps_log2: usize, cqs_log2: usize, eqs_log2: usize, mrs_log2: usize) -> Self {
        let beyond = |log2: usize| Constant::new((0xFFFF_FFFF & !((1u64 << log2) - 1)).into());
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
            answer: Signal::default(),
            drained: Signal::default(),
            table: Constant::new(command_table()),
            beyond_qps: beyond(qps_log2),
            beyond_cqs: beyond(cqs_log2),
            beyond_eqs: beyond(eqs_log2),
            beyond_mrs: beyond(mrs_log2),
            low: Ram::new(5),
            high: Ram::new(5),
            book: ObjectBook::new(qps_log2, cqs_log2, eqs_log2, mrs_log2),
            check: EntryCheck::new(eqs_log2),
            answers: QueryAnswer::default(),
            phase: DFF::default(),
            cycle: DFF::default(),
            object_reg: DFF::default(),
            opcode: DFF::default(),
            index: DFF::default(),
            command: DFF::default(),
            opcode_known: DFF::default(),
            not_port: DFF::default(),
            no_qp: DFF::default(),
            no_cq: DFF::default(),
            no_eq: DFF::default(),
            no_mr: DFF::default(),
            index_bad: DFF::default(),
            state_good: DFF::default(),
            exists: DFF::default(),
            cq_beyond: DFF::default(),
            eq_beyond: DFF::default(),
            missing: DFF::default(),
            new_qp: DFF::default(),
            new_cq: DFF::default(),
            drained_seen: DFF::default(),
            block: DFF::default(),
            tables: DFF::default(),
            entry: DFF::default(),
            done: DFF::default(),
            refused: DFF::default(),
            code: DFF::default(),
            write: DFF::default(),
            is_qp: Signal::default(),
            makes: Signal::default(),
            removes: Signal::default(),
            queries: Signal::default(),
            is_queue: Signal::default(),
            keeps: Signal::default(),
            finish: Signal::default(),
            word_addr: Signal::default(),
            word: Signal::default(),
            shown: Signal::default(),
        }
    }
}

/// 16 QPs, CQs, EQs and memory regions.
impl Default for CommandEngine {
    fn default() -> Self {
        Self::new(4, 4, 4, 4)
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
            object_reg,
            opcode,
            index,
            command,
            opcode_known,
            not_port,
            no_qp,
            no_cq,
            no_eq,
            no_mr,
            index_bad,
            state_good,
            exists,
            cq_beyond,
            eq_beyond,
            missing,
            new_qp,
            new_cq,
            drained_seen,
            block,
            tables,
            entry,
            done,
            refused,
            code,
            write
        );
        clock!(self, clock, low, high, book, check, answers);

        // Registers of the host.
        self.low.wr_valid.next = self.host_write.val().low;
        self.low.wr_addr.next = bit_cast::<20, 5>(self.host_write.val().word);
        self.low.wr_data.next = self.host_write.val().data.get_bits::<32>(0);
        self.high.wr_valid.next = self.host_write.val().high;
        self.high.wr_addr.next = bit_cast::<20, 5>(self.host_write.val().word);
        self.high.wr_data.next = self.host_write.val().data.get_bits::<32>(32);
        if self.host_write.val().object {
            self.object_reg.d.next = self.host_write.val().data.get_bits::<32>(0);
        }
        self.object.next = self.object_reg.q.val();
        self.shown.next = self.code.q.val();
        if self.refused.q.val() {
            self.shown.next = BUSY.into();
        }
        self.status.next = (bit_cast::<32, 8>(self.shown.val()) << CODE_SHIFT)
            | (bit_cast::<32, 1>((self.phase.q.val() != Phase::Idle).into()) << BUSY_BIT)
            | (bit_cast::<32, 1>(self.done.q.val().into()) << DONE_BIT);

        // The entry's word: its address stands for four cycles, its data comes two cycles later.
        self.word_addr.next = bit_cast::<20, 2>(self.cycle.q.val().get_bits::<2>(2))
            | (bit_cast::<20, 3>(self.block.q.val()) << 2);
        self.low.rd_addr.next = self.word_addr.val();
        self.high.rd_addr.next = self.word_addr.val();
        self.word.next = bit_cast::<64, 32>(self.low.rd_data.val())
            | (bit_cast::<64, 32>(self.high.rd_data.val()) << 32);
        if (self.cycle.q.val() < WORDS_END) & (self.cycle.q.val().get_bits::<2>(0) == 3) {
            self.entry.d.next =
                (self.entry.q.val() >> 64) | (bit_cast::<256, 64>(self.word.val()) << 192);
        }

        // What is checked, each in the cycle after the one that it depends on.
        self.book.index.next = self.index.q.val().get_bits::<14>(0);
        self.book.mr.next = self.index.q.val().get_bits::<16>(0);
        self.makes.next = self.command.q.val().get_bit(MAKES);
        self.queries.next = self.command.q.val().get_bit(QUERIES);
        self.removes.next = self.command.q.val().get_bit(REMOVES);
        self.is_queue.next = (self.command.q.val().get_bits::<3>(OBJECT) == CQ)
            | (self.command.q.val().get_bits::<3>(OBJECT) == EQ);
        self.exists.d.next = self.book.mr_exists.val();
        if self.command.q.val().get_bits::<3>(OBJECT) == CQ {
            self.exists.d.next = self.book.cq.val().exists;
        } else if self.command.q.val().get_bits::<3>(OBJECT) == EQ {
            self.exists.d.next = self.book.eq_exists.val();
        }
        self.is_qp.next = self.command.q.val().get_bits::<3>(OBJECT) == QP;
        self.opcode_known.d.next =
            self.command.q.val().get_bit(KNOWN) & (self.opcode.q.val() < OPCODES);
        self.not_port.d.next = self.index.q.val().any();
        self.no_qp.d.next = (self.index.q.val() & self.beyond_qps.val()).any();
        self.no_cq.d.next = (self.index.q.val() & self.beyond_cqs.val()).any();
        self.no_eq.d.next = (self.index.q.val() & self.beyond_eqs.val()).any();
        self.no_mr.d.next = (self.index.q.val() & self.beyond_mrs.val()).any();
        self.index_bad.d.next = self.no_mr.q.val();
        if self.command.q.val().get_bits::<3>(OBJECT) == PORT {
            self.index_bad.d.next = self.not_port.q.val();
        } else if self.is_qp.val() {
            self.index_bad.d.next = self.no_qp.q.val();
        } else if self.command.q.val().get_bits::<3>(OBJECT) == CQ {
            self.index_bad.d.next = self.no_cq.q.val();
        } else if self.command.q.val().get_bits::<3>(OBJECT) == EQ {
            self.index_bad.d.next = self.no_eq.q.val();
        }
        self.state_good.d.next = !self.is_qp.val()
            | self
                .command
                .q
                .val()
                .get_bits::<8>(FROM)
                .get_bit(self.book.qp.val().state.index());

        // The entry, and the queues that it names.
        self.check.entry.next = self.entry.q.val();
        self.check.table.next = self.tables.q.val().get_bits::<4>(0);
        self.check.creates.next = self.makes.val();
        self.check.resets.next = self.is_qp.val() & !self.command.q.val().get_bits::<3>(TO).any();
        self.book.look.next = self.phase.q.val() == Phase::Check;
        self.book.look_cq.next = self.check.cq.val();
        self.book.look_eq.next = self.check.eq.val();
        self.cq_beyond.d.next =
            (self.check.cq.val() & self.beyond_cqs.val().get_bits::<14>(0)).any();
        self.eq_beyond.d.next =
            (self.check.eq.val() & self.beyond_eqs.val().get_bits::<7>(0)).any();
        self.missing.d.next = (self.check.uses_cq.val()
            & (!self.book.cq.val().exists | self.cq_beyond.q.val()))
            | (self.check.uses_eq.val() & (!self.book.eq_exists.val() | self.eq_beyond.q.val()));
        self.book.search.next = self.phase.q.val() == Phase::Search;
        self.book.search_eq.next = self.command.q.val().get_bits::<3>(OBJECT) == EQ;
        self.drained_seen.d.next = self.drained_seen.q.val() | self.drained.val();

        self.finish.next = false;
        self.keeps.next = false;
        self.write.d.next.valid = false;
        self.write.d.next.table = self.tables.q.val().get_bits::<4>(0);
        self.write.d.next.index = self.index.q.val().get_bits::<16>(0);
        self.write.d.next.data = self.entry.q.val();
        self.cycle.d.next = self.cycle.q.val() + 1;
        match self.phase.q.val() {
            Phase::Idle => {
                self.cycle.d.next = 0.into();
                self.block.d.next = 0.into();
                self.opcode.d.next = self.host_write.val().data.get_bits::<8>(0);
                self.index.d.next = self.object_reg.q.val();
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
                self.new_cq.d.next.exists = self.makes.val();
                self.new_cq.d.next.has_eq = false;
                if self.cycle.q.val() == JUDGE_AT {
                    self.cycle.d.next = 0.into();
                    self.phase.d.next = Phase::Check;
                    if !self.opcode_known.q.val() {
                        self.code.d.next = BAD_OPCODE.into();
                        self.finish.next = true;
                    } else if self.index_bad.q.val() {
                        self.code.d.next = BAD_INDEX.into();
                        self.finish.next = true;
                    } else if !self.state_good.q.val() {
                        self.code.d.next = BAD_STATE.into();
                        self.finish.next = true;
                    } else if self.makes.val() & self.exists.q.val() {
                        self.code.d.next = EXISTS.into();
                        self.finish.next = true;
                    } else if (self.removes.val() | self.queries.val())
                        & !self.exists.q.val()
                        & !self.is_qp.val()
                    {
                        self.code.d.next = NO_OBJECT.into();
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
                    } else if self.missing.q.val() {
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
                        if self.removes.val() & self.is_queue.val() {
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
        self.answer.next = self.answers.answer.val();
        self.book.new_qp.next = self.new_qp.q.val();
        self.book.new_cq.next = self.new_cq.q.val();
        self.book.write_qp.next = self.keeps.val() & self.is_qp.val();
        self.book.write_cq.next =
            self.keeps.val() & (self.command.q.val().get_bits::<3>(OBJECT) == CQ);
        self.book.write_eq.next =
            self.keeps.val() & (self.command.q.val().get_bits::<3>(OBJECT) == EQ);
        // Of the tables of the port, one names an EQ.
        self.book.write_port.next = self.keeps.val() & (self.opcode.q.val() == SET_ASYNC_EQ);
        self.book.write_mr.next =
            self.keeps.val() & (self.command.q.val().get_bits::<3>(OBJECT) == MR);
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
