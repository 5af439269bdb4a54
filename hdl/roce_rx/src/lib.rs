//! The receive side: parser, packet buffer, responder, completer, mover.

pub mod completer;
pub mod control;
pub mod events;
pub mod packet_buffer;
pub mod parse;

mod cfg_fields;

pub use packet_buffer::PacketBuffer;
