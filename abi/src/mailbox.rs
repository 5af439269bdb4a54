//! Mailbox commands. The driver fills the mailbox ([`crate::regs::MAILBOX_IN`]) and the object register,
//! then writes the opcode register, which starts the command. The card's command engine needs no
//! knowledge of a command's meaning: block `k` of the mailbox (32 bytes, an entry of [`crate::cfg`]) goes to
//! the `k`-th table of [`Command::tables`], at the index in the object register.
//!
//! Checks, in this order: another command is running ([`CommandStatus::Busy`], the new one is lost), the opcode is
//! unknown, the index is outside its table, a QP is not in a state of [`Command::from`]. A refused command
//! changes nothing.

use crate::cfg::{Table, ENTRY_BYTES, ENTRY_WORDS};
use serde::Serialize;

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
}

/// Opcodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[repr(u8)]
pub enum Command {
    /// Sets the port's addresses.
    SetPort = 1,
    /// Makes a CQ, or replaces it: its indices become 0.
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
    /// Makes an EQ, or replaces it: its indices become 0.
    CreateEq = 11,
    /// Disables an EQ: events for it are dropped and counted.
    DestroyEq = 12,
}

impl Command {
    /// All commands, ascending.
    pub const ALL: [Self; 12] = [
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
    ];

    /// From the opcode register.
    pub fn from_opcode(opcode: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|&c| c as u32 == opcode)
    }

    /// What the object register names.
    pub const fn object(self) -> Object {
        match self {
            Self::SetPort => Object::Port,
            Self::CreateCq | Self::DestroyCq => Object::Cq,
            Self::CreateEq | Self::DestroyEq => Object::Eq,
            Self::RegMr | Self::DeregMr => Object::Mr,
            Self::QpResetToInit
            | Self::QpInitToRtr
            | Self::QpRtrToRts
            | Self::QpToErr
            | Self::QpToReset => Object::Qp,
        }
    }

    /// Tables in the order of writing; the k-th takes the mailbox's k-th block.
    ///
    /// A QP is stopped outside in: first what sends, then what receives, last what completes.
    pub const fn tables(self) -> &'static [Table] {
        match self {
            Self::SetPort => &[Table::Port],
            Self::CreateCq | Self::DestroyCq => &[Table::Cq],
            Self::CreateEq | Self::DestroyEq => &[Table::Eq],
            Self::RegMr | Self::DeregMr => &[Table::Mr],
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

    /// QP states in which the command is allowed; empty for commands that name no QP.
    pub const fn from(self) -> &'static [QpState] {
        match self {
            Self::QpResetToInit => &[QpState::Reset],
            Self::QpInitToRtr => &[QpState::Init],
            Self::QpRtrToRts => &[QpState::Rtr],
            Self::QpToErr => &[QpState::Init, QpState::Rtr, QpState::Rts, QpState::Err],
            Self::QpToReset => &QpState::ALL,
            Self::SetPort
            | Self::CreateCq
            | Self::DestroyCq
            | Self::CreateEq
            | Self::DestroyEq
            | Self::RegMr
            | Self::DeregMr => &[],
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
            | Self::CreateCq
            | Self::DestroyCq
            | Self::CreateEq
            | Self::DestroyEq
            | Self::RegMr
            | Self::DeregMr => None,
        }
    }
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, thiserror::Error)]
#[repr(u8)]
pub enum CommandStatus {
    /// Done.
    #[error("done")]
    Ok = 0,
    /// No command has this opcode.
    #[error("unknown command opcode")]
    BadOpcode = 1,
    /// The object register is outside the command's table.
    #[error("object index outside the card's table")]
    BadIndex = 2,
    /// The QP is in a state that does not allow the command.
    #[error("the QP's state does not allow the command")]
    BadState = 3,
    /// A command was still running; the new one was ignored.
    #[error("another command was still running")]
    Busy = 4,
}

impl CommandStatus {
    /// All codes, ascending.
    pub const ALL: [Self; 5] = [
        Self::Ok,
        Self::BadOpcode,
        Self::BadIndex,
        Self::BadState,
        Self::Busy,
    ];

    /// From the status register's code.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }
}

/// Content of the status register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailboxState {
    /// No command was given since power-up.
    Idle,
    /// A command is running.
    Busy,
    /// The last command has ended with this code.
    Done(u8),
}

impl MailboxState {
    /// Status register bit: a command is running.
    pub const BUSY: u32 = 1 << 0;
    /// Status register bit: the last command has ended; cleared by the next one.
    pub const DONE: u32 = 1 << 1;
    /// Lowest status register bit of the 8-bit [`CommandStatus`].
    pub const CODE_SHIFT: u32 = 8;

    /// As the register shows it.
    pub const fn to_bits(self) -> u32 {
        match self {
            Self::Idle => 0,
            Self::Busy => Self::BUSY,
            Self::Done(code) => Self::DONE | (code as u32) << Self::CODE_SHIFT,
        }
    }

    /// From the register.
    pub const fn from_bits(bits: u32) -> Self {
        if bits & Self::BUSY != 0 {
            Self::Busy
        } else if bits & Self::DONE != 0 {
            Self::Done((bits >> Self::CODE_SHIFT) as u8)
        } else {
            Self::Idle
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
            assert_eq!(command.to().is_some(), is_qp, "{command:?}");
            assert_eq!(Command::from_opcode(command as u32), Some(command));
        }
        assert_eq!(Command::from_opcode(0), None);
        assert_eq!(Command::from_opcode(13), None);
    }

    #[test]
    fn status_register_forms_agree() {
        for state in [
            MailboxState::Idle,
            MailboxState::Busy,
            MailboxState::Done(0),
            MailboxState::Done(3),
        ] {
            assert_eq!(MailboxState::from_bits(state.to_bits()), state);
        }
        assert_eq!(MailboxState::Done(3).to_bits(), 0x302);
    }
}
