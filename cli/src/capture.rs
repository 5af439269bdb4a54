//! What tshark says about a capture.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{bail, Context, Result};
use ferroce_abi::opcode::{Kind, Opcode, Place};
use serde::Serialize;

/// Packets of a capture.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Dissection {
    /// Packets by BTH opcode.
    pub opcodes: BTreeMap<u8, u64>,
    /// Packets without a BTH.
    pub others: u64,
    /// Packets that tshark could not take apart.
    pub malformed: u64,
}

/// Has tshark take a capture apart; `None` if it is not installed.
///
/// # Errors
/// It can't read the capture.
pub fn dissect(capture: &Path) -> Result<Option<Dissection>> {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(capture);
    command.args(["-T", "fields", "-E", "separator=/t"]);
    command.args(["-e", "infiniband.bth.opcode", "-e", "_ws.malformed"]);
    let output = match command.output() {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).context("can't start tshark"),
    };
    if !output.status.success() {
        bail!("tshark: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(Some(count(&String::from_utf8_lossy(&output.stdout))))
}

fn count(lines: &str) -> Dissection {
    let mut dissection = Dissection::default();
    for line in lines.lines() {
        let (opcode, malformed) = line.split_once('\t').unwrap_or((line, ""));
        if !malformed.trim().is_empty() {
            dissection.malformed += 1;
        }
        match opcode.trim().parse() {
            Ok(byte) => *dissection.opcodes.entry(byte).or_default() += 1,
            Err(_) => dissection.others += 1,
        }
    }
    dissection
}

/// An opcode in words.
pub fn opcode_name(byte: u8) -> String {
    let Ok(opcode) = Opcode::try_from(byte) else {
        return format!("opcode {byte:#04x}");
    };
    let kind = match opcode.kind() {
        Kind::Send => "SEND",
        Kind::Write => "WRITE",
        Kind::ReadRequest => return "READ request".to_owned(),
        Kind::ReadResponse => "READ response",
        Kind::Acknowledge => return "ACK".to_owned(),
        Kind::AtomicAcknowledge => return "atomic ACK".to_owned(),
        Kind::CmpSwap => return "compare and swap".to_owned(),
        Kind::FetchAdd => return "fetch and add".to_owned(),
        Kind::Cnp => return "CNP".to_owned(),
    };
    let place = match opcode.place() {
        Place::First => "first",
        Place::Middle => "middle",
        Place::Last => "last",
        Place::Only => "only",
    };
    let with = match (opcode.has_imm(), opcode.has_ieth()) {
        (true, _) => " with immediate",
        (_, true) => " with invalidate",
        _ => "",
    };
    format!("{kind} {place}{with}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use ferroce_abi::opcode::rc;

    #[test]
    fn lines_are_counted_by_opcode() {
        let counted = count("10\t\n10\t\n17\t1\n\t\n");
        assert_eq!(
            counted,
            Dissection {
                opcodes: [(rc::WRITE_ONLY, 2), (rc::ACKNOWLEDGE, 1)].into(),
                others: 1,
                malformed: 1,
            }
        );
    }

    #[test]
    fn opcodes_have_words() {
        assert_eq!(opcode_name(rc::WRITE_LAST_IMM), "WRITE last with immediate");
        assert_eq!(opcode_name(rc::SEND_MIDDLE), "SEND middle");
        assert_eq!(opcode_name(rc::SEND_ONLY_INV), "SEND only with invalidate");
        assert_eq!(opcode_name(rc::ACKNOWLEDGE), "ACK");
        assert_eq!(opcode_name(0xff), "opcode 0xff");
    }
}
