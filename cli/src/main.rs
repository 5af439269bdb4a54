//! The `ferroce` command.

mod args;
mod bench;
mod cable;
mod capture;
mod card;
mod catalog;
mod conformance;
mod demo;
mod generate;
mod hierarchy;
mod hostlink;
mod model;
mod output;
mod progress;
mod report;
mod serve;
mod table;
mod transfer;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::Parser;
use tracing_subscriber::EnvFilter;

use args::{Bench, Cli, Command, Sim, UsageError};

/// How a command that could do its work ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// As it should.
    Good,
    /// A comparison or a limit failed; the command has said which.
    Bad,
}

const FAILURE: u8 = 1;
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return refuse(&error),
    };
    trace(cli.verbose);
    let result = match &cli.command {
        Command::Generate(args) => generate::run(args),
        Command::Sim(Sim::Transfer(args)) => transfer::run(args),
        Command::Sim(Sim::Serve(args)) => serve::run(args),
        Command::Sim(Sim::Conformance(args)) => conformance::run(args),
        Command::Bench(Bench::Rdma(args)) => bench::run(args),
        Command::Bench(Bench::Dma(args)) => bench::dma::run(args),
        Command::Bench(Bench::Latency(args)) => bench::latency::run(args),
        Command::Report(args) => report::run(args),
        Command::Demo(args) => demo::run(args),
    };
    match result {
        Ok(Outcome::Good) => ExitCode::SUCCESS,
        Ok(Outcome::Bad) => ExitCode::from(FAILURE),
        Err(error) => {
            let usage = error.is::<UsageError>();
            eprintln!("error: {}", with_causes(&error));
            ExitCode::from(if usage { USAGE } else { FAILURE })
        }
    }
}

/// An error and its causes, those left out that the text before them tells already.
fn with_causes(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text += &format!(": {cause}");
        }
    }
    text
}

/// Prints help and versions as they are, and errors on one line.
fn refuse(error: &clap::Error) -> ExitCode {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            output::put!("{}", error.render());
            ExitCode::SUCCESS
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            eprint!("{}", error.render());
            ExitCode::from(USAGE)
        }
        _ => {
            let text = error.render().to_string();
            let lines = text.lines().map(str::trim);
            let said: Vec<&str> = lines
                .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
                .filter(|line| !line.is_empty())
                .collect();
            eprintln!("{}", said.join(" "));
            ExitCode::from(USAGE)
        }
    }
}

/// Events go to standard error; `RUST_LOG` overrules `-v`.
fn trace(verbose: u8) {
    let level = match verbose {
        0 => "warn",
        1 => "info",
        _ => "debug",
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(level));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()))
        .init();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_told_once() {
        let error = anyhow::anyhow!("no such file")
            .context("can't read x: no such file")
            .context("transfer");
        assert_eq!(with_causes(&error), "transfer: can't read x: no such file");
    }
}
