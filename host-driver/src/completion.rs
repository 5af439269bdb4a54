//! Completions.

use ferroce_abi::cqe::{flags, Cqe, Status, WcOpcode};

/// One completed work request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Of the work request.
    pub wr_id: u64,
    /// QP that it was posted to.
    pub qpn: u32,
    /// What was completed.
    pub opcode: WcOpcode,
    /// How it ended. Unless [`Status::Success`], what follows is not valid but for `vendor_err`.
    pub status: Status,
    /// Bytes of the message.
    pub byte_len: u32,
    /// Immediate from the peer.
    pub imm: Option<u32>,
    /// Key that the peer invalidated.
    pub invalidated: Option<u32>,
    /// The peer asked for a solicited event.
    pub solicited: bool,
    /// Detail of an error, for people who debug.
    pub vendor_err: u16,
}

impl Completion {
    /// `Err` with the status unless it is [`Status::Success`].
    ///
    /// # Errors
    /// The status.
    pub fn ok(self) -> Result<Self, Status> {
        match self.status {
            Status::Success => Ok(self),
            status => Err(status),
        }
    }

    /// From a CQE and what the driver remembers of its work request.
    pub(crate) fn new(cqe: &Cqe, wr_id: u64, opcode: WcOpcode) -> Self {
        let word = u32::from_be_bytes(cqe.imm);
        let with = |bit: u8| cqe.flags & bit != 0;
        Self {
            wr_id,
            qpn: cqe.qpn,
            opcode,
            status: cqe.status,
            byte_len: cqe.byte_len,
            imm: with(flags::WITH_IMM).then_some(word),
            invalidated: with(flags::WITH_INV).then_some(word),
            solicited: with(flags::SOLICITED),
            vendor_err: cqe.vendor_err,
        }
    }

    /// Of a work request that was never executed.
    pub(crate) fn flushed(qpn: u32, wr_id: u64, opcode: WcOpcode) -> Self {
        Self {
            wr_id,
            qpn,
            opcode,
            status: Status::WrFlush,
            byte_len: 0,
            imm: None,
            invalidated: None,
            solicited: false,
            vendor_err: 0,
        }
    }
}
