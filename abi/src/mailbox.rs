//! Mailbox commands. The driver fills the mailbox ([`crate::regs::MAILBOX_IN`]) and the object register,
//! then writes the opcode register, which starts the command. The card's command engine needs no
//! knowledge of a command's meaning: block `k` of the mailbox (32 bytes, an entry of [`crate::cfg`]) goes to
//! the `k`-th table of [`Command::tables`], at the index in the object register.
//!
//! Checks, in this order: another command is running ([`CommandStatus::Busy`], the new one is lost), the opcode is
//! unknown, the index is outside its table, a QP is not in a state of [`Command::from`], the object exists or does not against [`Command::makes`] and [`Command::changes`]; then
//! block by block a field is out of range, a CQ, EQ or SRQ that the block names does not exist; at last the object is in use. A refused command
//! changes nothing.
//!
//! Ranges: rings begin at multiples of 4096 and have 2 to 2^15 entries, path MTUs are 256 to 4096 bytes, an EQ's vector is one of the card's, an AH's GIDs are of IPv4 and of the port; CQs, EQs, SRQs, AHs and
//! regions are made enabled and taken away disabled. Everything is checked of what is enabled only. A QP uses its receive CQ from INIT on and its send CQ from RTS (or ERR) on, until it is
//! in RESET, and its SRQ as long as its receive CQ; a CQ uses its EQ, the port that of [`Command::SetAsyncEq`], and an SRQ that of its last limit other than 0. A memory region is never in use: who accesses it later is refused. Nor is an AH.
//!
//! [`Command::DestroyCq`] and [`Command::DestroyEq`] end when no write to the ring is in the card any more.

mod status;

use crate::cfg::{Table, ENTRY_BYTES, ENTRY_WORDS};
use serde::Serialize;

pub use status::{CommandStatus, MailboxState};

/// 32-byte blocks in the mailbox.
pub const BLOCKS: usize = 8;
/// Bytes of the mailbox.
pub const BYTES: usize = BLOCKS * ENTRY_BYTES;
/// Blocks that a command uses at most.
pub const MAX_TABLES: usize = 5;

/// States of a QP that the card's command engine tells apart; numbers of `ibv_qp_state`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[repr(u8)]
pub enum QpState {
    /// Nothing is processed; the state after power-up.
    Reset = 0,
    /// Receive WQEs may be posted.
    Init = 1,
    /// Ready to receive.
    Rtr = 2,
    /// Ready to send.
    Rts = 3,
    /// Failed or stopped: everything is flushed.
    Err = 6,
}

impl QpState {
    /// All states, ascending.
    pub const ALL: [Self; 5] = [Self::Reset, Self::Init, Self::Rtr, Self::Rts, Self::Err];
}

/// What the object register names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum Object {
    /// The port: index 0 only.
    Port,
    /// A QP: its QPN.
    Qp,
    /// A CQ.
    Cq,
    /// An EQ.
    Eq,
    /// An MR: its index, not its key.
    Mr,
    /// An SRQ.
    Srq,
    /// An address handle.
    Ah,
}

/// Opcodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[repr(u8)]
pub enum Command {
    /// Sets the port's addresses.
    SetPort = 1,
    /// Makes a CQ; its indices become 0.
    CreateCq = 2,
    /// Disables a CQ.
    DestroyCq = 3,
    /// Makes a memory region.
    RegMr = 4,
    /// Disables a memory region: its keys are refused from now on.
    DeregMr = 5,
    /// RESET to INIT: rings, PD, rights.
    QpResetToInit = 6,
    /// INIT to RTR: address, expected PSN.
    QpInitToRtr = 7,
    /// RTR to RTS: first PSN, timers, retries.
    QpRtrToRts = 8,
    /// To ERR: everything is flushed.
    QpToErr = 9,
    /// To RESET: everything is forgotten, nothing is flushed.
    QpToReset = 10,
    /// Makes an EQ; its indices become 0.
    CreateEq = 11,
    /// Disables an EQ: events for it are dropped and counted.
    DestroyEq = 12,
    /// Chooses the EQ for events of QPs, or none.
    SetAsyncEq = 13,
    /// Where a QP is: [`crate::cfg::QpInfo`].
    QueryQp = 14,
    /// Where a CQ is: [`crate::cfg::QueueInfo`].
    QueryCq = 15,
    /// Where an EQ is: [`crate::cfg::QueueInfo`].
    QueryEq = 16,
    /// Whether a memory region exists; there is no answer but the status.
    QueryMr = 17,
    /// Makes an SRQ: its indices become 0, its limit is not armed.
    CreateSrq = 18,
    /// Disables an SRQ and its limit: what is posted is forgotten.
    DestroySrq = 19,
    /// Sets the limit of an SRQ and arms it.
    ModifySrq = 20,
    /// Where an SRQ is: [`crate::cfg::SrqInfo`].
    QuerySrq = 21,
    /// Makes an address handle.
    CreateAh = 24,
    /// Changes all of an address handle.
    ModifyAh = 25,
    /// Takes an address handle away.
    DestroyAh = 26,
    /// What an address handle holds: its [`crate::cfg::AhCfg`].
    QueryAh = 27,
}

