//! `docs/registers.md`, generated from the map.

use super::{
    feature, Counter, Register, Rights, BAR_BYTES, DOORBELLS, DOORBELL_PAGE, DOORBELL_PAGES,
    PAGE_REGISTERS, REGISTERS,
};
use crate::cfg::Table;
use crate::mailbox::{Command, CommandStatus};
use std::fmt::Write;

/// The whole document.
pub fn registers_markdown() -> String {
    let mut text = String::from(
        "# Registers\n\nGenerated from `ferroce_abi::regs`; a test fails when it is not current \
         (`FERROCE_WRITE_DOCS=1 cargo test -p ferroce-abi` rewrites it).\n",
    );
    write_map(&mut text);
    write_features(&mut text);
    write_commands(&mut text);
    write_tables(&mut text);
    write_counters(&mut text);
    text
}

/// Writing to a `String` cannot fail.
macro_rules! line {
    ($text:expr, $($arg:tt)*) => {{
        let _ = writeln!($text, $($arg)*);
    }};
}

fn write_map(text: &mut String) {
    line!(
        text,
        "\nBAR 0 has {BAR_BYTES:#x} bytes. Accesses are 32 or 64 bits wide and aligned to their width. \
         What is not listed reads 0 and ignores writes.\n"
    );
    write_registers(text, REGISTERS);
    line!(
        text,
        "\n## Doorbell pages\n\nPage `p`, 0 to {}, begins at {DOORBELLS:#x} + `p` * {DOORBELL_PAGE:#x}. Each holds these registers; \
         they serve only queues that were given this page.\n",
        DOORBELL_PAGES - 1
    );
    write_registers(text, PAGE_REGISTERS);
}

fn write_registers(text: &mut String, registers: &[Register]) {
    line!(text, "| offset | name | bits | count | access | meaning |");
    line!(text, "|---|---|---|---|---|---|");
    for r in registers {
        let rights = match r.rights {
            Rights::Ro => "read",
            Rights::Rw => "read, write",
            Rights::Wo => "write",
        };
        line!(
            text,
            "| {:#06x} | {} | {} | {} | {rights} | {} |",
            r.offset,
            r.name,
            r.width,
            r.count,
            r.doc
        );
    }
}

fn write_features(text: &mut String) {
    line!(text, "\n## Feature bits\n\n| bit | feature |\n|---|---|");
    for (bit, name) in feature::NAMES {
        line!(text, "| {} | {name} |", bit.trailing_zeros());
    }
}

fn write_commands(text: &mut String) {
    line!(
        text,
        "\n## Commands\n\nBlock k of `MAILBOX_IN` (32 bytes) is written to the k-th table listed, at the index in \
         `COMMAND_OBJECT`.\n\n| opcode | command | object | from | to | tables |\n|---|---|---|---|---|---|"
    );
    for c in Command::ALL {
        let from: Vec<String> = c.from().iter().map(|s| format!("{s:?}")).collect();
        let tables: Vec<String> = c.tables().iter().map(|t| format!("{t:?}")).collect();
        line!(
            text,
            "| {} | {c:?} | {:?} | {} | {} | {} |",
            c as u8,
            c.object(),
            from.join(", "),
            c.to().map_or_else(String::new, |s| format!("{s:?}")),
            tables.join(", ")
        );
    }
    line!(text, "\n| status | meaning |\n|---|---|");
    for s in CommandStatus::ALL {
        line!(text, "| {} | {s} |", s as u8);
    }
}

fn write_tables(text: &mut String) {
    line!(text, "\n## Table entries\n\n256 bits, little-endian.");
    for table in Table::ALL {
        line!(
            text,
            "\n### {}: {table:?}\n\n| bits | field |\n|---|---|",
            table as u8
        );
        for f in table.fields() {
            if f.width == 1 {
                line!(text, "| {} | {} |", f.offset, f.name);
            } else {
                line!(
                    text,
                    "| {}:{} | {} |",
                    f.offset + f.width - 1,
                    f.offset,
                    f.name
                );
            }
        }
    }
}

fn write_counters(text: &mut String) {
    line!(
        text,
        "\n## Counters\n\n| offset | name | counts |\n|---|---|---|"
    );
    for &c in Counter::ALL {
        line!(text, "| {:#06x} | {} | {} |", c.offset(), c.name(), c.doc());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn document_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/registers.md");
        let text = registers_markdown();
        if std::env::var_os("FERROCE_WRITE_DOCS").is_some() {
            std::fs::write(path, &text).unwrap();
        }
        let on_disk = std::fs::read_to_string(path).unwrap();
        assert_eq!(
            on_disk, text,
            "run with FERROCE_WRITE_DOCS=1 to rewrite {path}"
        );
    }
}
