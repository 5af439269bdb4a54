//! Work requests.

use crate::device::Capabilities;
use crate::error::{check_range, Error};
use ferroce_abi::cqe::WcOpcode;
use ferroce_abi::limits::MAX_MESSAGE;
use ferroce_abi::regs::feature;
use ferroce_abi::wqe::{flags, InlineData, RqWqe, SgeList, SqWqe, WrOpcode};

/// Memory of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Remote {
    /// First byte, in the peer's addressing.
    pub addr: u64,
    /// Key of the peer's region.
    pub rkey: u32,
}

/// What a send work request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendOp {
    /// SEND: into a receive buffer of the peer.
    Send,
    /// SEND with an immediate for the peer's completion.
    SendWithImm(u32),
    /// SEND that invalidates a key of the peer.
    SendWithInv(u32),
    /// RDMA WRITE.
    Write(Remote),
    /// RDMA WRITE with an immediate for the peer's completion; takes a receive request of the peer.
    WriteWithImm(Remote, u32),
    /// RDMA READ.
    Read(Remote),
    /// Compare and swap of 8 bytes; the old value goes to the local entry.
    CompareAndSwap {
        /// The peer's 8 bytes.
        remote: Remote,
        /// Value to compare.
        compare: u64,
        /// Value to store when equal.
        swap: u64,
    },
    /// Fetch and add of 8 bytes; the old value goes to the local entry.
    FetchAndAdd {
        /// The peer's 8 bytes.
        remote: Remote,
        /// Value to add.
        add: u64,
    },
}

impl SendOp {
    const fn opcode(self) -> WrOpcode {
        match self {
            Self::Send => WrOpcode::Send,
            Self::SendWithImm(_) => WrOpcode::SendWithImm,
            Self::SendWithInv(_) => WrOpcode::SendWithInv,
            Self::Write(_) => WrOpcode::RdmaWrite,
            Self::WriteWithImm(..) => WrOpcode::RdmaWriteWithImm,
            Self::Read(_) => WrOpcode::RdmaRead,
            Self::CompareAndSwap { .. } => WrOpcode::AtomicCmpAndSwp,
            Self::FetchAndAdd { .. } => WrOpcode::AtomicFetchAndAdd,
        }
    }

    const fn feature(self) -> u32 {
        match self {
            Self::Send | Self::SendWithImm(_) | Self::Write(_) | Self::WriteWithImm(..) => {
                feature::RC
            }
            Self::SendWithInv(_) => feature::SEND_INV,
            Self::Read(_) => feature::READ,
            Self::CompareAndSwap { .. } | Self::FetchAndAdd { .. } => feature::ATOMIC,
        }
    }

    /// Opcode of the completion.
    pub(crate) const fn completion(self) -> WcOpcode {
        match self {
            Self::Send | Self::SendWithImm(_) | Self::SendWithInv(_) => WcOpcode::Send,
            Self::Write(_) | Self::WriteWithImm(..) => WcOpcode::RdmaWrite,
            Self::Read(_) => WcOpcode::RdmaRead,
            Self::CompareAndSwap { .. } => WcOpcode::CompSwap,
            Self::FetchAndAdd { .. } => WcOpcode::FetchAdd,
        }
    }
}

/// A send work request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendWr {
    /// Comes back in the completion.
    pub wr_id: u64,
    /// What to do.
    pub op: SendOp,
    /// Local memory, in order; none for a message of no bytes.
    pub sges: SgeList,
    /// The message itself, instead of `sges`: the card reads it along with the request.
    pub inline: Option<InlineData>,
    /// A completion is wanted on success.
    pub signaled: bool,
    /// The peer's completion is a solicited event.
    pub solicited: bool,
    /// Wait for all earlier READs and atomics.
    pub fence: bool,
}

impl SendWr {
    /// A signaled request.
    pub fn new(wr_id: u64, op: SendOp, sges: impl Into<SgeList>) -> Self {
        Self {
            wr_id,
            op,
            sges: sges.into(),
            inline: None,
            signaled: true,
            solicited: false,
            fence: false,
        }
    }

