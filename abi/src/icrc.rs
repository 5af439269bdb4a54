//! Invariant CRC of RoCEv2 and the Ethernet FCS, in software.
//!
//! The ICRC is CRC-32 (IEEE 802.3) over eight bytes FF, then the packet from the IP header to the pad with
//! everything that may change on the way replaced by ones ([`MASK_IPV4`], [`MASK_IPV6`]). It goes out least
//! significant byte first.

use crc::{Crc, CRC_32_ISO_HDLC};

static CRC32: Crc<u32> = Crc::<u32>::new(&CRC_32_ISO_HDLC);

/// Bytes of the ICRC, and of the FCS.
pub const BYTES: usize = 4;
/// The bytes ahead of the packet, standing for the fields of an InfiniBand local route header.
pub const PREFIX: [u8; 8] = [0xFF; 8];
/// CRC register after [`PREFIX`], reflected, before the final inversion.
pub const AFTER_PREFIX: u32 = 0xDEBB_20E3;

/// Bits that count as ones: byte offset from the IP header, mask.
pub type Mask = [(usize, u8)];

/// IPv4: TOS, TTL, header checksum, UDP checksum, BTH byte 4.
pub const MASK_IPV4: &Mask = &[
    (1, 0xFF),
    (8, 0xFF),
    (10, 0xFF),
    (11, 0xFF),
    (26, 0xFF),
    (27, 0xFF),
    (32, 0xFF),
];

/// IPv6: traffic class, flow label, hop limit, UDP checksum, BTH byte 4.
pub const MASK_IPV6: &Mask = &[
    (0, 0x0F),
    (1, 0xFF),
    (2, 0xFF),
    (3, 0xFF),
    (7, 0xFF),
    (46, 0xFF),
    (47, 0xFF),
    (52, 0xFF),
];

/// The mask for a packet, by the version in its first byte; `None` for other versions.
pub fn mask_of(packet: &[u8]) -> Option<&'static Mask> {
    match packet.first()? >> 4 {
        4 => Some(MASK_IPV4),
        6 => Some(MASK_IPV6),
        _ => None,
    }
}

/// ICRC of a packet: from the IP header to the pad, the ICRC itself not included. The bytes are in wire
/// order. `None` when the packet is neither IPv4 nor IPv6 or ends before the BTH's byte 4.
pub fn icrc(packet: &[u8]) -> Option<[u8; BYTES]> {
    let mask = mask_of(packet)?;
    let (last, _) = *mask.last()?;
    let mut head = packet.get(..=last)?.to_vec();
    for &(at, bits) in mask {
        head[at] |= bits;
    }
    let mut digest = CRC32.digest();
    digest.update(&PREFIX);
    digest.update(&head);
    digest.update(&packet[head.len()..]);
    Some(digest.finalize().to_le_bytes())
}

/// FCS of a frame from the destination MAC to the pad, in wire order.
pub fn fcs(frame: &[u8]) -> [u8; BYTES] {
    CRC32.checksum(frame).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefix_leaves_the_known_register() {
        assert_eq!(CRC32.checksum(&PREFIX), !AFTER_PREFIX);
    }

    #[test]
    fn fcs_of_the_check_string() {
        // The check value of CRC-32 as catalogued.
        assert_eq!(fcs(b"123456789"), 0xCBF4_3926u32.to_le_bytes());
    }

    #[test]
    fn short_and_foreign_packets_have_no_icrc() {
        assert_eq!(icrc(&[]), None);
        assert_eq!(icrc(&[0x45; 32]), None);
        assert_eq!(icrc(&[0x15; 64]), None);
        assert!(icrc(&[0x45; 33]).is_some());
    }
}
