//! The receive side: parser, packet buffer, responder, completer, mover.

pub mod completer;
pub mod control;
pub mod events;
pub mod mover;
pub mod packet_buffer;
pub mod parse;

mod landing_gate;
mod roce_rx;

pub use landing_gate::LandingGate;
pub use packet_buffer::PacketBuffer;
pub use roce_rx::{RoceRx, RxSizes};

#[cfg(test)]
ferroce_emit::check_crate!();
