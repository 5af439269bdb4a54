//! A card whose QPs let peers do everything.

use anyhow::Result;
use ferroce_driver::Pmtu;

use crate::bench::Bench;
use crate::model;
use crate::reads::configs;
use crate::seed::seed;

/// A bench with two such QPs.
///
/// # Errors
/// Of simulation and driver.
pub fn bench(pmtu: Pmtu) -> Result<Bench> {
    Bench::new(&model::small()?, seed(), &configs(pmtu))
}
