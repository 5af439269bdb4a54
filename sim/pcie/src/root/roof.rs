//! What a link can carry at most, by arithmetic. Addresses are above 4 GiB and aligned, as a card's are at best.

use super::config::LinkSpeed;
use crate::tlp::{HEADER_3DW, HEADER_4DW, LINK_OVERHEAD};

const REQUEST: usize = HEADER_4DW + LINK_OVERHEAD;
const COMPLETION: usize = HEADER_3DW + LINK_OVERHEAD;

/// Link bytes of a write of `len` bytes in TLPs of at most `max_payload`.
pub fn write_link_bytes(len: usize, max_payload: usize) -> usize {
    len.next_multiple_of(4) + len.div_ceil(max_payload).max(1) * REQUEST
}

/// Link bytes towards the host of a read of `len` bytes in requests of at most `max_read`.
pub fn request_link_bytes(len: usize, max_read: usize) -> usize {
    len.div_ceil(max_read).max(1) * REQUEST
}

/// Link bytes towards the card of a read of `len` bytes, in requests of at most `max_read` that are answered in completions of at
/// most `chunk` bytes.
pub fn completion_link_bytes(len: usize, max_read: usize, chunk: usize) -> usize {
    let whole = len / max_read * max_read.div_ceil(chunk);
    let completions = whole + (len % max_read).div_ceil(chunk);
    len.next_multiple_of(4) + completions.max(1) * COMPLETION
}

fn gbps(speed: LinkSpeed, len: usize, link_bytes: usize) -> f64 {
    speed.gbps() * len as f64 / link_bytes as f64
}

/// Payload in Gb/s of writes of `len` bytes.
pub fn writes_gbps(speed: LinkSpeed, len: usize, max_payload: usize) -> f64 {
    gbps(speed, len, write_link_bytes(len, max_payload))
}

/// Payload in Gb/s of reads of `len` bytes; either direction can be the narrow one.
pub fn reads_gbps(speed: LinkSpeed, len: usize, max_read: usize, chunk: usize) -> f64 {
    let down = completion_link_bytes(len, max_read, chunk);
    gbps(speed, len, down.max(request_link_bytes(len, max_read)))
}

/// Payload in Gb/s, each way, of as many reads as writes of `len` bytes at once: the reads' requests share the writes' direction.
pub fn both_gbps(
    speed: LinkSpeed,
    len: usize,
    max_payload: usize,
    max_read: usize,
    chunk: usize,
) -> f64 {
    let up = write_link_bytes(len, max_payload) + request_link_bytes(len, max_read);
    let down = completion_link_bytes(len, max_read, chunk);
    gbps(speed, len, up.max(down))
}

#[cfg(test)]
mod tests {
    use super::*;

    const X16: LinkSpeed = LinkSpeed::GEN3_X16;

    /// 126.03 Gb/s times 256/280, 256/276, 64/88, 512/552, and 4096 of 4096 + 16 * 24 + 8 * 24.
    #[test]
    fn roofs_by_hand() {
        let near = |a: f64, b: f64| assert!((a - b).abs() < 0.05, "{a} {b}");
        near(writes_gbps(X16, 256, 256), 115.23);
        near(writes_gbps(X16, 4096, 256), 115.23);
        near(writes_gbps(X16, 64, 256), 91.66);
        near(reads_gbps(X16, 256, 512, 256), 116.90);
        near(reads_gbps(X16, 512, 512, 256), 116.90);
        near(reads_gbps(X16, 4096, 512, 64), 126.03 * 64.0 / 84.0);
        near(
            both_gbps(X16, 4096, 256, 512, 256),
            126.03 * 4096.0 / 4672.0,
        );
    }

    /// Four bytes: the request of 24 bytes is as long as the completion.
    #[test]
    fn small_reads_are_bound_by_requests() {
        assert_eq!(request_link_bytes(4, 512), 24);
        assert_eq!(completion_link_bytes(4, 512, 256), 24);
        assert_eq!(completion_link_bytes(600, 512, 256), 600 + 3 * 20);
        assert_eq!(write_link_bytes(257, 256), 260 + 48);
    }
}
