//! Work queue entries: 64 bytes, little-endian, in host memory.
//!
//! | bytes | SQ | RQ |
//! |---|---|---|
//! | 0 | work request opcode, [`WrOpcode`] | 0 |
//! | 1 | [`flags`] | 0 |
//! | 2 | scatter/gather entries, 0 to 2 | the same |
//! | 3 | bits 1:0: 64-byte blocks behind the first, 0 to 3; else 0 | 0 |
//! | 4..8 | immediate, or R_Key to invalidate: byte 4 is first on the wire | SRQ: tag in 4..6, else 0 |
//! | 8..16 | remote virtual address | 0 |
//! | 16..20 | R_Key | 0 |
//! | 20..24 | message length in bytes | 0 |
//! | 24..32 | atomic operand: value to swap in or to add | 0 |
//! | 32..48 | SGE 0: address (8), L_Key (4), length (4) | the same |
//! | 48..64 | SGE 1; for CMP_AND_SWP the value to compare in 48..56 | SGE 1 |
//!
//! An SQ WQE has 1 to 4 blocks, and SQ indices count blocks: a WQE's index is that of its first block, a CQE tells that index. Only
//! a WQE with [`flags::INLINE`] has more than one block: its payload is bytes 32 on of all its blocks in a row, which may wrap around the
//! ring's end between two blocks. A queue in the error state is flushed block by block; CQEs of later blocks mean nothing.

use crate::limits::{MAX_INLINE, WQE_BLOCKS, WQE_BYTES, WQE_SGES};

/// Byte offset of the opcode.
pub const OPCODE: usize = 0;
/// Byte offset of the flags.
pub const FLAGS: usize = 1;
/// Byte offset of the number of scatter/gather entries.
pub const NUM_SGE: usize = 2;
/// Byte offset of the number of blocks behind the first.
pub const EXTRA_BLOCKS: usize = 3;
/// Byte offset of the immediate, or the R_Key to invalidate.
pub const IMM: usize = 4;
/// Byte offset of the tag of an SRQ's WQE.
pub const TAG: usize = IMM;
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
/// Byte offset of inline payload.
pub const INLINE_DATA: usize = 32;
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
    /// The payload is in bytes 32 on of the WQE itself (32 bytes, and 64 in each further block); there are no SGEs, and no key is checked.
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
    /// More payload than a WQE of four blocks holds.
    #[error("{0} bytes of payload; a WQE holds 224")]
    InlineLength(usize),
    /// Payload in the WQE and scatter/gather entries, or a request that can't have payload in the WQE.
    #[error(
        "a WQE with payload in it has no scatter/gather entries, and is a SEND or an RDMA WRITE"
    )]
    InlineMix,
}

/// Payload in the WQE itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InlineData {
    bytes: [u8; MAX_INLINE],
    len: u8,
}

impl TryFrom<&[u8]> for InlineData {
    type Error = WqeError;

    fn try_from(data: &[u8]) -> Result<Self, WqeError> {
        let mut bytes = [0; MAX_INLINE];
        bytes
            .get_mut(..data.len())
            .ok_or(WqeError::InlineLength(data.len()))?
            .copy_from_slice(data);
        let len = data.len() as u8;
        Ok(Self { bytes, len })
    }
}

impl InlineData {
    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// Blocks of a WQE that holds them, 1 to 4.
    pub fn blocks(&self) -> usize {
        (INLINE_DATA + usize::from(self.len))
            .div_ceil(WQE_BYTES)
            .max(1)
    }
}

/// The blocks of an encoded SQ WQE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SqBlocks {
    bytes: [[u8; WQE_BYTES]; WQE_BLOCKS],
    count: u8,
}

impl AsRef<[[u8; WQE_BYTES]]> for SqBlocks {
    fn as_ref(&self) -> &[[u8; WQE_BYTES]] {
        self.as_slice()
    }
}

impl SqBlocks {
    /// The blocks, 1 to 4.
    pub fn as_slice(&self) -> &[[u8; WQE_BYTES]] {
        &self.bytes[..usize::from(self.count)]
    }
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

    /// The payload may be in the WQE.
    pub const fn may_be_inline(self) -> bool {
        matches!(
            self,
            Self::RdmaWrite
                | Self::RdmaWriteWithImm
                | Self::Send
                | Self::SendWithImm
                | Self::SendWithInv
        )
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
    /// Payload in the WQE itself; then there are no entries, and [`flags::INLINE`] is set whatever `flags` says.
    pub inline: Option<InlineData>,
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
            inline: None,
        }
    }

    /// All blocks in the ring.
    ///
    /// # Errors
    /// [`WqeError::SgeCount`] when an atomic request has two entries, [`WqeError::InlineMix`] when payload in the WQE does
    /// not go with the rest.
    pub fn blocks(&self) -> Result<SqBlocks, WqeError> {
        let mut bytes = [[0; WQE_BYTES]; WQE_BLOCKS];
        bytes[0] = self.encode()?;
        let Some(data) = &self.inline else {
            return Ok(SqBlocks { bytes, count: 1 });
        };
        if !self.sges.as_slice().is_empty() || !self.opcode.may_be_inline() {
            return Err(WqeError::InlineMix);
        }
        let count = data.blocks() as u8;
        bytes[0][FLAGS] |= flags::INLINE;
        bytes[0][EXTRA_BLOCKS] = count - 1;
        let flat = bytes.as_flattened_mut();
        let data = data.as_slice();
        flat[INLINE_DATA..INLINE_DATA + data.len()].copy_from_slice(data);
        Ok(SqBlocks { bytes, count })
    }

    /// The first block in the ring, without payload.
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
            inline: None,
        })
    }
}

/// An RQ WQE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RqWqe {
    /// The receive buffer.
    pub sges: SgeList,
    /// SRQ: what the CQE names this WQE by, 15 bits ([`crate::cqe::SharedWqe`]).
    pub tag: u16,
}

impl RqWqe {
    /// The bytes in the ring.
    pub fn encode(&self) -> [u8; WQE_BYTES] {
        let mut bytes = [0; WQE_BYTES];
        bytes[TAG..TAG + 2].copy_from_slice(&self.tag.to_le_bytes());
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
            tag: u32_at(bytes, TAG) as u16,
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
