//! Reports on blocks that are still Rust.

use ferroce_emit::prelude::Block;
use ferroce_emit::{emit, on_big_stack};

use crate::{analyse, BlockReport};

/// Makes a block, prints it as Verilog under `name`, synthesises it, and prints its report.
///
/// # Panics
/// The block has no Verilog, or Yosys is missing or refuses it.
pub fn report_on<U: Block>(name: &str, make: impl FnOnce() -> U + Send) -> BlockReport {
    let design = on_big_stack(|| emit(&make(), name))
        .unwrap_or_else(|error| panic!("{name} has no Verilog: {error}"));
    let report = analyse(&design.verilog(), name)
        .unwrap_or_else(|error| panic!("{name} can't be synthesised: {error}"));
    println!("{report}");
    report
}

/// Holds a block to at most `limit` LUT levels between registers, in each of its clocks.
///
/// # Panics
/// A path is longer, or as [`report_on`].
pub fn check_levels<U: Block>(name: &str, limit: u32, make: impl FnOnce() -> U + Send) {
    let report = report_on(name, make);
    assert!(
        report.worst() <= limit,
        "more than {limit} levels: {report}"
    );
}
