//! Everything together.

use super::error::HarnessError;
use super::leaf::Leaf;
use super::seed::number;
use super::trace::{record, Trace};
use super::verilog::{batch, replay};
use crate::stack::{on_big_stack, on_big_stacks};

/// Modules in one Verilated model. Fewer builds are faster, but a changed
/// module rebuilds its whole batch.
const BATCH: usize = 16;

/// Clock cycles of every module, unless told otherwise.
const CYCLES: usize = 2_000;

/// How long and from where to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Clock cycles of every module (changes of inputs where there is no clock).
    pub cycles: usize,
    /// Start of all random choices.
    pub seed: u64,
}

impl Options {
    /// The seed from `FERROCE_SEED`, else a new one; the cycles from
    /// `FERROCE_CYCLES`, else 2,000.
    ///
    /// # Panics
    /// If one of them is no number.
    #[must_use]
    pub fn from_env() -> Self {
        let cycles = number("FERROCE_CYCLES").and_then(|cycles| usize::try_from(cycles).ok());
        Self {
            cycles: cycles.unwrap_or(CYCLES),
            seed: number("FERROCE_SEED").unwrap_or_else(rand::random),
        }
    }
}

/// Runs modules in Rust and in Verilog and compares them.
///
/// # Errors
/// See [`HarnessError`].
pub fn check_leaves(leaves: &[&'static Leaf], options: &Options) -> Result<(), HarnessError> {
    if let Some(pair) = leaves.windows(2).find(|pair| pair[0].name == pair[1].name) {
        return Err(HarnessError::Duplicate(pair[0].name.to_owned()));
    }
    let recorded = on_big_stacks(leaves, |leaf| record(leaf, options.cycles, options.seed));
    let mut traces: Vec<(&Leaf, Trace)> = Vec::with_capacity(leaves.len());
    for (leaf, trace) in leaves.iter().zip(recorded) {
        traces.push((leaf, trace?));
    }
    let mut mismatches = Vec::new();
    for traces in traces.chunks(BATCH) {
        let traces: Vec<(&Leaf, &Trace)> = traces.iter().map(|(l, t)| (*l, t)).collect();
        let batch = on_big_stack(|| batch(&traces))?;
        mismatches.extend(replay(&batch, &traces)?);
    }
    if mismatches.is_empty() {
        Ok(())
    } else {
        Err(HarnessError::Mismatch {
            mismatches,
            seed: options.seed,
        })
    }
}
