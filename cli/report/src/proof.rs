//! Proofs by induction, with the SAT solver of Yosys, of properties that are put into a generated module.

use std::path::Path;
use std::process::Command;

use ferroce_bridge::{cache, tools};

use crate::error::ReportError;
use crate::synthesis::{plain_name, python, write, yosys_identity};

const DRIVER: &str = "\
import sys
from pyosys import libyosys as ys
design = ys.Design()
for command in open(sys.argv[1]).read().splitlines():
    ys.run_pass(command, design)
";
const LOG: &str = "yosys.log";

/// What an induction came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The properties hold in every state that can be reached, whatever the inputs are.
    Proven,
    /// Some inputs lead from the initial state to one in which a property does not hold.
    Refuted,
    /// Neither within the steps allowed: the properties don't say enough about the states.
    Open,
}

/// Verilog of a block, to which properties (`assert`, `assume`) are added where they see its registers.
#[derive(Clone, Debug)]
pub struct Proof {
    top: String,
    verilog: String,
}

impl Proof {
    /// `properties` in the module `top`.
    ///
    /// # Errors
    /// There is no such module.
    pub fn new(verilog: String, top: &str, properties: &str) -> Result<Self, ReportError> {
        let top = plain_name(top)?.to_owned();
        let head = format!("module {top} (");
        Self { top, verilog }.with(&head, properties)
    }

    /// Adds `text` at the end of the first module whose declaration begins with `head`.
    ///
    /// # Errors
    /// There is no such module.
    pub fn with(mut self, head: &str, text: &str) -> Result<Self, ReportError> {
        let missing = || ReportError::Anchor(head.to_owned());
        let start = self.verilog.find(head).ok_or_else(missing)?;
        let length = self.verilog[start..].find("endmodule");
        let end = start + length.ok_or_else(missing)?;
        self.verilog.insert_str(end, &format!("{text}\n"));
        Ok(self)
    }

    /// Breaks the block: makes `from`, which must be there once, `to`.
    ///
    /// # Errors
    /// It is not there, or more than once.
    pub fn replace(mut self, from: &str, to: &str) -> Result<Self, ReportError> {
        if self.verilog.matches(from).count() != 1 {
            return Err(ReportError::Anchor(from.to_owned()));
        }
        self.verilog = self.verilog.replace(from, to);
        Ok(self)
    }

    /// Makes these clocks enables of the solver's step, so that their edges come in any order, together or alone.
    #[must_use]
    pub fn any_clocks(mut self, clocks: &[&str]) -> Self {
        for clock in clocks {
            let edge = format!("always @(posedge {clock})");
            let tick = format!("always @($global_clock) if ({clock})");
            self.verilog = self.verilog.replace(&edge, &tick);
        }
        self
    }

    /// Tries inductions over at most `steps` steps. Without [`Self::any_clocks`], every step is an edge of the block's clock.
    ///
    /// # Errors
    /// Yosys is missing or rejects the Verilog.
    pub fn prove(&self, steps: usize) -> Result<Verdict, ReportError> {
        let python = python()?;
        let top = &self.top;
        let script = format!(
            "read_verilog -sv -formal design.sv\n\
             hierarchy -check -top {top}\n\
             proc\n\
             memory_map\n\
             flatten\n\
             async2sync\n\
             dffunmap\n\
             chformal -lower\n\
             opt_clean\n\
             sat -tempinduct-def -prove-asserts -set-assumes -set-def-inputs -set-def-formal -maxsteps {steps} {top}\n"
        );
        let mut key = cache::Key::default();
        key.part("yosys", yosys_identity(&python));
        key.part("driver", DRIVER);
        key.part("script", &script);
        key.part("verilog", &self.verilog);
        let entry = cache::entry("ferroce-proofs", &key.finish(), |folder| {
            self.run(&python, &script, folder)
        })?;
        let path = entry.join(LOG);
        let log = std::fs::read_to_string(&path)
            .map_err(ferroce_bridge::BridgeError::io("read", &path))?;
        Ok(if log.contains("Induction step proven: SUCCESS!") {
            Verdict::Proven
        } else if log.contains("model found for base case: FAIL!") {
            Verdict::Refuted
        } else {
            Verdict::Open
        })
    }

    fn run(&self, python: &Path, script: &str, folder: &Path) -> Result<(), ReportError> {
        write(folder, "design.sv", &self.verilog)?;
        write(folder, "script.ys", script)?;
        write(folder, "prove.py", DRIVER)?;
        let (success, log) = tools::run(
            Command::new(python)
                .args(["prove.py", "script.ys"])
                .current_dir(folder),
        )?;
        write(folder, LOG, &log)?;
        if success {
            return Ok(());
        }
        Err(ReportError::Synthesis {
            top: self.top.clone(),
            messages: log,
        })
    }
}
