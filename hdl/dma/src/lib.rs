//! The card's way to host memory: who may use the DMA port when, and whose data comes back.

pub mod axis;
pub mod completer;
pub mod desc;
pub mod msix;
pub mod pcie_engine;
pub mod read_arb;
pub mod read_demux;
pub mod reader;
pub mod requester;
pub mod tags;

#[cfg(test)]
ferroce_emit::check_crate!();
