//! `ferroce report`: cells and LUT levels.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use ferroce_emit::Design;
use ferroce_report::{BlockReport, Domain, DomainReport};
use ferroce_sim::design;
use serde::Serialize;

use crate::args::number;
use crate::card::CardArgs;
use crate::catalog;
use crate::hierarchy::{places, Placed};
use crate::output::{put, say};
use crate::progress;
use crate::table::{paint, Table, Tone};
use crate::Outcome;

/// Synthesises blocks for UltraScale+ with Yosys and shows what they take and how deep their logic is.
///
/// Depth is counted in LUT levels between registers, RAMs and ports. Without names, every block of the card is
/// reported by itself, with the card's sizes.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ferroce report
  ferroce report rx_control completer --paths
  ferroce report --preset small --json > report.json
  ferroce report nic            the whole card in one piece: many minutes")]
pub struct Args {
    /// Blocks, by the names of `ferroce generate --list` or of any module of the card
    pub blocks: Vec<String>,
    /// Show the longest paths
    #[arg(long)]
    pub paths: bool,
    /// Most LUT levels in the core clock domain, 1 to 99
    #[arg(long, value_name = "N", default_value = "7", value_parser = number(1..=99))]
    pub core_limit: u64,
    /// Most LUT levels in the MAC's clock domains, 1 to 99
    #[arg(long, value_name = "N", default_value = "5", value_parser = number(1..=99))]
    pub mac_limit: u64,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    /// Sizes
    #[command(flatten)]
    pub card: CardArgs,
}

/// A block to report on.
struct Job {
    design: Design,
    instances: u32,
    /// It stands inside another block, which counts its cells.
    inner: bool,
    /// Clock inputs that a MAC clock drives somewhere in the card.
    mac_clocks: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Reported {
    instances: u32,
    /// Part of another block; not in the total.
    inner: bool,
    /// Most LUT levels allowed, by domain as in the report.
    limits: Vec<u64>,
    within_limits: bool,
    report: BlockReport,
}

impl Reported {
    /// How often it counts in the total.
    fn in_total(&self) -> u32 {
        if self.inner {
            0
        } else {
            self.instances
        }
    }
}

/// Runs the command.
///
/// # Errors
/// Yosys is missing or rejects a block; there is no such block.
pub fn run(args: &Args) -> Result<Outcome> {
    let card = design::card(&args.card.config()?)?;
    let jobs = jobs(&card, &args.blocks)?;
    let reports = analyse_all(&jobs)?;
    let reported: Vec<Reported> = jobs
        .iter()
        .zip(reports)
        .map(|(job, report)| judge(job, report, args))
        .collect();
    let good = reported.iter().all(|block| block.within_limits);
    if args.json {
        say!("{}", serde_json::to_string_pretty(&reported)?);
    } else {
        show(&reported, args.paths, args.blocks.is_empty());
    }
    Ok(if good { Outcome::Good } else { Outcome::Bad })
}

fn jobs(card: &Design, names: &[String]) -> Result<Vec<Job>> {
    let places = places(card);
    if names.is_empty() {
        let blocks = places
            .values()
            .filter(|placed| placed.is_block || placed.is_inner);
        let jobs = blocks.filter_map(|placed| {
            Some(Job {
                design: card.part(&placed.module.name)?,
                instances: placed.instances,
                inner: placed.is_inner,
                mac_clocks: mac_clocks(placed),
            })
        });
        return Ok(jobs.collect());
    }
    names
        .iter()
        .map(|name| {
            let block = catalog::find(card, name)?;
            let placed = places.get(block.design.top()).filter(|_| block.of_card);
            Ok(Job {
                instances: placed.map_or(1, |placed| placed.instances),
                inner: placed.is_some_and(|placed| placed.is_inner),
                mac_clocks: placed.map_or_else(|| own_mac_clocks(&block.design), mac_clocks),
                design: block.design,
            })
        })
        .collect()
}

fn is_mac(clock: &str) -> bool {
    clock.contains("mac")
}

fn mac_clocks(placed: &Placed) -> Vec<String> {
    let from_mac = placed
        .clocks
        .iter()
        .filter(|(_, sources)| sources.iter().any(|source| is_mac(source)));
    from_mac.map(|(port, _)| port.clone()).collect()
}

/// A block outside of the card tells by its ports' names.
fn own_mac_clocks(design: &Design) -> Vec<String> {
    let clocks = design.ports().iter().filter(|port| port.is_clock);
    let names = clocks.map(|port| port.name.clone());
    names.filter(|name| is_mac(name)).collect()
}

/// Analyses all blocks, as many at a time as there are processors.
fn analyse_all(jobs: &[Job]) -> Result<Vec<BlockReport>> {
    let bar = progress::bar(jobs.len() as u64, "synthesis");
    let next = AtomicUsize::new(0);
    let results: Mutex<BTreeMap<usize, Result<BlockReport>>> = Mutex::default();
    let work = || {
        while let Some((index, job)) = {
            let index = next.fetch_add(1, Ordering::Relaxed);
            jobs.get(index).map(|job| (index, job))
        } {
            let top = job.design.top();
            bar.set_message(top.to_owned());
            let report = ferroce_report::analyse(&job.design.verilog(), top)
                .with_context(|| format!("block {top}"));
            bar.inc(1);
            let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
            results.insert(index, report);
        }
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers.min(jobs.len()) {
            scope.spawn(work);
        }
    });
    bar.finish_and_clear();
    let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.into_values().collect()
}

