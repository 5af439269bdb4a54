//! Work queue entries: 64 bytes, little-endian, in host memory.
//!
//! | bytes | SQ | RQ |
//! |---|---|---|
//! | 0 | work request opcode, [`WrOpcode`] | 0 |
//! | 1 | [`flags`] | 0 |
//! | 2 | scatter/gather entries, 0 to 2 | the same |
//! | 3 | reserved, 0 | 0 |
//! | 4..8 | immediate, or R_Key to invalidate: byte 4 is first on the wire | 0 |
//! | 8..16 | remote virtual address | 0 |
//! | 16..20 | R_Key | 0 |
//! | 20..24 | message length in bytes | 0 |
//! | 24..32 | atomic operand: value to swap in or to add | 0 |
//! | 32..48 | SGE 0: address (8), L_Key (4), length (4) | the same |
//! | 48..64 | SGE 1; for CMP_AND_SWP the value to compare in 48..56 | SGE 1 |

use crate::limits::{WQE_BYTES, WQE_SGES};

/// Byte offset of the opcode.
pub const OPCODE: usize = 0;
/// Byte offset of the flags.
pub const FLAGS: usize = 1;
/// Byte offset of the number of scatter/gather entries.
pub const NUM_SGE: usize = 2;
/// Byte offset of the immediate, or the R_Key to invalidate.
pub const IMM: usize = 4;
/// Byte offset of the remote virtual address.
pub const REMOTE_VA: usize = 8;
/// Byte offset of the R_Key.
pub const RKEY: usize = 16;
/// Byte offset of the message length.
pub const LENGTH: usize = 20;
/// Byte offset of the atomic operand.
pub const OPERAND: usize = 24;
/// Byte offsets of the scatter/gather entries.
pub const SGE: [usize; WQE_SGES] = [32, 48];
/// Byte offset of the value to compare.
pub const COMPARE: usize = 48;

/// Flag bits of an SQ WQE.
pub mod flags {
    /// A CQE is wanted on success.
    pub const SIGNALED: u8 = 1 << 0;
    /// The peer's CQE is a solicited event.
    pub const SOLICITED: u8 = 1 << 1;
    /// Begin only when all earlier READs and atomics are done.
    pub const FENCE: u8 = 1 << 2;
    /// The payload is in bytes 32 on of the WQE itself (at most 32 bytes); there are no SGEs.
    pub const INLINE: u8 = 1 << 3;
}

/// Work request opcodes; numbers of `ibv_wr_opcode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum WrOpcode {
    /// RDMA WRITE.
    RdmaWrite = 0,
    /// RDMA WRITE with immediate.
    RdmaWriteWithImm = 1,
    /// SEND.
    Send = 2,
    /// SEND with immediate.
    SendWithImm = 3,
    /// RDMA READ.
    RdmaRead = 4,
    /// Compare and swap.
    AtomicCmpAndSwp = 5,
    /// Fetch and add.
    AtomicFetchAndAdd = 6,
    /// Invalidate a local key.
    LocalInv = 7,
    /// Bind a memory window.
    BindMw = 8,
    /// SEND with invalidate.
    SendWithInv = 9,
}

/// What is wrong with the bytes of a WQE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WqeError {
    /// No work request has this number.
    #[error("work request opcode {0} is unknown")]
    Opcode(u8),
    /// More scatter/gather entries than the format holds.
    #[error("{0} scatter/gather entries; the format holds 2, and 1 in an atomic request")]
    SgeCount(usize),
}

impl WrOpcode {
    /// All opcodes, ascending.
    pub const ALL: [Self; 10] = [
        Self::RdmaWrite,
        Self::RdmaWriteWithImm,
        Self::Send,
        Self::SendWithImm,
        Self::RdmaRead,
        Self::AtomicCmpAndSwp,
        Self::AtomicFetchAndAdd,
        Self::LocalInv,
        Self::BindMw,
        Self::SendWithInv,
    ];

