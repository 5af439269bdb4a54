//! Verilator's warnings that don't apply to generated code.

/// A rule of Verilator that is switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiver {
    /// Name of the rule.
    pub rule: &'static str,
    /// Why it does not apply.
    pub reason: &'static str,
}

/// All waivers: every other rule of `-Wall` holds.
pub const WAIVERS: &[Waiver] = &[
    Waiver {
        rule: "DECLFILENAME",
        reason: "simulation reads a design as one file, so file and module names differ",
    },
    Waiver {
        rule: "PROCASSINIT",
        reason: "registers start with the value that the FPGA loads; there is no reset",
    },
    Waiver {
        rule: "UNUSEDSIGNAL",
        reason: "a stage passes a descriptor on whole and reads the fields that it needs",
    },
];

/// `-Wall` and a `-Wno-<rule>` for every waiver.
#[must_use]
pub fn verilator_lint_flags() -> Vec<String> {
    let waived = WAIVERS.iter().map(|waiver| format!("-Wno-{}", waiver.rule));
    std::iter::once("-Wall".to_owned()).chain(waived).collect()
}

/// The waivers as a Verilator control file (`.vlt`), with their reasons.
#[must_use]
pub fn verilator_control_file() -> String {
    let mut text = String::from("`verilator_config\n");
    for waiver in WAIVERS {
        text.push_str(&format!(
            "// {}\nlint_off -rule {}\n",
            waiver.reason, waiver.rule
        ));
    }
    text
}
