//! What a 100 Gb/s wire can carry at most.

use ferroce_driver::Pmtu;

use crate::load::Op;
use crate::time::{WIRE_BYTE_FS, WIRE_OVERHEAD_BYTES};

/// Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4.
const PACKET: u64 = 62;
/// Smallest Ethernet frame.
const MIN_FRAME: u64 = 64;
const RETH: u64 = 16;
const IMM: u64 = 4;
const AETH: u64 = 4;

/// Bytes of wire time that one message takes in the direction of its payload, preambles and gaps included.
pub fn wire_bytes(op: Op, len: u64, pmtu: Pmtu) -> u64 {
    let pmtu = u64::from(pmtu.bytes());
    let packets = len.div_ceil(pmtu).max(1);
    let (begin, end) = match op {
        Op::Write => (RETH, 0),
        Op::WriteImm => (RETH, IMM),
        Op::Send => (0, 0),
        Op::SendImm => (0, IMM),
        // One that is first and last has one AETH.
        Op::Read if packets == 1 => (AETH, 0),
        Op::Read => (AETH, AETH),
    };
    (0..packets)
        .map(|k| {
            let first = if k == 0 { begin } else { 0 };
            let last = if k + 1 == packets { end } else { 0 };
            let payload = pmtu.min(len - k * pmtu).next_multiple_of(4);
            (PACKET + first + last + payload).max(MIN_FRAME) + WIRE_OVERHEAD_BYTES
        })
        .sum()
}

/// Messages a second that fit.
pub fn message_rate(op: Op, len: u64, pmtu: Pmtu) -> f64 {
    1e15 / (wire_bytes(op, len, pmtu) * WIRE_BYTE_FS) as f64
}

/// Payload in Gb/s that fits.
pub fn goodput_gbps(op: Op, len: u64, pmtu: Pmtu) -> f64 {
    message_rate(op, len, pmtu) * len as f64 * 8e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write_roof(len: u64) -> f64 {
        goodput_gbps(Op::Write, len, Pmtu::B4096)
    }

    /// Worked by hand: e.g. 64 bytes take 14+20+8+12+16+64+4+4 = 142 bytes of frame and 20 around it.
    #[test]
    fn roofs_by_hand() {
        for (len, gbps) in [
            (64, 39.5),
            (256, 72.3),
            (1024, 91.3),
            (4096, 97.7),
            (65536, 98.0),
        ] {
            assert!(
                (write_roof(len) - gbps).abs() < 0.06,
                "{len}: {}",
                write_roof(len)
            );
        }
        assert!((message_rate(Op::Write, 64, Pmtu::B4096) / 1e6 - 77.2).abs() < 0.1);
    }

    #[test]
    fn small_frames_are_padded() {
        assert_eq!(wire_bytes(Op::Send, 0, Pmtu::B256), 84);
        assert_eq!(wire_bytes(Op::Send, 1, Pmtu::B256), 86);
        assert_eq!(
            wire_bytes(Op::WriteImm, 257, Pmtu::B256),
            (62 + 16 + 256 + 20) + (62 + 4 + 4 + 20)
        );
    }
}
