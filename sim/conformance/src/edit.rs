//! Spoiling frames: byte offsets in an untagged IPv4 frame, and repairs of what is to stay right.

use ferroce_abi::headers::net::internet_checksum;
use ferroce_abi::icrc;

/// IPv4 header.
pub const IP: usize = 14;
/// IPv4 total length.
pub const TOTAL_LEN: usize = 16;
/// IPv4 identification.
pub const IP_ID: usize = 18;
/// IPv4 flags and fragment offset.
pub const FRAGMENT: usize = 20;
/// IPv4 time to live.
pub const TTL: usize = 22;
/// IPv4 protocol.
pub const PROTOCOL: usize = 23;
/// IPv4 header checksum.
pub const CHECKSUM: usize = 24;
/// IPv4 source.
pub const SOURCE_IP: usize = 26;
/// IPv4 destination.
pub const TARGET_IP: usize = 30;
/// UDP header.
pub const UDP: usize = 34;
/// UDP length.
pub const UDP_LEN: usize = 38;
/// UDP checksum.
pub const UDP_CHECKSUM: usize = 40;
/// BTH.
pub const BTH: usize = 42;
/// Payload of an RC WRITE ONLY packet.
pub const PAYLOAD: usize = 70;

/// Makes the IPv4 checksum right again.
pub fn fix_checksum(frame: &mut [u8]) {
    frame[CHECKSUM..][..2].fill(0);
    let sum = internet_checksum(&frame[IP..UDP]);
    frame[CHECKSUM..][..2].copy_from_slice(&sum.to_be_bytes());
}

/// Adds to a 16-bit field.
pub fn add16(frame: &mut [u8], at: usize, difference: i32) {
    let old = u16::from_be_bytes([frame[at], frame[at + 1]]);
    let new = (i32::from(old) + difference) as u16;
    frame[at..][..2].copy_from_slice(&new.to_be_bytes());
}

/// Bytes with a right FCS and no padding.
pub fn with_fcs(bytes: &[u8]) -> Vec<u8> {
    [bytes, &icrc::fcs(bytes)].concat()
}