impl Command {
    /// All commands, ascending.
    pub const ALL: [Self; 25] = [
        Self::SetPort,
        Self::CreateCq,
        Self::DestroyCq,
        Self::RegMr,
        Self::DeregMr,
        Self::QpResetToInit,
        Self::QpInitToRtr,
        Self::QpRtrToRts,
        Self::QpToErr,
        Self::QpToReset,
        Self::CreateEq,
        Self::DestroyEq,
        Self::SetAsyncEq,
        Self::QueryQp,
        Self::QueryCq,
        Self::QueryEq,
        Self::QueryMr,
        Self::CreateSrq,
        Self::DestroySrq,
        Self::ModifySrq,
        Self::QuerySrq,
        Self::CreateAh,
        Self::ModifyAh,
        Self::DestroyAh,
        Self::QueryAh,
    ];

    /// From the opcode register.
    pub fn from_opcode(opcode: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|&c| c as u32 == opcode)
    }

    /// What the object register names.
    pub const fn object(self) -> Object {
        match self {
            Self::SetPort | Self::SetAsyncEq => Object::Port,
            Self::CreateCq | Self::DestroyCq | Self::QueryCq => Object::Cq,
            Self::CreateEq | Self::DestroyEq | Self::QueryEq => Object::Eq,
            Self::RegMr | Self::DeregMr | Self::QueryMr => Object::Mr,
            Self::CreateSrq | Self::DestroySrq | Self::ModifySrq | Self::QuerySrq => Object::Srq,
            Self::CreateAh | Self::ModifyAh | Self::DestroyAh | Self::QueryAh => Object::Ah,
            Self::QpResetToInit
            | Self::QpInitToRtr
            | Self::QpRtrToRts
            | Self::QpToErr
            | Self::QpToReset
            | Self::QueryQp => Object::Qp,
        }
    }

    /// Tables in the order of writing; the k-th takes the mailbox's k-th block.
    ///
    /// A QP is stopped outside in: first what sends, then what receives, last what completes.
    pub const fn tables(self) -> &'static [Table] {
        match self {
            Self::SetPort => &[Table::Port],
            Self::SetAsyncEq => &[Table::Async],
            Self::QueryQp
            | Self::QueryCq
            | Self::QueryEq
            | Self::QueryMr
            | Self::QuerySrq
            | Self::QueryAh => &[],
            Self::CreateAh | Self::ModifyAh | Self::DestroyAh => &[Table::Ah],
            Self::CreateCq | Self::DestroyCq => &[Table::Cq],
            Self::CreateEq | Self::DestroyEq => &[Table::Eq],
            Self::RegMr | Self::DeregMr => &[Table::Mr],
            Self::CreateSrq | Self::DestroySrq => &[Table::SrqLimit, Table::Srq],
            Self::ModifySrq => &[Table::SrqLimit],
            Self::QpResetToInit => &[Table::Sq, Table::Rq, Table::Responder],
            Self::QpInitToRtr => &[Table::Av, Table::Responder],
            Self::QpRtrToRts => &[Table::Completer, Table::Sender],
            Self::QpToErr => &[Table::Sender, Table::Responder, Table::Completer],
            Self::QpToReset => &[
                Table::Sender,
                Table::Responder,
                Table::Completer,
                Table::Sq,
                Table::Rq,
            ],
        }
    }

    /// Whether the command makes its object or takes it away; `None` when it does neither.
    pub const fn makes(self) -> Option<bool> {
        match self {
            Self::CreateCq | Self::CreateEq | Self::RegMr | Self::CreateSrq | Self::CreateAh => {
                Some(true)
            }
            Self::DestroyCq
            | Self::DestroyEq
            | Self::DeregMr
            | Self::DestroySrq
            | Self::DestroyAh => Some(false),
            Self::SetPort
            | Self::SetAsyncEq
            | Self::QpResetToInit
            | Self::QpInitToRtr
            | Self::QpRtrToRts
            | Self::QpToErr
            | Self::QpToReset
            | Self::QueryQp
            | Self::QueryCq
            | Self::QueryEq
            | Self::QueryMr
            | Self::ModifySrq
            | Self::QuerySrq
            | Self::ModifyAh
            | Self::QueryAh => None,
        }
    }

    /// Whether the command changes its object, which must exist. QPs, which always exist in some state, have [`Self::from`].
    pub const fn changes(self) -> bool {
        matches!(self, Self::ModifySrq | Self::ModifyAh)
    }

    /// Whether the command only asks for its object, which must exist. The answer stands in [`crate::regs::MAILBOX_OUT`] from its end until the next query.
    pub const fn queries(self) -> bool {
        matches!(
            self,
            Self::QueryQp
                | Self::QueryCq
                | Self::QueryEq
                | Self::QueryMr
                | Self::QuerySrq
                | Self::QueryAh
        )
    }

    /// QP states in which the command is allowed; empty for commands that name no QP.
    pub const fn from(self) -> &'static [QpState] {
        match self {
            Self::QpResetToInit => &[QpState::Reset],
            Self::QpInitToRtr => &[QpState::Init],
            Self::QpRtrToRts => &[QpState::Rtr],
            Self::QpToErr => &[QpState::Init, QpState::Rtr, QpState::Rts, QpState::Err],
            Self::QpToReset | Self::QueryQp => &QpState::ALL,
            Self::SetPort
            | Self::SetAsyncEq
            | Self::CreateCq
            | Self::DestroyCq
            | Self::CreateEq
            | Self::DestroyEq
            | Self::RegMr
            | Self::DeregMr
            | Self::QueryCq
            | Self::QueryEq
            | Self::QueryMr
            | Self::CreateSrq
            | Self::DestroySrq
            | Self::ModifySrq
            | Self::QuerySrq
            | Self::CreateAh
            | Self::ModifyAh
            | Self::DestroyAh
            | Self::QueryAh => &[],
        }
    }

    /// State of the QP afterwards.
    pub const fn to(self) -> Option<QpState> {
        match self {
            Self::QpResetToInit => Some(QpState::Init),
            Self::QpInitToRtr => Some(QpState::Rtr),
            Self::QpRtrToRts => Some(QpState::Rts),
            Self::QpToErr => Some(QpState::Err),
            Self::QpToReset => Some(QpState::Reset),
            Self::SetPort
            | Self::SetAsyncEq
            | Self::CreateCq
            | Self::DestroyCq
            | Self::CreateEq
            | Self::DestroyEq
            | Self::RegMr
            | Self::DeregMr
            | Self::QueryQp
            | Self::QueryCq
            | Self::QueryEq
            | Self::QueryMr
            | Self::CreateSrq
            | Self::DestroySrq
            | Self::ModifySrq
            | Self::QuerySrq
            | Self::CreateAh
            | Self::ModifyAh
            | Self::DestroyAh
            | Self::QueryAh => None,
        }
    }
}

/// A command ready for the mailbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Opcode.
    pub command: Command,
    /// Index of the object.
    pub object: u32,
    /// One entry a table of the command, in the same order.
    pub entries: Vec<[u64; ENTRY_WORDS]>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_fit_the_mailbox() {
        let most = Command::ALL.map(|c| c.tables().len()).into_iter().max();
        assert_eq!(most, Some(MAX_TABLES));
        const { assert!(MAX_TABLES <= BLOCKS) };
    }

    #[test]
    fn only_qp_commands_have_states() {
        for command in Command::ALL {
            let is_qp = command.object() == Object::Qp;
            assert_eq!(!command.from().is_empty(), is_qp, "{command:?}");
            let moves = is_qp && !command.queries();
            assert_eq!(command.to().is_some(), moves, "{command:?}");
            assert_eq!(command.tables().is_empty(), command.queries());
            assert_eq!(Command::from_opcode(command as u32), Some(command));
        }
        assert_eq!(Command::from_opcode(0), None);
        assert_eq!(Command::from_opcode(22), None);
    }
}
