//! What the command line refuses, and how.

use std::process::{Command, Output};

fn ferroce(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ferroce"));
    command.args(arguments).env_remove("RUST_LOG");
    command.output().expect("ferroce runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs with arguments that can't be right; the error must be one line that says what is allowed.
#[track_caller]
fn refused(arguments: &str, allowed: &str) {
    let arguments: Vec<&str> = arguments.split_whitespace().collect();
    let output = ferroce(&arguments);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {error}");
    assert_eq!(error.lines().count(), 1, "{arguments:?}: {error}");
    assert!(error.starts_with("error: "), "{arguments:?}: {error}");
    assert!(error.contains(allowed), "{arguments:?}: {error}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
}

#[test]
fn card_sizes_name_their_ranges() {
    for (option, values, allowed) in [
        (
            "--qps",
            ["0", "3", "2", "32768", "-4", "many"],
            "a power of two from 4 to 8192",
        ),
        (
            "--cqs",
            ["0", "1", "3", "32768", "-4", "x"],
            "a power of two from 2 to 16384",
        ),
        (
            "--srqs",
            ["0", "1", "100", "2048", "-1", "x"],
            "a power of two from 2 to 1024",
        ),
        (
            "--mrs",
            ["0", "1", "100", "131072", "-1", "x"],
            "a power of two from 2 to 65536",
        ),
        (
            "--sq-window",
            ["0", "2", "5", "128", "-1", "x"],
            "a power of two from 4 to 64",
        ),
        (
            "--rq-window",
            ["0", "1", "5", "128", "-1", "x"],
            "a power of two from 2 to 64",
        ),
        (
            "--retransmit",
            ["0", "1", "5", "128", "-1", "x"],
            "a power of two from 2 to 64",
        ),
        (
            "--packet-buffer",
            ["0", "8K", "24K", "4M", "-1", "x"],
            "a power of two from 16K to 2M",
        ),
        (
            "--payload-reads",
            ["0", "1", "3", "256", "-1", "x"],
            "a power of two from 2 to 128",
        ),
        (
            "--payload-buffer",
            ["0", "8K", "24K", "4M", "-1", "x"],
            "a power of two from 16K to 2M",
        ),
    ] {
        for value in values {
            for command in ["generate", "report"] {
                refused(&format!("{command} {option}={value}"), allowed);
            }
        }
    }
    refused("generate --preset huge", "small, large");
}

#[test]
fn transfer_parameters_name_their_ranges() {
    for (option, values, allowed) in [
        ("--message", ["0", "3G", "x"], "a size from 1 to 2G"),
        ("--pmtu", ["0", "300", "8192"], "256, 512, 1024, 2048, 4096"),
        ("--qps", ["0", "8191", "x"], "a number from 1 to 8190"),
        ("--depth", ["0", "4097", "x"], "a number from 1 to 4096"),
        (
            "--loss",
            ["-0.1", "1.5", "NaN"],
            "a probability from 0 to 1",
        ),
        (
            "--corrupt",
            ["-0.1", "1.5", "x"],
            "a probability from 0 to 1",
        ),
        (
            "--duplicate",
            ["-0.1", "1.5", "x"],
            "a probability from 0 to 1",
        ),
        (
            "--reorder",
            ["-0.1", "1.5", "x"],
            "a probability from 0 to 1",
        ),
        ("--late", ["-0.1", "1.5", "x"], "a probability from 0 to 1"),
        (
            "--delay",
            ["0", "3", "1000001"],
            "a number from 4 to 1000000",
        ),
        (
            "--jitter",
            ["-1", "1000001", "x"],
            "a number from 0 to 1000000",
        ),
        (
            "--op",
            ["both", "", "write,x"],
            "write, write-imm, send, send-imm, read",
        ),
    ] {
        for value in values {
            refused(&format!("sim transfer file {option}={value}"), allowed);
        }
    }
    refused(
        "sim transfer file --loss 0.6 --late 0.6",
        "0 to 1 is allowed",
    );
    refused(
        "sim transfer file --qps 100 --depth 1000",
        "1 to 8192 are allowed",
    );
    refused("sim transfer file --loss -0.1", "a probability from 0 to 1");
    refused("sim transfer file --message -1", "a size from 1 to 2G");
    refused("sim transfer", "<FILE>");
    for option in ["--pcap", "--wave"] {
        let path = "nowhere/to/be/found";
        let said = "there is no folder nowhere/to/be";
        refused(&format!("sim transfer file {option} {path}"), said);
        refused(
            &format!("sim serve --local a --remote b {option} {path}"),
            said,
        );
    }
}

#[test]
fn a_served_card_names_what_it_needs() {
    refused("sim serve --remote b", "--local");
    refused("sim serve --local a --remote b --mac 1:2:3", "MAC address");
    refused("sim serve --local a --remote b --ip 1.2.3", "IPv4 address");
    refused(
        "sim serve --local a --remote b --loss 2",
        "a probability from 0 to 1",
    );
}

#[test]
fn a_capture_does_not_replace_the_file_that_is_moved() {
    let file = std::env::temp_dir().join(format!("ferroce-self-{}", std::process::id()));
    std::fs::write(&file, b"precious").expect("a temporary file");
    let name = file.to_str().expect("a plain name");
    refused(
        &format!("sim transfer {name} --pcap {name}"),
        "another name",
    );
    assert_eq!(std::fs::read(&file).expect("still there"), b"precious");
    std::fs::remove_file(&file).expect("removed");
}

#[test]
fn bench_and_report_parameters_name_their_ranges() {
    refused("bench rdma --sizes 64,0", "a size from 1 to 2G");
    refused(
        "bench rdma --ops write,both",
        "write, write-imm, send, send-imm, read",
    );
    refused("bench rdma --qps 1,5000", "a number from 1 to 4096");
    refused("bench rdma --offset 4096", "a number from 0 to 4095");
    refused("bench rdma --paged 8k", "4k, 64k, 2m");
    refused("bench rdma --depth 0", "a number from 1 to 4096");
    refused("bench rdma --qps 4096 --depth 64", "1 to 8192 are allowed");
    refused("bench rdma --window 65", "a power of two from 4 to 64");
    refused("report --core-limit 0", "a number from 1 to 99");
    refused("report --mac-limit 100", "a number from 1 to 99");
}

#[test]
fn dma_parameters_name_their_ranges() {
    for (option, values, allowed) in [
        ("--sizes", ["0", "64,8K", "x"], "a size from 1 to 4K"),
        (
            "--offsets",
            ["4096", "0,-1", "any"],
            "a number from 0 to 4095 is needed, or \"random\"",
        ),
        ("--ops", ["copy", "", "read,x"], "read, write, both"),
        (
            "--max-payload",
            ["64", "300", "2048"],
            "128, 256, 512, 1024",
        ),
        (
            "--read-request",
            ["64", "8192", "x"],
            "128, 256, 512, 1024, 2048, 4096",
        ),
        (
            "--latency",
            ["499", "100001", "x"],
            "a number from 500 to 100000",
        ),
        ("--generation", ["0", "5", "x"], "1, 2, 3, 4"),
        ("--width", ["0", "3", "32"], "1, 2, 4, 8, 16"),
        (
            "--cycles",
            ["0", "99", "10000001"],
            "a number from 100 to 10000000",
        ),
        ("--seed", ["-1", "x", "1.5"], "--seed"),
    ] {
        for value in values {
            refused(&format!("bench dma {option}={value}"), allowed);
        }
    }
    refused("bench dma --generation 4 --width 16", "at most 8 lanes");
}

#[test]
fn unknown_words_are_refused() {
    refused("fly", "'fly'");
    refused("generate --speed 9", "'--speed'");
    refused("generate --block warp_core", "`ferroce generate --list`");
    refused("report warp_core", "`ferroce generate --list`");
}

#[test]
fn a_missing_file_is_a_failed_run() {
    let output = ferroce(&["sim", "transfer", "/no/such/file"]);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
    assert!(error.contains("/no/such/file"), "{error}");
}

#[test]
fn help_has_examples_and_ranges() {
    for (command, wanted) in [
        (&["--help"][..], "Exit codes: 0 success"),
        (&["generate", "--help"], "4 to 8192"),
        (&["sim", "transfer", "--help"], "1 to 2G"),
        (&["bench", "rdma", "--help"], "--quick"),
        (&["bench", "dma", "--help"], "500 to 100000"),
        (&["report", "--help"], "--core-limit"),
        (&["demo", "--help"], "ferroce demo"),
    ] {
        let output = ferroce(command);
        let help = text(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{command:?}");
        assert!(help.contains("Examples:"), "{command:?}: {help}");
        assert!(help.contains(wanted), "{command:?}: {help}");
    }
    assert_eq!(ferroce(&[]).status.code(), Some(2));
}
