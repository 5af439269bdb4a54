//! Ethernet, IPv4, IPv6 and UDP, as far as RoCEv2 needs them.

use super::{be, take_bytes, Truncated, WireHeader};
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// EtherType of IPv4.
pub const ETHERTYPE_IPV4: u16 = 0x0800;
/// EtherType of IPv6.
pub const ETHERTYPE_IPV6: u16 = 0x86DD;
/// EtherType of an 802.1Q tag.
pub const ETHERTYPE_VLAN: u16 = 0x8100;
/// IP protocol number of UDP.
pub const PROTOCOL_UDP: u8 = 17;
/// UDP destination port of RoCEv2.
pub const ROCE_PORT: u16 = 4791;
/// Smallest Ethernet frame without FCS in bytes.
pub const MIN_FRAME: usize = 60;
/// IPv4 "don't fragment" in the flags and fragment offset field.
pub const IPV4_DF: u16 = 0x4000;

/// A MAC address, first wire byte first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mac(pub [u8; 6]);

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// The text is no MAC address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no MAC address: six hexadecimal bytes with colons between are expected")]
pub struct BadMac(pub String);

impl FromStr for Mac {
    type Err = BadMac;

    fn from_str(text: &str) -> Result<Self, BadMac> {
        let bad = || BadMac(text.to_owned());
        let mut mac = [0; 6];
        let mut parts = text.split(':');
        for byte in &mut mac {
            let part = parts.next().ok_or_else(bad)?;
            if part.len() != 2 || !part.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return Err(bad());
            }
            *byte = u8::from_str_radix(part, 16).map_err(|_| bad())?;
        }
        match parts.next() {
            None => Ok(Self(mac)),
            Some(_) => Err(bad()),
        }
    }
}

/// Ethernet header, 14 bytes, or 18 with an 802.1Q tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ethernet {
    /// Destination.
    pub dst: Mac,
    /// Source.
    pub src: Mac,
    /// Tag control information (PCP, DEI, VLAN ID) of a tagged frame.
    pub vlan: Option<u16>,
    /// EtherType behind the tag.
    pub ethertype: u16,
}

impl WireHeader for Ethernet {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.dst.0);
        out.extend_from_slice(&self.src.0);
        if let Some(tci) = self.vlan {
            out.extend_from_slice(&ETHERTYPE_VLAN.to_be_bytes());
            out.extend_from_slice(&tci.to_be_bytes());
        }
        out.extend_from_slice(&self.ethertype.to_be_bytes());
    }

    fn take(input: &mut &[u8]) -> Result<Self, Truncated> {
        let mut rest = *input;
        let dst = Mac(take_bytes(&mut rest, "Ethernet")?);
        let src = Mac(take_bytes(&mut rest, "Ethernet")?);
        let mut ethertype = u16::from_be_bytes(take_bytes(&mut rest, "Ethernet")?);
        let mut vlan = None;
        if ethertype == ETHERTYPE_VLAN {
            vlan = Some(u16::from_be_bytes(take_bytes(&mut rest, "802.1Q")?));
            ethertype = u16::from_be_bytes(take_bytes(&mut rest, "802.1Q")?);
        }
        *input = rest;
        Ok(Self {
            dst,
            src,
            vlan,
            ethertype,
        })
    }
}

/// IPv4 header without options, 20 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv4 {
    /// Version and header length: 0x45.
    pub version_ihl: u8,
    /// DSCP and ECN.
    pub tos: u8,
    /// Bytes of header and content.
    pub total_len: u16,
    /// Identification.
    pub id: u16,
    /// Flags and fragment offset.
    pub fragment: u16,
    /// Time to live.
    pub ttl: u8,
    /// Protocol.
    pub protocol: u8,
    /// Header checksum.
    pub checksum: u16,
    /// Source.
    pub src: Ipv4Addr,
    /// Destination.
    pub dst: Ipv4Addr,
}

impl Ipv4 {
    /// Bytes.
    pub const BYTES: usize = 20;
    /// The only supported value of `version_ihl`.
    pub const VERSION_IHL: u8 = 0x45;

    /// The checksum that belongs to the other fields.
    pub fn computed_checksum(&self) -> u16 {
        let mut bytes = Vec::with_capacity(Self::BYTES);
        Self {
            checksum: 0,
            ..*self
        }
        .put(&mut bytes);
        internet_checksum(&bytes)
    }
}

