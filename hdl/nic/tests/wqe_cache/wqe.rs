//! WQEs of which no two are the same.

use ferroce_abi::wqe::{Sge, SgeList, SqWqe, WrOpcode};
use ferroce_rtl::desc::lookup::WqeData;

/// The WQE that a queue has at an index, other each time the index comes round.
pub fn wqe_of(qp: usize, index: u16, generation: u64) -> SqWqe {
    let unique = (qp as u64) << 48 | u64::from(index) << 32 | generation;
    let mut wqe = SqWqe::new(WrOpcode::RdmaWriteWithImm);
    wqe.flags = index as u8 & 3;
    wqe.imm = (index as u32 ^ 0xA5A5_0000).to_le_bytes();
    wqe.remote_va = unique.rotate_left(13);
    wqe.rkey = qp as u32 ^ 0x1234_5600;
    wqe.length = u32::from(index) * 77;
    wqe.sges = SgeList::try_from(
        [Sge {
            addr: !unique,
            lkey: u32::from(index) ^ 0x00AB_CD00,
            len: u32::from(index) * 77,
        }]
        .as_slice(),
    )
    .expect("one entry fits");
    wqe
}

/// What a look-up of a WQE that is there says.
pub fn as_read(wqe: &SqWqe) -> WqeData {
    let sge = wqe.sges.as_slice()[0];
    WqeData {
        avail: true,
        opcode: (wqe.opcode as u64).into(),
        flags: u64::from(wqe.flags).into(),
        sges: 1.into(),
        extra: 0.into(),
        imm: u64::from(u32::from_le_bytes(wqe.imm)).into(),
        va: wqe.remote_va.into(),
        rkey: u64::from(wqe.rkey).into(),
        len: u64::from(wqe.length).into(),
        addr: sge.addr.into(),
        lkey: u64::from(sge.lkey).into(),
        sge_len: u64::from(sge.len).into(),
        operand: wqe.operand.into(),
        compare: wqe.compare.into(),
    }
}
