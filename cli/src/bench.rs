//! `ferroce bench rdma`: rates and latencies against the wire's limits.

pub mod dma;
pub mod latency;
mod measure;

use anyhow::Result;
use ferroce_abi::limits::MAX_MESSAGE;
use ferroce_driver::{Counter, PageSize, Pmtu};
use ferroce_nic::NicConfig;
use ferroce_sim::load::Op;
use ferroce_sim::pair::{Pair, PairConfig};
use ferroce_sim::scatter::Scatter;
use ferroce_sim::world::WorldConfig;
use serde::Serialize;

use crate::args::{count, log2, number, size, size_text, UsageError};
use crate::cable::{pmtu, CableArgs};
use crate::card::for_rates;
use crate::model;
use crate::output::say;
use crate::progress;
use crate::table::{Table, Tone};
use crate::transfer::{queue_depth, ratio, OpArg};
use crate::Outcome;

use measure::{latency, throughput, Latency, Plan, Point};

/// Messages of this size are timed one by one.
const LATENCY_BYTES: u64 = 64;

/// Sends messages from one host to the other, compares them, and sets their rate against what a
/// 100 Gb/s wire can carry.
#[derive(Debug, clap::Args)]
#[command(
    allow_negative_numbers = true,
    after_help = "\
Examples:
  ferroce bench rdma --quick
  ferroce bench rdma --sizes 64,4K,64K --ops write,send --qps 1,8
  ferroce bench rdma --sizes 65535,65536,65537 --offset 3
  ferroce bench rdma --sizes 4K,64K --paged 4k
  ferroce bench rdma --json > bench.json

A rate is taken between the first and the last round of outstanding messages.
A WRITE is complete when its sender knows, the others when the receiver does.
The roof is the wire's. The hosts are behind PCI Express Gen3 x16, which carries more, but has a price for each
small message (`ferroce bench dma`)."
)]
pub struct Args {
    /// Message sizes, 1 to 2G
    #[arg(long, value_name = "SIZE", value_delimiter = ',', default_value = "1,64,256,1K,4K,64K,1M",
          value_parser = size(1..=MAX_MESSAGE.into()))]
    pub sizes: Vec<u64>,
    /// Operations
    #[arg(long, value_enum, value_delimiter = ',', default_value = "write,send")]
    pub ops: Vec<OpArg>,
    /// Connected QPs, 1 to 4096
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1,8", value_parser = count(1..=4096))]
    pub qps: Vec<usize>,
    /// Messages outstanding on each QP, 1 to 4096; fewer when messages are large
    #[arg(long, value_name = "N", default_value = "64", value_parser = count(1..=4096))]
    pub depth: usize,
    /// Blocks of WQEs and unacknowledged messages of a QP on chip: a power of two, 4 to 64
    #[arg(long, value_name = "N", default_value = "64", value_parser = log2(2..=6))]
    pub window: usize,
    /// Path MTU in bytes
    #[arg(long, value_name = "BYTES", default_value = "4096", value_parser = pmtu())]
    pub pmtu: Pmtu,
    /// Bytes that source and target lie behind a multiple of 64, 0 to 4095
    #[arg(long, value_name = "N", default_value = "0", value_parser = number(0..=4095))]
    pub offset: u64,
    /// Memory in pages of this size, scattered as on a host without an IOMMU, that the cards find by page tables
    #[arg(long, value_name = "SIZE", value_enum)]
    pub paged: Option<PageArg>,
    /// Seed of losses and memory timing
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
    /// Shorter loads: rates within some per cent instead of about one
    #[arg(long)]
    pub quick: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// The cable
    #[command(flatten)]
    pub cable: CableArgs,
}

/// Page sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum PageArg {
    /// 4 KiB
    #[value(name = "4k")]
    K4,
    /// 64 KiB
    #[value(name = "64k")]
    K64,
    /// 2 MiB
    #[value(name = "2m")]
    M2,
}

impl From<PageArg> for PageSize {
    fn from(arg: PageArg) -> Self {
        match arg {
            PageArg::K4 => Self::K4,
            PageArg::K64 => Self::K64,
            PageArg::M2 => Self::M2,
        }
    }
}

/// What the cards' translators did.
#[derive(Debug, Default, Serialize)]
struct Translations {
    page_bytes: u64,
    lookups: u64,
    misses: u64,
}

impl Translations {
    fn add(&mut self, pair: &Pair) -> Result<()> {
        for side in &pair.sides {
            self.lookups += side.device.counter(Counter::Translations)?;
            self.misses += side.device.counter(Counter::TranslationMisses)?;
        }
        Ok(())
    }
}

#[derive(Debug, Serialize)]
struct Results {
    pmtu: u32,
    offset: u64,
    link_delay_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    paged: Option<Translations>,
    rates: Vec<Point>,
    latencies: Vec<Latency>,
}

