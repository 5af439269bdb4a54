//! Logic depth of the translation, on the netlist of Yosys for UltraScale+.

use ferroce_emit::on_big_stack;
use ferroce_emit::prelude::*;
use ferroce_mmu::drain::Drain;
use ferroce_mmu::page_translator::PageTranslator;
use ferroce_mmu::region_writer::RegionWriter;

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
fn page_translator_meets_the_core_clock() {
    check("page_translator", || PageTranslator::new(12, 12, 0));
}

#[test]
fn region_writer_meets_the_core_clock() {
    check("region_writer", || RegionWriter::new(12));
}

#[test]
fn drain_meets_the_core_clock() {
    check("drain", || Drain::new(1023, 100));
}
