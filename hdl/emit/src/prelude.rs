//! Everything a hardware crate needs: `use ferroce_emit::prelude::*;`.
//!
//! rust-hdl's own macros expand to relative paths (`ast::`, `logic::`,
//! `block::`), so its whole prelude comes along.

pub use crate::{pack, register_tag, register_verilog, type_tag, unpack, FromBits, Ports};
pub use ferroce_emit_macros::{kernel, FromBits, Module};
pub use rust_hdl::prelude::*;
