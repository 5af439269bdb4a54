//! Completion queue entries: 32 bytes, little-endian, written by the card in one piece.
//!
//! | bytes | content |
//! |---|---|
//! | 0 | completion opcode, [`WcOpcode`] |
//! | 1 | [`Status`] |
//! | 2 | [`flags`] |
//! | 3 | 0 |
//! | 4..8 | QPN |
//! | 8..12 | byte length |
//! | 12..16 | immediate or invalidated R_Key: byte 12 was first on the wire |
//! | 16..18 | SQ or RQ index of the WQE; of an SRQ's WQE see [`SharedWqe`] |
//! | 18..20 | vendor error |
//! | 20..24 | source QPN (UD), else 0 |
//! | 24..31 | 0 |
//! | 31 | bit 0: phase |
//!
//! The phase bit is 1 in the first pass over the ring, 0 in the second and so on; memory starts zeroed. The
//! entry at running index `i` of a ring of `2^n` entries is valid when its phase is [`phase_of`]`(i, n)`.

use crate::limits::CQE_BYTES;

/// Byte offset of the opcode.
pub const OPCODE: usize = 0;
/// Byte offset of the status.
pub const STATUS: usize = 1;
/// Byte offset of the flags.
pub const FLAGS: usize = 2;
/// Byte offset of the QPN.
pub const QPN: usize = 4;
/// Byte offset of the byte length.
pub const BYTE_LEN: usize = 8;
/// Byte offset of the immediate.
pub const IMM: usize = 12;
/// Byte offset of the WQE index.
pub const WQE_INDEX: usize = 16;
/// Byte offset of the vendor error.
pub const VENDOR_ERR: usize = 18;
/// Byte offset of the source QPN.
pub const SRC_QPN: usize = 20;
/// Byte offset of the phase; the phase is bit 0.
pub const PHASE: usize = 31;

/// Flag bits of a CQE.
pub mod flags {
    /// The immediate is valid.
    pub const WITH_IMM: u8 = 1 << 0;
    /// The immediate field holds the R_Key that was invalidated.
    pub const WITH_INV: u8 = 1 << 1;
    /// The sender asked for a solicited event.
    pub const SOLICITED: u8 = 1 << 2;
}

/// Completion opcodes; numbers of `ibv_wc_opcode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum WcOpcode {
    /// SEND of any kind.
    Send = 0,
    /// RDMA WRITE of any kind.
    RdmaWrite = 1,
    /// RDMA READ.
    RdmaRead = 2,
    /// Compare and swap.
    CompSwap = 3,
    /// Fetch and add.
    FetchAdd = 4,
    /// Memory window bind.
    BindMw = 5,
    /// Local invalidate.
    LocalInv = 6,
    /// A SEND was received.
    Recv = 128,
    /// An RDMA WRITE with immediate was received.
    RecvRdmaWithImm = 129,
}

impl WcOpcode {
    /// All opcodes, ascending.
    pub const ALL: [Self; 9] = [
        Self::Send,
        Self::RdmaWrite,
        Self::RdmaRead,
        Self::CompSwap,
        Self::FetchAdd,
        Self::BindMw,
        Self::LocalInv,
        Self::Recv,
        Self::RecvRdmaWithImm,
    ];

    /// The WQE index is an RQ index.
    pub const fn is_receive(self) -> bool {
        self as u8 & 0x80 != 0
    }
}

