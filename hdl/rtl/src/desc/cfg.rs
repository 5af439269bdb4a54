//! The configuration bus: the command engine's only way into the pipelines' tables. One write at a
//! time, broadcast; every table owner picks its `table` number. There is no back-pressure: writes
//! are at least [`CFG_SPACING`] cycles apart, and an owner that must thread a write through its pipeline
//! holds it in a register until the next free slot, which is sooner than that.

use ferroce_emit::prelude::*;

/// Least distance of two configuration writes in core cycles.
pub const CFG_SPACING: usize = 64;

/// One configuration write.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct CfgWrite {
    /// A write in this cycle.
    pub valid: Bit,
    /// Which table, numbers in [`table`].
    pub table: Bits<4>,
    /// QP, CQ or MR index.
    pub index: Bits<16>,
    /// The entry, layouts below: first field in the lowest bits.
    pub data: Bits<256>,
}

impl CfgWrite {
    /// The write of an entry as software gives it: bits 63:0 in the first word.
    #[must_use]
    pub fn of_entry(table: u64, index: usize, entry: [u64; 4]) -> Self {
        Self {
            valid: true,
            table: table.into(),
            index: (index as u64).into(),
            data: unpack_words(entry),
        }
    }
}

/// An entry's fields from the words of software.
#[must_use]
pub fn unpack_words<T: FromBits>(entry: [u64; 4]) -> T {
    unpack(
        &entry
            .map(|word| [word as u32, (word >> 32) as u32])
            .concat(),
    )
}

/// Table numbers.
pub mod table {
    /// [`super::PortCfg`].
    pub const PORT: u64 = 0;
    /// [`super::AvCfg`], by QP.
    pub const AV: u64 = 1;
    /// [`super::SenderCfg`], by QP; also restarts the sender's state of that QP.
    pub const SENDER: u64 = 2;
    /// [`super::CompleterCfg`], by QP; also restarts the completer's state.
    pub const COMPLETER: u64 = 3;
    /// [`super::ResponderCfg`], by QP; `restart` also restarts the responder's state.
    pub const RESPONDER: u64 = 4;
    /// [`super::RingCfg`] of the SQ, by QP; empties the WQE cache of that QP.
    pub const SQ: u64 = 5;
    /// [`super::RingCfg`] of the RQ, by QP; empties the WQE cache of that QP.
    pub const RQ: u64 = 6;
    /// [`super::CqCfg`], by CQ; producer index and consumer index become 0.
    pub const CQ: u64 = 7;
    /// [`super::MrCfg`], by MR.
    pub const MR: u64 = 8;
    /// [`super::EqCfg`], by EQ; producer index and consumer index become 0.
    pub const EQ: u64 = 9;
    /// [`super::AsyncCfg`].
    pub const ASYNC: u64 = 10;
    /// `ferroce_abi::cfg::AhCfg`, by AH.
    pub const AH: u64 = 12;
    /// [`super::RingCfg`] by SRQ; empties the WQE cache of that SRQ.
    pub const SRQ: u64 = 11;
    /// [`super::SrqLimitCfg`] by SRQ.
    pub const SRQ_LIMIT: u64 = 13;
}

/// The port's own addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct PortCfg {
    /// MAC address, first wire byte in bits 47:40.
    pub mac: Bits<48>,
    /// IPv4 address, first wire byte in bits 31:24.
    pub ip: Bits<32>,
}

/// Address vector of a connected QP.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct AvCfg {
    /// Destination MAC, first wire byte in bits 47:40.
    pub dmac: Bits<48>,
    /// Destination IPv4 address, first wire byte in bits 31:24.
    pub dip: Bits<32>,
    /// UDP source port.
    pub sport: Bits<16>,
    /// Destination QPN.
    pub dqpn: Bits<24>,
    /// P_Key.
    pub pkey: Bits<16>,
    /// IPv4 TOS byte (DSCP and ECN).
    pub tos: Bits<8>,
    /// IPv4 TTL.
    pub ttl: Bits<8>,
}

/// Requester, sending half.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct SenderCfg {
    /// The QP may send (RTS).
    pub enabled: Bit,
    /// Path MTU: log2 of bytes, 8 to 12.
    pub pmtu: Bits<4>,
    /// Protection domain.
    pub pd: Bits<16>,
    /// First PSN.
    pub psn: Bits<24>,
    /// READs and atomics that may be unanswered, 0 to 16; with 0 they fail.
    pub max_reads: Bits<5>,
}

