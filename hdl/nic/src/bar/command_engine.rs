//! Executes mailbox commands.

use super::command_table::{
    command_table, object_number, COUNT, ENTRY_LOG2, FROM, KNOWN, OBJECT, OPCODES, TABLES,
    TABLE_BITS, TO,
};
use super::desc::MailboxWrite;
use ferroce_abi::mailbox::{CommandStatus, MailboxState, Object};
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::cfg::{CfgWrite, CFG_SPACING};
use ferroce_rtl::ram::Ram;

/// Log2 of the cycles that one configuration write takes: that is their distance.
const STEP_LOG2: usize = CFG_SPACING.ilog2() as usize;
/// In a step, the first 16 cycles collect the four words of the entry, one in every fourth.
const WORDS_END: u64 = 16;
/// Cycle of the write.
const WRITE_AT: u64 = WORDS_END;
/// Last cycle of a step.
const STEP_END: u64 = (1 << STEP_LOG2) - 1;
/// Cycle of a check in which the QP's state has come.
const JUDGE_AT: u64 = 4;

const OK: u64 = CommandStatus::Ok as u64;
const BAD_OPCODE: u64 = CommandStatus::BadOpcode as u64;
const BAD_INDEX: u64 = CommandStatus::BadIndex as u64;
const BAD_STATE: u64 = CommandStatus::BadState as u64;
const BUSY: u64 = CommandStatus::Busy as u64;
const PORT: u64 = object_number(Object::Port);
const QP: u64 = object_number(Object::Qp);
const CQ: u64 = object_number(Object::Cq);
const EQ: u64 = object_number(Object::Eq);
/// Status register fields.
const BUSY_BIT: u64 = MailboxState::BUSY.trailing_zeros() as u64;
const DONE_BIT: u64 = MailboxState::DONE.trailing_zeros() as u64;
const CODE_SHIFT: u64 = MailboxState::CODE_SHIFT as u64;

/// What the engine does.
#[derive(Clone, Copy, Debug, PartialEq, LogicState, FromBits)]
pub enum Phase {
    /// Waits for a command.
    Idle,
    /// Looks the command up and checks opcode, index and QP state.
    Check,
    /// Writes one table after the other, a step each.
    Write,
}

/// The command engine: knows of a command which tables it writes and in which QP states it is allowed, which
/// `ferroce_abi` says, and nothing of its meaning. It is done only `CFG_SPACING` cycles after its last
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
    table: Constant<Bits<TABLE_BITS>>,
    /// Object bits beyond the tables.
    beyond_qps: Constant<Bits<32>>,
    beyond_cqs: Constant<Bits<32>>,
    beyond_eqs: Constant<Bits<32>>,
    beyond_mrs: Constant<Bits<32>>,
    low: Ram<Bits<32>>,
    high: Ram<Bits<32>>,
    states: Ram<Bits<3>>,
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
    /// Block of the mailbox.
    block: DFF<Bits<3>>,
    tables: DFF<Bits<20>>,
    entry: DFF<Bits<256>>,
    done: DFF<Bit>,
    refused: DFF<Bit>,
    code: DFF<Bits<8>>,
    write: DFF<CfgWrite>,
    is_qp: Signal<Local, Bit>,
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
            table: Constant::new(command_table()),
            beyond_qps: beyond(qps_log2),
            beyond_cqs: beyond(cqs_log2),
            beyond_eqs: beyond(eqs_log2),
            beyond_mrs: beyond(mrs_log2),
            low: Ram::new(5),
            high: Ram::new(5),
            states: Ram::new(qps_log2),
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
            block: DFF::default(),
            tables: DFF::default(),
            entry: DFF::default(),
            done: DFF::default(),
            refused: DFF::default(),
            code: DFF::default(),
            write: DFF::default(),
            is_qp: Signal::default(),
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
            block,
            tables,
            entry,
            done,
            refused,
            code,
            write
        );
        clock!(self, clock, low, high, states);

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
        self.states.rd_addr.next = self.index.q.val().get_bits::<20>(0);
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
                .get_bit(self.states.rd_data.val().index());

        self.finish.next = false;
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
                    self.phase.d.next = Phase::Check;
                    self.done.d.next = false;
                    self.code.d.next = OK.into();
                }
            }
            Phase::Check => {
                self.command.d.next = self.table.val().get_bits::<64>(
                    (bit_cast::<10, 4>(self.opcode.q.val().get_bits::<4>(0)) << ENTRY_LOG2).index(),
                );
                self.tables.d.next = self.command.q.val().get_bits::<20>(TABLES);
                if self.cycle.q.val() == JUDGE_AT {
                    self.cycle.d.next = 0.into();
                    self.phase.d.next = Phase::Write;
                    if !self.opcode_known.q.val() {
                        self.code.d.next = BAD_OPCODE.into();
                        self.finish.next = true;
                    } else if self.index_bad.q.val() {
                        self.code.d.next = BAD_INDEX.into();
                        self.finish.next = true;
                    } else if !self.state_good.q.val() {
                        self.code.d.next = BAD_STATE.into();
                        self.finish.next = true;
                    }
                }
            }
            // Write.
            _ => {
                self.write.d.next.valid = self.cycle.q.val() == WRITE_AT;
                if (self.cycle.q.val() == STEP_END) & self.wait.val() {
                    self.cycle.d.next = STEP_END.into();
                } else if self.cycle.q.val() == STEP_END {
                    self.tables.d.next = self.tables.q.val() >> 4;
                    self.block.d.next = self.block.q.val() + 1;
                    self.finish.next =
                        (self.block.q.val() + 1) == self.command.q.val().get_bits::<3>(COUNT);
                }
            }
        }
        self.states.wr_valid.next =
            self.finish.val() & self.is_qp.val() & (self.phase.q.val() != Phase::Check);
        self.states.wr_addr.next = self.index.q.val().get_bits::<20>(0);
        self.states.wr_data.next = self.command.q.val().get_bits::<3>(TO);
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
