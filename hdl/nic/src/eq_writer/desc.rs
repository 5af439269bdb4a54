//! What the parts of the event path tell each other.

use ferroce_emit::prelude::*;

/// An event on its way to an EQ.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct EventJob {
    /// EQE kind.
    pub kind: Bits<8>,
    /// CQ index.
    pub index: Bits<14>,
    /// EQ.
    pub eq: Bits<7>,
}

/// State of an EQ.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct EqState {
    /// The EQ exists.
    pub enabled: Bit,
    /// It was full and lost events, which no EQE has told yet.
    pub lost: Bit,
    /// An interrupt is wanted for the next EQE.
    pub armed: Bit,
    /// An interrupt waits for the end of the gap.
    pub pending: Bit,
    /// The gap behind the last interrupt may not be over.
    pub waiting: Bit,
    /// Running index of the next EQE.
    pub producer: Bits<24>,
    /// Running index after the last EQE that the host has taken out.
    pub consumer: Bits<24>,
    /// Time of the last interrupt.
    pub last: Bits<16>,
}

/// What an EQ is configured with.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct EqPlan {
    /// Base address of the ring.
    pub base: Bits<64>,
    /// Log2 of its EQEs.
    pub log_size: Bits<4>,
    /// MSI-X vector.
    pub vector: Bits<7>,
    /// Least time between two interrupts.
    pub gap: Bits<12>,
}
