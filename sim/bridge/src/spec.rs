//! Description of a model to build.

use crate::BridgeError;

/// One Verilog file, by content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// File name as shown in messages; a plain name ending in `.v` or `.sv`.
    pub name: String,
    /// Verilog text.
    pub text: String,
}

/// A lint rule that is switched off, with the reason why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiver {
    /// Verilator's rule name, such as `UNUSEDSIGNAL`.
    pub rule: String,
    /// File name pattern (`*` and `?`) it is limited to; none is everywhere.
    pub file: Option<String>,
    /// Why the rule does not apply.
    pub reason: String,
}

impl Waiver {
    /// Switches a rule off in every file.
    pub fn everywhere(rule: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            rule: rule.into(),
            file: None,
            reason: reason.into(),
        }
    }
}

/// What the C++ compiler spends on a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Effort {
    /// Quick to build: for tests of some thousand cycles.
    Build,
    /// Quick to run: for whole systems and long runs.
    #[default]
    Run,
}

/// Everything that determines a model's shared library.
#[derive(Debug, Clone)]
pub struct ModelSpec {
    /// Top module.
    pub top: String,
    /// Verilog texts, in the order Verilator reads them.
    pub sources: Vec<Source>,
    /// Lint rules that are off, both when building and linting.
    pub waivers: Vec<Waiver>,
    /// Whether warnings stop the build. Switch off for Verilog that others wrote.
    pub fatal_warnings: bool,
    /// Whether waves can be recorded; costs speed even when none are.
    pub trace: bool,
    /// Threads of one evaluation, 1 or more.
    pub threads: u32,
    /// What the C++ compiler optimises for.
    pub effort: Effort,
    /// Further arguments for Verilator, such as `-GDEPTH=16`.
    pub arguments: Vec<String>,
}

impl ModelSpec {
    /// A single-threaded model without waves.
    pub fn new(top: impl Into<String>) -> Self {
        Self {
            top: top.into(),
            sources: Vec::new(),
            waivers: Vec::new(),
            fatal_warnings: true,
            trace: false,
            threads: 1,
            effort: Effort::default(),
            arguments: Vec::new(),
        }
    }

    /// Adds a Verilog text under a file name.
    #[must_use]
    pub fn source(mut self, name: impl Into<String>, text: impl Into<String>) -> Self {
        self.sources.push(Source {
            name: name.into(),
            text: text.into(),
        });
        self
    }

    /// Adds waivers.
    #[must_use]
    pub fn waive(mut self, waivers: impl IntoIterator<Item = Waiver>) -> Self {
        self.waivers.extend(waivers);
        self
    }

    /// Sets whether warnings stop the build.
    #[must_use]
    pub fn fatal_warnings(mut self, fatal: bool) -> Self {
        self.fatal_warnings = fatal;
        self
    }

    /// Sets whether waves can be recorded.
    #[must_use]
    pub fn trace(mut self, trace: bool) -> Self {
        self.trace = trace;
        self
    }

    /// Sets the threads of one evaluation.
    #[must_use]
    pub fn threads(mut self, threads: u32) -> Self {
        self.threads = threads;
        self
    }

    /// Sets what the C++ compiler optimises for.
    #[must_use]
    pub fn effort(mut self, effort: Effort) -> Self {
        self.effort = effort;
        self
    }

    /// Adds an argument for Verilator.
    #[must_use]
    pub fn argument(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Names become file names and command arguments, so they are checked here once.
    pub(crate) fn check(&self) -> Result<(), BridgeError> {
        let invalid = |problem: String| {
            Err(BridgeError::InvalidSpec {
                top: self.top.clone(),
                problem,
            })
        };
        let plain = |name: &str| {
            !name.starts_with(['.', '-'])
                && !name.is_empty()
                && name
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "_.-$".contains(c))
        };
        if !plain(&self.top) {
            return invalid("the top module's name is not a plain identifier".into());
        }
        if self.threads == 0 {
            return invalid("0 threads can't evaluate it".into());
        }
        if self.sources.is_empty() {
            return invalid("it has no sources".into());
        }
        for (index, source) in self.sources.iter().enumerate() {
            let name = &source.name;
            if !plain(name) || !(name.ends_with(".v") || name.ends_with(".sv")) {
                return invalid(format!(
                    "source name {name:?} is not a plain .v or .sv file name"
                ));
            }
            if self.sources[..index]
                .iter()
                .any(|other| other.name == *name)
            {
                return invalid(format!("two sources are called {name}"));
            }
        }
        for waiver in &self.waivers {
            let file = waiver.file.as_deref().unwrap_or("*");
            if !plain(&waiver.rule) || file.contains(['"', '\n']) || waiver.reason.is_empty() {
                return invalid(format!(
                    "waiver {:?} has no valid rule, file pattern and reason",
                    waiver.rule
                ));
            }
        }
        Ok(())
    }

    /// Verilator's configuration text for the waivers.
    pub(crate) fn waiver_text(&self) -> String {
        let mut text = String::from("`verilator_config\n");
        for waiver in &self.waivers {
            for line in waiver.reason.lines() {
                text.push_str(&format!("// {line}\n"));
            }
            text.push_str(&format!("lint_off -rule {}", waiver.rule));
            if let Some(file) = &waiver.file {
                text.push_str(&format!(" -file \"{file}\""));
            }
            text.push('\n');
        }
        text
    }
}
