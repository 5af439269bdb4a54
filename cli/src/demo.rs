//! `ferroce demo`: the whole way from Rust to bytes in the other host's memory.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use ferroce_driver::Pmtu;
use ferroce_nic::NicConfig;
use ferroce_sim::design;
use ferroce_sim::load::Op;
use ferroce_sim::pair::{Pair, PairConfig};
use ferroce_sim::transfer::Cut;
use ferroce_sim::world::WorldConfig;
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::capture::{dissect, opcode_name};
use crate::generate;
use crate::model;
use crate::output::{put, say};
use crate::table::{paint, Table, Tone};
use crate::transfer::{self, Transfers};
use crate::Outcome;

/// Bytes of the file that is made when none is given: no multiple of anything.
const MADE_BYTES: usize = 256 * 1024 + 77;
/// Bytes of a message: several packets, and an odd last one.
const MESSAGE: u64 = 16 * 1024 + 1;
const QPS: usize = 4;
const DEPTH: usize = 16;

/// Generates the card's Verilog, verilates it, and moves a file between two simulated cards.
///
/// By WRITE_WITH_IMM and by SEND; the bytes are compared, and tshark reads the capture if it is installed.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  ferroce demo
  ferroce demo photo.jpg --out out/photo")]
pub struct Args {
    /// File to move; one of random bytes is made if none is given
    pub file: Option<PathBuf>,
    /// Folder for everything that is written
    #[arg(long, value_name = "DIR", default_value = "out/demo")]
    pub out: PathBuf,
}

/// Runs the command.
///
/// # Errors
/// A file can't be read or written, a tool is missing, the simulation stops.
pub fn run(args: &Args) -> Result<Outcome> {
    let mut clock = Instant::now();
    let mut step = |what: String| {
        say!("{:>6.1} s  {what}", clock.elapsed().as_secs_f64());
        clock = Instant::now();
    };
    let verilog = args.out.join("verilog");
    let card = design::card(&NicConfig::SMALL)?;
    let files = generate::write(&card, &verilog, false)?;
    step(format!(
        "{} modules of Verilog, {} lines, in {}",
        files.len(),
        generate::lines(&card),
        verilog.display()
    ));

    let library = model::of(&card, false)?;
    step("simulation model of the card (Verilator)".to_owned());

    let (path, data) = input(args)?;
    let pcap = args.out.join("transfer.pcap");
    let transfers = transfer_all(&library, &data, &pcap)?;
    step(format!(
        "{} bytes of {} through two cards and a 100 Gb/s cable, once by WRITE_WITH_IMM, once by SEND",
        data.len(),
        path.display()
    ));
    say!();
    transfer::show(&transfers);
    say!();
    let clean = packets(&pcap)?;
    say!(
        "\nVerilog in {}\ncapture in {}",
        verilog.display(),
        pcap.display()
    );
    let good = transfers.identical() && clean;
    let verdict = if good {
        paint("All bytes arrived as they were sent.", Tone::Good)
    } else {
        paint("The demonstration failed.", Tone::Bad)
    };
    say!("{verdict}");
    Ok(if good { Outcome::Good } else { Outcome::Bad })
}

/// The file to move, made if there is none.
fn input(args: &Args) -> Result<(PathBuf, Vec<u8>)> {
    if let Some(path) = &args.file {
        let data = std::fs::read(path).with_context(|| format!("can't read {}", path.display()))?;
        return Ok((path.clone(), data));
    }
    let mut data = vec![0; MADE_BYTES];
    ChaCha8Rng::seed_from_u64(1).fill_bytes(&mut data);
    let path = args.out.join("random.bin");
    std::fs::write(&path, &data).with_context(|| format!("can't write {}", path.display()))?;
    Ok((path, data))
}

fn transfer_all(
    library: &std::sync::Arc<ferroce_bridge::Library>,
    data: &[u8],
    pcap: &Path,
) -> Result<Transfers> {
    let world = WorldConfig {
        capture: Some(pcap.to_owned()),
        seed: 1,
        ..WorldConfig::default()
    };
    let config = PairConfig {
        qps: QPS,
        depth: transfer::queue_depth(QPS, DEPTH)?,
        ..PairConfig::default()
    };
    // The capture is complete when the pair is gone.
    let pair = Pair::new(library, &world, &config)?;
    let cut = Cut {
        message: MESSAGE,
        depth: DEPTH,
        pmtu: Pmtu::B4096,
    };
    transfer::all(&pair, data, &[Op::WriteImm, Op::Send], cut)
}

/// Prints what the capture holds, and tells whether nothing in it is malformed.
fn packets(pcap: &Path) -> Result<bool> {
    let Some(found) = dissect(pcap)? else {
        say!("tshark is not installed: the capture was not read back");
        return Ok(true);
    };
    let mut table = Table::new(&["packets in the capture (tshark)", ">count"]);
    for (opcode, count) in &found.opcodes {
        table.row([opcode_name(*opcode), count.to_string()]);
    }
    if found.others > 0 {
        table.row(["not RoCE".to_owned(), found.others.to_string()]);
    }
    let tone = if found.malformed == 0 {
        Tone::Good
    } else {
        Tone::Bad
    };
    table.toned([
        ("malformed".to_owned(), Tone::Plain),
        (found.malformed.to_string(), tone),
    ]);
    put!("{table}");
    Ok(found.malformed == 0 && !found.opcodes.is_empty())
}
