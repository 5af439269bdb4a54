//! Between the card's core and a 100 Gb/s Ethernet MAC: clock crossing, padding, FCS, whole-frame
//! FIFOs.
//!
//! The MAC is the AXI stream side of AMD's `cmac_usplus`: 512 bits at 322.265625 MHz. Its transmit side must be fed without
//! bubbles inside a frame, its receive side can't be held back. [`mac_100g`] is the whole, in
//! beats; [`axis_tx`] and [`axis_rx`] turn beats into AXI stream signals and back.
//!
//! ```text
//! core clock                  |            MAC clocks
//! TX  Pad60 ----------- AsyncFifo ----> FrameFifo ----> FcsInsert ----> MAC
//! RX  <---------------- AsyncFifo <---- FrameFifo <---- FcsCheck <----- MAC
//! ```

pub mod axis_rx;
pub mod axis_tx;
pub mod fcs_check;
pub mod fcs_insert;
pub mod frame_fifo;
pub mod mac_100g;
pub mod pad60;
pub mod pulse_cross;
pub mod rx_frame_fifo;
pub mod tx_frame_fifo;

pub use mac_100g::{Fcs, Mac100g};

#[cfg(test)]
ferroce_emit::check_crate!();