macro_rules! status {
    ($($(#[$doc:meta])* $name:ident = $number:literal, $text:literal;)*) => {
        /// Completion status; numbers of `ibv_wc_status`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
        #[repr(u8)]
        pub enum Status {
            $($(#[$doc])* #[error($text)] $name = $number,)*
        }

        impl Status {
            /// All statuses, ascending.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];
        }
    };
}

status! {
    /// Done.
    Success = 0, "success";
    /// Message longer than the buffer, or a response of the wrong length.
    LocLen = 1, "local length error";
    /// Malformed WQE.
    LocQpOp = 2, "local QP operation error";
    /// Local end-to-end context error.
    LocEecOp = 3, "local end-to-end context operation error";
    /// Local key, range or rights do not allow the access.
    LocProt = 4, "local protection error";
    /// Flushed because the QP is in the error state.
    WrFlush = 5, "work request flushed";
    /// Memory window bind failed.
    MwBind = 6, "memory window bind error";
    /// The peer's response fits no request.
    BadResp = 7, "bad response";
    /// Local access error.
    LocAccess = 8, "local access error";
    /// NAK 0x61: the peer found the request invalid.
    RemInvReq = 9, "remote invalid request";
    /// NAK 0x62: remote key, range or rights do not allow the access.
    RemAccess = 10, "remote access error";
    /// NAK 0x63: the peer failed locally.
    RemOp = 11, "remote operation error";
    /// No answer after all retries.
    RetryExc = 12, "transport retry counter exceeded";
    /// Receiver not ready after all retries.
    RnrRetryExc = 13, "RNR retry counter exceeded";
    /// RD domain violation.
    LocRddViol = 14, "local RDD violation";
    /// NAK 0x64: invalid RD request.
    RemInvRdReq = 15, "remote invalid RD request";
    /// Aborted by the peer.
    RemAbort = 16, "remote aborted";
    /// Invalid end-to-end context number.
    InvEecn = 17, "invalid end-to-end context number";
    /// Invalid end-to-end context state.
    InvEecState = 18, "invalid end-to-end context state";
    /// Fatal error.
    Fatal = 19, "fatal error";
    /// Response timeout.
    RespTimeout = 20, "response timeout";
    /// General error.
    General = 21, "general error";
}

/// What is wrong with the bytes of a CQE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CqeError {
    /// No completion has this opcode.
    #[error("completion opcode {0} is unknown")]
    Opcode(u8),
    /// No status has this number.
    #[error("completion status {0} is unknown")]
    Status(u8),
}

impl TryFrom<u8> for WcOpcode {
    type Error = CqeError;

    fn try_from(byte: u8) -> Result<Self, CqeError> {
        Self::ALL
            .into_iter()
            .find(|&op| op as u8 == byte)
            .ok_or(CqeError::Opcode(byte))
    }
}

impl TryFrom<u8> for Status {
    type Error = CqeError;

    fn try_from(byte: u8) -> Result<Self, CqeError> {
        Self::ALL
            .get(usize::from(byte))
            .copied()
            .ok_or(CqeError::Status(byte))
    }
}

/// The phase bit of the valid entry at running index `index` in a ring of `2^log_size` entries.
pub const fn phase_of(index: u32, log_size: u32) -> bool {
    index >> log_size & 1 == 0
}

/// The phase bit of an entry's bytes.
pub const fn phase_bit(bytes: &[u8; CQE_BYTES]) -> bool {
    bytes[PHASE] & 1 == 1
}

/// How the WQE index field names a WQE of an SRQ. Messages of several QPs end in another order than they began, so the driver
/// gives each WQE a tag ([`crate::wqe::RqWqe::tag`]), which the CQE returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharedWqe {
    /// Tag of the WQE, 15 bits.
    Tag(u16),
    /// Low 15 bits of the running SRQ index of a WQE that the card could not read.
    Unread(u16),
}

impl SharedWqe {
    /// Bit of [`Self::Unread`].
    pub const UNREAD_BIT: u32 = 15;
    const MASK: u16 = (1 << Self::UNREAD_BIT) - 1;

    /// From a CQE's `wqe_index`.
    pub const fn from_index(index: u16) -> Self {
        if index >> Self::UNREAD_BIT == 1 {
            Self::Unread(index & Self::MASK)
        } else {
            Self::Tag(index)
        }
    }
}

/// A CQE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cqe {
    /// What was completed.
    pub opcode: WcOpcode,
    /// How it ended. Unless [`Status::Success`], only `qpn`, `wqe_index` and `vendor_err` are valid.
    pub status: Status,
    /// Bits of [`flags`].
    pub flags: u8,
    /// QP of the completed WQE.
    pub qpn: u32,
    /// Bytes of the message.
    pub byte_len: u32,
    /// Immediate as on the wire.
    pub imm: [u8; 4],
    /// SQ or RQ index of the completed WQE; of an SRQ's WQE see [`SharedWqe`].
    pub wqe_index: u16,
    /// Detail of an error, for people who debug.
    pub vendor_err: u16,
    /// Source QPN of a datagram.
    pub src_qpn: u32,
    /// Phase bit.
    pub phase: bool,
}

impl Cqe {
    /// The bytes in the ring.
    pub fn encode(&self) -> [u8; CQE_BYTES] {
        let mut bytes = [0; CQE_BYTES];
        bytes[OPCODE] = self.opcode as u8;
        bytes[STATUS] = self.status as u8;
        bytes[FLAGS] = self.flags;
        bytes[QPN..QPN + 4].copy_from_slice(&self.qpn.to_le_bytes());
        bytes[BYTE_LEN..BYTE_LEN + 4].copy_from_slice(&self.byte_len.to_le_bytes());
        bytes[IMM..IMM + 4].copy_from_slice(&self.imm);
        bytes[WQE_INDEX..WQE_INDEX + 2].copy_from_slice(&self.wqe_index.to_le_bytes());
        bytes[VENDOR_ERR..VENDOR_ERR + 2].copy_from_slice(&self.vendor_err.to_le_bytes());
        bytes[SRC_QPN..SRC_QPN + 4].copy_from_slice(&self.src_qpn.to_le_bytes());
        bytes[PHASE] = u8::from(self.phase);
        bytes
    }

    /// The inverse of [`Self::encode`].
    ///
    /// # Errors
    /// [`CqeError`] for an unknown opcode or status.
    pub fn decode(bytes: &[u8; CQE_BYTES]) -> Result<Self, CqeError> {
        let word = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|k| bytes[at + k]));
        Ok(Self {
            opcode: WcOpcode::try_from(bytes[OPCODE])?,
            status: Status::try_from(bytes[STATUS])?,
            flags: bytes[FLAGS],
            qpn: word(QPN),
            byte_len: word(BYTE_LEN),
            imm: word(IMM).to_le_bytes(),
            wqe_index: word(WQE_INDEX) as u16,
            vendor_err: (word(WQE_INDEX) >> 16) as u16,
            src_qpn: word(SRC_QPN),
            phase: phase_bit(bytes),
        })
    }
}
