//! Address handles.

use std::net::{Ipv4Addr, Ipv6Addr};

entry! {
    /// An address handle: the way to another port (IBTA 10.2.2, A17). Also the answer to [`crate::mailbox::Command::QueryAh`].
    AhCfg {
        /// The handle exists.
        valid: bool = 1,
        /// Protection domain.
        pd: u16 = 16,
        /// Destination MAC, first wire byte in bits 47:40.
        dmac: u64 = 48,
        /// Destination GID, first eight wire bytes, the first in bits 63:56.
        dgid_high: u64 = 64,
        /// Destination GID, last eight wire bytes.
        dgid_low: u64 = 64,
        /// Index of the port's own GID. It has one, of its IPv4 address.
        sgid_index: u8 = 8,
        /// Traffic class, IPv4 TOS byte (DSCP and ECN).
        traffic_class: u8 = 8,
        /// Hop limit, IPv4 TTL.
        hop_limit: u8 = 8,
        /// Flow label.
        flow_label: u32 = 20,
        /// UDP source port, see [`crate::udp_port::from_flow_label`].
        sport: u16 = 16,
    }
}

/// What the upper 96 bits of a GID are that stands for an IPv4 address (A17.4.5.2): its `dgid_high`, and `dgid_low` above bit 31.
pub const IPV4_GID: (u64, u64) = (0, 0xFFFF);

impl AhCfg {
    /// The destination GID.
    pub fn dgid(&self) -> Ipv6Addr {
        (u128::from(self.dgid_high) << 64 | u128::from(self.dgid_low)).into()
    }

    /// Sets the destination GID.
    #[must_use]
    pub fn with_dgid(self, gid: Ipv6Addr) -> Self {
        let bits = u128::from(gid);
        Self {
            dgid_high: (bits >> 64) as u64,
            dgid_low: bits as u64,
            ..self
        }
    }

    /// The destination's IPv4 address, if the GID stands for one.
    pub fn ipv4(&self) -> Option<Ipv4Addr> {
        self.dgid().to_ipv4_mapped()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gids_of_ipv4_addresses_are_told_apart() {
        let ip = Ipv4Addr::new(192, 0, 2, 7);
        let mapped = AhCfg::default().with_dgid(ip.to_ipv6_mapped());
        assert_eq!(mapped.ipv4(), Some(ip));
        assert_eq!((mapped.dgid_high, mapped.dgid_low >> 32), IPV4_GID);
        assert_eq!(mapped.dgid_low as u32, 0xC000_0207);
        let gid: Ipv6Addr = "fe80::1:2:3".parse().unwrap();
        let other = AhCfg::default().with_dgid(gid);
        assert_eq!((other.dgid(), other.ipv4()), (gid, None));
        let back = AhCfg::from_bits(&other.to_bits().unwrap());
        assert_eq!(back, other);
    }
}