impl WireHeader for Ipv4 {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.version_ihl, self.tos]);
        out.extend_from_slice(&self.total_len.to_be_bytes());
        out.extend_from_slice(&self.id.to_be_bytes());
        out.extend_from_slice(&self.fragment.to_be_bytes());
        out.extend_from_slice(&[self.ttl, self.protocol]);
        out.extend_from_slice(&self.checksum.to_be_bytes());
        out.extend_from_slice(&self.src.octets());
        out.extend_from_slice(&self.dst.octets());
    }

    fn take(input: &mut &[u8]) -> Result<Self, Truncated> {
        let b: [u8; Self::BYTES] = take_bytes(input, "IPv4")?;
        Ok(Self {
            version_ihl: b[0],
            tos: b[1],
            total_len: be(&b[2..4]) as u16,
            id: be(&b[4..6]) as u16,
            fragment: be(&b[6..8]) as u16,
            ttl: b[8],
            protocol: b[9],
            checksum: be(&b[10..12]) as u16,
            src: Ipv4Addr::from(be(&b[12..16]) as u32),
            dst: Ipv4Addr::from(be(&b[16..20]) as u32),
        })
    }
}

/// IPv6 header, 40 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv6 {
    /// DSCP and ECN.
    pub traffic_class: u8,
    /// Flow label, 20 bits.
    pub flow_label: u32,
    /// Bytes behind the header.
    pub payload_len: u16,
    /// Next header.
    pub next_header: u8,
    /// Hop limit.
    pub hop_limit: u8,
    /// Source.
    pub src: Ipv6Addr,
    /// Destination.
    pub dst: Ipv6Addr,
}

impl Ipv6 {
    /// Bytes.
    pub const BYTES: usize = 40;
}

impl WireHeader for Ipv6 {
    fn put(&self, out: &mut Vec<u8>) {
        let word = 6 << 28 | u32::from(self.traffic_class) << 20 | self.flow_label & 0xF_FFFF;
        out.extend_from_slice(&word.to_be_bytes());
        out.extend_from_slice(&self.payload_len.to_be_bytes());
        out.extend_from_slice(&[self.next_header, self.hop_limit]);
        out.extend_from_slice(&self.src.octets());
        out.extend_from_slice(&self.dst.octets());
    }

    fn take(input: &mut &[u8]) -> Result<Self, Truncated> {
        let b: [u8; Self::BYTES] = take_bytes(input, "IPv6")?;
        let word = be(&b[0..4]) as u32;
        let address = |at: usize| {
            let mut octets = [0; 16];
            octets.copy_from_slice(&b[at..at + 16]);
            Ipv6Addr::from(octets)
        };
        Ok(Self {
            traffic_class: (word >> 20) as u8,
            flow_label: word & 0xF_FFFF,
            payload_len: be(&b[4..6]) as u16,
            next_header: b[6],
            hop_limit: b[7],
            src: address(8),
            dst: address(24),
        })
    }
}

/// UDP header, 8 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Udp {
    /// Source port.
    pub sport: u16,
    /// Destination port.
    pub dport: u16,
    /// Bytes of header and content.
    pub len: u16,
    /// Checksum; RoCEv2 sends 0, none.
    pub checksum: u16,
}

impl Udp {
    /// Bytes.
    pub const BYTES: usize = 8;
}

impl WireHeader for Udp {
    fn put(&self, out: &mut Vec<u8>) {
        for word in [self.sport, self.dport, self.len, self.checksum] {
            out.extend_from_slice(&word.to_be_bytes());
        }
    }

    fn take(input: &mut &[u8]) -> Result<Self, Truncated> {
        let b: [u8; Self::BYTES] = take_bytes(input, "UDP")?;
        let word = |k: usize| be(&b[2 * k..2 * k + 2]) as u16;
        Ok(Self {
            sport: word(0),
            dport: word(1),
            len: word(2),
            checksum: word(3),
        })
    }
}

/// The Internet checksum (RFC 1071) of `bytes`, as it goes into a header whose checksum field was 0.
pub fn internet_checksum(bytes: &[u8]) -> u16 {
    let mut sum: u64 = bytes
        .chunks(2)
        .map(|pair| be(pair) << (8 * (2 - pair.len())))
        .sum();
    while sum >> 16 != 0 {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc_1071_example() {
        // RFC 1071 section 3: the sum of these words is 0xddf2.
        assert_eq!(
            internet_checksum(&[0x00, 0x01, 0xF2, 0x03, 0xF4, 0xF5, 0xF6, 0xF7]),
            !0xDDF2
        );
        assert_eq!(internet_checksum(&[0xAB]), !0xAB00);
    }

    #[test]
    fn mac_text_is_read_and_written() {
        let mac: Mac = "02:00:00:00:0a:ff".parse().unwrap();
        assert_eq!(mac, Mac([2, 0, 0, 0, 0x0A, 0xFF]));
        assert_eq!(mac.to_string(), "02:00:00:00:0a:ff");
        for bad in [
            "",
            "02:00:00:00:0a",
            "02:00:00:00:0a:ff:00",
            "2:00:00:00:0a:ff",
            "02:00:00:00:0a:+f",
        ] {
            assert_eq!(bad.parse::<Mac>(), Err(BadMac(bad.to_owned())));
        }
    }
}
