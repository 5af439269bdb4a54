//! Doorbell words: one 64-bit write each. Indices run freely, modulo their width; the ring slot is the
//! index modulo the ring's size.

/// Content of the SQ or RQ doorbell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueDoorbell {
    /// QPN, 24 bits.
    pub qpn: u32,
    /// Producer index: index after the newest WQE.
    pub producer: u16,
}

impl QueueDoorbell {
    /// Lowest bit of the producer index.
    pub const PRODUCER_SHIFT: u32 = 32;

    /// The word to write.
    pub const fn to_bits(self) -> u64 {
        self.qpn as u64 & 0xFF_FFFF | (self.producer as u64) << Self::PRODUCER_SHIFT
    }

    /// The inverse of [`Self::to_bits`].
    pub const fn from_bits(bits: u64) -> Self {
        Self {
            qpn: bits as u32 & 0xFF_FFFF,
            producer: (bits >> Self::PRODUCER_SHIFT) as u16,
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
