//! Objects of the model, and what comes out in the form that tests compare.

use ferroce_rtl::desc::rx::CqeJob;

/// A memory region of the model.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    pub key: u32,
    pub base: u64,
    pub len: u64,
    pub pd: u16,
    pub access: u8,
}

/// A receive buffer of the model.
#[derive(Clone, Copy, Debug, Default)]
pub struct Buffer {
    pub addr: u64,
    pub lkey: u32,
    pub len: u32,
    pub sges: u8,
}

/// A CQE as tests compare it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cqe {
    pub cq: u16,
    pub qp: u16,
    pub opcode: u8,
    pub status: u8,
    pub flags: u8,
    pub len: u32,
    pub imm: u32,
    pub wqe: u16,
}

impl From<CqeJob> for Cqe {
    fn from(job: CqeJob) -> Self {
        Self {
            cq: job.cq.to_u64() as u16,
            qp: job.qp.to_u64() as u16,
            opcode: job.opcode.to_u64() as u8,
            status: job.status.to_u64() as u8,
            flags: job.flags.to_u64() as u8,
            len: job.byte_len.to_u64() as u32,
            imm: job.imm.to_u64() as u32,
            wqe: job.wqe.to_u64() as u16,
        }
    }
}

/// An answer as tests compare it: QP, PSN, syndrome, MSN.
pub type Ack = (u16, u32, u8, u32);

/// A rewind as tests compare it: QP, WQE, PSN, first PSN, halt.
pub type Back = (u16, u16, u32, u32, bool);
