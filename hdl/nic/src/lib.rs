//! Tables, register window and top level of the card.

pub mod bar;
pub mod bar_split;
pub mod bell_keeper;
pub mod card;
pub mod config;
pub mod counters;
pub mod cqe_writer;
pub mod eq_writer;
pub mod event_counters;
pub mod events;
pub mod inline_reader;
pub mod mr_check;
pub mod nic;
pub mod qp_events;
pub mod qp_view;
pub mod ring_cfg;
pub mod srq_limit;
pub mod stage_trace;
pub mod tx_monitor;
pub mod wqe_cache;
pub mod write_drain;

pub use card::Card;
pub use config::{ConfigError, NicConfig};
pub use nic::Nic;

#[cfg(test)]
ferroce_emit::check_crate!();
