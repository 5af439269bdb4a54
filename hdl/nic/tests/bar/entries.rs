//! Entries that commands take.

use ferroce_abi::cfg::{
    AhCfg, AsyncCfg, AvCfg, CompleterCfg, CqCfg, EqCfg, MrCfg, PortCfg, ResponderCfg, RingCfg,
    SenderCfg, SrqLimitCfg, Table,
};
use ferroce_abi::mailbox::{Command, QpState};
use std::net::Ipv4Addr;

pub type Entry = [u64; 4];

pub fn good_cq(eq: Option<u8>) -> Entry {
    let entry = CqCfg {
        enabled: true,
        base: 0x1234_5000,
        log_size: 5,
        page: 3,
        has_eq: eq.is_some(),
        eq: eq.unwrap_or(0),
    };
    entry.to_bits().expect("fits")
}

pub fn good_eq() -> Entry {
    let entry = EqCfg {
        enabled: true,
        base: 0x4321_0000,
        log_size: 4,
        page: 2,
        vector: 1,
        gap: 9,
    };
    entry.to_bits().expect("fits")
}

/// Queues that a command's entries name.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    pub cq: u32,
    pub eq: u32,
    pub srq: u32,
    /// The QP takes its receive WQEs from the SRQ; the SRQ's limit is not 0.
    pub shared: bool,
}

impl Names {
    /// This CQ, EQ 0, and no SRQ.
    pub fn of(cq: u32) -> Self {
        Self {
            cq,
            eq: 0,
            srq: 0,
            shared: false,
        }
    }
}

/// Entries of a command that uses these queues.
pub fn good_entries(command: Command, names: Names) -> Vec<Entry> {
    let (cq, eq) = (names.cq, names.eq as u8);
    let makes = command.makes() == Some(true);
    let entry = |&table: &Table| {
        let ring = RingCfg {
            enabled: makes || command.to() == Some(QpState::Init),
            base: 0xF000,
            log_size: 15,
            page: 0x7F,
        };
        let entry = match table {
            Table::Port => PortCfg { mac: 5, ip: 6 }.to_bits(),
            Table::Async => AsyncCfg { enabled: true, eq }.to_bits(),
            Table::Ah => AhCfg {
                valid: command != Command::DestroyAh,
                pd: 0x1234,
                dmac: 0xFEDC_BA98_7654,
                hop_limit: 200,
                sport: 0xC0DE,
                ..AhCfg::default()
            }
            .with_dgid(Ipv4Addr::new(10, 9, eq, 7).to_ipv6_mapped())
            .to_bits(),
            Table::Av => AvCfg {
                dqpn: 0xAB_CDEF,
                ..AvCfg::default()
            }
            .to_bits(),
            Table::Sender => SenderCfg {
                enabled: command.to() == Some(QpState::Rts),
                pmtu: 12,
                ..SenderCfg::default()
            }
            .to_bits(),
            Table::Completer => CompleterCfg {
                enabled: command.to() == Some(QpState::Rts),
                flush: command.to() == Some(QpState::Err),
                cq: cq as u16,
                pmtu: 8,
                ..CompleterCfg::default()
            }
            .to_bits(),
            Table::Responder => ResponderCfg {
                enabled: command.to() == Some(QpState::Rtr),
                cq: cq as u16,
                pmtu: 10,
                shared: names.shared,
                srq: names.srq as u16,
                ..ResponderCfg::default()
            }
            .to_bits(),
            Table::Sq | Table::Rq | Table::Srq => ring.to_bits(),
            Table::SrqLimit => SrqLimitCfg {
                limit: u16::from(command == Command::ModifySrq && names.shared) << 15,
                eq,
            }
            .to_bits(),
            Table::Cq if makes => return good_cq(Some(eq)),
            Table::Eq if makes => return good_eq(),
            Table::Mr => MrCfg {
                valid: makes,
                len: 77,
                ..MrCfg::default()
            }
            .to_bits(),
            Table::Cq | Table::Eq => Ok([0; 4]),
        };
        entry.expect("fits")
    };
    command.tables().iter().map(entry).collect()
}
