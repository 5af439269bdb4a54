//! Simulated time: femtoseconds in a `u64`.

/// Core clock period: 250 MHz.
pub const CORE_PERIOD_FS: u64 = 4_000_000;
/// Core clock frequency in hertz.
pub const CORE_HZ: u64 = 250_000_000;
/// MAC clock frequency in hertz.
pub const MAC_HZ: u64 = 322_265_625;
/// Time of one byte on a 100 Gb/s wire.
pub const WIRE_BYTE_FS: u64 = 80_000;
/// Preamble, start delimiter and inter-packet gap of a frame in bytes.
pub const WIRE_OVERHEAD_BYTES: u64 = 20;
/// Femtoseconds in a nanosecond.
pub const NS_FS: u64 = 1_000_000;

/// Time that a frame of `len` bytes (FCS included) keeps the wire busy.
pub fn wire_time_fs(len: usize) -> u64 {
    (len as u64 + WIRE_OVERHEAD_BYTES) * WIRE_BYTE_FS
}
