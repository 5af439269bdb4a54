//! Tables, register window and top level of the card.

pub mod bar;
pub mod config;
pub mod counters;
pub mod cqe_writer;
pub mod mr_check;
pub mod ring_cfg;
pub mod wqe_cache;

pub use config::{ConfigError, NicConfig};

#[cfg(test)]
ferroce_emit::check_crate!();
