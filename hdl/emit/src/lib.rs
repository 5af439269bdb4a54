//! Rust-to-Verilog for Ferroce's hardware, on top of rust-hdl.
//!
//! rust-hdl's kernels describe the hardware and simulate it in Rust. This
//! crate prints them as Verilog that means the same: every expression has
//! the width that Rust gives it, statements keep their order, and whatever
//! can't be told apart from a mistake (a latch, a combinational loop, a clock
//! out of logic, an open input) is an [`EmitError`] that names the module and
//! the signal. The [`harness`] proves it, module by module.
//!
//! # A module
//!
//! ```
//! use ferroce_emit::prelude::*;
//!
//! /// A struct on a wire: the first field is the least significant.
//! #[derive(LogicStruct, FromBits, Default, Copy, Clone, Debug, PartialEq)]
//! pub struct Sample {
//!     pub value: Bits<12>,
//!     pub last: Bit,
//! }
//!
//! /// Counts samples up to the last one.
//! #[derive(LogicBlock, Module, Default)]
//! pub struct Counter {
//!     pub clock: Signal<In, Clock>,
//!     pub sample: Signal<In, Sample>,
//!     pub valid: Signal<In, Bit>,
//!     pub count: Signal<Out, Bits<8>>,
//!     total: DFF<Bits<8>>,
//!     next: Signal<Local, Bits<8>>,
//! }
//!
//! impl Logic for Counter {
//!     #[kernel]
//!     fn update(&mut self) {
//!         dff_setup!(self, clock, total);
//!         self.next.next = self.total.q.val() + 1;
//!         if self.valid.val() {
//!             self.total.d.next = self.next.val();
//!             if self.sample.val().last {
//!                 self.total.d.next = 0.into();
//!             }
//!         }
//!         self.count.next = self.total.q.val();
//!     }
//! }
//!
//! ferroce_emit::register_leaf!("counter", Counter::default);
//!
//! let design = ferroce_emit::emit(&Counter::default(), "counter")?;
//! assert!(design.verilog().contains("module counter ("));
//! # Ok::<(), ferroce_emit::EmitError>(())
//! ```
//!
//! and `#[cfg(test)] ferroce_emit::check_crate!();` in the crate's `lib.rs`
//! runs all its registered modules as Rust and as Verilog.
//!
//! # What a kernel may contain
//!
//! Assignments to `<signal>.next` and `<signal>.next.<field>` (fields of
//! fields, too), `if`, `match` on enums and bits (with `|`), `for` over a
//! constant range, `dff_setup!`, `clock!`, `Type::join(..)`, `Type::link(..)`,
//! and `assert!`/`println!`, which are no hardware. An assigned value may be an
//! `if` or `match`. Loops run when the Verilog is made, so their variable may be
//! used anywhere: `self.lanes[i - 1].data.val().get_bits::<8>(8 * i)`.
//! Constants are consts (`LIMIT`, `Self::OFFSET`, `State::Idle`), `Constant`
//! fields, and anything else without `self`, such as `clog2(DEPTH)`.
//!
//! Rules that follow from how Rust simulates: a temporary or output is written
//! before it is read, on every path; an input of a sub-block is read, if at
//! all, after its last assignment; clocks are assigned once, from clocks.
//! `bits.index() + 1` counts on as a `usize` does, `(bits + 1).index()` wraps.
//!
//! # What the Verilog looks like
//!
//! Ports and signals are named by their path of fields joined by `_` (words of
//! Verilog, SystemVerilog or C++ get a `_` behind), modules after their type in
//! snake case with its parameters: `SyncFifo<Beat>` is `sync_fifo_beat`.
//! Instances whose text is equal share a module. Registers (`DFF`, and
//! primitives that use [`register_tag`] and [`register_verilog`]) are `reg`s of
//! their parent, one `always` a clock. Independent parts of a kernel become
//! separate `assign`s and `always_comb` blocks.
//!
//! # Primitives
//!
//! `impl Logic` by hand gives `Verilog::Custom` (the module's body; outputs are
//! `reg` unless the code `assign`s them or connects them to an instance; a
//! `Constant` field is a `localparam`), `Verilog::Wrapper` (outputs are nets) or
//! `Verilog::Blackbox`. `timing()` must return [`type_tag`]. Fields whose name
//! starts with `_` are no hardware. A primitive's sub-blocks serve its Rust
//! model only.
//!
//! # Large designs
//!
//! Build, simulate and print them in [`on_big_stack`]: a 512-bit signal is
//! 1.6 KB as a Rust value. [`pack`] and [`unpack`] convert between values and
//! the words of a Verilated port, [`port_list`] and [`Design::ports`] list ports.

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
mod reserved;
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