fn judge(job: &Job, report: BlockReport, args: &Args) -> Reported {
    let clocks = job.design.ports().iter().filter(|port| port.is_clock);
    let names: Vec<&String> = clocks.map(|port| &port.name).collect();
    let all_mac = !names.is_empty() && names.iter().all(|name| job.mac_clocks.contains(name));
    let limit = |domain: &Domain| {
        let in_mac = match domain {
            Domain::Clock(name) => job.mac_clocks.contains(name),
            Domain::Outputs | Domain::BlackBoxes => all_mac,
        };
        if in_mac {
            args.mac_limit
        } else {
            args.core_limit
        }
    };
    let limits: Vec<u64> = report.domains.iter().map(|d| limit(&d.domain)).collect();
    let within = |(domain, limit): (&DomainReport, &u64)| u64::from(domain.levels()) <= *limit;
    Reported {
        instances: job.instances,
        inner: job.inner,
        within_limits: report.domains.iter().zip(&limits).all(within),
        limits,
        report,
    }
}

fn show(reported: &[Reported], paths: bool, with_total: bool) {
    let mut table = Table::new(&[
        "block",
        ">times",
        ">LUT",
        ">FF",
        ">BRAM",
        ">URAM",
        ">levels",
        ">limit",
        "domain",
        "longest path",
    ]);
    for block in reported {
        let mut cells = cells(
            &block.report.top,
            block.instances,
            1,
            std::slice::from_ref(block),
        );
        for (domain, limit) in block.report.domains.iter().zip(&block.limits) {
            let tone = if u64::from(domain.levels()) > *limit {
                Tone::Bad
            } else {
                Tone::Plain
            };
            let path = &domain.longest;
            let row = cells.into_iter().map(|cell| (cell, Tone::Plain)).chain([
                (domain.levels().to_string(), tone),
                (limit.to_string(), Tone::Plain),
                (domain.domain.to_string(), Tone::Plain),
                (format!("{} -> {}", path.start, path.end), Tone::Plain),
            ]);
            table.toned(row.collect::<Vec<_>>());
            cells = vec![String::new(); 6];
        }
    }
    if with_total {
        table.row(cells(
            "all",
            reported.iter().map(|b| b.in_total()).sum(),
            0,
            reported,
        ));
    }
    put!("{table}");
    if paths {
        for block in reported {
            say!("\n{}", block.report);
        }
    }
    for block in reported.iter().filter(|block| !block.within_limits) {
        let text = format!("{} is deeper than its limit", block.report.top);
        say!("{}", paint(&text, Tone::Bad));
    }
}

/// Name, instances and cells of one instance (`times` 1) or of all instances of all blocks (`times` 0).
fn cells(name: &str, instances: u32, times: u32, blocks: &[Reported]) -> Vec<String> {
    let sum = |count: &dyn Fn(&BlockReport) -> u32| -> u32 {
        let counts = blocks.iter().map(|block| {
            let times = if times == 0 { block.in_total() } else { times };
            count(&block.report) * times
        });
        counts.sum()
    };
    let luts = sum(&|b| b.resources.luts + b.resources.lut_rams + b.resources.lut_shifts);
    let halves = sum(&|b| b.resources.block_ram_halves);
    vec![
        name.to_owned(),
        instances.to_string(),
        luts.to_string(),
        sum(&|b| b.resources.registers).to_string(),
        format!("{:.1}", f64::from(halves) / 2.0),
        sum(&|b| b.resources.ultra_rams).to_string(),
    ]
}
