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
use ferroce_report::check_levels;

/// Most LUT levels between registers at 250 MHz.
const CORE_LEVELS: u32 = 6;

#[test]
fn read_split_meets_the_core_clock() {
    check_levels("read_split", CORE_LEVELS, ReadSplit::default);
}

#[test]
fn rc_intake_meets_the_core_clock() {
    check_levels("rc_intake", CORE_LEVELS, RcIntake::default);
}

#[test]
fn retire_meets_the_core_clock() {
    check_levels("retire", CORE_LEVELS, Retire::default);
}

#[test]
fn deliver_meets_the_core_clock() {
    check_levels("deliver", CORE_LEVELS, Deliver::default);
}

#[test]
fn requester_rx_meets_the_core_clock() {
    check_levels("requester_rx", CORE_LEVELS, RequesterRx::default);
}

#[test]
fn requester_tx_meets_the_core_clock() {
    check_levels("requester_tx", CORE_LEVELS, || RequesterTx::new(true));
}

#[test]
fn requester_tx_without_straddling_meets_the_core_clock() {
    check_levels("requester_tx_one_a_beat", CORE_LEVELS, || {
        RequesterTx::new(false)
    });
}

#[test]
fn completer_meets_the_core_clock() {
    check_levels("cq_access", CORE_LEVELS, CqAccess::default);
}

#[test]
fn interrupts_meet_the_core_clock() {
    check_levels("msix_table", CORE_LEVELS, || {
        MsixTable::new(MAX_VECTORS_LOG2)
    });
}

/// The paths from block to block.
#[test]
fn whole_engine_meets_the_core_clock() {
    check_levels("pcie_engine", CORE_LEVELS, PcieEngine::default);
}