/// Requester, completing half.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct CompleterCfg {
    /// Responses are taken (RTS).
    pub enabled: Bit,
    /// Send CQ.
    pub cq: Bits<14>,
    /// First PSN.
    pub psn: Bits<24>,
    /// ACK timeout exponent: 4.096 us * 2^n, 0 is never.
    pub timeout: Bits<5>,
    /// Retries after time-outs and NAKs.
    pub retry_cnt: Bits<3>,
    /// Retries after RNR NAKs, 7 is infinite.
    pub rnr_retry: Bits<3>,
    /// Log2 of path MTU in bytes.
    pub pmtu: Bits<4>,
    /// The QP was moved to ERR: flush every WQE.
    pub flush: Bit,
}

/// Responder.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct ResponderCfg {
    /// Requests are taken (RTR, RTS, SQD).
    pub enabled: Bit,
    /// Take `psn` and reset MSN, message progress and the error mark.
    pub restart: Bit,
    /// Restart also the RQ consumer index (RESET to INIT).
    pub restart_rq: Bit,
    /// Path MTU: log2 of bytes.
    pub pmtu: Bits<4>,
    /// Protection domain.
    pub pd: Bits<16>,
    /// Remote rights of the QP, bits of `ferroce_abi::mr::Access`.
    pub access: Bits<8>,
    /// Receive CQ.
    pub cq: Bits<14>,
    /// Expected PSN to begin with.
    pub psn: Bits<24>,
    /// RNR timer code that RNR NAKs carry.
    pub min_rnr: Bits<5>,
    /// P_Key.
    pub pkey: Bits<16>,
    /// Peer's IPv4 address, first wire byte in bits 31:24.
    pub peer_ip: Bits<32>,
    /// Receive WQEs come from an SRQ.
    pub shared: Bit,
    /// That SRQ.
    pub srq: Bits<10>,
    /// READs and atomics that may be unanswered, 0 to 16.
    pub max_reads: Bits<5>,
}

/// The limit of an SRQ.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct SrqLimitCfg {
    /// WQEs; 0 asks for no event.
    pub limit: Bits<16>,
    /// EQ that takes the event.
    pub eq: Bits<7>,
}

/// A ring in host memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct RingCfg {
    /// The ring exists.
    pub enabled: Bit,
    /// Base address, a multiple of 4096.
    pub base: Bits<64>,
    /// Log2 of the number of entries (WQE blocks of 64 bytes, CQEs of 32 bytes), 1 to 15.
    pub log_size: Bits<4>,
    /// Doorbell page that may ring for it.
    pub page: Bits<7>,
}

/// A completion queue; it begins as [`RingCfg`] does.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct CqCfg {
    /// The ring exists.
    pub enabled: Bit,
    /// Base address, a multiple of 4096.
    pub base: Bits<64>,
    /// Log2 of the number of CQEs, 1 to 15.
    pub log_size: Bits<4>,
    /// Doorbell page that may ring for it.
    pub page: Bits<7>,
    /// The CQ has an EQ.
    pub has_eq: Bit,
    /// That EQ.
    pub eq: Bits<7>,
}

/// An event queue; it begins as [`RingCfg`] does.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct EqCfg {
    /// The ring exists.
    pub enabled: Bit,
    /// Base address, a multiple of 4096.
    pub base: Bits<64>,
    /// Log2 of the number of EQEs, 1 to 15.
    pub log_size: Bits<4>,
    /// Doorbell page that may ring for it.
    pub page: Bits<7>,
    /// MSI-X vector.
    pub vector: Bits<7>,
    /// Least time between two interrupts in units of 256 core cycles; 0 is none.
    pub gap: Bits<12>,
}

/// Where events of QPs go.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct AsyncCfg {
    /// There is an EQ for them; else they are dropped.
    pub enabled: Bit,
    /// That EQ.
    pub eq: Bits<7>,
}

/// A memory region.
#[derive(Clone, Copy, Debug, Default, PartialEq, LogicStruct, FromBits)]
pub struct MrCfg {
    /// The region exists.
    pub valid: Bit,
    /// Key tag, bits 7:0 of its keys.
    pub tag: Bits<8>,
    /// Protection domain.
    pub pd: Bits<16>,
    /// Rights, bits of `ferroce_abi::mr::Access`.
    pub access: Bits<8>,
    /// First byte.
    pub base: Bits<64>,
    /// Bytes.
    pub len: Bits<64>,
    /// Its addresses go through a page table.
    pub paged: Bit,
    /// The table has two levels.
    pub indirect: Bit,
    /// Page size: 0 is 4 KiB, 1 is 64 KiB, 2 is 2 MiB.
    pub page_size: Bits<2>,
    /// Where the entry of virtual address 0 would be.
    pub table: Bits<64>,
}
