//! Taking frames apart.

use super::{Extensions, Frame, Ip, Packet};
use crate::headers::net::{
    internet_checksum, ETHERTYPE_IPV4, ETHERTYPE_IPV6, PROTOCOL_UDP, ROCE_PORT,
};
use crate::headers::{
    Aeth, AtomicAckEth, AtomicEth, Bth, Deth, Ethernet, Ipv4, Ipv6, Reth, Truncated, Udp,
    WireHeader, XrcEth,
};
use crate::icrc;
use crate::opcode::{Kind, Opcode};

/// Why a frame is no good RoCEv2 frame; the order is the order of checking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The frame ends inside a header.
    #[error(transparent)]
    Truncated(#[from] Truncated),
    /// Not IPv4 or IPv6, not UDP, not port 4791, or an IPv4 packet with options or fragmented.
    #[error("not a RoCEv2 packet")]
    NotRoce,
    /// Wrong IPv4 header checksum.
    #[error("wrong IPv4 header checksum")]
    IpChecksum,
    /// IP length, UDP length, headers and pad contradict each other or the frame.
    #[error("the packet's lengths contradict each other")]
    Length,
    /// Wrong UDP checksum (0 is no checksum).
    #[error("wrong UDP checksum")]
    UdpChecksum,
    /// Wrong ICRC.
    #[error("wrong ICRC")]
    Icrc,
}

impl Frame {
    /// Takes a frame apart: from the destination MAC on, with or without Ethernet padding, without FCS. The
    /// packet's end comes from its lengths. Nothing is assumed of an unknown opcode: all that follows its BTH is
    /// payload. Pad bytes may have any value.
    ///
    /// # Errors
    /// [`FrameError`], the first check that fails.
    pub fn decode(bytes: &[u8]) -> Result<Self, FrameError> {
        let mut rest = bytes;
        let eth = Ethernet::take(&mut rest)?;
        let packet = rest;
        let (ip, len) = match eth.ethertype {
            ETHERTYPE_IPV4 => take_ipv4(&mut rest)?,
            ETHERTYPE_IPV6 => take_ipv6(&mut rest)?,
            _ => return Err(FrameError::NotRoce),
        };
        let header_len = packet.len() - rest.len();
        let datagram = rest.get(..len).ok_or(FrameError::Length)?;
        let mut content = datagram;
        let udp = Udp::take(&mut content)?;
        if udp.dport != ROCE_PORT {
            return Err(FrameError::NotRoce);
        }
        if usize::from(udp.len) != len {
            return Err(FrameError::Length);
        }
        if udp.checksum != 0 && udp_sum(&ip, datagram) != 0 {
            return Err(FrameError::UdpChecksum);
        }
        let transport = content
            .len()
            .checked_sub(icrc::BYTES)
            .map(|end| &content[..end])
            .ok_or(FrameError::Length)?;
        let sealed = &packet[..header_len + len];
        let (covered, crc) = sealed.split_at(sealed.len() - icrc::BYTES);
        let parsed = Packet::take(transport)?;
        if icrc::icrc(covered).as_ref().map(<[u8; 4]>::as_slice) != Some(crc) {
            return Err(FrameError::Icrc);
        }
        Ok(Self {
            eth,
            ip,
            udp,
            packet: parsed,
        })
    }
}

/// The header and the bytes behind it that belong to the packet.
fn take_ipv4(rest: &mut &[u8]) -> Result<(Ip, usize), FrameError> {
    const FRAGMENT_MASK: u16 = 0x3FFF;
    let ip = Ipv4::take(rest)?;
    if ip.version_ihl != Ipv4::VERSION_IHL
        || ip.protocol != PROTOCOL_UDP
        || ip.fragment & FRAGMENT_MASK != 0
    {
        return Err(FrameError::NotRoce);
    }
    if ip.checksum != ip.computed_checksum() {
        return Err(FrameError::IpChecksum);
    }
    let len = usize::from(ip.total_len)
        .checked_sub(Ipv4::BYTES)
        .ok_or(FrameError::Length)?;
    Ok((Ip::V4(ip), len))
}

fn take_ipv6(rest: &mut &[u8]) -> Result<(Ip, usize), FrameError> {
    let version = rest.first().map_or(0, |byte| byte >> 4);
    let ip = Ipv6::take(rest)?;
    if version != 6 || ip.next_header != PROTOCOL_UDP {
        return Err(FrameError::NotRoce);
    }
    Ok((Ip::V6(ip), usize::from(ip.payload_len)))
}

/// Checksum over pseudo header and datagram: 0 when the datagram's own checksum is right.
fn udp_sum(ip: &Ip, datagram: &[u8]) -> u16 {
    let mut bytes = Vec::with_capacity(40 + datagram.len());
    match ip {
        Ip::V4(ip) => {
            bytes.extend_from_slice(&ip.src.octets());
            bytes.extend_from_slice(&ip.dst.octets());
        }
        Ip::V6(ip) => {
            bytes.extend_from_slice(&ip.src.octets());
            bytes.extend_from_slice(&ip.dst.octets());
        }
    }
    bytes.extend_from_slice(&[0, PROTOCOL_UDP]);
    bytes.extend_from_slice(&(datagram.len() as u16).to_be_bytes());
    bytes.extend_from_slice(datagram);
    internet_checksum(&bytes)
}

impl Packet {
    /// BTH to pad.
    fn take(mut rest: &[u8]) -> Result<Self, FrameError> {
        let bth = Bth::take(&mut rest)?;
        let ext = match Opcode::try_from(bth.opcode) {
            Ok(opcode) => Extensions::take(opcode, &mut rest)?,
            Err(_) => Extensions::default(),
        };
        let len = rest
            .len()
            .checked_sub(usize::from(bth.pad))
            .ok_or(FrameError::Length)?;
        Ok(Self {
            bth,
            ext,
            payload: rest[..len].to_vec(),
        })
    }
}

impl Extensions {
    fn take(opcode: Opcode, rest: &mut &[u8]) -> Result<Self, FrameError> {
        fn maybe<H: WireHeader>(there: bool, rest: &mut &[u8]) -> Result<Option<H>, Truncated> {
            there.then(|| H::take(rest)).transpose()
        }
        fn word<const N: usize>(
            there: bool,
            name: &'static str,
            rest: &mut &[u8],
        ) -> Result<Option<[u8; N]>, Truncated> {
            there
                .then(|| crate::headers::take_bytes(rest, name))
                .transpose()
        }
        let ext = Self {
            deth: maybe::<Deth>(opcode.has_deth(), rest)?,
            xrceth: maybe::<XrcEth>(opcode.has_xrceth(), rest)?,
            reth: maybe::<Reth>(opcode.has_reth(), rest)?,
            atomic: maybe::<AtomicEth>(opcode.has_atomic_eth(), rest)?,
            aeth: maybe::<Aeth>(opcode.has_aeth(), rest)?,
            atomic_ack: maybe::<AtomicAckEth>(opcode.has_atomic_ack_eth(), rest)?,
            imm: word(opcode.has_imm(), "ImmDt", rest)?,
            ieth: word(opcode.has_ieth(), "IETH", rest)?,
        };
        word::<16>(opcode.kind() == Kind::Cnp, "CNP", rest)?;
        Ok(ext)
    }
}
