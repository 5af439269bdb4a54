//! Logic depth of the whole card in one netlist: paths through several blocks, and logic that is only optimised when its
//! neighbours are known.

use ferroce_nic::{Card, NicConfig};
use ferroce_report::report_on;

/// Most LUT levels between registers at 250 MHz.
const CORE_LEVELS: Option<u32> = Some(7);
/// Most LUT levels between registers at 322 MHz.
const MAC_LEVELS: Option<u32> = Some(5);

/// Of the small card, whose blocks are the large one's with smaller RAMs; the blocks' own tests have the large sizes.
#[test]
fn the_card_meets_its_clocks() {
    let report = report_on("card", || Card::new(NicConfig::SMALL));
    for (clock, limit) in [
        ("core_clock", CORE_LEVELS),
        ("mac_tx_clock", MAC_LEVELS),
        ("mac_rx_clock", MAC_LEVELS),
    ] {
        let levels = report.levels(clock);
        assert!(levels.is_some(), "nothing is clocked by {clock}");
        assert!(levels <= limit, "{levels:?} levels in {clock}: {report}");
    }
}
