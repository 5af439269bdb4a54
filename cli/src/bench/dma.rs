//! `ferroce bench dma`: the PCIe engine alone against the limits of link, streams, ports and tags.

use std::sync::Arc;

use anyhow::{Context, Result};
use clap::ValueEnum;
use ferroce_bridge::Library;
use ferroce_dma::reader::read_budget::COMPLETION_HEADERS;
use ferroce_sim::dma::roof::{roof, Roof};
use ferroce_sim::dma::{Bench, Load, Lone, Offset, Op, Rate, Window, MAX_BLOCK, PAGE};
use ferroce_sim::pcie::PcieConfig;
use serde::Serialize;

use crate::args::{number, size, size_text, UsageError};
use crate::hostlink::HostArgs;
use crate::model;
use crate::output::say;
use crate::progress;
use crate::table::Table;
use crate::Outcome;

/// Cycles under load before the window, beside two latencies: buffers fill, credits come into use.
const WARM_UP: u64 = 1_000;
/// Lone reads of each size and offset.
const LONE_READS: u64 = 100;
/// Nanoseconds of a core cycle.
const CYCLE_NS: f64 = 4.0;

/// Lets a client read and write host memory through the PCIe engine alone, checks every byte, and sets the rates against what link,
/// streams, ports and tags allow.
#[derive(Debug, clap::Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Examples:
  ferroce bench dma
  ferroce bench dma --ops read --sizes 256,4K --offsets 0,1,63,random
  ferroce bench dma --max-payload 512 --read-request 4096 --latency 1500
  ferroce bench dma --completions 128 --ops read
  ferroce bench dma --no-straddle --json > dma.json

The roof follows from the TLPs of each block: where they are cut, their headers on the link, their places in
beats. \"limit\" names what it is a roof of: link, stream (RQ, RC), a port of the engine, tags,
room for completions in the PCIe block, or the host's credits."
)]
pub struct Args {
    /// Bytes of a block, 1 to 4K; page borders cut it into requests
    #[arg(long, value_name = "SIZE", value_delimiter = ',', default_value = "64,128,256,512,1K,4K",
          value_parser = size(1..=MAX_BLOCK))]
    pub sizes: Vec<u64>,
    /// Bytes from the beginning of a page to the block, 0 to 4095, or random
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "0,1,31,32,63,random", value_parser = offset)]
    pub offsets: Vec<Offset>,
    /// Operations; both: as many reads as writes
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "read,write,both"
    )]
    pub ops: Vec<OpArg>,
    /// Core cycles of 4 ns that are measured, 100 to 10000000
    #[arg(long, value_name = "N", default_value = "16000", value_parser = number(100..=10_000_000))]
    pub cycles: u64,
    /// Completions of 64 bytes that the engine reserves room for in the PCIe block, 8 to 2048
    #[arg(long, value_name = "N", default_value_t = COMPLETION_HEADERS as u64, value_parser = number(8..=2048))]
    pub completions: u64,
    /// Seed of offsets, data and the host's timing
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Link and host
    #[command(flatten)]
    pub host: HostArgs,
}

/// Operations on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OpArg {
    /// Reads
    Read,
    /// Writes
    Write,
    /// Both at once
    Both,
}

impl From<OpArg> for Op {
    fn from(op: OpArg) -> Self {
        match op {
            OpArg::Read => Self::Read,
            OpArg::Write => Self::Write,
            OpArg::Both => Self::Both,
        }
    }
}

/// Reads an offset.
fn offset(text: &str) -> Result<Offset, String> {
    if text == "random" {
        return Ok(Offset::Random);
    }
    let fixed = number(0..=PAGE - 1)(text).map(Offset::Fixed);
    fixed.map_err(|allowed| format!("{allowed}, or \"random\""))
}

fn offset_text(offset: Offset) -> String {
    match offset {
        Offset::Fixed(offset) => offset.to_string(),
        Offset::Random => "random".to_owned(),
    }
}

/// A measured load.
#[derive(Debug, Serialize)]
struct Point {
    #[serde(flatten)]
    load: Load,
    #[serde(flatten)]
    rate: Rate,
    roof: Roof,
}

impl Point {
    /// The lower rate of the directions in use.
    fn gbps(&self) -> f64 {
        match self.load.op {
            Op::Read => self.rate.read_gbps,
            Op::Write => self.rate.write_gbps,
            Op::Both => self.rate.read_gbps.min(self.rate.write_gbps),
        }
    }
}

/// Latency of lone reads.
#[derive(Debug, Clone, Copy, Serialize)]
struct Latency {
    bytes: u64,
    offset: Offset,
    mean_ns: f64,
    p99_ns: f64,
}

#[derive(Debug, Serialize)]
struct Results {
    host: PcieConfig,
    rates: Vec<Point>,
    latencies: Vec<Latency>,
}

