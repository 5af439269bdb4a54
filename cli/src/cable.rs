//! The cable and the QPs of a simulated pair on the command line.

use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser;
use clap::Args;
use ferroce_driver::Pmtu;
use ferroce_sim::link::LinkConfig;
use ferroce_sim::time::NS_FS;

use crate::args::{number, probability, UsageError};

/// Reads a path MTU in bytes.
pub fn pmtu() -> impl TypedValueParser<Value = Pmtu> {
    PossibleValuesParser::new(["256", "512", "1024", "2048", "4096"]).try_map(|text| {
        let bytes: Result<u32, _> = text.parse();
        let found = |bytes| Pmtu::ALL.into_iter().find(|pmtu| pmtu.bytes() == bytes);
        bytes.ok().and_then(found).ok_or("no path MTU")
    })
}

/// What happens to frames; each suffers at most one of the misfortunes.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Cable")]
pub struct CableArgs {
    /// One-way delay in nanoseconds, 4 to 1000000
    #[arg(long, value_name = "NS", default_value = "300", value_parser = number(4..=1_000_000))]
    pub delay: u64,
    /// Probability that a frame is lost, 0 to 1
    #[arg(long, value_name = "P", default_value = "0", value_parser = probability)]
    pub loss: f64,
    /// Probability that one bit of a frame is flipped, 0 to 1
    #[arg(long, value_name = "P", default_value = "0", value_parser = probability)]
    pub corrupt: f64,
    /// Probability that a frame arrives twice, 0 to 1
    #[arg(long, value_name = "P", default_value = "0", value_parser = probability)]
    pub duplicate: f64,
    /// Probability that a frame is overtaken by the next one, 0 to 1
    #[arg(long, value_name = "P", default_value = "0", value_parser = probability)]
    pub reorder: f64,
    /// Probability that a frame is late by up to --jitter, 0 to 1
    #[arg(long, value_name = "P", default_value = "0", value_parser = probability)]
    pub late: f64,
    /// Greatest lateness in nanoseconds, 0 to 1000000
    #[arg(long, value_name = "NS", default_value = "2000", value_parser = number(0..=1_000_000))]
    pub jitter: u64,
}

impl CableArgs {
    /// The cable.
    ///
    /// # Errors
    /// The probabilities add up to more than 1.
    pub fn config(&self) -> Result<LinkConfig, UsageError> {
        let sum = self.loss + self.corrupt + self.duplicate + self.reorder + self.late;
        if sum > 1.0 {
            return Err(UsageError(format!(
                "--loss, --corrupt, --duplicate, --reorder and --late add up to {sum}; 0 to 1 is allowed"
            )));
        }
        Ok(LinkConfig {
            delay_fs: self.delay * NS_FS,
            drop: self.loss,
            corrupt: self.corrupt,
            duplicate: self.duplicate,
            reorder: self.reorder,
            late: self.late,
            jitter_fs: self.jitter * NS_FS,
        })
    }
}
