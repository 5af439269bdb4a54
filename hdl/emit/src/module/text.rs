//! Layout of declarations.

use crate::ports::{PortDirection, PortInfo};
use crate::print::range;
use std::fmt::Write;

/// The port list after `module NAME`; `is_reg` tells which outputs are `reg`.
pub(super) fn header(ports: &[PortInfo], is_reg: &dyn Fn(&str) -> bool) -> String {
    if ports.is_empty() {
        return ";\n".into();
    }
    let mut text = String::from(" (\n");
    for (index, port) in ports.iter().enumerate() {
        let kind = match port.direction {
            PortDirection::Input => "input  wire",
            PortDirection::Output if is_reg(&port.name) => "output reg ",
            PortDirection::Output => "output wire",
            PortDirection::InOut => "inout  wire",
        };
        let comma = if index + 1 == ports.len() { "" } else { "," };
        let _ = writeln!(text, "    {kind} {}{}{comma}", range(port.width), port.name);
    }
    text.push_str(");\n");
    text
}

/// ` // 16 last, 15:0 payload`, or nothing for signals without fields.
pub(super) fn field_list(fields: &[(String, usize, usize)]) -> String {
    if fields.is_empty() {
        return String::new();
    }
    let fields: Vec<String> = fields
        .iter()
        .rev()
        .map(|(name, offset, width)| match width {
            1 => format!("{offset} {name}"),
            _ => format!("{}:{offset} {name}", offset + width - 1),
        })
        .collect();
    format!(" // {}", fields.join(", "))
}
