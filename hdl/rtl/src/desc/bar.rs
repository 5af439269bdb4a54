//! The card's register window as the PCIe engine sees it, and what doorbells become behind it.

use ferroce_emit::prelude::*;

/// One access to BAR 0, to the 64-bit word that holds `addr`.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct BarReq {
    /// Byte offset in BAR 0; bits 2:0 are ignored.
    pub addr: Bits<20>,
    /// A write; else a read, which is answered with the whole 64-bit word.
    pub write: Bit,
    /// Word to write, byte `k` in bits `8k+7:8k`.
    pub data: Bits<64>,
    /// Bytes to write: any of them, as the host's byte enables say. Registers take a 32-bit half only if all its four bits are set.
    pub strobe: Bits<8>,
}

/// Answer to a read of BAR 0. Reads are answered in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct BarResp {
    /// The 64-bit word at the read's address.
    pub data: Bits<64>,
}

/// SQ or RQ doorbell of an existing QP.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct QueueBell {
    /// QP index.
    pub qp: Bits<14>,
    /// Producer index: index after the newest block.
    pub producer: Bits<16>,
    /// Blocks of the newest WQE that were pushed along, 0 to 4.
    pub pushed: Bits<3>,
    /// Where they are.
    pub place: Bits<3>,
}

/// How far the host has taken entries out of a CQ or EQ.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct QueueSeen {
    /// In this cycle.
    pub valid: Bit,
    /// CQ or EQ index.
    pub queue: Bits<14>,
    /// Running consumer index: index after the last entry that was taken out.
    pub consumer: Bits<24>,
}

/// CQ arm doorbell of an existing CQ: an event is wanted for the next CQE.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct CqBell {
    /// CQ index.
    pub cq: Bits<14>,
    /// Only for a solicited or failed one.
    pub solicited_only: Bit,
}

/// EQ doorbell of an existing EQ.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct EqBell {
    /// EQ index.
    pub eq: Bits<7>,
    /// An interrupt is wanted for the next EQE.
    pub arm: Bit,
}
