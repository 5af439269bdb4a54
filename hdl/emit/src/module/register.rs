//! Registers, which are printed inside the module that holds them.

use crate::error::EmitError;
use crate::netlist::Node;
use crate::runtime::parse_literal;
use num_bigint::BigUint;
use rust_hdl::prelude::Verilog;

/// A register of a module; names are flat names in that module.
#[derive(Debug, Clone)]
pub(super) struct Register {
    pub d: String,
    pub q: String,
    pub clock: String,
    pub width: usize,
    /// The value before the first clock edge.
    pub init: BigUint,
}

impl Register {
    /// The register that a sub-block is, if it is one.
    pub fn of(parent: &Node, child: &Node) -> Result<Option<Self>, EmitError> {
        let Some(ports) = &child.register else {
            return Ok(None);
        };
        let unsupported = |what: &str| EmitError::Unsupported {
            module: parent.place(),
            what: format!("the register `{}` {what}", child.instance),
        };
        let q = child
            .atom(&ports.q)
            .ok_or_else(|| unsupported("has no output as its timing() says"))?;
        if q.width == 0 {
            return Err(EmitError::ZeroWidth {
                module: parent.place(),
                signal: child.instance.replace('$', "."),
            });
        }
        // The start value is in the Verilog: a simulated circuit's signals
        // hold something else by now.
        let init = match &child.verilog {
            Verilog::Custom(text) => initial_value(text, &ports.q),
            _ => None,
        };
        let name = |port: &str| format!("{}${port}", child.instance);
        Ok(Some(Self {
            d: name(&ports.d),
            q: name(&ports.q),
            clock: name(&ports.clock),
            width: q.width,
            init: init.ok_or_else(|| unsupported("does not say its initial value"))?,
        }))
    }
}

/// The literal in `q = 8'hff;`.
fn initial_value(text: &str, q: &str) -> Option<BigUint> {
    text.lines().find_map(|line| {
        let (target, value) = line.split_once('=')?;
        if target.trim() != q {
            return None;
        }
        let literal = value.trim().strip_suffix(';')?;
        parse_literal(literal).map(|(_, value)| value)
    })
}
