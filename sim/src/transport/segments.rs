//! Messages cut into packets.

use ferroce_abi::frame::Packet;
use ferroce_abi::headers::{AtomicEth, Bth, Reth};
use ferroce_abi::opcode::rc;

use super::requester::{Work, WorkOp};
use super::{add24, packets, pad};

/// Opcodes of a request's packets: FIRST, MIDDLE, LAST, ONLY.
const fn opcodes(op: &WorkOp) -> [u8; 4] {
    let (first, middle) = match op {
        WorkOp::Write { .. } | WorkOp::WriteWithImm { .. } => (rc::WRITE_FIRST, rc::WRITE_MIDDLE),
        _ => (rc::SEND_FIRST, rc::SEND_MIDDLE),
    };
    let (last, only) = match op {
        WorkOp::Send => (rc::SEND_LAST, rc::SEND_ONLY),
        WorkOp::SendWithImm(_) => (rc::SEND_LAST_IMM, rc::SEND_ONLY_IMM),
        WorkOp::SendWithInv(_) => (rc::SEND_LAST_INV, rc::SEND_ONLY_INV),
        WorkOp::Write { .. } => (rc::WRITE_LAST, rc::WRITE_ONLY),
        WorkOp::WriteWithImm { .. } => (rc::WRITE_LAST_IMM, rc::WRITE_ONLY_IMM),
        WorkOp::Read { .. } => (rc::READ_REQUEST, rc::READ_REQUEST),
        WorkOp::CompareSwap { .. } => (rc::CMP_SWAP, rc::CMP_SWAP),
        WorkOp::FetchAdd { .. } => (rc::FETCH_ADD, rc::FETCH_ADD),
    };
    [first, middle, last, only]
}

/// The packets of a request whose first PSN is `psn` (9.4, 9.7.3). AckReq is set in the last one.
pub fn request_packets(work: &Work, dqpn: u32, psn: u32, pmtu: usize) -> Vec<Packet> {
    let carries = work.op.carries_payload();
    let len = work.data.len();
    let count = if carries {
        packets(len as u64, pmtu)
    } else {
        1
    };
    let codes = opcodes(&work.op);
    (0..count)
        .map(|n| {
            let (begins, ends) = (n == 0, n + 1 == count);
            let opcode = match (begins, ends) {
                (true, true) => codes[3],
                (true, false) => codes[0],
                (false, true) => codes[2],
                (false, false) => codes[1],
            };
            let mut packet = Packet::new(Bth {
                ackreq: ends,
                // 9.2.3: only where the peer gets a completion.
                se: ends && work.solicited && work.op.takes_receive(),
                ..Bth::new(opcode, dqpn, add24(psn, n))
            });
            if carries {
                let from = n as usize * pmtu;
                packet.payload = work.data[from..len.min(from + pmtu)].to_vec();
                packet.bth.pad = pad(packet.payload.len());
            }
            match work.op {
                WorkOp::Write { va, rkey } | WorkOp::WriteWithImm { va, rkey, .. } if begins => {
                    let dma_len = len as u32;
                    packet.ext.reth = Some(Reth { va, rkey, dma_len });
                }
                WorkOp::Read { va, rkey, len } => {
                    let dma_len = len;
                    packet.ext.reth = Some(Reth { va, rkey, dma_len });
                }
                WorkOp::CompareSwap {
                    va,
                    rkey,
                    compare,
                    swap,
                } => {
                    packet.ext.atomic = Some(AtomicEth {
                        va,
                        rkey,
                        operand: swap,
                        compare,
                    });
                }
                WorkOp::FetchAdd { va, rkey, add } => {
                    packet.ext.atomic = Some(AtomicEth {
                        va,
                        rkey,
                        operand: add,
                        compare: 0,
                    });
                }
                _ => {}
            }
            if ends {
                match work.op {
                    WorkOp::SendWithImm(imm) | WorkOp::WriteWithImm { imm, .. } => {
                        packet.ext.imm = Some(imm.to_be_bytes());
                    }
                    WorkOp::SendWithInv(key) => packet.ext.ieth = Some(key.to_be_bytes()),
                    _ => {}
                }
            }
            packet
        })
        .collect()
}
