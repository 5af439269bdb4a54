//! Fixed-latency look-ups: a request in some cycle is answered exactly `LATENCY` cycles later. They
//! take a request in every cycle and have no back-pressure.

use ferroce_emit::prelude::*;

/// Cycles from a WQE cache read to its answer.
pub const WQE_READ_LATENCY: usize = 4;
/// Cycles from an MR check request to its answer.
pub const MR_CHECK_LATENCY: usize = 8;

/// Reads one WQE slot of a QP's cache, and how far the cache is filled.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct WqeRead {
    /// QP index.
    pub qp: Bits<14>,
    /// SQ or RQ index of the wanted WQE.
    pub wqe: Bits<16>,
}

/// A decoded WQE. For a receive WQE only `sges`, `addr`, `lkey`, `sge_len` are meaningful.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct WqeData {
    /// The WQE is in the cache: all of its blocks lie in the fetched window. All else is undefined when low.
    pub avail: Bit,
    /// Work request opcode.
    pub opcode: Bits<8>,
    /// WQE flags (`ferroce_abi::wqe`).
    pub flags: Bits<8>,
    /// Scatter/gather entries.
    pub sges: Bits<8>,
    /// Blocks behind the first.
    pub extra: Bits<2>,
    /// Immediate or key to invalidate, wire order, first byte in bits 7:0.
    pub imm: Bits<32>,
    /// Remote virtual address.
    pub va: Bits<64>,
    /// Remote key.
    pub rkey: Bits<32>,
    /// Message length in bytes.
    pub len: Bits<32>,
    /// Address of the first SGE.
    pub addr: Bits<64>,
    /// Local key of the first SGE.
    pub lkey: Bits<32>,
    /// Length of the first SGE in bytes.
    pub sge_len: Bits<32>,
    /// Atomic: value to swap in or to add.
    pub operand: Bits<64>,
    /// Compare and swap: value to compare.
    pub compare: Bits<64>,
}

/// Asks whether `[va, va+len)` may be accessed through `key`.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct MrCheck {
    /// L_Key or R_Key: MR index in bits 31:8, key tag in bits 7:0.
    pub key: Bits<32>,
    /// First byte.
    pub va: Bits<64>,
    /// Bytes; 0 passes without any check (C9-88).
    pub len: Bits<32>,
    /// Protection domain of the QP.
    pub pd: Bits<16>,
    /// Needed rights, bits of `ferroce_abi::mr::Access`.
    pub access: Bits<8>,
}

/// Answer to an [`MrCheck`].
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct MrAnswer {
    /// Access is allowed.
    pub ok: Bit,
    /// The region's addresses go through its page table.
    pub paged: Bit,
    /// The region's epoch, for [`crate::desc::pages::PageReq`].
    pub epoch: Bits<8>,
}
