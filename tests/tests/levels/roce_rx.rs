//! Logic depth of the receive side's parts at the sizes of a large card, on the netlist of Yosys for UltraScale+.

use ferroce_report::check_levels;
use ferroce_roce_rx::completer::Completer;
use ferroce_roce_rx::control::RxControl;
use ferroce_roce_rx::mover::Mover;
use ferroce_roce_rx::packet_buffer::{PacketBuffer, DEFAULT_LOG2_BEATS};
use ferroce_roce_rx::parse::RxParse;

/// Most LUT levels between registers at 250 MHz.
const CORE_LEVELS: u32 = 6;
/// Log2 of the QPs of a large card.
const LOG2_QPS: usize = 12;

#[test]
fn parser_meets_the_core_clock() {
    check_levels("rx_parse", CORE_LEVELS, RxParse::default);
}

#[test]
fn packet_buffer_meets_the_core_clock() {
    check_levels("packet_buffer", CORE_LEVELS, || {
        PacketBuffer::new(DEFAULT_LOG2_BEATS)
    });
}

#[test]
fn control_meets_the_core_clock() {
    check_levels("rx_control", CORE_LEVELS, || RxControl::new(LOG2_QPS, 6));
}

#[test]
fn completer_meets_the_core_clock() {
    check_levels("completer", CORE_LEVELS, || Completer::new(LOG2_QPS, 4));
}

#[test]
fn mover_meets_the_core_clock() {
    check_levels("mover", CORE_LEVELS, Mover::default);
}
