//! Logic depth of the translation, on the netlist of Yosys for UltraScale+.

use ferroce_mmu::drain::Drain;
use ferroce_mmu::page_translator::PageTranslator;
use ferroce_mmu::region_writer::RegionWriter;
use ferroce_report::check_levels;

/// Most LUT levels between registers at 250 MHz.
const CORE_LEVELS: u32 = 6;

#[test]
fn page_translator_meets_the_core_clock() {
    check_levels("page_translator", CORE_LEVELS, || {
        PageTranslator::new(12, 12, 0)
    });
}

#[test]
fn region_writer_meets_the_core_clock() {
    check_levels("region_writer", CORE_LEVELS, || RegionWriter::new(12));
}

#[test]
fn drain_meets_the_core_clock() {
    check_levels("drain", CORE_LEVELS, || Drain::new(1023, 100));
}
