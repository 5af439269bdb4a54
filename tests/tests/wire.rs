//! What others make of the frames: tshark reads a capture of a run.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{ensure, Context, Result};
use ferroce_abi::opcode::rc;
use ferroce_driver::Pmtu;
use ferroce_sim::link::LinkConfig;
use ferroce_sim::load::Op;
use ferroce_sim::world::WorldConfig;
use ferroce_tests::model;
use ferroce_tests::seed::{rng, seed};
use ferroce_tests::setup::{pair, world, Connection};
use ferroce_tests::traffic::{Message, Traffic};

/// Path MTU of the run.
const PMTU: usize = 1024;
/// Lengths of one, two, three and many packets.
const LENGTHS: [usize; 6] = [0, 1, 1024, 1025, 2049, 20 * 1024 + 2];

/// Protocols that tshark looks for in any payload.
const GUESSES: [&str; 8] = [
    "fcoib",
    "infiniband_sdp",
    "iser",
    "lnet",
    "nvme-rdma",
    "rpcordma",
    "smb_direct",
    "smc",
];

/// Opcodes of the request packets of a message.
fn opcodes(op: Op, len: usize) -> Vec<u8> {
    let base = match op {
        Op::Read => return vec![rc::READ_REQUEST],
        Op::Write | Op::WriteImm => rc::WRITE_FIRST,
        Op::Send | Op::SendImm => rc::SEND_FIRST,
    };
    let imm = u8::from(matches!(op, Op::WriteImm | Op::SendImm));
    let packets = len.div_ceil(PMTU).max(1);
    let place = |n| match (n == 0, n + 1 == packets) {
        (true, true) => rc::SEND_ONLY + imm,
        (true, false) => rc::SEND_FIRST,
        (false, true) => rc::SEND_LAST + imm,
        (false, false) => rc::SEND_MIDDLE,
    };
    (0..packets).map(|n| base + place(n)).collect()
}

/// Opcodes of the packets that answer a READ.
fn data_opcodes(len: usize) -> Vec<u8> {
    match len.div_ceil(PMTU).max(1) {
        1 => vec![rc::READ_RESPONSE_ONLY],
        packets => {
            let mut opcodes = vec![rc::READ_RESPONSE_MIDDLE; packets];
            opcodes[0] = rc::READ_RESPONSE_FIRST;
            opcodes[packets - 1] = rc::READ_RESPONSE_LAST;
            opcodes
        }
    }
}

/// Fields of all frames that pass a filter, one line a frame.
fn tshark(capture: &Path, filter: &str, fields: &[&str]) -> Result<Vec<String>> {
    let mut command = Command::new("tshark");
    // All checksums that tshark can verify; it knows the ICRC only as bytes. Random payload may look like
    // anything.
    command
        .args(["-o", "ip.check_checksum:TRUE"])
        .args(["-o", "infiniband.identify_payload:FALSE"])
        .args(GUESSES.into_iter().flat_map(|p| ["--disable-protocol", p]))
        .args(["-n", "-T", "fields", "-r"])
        .arg(capture);
    if !filter.is_empty() {
        command.args(["-Y", filter]);
    }
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command.output().context("tshark")?;
    ensure!(
        output.status.success(),
        "tshark: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout)?;
    Ok(text.lines().map(str::to_owned).collect())
}

fn has_tshark() -> bool {
    Command::new("tshark").arg("--version").output().is_ok()
}

/// Nothing is malformed or suspicious, and every packet is there once.
#[test]
fn tshark_understands_every_frame() -> Result<()> {
    if !has_tshark() {
        println!("skipped: tshark is not installed (scripts/setup does it)");
        return Ok(());
    }
    let directory = tempfile::tempdir()?;
    let capture = directory.path().join("run.pcap");
    let seed = seed();
    let config = WorldConfig {
        capture: Some(capture.clone()),
        ..world(LinkConfig::default(), seed)
    };
    let connection = Connection {
        pmtu: Pmtu::B1024,
        ..Connection::default()
    };
    let pair = pair(&model::small()?, &config, 64, &[connection])?;
    let mut traffic = Traffic::new(&pair, rng(seed), 1 << 16, 1 << 20)?;
    let messages: Vec<Message> = Op::ALL
        .iter()
        .flat_map(|&op| LENGTHS.map(|len| Message { op, len }))
        .collect();
    let mut want = BTreeMap::new();
    for message in &messages {
        for opcode in opcodes(message.op, message.len) {
            *want.entry(opcode).or_insert(0) += 1;
        }
    }
    traffic.add(0, 0, &messages)?;
    traffic.run()?;
    drop(pair);

    let bad = tshark(
        &capture,
        "_ws.malformed || _ws.expert || ip.checksum.status == 0",
        &["frame.number"],
    )?;
    ensure!(bad.is_empty(), "frames {bad:?} are malformed");
    let mut got = BTreeMap::new();
    for line in tshark(&capture, "ip.src == 192.0.2.1", &["infiniband.bth.opcode"])? {
        let opcode: u8 = line.parse().with_context(|| format!("opcode {line:?}"))?;
        *got.entry(opcode).or_insert(0) += 1;
    }
    ensure!(got == want, "opcodes and counts: {got:?}, not {want:?}");
    let acks = tshark(
        &capture,
        "ip.src == 192.0.2.2",
        &["infiniband.bth.opcode", "infiniband.aeth.syndrome"],
    )?;
    ensure!(acks.len() >= messages.len());
    let mut got = BTreeMap::new();
    for line in acks.iter().filter(|line| !line.starts_with("17\t")) {
        let opcode: u8 = line.split('\t').next().unwrap_or_default().parse()?;
        *got.entry(opcode).or_insert(0) += 1;
    }
    let mut want = BTreeMap::new();
    for message in messages.iter().filter(|message| message.op == Op::Read) {
        for opcode in data_opcodes(message.len) {
            *want.entry(opcode).or_insert(0) += 1;
        }
    }
    ensure!(
        got == want,
        "beside ACKs the receiver sends {got:?}, not {want:?}"
    );
    let versions = tshark(
        &capture,
        "infiniband.bth.tver != 0 || infiniband.bth.p_key != 0xffff",
        &["frame.number"],
    )?;
    ensure!(versions.is_empty());
    Ok(())
}
