//! Verilog models that run inside a Rust program.
//!
//! [`build`] turns Verilog into a shared library with Verilator and the C++ compiler, once for each
//! content, and loads it. A [`Model`] is an instance of it, whose ports are read and written in
//! place: there is no call per access. [`Clocks`] schedules several clocks, [`lint`] runs
//! Verilator's checks.
//!
//! ```no_run
//! use ferroce_bridge::{build, Model, ModelSpec};
//! # fn main() -> Result<(), ferroce_bridge::BridgeError> {
//! let verilog = "module inc(input clock, output reg [7:0] q = 0); always @(posedge clock) q <= q + 1; endmodule";
//! let mut model = Model::new(&build(&ModelSpec::new("inc").source("inc.v", verilog))?)?;
//! let (clock, q) = (model.port("clock")?, model.port("q")?);
//! for level in [true, false, true] {
//!     model.set_bool(clock, level);
//!     model.eval()?;
//! }
//! assert_eq!(model.get_u64(q), 2);
//! # Ok(())
//! # }
//! ```
//!
//! `unsafe` is confined to [`Library`] and [`Model`]; both are safe to use in any order.

mod build;
pub mod cache;
mod clocks;
mod error;
mod library;
mod lint;
mod model;
mod ports;
mod spec;
pub mod tools;

pub use build::build;
pub use clocks::{ClockId, Clocks, Edges, Period};
pub use error::BridgeError;
pub use library::Library;
pub use lint::{lint, Warning};
pub use model::{Model, Port, WidePort};
pub use ports::PortInfo;
pub use spec::{Effort, ModelSpec, Source, Waiver};
