//! Icarus Verilog: a simulator of four states, in which what nothing has set
//! is unknown.

use ferroce_bridge::tools::run;
use std::path::Path;
use std::process::Command;

/// What Icarus says of blocks that are right: of a part-select in an
/// `always_comb`, which then waits for the whole signal (that costs time and
/// changes no value), and of one that reads constants alone and so runs once.
const REMARKS: [&str; 2] = [
    "sorry: constant selects in always_* processes are not currently supported (all bits will be included).",
    "warning: always_comb process has no sensitivities.",
];

/// Runs `iverilog` in `folder`.
///
/// # Panics
/// If it isn't installed, fails, or has anything to say of the source.
pub fn icarus(arguments: &[&str], folder: &Path) {
    let (success, output) = run(Command::new("iverilog")
        .arg("-g2012")
        .args(arguments)
        .current_dir(folder))
    .expect("Icarus Verilog is missing: run scripts/setup");
    let complaints: Vec<&str> = output
        .lines()
        .filter(|line| !REMARKS.iter().any(|remark| line.ends_with(remark)))
        .collect();
    assert!(success && complaints.is_empty(), "{complaints:#?}");
}

/// What a bench prints. `folder` is made if missing.
///
/// # Panics
/// Like [`icarus`], and if the bench fails.
#[must_use]
pub fn icarus_prints(bench: &str, folder: &Path) -> String {
    std::fs::create_dir_all(folder).expect("the folder can be made");
    std::fs::write(folder.join("bench.sv"), bench).expect("the folder is writable");
    icarus(&["-o", "bench.vvp", "bench.sv"], folder);
    let (success, output) = run(Command::new("vvp")
        .args(["-n", "bench.vvp"])
        .current_dir(folder))
    .expect("vvp comes with Icarus");
    assert!(success, "{output}");
    output
}
