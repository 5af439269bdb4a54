//! What the harness finds.

use crate::error::EmitError;
use ferroce_bridge::BridgeError;
use thiserror::Error;

/// Rust and Verilog disagree, or could not be compared.
#[derive(Debug, Error)]
pub enum HarnessError {
    /// The module has no Verilog.
    #[error("{leaf}: {source}")]
    Emit {
        /// The registered name.
        leaf: String,
        /// Why.
        source: EmitError,
    },
    /// Verilator or the C++ compiler failed.
    #[error(transparent)]
    Bridge(#[from] BridgeError),
    /// Verilator questions the Verilog.
    #[error("Verilator -Wall:\n{0}")]
    Lint(String),
    /// The Rust simulation can't go on.
    #[error("{leaf}: cycle {cycle}: {problem} (FERROCE_SEED={seed})")]
    Rust {
        /// The registered name.
        leaf: String,
        /// Rising clock edges so far.
        cycle: usize,
        /// What happened.
        problem: String,
        /// The run's seed.
        seed: u64,
    },
    /// Two modules of a crate with one name.
    #[error("two modules are registered as {0}")]
    Duplicate(String),
    /// The ports that the derive lists differ from those that the emitter sees.
    #[error("{leaf}: derive(Module) and the circuit disagree about the port {port}")]
    Ports {
        /// The registered name.
        leaf: String,
        /// The port.
        port: String,
    },
    /// Outputs differ; one line a module.
    #[error("Rust and Verilog disagree (FERROCE_SEED={seed}):\n{}", lines(.mismatches))]
    Mismatch {
        /// The first difference of each module.
        mismatches: Vec<Mismatch>,
        /// The run's seed.
        seed: u64,
    },
}

/// The first difference between the Rust and the Verilog of a module.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{leaf} ({module}): cycle {cycle}: {port} bit {bit}: Rust {rust}, Verilog {verilog}")]
pub struct Mismatch {
    /// The registered name.
    pub leaf: String,
    /// The Verilog module.
    pub module: String,
    /// Rising clock edges so far, in any of its clocks.
    pub cycle: usize,
    /// The output port.
    pub port: String,
    /// The lowest bit that differs.
    pub bit: usize,
    /// Rust's value in hexadecimal.
    pub rust: String,
    /// Verilog's value in hexadecimal.
    pub verilog: String,
}

fn lines(mismatches: &[Mismatch]) -> String {
    let lines: Vec<String> = mismatches.iter().map(ToString::to_string).collect();
    lines.join("\n")
}