/// Runs the command.
///
/// # Errors
/// A tool is missing, the simulation stops, a request fails.
pub fn run(args: &Args) -> Result<Outcome> {
    let (Some(&most), Some(&largest)) = (args.qps.iter().max(), args.sizes.iter().max()) else {
        return Err(
            UsageError("at least one size and one number of QPs is needed".to_owned()).into(),
        );
    };
    let queue_depth = queue_depth(most, args.depth)?;
    let link = args.cable.config()?;
    let mut card = for_rates(most, args.window);
    let scatter = args.paged.map(|size| Scatter {
        size: size.into(),
        seed: args.seed,
    });
    if scatter.is_some() {
        // What comes during a walk of a page table has to wait somewhere.
        card.packet_buffer_log2 = NicConfig::LARGE.packet_buffer_log2;
    }
    let library = model::card(&card, false)?;
    let world = WorldConfig {
        link,
        seed: args.seed,
        ..WorldConfig::default()
    };
    let ops: Vec<Op> = args.ops.iter().map(|op| Op::from(*op)).collect();
    let plan = Plan {
        offset: args.offset,
        depth: args.depth,
        pmtu: args.pmtu,
        quick: args.quick,
    };
    let points = args.qps.len() * ops.len() * args.sizes.len();
    let bar = progress::bar(points as u64, format!("up to {}", size_text(largest)));
    let (mut rates, mut latencies) = (Vec::new(), Vec::new());
    let mut paged = scatter.map(|scatter| Translations {
        page_bytes: scatter.size.bytes(),
        ..Translations::default()
    });
    for &qps in &args.qps {
        let config = PairConfig {
            qps,
            depth: queue_depth,
            pmtu: args.pmtu,
            scatter,
            ..PairConfig::default()
        };
        let pair = Pair::new(&library, &world, &config)?;
        for &op in &ops {
            for &size in &args.sizes {
                bar.set_message(format!("{} of {} on {qps} QPs", op.name(), size_text(size)));
                rates.push(throughput(&pair, op, size, plan)?);
                bar.inc(1);
            }
        }
        if let Some(paged) = &mut paged {
            paged.add(&pair)?;
        }
    }
    bar.set_message("latency");
    let pair = Pair::new(
        &library,
        &world,
        &PairConfig {
            pmtu: args.pmtu,
            scatter,
            ..PairConfig::default()
        },
    )?;
    for &op in &ops {
        latencies.push(latency(&pair, op, LATENCY_BYTES, plan)?);
    }
    bar.finish_and_clear();
    let results = Results {
        pmtu: args.pmtu.bytes(),
        offset: args.offset,
        link_delay_ns: args.cable.delay,
        paged,
        rates,
        latencies,
    };
    if args.json {
        say!("{}", serde_json::to_string_pretty(&results)?);
    } else {
        show(&results);
    }
    let identical = results.rates.iter().all(|point| point.identical);
    Ok(if identical {
        Outcome::Good
    } else {
        Outcome::Bad
    })
}

fn show(results: &Results) {
    let mut table = Table::new(&[
        "operation",
        ">QPs",
        ">bytes",
        ">out",
        ">messages",
        ">Gb/s",
        ">roof",
        ">M msg/s",
        ">roof",
        ">of it",
        ">cycles",
        ">cycles/s",
        "bytes",
    ]);
    for point in &results.rates {
        let plain = [
            point.op.name().to_owned(),
            point.qps.to_string(),
            size_text(point.bytes),
            point.outstanding.to_string(),
            point.messages.to_string(),
            format!("{:.2}", point.gbps),
            format!("{:.2}", point.roof_gbps),
            format!("{:.3}", point.mega_messages),
            format!("{:.3}", point.roof_mega_messages),
            ratio(point.mega_messages, point.roof_mega_messages),
            point.cycles.to_string(),
            format!("{:.0}", point.cycles_per_second),
        ];
        let verdict = match point.identical {
            true => ("identical".to_owned(), Tone::Good),
            false => ("DIFFERENT".to_owned(), Tone::Bad),
        };
        table.toned(
            plain
                .map(|cell| (cell, Tone::Plain))
                .into_iter()
                .chain([verdict]),
        );
    }
    say!("{table}");
    if let Some(paged) = &results.paged {
        say!(
            "Pages of {}: {} look-ups by both cards, {} of them read a page table.\n",
            size_text(paged.page_bytes),
            paged.lookups,
            paged.misses
        );
    }
    let mut table = Table::new(&[
        "latency",
        ">bytes",
        ">messages",
        ">min us",
        ">p50 us",
        ">p99 us",
        ">max us",
        "from posting to",
    ]);
    for latency in &results.latencies {
        let micros = |ns: f64| format!("{:.3}", ns / 1000.0);
        let times = latency.latency_ns;
        table.row([
            latency.op.name().to_owned(),
            latency.bytes.to_string(),
            latency.messages.to_string(),
            micros(times.min),
            micros(times.p50),
            micros(times.p99),
            micros(times.max),
            latency.until().to_owned(),
        ]);
    }
    say!(
        "{table}One message at a time; the cable's {} ns, PCI Express and the hosts' memory included.",
        results.link_delay_ns
    );
}
