//! Logic depth, on the netlist of Yosys for UltraScale+. Sub-blocks are wired to registers of their neighbours, so each
//! may use its clock's whole budget.

use ferroce_mac_100g::axis_rx::AxisRx;
use ferroce_mac_100g::axis_tx::AxisTx;
use ferroce_mac_100g::fcs_check::FcsCheck;
use ferroce_mac_100g::fcs_insert::FcsInsert;
use ferroce_mac_100g::mac_100g::FRAME_FIFO_LOG2_DEPTH;
use ferroce_mac_100g::pad60::Pad60;
use ferroce_mac_100g::pulse_cross::PulseCross;
use ferroce_mac_100g::rx_frame_fifo::RxFrameFifo;
use ferroce_mac_100g::tx_frame_fifo::TxFrameFifo;
use ferroce_mac_100g::{Fcs, Mac100g};
use ferroce_report::report_on;

/// Limit of the core's clock.
const CORE_LEVELS: Option<u32> = Some(6);
/// Limit of the MAC's clocks.
const MAC_LEVELS: Option<u32> = Some(4);

macro_rules! levels {
    ($($name:ident: $make:expr;)+) => {
        $(
            #[test]
            fn $name() {
                let report = report_on(stringify!($name), || $make);
                for clock in ["clock", "mac_clock", "mac_tx_clock", "mac_rx_clock", "from_clock"] {
                    assert!(report.levels(clock) <= MAC_LEVELS, "{clock}");
                }
                for clock in ["core_clock", "to_clock"] {
                    assert!(report.levels(clock) <= CORE_LEVELS, "{clock}");
                }
            }
        )+
    };
}

levels! {
    pad60: Pad60::default();
    tx_frame_fifo: TxFrameFifo::new(FRAME_FIFO_LOG2_DEPTH, 150);
    fcs_insert: FcsInsert::new(Fcs::InCard);
    fcs_insert_bypassed: FcsInsert::new(Fcs::InMac);
    fcs_check: FcsCheck::new(Fcs::InCard, 150);
    fcs_check_bypassed: FcsCheck::new(Fcs::InMac, 150);
    rx_frame_fifo: RxFrameFifo::new(FRAME_FIFO_LOG2_DEPTH, 150);
    pulse_cross: PulseCross::default();
    axis_tx: AxisTx::default();
    axis_rx: AxisRx::default();
    mac_100g: Mac100g::new(Fcs::InCard);
}
