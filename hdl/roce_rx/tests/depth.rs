//! Logic depth of the receive side's parts at the sizes of a large card, on the netlist of Yosys for UltraScale+.

use ferroce_emit::on_big_stack;
use ferroce_emit::prelude::*;
use ferroce_roce_rx::completer::Completer;
use ferroce_roce_rx::control::RxControl;
use ferroce_roce_rx::mover::Mover;
use ferroce_roce_rx::packet_buffer::{PacketBuffer, DEFAULT_LOG2_BEATS};
use ferroce_roce_rx::parse::RxParse;

/// Most LUT levels between registers at 250 MHz.
const CORE_LEVELS: u32 = 6;
/// Log2 of the QPs of a large card.
const LOG2_QPS: usize = 12;

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
fn parser_meets_the_core_clock() {
    check("rx_parse", RxParse::default);
}

#[test]
fn packet_buffer_meets_the_core_clock() {
    check("packet_buffer", || PacketBuffer::new(DEFAULT_LOG2_BEATS));
}

#[test]
fn control_meets_the_core_clock() {
    check("rx_control", || RxControl::new(LOG2_QPS));
}

#[test]
fn completer_meets_the_core_clock() {
    check("completer", || Completer::new(LOG2_QPS, 4));
}

#[test]
fn mover_meets_the_core_clock() {
    check("mover", Mover::default);
}