    /// A compare and swap or a fetch and add.
    pub const fn is_atomic(self) -> bool {
        matches!(self, Self::AtomicCmpAndSwp | Self::AtomicFetchAndAdd)
    }

    /// Remote address and R_Key are used.
    pub const fn has_remote(self) -> bool {
        matches!(
            self,
            Self::RdmaWrite | Self::RdmaWriteWithImm | Self::RdmaRead
        ) || self.is_atomic()
    }

    /// Scatter/gather entries that the format holds for this opcode.
    pub const fn max_sges(self) -> usize {
        if self.is_atomic() {
            1
        } else {
            WQE_SGES
        }
    }
}

impl TryFrom<u8> for WrOpcode {
    type Error = WqeError;

    fn try_from(byte: u8) -> Result<Self, WqeError> {
        Self::ALL
            .get(usize::from(byte))
            .copied()
            .ok_or(WqeError::Opcode(byte))
    }
}

/// A scatter/gather entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sge {
    /// First byte, as an address of the host's process (the region's own addressing).
    pub addr: u64,
    /// Local key.
    pub lkey: u32,
    /// Bytes.
    pub len: u32,
}

/// Scatter/gather entries of one WQE: 0 to 2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SgeList {
    entries: [Sge; WQE_SGES],
    count: u8,
}

impl TryFrom<&[Sge]> for SgeList {
    type Error = WqeError;

    fn try_from(sges: &[Sge]) -> Result<Self, WqeError> {
        let mut list = Self::default();
        list.entries
            .get_mut(..sges.len())
            .ok_or(WqeError::SgeCount(sges.len()))?
            .copy_from_slice(sges);
        list.count = sges.len() as u8;
        Ok(list)
    }
}

impl From<Sge> for SgeList {
    fn from(sge: Sge) -> Self {
        Self::from([sge])
    }
}

impl<const N: usize> From<[Sge; N]> for SgeList {
    fn from(sges: [Sge; N]) -> Self {
        const { assert!(N <= WQE_SGES, "a WQE holds two scatter/gather entries") };
        let mut list = Self::default();
        list.entries[..N].copy_from_slice(&sges);
        list.count = N as u8;
        list
    }
}

impl SgeList {
    /// The entries.
    pub fn as_slice(&self) -> &[Sge] {
        &self.entries[..usize::from(self.count)]
    }

    /// Bytes of all entries.
    pub fn total_len(&self) -> u64 {
        self.as_slice().iter().map(|sge| u64::from(sge.len)).sum()
    }

    fn encode(&self, bytes: &mut [u8; WQE_BYTES]) {
        bytes[NUM_SGE] = self.count;
        for (sge, at) in self.as_slice().iter().zip(SGE) {
            bytes[at..at + 8].copy_from_slice(&sge.addr.to_le_bytes());
            bytes[at + 8..at + 12].copy_from_slice(&sge.lkey.to_le_bytes());
            bytes[at + 12..at + 16].copy_from_slice(&sge.len.to_le_bytes());
        }
    }

    fn decode(bytes: &[u8; WQE_BYTES], max: usize) -> Result<Self, WqeError> {
        let count = usize::from(bytes[NUM_SGE]);
        if count > max {
            return Err(WqeError::SgeCount(count));
        }
        let mut list = Self {
            count: count as u8,
            ..Self::default()
        };
        for (sge, at) in list.entries[..count].iter_mut().zip(SGE) {
            *sge = Sge {
                addr: u64_at(bytes, at),
                lkey: u32_at(bytes, at + 8),
                len: u32_at(bytes, at + 12),
            };
        }
        Ok(list)
    }
}

