//! Logic depth of the blocks, at the sizes of a large card.

use ferroce_emit::on_big_stack;
use ferroce_emit::prelude::*;
use ferroce_nic::bar::Bar;
use ferroce_nic::bar_split::BarSplit;
use ferroce_nic::counters::Counters;
use ferroce_nic::cqe_writer::CqeWriter;
use ferroce_nic::events::EventPath;
use ferroce_nic::mr_check::MrChecker;
use ferroce_nic::wqe_cache::WqeCache;
use ferroce_nic::NicConfig;
use ferroce_rtl::desc::cfg::table;

/// Most LUT levels between registers at 250 MHz.
const CORE_LEVELS: u32 = 6;

fn check<U: Block>(name: &str, make: impl FnOnce() -> U) {
    let mut block = make();
    block.connect_all();
    let design = ferroce_emit::emit(&block, name).expect("the block can be printed");
    let report = ferroce_report::analyse(&design.verilog(), name).expect("Yosys synthesises it");
    println!("{report}");
    assert!(report.worst() <= CORE_LEVELS, "{report}");
}

#[test]
fn wqe_cache_meets_the_core_clock() {
    on_big_stack(|| check("wqe_cache", || WqeCache::new(10, 6, table::SQ, 0x80)));
}

#[test]
fn mr_checker_meets_the_core_clock() {
    on_big_stack(|| check("mr_checker", || MrChecker::new(12)));
}

#[test]
fn cqe_writer_meets_the_core_clock() {
    on_big_stack(|| check("cqe_writer", || CqeWriter::new(10)));
}

#[test]
fn event_path_meets_the_core_clock() {
    on_big_stack(|| check("event_path", || EventPath::new(7)));
}

#[test]
fn bar_split_meets_the_core_clock() {
    on_big_stack(|| check("bar_split", BarSplit::default));
}

#[test]
fn bar_meets_the_core_clock() {
    on_big_stack(|| check("bar", || Bar::new(&NicConfig::LARGE)));
}

#[test]
fn counters_meet_the_core_clock() {
    on_big_stack(|| check("counters", Counters::default));
}
