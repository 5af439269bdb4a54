//! The entries that software writes are, bit for bit, the structs that the hardware reads.

use ferroce_abi::cfg as abi;
use ferroce_emit::prelude::*;
use ferroce_rtl::desc::cfg as hdl;

/// Compares field by field: each gets a value of its own, all bits of which matter.
macro_rules! same_layout {
    ($entry:ident { $($field:ident),* $(,)? }) => {{
        let names = [$(stringify!($field)),*];
        let listed: Vec<&str> = abi::$entry::FIELDS.iter().map(|field| field.name).collect();
        assert_eq!(listed, names, "{}", stringify!($entry));
        let width: usize = abi::$entry::FIELDS.iter().map(|field| field.width).sum();
        assert_eq!(width, <hdl::$entry as Synth>::BITS, "{}", stringify!($entry));
        for pattern in [0x0123_4567_89AB_CDEF_u64, 0xFEDC_BA98_7654_3210, u64::MAX, 0x5555_5555_5555_5555] {
            let mut words = [0; 4];
            for (k, word) in words.iter_mut().enumerate() {
                *word = pattern.rotate_left(7 * k as u32);
            }
            let software = abi::$entry::from_bits(&words);
            let hardware: hdl::$entry = hdl::unpack_words(words);
            $(assert_eq!(
                u64::from(software.$field),
                number(&hardware.$field),
                "{}.{}", stringify!($entry), stringify!($field)
            );)*
        }
    }};
}

/// The bits of a field as a number.
fn number<T: FromBits>(field: &T) -> u64 {
    pack(field)
        .iter()
        .rev()
        .fold(0, |number, &word| number << 32 | u64::from(word))
}

#[test]
fn entries_and_structs_agree() {
    same_layout!(PortCfg { mac, ip });
    same_layout!(AsyncCfg { enabled, eq });
    same_layout!(AvCfg {
        dmac,
        dip,
        sport,
        dqpn,
        pkey,
        tos,
        ttl
    });
    same_layout!(SenderCfg {
        enabled,
        pmtu,
        pd,
        psn,
        max_reads
    });
    same_layout!(CompleterCfg {
        enabled,
        cq,
        psn,
        timeout,
        retry_cnt,
        rnr_retry,
        pmtu,
        flush
    });
    same_layout!(ResponderCfg {
        enabled,
        restart,
        restart_rq,
        pmtu,
        pd,
        access,
        cq,
        psn,
        min_rnr,
        pkey,
        peer_ip,
        shared,
        srq,
        max_reads
    });
    same_layout!(SrqLimitCfg { limit, eq });
    same_layout!(RingCfg {
        enabled,
        base,
        log_size,
        page
    });
    same_layout!(CqCfg {
        enabled,
        base,
        log_size,
        page,
        has_eq,
        eq
    });
    same_layout!(EqCfg {
        enabled,
        base,
        log_size,
        page,
        vector,
        gap
    });
    same_layout!(MrCfg {
        valid,
        tag,
        pd,
        access,
        base,
        len,
        paged,
        indirect,
        page_size,
        table
    });
}

#[test]
fn table_numbers_agree() {
    use abi::Table;
    use hdl::table;
    let pairs = [
        (Table::Port, table::PORT),
        (Table::Av, table::AV),
        (Table::Sender, table::SENDER),
        (Table::Completer, table::COMPLETER),
        (Table::Responder, table::RESPONDER),
        (Table::Sq, table::SQ),
        (Table::Rq, table::RQ),
        (Table::Cq, table::CQ),
        (Table::Mr, table::MR),
        (Table::Eq, table::EQ),
        (Table::Async, table::ASYNC),
        (Table::Ah, table::AH),
        (Table::Srq, table::SRQ),
        (Table::SrqLimit, table::SRQ_LIMIT),
    ];
    assert_eq!(pairs.len(), Table::ALL.len());
    for (software, hardware) in pairs {
        assert_eq!(software as u64, hardware, "{software:?}");
    }
}
