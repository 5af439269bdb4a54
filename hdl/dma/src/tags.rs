//! Which read tag belongs to whom: the highest bits name the client.

/// First tag of payload reads, `0x00` to `0x7F`. Payload fetches have half of all tags, since at 100 Gb/s and a
/// microsecond of latency 64 reads of 256 bytes must be outstanding.
pub const PAYLOAD: u8 = 0x00;
/// First tag of SQ WQE reads, `0x80` to `0xBF`.
pub const SQ: u8 = 0x80;
/// First tag of RQ WQE reads, `0xC0` to `0xFF`.
pub const RQ: u8 = 0xC0;
