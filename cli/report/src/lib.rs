//! What a hardware block costs on UltraScale+ and how deep its logic is.
//!
//! [`analyse`] synthesises a block with Yosys and walks the resulting netlist: cells by kind, and
//! for each clock the longest path between registers, RAMs and ports in LUT levels, with its nets.
//! Netlists are cached by the Verilog's content.
//!
//! Depth is counted in eighths of a LUT level, so that dedicated wires can cost a part of one:
//!
//! | passing through | levels | why |
//! |---|---|---|
//! | LUT1 to LUT6, address to output of LUT RAM and shift registers | 1 | routing and a LUT |
//! | MUXF7/8/9 from a data input | 1/4 | same slice, no routing |
//! | MUXF7/8/9 from the select input | 1 | comes over routing like a LUT input |
//! | CARRY4/8 from S, DI or CYINIT | 1 | entering a chain |
//! | CARRY4 (CARRY8) from CI | 1/8 (1/4) | 4 (8) bits of dedicated carry |
//! | inverters and buffers | 0 | absorbed by their neighbours |
//!
//! Exclusive ors of more than six inputs are mapped to LUTs of six inputs, as FPGA vendors' tools do,
//! and not shared between outputs: 36 inputs are 2 levels and 7 LUTs for each output.
//! A path starts at 0 at registers, block RAMs and ports, and at 1 at a LUT RAM's or shift
//! register's stored bits, which are read through a LUT. A 32-bit adder between registers is thus
//! 1 (LUT) + 1 (entry) + 7/8 (seven CARRY4 passed by ripple) = 2 7/8, shown as 2 levels.
//!
//! The mapper aims at what is reported: its delays are those of this table, and each clock's logic is mapped as a
//! module of its own. A mapper shortens paths down to the longest one of its input, and for all others gives
//! depth back for area. With delays in picoseconds, by which a carry chain counts more and a LUT's fast inputs less than
//! here, and with all clocks in one module, one long path makes chains of small LUTs out of shallow logic
//! everywhere, in other clocks too. What the mapper aims at hides no depth: the parts are flattened
//! again, and the reported paths are walked on that netlist, cell by cell, through all parts. A path from one part
//! into another can only come out deeper, since nothing is optimised across; so can one from a LUT RAM or shift
//! register, whose first level the mapper does not know.
//!
//! ```no_run
//! let verilog = "module sum(input c, input [7:0] a, input [7:0] b, output reg [7:0] y);
//!                  always @(posedge c) y <= a + b; endmodule";
//! let report = ferroce_report::analyse(verilog, "sum")?;
//! assert!(report.levels("c") <= Some(6), "{report}");
//! # Ok::<(), ferroce_report::ReportError>(())
//! ```

mod block;
mod cells;
mod depth;
mod error;
mod netlist;
mod proof;
mod synthesis;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use block::{check_levels, report_on};
pub use cells::Resources;
pub use depth::{Domain, DomainReport, Path, Step};
pub use error::ReportError;
pub use proof::{Proof, Verdict};

/// Cost and depth of one block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockReport {
    /// Top module.
    pub top: String,
    /// What it occupies.
    pub resources: Resources,
    /// Cells by type.
    pub cells: BTreeMap<String, u32>,
    /// Longest paths by the clock that ends them.
    pub domains: Vec<DomainReport>,
}

impl BlockReport {
    /// LUT levels of the longest path into registers or RAMs of the clock of this name; none if
    /// nothing is clocked by it.
    pub fn levels(&self, clock: &str) -> Option<u32> {
        let wanted = Domain::Clock(clock.to_owned());
        self.domains
            .iter()
            .find(|report| report.domain == wanted)
            .map(DomainReport::levels)
    }

    /// LUT levels of the longest path of all domains; 0 for a block without logic.
    pub fn worst(&self) -> u32 {
        self.domains
            .iter()
            .map(DomainReport::levels)
            .max()
            .unwrap_or(0)
    }
}

impl std::fmt::Display for BlockReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Resources {
            luts,
            lut_rams,
            lut_shifts,
            registers,
            wide_muxes,
            carry_bits,
            block_ram_halves,
            ultra_rams,
            dsps,
            black_boxes,
        } = &self.resources;
        writeln!(
            f,
            "{}: {luts} LUT, {lut_rams} LUT as RAM, {lut_shifts} LUT as shift register, {registers} FF, \
             {wide_muxes} MUXF, {carry_bits} carry bits, {:.1} block RAM, {ultra_rams} URAM, {dsps} DSP, \
             {black_boxes} black boxes",
            self.top,
            f64::from(*block_ram_halves) / 2.0
        )?;
        for report in &self.domains {
            writeln!(f, "{}: {}", report.domain, report.longest)?;
            if let Some(path) = &report.longest_from_ram {
                writeln!(f, "{} from RAM outputs: {path}", report.domain)?;
            }
        }
        Ok(())
    }
}

/// Synthesises the module `top` of a Verilog text, sub-modules flattened into it, and reports on it.
/// Modules marked `(* blackbox *)` stay as they are: paths end and start at them.
///
/// # Errors
/// Yosys is missing or rejects the Verilog; the logic has a combinational loop.
pub fn analyse(verilog: &str, top: &str) -> Result<BlockReport, ReportError> {
    let netlist = synthesis::synthesise(verilog, top)?;
    let mut resources = Resources::default();
    let mut cells = BTreeMap::new();
    for cell in netlist.cells.values() {
        resources.add(&cell.kind);
        *cells.entry(cell.kind.clone()).or_default() += 1;
    }
    Ok(BlockReport {
        top: top.to_owned(),
        resources,
        cells,
        domains: depth::domains(&netlist)?,
    })
}
