//! Attributes of the moves of a QP.

use crate::device::Capabilities;
use crate::error::{check_range, Error};
use crate::port::PortAddress;
use ferroce_abi::cfg::{mac_bits, AvCfg, CompleterCfg, ResponderCfg, SenderCfg};
use ferroce_abi::limits::{Pmtu, DEFAULT_PKEY, MAX_READS, PSN_BITS, QPN_BITS};
use ferroce_abi::mr::Access;
use ferroce_abi::udp_port;

/// RESET to INIT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InitAttr {
    /// What peers may do with this QP, besides what the region allows.
    pub access: Access,
    /// P_Key; packets with another one are dropped.
    pub pkey: u16,
}

impl Default for InitAttr {
    /// Peers may write; default partition.
    fn default() -> Self {
        Self {
            access: Access::LOCAL_WRITE | Access::REMOTE_WRITE,
            pkey: DEFAULT_PKEY,
        }
    }
}

/// INIT to RTR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtrAttr {
    /// Peer's port, or that of the router towards it with the peer's IP address.
    pub peer: PortAddress,
    /// Peer's QPN.
    pub dest_qpn: u32,
    /// PSN of the peer's first request.
    pub rq_psn: u32,
    /// Path MTU; the same at both ends.
    pub pmtu: Pmtu,
    /// Timer code of RNR NAKs, 0 to 31: how long the peer waits when no receive request is posted.
    pub min_rnr_timer: u8,
    /// READs and atomics of the peer that may be unanswered, 0 to the card's [`Capabilities::max_dest_rd_atomic`]; one more is
    /// refused and ends the connection.
    pub max_dest_rd_atomic: u8,
    /// IPv4 TOS: DSCP and ECN.
    pub tos: u8,
    /// IPv4 time to live.
    pub ttl: u8,
    /// Flow label, 20 bits, that gives the UDP source port; without one the two QPNs do.
    pub flow_label: Option<u32>,
}

impl RtrAttr {
    /// Towards `dest_qpn` at `peer`, whose first PSN is `rq_psn`: path MTU 4096, RNR timer 0.64 ms, 16 READs and atomics, TOS 0, TTL 64.
    pub fn new(peer: PortAddress, dest_qpn: u32, rq_psn: u32) -> Self {
        Self {
            peer,
            dest_qpn,
            rq_psn,
            pmtu: Pmtu::B4096,
            min_rnr_timer: 12,
            max_dest_rd_atomic: MAX_READS,
            tos: 0,
            ttl: 64,
            flow_label: None,
        }
    }

    pub(crate) fn check(&self, caps: &Capabilities) -> Result<(), Error> {
        check_range("dest_qpn", self.dest_qpn.into(), 0, (1 << QPN_BITS) - 1)?;
        check_range("rq_psn", self.rq_psn.into(), 0, (1 << PSN_BITS) - 1)?;
        check_range("min_rnr_timer", self.min_rnr_timer.into(), 0, 31)?;
        check_range(
            "max_dest_rd_atomic",
            self.max_dest_rd_atomic.into(),
            0,
            caps.max_dest_rd_atomic.into(),
        )?;
        check_range(
            "flow_label",
            self.flow_label.unwrap_or(0).into(),
            0,
            (1 << 20) - 1,
        )?;
        let (pmtu, max) = (self.pmtu.bytes(), caps.max_pmtu.bytes());
        check_range(
            "path MTU",
            pmtu.into(),
            Pmtu::B256.bytes().into(),
            max.into(),
        )
    }
}

/// RTR to RTS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtsAttr {
    /// PSN of the first request.
    pub sq_psn: u32,
    /// ACK timeout exponent, 0 to 31: 4.096 us * 2^n; 0 is never.
    pub timeout: u8,
    /// Retries after time-outs and sequence NAKs, 0 to 7.
    pub retry_cnt: u8,
    /// Retries after RNR NAKs, 0 to 7; 7 is for ever.
    pub rnr_retry: u8,
    /// READs and atomics that may be unanswered, 0 to the card's [`Capabilities::max_rd_atomic`]; no more than the peer holds, which would refuse them. More of them
    /// wait in the send queue; with 0 they fail.
    pub max_rd_atomic: u8,
}

