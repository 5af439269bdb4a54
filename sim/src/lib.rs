//! Cycle-accurate simulation of Ferroce cards: Verilated models behind a safe Rust interface, with
//! host memory, cables, captures and the driver on top.

pub mod card;
pub mod design;
pub mod dma;
pub mod host;
pub mod latency;
pub mod link;
pub mod load;
pub mod mac;
pub mod memory;
pub mod pair;
pub mod pcap;
pub mod pcie;
pub mod ports;
pub mod roof;
pub mod scatter;
pub mod serve;
pub mod stages;
pub mod time;
pub mod transfer;
pub mod transport;
pub mod world;
