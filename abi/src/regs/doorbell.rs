//! Doorbell words: one 64-bit write each. Indices run freely, modulo their width; the ring slot is the
//! index modulo the ring's size.

/// Content of the SQ, RQ or SRQ doorbell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueDoorbell {
    /// QPN, or number of the SRQ; 24 bits.
    pub qpn: u32,
    /// Producer index: index after the newest block.
    pub producer: u16,
    /// Blocks, 0 to 4, that were stored into the page's push window before ([`super::PUSH`]): those of the newest WQE. SQ only.
    pub pushed: u8,
}

impl QueueDoorbell {
    /// Lowest bit of the producer index.
    pub const PRODUCER_SHIFT: u32 = 32;
    /// Lowest bit of the number of pushed blocks, which has three.
    pub const PUSHED_SHIFT: u32 = 24;
    const PUSHED_MASK: u64 = 7;

    /// The word to write.
    pub const fn to_bits(self) -> u64 {
        self.qpn as u64 & 0xFF_FFFF
            | (self.pushed as u64 & Self::PUSHED_MASK) << Self::PUSHED_SHIFT
            | (self.producer as u64) << Self::PRODUCER_SHIFT
    }

    /// The inverse of [`Self::to_bits`].
    pub const fn from_bits(bits: u64) -> Self {
        Self {
            qpn: bits as u32 & 0xFF_FFFF,
            producer: (bits >> Self::PRODUCER_SHIFT) as u16,
            pushed: (bits >> Self::PUSHED_SHIFT & Self::PUSHED_MASK) as u8,
        }
    }
}

/// Content of the CQ doorbell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CqDoorbell {
    /// CQ index, 24 bits.
    pub cqn: u32,
    /// Running consumer index, 24 bits: index after the last CQE that was taken out.
    pub consumer: u32,
}

impl CqDoorbell {
    /// Lowest bit of the consumer index.
    pub const CONSUMER_SHIFT: u32 = 32;

    /// The word to write.
    pub const fn to_bits(self) -> u64 {
        self.cqn as u64 & 0xFF_FFFF | (self.consumer as u64 & 0xFF_FFFF) << Self::CONSUMER_SHIFT
    }

    /// The inverse of [`Self::to_bits`].
    pub const fn from_bits(bits: u64) -> Self {
        Self {
            cqn: bits as u32 & 0xFF_FFFF,
            consumer: (bits >> Self::CONSUMER_SHIFT) as u32 & 0xFF_FFFF,
        }
    }
}

/// Content of the CQ arm doorbell: asks for one event, for the next CQE. It also tells the consumer index, as [`CqDoorbell`] does.
///
/// The event comes at once when there is a CQE at or behind `consumer` already. An armed CQ that is armed again stays armed for what either
/// asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CqArm {
    /// CQ index, 24 bits.
    pub cqn: u32,
    /// Only for a CQE that is solicited or failed.
    pub solicited_only: bool,
    /// Running consumer index, 24 bits: index after the last CQE that the host has seen.
    pub consumer: u32,
}

/// Content of the EQ doorbell.
///
/// With `arm` it asks for one interrupt, for the next EQE; it comes at once when there is an EQE at or behind `consumer`
/// already. Without, an armed EQ stays armed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EqDoorbell {
    /// EQ index, 24 bits.
    pub eqn: u32,
    /// Interrupt for the next EQE.
    pub arm: bool,
    /// Running consumer index, 24 bits: index after the last EQE that was taken out.
    pub consumer: u32,
}

/// A doorbell with an index, a flag in bit 24, and a consumer index.
const fn flagged(index: u32, flag: bool, consumer: u32) -> u64 {
    index as u64 & 0xFF_FFFF | (flag as u64) << FLAG | (consumer as u64 & 0xFF_FFFF) << 32
}

/// The inverse of [`flagged`].
const fn unflagged(bits: u64) -> (u32, bool, u32) {
    (
        bits as u32 & 0xFF_FFFF,
        bits >> FLAG & 1 == 1,
        (bits >> 32) as u32 & 0xFF_FFFF,
    )
}

/// Bit of [`CqArm::solicited_only`] and [`EqDoorbell::arm`].
pub const FLAG: u32 = 24;

impl CqArm {
    /// The word to write.
    pub const fn to_bits(self) -> u64 {
        flagged(self.cqn, self.solicited_only, self.consumer)
    }

    /// The inverse of [`Self::to_bits`].
    pub const fn from_bits(bits: u64) -> Self {
        let (cqn, solicited_only, consumer) = unflagged(bits);
        Self {
            cqn,
            solicited_only,
            consumer,
        }
    }
}

impl EqDoorbell {
    /// The word to write.
    pub const fn to_bits(self) -> u64 {
        flagged(self.eqn, self.arm, self.consumer)
    }

    /// The inverse of [`Self::to_bits`].
    pub const fn from_bits(bits: u64) -> Self {
        let (eqn, arm, consumer) = unflagged(bits);
        Self { eqn, arm, consumer }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_and_indices_have_their_places() {
        let arm = CqArm {
            cqn: 0x12_3456,
            solicited_only: true,
            consumer: 0xAB_CDEF,
        };
        assert_eq!(arm.to_bits(), 0x00AB_CDEF_0112_3456);
        assert_eq!(CqArm::from_bits(arm.to_bits()), arm);
        let bell = EqDoorbell {
            eqn: 5,
            arm: false,
            consumer: 0xFF_FFFF,
        };
        assert_eq!(bell.to_bits(), 0x00FF_FFFF_0000_0005);
        assert_eq!(EqDoorbell::from_bits(bell.to_bits()), bell);
    }
}
