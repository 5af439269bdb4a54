//! Judges what a command is about.

use super::command_table::{
    object_number, CHANGES, FROM, KNOWN, MAKES, OBJECT, OPCODES, QUERIES, REMOVES,
};
use crate::config::NicConfig;
use ferroce_abi::limits::SRQ_BITS;
use ferroce_abi::mailbox::{CommandStatus, Object};
use ferroce_emit::prelude::*;

/// Cycles from a command with its object's records to `code`.
pub const OBJECT_LATENCY: usize = 3;
/// Cycles from a queue that an entry names, with its record, to `missing`.
pub const MISSING_LATENCY: usize = 1;

const OK: u64 = CommandStatus::Ok as u64;
const BAD_OPCODE: u64 = CommandStatus::BadOpcode as u64;
const BAD_INDEX: u64 = CommandStatus::BadIndex as u64;
const BAD_STATE: u64 = CommandStatus::BadState as u64;
const NO_OBJECT: u64 = CommandStatus::NoObject as u64;
const EXISTS: u64 = CommandStatus::Exists as u64;
const PORT: u64 = object_number(Object::Port);
const QP: u64 = object_number(Object::Qp);
const CQ: u64 = object_number(Object::Cq);
const EQ: u64 = object_number(Object::Eq);
const SRQ: u64 = object_number(Object::Srq);
const AH: u64 = object_number(Object::Ah);

/// Opcode, index, QP state, and whether the object exists, in this order; and whether the queues that an entry names exist. What goes in stands still.
#[derive(LogicBlock, Module)]
pub struct ObjectCheck {
    /// Clock.
    pub clock: Signal<In, Clock>,
    /// Opcode.
    pub opcode: Signal<In, Bits<8>>,
    /// The command's entry in the table of commands.
    pub command: Signal<In, Bits<64>>,
    /// Object register.
    pub index: Signal<In, Bits<32>>,
    /// State of the QP.
    pub state: Signal<In, Bits<3>>,
    /// The CQ that was looked at exists.
    pub cq_exists: Signal<In, Bit>,
    /// The EQ that was looked at exists.
    pub eq_exists: Signal<In, Bit>,
    /// The MR exists.
    pub mr_exists: Signal<In, Bit>,
    /// The SRQ that was looked at exists.
    pub srq_exists: Signal<In, Bit>,
    /// The AH exists.
    pub ah_exists: Signal<In, Bit>,
    /// How the command must end; 0 if it may begin.
    pub code: Signal<Out, Bits<8>>,
    /// The entry uses a CQ.
    pub uses_cq: Signal<In, Bit>,
    /// That CQ.
    pub cq: Signal<In, Bits<14>>,
    /// The entry uses an EQ.
    pub uses_eq: Signal<In, Bit>,
    /// That EQ.
    pub eq: Signal<In, Bits<7>>,
    /// The entry uses an SRQ.
    pub uses_srq: Signal<In, Bit>,
    /// That SRQ.
    pub srq: Signal<In, Bits<SRQ_BITS>>,
    /// A queue that it uses does not exist.
    pub missing: Signal<Out, Bit>,
    /// Object bits beyond the tables.
    beyond_qps: Constant<Bits<32>>,
    beyond_cqs: Constant<Bits<32>>,
    beyond_eqs: Constant<Bits<32>>,
    beyond_mrs: Constant<Bits<32>>,
    beyond_srqs: Constant<Bits<32>>,
    beyond_ahs: Constant<Bits<32>>,
    opcode_known: DFF<Bit>,
    not_port: DFF<Bit>,
    no_qp: DFF<Bit>,
    no_cq: DFF<Bit>,
    no_eq: DFF<Bit>,
    no_mr: DFF<Bit>,
    no_srq: DFF<Bit>,
    no_ah: DFF<Bit>,
    index_bad: DFF<Bit>,
    state_good: DFF<Bit>,
    exists: DFF<Bit>,
    code_out: DFF<Bits<8>>,
    cq_beyond: DFF<Bit>,
    eq_beyond: DFF<Bit>,
    srq_beyond: DFF<Bit>,
    missing_out: DFF<Bit>,
    kind: Signal<Local, Bits<3>>,
    needs: Signal<Local, Bit>,
}

impl ObjectCheck {
    /// For the tables of such a card.
    #[must_use]
    pub fn new(config: &NicConfig) -> Self {
        let beyond = |log2: usize| Constant::new((0xFFFF_FFFF & !((1u64 << log2) - 1)).into());
        Self {
            clock: Signal::default(),
            opcode: Signal::default(),
            command: Signal::default(),
            index: Signal::default(),
            state: Signal::default(),
            cq_exists: Signal::default(),
            eq_exists: Signal::default(),
            mr_exists: Signal::default(),
            srq_exists: Signal::default(),
            ah_exists: Signal::default(),
            code: Signal::default(),
            uses_cq: Signal::default(),
            cq: Signal::default(),
            uses_eq: Signal::default(),
            eq: Signal::default(),
            uses_srq: Signal::default(),
            srq: Signal::default(),
            missing: Signal::default(),
            beyond_qps: beyond(config.qps_log2),
            beyond_cqs: beyond(config.cqs_log2),
            beyond_eqs: beyond(config.eqs_log2),
            beyond_mrs: beyond(config.mrs_log2),
            beyond_srqs: beyond(config.srqs_log2),
            beyond_ahs: beyond(config.ahs_log2),
            opcode_known: DFF::default(),
            not_port: DFF::default(),
            no_qp: DFF::default(),
            no_cq: DFF::default(),
            no_eq: DFF::default(),
            no_mr: DFF::default(),
            no_srq: DFF::default(),
            no_ah: DFF::default(),
            index_bad: DFF::default(),
            state_good: DFF::default(),
            exists: DFF::default(),
            code_out: DFF::default(),
            cq_beyond: DFF::default(),
            eq_beyond: DFF::default(),
            srq_beyond: DFF::default(),
            missing_out: DFF::default(),
            kind: Signal::default(),
            needs: Signal::default(),
        }
    }
}

