//! Whole RoCEv2 frames for tests and tools: built from and taken apart into typed headers, independently
//! of the hardware. A frame here starts with the destination MAC and ends with the ICRC; Ethernet padding
//! and FCS are [`on_wire`].

mod decode;
mod encode;

pub use decode::FrameError;
pub use encode::{on_wire, reseal, BuildError};

use crate::headers::net::{ETHERTYPE_IPV4, ETHERTYPE_IPV6, IPV4_DF, PROTOCOL_UDP, ROCE_PORT};
use crate::headers::{
    Aeth, AtomicAckEth, AtomicEth, Bth, Deth, Ethernet, Ipv4, Ipv6, Mac, Reth, Udp, XrcEth,
};
use crate::opcode::{Kind, Opcode};
use std::net::Ipv4Addr;

/// IPv4 or IPv6 header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ip {
    /// IPv4.
    V4(Ipv4),
    /// IPv6.
    V6(Ipv6),
}

/// Headers between BTH and payload. Which ones are there follows from the opcode; a CNP's 16 reserved bytes
/// are not kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extensions {
    /// DETH.
    pub deth: Option<Deth>,
    /// XRCETH.
    pub xrceth: Option<XrcEth>,
    /// RETH.
    pub reth: Option<Reth>,
    /// AtomicETH.
    pub atomic: Option<AtomicEth>,
    /// AETH.
    pub aeth: Option<Aeth>,
    /// AtomicAckETH.
    pub atomic_ack: Option<AtomicAckEth>,
    /// ImmDt.
    pub imm: Option<[u8; 4]>,
    /// IETH: R_Key to invalidate, as on the wire.
    pub ieth: Option<[u8; 4]>,
}

impl Extensions {
    /// The headers are exactly those that the opcode has.
    pub fn fit(&self, opcode: Opcode) -> bool {
        self.deth.is_some() == opcode.has_deth()
            && self.xrceth.is_some() == opcode.has_xrceth()
            && self.reth.is_some() == opcode.has_reth()
            && self.atomic.is_some() == opcode.has_atomic_eth()
            && self.aeth.is_some() == opcode.has_aeth()
            && self.atomic_ack.is_some() == opcode.has_atomic_ack_eth()
            && self.imm.is_some() == opcode.has_imm()
            && self.ieth.is_some() == opcode.has_ieth()
    }
}

/// Transport part of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// BTH. Its pad count is set when the frame is built.
    pub bth: Bth,
    /// Extension headers.
    pub ext: Extensions,
    /// Payload without pad.
    pub payload: Vec<u8>,
}

impl Packet {
    /// A packet without extension headers and payload.
    pub fn new(bth: Bth) -> Self {
        Self {
            bth,
            ext: Extensions::default(),
            payload: Vec::new(),
        }
    }

    /// The opcode, when it is a known one.
    pub fn opcode(&self) -> Option<Opcode> {
        Opcode::try_from(self.bth.opcode).ok()
    }

    fn is_cnp(&self) -> bool {
        self.opcode().is_some_and(|o| o.kind() == Kind::Cnp)
    }
}

/// A RoCEv2 frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Ethernet header.
    pub eth: Ethernet,
    /// IP header. Lengths and IPv4 checksum are set when the frame is built.
    pub ip: Ip,
    /// UDP header. The length is set when the frame is built.
    pub udp: Udp,
    /// The rest.
    pub packet: Packet,
}

/// One end of an IPv4 connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// MAC address.
    pub mac: Mac,
    /// IPv4 address.
    pub ip: Ipv4Addr,
}

impl Frame {
    /// TTL that [`Self::ipv4`] uses.
    pub const TTL: u8 = 64;

    /// An untagged IPv4 frame with DF set, TOS 0 and identification 0.
    pub fn ipv4(src: Endpoint, dst: Endpoint, sport: u16, packet: Packet) -> Self {
        Self {
            eth: Ethernet {
                dst: dst.mac,
                src: src.mac,
                vlan: None,
                ethertype: ETHERTYPE_IPV4,
            },
            ip: Ip::V4(Ipv4 {
                version_ihl: Ipv4::VERSION_IHL,
                tos: 0,
                total_len: 0,
                id: 0,
                fragment: IPV4_DF,
                ttl: Self::TTL,
                protocol: PROTOCOL_UDP,
                checksum: 0,
                src: src.ip,
                dst: dst.ip,
            }),
            udp: Udp {
                sport,
                dport: ROCE_PORT,
                len: 0,
                checksum: 0,
            },
            packet,
        }
    }

    /// EtherType of an IP version.
    fn ethertype_of(ip: &Ip) -> u16 {
        match ip {
            Ip::V4(_) => ETHERTYPE_IPV4,
            Ip::V6(_) => ETHERTYPE_IPV6,
        }
    }
}
