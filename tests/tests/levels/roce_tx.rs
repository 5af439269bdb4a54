//! Logic depth of the transmit side's parts at the sizes of a large card, on the netlist of Yosys for UltraScale+.

use ferroce_report::check_levels;
use ferroce_roce_tx::answers::TxAnswers;
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
/// Log2 of the memory regions of a large card.
const LOG2_MRS: usize = 12;
/// Log2 of the messages that each may have outstanding.
const LOG2_MESSAGES: usize = 7;

#[test]
fn scheduler_meets_the_core_clock() {
    check_levels("tx_sched", CORE_LEVELS, || TxSched::new(LOG2_QPS));
}

#[test]
fn sender_meets_the_core_clock() {
    check_levels("tx_send", CORE_LEVELS, || {
        TxSend::new(LOG2_QPS, LOG2_MESSAGES)
    });
}

#[test]
fn answers_meet_the_core_clock() {
    check_levels("tx_answers", CORE_LEVELS, || {
        TxAnswers::new(LOG2_QPS, LOG2_MRS, 255)
    });
}

#[test]
fn gate_meets_the_core_clock() {
    check_levels("tx_gate", CORE_LEVELS, || TxGate::new(LOG2_QPS));
}

#[test]
fn merge_meets_the_core_clock() {
    check_levels("tx_merge", CORE_LEVELS, TxMerge::default);
}

#[test]
fn header_meets_the_core_clock() {
    check_levels("tx_header", CORE_LEVELS, || TxHeader::new(LOG2_QPS));
}

#[test]
fn payload_fetch_meets_the_core_clock() {
    check_levels("payload_fetch", CORE_LEVELS, PayloadFetch::default);
}

/// The paths from block to block.
#[test]
fn whole_transmit_side_meets_the_core_clock() {
    check_levels("roce_tx", CORE_LEVELS, || {
        RoceTx::new(TxSizes {
            log2_qps: LOG2_QPS,
            log2_messages: LOG2_MESSAGES,
            ..TxSizes::default()
        })
    });
}
