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

/// A card with room for next to nothing: a memory region, a few pages.
pub const TINY: NicConfig = NicConfig {
    mrs_log2: 2,
    page_cache_log2: 1,
    ..NicConfig::SMALL
};

/// The model of [`TINY`].
///
/// # Errors
/// As [`small`].
pub fn tiny() -> Result<Arc<Library>> {
    static MODEL: OnceLock<Result<Arc<Library>>> = OnceLock::new();
    of(&TINY, &MODEL)
}

/// A card whose packet buffer holds what comes at line rate during a walk of a page table, as [`NicConfig::LARGE`] has it, and that
/// gives up a read of host memory after 65 us, so that simulations see it do so.
pub const BUFFERED: NicConfig = NicConfig {
    packet_buffer_log2: NicConfig::LARGE.packet_buffer_log2,
    read_timeout_log2: 14,
    ..NicConfig::SMALL
};

/// The model of [`BUFFERED`].
///
/// # Errors
/// As [`small`].
pub fn buffered() -> Result<Arc<Library>> {
    static MODEL: OnceLock<Result<Arc<Library>>> = OnceLock::new();
    of(&BUFFERED, &MODEL)
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
