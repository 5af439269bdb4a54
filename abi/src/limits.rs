//! Architectural widths and limits. RAM depths of a generated card are parameters and never exceed
//! them; what a card really has is in its capability registers ([`crate::regs`]).

/// Bits of a QP index. The QPN on the wire is the index, zero-extended to 24 bits.
pub const QP_BITS: usize = 14;
/// Bits of a CQ index.
pub const CQ_BITS: usize = 14;
/// Bits of an EQ index; also of an MSI-X vector's number.
pub const EQ_BITS: usize = 7;
/// Bits of an AH index.
pub const AH_BITS: usize = 14;
/// Bits of an SRQ number.
pub const SRQ_BITS: usize = 10;
/// Bits of an MR index.
pub const MR_BITS: usize = 16;
/// Bits of a protection domain number.
pub const PD_BITS: usize = 16;
/// Bits of a running SQ or RQ index (producer, consumer, WQE index in a CQE).
pub const WQE_INDEX_BITS: usize = 16;
/// Bits of a running CQ or EQ consumer index.
pub const CQE_INDEX_BITS: usize = 24;
/// Bytes of an RQ WQE, and of a block of an SQ WQE.
pub const WQE_BYTES: usize = 64;
/// Most blocks of an SQ WQE.
pub const WQE_BLOCKS: usize = 4;
/// Most bytes of payload in an SQ WQE: all of its blocks but the first 32 bytes.
pub const MAX_INLINE: usize = WQE_BLOCKS * WQE_BYTES - 32;
/// Bytes of a CQE.
pub const CQE_BYTES: usize = 32;
/// Bytes of an EQE.
pub const EQE_BYTES: usize = 16;
/// Scatter/gather entries that the WQE format holds.
pub const WQE_SGES: usize = 2;
/// Smallest log2 of a ring's number of entries.
pub const RING_LOG_MIN: u32 = 1;
/// Largest log2 of a ring's number of entries: a running 16-bit index must tell full from empty.
pub const RING_LOG_MAX: u32 = 15;
/// Alignment of a ring's base address in bytes.
pub const RING_ALIGN: u64 = 4096;
/// Largest message in bytes (C9-94).
pub const MAX_MESSAGE: u32 = 1 << 31;
/// PSNs that may be unacknowledged at most: half of the PSN space.
pub const MAX_UNACKED_PSNS: u32 = 1 << 23;
/// Bits of a QPN on the wire.
pub const QPN_BITS: usize = 24;
/// Bits of a packet sequence number.
pub const PSN_BITS: usize = 24;
/// Bits of a message sequence number.
pub const MSN_BITS: usize = 24;
/// READs and atomics that a QP's responder holds at most.
pub const MAX_READS: u8 = 16;
/// First QPN for general use: 0 (SMI) and 1 (GSI) are reserved by the IBTA specification.
pub const FIRST_QPN: u32 = 2;
/// P_Key of the default partition, full member.
pub const DEFAULT_PKEY: u16 = 0xFFFF;

/// Path MTU: the largest payload of one packet, pad and headers not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Pmtu {
    /// 256 bytes.
    B256 = 1,
    /// 512 bytes.
    B512 = 2,
    /// 1024 bytes.
    B1024 = 3,
    /// 2048 bytes.
    B2048 = 4,
    /// 4096 bytes.
    B4096 = 5,
}

impl Pmtu {
    /// All values, smallest first.
    pub const ALL: [Self; 5] = [
        Self::B256,
        Self::B512,
        Self::B1024,
        Self::B2048,
        Self::B4096,
    ];

    /// Payload bytes.
    pub const fn bytes(self) -> u32 {
        1 << self.log2()
    }

    /// Log2 of the payload bytes, 8 to 12: how the card's tables hold it.
    pub const fn log2(self) -> u8 {
        self as u8 + 7
    }

    /// The inverse of [`Self::log2`].
    pub const fn from_log2(log2: u8) -> Option<Self> {
        match log2 {
            8 => Some(Self::B256),
            9 => Some(Self::B512),
            10 => Some(Self::B1024),
            11 => Some(Self::B2048),
            12 => Some(Self::B4096),
            _ => None,
        }
    }

    /// Packets that a message of `len` bytes takes: `max(1, ceil(len / PMTU))`.
    pub const fn packets(self, len: u32) -> u32 {
        if len == 0 {
            1
        } else {
            len.div_ceil(self.bytes())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pmtu_forms_agree() {
        for (pmtu, bytes) in Pmtu::ALL.into_iter().zip([256, 512, 1024, 2048, 4096]) {
            assert_eq!(pmtu.bytes(), bytes);
            assert_eq!(Pmtu::from_log2(pmtu.log2()), Some(pmtu));
        }
        assert_eq!(Pmtu::from_log2(7), None);
        assert_eq!(Pmtu::from_log2(13), None);
    }

    #[test]
    fn longest_message_fills_the_psn_window() {
        assert_eq!(Pmtu::B256.packets(MAX_MESSAGE), MAX_UNACKED_PSNS);
        assert_eq!(Pmtu::B1024.packets(0), 1);
        assert_eq!(Pmtu::B1024.packets(1024), 1);
        assert_eq!(Pmtu::B1024.packets(1025), 2);
    }
}
