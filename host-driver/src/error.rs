//! Errors of the driver.

use crate::platform::{BarError, DmaError, WaitError};
use ferroce_abi::cfg::FieldOverflow;
use ferroce_abi::cqe::CqeError;
use ferroce_abi::eqe::UnknownEvent;
use ferroce_abi::mailbox::{Command, CommandStatus, QpState};
use ferroce_abi::wqe::WqeError;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The card's registers can't be accessed.
    #[error(transparent)]
    Bar(#[from] BarError),
    /// Memory for the card.
    #[error(transparent)]
    Dma(#[from] DmaError),
    /// Another device answers at this BAR.
    #[error("the BAR is no Ferroce card: it starts with {found:#010x}")]
    NotFerroce {
        /// What stands in the magic register.
        found: u32,
    },
    /// The card's register map is of another major version.
    #[error("the card's register map has version {found}, this driver needs {needed}: use the driver or the bitstream that goes with the other")]
    Version {
        /// Major version of the card.
        found: u16,
        /// Major version of this driver.
        needed: u16,
    },
    /// A capability register holds what no card has.
    #[error("capability register {register} holds {value}")]
    Capability {
        /// Register name.
        register: &'static str,
        /// Its content.
        value: u32,
    },
    /// The card did not finish a command.
    #[error("{command:?} was not finished after {polls} looks at the status register")]
    CommandTimeout {
        /// The command.
        command: Command,
        /// Looks at the status register.
        polls: u32,
    },
    /// The card refused a command; nothing was changed.
    #[error("{command:?} of object {object} was refused: {status}")]
    CommandRefused {
        /// The command.
        command: Command,
        /// Object index.
        object: u32,
        /// Why.
        status: CommandStatus,
    },
    /// The card ended a command with a code that this driver does not know.
    #[error("{command:?} ended with unknown status code {code}")]
    CommandCode {
        /// The command.
        command: Command,
        /// The code.
        code: u8,
    },
    /// All of the card's objects of a kind are in use.
    #[error("all {limit} {what} of the card are in use: drop one first")]
    Exhausted {
        /// Kind of object.
        what: &'static str,
        /// How many there are.
        limit: usize,
    },
    /// The QP can't be moved like this.
    #[error("QP {qpn} can't be moved from {from:?} to {to:?}")]
    IllegalMove {
        /// The QP.
        qpn: u32,
        /// Its state.
        from: QpState,
        /// Wanted state.
        to: QpState,
    },
    /// The QP's state does not allow posting to this queue.
    #[error("QP {qpn} is in {state:?}: nothing can be posted to its {queue} queue")]
    WrongState {
        /// The QP.
        qpn: u32,
        /// Its state.
        state: QpState,
        /// "send" or "receive".
        queue: &'static str,
    },
    /// An attribute is out of range.
    #[error("{name} is {value}; {min} to {max} is allowed")]
    Attribute {
        /// Name.
        name: &'static str,
        /// Value.
        value: u64,
        /// Smallest allowed value.
        min: u64,
        /// Largest allowed value.
        max: u64,
    },
    /// A buffer's pages do not cover the region, or are not aligned to their size.
    #[error("{pages} pages of {size} bytes do not make up the memory region, or are not aligned to their size")]
    PageList {
        /// Bytes of a page.
        size: u64,
        /// Pages of the buffer.
        pages: usize,
    },
    /// Rights that contradict each other.
    #[error("remote write and atomic rights need local write too")]
    Access,
    /// The queue is full.
    #[error("the {queue} queue is full: {depth} work requests are outstanding; poll the CQ (an unsignaled send leaves its queue when a later signaled one completes)")]
    QueueFull {
        /// "send" or "receive".
        queue: &'static str,
        /// Its size.
        depth: usize,
    },
    /// The card does not do this.
    #[error("the card does not support {what}")]
    Unsupported {
        /// What.
        what: &'static str,
    },
    /// Objects of two cards can't be combined.
    #[error("the {what} belongs to another card")]
    OtherDevice {
        /// The object.
        what: &'static str,
    },
    /// More scatter/gather entries than the card takes.
    #[error("{count} scatter/gather entries; the card takes {max}")]
    SgeCount {
        /// Entries.
        count: usize,
        /// Entries that the card takes.
        max: usize,
    },
    /// A work request that has no WQE form.
    #[error(transparent)]
    Wqe(#[from] WqeError),
    /// A value does not fit the card's table.
    #[error(transparent)]
    Field(#[from] FieldOverflow),
    /// The card wrote a CQE that this driver can't read; it was skipped.
    #[error(transparent)]
    Cqe(#[from] CqeError),
    /// The card wrote an EQE that this driver can't read; it was skipped.
    #[error(transparent)]
    Eqe(#[from] UnknownEvent),
    /// An interrupt can't be waited for.
    #[error(transparent)]
    Wait(#[from] WaitError),
    /// The SRQ was made without an EQ.
    #[error("SRQ {srqn} has no EQ that could take its limit event")]
    SrqWithoutEq {
        /// The SRQ.
        srqn: u32,
    },
    /// The QP takes its receive requests from an SRQ.
    #[error("QP {qpn} has an SRQ: post receive requests there")]
    HasSrq {
        /// The QP.
        qpn: u32,
    },
    /// A QP and its SRQ are in one protection domain.
    #[error("SRQ {srqn} belongs to another protection domain than the QP")]
    OtherPd {
        /// The SRQ.
        srqn: u32,
    },
    /// The CQ was made without an EQ.
    #[error("CQ {cqn} has no EQ that could take its events")]
    NoEq {
        /// The CQ.
        cqn: u32,
    },
}

impl Error {
    /// The card certainly did not carry out the failed command. Otherwise what the command names may exist or
    /// go on existing, and its memory must be kept.
    pub(crate) fn nothing_happened(&self) -> bool {
        matches!(self, Self::CommandRefused { .. } | Self::Field(_))
    }
}

/// A list of work requests was posted in part.
#[derive(Debug, thiserror::Error)]
#[error("work request {posted} of the list was refused; those before it are posted")]
pub struct PostError {
    /// Work requests that were posted: index of the refused one.
    pub posted: usize,
    /// Why it was refused.
    #[source]
    pub cause: Error,
}

/// Checks that an attribute lies in `min..=max`.
pub(crate) fn check_range(name: &'static str, value: u64, min: u64, max: u64) -> Result<(), Error> {
    if (min..=max).contains(&value) {
        Ok(())
    } else {
        Err(Error::Attribute {
            name,
            value,
            min,
            max,
        })
    }
}
