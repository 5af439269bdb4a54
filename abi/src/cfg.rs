//! Entries of the card's configuration tables, 256 bits each, as four little-endian 64-bit words. The first
//! field is in the lowest bits. They travel in the mailbox ([`crate::mailbox`]), and the card's command engine
//! writes them into its tables unchanged.

mod field;
#[macro_use]
mod layout;
mod ah;
mod info;

use serde::Serialize;

pub use ah::{AhCfg, IPV4_GID};
pub use field::{field_offset, BitField, FieldOverflow};
pub use info::{QpInfo, QueueInfo, SrqInfo};

/// 64-bit words of an entry.
pub const ENTRY_WORDS: usize = 4;
/// Bytes of an entry in the mailbox.
pub const ENTRY_BYTES: usize = ENTRY_WORDS * 8;

/// The card's tables; the numbers go over its configuration bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[repr(u8)]
pub enum Table {
    /// [`PortCfg`].
    Port = 0,
    /// [`AvCfg`], by QP.
    Av = 1,
    /// [`SenderCfg`], by QP; also restarts the sender's state of that QP.
    Sender = 2,
    /// [`CompleterCfg`], by QP; also restarts the completer's state, unless `flush` is set: then what is not
    /// retired is flushed.
    Completer = 3,
    /// [`ResponderCfg`], by QP; `restart` also restarts the responder's state.
    Responder = 4,
    /// [`RingCfg`] of the SQ, by QP; empties the WQE cache of that QP.
    Sq = 5,
    /// [`RingCfg`] of the RQ, by QP; empties the WQE cache of that QP.
    Rq = 6,
    /// [`CqCfg`], by CQ; producer index and consumer index become 0, and the CQ is not armed.
    Cq = 7,
    /// [`MrCfg`], by MR.
    Mr = 8,
    /// [`EqCfg`], by EQ; producer index and consumer index become 0, and the EQ is not armed.
    Eq = 9,
    /// [`AsyncCfg`].
    Async = 10,
    /// [`RingCfg`] by SRQ; empties the WQE cache of that SRQ, and the next WQE taken is the one at index 0.
    Srq = 11,
    /// [`AhCfg`], by AH.
    Ah = 12,
    /// [`SrqLimitCfg`] by SRQ.
    SrqLimit = 13,
}

entry! {
    /// The port's own addresses.
    PortCfg {
        /// MAC address, first wire byte in bits 47:40.
        mac: u64 = 48,
        /// IPv4 address, first wire byte in bits 31:24.
        ip: u32 = 32,
    }
}

entry! {
    /// Address vector of a connected QP.
    AvCfg {
        /// Destination MAC, first wire byte in bits 47:40.
        dmac: u64 = 48,
        /// Destination IPv4 address, first wire byte in bits 31:24.
        dip: u32 = 32,
        /// UDP source port.
        sport: u16 = 16,
        /// Destination QPN.
        dqpn: u32 = 24,
        /// P_Key.
        pkey: u16 = 16,
        /// IPv4 TOS byte (DSCP and ECN).
        tos: u8 = 8,
        /// IPv4 TTL.
        ttl: u8 = 8,
    }
}

entry! {
    /// Requester, sending half.
    SenderCfg {
        /// The QP may send (RTS).
        enabled: bool = 1,
        /// Path MTU: log2 of bytes, 8 to 12.
        pmtu: u8 = 4,
        /// Protection domain.
        pd: u16 = 16,
        /// First PSN.
        psn: u32 = 24,
        /// READs and atomics that may be unanswered, 0 to [`crate::limits::MAX_READS`]; with 0 they fail.
        max_reads: u8 = 5,
    }
}

entry! {
    /// Requester, completing half.
    CompleterCfg {
        /// Responses are taken (RTS).
        enabled: bool = 1,
        /// Send CQ.
        cq: u16 = 14,
        /// First PSN.
        psn: u32 = 24,
        /// ACK timeout exponent: 4.096 us * 2^n, 0 is never.
        timeout: u8 = 5,
        /// Retries after time-outs and NAKs.
        retry_cnt: u8 = 3,
        /// Retries after RNR NAKs, 7 is infinite.
        rnr_retry: u8 = 3,
        /// Log2 of path MTU in bytes.
        pmtu: u8 = 4,
        /// The QP was moved to ERR: flush every WQE.
        flush: bool = 1,
    }
}

