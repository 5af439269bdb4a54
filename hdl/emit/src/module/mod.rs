//! Verilog modules.

mod continuous;
mod custom;
mod kernel;
mod kernel_text;
mod paths;
mod register;
mod signals;
mod text;

pub(crate) use custom::print_custom;
pub(crate) use kernel::print_kernel;
pub(crate) use paths::Paths;

use crate::error::EmitError;
use crate::names::verilog_name;
use crate::netlist::Node;
use crate::ports::{PortDirection, PortInfo};
use rust_hdl::prelude::AtomKind;
use std::collections::HashSet;

/// A module without its name.
pub(crate) struct Body {
    /// The text after the name.
    pub text: String,
    /// Its combinational paths.
    pub paths: Paths,
    /// Modules inside it.
    pub instances: Vec<Instance>,
}

/// A module inside another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// Name of the instance.
    pub name: String,
    /// Name of the module.
    pub module: String,
    /// Its clocks: port, and the net of the outer module that drives it.
    pub clocks: Vec<(String, String)>,
}

/// A sub-block that is printed.
#[derive(Debug, Clone)]
pub(crate) struct Child {
    /// Name of its module.
    pub module: String,
    pub paths: Paths,
}

/// The ports of a module under their Verilog names.
pub(crate) fn ports(node: &Node) -> Result<Vec<PortInfo>, EmitError> {
    let mut seen = HashSet::new();
    let mut ports = Vec::new();
    for atom in &node.atoms {
        let direction = match atom.kind {
            AtomKind::InputParameter => PortDirection::Input,
            AtomKind::OutputParameter | AtomKind::OutputPassthrough => PortDirection::Output,
            AtomKind::InOutParameter => PortDirection::InOut,
            AtomKind::StubInputSignal
            | AtomKind::StubOutputSignal
            | AtomKind::Constant
            | AtomKind::LocalSignal => continue,
        };
        let name = verilog_name(&atom.name);
        if atom.width == 0 {
            return Err(EmitError::ZeroWidth {
                module: node.place(),
                signal: atom.name.replace('$', "."),
            });
        }
        if !seen.insert(name.clone()) {
            return Err(EmitError::PortNameConflict {
                module: node.place(),
                name,
            });
        }
        ports.push(PortInfo {
            name,
            width: atom.width,
            direction,
            is_clock: atom.is_clock,
        });
    }
    Ok(ports)
}
