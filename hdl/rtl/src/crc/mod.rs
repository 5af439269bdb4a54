//! CRC-32 at one 512-bit beat a cycle: Ethernet's FCS and the ICRC of RoCEv2.
//!
//! [`crc32`] computes the matrices in Rust, [`xor_reg`] prints them, [`crc_core`] is the pipeline,
//! [`fcs_engine`] and [`icrc_engine`] put it behind what each of the two covers, and the other
//! modules append or check.

pub mod crc32;
pub mod crc_append;
pub mod crc_core;
pub mod fcs_engine;
pub mod gf2;
pub mod icrc_check;
pub mod icrc_engine;
pub mod icrc_insert;
pub mod icrc_mask;
pub mod retreat;
pub mod tail_zero;
pub mod xor_reg;

pub use fcs_engine::{FcsEngine, FCS_LATENCY};
pub use icrc_check::{IcrcCheck, CHECK_LATENCY};
pub use icrc_engine::{IcrcEngine, ICRC_LATENCY};
pub use icrc_insert::IcrcInsert;

#[cfg(test)]
mod tests;
