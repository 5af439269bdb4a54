//! How commands end.

use serde::Serialize;

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
    /// A QP uses the CQ or SRQ, or a CQ, an SRQ or the port uses the EQ.
    #[error("the object is in use")]
    InUse = 5,
    /// The object does not exist, or a CQ, EQ or SRQ that the command names.
    #[error("the object, or a queue that the command names, does not exist")]
    NoObject = 6,
    /// A field of an entry is out of range.
    #[error("an argument is out of range: ring address or size, path MTU, vector, GID")]
    BadArgument = 7,
    /// The object exists already.
    #[error("the object exists already")]
    Exists = 8,
}

impl CommandStatus {
    /// All codes, ascending.
    pub const ALL: [Self; 9] = [
        Self::Ok,
        Self::BadOpcode,
        Self::BadIndex,
        Self::BadState,
        Self::Busy,
        Self::InUse,
        Self::NoObject,
        Self::BadArgument,
        Self::Exists,
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

#[cfg(test)]
mod tests {
    use super::*;

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