/// Runs the command.
///
/// # Errors
/// A tool is missing, the engine breaks a rule or loses a byte.
pub fn run(args: &Args) -> Result<Outcome> {
    let host = args.host.config()?;
    if args.sizes.is_empty() || args.offsets.is_empty() || args.ops.is_empty() {
        return Err(
            UsageError("at least one size, offset and operation is needed".to_owned()).into(),
        );
    }
    let headers = args.completions as usize;
    let library = model::engine(host.block.straddle_rq, headers)?;
    let places = args.sizes.len() * args.offsets.len();
    let bar = progress::bar((places * args.ops.len()) as u64, "DMA".to_owned());
    let mut results = Results {
        host,
        rates: Vec::new(),
        latencies: Vec::new(),
    };
    let reads = args.ops.iter().any(|op| Op::from(*op).reads());
    for &bytes in &args.sizes {
        for &offset in &args.offsets {
            let at = format!("{} at {}", size_text(bytes), offset_text(offset));
            let lone = match reads {
                true => {
                    Some(lone(&library, args, host, bytes, offset).with_context(|| at.clone())?)
                }
                false => None,
            };
            results.latencies.extend(lone.map(|lone| Latency {
                bytes,
                offset,
                mean_ns: lone.mean * CYCLE_NS,
                p99_ns: lone.p99 as f64 * CYCLE_NS,
            }));
            for op in args.ops.iter().map(|op| Op::from(*op)) {
                bar.set_message(format!("{} of {at}", op.name()));
                let load = Load { op, bytes, offset };
                let window = Window {
                    warm_up: WARM_UP + 2 * host.root.read_latency,
                    cycles: args.cycles,
                };
                let bench = Bench::new(&library, host, load, args.seed)?;
                let rate = bench
                    .rate(window)
                    .with_context(|| format!("{} of {at}", op.name()))?;
                let roof = roof(&host, load, lone.map_or(0.0, |lone| lone.mean), headers);
                results.rates.push(Point { load, rate, roof });
                bar.inc(1);
            }
        }
    }
    bar.finish_and_clear();
    let order = |point: &Point| {
        args.ops
            .iter()
            .position(|op| Op::from(*op) == point.load.op)
    };
    results.rates.sort_by_key(order);
    match args.json {
        true => say!("{}", serde_json::to_string_pretty(&results)?),
        false => show(&results),
    }
    Ok(Outcome::Good)
}

fn lone(
    library: &Arc<Library>,
    args: &Args,
    host: PcieConfig,
    bytes: u64,
    offset: Offset,
) -> Result<Lone> {
    let op = Op::Read;
    let bench = Bench::new(library, host, Load { op, bytes, offset }, args.seed)?;
    Ok(bench.lone_reads(LONE_READS)?)
}

fn show(results: &Results) {
    let mut table = Table::new(&[
        "operation",
        ">bytes",
        ">offset",
        ">read Gb/s",
        ">write Gb/s",
        ">roof",
        ">of it",
        "limit",
        ">tags in use",
        ">read mean ns",
        ">p99 ns",
    ]);
    for point in &results.rates {
        let (load, rate) = (point.load, point.rate);
        let gbps = |used: bool, gbps: f64| match used {
            true => format!("{gbps:.2}"),
            false => String::new(),
        };
        let latency = results.latencies.iter().filter(|_| load.op.reads());
        let latency = { latency }.find(|l| (l.bytes, l.offset) == (load.bytes, load.offset));
        let nanos = |ns: Option<f64>| ns.map_or(String::new(), |ns| format!("{ns:.0}"));
        table.row([
            load.op.name().to_owned(),
            size_text(load.bytes),
            offset_text(load.offset),
            gbps(load.op.reads(), rate.read_gbps),
            gbps(load.op.writes(), rate.write_gbps),
            format!("{:.2}", point.roof.gbps),
            format!("{:.1} %", point.gbps() / point.roof.gbps * 100.0),
            point.roof.limit.name().to_owned(),
            match load.op.reads() {
                true => format!("{:.1}", rate.tags),
                false => String::new(),
            },
            nanos(latency.map(|latency| latency.mean_ns)),
            nanos(latency.map(|latency| latency.p99_ns)),
        ]);
    }
    let root = &results.host.root;
    say!(
        "{table}The link carries {:.2} Gb/s each way; max payload {}, max read request {}. Every byte was compared.\n\
         Latencies are those of lone reads, from the request to the last beat; the host's share is {:.0} to {:.0} ns.",
        root.speed.gbps(),
        root.max_payload,
        root.max_read,
        root.read_latency as f64 * CYCLE_NS,
        (root.read_latency + root.read_jitter) as f64 * CYCLE_NS,
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_read_and_written() {
        for text in ["0", "1", "4095", "random"] {
            assert_eq!(offset(text).map(offset_text), Ok(text.to_owned()));
        }
        for text in ["4096", "-1", "", "Random"] {
            let allowed = "a number from 0 to 4095 is needed, or \"random\"";
            assert_eq!(offset(text), Err(allowed.to_owned()), "{text}");
        }
    }
}
