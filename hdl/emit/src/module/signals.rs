//! Every signal that a kernel can name.

use super::register::Register;
use crate::error::EmitError;
use crate::flow::Access;
use crate::ir::SignalType;
use crate::netlist::{AtomInfo, Node};
use num_bigint::BigUint;
use rust_hdl::prelude::{clog2, AtomKind};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A sub-block that stays a module of its own.
pub(super) struct Instance<'a> {
    pub node: &'a Node,
}

/// The signals of one module.
pub(super) struct Signals<'a> {
    pub types: HashMap<String, SignalType>,
    /// Signals with a driver: what the kernel may do, and their width.
    pub access: BTreeMap<String, (Access, usize)>,
    pub clocks: BTreeSet<String>,
    pub fields: BTreeMap<String, Vec<(String, usize, usize)>>,
    pub registers: Vec<Register>,
    pub instances: Vec<Instance<'a>>,
    /// Temporaries, in order of declaration.
    pub locals: Vec<String>,
}

impl<'a> Signals<'a> {
    pub fn of(node: &'a Node) -> Result<Self, EmitError> {
        let mut signals = Self {
            types: HashMap::new(),
            access: BTreeMap::new(),
            clocks: BTreeSet::new(),
            fields: BTreeMap::new(),
            registers: Vec::new(),
            instances: Vec::new(),
            locals: Vec::new(),
        };
        for atom in &node.atoms {
            signals.add_own(node, atom)?;
        }
        for child in &node.children {
            let register = Register::of(node, child)?;
            let is_register = register.is_some();
            signals.registers.extend(register);
            for atom in &child.atoms {
                signals.add_stub(node, child, atom)?;
            }
            if !is_register {
                signals.instances.push(Instance { node: child });
            }
        }
        Ok(signals)
    }

    fn add_own(&mut self, node: &Node, atom: &AtomInfo) -> Result<(), EmitError> {
        let access = match atom.kind {
            AtomKind::InputParameter => Access::ReadOnly,
            AtomKind::OutputParameter | AtomKind::OutputPassthrough => Access::Immediate,
            AtomKind::LocalSignal => {
                self.locals.push(atom.name.clone());
                Access::Immediate
            }
            AtomKind::Constant => {
                self.add(&atom.name, atom, None);
                return Ok(());
            }
            AtomKind::InOutParameter | AtomKind::StubInputSignal | AtomKind::StubOutputSignal => {
                return Err(bidirectional(node, &atom.name));
            }
        };
        self.add(&atom.name, atom, Some(access));
        Ok(())
    }

    /// A port of a sub-block, as its parent sees it.
    fn add_stub(&mut self, node: &Node, child: &Node, atom: &AtomInfo) -> Result<(), EmitError> {
        let name = format!("{}${}", child.instance, atom.name);
        let access = match atom.kind {
            AtomKind::InputParameter => Access::Settled,
            AtomKind::OutputParameter | AtomKind::OutputPassthrough => Access::ReadOnly,
            AtomKind::Constant | AtomKind::LocalSignal => return Ok(()),
            AtomKind::InOutParameter | AtomKind::StubInputSignal | AtomKind::StubOutputSignal => {
                return Err(bidirectional(node, &name));
            }
        };
        self.add(&name, atom, Some(access));
        Ok(())
    }

    fn add(&mut self, name: &str, atom: &AtomInfo, access: Option<Access>) {
        self.types.insert(
            name.to_owned(),
            SignalType {
                width: atom.width,
                signed: atom.signed,
                constant: access.is_none().then(|| atom.value.clone()),
            },
        );
        if let Some(access) = access {
            self.access.insert(name.to_owned(), (access, atom.width));
        }
        if atom.is_clock {
            self.clocks.insert(name.to_owned());
        }
        if !atom.fields.is_empty() {
            self.fields.insert(name.to_owned(), atom.fields.clone());
        }
        // rust-hdl's own macro names enum variants like signals.
        for (number, variant) in atom.variants.iter().enumerate() {
            self.types.insert(
                variant.replace("::", "$"),
                SignalType {
                    width: clog2(atom.variants.len()),
                    signed: false,
                    constant: Some(BigUint::from(number)),
                },
            );
        }
    }

    pub fn width(&self, name: &str) -> usize {
        self.types.get(name).map_or(1, |signal| signal.width)
    }
}

fn bidirectional(node: &Node, name: &str) -> EmitError {
    EmitError::Unsupported {
        module: node.place(),
        what: format!(
            "the bidirectional `{}`: only wrapped and black boxes have such ports",
            name.replace('$', ".")
        ),
    }
}
