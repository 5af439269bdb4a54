//! `ferroce bench dma` on the simulated engine.

use std::process::Command;

use serde_json::Value;

/// What it prints with `arguments`.
fn bench(arguments: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ferroce"));
    command.args(["bench", "dma"]);
    command.args(arguments.split_whitespace());
    let output = command.output().expect("ferroce runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{error}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn json(arguments: &str) -> Value {
    serde_json::from_str(&bench(&format!("{arguments} --json"))).expect("JSON")
}

/// A window cuts off parts of blocks at both ends.
const EDGES: f64 = 1.02;

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

#[test]
fn rates_stay_below_their_roofs_and_name_them() {
    let result = json("--sizes 64,1K --offsets 0,1,random --cycles 2000");
    let rates = result["rates"].as_array().expect("a list");
    assert_eq!(rates.len(), 18);
    assert_eq!(result["latencies"].as_array().map(Vec::len), Some(6));
    let roof_of = |op: &str, like: &Value| {
        let alone = rates.iter().find(|rate| {
            rate["op"] == op && rate["bytes"] == like["bytes"] && rate["offset"] == like["offset"]
        });
        number(&alone.expect("this operation alone")["roof"]["gbps"]) * EDGES
    };
    for rate in rates {
        assert!(rate["roof"]["limit"].is_string(), "{rate}");
        let op = rate["op"].as_str().expect("an operation");
        let (read, write) = (number(&rate["read_gbps"]), number(&rate["write_gbps"]));
        assert_eq!(
            (read > 0.0, write > 0.0),
            (op != "write", op != "read"),
            "{rate}"
        );
        assert!(read <= roof_of("read", rate), "{rate}");
        assert!(write <= roof_of("write", rate), "{rate}");
        if op == "both" {
            // Its roof is of equal rates: when one has less, the other may have what is left.
            assert!(read.min(write) <= roof_of("both", rate), "{rate}");
        }
    }
}

/// Gen1 x4 carries 8 Gb/s, of which aligned writes of 1 KiB in TLPs of 128 bytes use 128 of 152 bytes.
#[test]
fn a_slow_link_binds() {
    let result =
        json("--sizes 1K --offsets 0 --ops write --generation 1 --width 4 --max-payload 128");
    let rate = &result["rates"][0];
    assert_eq!(rate["roof"]["limit"], "link_up");
    let roof = 8.0 * 128.0 / 152.0;
    assert!((number(&rate["roof"]["gbps"]) - roof).abs() < 1e-6);
    assert!(number(&rate["write_gbps"]) > 0.97 * roof);
}

/// 128 reads of 64 bytes are under way for the host's latency at least.
#[test]
fn latency_binds_what_tags_can_do() {
    let latency = 3000.0;
    let result = json("--sizes 64 --offsets 0 --ops read --latency 3000");
    assert!(number(&result["latencies"][0]["mean_ns"]) > latency);
    let rate = &result["rates"][0];
    assert_eq!(rate["roof"]["limit"], "tags");
    let most = 128.0 * 64.0 * 8.0 / latency;
    let read = number(&rate["read_gbps"]);
    assert!(read < most && read > 0.8 * most, "{read} of {most}");
}

#[test]
fn tables_name_what_binds_without_straddling() {
    let table = bench("--sizes 256 --offsets 0 --no-straddle --cycles 1000");
    for (op, limit) in [("read", "RC"), ("write", "RQ")] {
        let line = table.lines().find(|line| line.starts_with(op));
        let cells: Vec<&str> = line.expect("a line").split_whitespace().collect();
        assert!(
            cells.contains(&"102.40") && cells.contains(&limit),
            "{table}"
        );
    }
}
