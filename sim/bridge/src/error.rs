//! What can go wrong between a Verilog text and a running model.

use std::path::{Path, PathBuf};

/// Failure to find a tool, build a model, load it, or run it.
#[derive(Debug, thiserror::Error)]
pub enum BridgeError {
    /// A needed program is absent.
    #[error("{tool} not found (looked at {looked_at}); run scripts/setup")]
    ToolMissing {
        /// Program's usual name.
        tool: &'static str,
        /// Places that were tried.
        looked_at: String,
    },
    /// A program was found but is too old or does not answer.
    #[error("{path} is {found}, but {wanted} is needed; run scripts/setup", path = .path.display())]
    ToolVersion {
        /// Program that was asked.
        path: PathBuf,
        /// What it said.
        found: String,
        /// What is accepted.
        wanted: &'static str,
    },
    /// The caller's description of a model contradicts itself.
    #[error("model {top}: {problem}")]
    InvalidSpec {
        /// Top module.
        top: String,
        /// What is wrong.
        problem: String,
    },
    /// A file or a process could not be handled.
    #[error("can't {action} {path}: {source}", path = .path.display())]
    Io {
        /// Verb, such as "write".
        action: &'static str,
        /// File, folder or program.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// Verilator refused the Verilog.
    #[error("Verilator rejects {top}:\n{messages}")]
    Verilate {
        /// Top module.
        top: String,
        /// Its first error lines.
        messages: String,
    },
    /// The C++ compiler refused Verilator's output, or the linker the objects.
    #[error("the C++ of {what} does not build:\n{messages}")]
    Compile {
        /// Model or run-time library.
        what: String,
        /// First error lines.
        messages: String,
    },
    /// The shared library does not load.
    #[error("can't load {path}: {source}", path = .path.display())]
    Load {
        /// Shared library.
        path: PathBuf,
        /// The loader's reason.
        source: libloading::Error,
    },
    /// No such port at the top module.
    #[error("model {top} has no port {name}; it has {known}")]
    UnknownPort {
        /// Top module.
        top: String,
        /// Name asked for.
        name: String,
        /// All port names.
        known: String,
    },
    /// A port of up to 64 bits was asked for as a wide one.
    #[error(
        "port {name} of model {top} has {bits} bits; only ports above 64 bits are word arrays"
    )]
    NotWide {
        /// Top module.
        top: String,
        /// Port.
        name: String,
        /// Its width.
        bits: u32,
    },
    /// Waves were asked of a model that was built without them.
    #[error("model {top} was built without tracing (ModelSpec::trace)")]
    NotTraced {
        /// Top module.
        top: String,
    },
    /// The wave file could not be created.
    #[error("can't write waves to {path}", path = .path.display())]
    Wave {
        /// Wave file.
        path: PathBuf,
    },
    /// The running model gave up: `$stop`, `$fatal`, or logic that does not settle.
    #[error("model {top} at {time_fs} fs: {message}")]
    Simulation {
        /// Top module.
        top: String,
        /// Model time in femtoseconds.
        time_fs: u64,
        /// Verilator's words.
        message: String,
    },
    /// A clock with a period that no pair of edges fits in.
    #[error("a clock period of {numerator_fs}/{denominator} fs is below 2 fs or undefined")]
    Period {
        /// Period's numerator in femtoseconds.
        numerator_fs: u64,
        /// Period's denominator.
        denominator: u64,
    },
}

impl BridgeError {
    /// For `map_err` on file and process operations.
    pub fn io<'a>(
        action: &'static str,
        path: &'a Path,
    ) -> impl FnOnce(std::io::Error) -> Self + 'a {
        move |source| Self::Io {
            action,
            path: path.to_owned(),
            source,
        }
    }
}

/// Lines of a tool's output worth showing: from the first error on, or all when none is marked.
pub(crate) fn first_errors(output: &str) -> String {
    const SHOWN: usize = 24;
    let is_error = |line: &str| {
        line.starts_with("%Error")
            || line.contains("error:")
            || line.contains("undefined reference")
    };
    let lines: Vec<&str> = output.lines().collect();
    let start = lines.iter().position(|line| is_error(line)).unwrap_or(0);
    let mut text = lines[start..]
        .iter()
        .take(SHOWN)
        .copied()
        .collect::<Vec<_>>()
        .join("\n");
    if lines.len() - start > SHOWN {
        text.push_str(&format!("\n... {} more lines", lines.len() - start - SHOWN));
    }
    text
}
