//! Rust-to-Verilog for Ferroce's hardware, on top of rust-hdl.

// The derive macros name this crate by its path; inside it, that is itself.
extern crate self as ferroce_emit;

mod bits;
mod ports;
mod tag;

pub mod prelude;

pub use bits::{pack, unpack, BitReader, BitWriter, FromBits};
pub use ports::{port_list, Port, PortDirection, PortInfo, PortVisitor, Ports};
pub use tag::type_tag;