entry! {
    /// Responder.
    ResponderCfg {
        /// Requests are taken (RTR, RTS, SQD).
        enabled: bool = 1,
        /// Take `psn` and reset MSN, message progress and the error mark.
        restart: bool = 1,
        /// Restart also the RQ consumer index (RESET to INIT).
        restart_rq: bool = 1,
        /// Path MTU: log2 of bytes.
        pmtu: u8 = 4,
        /// Protection domain.
        pd: u16 = 16,
        /// Remote rights of the QP, bits of [`crate::mr::Access`].
        access: u8 = 8,
        /// Receive CQ.
        cq: u16 = 14,
        /// Expected PSN to begin with.
        psn: u32 = 24,
        /// RNR timer code that RNR NAKs carry.
        min_rnr: u8 = 5,
        /// P_Key.
        pkey: u16 = 16,
        /// Peer's IPv4 address, first wire byte in bits 31:24.
        peer_ip: u32 = 32,
        /// Receive WQEs come from an SRQ; the QP's own RQ is not used.
        shared: bool = 1,
        /// That SRQ.
        srq: u16 = 10,
        /// READs and atomics of the peer that may be unanswered, 0 to [`crate::limits::MAX_READS`].
        max_reads: u8 = 5,
    }
}

entry! {
    /// The ring of an SQ or RQ in host memory.
    RingCfg {
        /// The ring exists.
        enabled: bool = 1,
        /// Base address, a multiple of 4096.
        base: u64 = 64,
        /// Log2 of the number of entries (WQEs of 64 bytes), 1 to 15.
        log_size: u8 = 4,
        /// Doorbell page that may ring for it, below [`crate::regs::DOORBELL_PAGES`]. A QP's page is that of its SQ.
        page: u8 = 7,
    }
}

entry! {
    /// A completion queue. It begins as [`RingCfg`] does.
    CqCfg {
        /// The ring exists.
        enabled: bool = 1,
        /// Base address, a multiple of 4096.
        base: u64 = 64,
        /// Log2 of the number of CQEs, 1 to 15.
        log_size: u8 = 4,
        /// Doorbell page that may ring for it, below [`crate::regs::DOORBELL_PAGES`].
        page: u8 = 7,
        /// The CQ has an EQ.
        has_eq: bool = 1,
        /// That EQ.
        eq: u8 = 7,
    }
}

entry! {
    /// An event queue. It begins as [`RingCfg`] does.
    EqCfg {
        /// The ring exists.
        enabled: bool = 1,
        /// Base address, a multiple of 4096.
        base: u64 = 64,
        /// Log2 of the number of EQEs, 1 to 15.
        log_size: u8 = 4,
        /// Doorbell page that may ring for it, below [`crate::regs::DOORBELL_PAGES`].
        page: u8 = 7,
        /// MSI-X vector.
        vector: u8 = 7,
        /// Least time between two interrupts in units of 256 core cycles (1.024 us); 0 is none.
        gap: u16 = 12,
    }
}

entry! {
    /// Where events of QPs go.
    AsyncCfg {
        /// There is an EQ for them; else they are dropped.
        enabled: bool = 1,
        /// That EQ.
        eq: u8 = 7,
    }
}

entry! {
    /// The limit of an SRQ: one event when fewer WQEs than `limit` are left to be taken, at once if that is so already.
    SrqLimitCfg {
        /// WQEs; 0 asks for no event.
        limit: u16 = 16,
        /// EQ that takes the event.
        eq: u8 = 7,
    }
}

