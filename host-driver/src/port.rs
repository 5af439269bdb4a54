//! Addresses of a port.

use ferroce_abi::headers::Mac;
use std::net::Ipv4Addr;

/// MAC and IPv4 address of one end of a cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PortAddress {
    /// MAC address.
    pub mac: Mac,
    /// IPv4 address.
    pub ip: Ipv4Addr,
}
