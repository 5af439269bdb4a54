//! `ferroce generate`: Verilog files.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use ferroce_emit::{Design, WAIVERS};
use ferroce_sim::design;

use crate::card::CardArgs;
use crate::catalog;
use crate::hierarchy::short_type;
use crate::output::{put, say};
use crate::progress;
use crate::table::{paint, Table, Tone};
use crate::Outcome;

/// Writes the Verilog of the card, or of one block with everything in it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ferroce generate --out verilog
  ferroce generate --qps 256 --mrs 1024 --single-file --out nic
  ferroce generate --block tx_sched --preset small --out sched --lint
  ferroce generate --list")]
pub struct Args {
    /// Folder for the files; made if missing
    #[arg(long, value_name = "DIR", default_value = "out/verilog")]
    pub out: PathBuf,
    /// Write only this block (a name of --list) and what is in it
    #[arg(long, value_name = "NAME")]
    pub block: Option<String>,
    /// One file with all modules instead of one for each
    #[arg(long)]
    pub single_file: bool,
    /// Check with Verilator -Wall; any warning is a failure
    #[arg(long)]
    pub lint: bool,
    /// Only list the blocks
    #[arg(long)]
    pub list: bool,
    /// Sizes
    #[command(flatten)]
    pub card: CardArgs,
}

/// Runs the command.
///
/// # Errors
/// Files can't be written, the design can't be printed, a tool is missing.
pub fn run(args: &Args) -> Result<Outcome> {
    let card = design::card(&args.card.config()?)?;
    if args.list {
        list(&card);
        return Ok(Outcome::Good);
    }
    let design = match &args.block {
        Some(name) => catalog::find(&card, name)?.design,
        None => card,
    };
    let files = write(&design, &args.out, args.single_file)?;
    put!("{}", overview(&design, &files, args.single_file));
    if args.lint {
        return lint(&design);
    }
    Ok(Outcome::Good)
}

fn list(card: &Design) {
    say!("Parts of the card, with the card's sizes:");
    let mut table = Table::new(&["  name", "what it does"]);
    for part in catalog::parts(card) {
        let rust_type = part.module.rust_type.as_deref().unwrap_or_default();
        let what = catalog::summary(rust_type).unwrap_or(rust_type);
        table.row([format!("  {}", part.module.name), what.to_owned()]);
    }
    say!("{table}\nBuilding blocks, with small sizes unless they are modules of the card:");
    let mut table = Table::new(&["  name", "Rust type"]);
    for leaf in catalog::leaves() {
        table.row([format!("  {}", leaf.name), (leaf.type_name)().to_owned()]);
    }
    put!("{table}");
}

/// Writes a design's files and returns their paths.
///
/// # Errors
/// They can't be written.
pub fn write(design: &Design, folder: &Path, single_file: bool) -> Result<Vec<PathBuf>> {
    let failed = || format!("can't write Verilog to {}", folder.display());
    if !single_file {
        return design.write_to(folder).with_context(failed);
    }
    std::fs::create_dir_all(folder).with_context(failed)?;
    let path = folder.join(format!("{}.sv", design.top()));
    std::fs::write(&path, design.verilog()).with_context(failed)?;
    Ok(vec![path])
}

fn overview(design: &Design, files: &[PathBuf], single_file: bool) -> String {
    let mut table = Table::new(&["module", ">lines", "Rust type"]);
    for module in design.modules() {
        let rust_type = module.rust_type.as_deref().map_or("", short_type);
        let lines = module.text.lines().count().to_string();
        table.row([module.name.as_str(), &lines, rust_type]);
    }
    let folder = files
        .first()
        .and_then(|file| file.parent())
        .unwrap_or(Path::new("."));
    let place = match (single_file, files) {
        (true, [file]) => file.display().to_string(),
        _ => format!("{} files in {}", files.len(), folder.display()),
    };
    format!(
        "{table}{} modules, {} lines: {place}; the top is {}\n",
        design.modules().len(),
        lines(design),
        design.top()
    )
}

/// Lines of all modules of a design.
pub fn lines(design: &Design) -> usize {
    let modules = design.modules().iter();
    modules.map(|module| module.text.lines().count()).sum()
}

fn lint(design: &Design) -> Result<Outcome> {
    let spinner = progress::spinner("Verilator -Wall");
    let warnings = ferroce_bridge::lint(&design::spec(design))?;
    spinner.finish_and_clear();
    for warning in &warnings {
        say!("{warning}");
    }
    let waived = WAIVERS.iter().map(|waiver| waiver.rule);
    let waived: Vec<&str> = waived.collect();
    if warnings.is_empty() {
        let verdict = paint("no warnings", Tone::Good);
        say!("Verilator -Wall: {verdict} (waived: {})", waived.join(", "));
        return Ok(Outcome::Good);
    }
    let verdict = paint(&format!("{} warnings", warnings.len()), Tone::Bad);
    say!("Verilator -Wall: {verdict}");
    Ok(Outcome::Bad)
}
