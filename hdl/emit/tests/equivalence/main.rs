//! Rust against Verilog for everything that a kernel may contain.
//!
//! Each module here holds constructs that rust-hdl's own printer, or Verilog's
//! rules about widths, precedence and latches, would get wrong.

mod arithmetic;
mod clocks;
mod data;
mod flow;
mod slices;
mod streams;
mod tools;

use ferroce_emit::harness::{check_leaves, leaves_of, Options};

#[test]
fn rust_and_verilog_agree() {
    let leaves = leaves_of(env!("CARGO_PKG_NAME"));
    assert!(leaves.len() > 20, "only {} modules", leaves.len());
    let options = Options::from_env();
    println!("FERROCE_SEED={}", options.seed);
    if let Err(error) = check_leaves(&leaves, &options) {
        panic!("{error}");
    }
}
