//! `ferroce sim transfer`: a file from one simulated host to another.

use std::path::{Path, PathBuf};

use anyhow::{bail, Context, Result};
use clap::ValueEnum;
use ferroce_abi::limits::{MAX_MESSAGE, RING_LOG_MAX};
use ferroce_driver::Pmtu;
use ferroce_sim::link::LinkStats;
use ferroce_sim::load::Op;
use ferroce_sim::pair::{Pair, PairConfig};
use ferroce_sim::transfer::{Cut, Report};
use serde::Serialize;

use crate::args::{count, size, UsageError};
use crate::cable::{pmtu, RunArgs};
use crate::card::{for_connections, MAX_CONNECTIONS};
use crate::model::{self, Count};
use crate::output::{put, say};
use crate::progress::Progress;
use crate::table::{paint, Table, Tone};
use crate::Outcome;

/// Moves a file between the memories of two hosts, each with a simulated card, and compares it.
#[derive(Debug, clap::Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Examples:
  ferroce sim transfer photo.jpg
  ferroce sim transfer photo.jpg --message 1M --qps 4 --pcap transfer.pcap
  ferroce sim transfer photo.jpg --loss 0.001 --seed 7
  ferroce sim transfer small.bin --op send --wave waves/transfer"
)]
pub struct Args {
    /// The file to move
    pub file: PathBuf,
    /// Operations, one transfer each
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "write-imm,send"
    )]
    pub op: Vec<OpArg>,
    /// Bytes of a message, 1 to 2G
    #[arg(long, value_name = "SIZE", default_value = "64K", value_parser = size(1..=MAX_MESSAGE.into()))]
    pub message: u64,
    /// Path MTU in bytes
    #[arg(long, value_name = "BYTES", default_value = "4096", value_parser = pmtu())]
    pub pmtu: Pmtu,
    /// Connected QPs, 1 to 8190; above 14 the card is larger and its model is built first
    #[arg(long, value_name = "N", default_value = "1", value_parser = count(1..=MAX_CONNECTIONS))]
    pub qps: usize,
    /// Messages outstanding on each QP, 1 to 4096
    #[arg(long, value_name = "N", default_value = "16", value_parser = count(1..=4096))]
    pub depth: usize,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// The simulation
    #[command(flatten)]
    pub run: RunArgs,
}

/// An operation on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OpArg {
    /// RDMA WRITE
    Write,
    /// RDMA WRITE with immediate
    WriteImm,
    /// SEND
    Send,
    /// SEND with immediate
    SendImm,
    /// RDMA READ, by the host that the bytes go to
    Read,
}

impl From<OpArg> for Op {
    fn from(arg: OpArg) -> Self {
        match arg {
            OpArg::Write => Self::Write,
            OpArg::WriteImm => Self::WriteImm,
            OpArg::Send => Self::Send,
            OpArg::SendImm => Self::SendImm,
            OpArg::Read => Self::Read,
        }
    }
}

/// What all transfers of a run gave.
#[derive(Debug, Serialize)]
pub struct Transfers {
    /// Each transfer.
    pub transfers: Vec<Report>,
    /// Counters of both cards that are not 0.
    pub counters: Vec<Count>,
    /// What the cable did to frames towards each host.
    pub cable: [LinkStats; 2],
}

impl Transfers {
    /// Whether every byte arrived as it was sent.
    pub fn identical(&self) -> bool {
        self.transfers
            .iter()
            .all(|report| report.first_difference.is_none())
    }
}

/// Requests that each queue needs room for so that receivers never run out while senders have `depth`
/// outstanding: receives are posted again when half of a queue is used up, and take a while to arrive.
///
/// # Errors
/// The completions of so many don't fit a CQ.
pub fn queue_depth(qps: usize, depth: usize) -> Result<usize, UsageError> {
    let requests = 4 * depth;
    let most = 1 << RING_LOG_MAX;
    if qps * requests <= most {
        return Ok(requests);
    }
    Err(UsageError(format!(
        "{qps} QPs with {depth} messages each have {} outstanding; 1 to {} are allowed",
        qps * depth,
        most / 4
    )))
}

/// The capture must not replace the file that is moved, under whatever name.
fn refuse_overwriting(file: &Path, pcap: Option<&Path>) -> Result<(), UsageError> {
    let real = |path: &Path| path.canonicalize().ok();
    match pcap {
        Some(pcap) if real(pcap).is_some() && real(pcap) == real(file) => Err(UsageError(format!(
            "--pcap would overwrite {}, the file to move; another name is needed",
            file.display()
        ))),
        _ => Ok(()),
    }
}

/// ACK time-out exponent for so many QPs. Each of them hears of progress when every other one has sent 16 packets, of
/// at most 5.3 us in all; four times as long, and 100 us for the way, is patience enough, and no more is wasted where
/// frames are lost.
fn ack_timeout(qps: usize) -> u8 {
    let patience_us = 100.0 + 4.0 * 5.3 * qps as f64;
    (patience_us / 4.096).log2().ceil() as u8
}