/// For a small card.
impl Default for ObjectCheck {
    fn default() -> Self {
        Self::new(&NicConfig::SMALL)
    }
}

impl Logic for ObjectCheck {
    #[kernel]
    fn update(&mut self) {
        dff_setup!(
            self,
            clock,
            opcode_known,
            not_port,
            no_qp,
            no_cq,
            no_eq,
            no_mr,
            no_srq,
            no_ah,
            index_bad,
            state_good,
            exists,
            code_out
        );
        dff_setup!(self, clock, cq_beyond, eq_beyond, srq_beyond, missing_out);

        // Each in the cycle after the one that it depends on.
        self.kind.next = self.command.val().get_bits::<3>(OBJECT);
        self.exists.d.next = self.mr_exists.val();
        if self.kind.val() == CQ {
            self.exists.d.next = self.cq_exists.val();
        } else if self.kind.val() == EQ {
            self.exists.d.next = self.eq_exists.val();
        } else if self.kind.val() == SRQ {
            self.exists.d.next = self.srq_exists.val();
        } else if self.kind.val() == AH {
            self.exists.d.next = self.ah_exists.val();
        }
        self.opcode_known.d.next =
            self.command.val().get_bit(KNOWN) & (self.opcode.val() < OPCODES);
        self.not_port.d.next = self.index.val().any();
        self.no_qp.d.next = (self.index.val() & self.beyond_qps.val()).any();
        self.no_cq.d.next = (self.index.val() & self.beyond_cqs.val()).any();
        self.no_eq.d.next = (self.index.val() & self.beyond_eqs.val()).any();
        self.no_mr.d.next = (self.index.val() & self.beyond_mrs.val()).any();
        self.no_srq.d.next = (self.index.val() & self.beyond_srqs.val()).any();
        self.no_ah.d.next = (self.index.val() & self.beyond_ahs.val()).any();
        self.index_bad.d.next = self.no_mr.q.val();
        if self.kind.val() == PORT {
            self.index_bad.d.next = self.not_port.q.val();
        } else if self.kind.val() == QP {
            self.index_bad.d.next = self.no_qp.q.val();
        } else if self.kind.val() == CQ {
            self.index_bad.d.next = self.no_cq.q.val();
        } else if self.kind.val() == EQ {
            self.index_bad.d.next = self.no_eq.q.val();
        } else if self.kind.val() == SRQ {
            self.index_bad.d.next = self.no_srq.q.val();
        } else if self.kind.val() == AH {
            self.index_bad.d.next = self.no_ah.q.val();
        }
        self.state_good.d.next = (self.kind.val() != QP)
            | self
                .command
                .val()
                .get_bits::<8>(FROM)
                .get_bit(self.state.val().index());
        // A QP always exists, in some state.
        self.needs.next = (self.command.val().get_bit(REMOVES)
            | self.command.val().get_bit(CHANGES)
            | self.command.val().get_bit(QUERIES))
            & (self.kind.val() != QP);
        self.code_out.d.next = OK.into();
        if !self.opcode_known.q.val() {
            self.code_out.d.next = BAD_OPCODE.into();
        } else if self.index_bad.q.val() {
            self.code_out.d.next = BAD_INDEX.into();
        } else if !self.state_good.q.val() {
            self.code_out.d.next = BAD_STATE.into();
        } else if self.command.val().get_bit(MAKES) & self.exists.q.val() {
            self.code_out.d.next = EXISTS.into();
        } else if self.needs.val() & !self.exists.q.val() {
            self.code_out.d.next = NO_OBJECT.into();
        }
        self.code.next = self.code_out.q.val();

        self.cq_beyond.d.next = (self.cq.val() & self.beyond_cqs.val().get_bits::<14>(0)).any();
        self.eq_beyond.d.next = (self.eq.val() & self.beyond_eqs.val().get_bits::<7>(0)).any();
        self.srq_beyond.d.next =
            (self.srq.val() & self.beyond_srqs.val().get_bits::<SRQ_BITS>(0)).any();
        self.missing_out.d.next = (self.uses_cq.val()
            & (!self.cq_exists.val() | self.cq_beyond.q.val()))
            | (self.uses_eq.val() & (!self.eq_exists.val() | self.eq_beyond.q.val()))
            | (self.uses_srq.val() & (!self.srq_exists.val() | self.srq_beyond.q.val()));
        self.missing.next = self.missing_out.q.val();
    }
}

ferroce_emit::register_leaf!("object_check", ObjectCheck::default);
