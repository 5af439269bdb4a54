//! Models of cards, each built once.

use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result};
use ferroce_bridge::Library;
use ferroce_nic::NicConfig;
use ferroce_sim::design::{card_library, Options};

/// A card with enough unacknowledged messages to fill the wire with small ones, whose QPNs reach those in the
/// captures.
pub const WIDE: NicConfig = NicConfig {
    qps_log2: 13,
    retransmit_log2: 6,
    ..NicConfig::SMALL
};

/// The model of [`NicConfig::SMALL`].
///
/// # Errors
/// The card can't be printed or compiled.
pub fn small() -> Result<Arc<Library>> {
    static MODEL: OnceLock<Result<Arc<Library>>> = OnceLock::new();
    of(&NicConfig::SMALL, &MODEL)
}

/// The model of [`WIDE`].
///
/// # Errors
/// As [`small`].
pub fn wide() -> Result<Arc<Library>> {
    static MODEL: OnceLock<Result<Arc<Library>>> = OnceLock::new();
    of(&WIDE, &MODEL)
}

/// A failure is kept too: no test tries it again.
fn of(config: &NicConfig, cell: &OnceLock<Result<Arc<Library>>>) -> Result<Arc<Library>> {
    let built = cell.get_or_init(|| {
        card_library(config, Options::default()).with_context(|| format!("model of {config:?}"))
    });
    built
        .as_ref()
        .map(Arc::clone)
        .map_err(|error| anyhow::anyhow!("{error:#}"))
}
