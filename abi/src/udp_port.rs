//! UDP source port: spreads the QPs over paths of the network. Both directions of a connection get the same
//! port, and receivers take any.

/// Lowest source port.
pub const BASE: u16 = 0xC000;

/// Source port for a flow label (20 bits).
pub const fn from_flow_label(label: u32) -> u16 {
    let label = label & 0xF_FFFF;
    BASE | ((label ^ label >> 14) & 0x3FFF) as u16
}

/// Source port of a connected QP without a flow label.
pub const fn from_qpns(local: u32, remote: u32) -> u16 {
    let mut v = local as u64 * remote as u64;
    v ^= v >> 20;
    v ^= v >> 40;
    from_flow_label(v as u32 & 0xF_FFFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_seen_on_the_wire() {
        for (local, remote, port) in [
            (17, 17, 0xC121),
            (24, 24, 0xC240),
            (26, 26, 0xC2A4),
            (30, 30, 0xC384),
            (17, 0x1001, 0xD015),
            (0x1001, 17, 0xD015),
            (17, 0x1234, 0xF570),
        ] {
            assert_eq!(from_qpns(local, remote), port, "{local} {remote}");
        }
        assert_eq!(from_flow_label(0x4B0EF), 0xF0FD);
    }
}