/// An SQ WQE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SqWqe {
    /// What to do.
    pub opcode: WrOpcode,
    /// Bits of [`flags`].
    pub flags: u8,
    /// Immediate, or R_Key to invalidate (big-endian), as on the wire.
    pub imm: [u8; 4],
    /// Remote virtual address.
    pub remote_va: u64,
    /// Remote key.
    pub rkey: u32,
    /// Message length in bytes.
    pub length: u32,
    /// Value to swap in or to add (atomics).
    pub operand: u64,
    /// Value to compare; only CMP_AND_SWP has it, its bytes are those of SGE 1.
    pub compare: u64,
    /// Where the payload is.
    pub sges: SgeList,
}

impl SqWqe {
    /// A request with all fields 0 but the opcode.
    pub fn new(opcode: WrOpcode) -> Self {
        Self {
            opcode,
            flags: 0,
            imm: [0; 4],
            remote_va: 0,
            rkey: 0,
            length: 0,
            operand: 0,
            compare: 0,
            sges: SgeList::default(),
        }
    }

    /// The bytes in the ring.
    ///
    /// # Errors
    /// [`WqeError::SgeCount`] when an atomic request has two entries.
    pub fn encode(&self) -> Result<[u8; WQE_BYTES], WqeError> {
        let count = self.sges.as_slice().len();
        if count > self.opcode.max_sges() {
            return Err(WqeError::SgeCount(count));
        }
        let mut bytes = [0; WQE_BYTES];
        bytes[OPCODE] = self.opcode as u8;
        bytes[FLAGS] = self.flags;
        bytes[IMM..IMM + 4].copy_from_slice(&self.imm);
        bytes[REMOTE_VA..REMOTE_VA + 8].copy_from_slice(&self.remote_va.to_le_bytes());
        bytes[RKEY..RKEY + 4].copy_from_slice(&self.rkey.to_le_bytes());
        bytes[LENGTH..LENGTH + 4].copy_from_slice(&self.length.to_le_bytes());
        bytes[OPERAND..OPERAND + 8].copy_from_slice(&self.operand.to_le_bytes());
        self.sges.encode(&mut bytes);
        if self.opcode == WrOpcode::AtomicCmpAndSwp {
            bytes[COMPARE..COMPARE + 8].copy_from_slice(&self.compare.to_le_bytes());
        }
        Ok(bytes)
    }

    /// The inverse of [`Self::encode`].
    ///
    /// # Errors
    /// [`WqeError`] for an unknown opcode or too many entries.
    pub fn decode(bytes: &[u8; WQE_BYTES]) -> Result<Self, WqeError> {
        let opcode = WrOpcode::try_from(bytes[OPCODE])?;
        let mut imm = [0; 4];
        imm.copy_from_slice(&bytes[IMM..IMM + 4]);
        Ok(Self {
            opcode,
            flags: bytes[FLAGS],
            imm,
            remote_va: u64_at(bytes, REMOTE_VA),
            rkey: u32_at(bytes, RKEY),
            length: u32_at(bytes, LENGTH),
            operand: u64_at(bytes, OPERAND),
            compare: if opcode == WrOpcode::AtomicCmpAndSwp {
                u64_at(bytes, COMPARE)
            } else {
                0
            },
            sges: SgeList::decode(bytes, opcode.max_sges())?,
        })
    }
}

/// An RQ WQE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RqWqe {
    /// The receive buffer.
    pub sges: SgeList,
}

impl RqWqe {
    /// The bytes in the ring.
    pub fn encode(&self) -> [u8; WQE_BYTES] {
        let mut bytes = [0; WQE_BYTES];
        self.sges.encode(&mut bytes);
        bytes
    }

    /// The inverse of [`Self::encode`].
    ///
    /// # Errors
    /// [`WqeError::SgeCount`] for more than two entries.
    pub fn decode(bytes: &[u8; WQE_BYTES]) -> Result<Self, WqeError> {
        Ok(Self {
            sges: SgeList::decode(bytes, WQE_SGES)?,
        })
    }
}

fn u64_at(bytes: &[u8; WQE_BYTES], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

fn u32_at(bytes: &[u8; WQE_BYTES], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}
