//! The simulation model of a card, with a word for the user while it is built.

use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use ferroce_bridge::Library;
use ferroce_emit::Design;
use ferroce_nic::NicConfig;
use ferroce_sim::design::{self, Options};
use ferroce_sim::pair::Pair;
use serde::Serialize;

use crate::progress;

/// Prints and verilates a card.
///
/// # Errors
/// A tool is missing or rejects it.
pub fn card(config: &NicConfig, wave: bool) -> Result<Arc<Library>> {
    of(&design::card(config)?, wave)
}

/// Verilates a printed card.
///
/// # Errors
/// A tool is missing or rejects it.
pub fn of(card: &Design, wave: bool) -> Result<Arc<Library>> {
    let options = Options {
        wave,
        ..Options::default()
    };
    verilate(
        card,
        options,
        "Verilating the card (minutes for a new one, then cached)",
    )
}

/// Prints and verilates a PCIe engine by itself; `straddle`: TLPs share beats of RQ; `headers`: completions that the block has room for.
///
/// # Errors
/// A tool is missing or rejects it.
pub fn engine(straddle: bool, headers: usize) -> Result<Arc<Library>> {
    verilate(
        &design::engine(straddle, headers)?,
        Options::default(),
        "Verilating the PCIe engine (a minute for a new one, then cached)",
    )
}

fn verilate(design: &Design, options: Options, notice: &'static str) -> Result<Arc<Library>> {
    let notice = progress::notice(notice);
    let started = Instant::now();
    let library = design::library(design, options)?;
    drop(notice);
    tracing::info!(seconds = started.elapsed().as_secs_f64(), "model ready");
    Ok(library)
}

/// A counter of a card that is not 0.
#[derive(Debug, Clone, Serialize)]
pub struct Count {
    /// Which host.
    pub host: usize,
    /// Name of the counter.
    pub counter: &'static str,
    /// Its value.
    pub value: u64,
}

/// All counters of both cards that are not 0.
///
/// # Errors
/// The cards don't answer.
pub fn counts(pair: &Pair) -> Result<Vec<Count>> {
    let mut counts = Vec::new();
    for (host, side) in pair.sides.iter().enumerate() {
        let counters = side.device.counters()?;
        let some = counters.iter().filter(|(_, value)| *value != 0);
        counts.extend(some.map(|(counter, value)| Count {
            host,
            counter: counter.name(),
            value,
        }));
    }
    Ok(counts)
}
