//! Rust-to-Verilog for Ferroce's hardware, on top of rust-hdl.

// The derive macros name this crate by its path; inside it, that is itself.
extern crate self as ferroce_emit;

mod bits;
mod design;
mod error;
mod flow;
mod group;
pub mod harness;
mod ir;
mod module;
mod names;
mod netlist;
mod ports;
mod print;
#[doc(hidden)]
pub mod runtime;
mod stack;
mod tag;
mod waiver;

pub mod prelude;

pub use bits::{pack, unpack, BitReader, BitWriter, FromBits};
pub use design::{emit, Design, EmittedModule, Emitter, ModuleText};
pub use error::EmitError;
pub use module::Instance;
pub use ports::{port_list, Port, PortDirection, PortInfo, PortVisitor, Ports};
pub use stack::on_big_stack;
pub use tag::{register_tag, register_verilog, type_tag};
pub use waiver::{verilator_control_file, verilator_lint_flags, Waiver, WAIVERS};