    /// A signaled SEND or RDMA WRITE of up to 224 bytes that go along with the request, so that they need no memory region and
    /// may be overwritten at once. A request with more than 32 bytes takes further places in the send queue, one for each 64.
    ///
    /// # Errors
    /// [`Error::Wqe`] for more bytes.
    pub fn inline(wr_id: u64, op: SendOp, data: &[u8]) -> Result<Self, Error> {
        Ok(Self {
            inline: Some(InlineData::try_from(data)?),
            ..Self::new(wr_id, op, SgeList::default())
        })
    }

    /// A signaled SEND.
    pub fn send(wr_id: u64, sges: impl Into<SgeList>) -> Self {
        Self::new(wr_id, SendOp::Send, sges)
    }

    /// A signaled RDMA WRITE.
    pub fn write(wr_id: u64, sges: impl Into<SgeList>, remote: Remote) -> Self {
        Self::new(wr_id, SendOp::Write(remote), sges)
    }

    /// Places that it takes in the send queue, 1 to 4.
    pub fn places(&self) -> usize {
        self.inline.map_or(1, |data| data.blocks())
    }

    /// The same without a completion on success.
    pub fn unsignaled(mut self) -> Self {
        self.signaled = false;
        self
    }

    /// The same as a solicited event.
    pub fn solicited(mut self) -> Self {
        self.solicited = true;
        self
    }

    /// The same, waiting for all earlier READs and atomics.
    pub fn fenced(mut self) -> Self {
        self.fence = true;
        self
    }

    /// The WQE, checked against what the card takes.
    pub(crate) fn to_wqe(self, caps: &Capabilities, signal_all: bool) -> Result<SqWqe, Error> {
        caps.need(self.op.feature())?;
        check_sges(&self.sges, caps)?;
        check_range(
            "message length",
            self.sges.total_len(),
            0,
            MAX_MESSAGE.into(),
        )?;
        let mut wqe = SqWqe::new(self.op.opcode());
        for (set, bit) in [
            (self.signaled || signal_all, flags::SIGNALED),
            (self.solicited, flags::SOLICITED),
            (self.fence, flags::FENCE),
        ] {
            if set {
                wqe.flags |= bit;
            }
        }
        wqe.sges = self.sges;
        wqe.length = self.sges.total_len() as u32;
        if let Some(data) = self.inline {
            caps.need(feature::INLINE)?;
            wqe.length = data.as_slice().len() as u32;
            wqe.inline = Some(data);
        }
        let mut remote = |remote: Remote| {
            wqe.remote_va = remote.addr;
            wqe.rkey = remote.rkey;
        };
        match self.op {
            SendOp::Send => {}
            SendOp::SendWithImm(word) | SendOp::SendWithInv(word) => {
                wqe.imm = word.to_be_bytes();
            }
            SendOp::Write(r) | SendOp::Read(r) => remote(r),
            SendOp::WriteWithImm(r, imm) => {
                remote(r);
                wqe.imm = imm.to_be_bytes();
            }
            SendOp::CompareAndSwap {
                remote: r,
                compare,
                swap,
            } => {
                remote(r);
                wqe.operand = swap;
                wqe.compare = compare;
            }
            SendOp::FetchAndAdd { remote: r, add } => {
                remote(r);
                wqe.operand = add;
            }
        }
        Ok(wqe)
    }
}

/// A receive work request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecvWr {
    /// Comes back in the completion.
    pub wr_id: u64,
    /// The receive buffer; none takes messages of no bytes only.
    pub sges: SgeList,
}

impl RecvWr {
    /// A receive request.
    pub fn new(wr_id: u64, sges: impl Into<SgeList>) -> Self {
        Self {
            wr_id,
            sges: sges.into(),
        }
    }

    pub(crate) fn to_wqe(self, caps: &Capabilities) -> Result<RqWqe, Error> {
        check_sges(&self.sges, caps)?;
        Ok(RqWqe {
            sges: self.sges,
            tag: 0,
        })
    }
}

fn check_sges(sges: &SgeList, caps: &Capabilities) -> Result<(), Error> {
    let count = sges.as_slice().len();
    if count > caps.max_sge {
        return Err(Error::SgeCount {
            count,
            max: caps.max_sge,
        });
    }
    Ok(())
}
