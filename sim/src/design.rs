//! The card as Verilog and as a simulation model.

use std::sync::Arc;

use ferroce_bridge::{BridgeError, Effort, Library, ModelSpec, Waiver};
use ferroce_dma::pcie_engine::PcieEngine;
use ferroce_dma::reader::requester_rx::DEFAULT_LOG2_TIMEOUT;
use ferroce_emit::{on_big_stack, Design, EmitError, WAIVERS};
use ferroce_nic::{Card, NicConfig};
use thiserror::Error;

/// Name of the card's top module.
pub const TOP: &str = "card";
/// Name of the top module of a PCIe engine by itself.
pub const ENGINE_TOP: &str = "pcie_engine";

/// Choices in building a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Waves can be recorded; costs speed even while none are.
    pub wave: bool,
    /// Threads that evaluate one card, 1 or more. Two cards run in two threads already.
    pub threads: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            wave: false,
            threads: 1,
        }
    }
}

/// The card can't be made.
#[derive(Debug, Error)]
pub enum DesignError {
    /// Its Verilog.
    #[error(transparent)]
    Emit(#[from] EmitError),
    /// Its model.
    #[error(transparent)]
    Bridge(#[from] BridgeError),
}

/// The Verilog of a card.
///
/// # Errors
/// The emitter refuses it.
pub fn card(config: &NicConfig) -> Result<Design, EmitError> {
    on_big_stack(|| ferroce_emit::emit(&Card::new(*config), TOP))
}

/// The Verilog of a PCIe engine by itself; `straddle`: TLPs share beats of RQ; `headers`: completions that the block has room for, 8 to 2048.
///
/// # Errors
/// The emitter refuses it.
pub fn engine(straddle: bool, headers: usize) -> Result<Design, EmitError> {
    on_big_stack(|| {
        let engine = PcieEngine::with_headers(straddle, DEFAULT_LOG2_TIMEOUT, headers);
        ferroce_emit::emit(&engine, ENGINE_TOP)
    })
}

/// A design for Verilator: one source, and the waivers of generated Verilog with their reasons.
pub fn spec(design: &Design) -> ModelSpec {
    let waivers = WAIVERS
        .iter()
        .map(|waiver| Waiver::everywhere(waiver.rule, waiver.reason));
    ModelSpec::new(design.top())
        .source(format!("{}.sv", design.top()), design.verilog())
        .waive(waivers)
}

/// The model of a design, optimised for speed; built at most once for the same Verilog and options.
///
/// # Errors
/// A tool is missing or rejects the design.
pub fn library(design: &Design, options: Options) -> Result<Arc<Library>, BridgeError> {
    let spec = spec(design)
        .effort(Effort::Run)
        .trace(options.wave)
        .threads(options.threads);
    ferroce_bridge::build(&spec)
}

/// The model of a card.
///
/// # Errors
/// As [`card`] and [`library`].
pub fn card_library(config: &NicConfig, options: Options) -> Result<Arc<Library>, DesignError> {
    Ok(library(&card(config)?, options)?)
}

/// The model of a PCIe engine by itself.
///
/// # Errors
/// As [`engine`] and [`library`].
pub fn engine_library(
    straddle: bool,
    headers: usize,
    options: Options,
) -> Result<Arc<Library>, DesignError> {
    Ok(library(&engine(straddle, headers)?, options)?)
}
