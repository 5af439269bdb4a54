//! `ferroce sim conformance`.

use std::process::{Command, Output};

use serde_json::Value;

fn conformance(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ferroce"));
    command.args(["sim", "conformance"]).args(arguments);
    command.output().expect("ferroce runs")
}

fn json(output: &Output) -> Vec<Value> {
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{error}");
    serde_json::from_slice(&output.stdout).expect("a list as JSON")
}

#[test]
fn rules_are_listed_and_filtered() {
    let all = json(&conformance(&["--list", "--json"]));
    assert!(all.iter().all(|row| row.get("pass").is_none()));
    let mut names: Vec<_> = all.iter().map(|row| row["rule"].to_string()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all.len(), "each name is there once");
    let some = json(&conformance(&["--list", "--json", "--rule", "tver"]));
    assert_eq!(some.len(), 1);
    let table = conformance(&["--list", "--rule", "tver"]);
    let table = String::from_utf8_lossy(&table.stdout).into_owned();
    assert!(table.starts_with("group"), "{table}");
    assert!(
        table.contains("TVer") && table.ends_with("1 rules\n"),
        "{table}"
    );
}

#[test]
fn unknown_rules_are_wrong_usage() {
    let output = conformance(&["--rule", "no such thing"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
}

#[test]
fn a_rule_is_run() {
    let rows = json(&conformance(&["--json", "--rule", "tver"]));
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["pass"], true, "{}", rows[0]);
}
