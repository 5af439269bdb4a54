//! `ferroce sim conformance`: rules of the standards against the simulated card.

use anyhow::Result;
use ferroce_conformance::{groups, Rule, Stage};
use ferroce_nic::NicConfig;
use serde::Serialize;

use crate::args::UsageError;
use crate::model;
use crate::output::{put, say};
use crate::progress::Progress;
use crate::table::{Table, Tone};
use crate::Outcome;

/// Checks rules of the RoCEv2 standards on a simulated card of 16 QPs.
///
/// Clauses without a name are sections of the InfiniBand Architecture Specification 1.4, volume 1, or its numbered statements
/// (C9-...); A17 is its annex on RoCEv2.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ferroce sim conformance
  ferroce sim conformance --list
  ferroce sim conformance --rule READ
  ferroce sim conformance --json > conformance.json")]
pub struct Args {
    /// List the rules without running them
    #[arg(long)]
    pub list: bool,
    /// Only rules whose name, group or clause has this text, in upper or lower case
    #[arg(long, value_name = "TEXT")]
    pub rule: Option<String>,
    /// Seed of payloads, addresses and damage
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// A rule, and how it came out.
#[derive(Debug, Serialize)]
struct Row {
    group: &'static str,
    rule: &'static str,
    clause: &'static str,
    /// Missing when rules are only listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pass: Option<bool>,
    /// What the card did instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Rules that `text` selects, with their groups.
fn chosen(text: Option<&str>) -> Result<Vec<(&'static str, &'static Rule)>, UsageError> {
    let text = text.unwrap_or_default().to_lowercase();
    let rules = groups()
        .iter()
        .flat_map(|group| group.rules.iter().map(|rule| (group.name, rule)));
    let chosen: Vec<_> = rules
        .filter(|(group, rule)| {
            [*group, rule.name, rule.clause]
                .iter()
                .any(|part| part.to_lowercase().contains(&text))
        })
        .collect();
    if chosen.is_empty() {
        let text = format!("no rule has \"{text}\" in it; --list shows all of them");
        return Err(UsageError(text));
    }
    Ok(chosen)
}

/// Runs the command.
///
/// # Errors
/// A tool is missing; no rule is selected.
pub fn run(args: &Args) -> Result<Outcome> {
    let rules = chosen(args.rule.as_deref())?;
    let mut rows: Vec<_> = rules
        .iter()
        .map(|(group, rule)| Row {
            group,
            rule: rule.name,
            clause: rule.clause,
            pass: None,
            error: None,
        })
        .collect();
    if !args.list {
        let library = model::card(&NicConfig::SMALL, false)?;
        let mut stage = Stage::new(library, args.seed);
        let mut progress = Progress::new(rules.len() as u64, "rules");
        for (n, (row, (_, rule))) in rows.iter_mut().zip(&rules).enumerate() {
            progress.at(n as u64);
            let result = stage.run(rule);
            row.pass = Some(result.is_ok());
            row.error = result.err().map(|error| format!("{error:#}"));
        }
    }
    if args.json {
        say!("{}", serde_json::to_string_pretty(&rows)?);
    } else {
        show(&rows);
    }
    let failed = rows.iter().any(|row| row.pass == Some(false));
    Ok(if failed { Outcome::Bad } else { Outcome::Good })
}

fn show(rows: &[Row]) {
    let mut table = Table::new(&["group", "rule", "clause", "result"]);
    for row in rows {
        let plain = [row.group, row.rule, row.clause].map(|cell| (cell.to_owned(), Tone::Plain));
        let result = match row.pass {
            None => (String::new(), Tone::Plain),
            Some(true) => ("pass".to_owned(), Tone::Good),
            Some(false) => ("fail".to_owned(), Tone::Bad),
        };
        table.toned(plain.into_iter().chain([result]));
    }
    put!("{table}");
    for row in rows {
        if let Some(error) = &row.error {
            say!("\n{error}");
        }
    }
    let passed = rows.iter().filter(|row| row.pass == Some(true)).count();
    match rows.iter().filter(|row| row.pass.is_some()).count() {
        0 => say!("\n{} rules", rows.len()),
        run => say!("\n{passed} of {run} rules pass"),
    }
}