entry! {
    /// A memory region.
    MrCfg {
        /// The region exists.
        valid: bool = 1,
        /// Key tag, bits 7:0 of its keys.
        tag: u8 = 8,
        /// Protection domain.
        pd: u16 = 16,
        /// Rights, bits of [`crate::mr::Access`].
        access: u8 = 8,
        /// First byte.
        base: u64 = 64,
        /// Bytes.
        len: u64 = 64,
        /// Addresses in it are virtual: a page table ([`crate::page_table`]) says where the pages are.
        paged: bool = 1,
        /// With `paged`: the page table has two levels.
        indirect: bool = 1,
        /// With `paged`: [`crate::page_table::PageSize`].
        page_size: u8 = 2,
        /// With `paged`: [`crate::page_table::table_origin`].
        table: u64 = 64,
    }
}

/// First wire byte of a MAC address in the highest bits, as table entries hold it.
pub fn mac_bits(mac: [u8; 6]) -> u64 {
    mac.iter()
        .fold(0, |bits, &byte| bits << 8 | u64::from(byte))
}

impl Table {
    /// All tables, ascending.
    pub const ALL: [Self; 14] = [
        Self::Port,
        Self::Av,
        Self::Sender,
        Self::Completer,
        Self::Responder,
        Self::Sq,
        Self::Rq,
        Self::Cq,
        Self::Mr,
        Self::Eq,
        Self::Async,
        Self::Srq,
        Self::Ah,
        Self::SrqLimit,
    ];

    /// Layout of the table's entries.
    pub const fn fields(self) -> &'static [BitField] {
        match self {
            Self::Port => PortCfg::FIELDS,
            Self::Av => AvCfg::FIELDS,
            Self::Sender => SenderCfg::FIELDS,
            Self::Completer => CompleterCfg::FIELDS,
            Self::Responder => ResponderCfg::FIELDS,
            Self::Sq | Self::Rq | Self::Srq => RingCfg::FIELDS,
            Self::Cq => CqCfg::FIELDS,
            Self::Mr => MrCfg::FIELDS,
            Self::Eq => EqCfg::FIELDS,
            Self::Async => AsyncCfg::FIELDS,
            Self::Ah => AhCfg::FIELDS,
            Self::SrqLimit => SrqLimitCfg::FIELDS,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_fit_and_fields_are_adjacent() {
        for table in Table::ALL {
            let mut next = 0;
            for field in table.fields() {
                assert_eq!(field.offset, next, "{table:?}.{}", field.name);
                next += field.width;
            }
            assert!(next <= 64 * ENTRY_WORDS);
        }
    }

    #[test]
    fn fields_are_found_by_name() {
        assert_eq!(field_offset(RingCfg::FIELDS, "enabled"), 0);
        assert_eq!(field_offset(RingCfg::FIELDS, "log_size"), 65);
        assert_eq!(field_offset(ResponderCfg::FIELDS, "restart"), 1);
        assert_eq!(field_offset(ResponderCfg::FIELDS, "restart_rq"), 2);
    }

    #[test]
    fn all_queues_begin_as_rings() {
        for table in [Table::Cq, Table::Eq, Table::Srq] {
            assert!(table.fields().starts_with(RingCfg::FIELDS), "{table:?}");
        }
    }

    #[test]
    fn ring_base_straddles_a_word() {
        let ring = RingCfg {
            enabled: true,
            base: 0x8000_0000_0000_1000,
            log_size: 9,
            page: 0x55,
        };
        assert_eq!(ring.to_bits(), Ok([0x2001, 1 | 9 << 1 | 0x55 << 5, 0, 0]));
    }

    #[test]
    fn wide_values_are_refused() {
        let av = AvCfg {
            dqpn: 1 << 24,
            ..AvCfg::default()
        };
        assert_eq!(
            av.to_bits(),
            Err(FieldOverflow {
                entry: "AvCfg",
                field: "dqpn",
                width: 24,
                value: 1 << 24
            })
        );
    }

    #[test]
    fn mac_addresses_start_in_the_high_byte() {
        assert_eq!(mac_bits([2, 0, 0, 0, 0, 0x0B]), 0x0200_0000_000B);
    }
}