/// Runs the command.
///
/// # Errors
/// A file can't be read or written, a tool is missing, the simulation stops.
pub fn run(args: &Args) -> Result<Outcome> {
    let queue_depth = queue_depth(args.qps, args.depth)?;
    let world = args.run.world()?;
    let data =
        std::fs::read(&args.file).with_context(|| format!("can't read {}", args.file.display()))?;
    refuse_overwriting(&args.file, args.run.pcap.as_deref())?;
    let library = model::card(&for_connections(args.qps), args.run.wave.is_some())?;
    let config = PairConfig {
        qps: args.qps,
        depth: queue_depth,
        pmtu: args.pmtu,
        timeout: ack_timeout(args.qps),
        ..PairConfig::default()
    };
    let pair = Pair::new(&library, &world, &config)?;
    let cut = Cut {
        message: args.message,
        depth: args.depth,
        pmtu: args.pmtu,
    };
    let ops: Vec<Op> = args.op.iter().map(|op| Op::from(*op)).collect();
    let transfers = all(&pair, &data, &ops, cut)?;
    if args.json {
        say!("{}", serde_json::to_string_pretty(&transfers)?);
    } else {
        show(&transfers);
        for path in args.run.pcap.iter() {
            say!("capture in {}", path.display());
        }
    }
    Ok(if transfers.identical() {
        Outcome::Good
    } else {
        Outcome::Bad
    })
}

/// Moves `data` once for each operation.
///
/// # Errors
/// The simulation stops or a request fails.
pub fn all(pair: &Pair, data: &[u8], ops: &[Op], cut: Cut) -> Result<Transfers> {
    if ops.is_empty() {
        bail!(UsageError("at least one operation is needed".to_owned()));
    }
    let messages = (data.len() as u64).div_ceil(cut.message).max(1);
    let mut reports = Vec::new();
    for op in ops {
        let mut progress = Progress::new(messages, op.name());
        let report = pair.transfer(data, *op, cut, &mut |done| progress.at(done));
        drop(progress);
        reports.push(report.with_context(|| format!("transfer by {}", op.name()))?);
    }
    Ok(Transfers {
        transfers: reports,
        counters: model::counts(pair)?,
        cable: [0, 1].map(|card| pair.sim.with(|world| world.card(card).incoming.stats())),
    })
}

/// Prints the result for people.
pub fn show(transfers: &Transfers) {
    let mut table = Table::new(&[
        "operation",
        ">bytes",
        ">messages",
        ">Gb/s",
        ">roof",
        ">of it",
        ">p50 us",
        ">p99 us",
        ">max us",
        ">cycles",
        ">cycles/s",
        "bytes compared",
    ]);
    for report in &transfers.transfers {
        let micros = |ns: f64| format!("{:.2}", ns / 1000.0);
        let latency = report.latency_ns;
        let plain = [
            report.op.name().to_owned(),
            report.bytes.to_string(),
            report.messages.to_string(),
            format!("{:.2}", report.goodput_gbps),
            format!("{:.2}", report.roof_gbps),
            ratio(report.goodput_gbps, report.roof_gbps),
            micros(latency.p50),
            micros(latency.p99),
            micros(latency.max),
            report.cycles.to_string(),
            format!("{:.0}", report.cycles_per_second),
        ];
        let verdict = match report.first_difference {
            None => ("identical".to_owned(), Tone::Good),
            Some(at) => (format!("first difference at byte {at}"), Tone::Bad),
        };
        table.toned(
            plain
                .map(|cell| (cell, Tone::Plain))
                .into_iter()
                .chain([verdict]),
        );
    }
    put!("{table}");
    say!("\nCounters that are not 0:");
    let mut table = Table::new(&["  host", "counter", ">value"]);
    for count in &transfers.counters {
        table.row([
            format!("  {}", count.host),
            count.counter.to_owned(),
            count.value.to_string(),
        ]);
    }
    put!("{table}");
    for (host, stats) in transfers.cable.iter().enumerate() {
        let LinkStats {
            dropped,
            corrupted,
            duplicated,
            reordered,
            delayed,
            ..
        } = *stats;
        if dropped + corrupted + duplicated + reordered + delayed > 0 {
            say!(
                "cable to host {host}: {} frames, {dropped} lost, {corrupted} damaged, {duplicated} doubled, \
                 {reordered} overtaken, {delayed} late",
                stats.sent
            );
        }
    }
    if !transfers.identical() {
        say!(
            "{}",
            paint("the received bytes differ from those sent", Tone::Bad)
        );
    }
}

/// `part` of `whole` in per cent.
pub fn ratio(part: f64, whole: f64) -> String {
    if whole > 0.0 {
        format!("{:.0} %", part / whole * 100.0)
    } else {
        String::new()
    }
}
