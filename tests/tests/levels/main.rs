//! Logic depth of every block and of the card, on the netlist of Yosys for UltraScale+.
//!
//! They stand in one program, and the whole card's comes first, so that Yosys keeps all cores busy.

mod card;
mod dma;
mod mac_100g;
mod mmu;
mod nic;
mod roce_rx;
mod roce_tx;
mod rtl;
