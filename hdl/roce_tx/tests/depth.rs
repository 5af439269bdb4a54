//! Logic depth of the transmit side's parts at the sizes of a large card, on the netlist of Yosys for UltraScale+.

use ferroce_emit::on_big_stack;
use ferroce_emit::prelude::*;
use ferroce_roce_tx::fetch::PayloadFetch;
use ferroce_roce_tx::gate::TxGate;
use ferroce_roce_tx::header::TxHeader;
use ferroce_roce_tx::merge::TxMerge;
use ferroce_roce_tx::roce_tx::{RoceTx, TxSizes};
use ferroce_roce_tx::sched::TxSched;
use ferroce_roce_tx::send::TxSend;

/// Most LUT levels between registers at 250 MHz.
const CORE_LEVELS: u32 = 6;
/// Log2 of the QPs of a large card.
const LOG2_QPS: usize = 12;
/// Log2 of the messages that each may have outstanding.
const LOG2_MESSAGES: usize = 7;

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
fn scheduler_meets_the_core_clock() {
    check("tx_sched", || TxSched::new(LOG2_QPS));
}

#[test]
fn sender_meets_the_core_clock() {
    check("tx_send", || TxSend::new(LOG2_QPS, LOG2_MESSAGES));
}

#[test]
fn gate_meets_the_core_clock() {
    check("tx_gate", || TxGate::new(LOG2_QPS));
}

#[test]
fn merge_meets_the_core_clock() {
    check("tx_merge", TxMerge::default);
}

#[test]
fn header_meets_the_core_clock() {
    check("tx_header", || TxHeader::new(LOG2_QPS));
}

#[test]
fn payload_fetch_meets_the_core_clock() {
    check("payload_fetch", PayloadFetch::default);
}

/// The paths from block to block.
#[test]
fn whole_transmit_side_meets_the_core_clock() {
    check("roce_tx", || {
        RoceTx::new(TxSizes {
            log2_qps: LOG2_QPS,
            log2_messages: LOG2_MESSAGES,
            ..TxSizes::default()
        })
    });
}
