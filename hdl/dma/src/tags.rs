//! Which read tag belongs to whom: the highest bits name the client.

/// First tag of payload reads, `0x00` to `0x7F`. Payload fetches have half of all tags, since at 100 Gb/s and a
/// microsecond of latency 64 reads of 256 bytes must be outstanding.
pub const PAYLOAD: u8 = 0x00;
/// First tag of SQ WQE reads, `0x80` to `0x9E`.
pub const SQ: u8 = 0x80;
/// First tag of the page walks for payload to be sent, `0xA0` to `0xBF`. They are in one class with the SQ WQE reads (see
/// [`crate::reader`]), whose answers come in order: these wait for host memory only, as the walks do.
pub const TX_PAGES: u8 = 0xA0;
/// First tag of RQ WQE reads, `0xC0` to `0xDE`.
pub const RQ: u8 = 0xC0;
/// Tag of the read of an atomic; there is one at a time.
pub const ATOMIC: u8 = 0xDF;
/// First tag of the page walks for payload received, `0xE0` to `0xFF`, in one class with the RQ WQE reads.
pub const RX_PAGES: u8 = 0xE0;