impl RtsAttr {
    /// First PSN `sq_psn`, ACK timeout 67 ms, 7 retries, RNR retries for ever, 16 READs and atomics.
    pub fn new(sq_psn: u32) -> Self {
        Self {
            sq_psn,
            timeout: 14,
            retry_cnt: 7,
            rnr_retry: 7,
            max_rd_atomic: MAX_READS,
        }
    }

    pub(crate) fn check(&self, caps: &Capabilities) -> Result<(), Error> {
        check_range("sq_psn", self.sq_psn.into(), 0, (1 << PSN_BITS) - 1)?;
        check_range("timeout", self.timeout.into(), 0, 31)?;
        check_range("retry_cnt", self.retry_cnt.into(), 0, 7)?;
        check_range("rnr_retry", self.rnr_retry.into(), 0, 7)?;
        check_range(
            "max_rd_atomic",
            self.max_rd_atomic.into(),
            0,
            caps.max_rd_atomic.into(),
        )
    }
}

/// What the card knows of a QP: fixed numbers, and the attributes of the moves made so far.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Config {
    pub(crate) qpn: u32,
    pub(crate) pd: u16,
    pub(crate) send_cq: u16,
    pub(crate) recv_cq: u16,
    pub(crate) srq: Option<u16>,
    pub(crate) init: Option<InitAttr>,
    pub(crate) rtr: Option<RtrAttr>,
    pub(crate) rts: Option<RtsAttr>,
}

impl Config {
    /// Log2 of the path MTU. Without one the QP neither sends nor receives.
    fn pmtu(&self) -> u8 {
        self.rtr.map_or(Pmtu::B256, |rtr| rtr.pmtu).log2()
    }

    /// Requester, sending half.
    pub(crate) fn sender(&self, enabled: bool) -> SenderCfg {
        SenderCfg {
            enabled,
            pmtu: self.pmtu(),
            pd: self.pd,
            psn: self.rts.map_or(0, |rts| rts.sq_psn),
            max_reads: self.rts.map_or(0, |rts| rts.max_rd_atomic),
        }
    }

    /// Requester, completing half.
    pub(crate) fn completer(&self, enabled: bool, flush: bool) -> CompleterCfg {
        let rts = self.rts.unwrap_or(RtsAttr::new(0));
        CompleterCfg {
            enabled,
            cq: self.send_cq,
            psn: rts.sq_psn,
            timeout: rts.timeout,
            retry_cnt: rts.retry_cnt,
            rnr_retry: rts.rnr_retry,
            pmtu: self.pmtu(),
            flush,
        }
    }

    /// Responder; `restart` and `restart_rq` are low.
    pub(crate) fn responder(&self, enabled: bool) -> ResponderCfg {
        ResponderCfg {
            enabled,
            restart: false,
            restart_rq: false,
            pmtu: self.pmtu(),
            pd: self.pd,
            access: self.init.map_or(Access::NONE, |init| init.access).bits(),
            cq: self.recv_cq,
            psn: self.rtr.map_or(0, |rtr| rtr.rq_psn),
            min_rnr: self.rtr.map_or(0, |rtr| rtr.min_rnr_timer),
            pkey: self.init.map_or(DEFAULT_PKEY, |init| init.pkey),
            peer_ip: self.rtr.map_or(0, |rtr| rtr.peer.ip.into()),
            shared: self.srq.is_some(),
            srq: self.srq.unwrap_or(0),
            max_reads: self.rtr.map_or(0, |rtr| rtr.max_dest_rd_atomic),
        }
    }

    /// Address vector for the attributes of a move to RTR.
    pub(crate) fn address(&self, rtr: &RtrAttr) -> AvCfg {
        AvCfg {
            dmac: mac_bits(rtr.peer.mac.0),
            dip: rtr.peer.ip.into(),
            sport: match rtr.flow_label {
                Some(label) => udp_port::from_flow_label(label),
                None => udp_port::from_qpns(self.qpn, rtr.dest_qpn),
            },
            dqpn: rtr.dest_qpn,
            pkey: self.init.map_or(DEFAULT_PKEY, |init| init.pkey),
            tos: rtr.tos,
            ttl: rtr.ttl,
        }
    }
}
