//! `ferroce bench latency`: core cycles of single messages inside the card, stage by stage, against their limits.

use anyhow::{ensure, Result};
use ferroce_abi::limits::MAX_INLINE;
use ferroce_driver::{Access, SendWr};
use ferroce_sim::latency::{Split, Splits, Way};
use ferroce_sim::load::{entries, Op};
use ferroce_sim::pair::{Pair, PairConfig};
use ferroce_sim::stages::Stage;
use ferroce_sim::transfer::piece;
use ferroce_sim::world::WorldConfig;
use serde::Serialize;

use crate::args::{number, size, UsageError};
use crate::card::for_connections;
use crate::model;
use crate::output::say;
use crate::progress;
use crate::table::{Table, Tone};
use crate::transfer::OpArg;
use crate::Outcome;

/// Sends one message at a time, and prints how many core cycles (4 ns) each stage of the cards took.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ferroce bench latency
  ferroce bench latency --fetch
  ferroce bench latency --ops send --bytes 4K --json

Posting counts from the last beat of the doorbell on CQ to the first beat of the frame at the MAC; arrival
from the first beat of the frame at the MAC to the CQE on RQ (the payload for a plain WRITE). What the card
waits for host memory is not counted. MAC cycles are converted.")]
pub struct Args {
    /// Operations
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "write,send-imm"
    )]
    pub ops: Vec<OpArg>,
    /// Bytes of a message, 1 to 4K
    #[arg(long, value_name = "SIZE", default_value = "64", value_parser = size(1..=4096))]
    pub bytes: u64,
    /// Payload and requests are read from host memory; else they are pushed into the card along with the doorbell, the payload up
    /// to 224 bytes
    #[arg(long)]
    pub fetch: bool,
    /// Messages of each kind, 1 to 1000
    #[arg(long, value_name = "N", default_value = "16", value_parser = number(1..=1000))]
    pub messages: u64,
    /// Seed of memory timing
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Mean and greatest cycles of one step.
#[derive(Debug, Clone, Serialize)]
struct StepCycles {
    to: Stage,
    host: bool,
    mean: f64,
    max: f64,
}

#[derive(Debug, Clone, Serialize)]
struct WayCycles {
    op: Op,
    way: Way,
    from: Stage,
    steps: Vec<StepCycles>,
    inside_mean: f64,
    inside_max: f64,
    outside_mean: f64,
    limit: f64,
}

#[derive(Debug, Serialize)]
struct Results {
    bytes: u64,
    messages: u64,
    ways: Vec<WayCycles>,
}

impl WayCycles {
    /// Of splits that all have the same steps.
    fn new(op: Op, way: Way, splits: &[Split]) -> Option<Self> {
        let first = splits.first()?;
        let steps = first.steps.iter().enumerate().map(|(at, step)| {
            let cycles = splits.iter().filter_map(|split| split.steps.get(at));
            let (mean, max) = summary(cycles.map(|step| step.cycles));
            StepCycles {
                to: step.to,
                host: step.host,
                mean,
                max,
            }
        });
        let (inside_mean, inside_max) = summary(splits.iter().map(Split::inside));
        Some(Self {
            op,
            way,
            from: first.from,
            steps: steps.collect(),
            inside_mean,
            inside_max,
            outside_mean: summary(splits.iter().map(Split::outside)).0,
            limit: way.limit(),
        })
    }

    fn good(&self) -> bool {
        self.inside_max <= self.limit
    }
}

fn summary(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (mut count, mut sum, mut max) = (0u32, 0.0, 0.0);
    for value in values {
        count += 1;
        sum += value;
        max = f64::max(max, value);
    }
    (sum / f64::from(count.max(1)), max)
}

/// Runs the command.
///
/// # Errors
/// A tool is missing, the simulation stops, a request fails.
pub fn run(args: &Args) -> Result<Outcome> {
    if args.ops.contains(&OpArg::Read) {
        let other = "READs go other ways than those that are measured here";
        return Err(UsageError(other.to_owned()).into());
    }
    let library = model::card(&for_connections(1), false)?;
    let world = WorldConfig {
        seed: args.seed,
        ..WorldConfig::default()
    };
    let bar = progress::bar(args.ops.len() as u64, "latency".to_owned());
    let mut ways = Vec::new();
    for &op in &args.ops {
        let op = Op::from(op);
        let config = PairConfig {
            push: !args.fetch,
            ..PairConfig::default()
        };
        let pair = Pair::new(&library, &world, &config)?;
        let splits = messages(&pair, op, args)?;
        for (way, splits) in [
            (Way::Posting, &splits.posting),
            (Way::Arrival, &splits.arrival),
            (Way::Acknowledgement, &splits.acknowledgement),
        ] {
            ensure!(
                splits.len() as u64 == args.messages,
                "a message of {} was not seen at every stage",
                op.name()
            );
            ways.extend(WayCycles::new(op, way, splits));
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    let results = Results {
        bytes: args.bytes,
        messages: args.messages,
        ways,
    };
    if args.json {
        say!("{}", serde_json::to_string_pretty(&results)?);
    } else {
        results.ways.iter().for_each(show);
    }
    Ok(if results.ways.iter().all(WayCycles::good) {
        Outcome::Good
    } else {
        Outcome::Bad
    })
}

fn messages(pair: &Pair, op: Op, args: &Args) -> Result<Splits> {
    let len = args.bytes as usize;
    let source = pair.sides[0].pd.allocate(len, Access::LOCAL_WRITE)?;
    let rights = Access::LOCAL_WRITE | Access::REMOTE_WRITE;
    let target = pair.sides[1].pd.allocate(len, rights)?;
    let message = piece(&source, &target, 0, args.bytes)?;
    let local = entries(message.local);
    let inline = !args.fetch && len <= MAX_INLINE;
    let data = inline.then(|| source.to_vec(0..len)).transpose()?;
    let request = |n: u64| {
        let op = op.request(n, &message);
        match &data {
            None => Ok(SendWr::new(n, op, local)),
            Some(data) => SendWr::inline(n, op, data),
        }
    };
    Ok(pair.splits(op, &message, args.messages, &request)?)
}

fn show(way: &WayCycles) {
    let title = match way.way {
        Way::Posting => "posting to wire",
        Way::Arrival => "wire to host",
        Way::Acknowledgement => "ACK to CQE",
    };
    let title = format!("{}: {title}", way.op.name());
    let mut table = Table::new(&[&title, ">mean", ">max", ">limit", ""]);
    for step in &way.steps {
        let note = if step.host { "host" } else { "" };
        table.row([
            format!("  to {}", name(step.to)),
            format!("{:.1}", step.mean),
            format!("{:.1}", step.max),
            String::new(),
            note.to_owned(),
        ]);
    }
    let tone = if way.good() { Tone::Good } else { Tone::Bad };
    table.toned([
        ("inside the card".to_owned(), Tone::Plain),
        (format!("{:.1}", way.inside_mean), Tone::Plain),
        (format!("{:.1}", way.inside_max), tone),
        (format!("{:.0}", way.limit), Tone::Plain),
    ]);
    table.row(["host memory".to_owned(), format!("{:.1}", way.outside_mean)]);
    say!("{table}");
}

/// A stage's name, as in JSON but with spaces.
fn name(stage: Stage) -> String {
    let name = format!("{stage:?}");
    let spaced = name.chars().flat_map(|c| {
        let gap = c.is_uppercase().then_some(' ');
        gap.into_iter().chain(c.to_lowercase())
    });
    spaced.collect::<String>().trim().to_owned()
}
