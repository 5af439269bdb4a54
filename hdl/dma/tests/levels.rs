//! Logic depth of the PCIe engine's parts and of the whole, on the netlist of Yosys for UltraScale+.

use ferroce_dma::completer::CqAccess;
use ferroce_dma::msix::{MsixTable, MAX_VECTORS_LOG2};
use ferroce_dma::pcie_engine::PcieEngine;
use ferroce_dma::reader::deliver::Deliver;
use ferroce_dma::reader::rc_intake::RcIntake;
use ferroce_dma::reader::read_split::ReadSplit;
use ferroce_dma::reader::retire::Retire;
use ferroce_dma::reader::RequesterRx;
use ferroce_dma::requester::requester_tx::RequesterTx;
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
fn read_split_meets_the_core_clock() {
    check("read_split", ReadSplit::default);
}

#[test]
fn rc_intake_meets_the_core_clock() {
    check("rc_intake", RcIntake::default);
}

#[test]
fn retire_meets_the_core_clock() {
    check("retire", Retire::default);
}

#[test]
fn deliver_meets_the_core_clock() {
    check("deliver", Deliver::default);
}

#[test]
fn requester_rx_meets_the_core_clock() {
    check("requester_rx", RequesterRx::default);
}

#[test]
fn requester_tx_meets_the_core_clock() {
    check("requester_tx", || RequesterTx::new(true));
}

#[test]
fn requester_tx_without_straddling_meets_the_core_clock() {
    check("requester_tx_one_a_beat", || RequesterTx::new(false));
}

#[test]
fn completer_meets_the_core_clock() {
    check("cq_access", CqAccess::default);
}

#[test]
fn interrupts_meet_the_core_clock() {
    check("msix_table", || MsixTable::new(MAX_VECTORS_LOG2));
}

/// The paths from block to block.
#[test]
fn whole_engine_meets_the_core_clock() {
    check("pcie_engine", PcieEngine::default);
}
