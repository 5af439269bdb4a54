//! Verilator as a linter.

use crate::error::first_errors;
use crate::tools::{self, Verilator};
use crate::{build, cache, BridgeError, ModelSpec};

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Verilator's rule, such as `WIDTHEXPAND`.
    pub rule: String,
    /// Source name.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// What is wrong there.
    pub message: String,
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            rule,
            file,
            line,
            column,
            message,
        } = self;
        write!(f, "{file}:{line}:{column}: {rule}: {message}")
    }
}

/// Runs all of Verilator's checks (`-Wall`) but the waived ones. No warnings is a clean design.
///
/// # Errors
/// A missing Verilator; Verilog that is wrong rather than questionable.
pub fn lint(spec: &ModelSpec) -> Result<Vec<Warning>, BridgeError> {
    spec.check()?;
    let verilator = Verilator::find()?;
    let mut arguments: Vec<String> = ["--lint-only", "-Wall", "-Wno-fatal", "--quiet"]
        .map(str::to_owned)
        .into();
    arguments.extend(build::common_arguments(spec));

    let mut key = cache::Key::default();
    key.part("verilator", verilator.version());
    key.part("arguments", arguments.join("\n"));
    key.part("waivers", spec.waiver_text());
    for source in &spec.sources {
        key.part(&source.name, &source.text);
    }
    let entry = cache::entry("ferroce-lint", &key.finish(), |folder| {
        build::write_sources(spec, folder)?;
        let (success, output) =
            tools::run(verilator.command().args(&arguments).current_dir(folder))?;
        if !success {
            return Err(BridgeError::Verilate {
                top: spec.top.clone(),
                messages: first_errors(&output),
            });
        }
        let log = folder.join(LOG);
        std::fs::write(&log, output).map_err(BridgeError::io("write", &log))
    })?;
    let log = entry.join(LOG);
    let output = std::fs::read_to_string(&log).map_err(BridgeError::io("read", &log))?;
    Ok(output.lines().filter_map(warning).collect())
}

const LOG: &str = "lint.log";

/// Reads `%Warning-RULE: file:line:column: message`.
fn warning(line: &str) -> Option<Warning> {
    let (rule, rest) = line.strip_prefix("%Warning-")?.split_once(": ")?;
    let mut parts = rest.splitn(4, ':');
    Some(Warning {
        rule: rule.to_owned(),
        file: parts.next()?.to_owned(),
        line: parts.next()?.parse().ok()?,
        column: parts.next()?.parse().ok()?,
        message: parts.next()?.trim().to_owned(),
    })
}
