//! Verilog and reports of single blocks.

use std::path::Path;
use std::process::{Command, Output};

fn ferroce(arguments: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_ferroce"))
        .args(arguments)
        .output();
    output.expect("ferroce runs")
}

#[track_caller]
fn printed(output: &Output, code: i32) -> String {
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{error}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// First words of the lines that are indented.
fn listed(text: &str) -> Vec<&str> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("  "));
    lines
        .filter_map(|line| line.split_whitespace().next())
        .collect()
}

#[test]
fn the_list_names_parts_and_building_blocks() {
    let list = printed(&ferroce(&["generate", "--list"]), 0);
    let names = listed(&list);
    for name in [
        "card",
        "nic",
        "pcie_engine",
        "roce_tx",
        "roce_rx",
        "tx_sched",
        "rx_control",
        "completer",
        "skid",
        "sync2",
    ] {
        assert!(names.contains(&name), "{name} is missing:\n{list}");
    }
    let parts = list.split("Building blocks").next().unwrap_or_default();
    let unexplained: Vec<&str> = parts
        .lines()
        .filter(|line| line.contains("ferroce_"))
        .collect();
    assert!(unexplained.is_empty(), "no summary: {unexplained:?}");
}

#[test]
fn a_block_is_written_with_what_it_contains() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().display().to_string();
    let arguments = [
        "generate", "--block", "tx_sched", "--preset", "small", "--lint", "--out", &out,
    ];
    let text = printed(&ferroce(&arguments), 0);
    assert!(text.contains("the top is tx_sched"), "{text}");
    assert!(text.contains("no warnings"), "{text}");
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("the file");
    assert!(read("tx_sched.sv").contains("module tx_sched ("));
    let files: Vec<_> = std::fs::read_dir(folder.path())
        .expect("the folder")
        .flatten()
        .collect();
    let modules = text
        .lines()
        .filter(|line| line.ends_with(" TxSched"))
        .count();
    assert_eq!(modules, 1, "{text}");
    assert!(files.len() > 3, "only {} files", files.len());
    assert!(!Path::new(&out).join("nic.sv").exists());
}

#[test]
fn a_single_file_holds_all_modules() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().display().to_string();
    let arguments = [
        "generate",
        "--block",
        "skid",
        "--single-file",
        "--out",
        &out,
    ];
    printed(&ferroce(&arguments), 0);
    let text = std::fs::read_to_string(folder.path().join("skid.sv")).expect("the file");
    assert_eq!(text.matches("endmodule").count(), 1);
}

#[test]
fn levels_are_held_against_limits() {
    // Three inputs and a register: one LUT level for a skid buffer's control.
    let text = printed(
        &ferroce(&["report", "skid", "--core-limit", "1", "--paths"]),
        0,
    );
    assert!(text.contains("1 levels"), "{text}");
    // A FIFO's comparisons need more than one.
    let text = printed(
        &ferroce(&["report", "sync_fifo_two_stages", "--core-limit", "1"]),
        1,
    );
    assert!(text.contains("is deeper than its limit"), "{text}");
}

#[test]
fn reports_are_machine_readable() {
    let text = printed(&ferroce(&["report", "sync2", "--json"]), 0);
    let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    // Two registers for each of five bits.
    assert_eq!(json[0]["report"]["resources"]["registers"], 10);
    assert_eq!(json[0]["within_limits"], true);
}
