//! The PCIe link and the host behind it on the command line.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::Args;
use ferroce_pcie::root::config::{Generation, LinkSpeed};
use ferroce_sim::pcie::PcieConfig;

use crate::args::{number, UsageError};

/// Nanoseconds of a core cycle.
const CYCLE_NS: u64 = 4;

/// One of the sizes that PCI Express has names for.
fn one_of(sizes: &'static [&'static str]) -> impl TypedValueParser<Value = usize> {
    PossibleValuesParser::new(sizes).try_map(|text| text.parse::<usize>())
}

/// Link and host.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Link and host")]
pub struct HostArgs {
    /// Max payload of a TLP in bytes
    #[arg(long, value_name = "BYTES", default_value = "256", value_parser = one_of(&["128", "256", "512", "1024"]))]
    pub max_payload: usize,
    /// Max read request in bytes; the engine's own TLPs are of at most 512
    #[arg(long, value_name = "BYTES", default_value = "512", value_parser = one_of(&["128", "256", "512", "1024", "2048", "4096"]))]
    pub read_request: usize,
    /// From a read request to the host's answer in nanoseconds, in steps of 4, 500 to 100000; up to 128 are added at random
    #[arg(long, value_name = "NS", default_value = "900", value_parser = number(500..=100_000))]
    pub latency: u64,
    /// Generation of PCI Express
    #[arg(long, value_name = "N", default_value = "3", value_parser = one_of(&["1", "2", "3", "4"]))]
    pub generation: usize,
    /// Lanes, at most 8 of generation 4
    #[arg(long, value_name = "N", default_value = "16", value_parser = one_of(&["1", "2", "4", "8", "16"]))]
    pub width: usize,
    /// TLPs don't share beats of RQ and RC
    #[arg(long)]
    pub no_straddle: bool,
}

impl HostArgs {
    /// Link and host.
    ///
    /// # Errors
    /// [`UsageError`] for a link that the block does not have.
    pub fn config(&self) -> Result<PcieConfig, UsageError> {
        let generation = match self.generation {
            1 => Generation::Gen1,
            2 => Generation::Gen2,
            3 => Generation::Gen3,
            _ => Generation::Gen4,
        };
        if generation == Generation::Gen4 && self.width == 16 {
            return Err(UsageError(
                "the block has at most 8 lanes of generation 4; --width 8 is as fast as 16 of generation 3".to_owned(),
            ));
        }
        let mut config = PcieConfig::default();
        config.root.speed = LinkSpeed {
            generation,
            lanes: self.width as u64,
        };
        config.root.max_payload = self.max_payload;
        config.root.max_read = self.read_request;
        config.root.read_latency = self.latency.div_ceil(CYCLE_NS);
        config.block.straddle_rq = !self.no_straddle;
        config.block.straddle_rc = !self.no_straddle;
        Ok(config)
    }
}
