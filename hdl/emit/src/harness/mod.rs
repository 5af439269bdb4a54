//! Proof that the Verilog of a module does what its Rust does.
//!
//! Each registered module runs in rust-hdl's own simulation with random and
//! corner inputs, and the same inputs go through its Verilog in Verilator.
//! Every output must agree at every clock edge and after every change of the
//! inputs. Verilating takes seconds whatever the size, so the modules of a
//! crate share few models, side by side under one wrapper.
//!
//! In the module's file:
//!
//! ```
//! # use ferroce_emit::prelude::*;
//! # #[derive(LogicBlock, Module, Default)]
//! # pub struct Inverter { pub a: Signal<In, Bit>, pub y: Signal<Out, Bit> }
//! # impl Logic for Inverter {
//! #     #[kernel]
//! #     fn update(&mut self) { self.y.next = !self.a.val(); }
//! # }
//! ferroce_emit::register_leaf!("inverter", || Inverter::default());
//! ```
//!
//! and once in the crate's `lib.rs`, which makes two tests:
//!
//! ```text
//! #[cfg(test)]
//! ferroce_emit::check_crate!();
//! ```

mod error;
mod icarus;
mod leaf;
mod run;
mod scan;
mod seed;
mod sim;
mod stimulus;
mod trace;
mod verilog;

pub use error::{HarnessError, Mismatch};
#[doc(hidden)]
pub use icarus::{icarus, icarus_prints};
pub use inventory;
pub use leaf::{constructed_type, leaves_of, Leaf, LeafModule};
pub use run::{check_leaves, Options};
pub use scan::{unregistered, UnregisteredError};
pub use seed::random;
pub use sim::Sim;
pub use stimulus::Inputs;

/// Registers a module for [`check_crate!`](crate::check_crate).
///
/// `register_leaf!("name", || constructor)`, or with a third argument
/// `|inputs: &mut Inputs| ..` that restricts the random inputs of a module
/// which can't take all of them, such as an address beyond a RAM's depth.
/// Names are unique within a crate.
#[macro_export]
macro_rules! register_leaf {
    ($name:expr, $make:expr) => {
        $crate::register_leaf!($name, $make, |_: &mut $crate::harness::Inputs| {});
    };
    ($name:expr, $make:expr, $restrict:expr) => {
        $crate::harness::inventory::submit! {
            $crate::harness::Leaf {
                name: $name,
                package: env!("CARGO_PKG_NAME"),
                type_name: || $crate::harness::constructed_type(&$make),
                make: || Box::new(($make)()),
                restrict: $restrict,
            }
        }
    };
}

/// Makes the tests that every module of a crate is registered and that the
/// Rust and the Verilog of each agree.
///
/// Modules that can't be registered are named with the reason:
/// `check_crate!("Cmac" => "a vendor block without a Rust model")`.
#[macro_export]
macro_rules! check_crate {
    ($($type:literal => $reason:literal),* $(,)?) => {
        mod rust_and_verilog {
            #[test]
            fn every_module_is_registered() {
                let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
                let exempt: &[(&str, &str)] = &[$(($type, $reason)),*];
                if let Err(error) = $crate::harness::unregistered(
                    env!("CARGO_PKG_NAME"),
                    ::std::path::Path::new(sources),
                    exempt,
                ) {
                    panic!("{error}");
                }
            }

            #[test]
            fn every_module_agrees() {
                let leaves = $crate::harness::leaves_of(env!("CARGO_PKG_NAME"));
                let options = $crate::harness::Options::from_env();
                println!("FERROCE_SEED={}", options.seed);
                if let Err(error) = $crate::harness::check_leaves(&leaves, &options) {
                    panic!("{error}");
                }
            }
        }
    };
}
