//! The cable and the QPs of a simulated pair on the command line.

use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser;
use clap::Args;
use ferroce_driver::Pmtu;
use ferroce_sim::link::LinkConfig;
use ferroce_sim::time::NS_FS;
use ferroce_sim::world::WorldConfig;

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

/// A simulation: what it records, where its randomness begins, and its cables.
#[derive(Debug, Clone, Args)]
pub struct RunArgs {
    /// Seed of losses and memory timing; a run repeats exactly with the same one
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
    /// Capture of all frames for Wireshark
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    /// Waves of each card, in PREFIX.0.fst, PREFIX.1.fst ...
    #[arg(long, value_name = "PREFIX")]
    pub wave: Option<PathBuf>,
    /// The cables
    #[command(flatten)]
    pub cable: CableArgs,
}

impl RunArgs {
    /// The simulation.
    ///
    /// # Errors
    /// As [`CableArgs::config`], and for files in folders that don't exist.
    pub fn world(&self) -> Result<WorldConfig, UsageError> {
        for (option, path) in [("--pcap", &self.pcap), ("--wave", &self.wave)] {
            let folder = path.as_deref().and_then(Path::parent);
            if let Some(folder) = folder.filter(|f| !f.as_os_str().is_empty() && !f.is_dir()) {
                return Err(UsageError(format!(
                    "{option}: there is no folder {}",
                    folder.display()
                )));
            }
        }
        Ok(WorldConfig {
            link: self.cable.config()?,
            seed: self.seed,
            capture: self.pcap.clone(),
            wave: self.wave.clone(),
            ..WorldConfig::default()
        })
    }
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
