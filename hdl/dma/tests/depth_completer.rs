//! Logic depth of the completer and the interrupts, on the netlist of Yosys for UltraScale+.

use ferroce_dma::completer::CqAccess;
use ferroce_dma::msix::{MsixTable, MAX_VECTORS_LOG2};
use ferroce_emit::on_big_stack;
use ferroce_emit::prelude::*;

/// Most LUT levels between registers at 250 MHz.
const CORE_LEVELS: u32 = 6;

fn check<U: Block>(name: &str, make: impl FnOnce() -> U + Send) {
    let verilog = on_big_stack(|| {
        ferroce_emit::emit(&make(), name)
            .expect("the block has Verilog")
            .verilog()
    });
    let report = ferroce_report::analyse(&verilog, name).expect("Yosys takes the block");
    println!("{report}");
    assert!(report.worst() <= CORE_LEVELS, "{report}");
}

#[test]
fn completer_meets_the_core_clock() {
    check("cq_access", CqAccess::default);
}

#[test]
fn interrupts_meet_the_core_clock() {
    check("msix_table", || MsixTable::new(MAX_VECTORS_LOG2));
}
