//! Why a report could not be made.

use ferroce_bridge::BridgeError;

/// Failure of synthesis or of the netlist's analysis.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A missing tool, or a file system failure.
    #[error(transparent)]
    Tool(#[from] BridgeError),
    /// The top module's name can't be a Verilog identifier.
    #[error("{0:?} is not a module name")]
    TopName(String),
    /// Properties or a change have no place in the Verilog.
    #[error("the Verilog does not have {0:?}, or not just once")]
    Anchor(String),
    /// Yosys refused the Verilog.
    #[error("Yosys rejects {top}:\n{messages}")]
    Synthesis {
        /// Top module.
        top: String,
        /// Its error lines.
        messages: String,
    },
    /// Yosys wrote something that is no netlist of the top module.
    #[error("the netlist of {top} can't be read: {problem}")]
    Netlist {
        /// Top module.
        top: String,
        /// What is wrong.
        problem: String,
    },
    /// Logic that feeds itself without a register has no depth.
    #[error("a combinational loop runs through {}", .nets.join(" -> "))]
    Loop {
        /// Nets along the loop.
        nets: Vec<String>,
    },
}
