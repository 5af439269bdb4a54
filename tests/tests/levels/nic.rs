//! Logic depth of the blocks, at the sizes of a large card.

use ferroce_nic::bar::Bar;
use ferroce_nic::bar_split::BarSplit;
use ferroce_nic::counters::Counters;
use ferroce_nic::cqe_writer::CqeWriter;
use ferroce_nic::events::EventPath;
use ferroce_nic::mr_check::MrChecker;
use ferroce_nic::qp_events::QpEvents;
use ferroce_nic::srq_limit::SrqLimits;
use ferroce_nic::wqe_cache::WqeCache;
use ferroce_nic::NicConfig;
use ferroce_report::check_levels;
use ferroce_rtl::desc::cfg::table;

/// Most LUT levels between registers at 250 MHz.
const CORE_LEVELS: u32 = 6;

#[test]
fn wqe_cache_meets_the_core_clock() {
    check_levels("wqe_cache", CORE_LEVELS, || {
        WqeCache::new(10, 6, table::SQ, 0x80)
    });
}

#[test]
fn receive_wqe_cache_meets_the_core_clock() {
    check_levels("wqe_cache", CORE_LEVELS, || {
        WqeCache::receive(10, 6, 6, 0xC0)
    });
}

#[test]
fn srq_limits_meet_the_core_clock() {
    check_levels("srq_limits", CORE_LEVELS, || SrqLimits::new(10, 6));
}

#[test]
fn qp_events_meet_the_core_clock() {
    check_levels("qp_events", CORE_LEVELS, || QpEvents::new(10));
}

#[test]
fn mr_checker_meets_the_core_clock() {
    check_levels("mr_checker", CORE_LEVELS, || MrChecker::new(12));
}

#[test]
fn cqe_writer_meets_the_core_clock() {
    check_levels("cqe_writer", CORE_LEVELS, || CqeWriter::new(10));
}

#[test]
fn event_path_meets_the_core_clock() {
    check_levels("event_path", CORE_LEVELS, || EventPath::new(7));
}

#[test]
fn bar_split_meets_the_core_clock() {
    check_levels("bar_split", CORE_LEVELS, BarSplit::default);
}

#[test]
fn bar_meets_the_core_clock() {
    check_levels("bar", CORE_LEVELS, || Bar::new(&NicConfig::LARGE));
}

#[test]
fn counters_meet_the_core_clock() {
    check_levels("counters", CORE_LEVELS, Counters::default);
}
