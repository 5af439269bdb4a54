//! Modules whose Verilog is written by hand.

use super::{ports, text::header};
use crate::error::EmitError;
use crate::netlist::Node;
use crate::print::{literal, range};
use rust_hdl::prelude::AtomKind;
use std::fmt::Write;

/// The module's text after its name.
///
/// An output is a `reg` unless the code uses it as a net: on the left of an
/// `assign`, or connected to a port of an instance.
pub(crate) fn print_custom(node: &Node, code: &str, is_wrapper: bool) -> Result<String, EmitError> {
    let ports = ports(node)?;
    let nets = nets(code);
    let mut text = header(&ports, &|name| {
        !is_wrapper && !nets.iter().any(|net| net == name)
    });
    for atom in &node.atoms {
        if atom.kind == AtomKind::Constant {
            let _ = writeln!(
                text,
                "    localparam {}{} = {};",
                range(atom.width),
                crate::names::verilog_name(&atom.name),
                literal(&atom.value, atom.width)
            );
        }
    }
    for line in code.trim_end().lines() {
        if line.trim().is_empty() {
            text.push('\n');
        } else {
            let _ = writeln!(text, "    {}", line.trim_end());
        }
    }
    text.push_str("endmodule\n");
    Ok(text)
}

/// Identifiers that the code uses as nets.
fn nets(code: &str) -> Vec<String> {
    let tokens = tokens(code);
    let mut nets = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        match tokens[at].as_str() {
            "assign" => {
                while at < tokens.len() && tokens[at] != "=" {
                    nets.push(tokens[at].clone());
                    at += 1;
                }
            }
            "." if tokens.get(at + 2).is_some_and(|t| t == "(") => {
                at += 3;
                while at < tokens.len() && tokens[at] != ")" {
                    nets.push(tokens[at].clone());
                    at += 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    nets
}

/// Identifiers whole, everything else by character; comments are dropped.
fn tokens(code: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    for line in code.lines() {
        let line = line.split("//").next().unwrap_or_default();
        let mut word = String::new();
        for c in line.chars().chain([' ']) {
            if c.is_ascii_alphanumeric() || c == '_' || c == '$' {
                word.push(c);
                continue;
            }
            if !word.is_empty() {
                tokens.push(std::mem::take(&mut word));
            }
            if !c.is_whitespace() {
                tokens.push(c.to_string());
            }
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assigned_and_connected_outputs_are_nets() {
        let code = "assign {carry, sum} = a + b; // assign wrong = 1;\n\
                    always @(posedge clock) q <= d;\n\
                    BUFG buffer (.I(a), .O(buffered));";
        let nets = nets(code);
        for net in ["carry", "sum", "buffered"] {
            assert!(nets.iter().any(|n| n == net), "{net}");
        }
        for reg in ["q", "wrong"] {
            assert!(!nets.iter().any(|n| n == reg), "{reg}");
        }
    }
}
