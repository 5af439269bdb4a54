//! The command line as a whole, and the forms of numbers in it.

use std::ops::RangeInclusive;

use clap::{ArgAction, Parser, Subcommand};

use crate::{bench, conformance, demo, generate, report, serve, transfer};

/// Ferroce: an open 100 Gb/s RoCEv2 network card.
///
/// Prints its Verilog, runs it in simulation between two hosts, and measures both.
#[derive(Debug, Parser)]
#[command(name = "ferroce", version, max_term_width = 110, after_help = EXAMPLES)]
pub struct Cli {
    /// Tell more about what is done, on standard error; twice for details
    #[arg(short, long, action = ArgAction::Count, global = true, display_order = 900)]
    pub verbose: u8,
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "\
Examples:
  ferroce demo                              everything in one go
  ferroce generate --out verilog --lint     the card as Verilog files
  ferroce sim transfer FILE --pcap t.pcap   a file from one simulated host to another
  ferroce sim serve --local A --remote B    a card whose wire is a unix socket, for QEMU
  ferroce sim conformance                   rules of the standards, each with its result
  ferroce bench rdma --quick                rates against the wire's limits
  ferroce bench dma                         rates against PCI Express' limits
  ferroce bench latency                     cycles of a message, stage by stage
  ferroce report                            cells and LUT levels of every block

Exit codes: 0 success, 1 the run or a comparison failed, 2 wrong usage.";

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write the Verilog of the card or of one of its blocks
    Generate(generate::Args),
    /// Run cards in simulation
    #[command(subcommand)]
    Sim(Sim),
    /// Measure simulated cards
    #[command(subcommand)]
    Bench(Bench),
    /// Count cells and LUT levels of blocks on UltraScale+
    Report(report::Args),
    /// Generate, simulate, transfer and check in one go
    Demo(demo::Args),
}

/// Simulations.
#[derive(Debug, Subcommand)]
pub enum Sim {
    /// Move a file between two hosts over a 100 Gb/s cable and compare it
    Transfer(transfer::Args),
    /// Run a card whose wire is a unix datagram socket, for QEMU and other peers
    Serve(serve::Args),
    /// Check rules of the RoCEv2 standards on a card
    Conformance(conformance::Args),
}

/// Measurements.
#[derive(Debug, Subcommand)]
pub enum Bench {
    /// Rates and latencies of RDMA operations by message size and QPs
    Rdma(bench::Args),
    /// Rates and latencies of the PCIe engine alone by size and alignment
    Dma(bench::dma::Args),
    /// Core cycles of single messages inside the card, stage by stage
    Latency(bench::latency::Args),
}

/// Arguments that are each in range but don't go together.
#[derive(Debug)]
pub struct UsageError(pub String);

impl std::fmt::Display for UsageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

/// A check for clap: text to value, or what is allowed instead.
pub trait Parse<T>: Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {}

impl<T, F: Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static> Parse<T> for F {}

/// A whole number in `range`.
pub fn number(range: RangeInclusive<u64>) -> impl Parse<u64> {
    move |text| {
        let value = text.parse().ok().filter(|value| range.contains(value));
        value.ok_or_else(|| {
            format!(
                "a number from {} to {} is needed",
                range.start(),
                range.end()
            )
        })
    }
}

/// As [`number`], for counts of things in memory.
pub fn count(range: RangeInclusive<u64>) -> impl Parse<usize> {
    let number = number(range);
    move |text| number(text).map(|value| value as usize)
}

/// The log2 of a power of two whose log2 is in `range`.
pub fn log2(range: RangeInclusive<u32>) -> impl Parse<usize> {
    move |text| {
        let value = text.parse::<u64>().ok();
        let log2 = value.filter(|v| v.is_power_of_two()).map(u64::ilog2);
        log2.filter(|log2| range.contains(log2))
            .map(|log2| log2 as usize)
            .ok_or_else(|| {
                let (min, max) = (1u64 << range.start(), 1u64 << range.end());
                format!("a power of two from {min} to {max} is needed")
            })
    }
}

/// Suffixes of sizes with the log2 of their factor.
const UNITS: [(char, u32); 3] = [('K', 10), ('M', 20), ('G', 30)];

/// Bytes in `range`, in units of 1024 with K, M and G.
pub fn size(range: RangeInclusive<u64>) -> impl Parse<u64> {
    move |text| {
        let upper = text.to_ascii_uppercase();
        let (digits, shift) = UNITS
            .iter()
            .find_map(|(unit, log2)| Some((upper.strip_suffix(*unit)?, *log2)))
            .unwrap_or((&upper, 0));
        let value = digits.parse::<u64>().ok();
        let bytes = value.and_then(|value| value.checked_mul(1 << shift));
        bytes.filter(|bytes| range.contains(bytes)).ok_or_else(|| {
            let (min, max) = (size_text(*range.start()), size_text(*range.end()));
            format!("a size from {min} to {max} is needed (K, M and G are powers of 1024)")
        })
    }
}

/// Bytes as [`size`] reads them, in the largest unit that leaves no rest.
pub fn size_text(bytes: u64) -> String {
    let unit = UNITS
        .iter()
        .rev()
        .find(|(_, log2)| bytes != 0 && bytes.trailing_zeros() >= *log2);
    match unit {
        Some((unit, log2)) => format!("{}{unit}", bytes >> log2),
        None => bytes.to_string(),
    }
}

/// A probability.
pub fn probability(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|p| (0.0..=1.0).contains(p));
    value.ok_or_else(|| "a probability from 0 to 1 is needed".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_written() {
        let parse = size(1..=1 << 31);
        for (text, bytes) in [
            ("1", 1),
            ("4k", 4096),
            ("1M", 1 << 20),
            ("2G", 1 << 31),
            ("1500", 1500),
        ] {
            assert_eq!(parse(text), Ok(bytes));
            assert_eq!(size_text(bytes), text.to_ascii_uppercase());
        }
        for text in [
            "0",
            "3G",
            "",
            "K",
            "-1",
            "1.5K",
            "99999999999999999999",
            "17179869184G",
        ] {
            assert_eq!(
                parse(text),
                Err("a size from 1 to 2G is needed (K, M and G are powers of 1024)".to_owned())
            );
        }
    }

    #[test]
    fn powers_of_two_are_kept_as_exponents() {
        let parse = log2(2..=14);
        assert_eq!((parse("4"), parse("16384")), (Ok(2), Ok(14)));
        for text in ["0", "2", "5", "32768", "x"] {
            assert_eq!(
                parse(text),
                Err("a power of two from 4 to 16384 is needed".to_owned())
            );
        }
    }

    #[test]
    fn probabilities_exclude_everything_else() {
        assert_eq!(probability("0.25"), Ok(0.25));
        for text in ["-0.1", "1.01", "NaN", "inf", "x"] {
            assert!(probability(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }
}
