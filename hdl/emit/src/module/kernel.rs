//! Modules with a kernel: what drives each signal, and what it is called.

use super::continuous::continuous;
use super::paths::paths;
use super::signals::Signals;
use super::{ports, Body, Child, Instance};
use crate::error::EmitError;
use crate::flow::{Access, Flow};
use crate::group::{split, Group};
use crate::ir::{lower_block, Expr, Lower, Statement};
use crate::names::verilog_name;
use crate::netlist::Node;
use crate::print::Printer;
use rust_hdl::core::ast::VerilogStatement;
use std::collections::{BTreeMap, BTreeSet};

/// Prints a module; `children` holds its sub-blocks by instance.
pub(crate) fn print_kernel(
    node: &Node,
    code: &[VerilogStatement],
    children: &BTreeMap<String, Child>,
) -> Result<Body, EmitError> {
    let place = node.place();
    let signals = Signals::of(node)?;
    let mut lower = Lower {
        place: &place,
        signals: &signals.types,
        loops: Vec::new(),
    };
    let code = lower_block(&mut lower, code)?;
    Flow {
        place: &place,
        signals: &signals.access,
    }
    .check(&code)?;
    let inner = children
        .iter()
        .map(|(instance, child)| (instance.clone(), child.paths.clone()))
        .collect();
    let paths = paths(node, &signals, &code, &inner)?;
    let mut kernel = Kernel::new(node, signals, code)?;
    kernel.name_everything()?;
    let text = kernel.print(children)?;
    Ok(Body {
        text,
        paths,
        instances: kernel.instances,
    })
}

/// How a signal gets its value.
pub(super) enum Drive {
    /// All of it from one expression, always.
    Wire(Expr),
    /// By the statements of an `always_comb`.
    Process,
}

pub(super) struct Kernel<'a> {
    pub(super) node: &'a Node,
    pub(super) signals: Signals<'a>,
    pub(super) groups: Vec<Group>,
    pub(super) drives: BTreeMap<String, Drive>,
    /// Signals that a statement or expression reads.
    read: BTreeSet<String>,
    /// Wires that are replaced by what drives them: clocks, inputs of
    /// sub-blocks and registers that are plain copies.
    pub(super) folded: BTreeSet<String>,
    /// Outputs of sub-blocks that drive an output of this module directly.
    pub(super) aliases: BTreeMap<String, String>,
    /// Sub-blocks printed so far.
    pub(super) instances: Vec<Instance>,
    pub(super) printer: Printer,
}

impl<'a> Kernel<'a> {
    fn new(node: &'a Node, signals: Signals<'a>, code: Vec<Statement>) -> Result<Self, EmitError> {
        let groups = split(code);
        let mut drives = BTreeMap::new();
        let mut read = BTreeSet::new();
        for group in &groups {
            for statement in group {
                statement.visit_reads(&mut |name, _, _| {
                    read.insert(name.to_owned());
                });
            }
            if let Some((signal, value)) = continuous(group, &signals) {
                drives.insert(signal, Drive::Wire(value));
                continue;
            }
            for statement in group {
                statement.visit_writes(&mut |target| {
                    drives.insert(target.signal.clone(), Drive::Process);
                });
            }
        }
        let mut kernel = Self {
            node,
            signals,
            groups,
            drives,
            read,
            folded: BTreeSet::new(),
            aliases: BTreeMap::new(),
            instances: Vec::new(),
            printer: Printer::new(),
        };
        kernel.check_clocks()?;
        kernel.fold_copies();
        kernel.alias_outputs();
        Ok(kernel)
    }

    /// Clocks are wires: each is a copy of another one, or an input.
    fn check_clocks(&self) -> Result<(), EmitError> {
        for (name, drive) in &self.drives {
            let source = match drive {
                Drive::Wire(value) => value.whole_signal(),
                Drive::Process => None,
            };
            let from_clock = source.is_some_and(|s| self.signals.clocks.contains(s));
            if self.signals.clocks.contains(name) && !from_clock {
                return Err(EmitError::ClockLogic {
                    module: self.node.place(),
                    signal: name.replace('$', "."),
                });
            }
        }
        Ok(())
    }

    /// Inputs of sub-blocks and registers that are copies need no wire.
    fn fold_copies(&mut self) {
        for (name, drive) in &self.drives {
            let is_copy = matches!(drive, Drive::Wire(value)
                if value.whole_signal().is_some() || value.constant().is_some());
            let is_stub = matches!(self.signals.access.get(name), Some((Access::Settled, _)));
            if is_copy && is_stub && !self.read.contains(name) {
                self.folded.insert(name.clone());
            }
        }
    }

    /// An output that only passes on a sub-block's output is that net.
    fn alias_outputs(&mut self) {
        for port in &self.node.atoms {
            let Some(Drive::Wire(value)) = self.drives.get(&port.name) else {
                continue;
            };
            let Some(source) = value.whole_signal() else {
                continue;
            };
            let is_output = matches!(
                self.signals.access.get(&port.name),
                Some((Access::Immediate, _))
            ) && !self.signals.locals.contains(&port.name);
            let is_instance_output = self.signals.instances.iter().any(|instance| {
                source
                    .strip_prefix(&instance.node.instance)
                    .and_then(|rest| rest.strip_prefix('$'))
                    .is_some_and(|port| instance.node.atom(port).is_some())
            });
            if is_output && is_instance_output && !self.aliases.contains_key(source) {
                self.aliases.insert(source.to_owned(), port.name.clone());
                self.folded.insert(port.name.clone());
            }
        }
    }

    fn name_everything(&mut self) -> Result<(), EmitError> {
        for port in ports(self.node)? {
            self.printer.space.claim(&port.name);
        }
        for atom in &self.node.atoms {
            if !self.signals.locals.contains(&atom.name) {
                self.printer
                    .names
                    .insert(atom.name.clone(), verilog_name(&atom.name));
            }
        }
        let registers = self.signals.registers.iter().flat_map(|r| [&r.q, &r.d]);
        let inner: Vec<String> = registers.chain(&self.signals.locals).cloned().collect();
        let instances: Vec<String> = self
            .signals
            .instances
            .iter()
            .map(|instance| instance.node.instance.clone())
            .collect();
        for name in inner.into_iter().chain(instances) {
            let allocated = self.printer.space.allocate(&verilog_name(&name));
            self.printer.names.insert(name, allocated);
        }
        for stub in self.stubs() {
            let name = match self.aliases.get(&stub) {
                Some(output) => self.printer.name(output),
                None => self.printer.space.allocate(&verilog_name(&stub)),
            };
            self.printer.names.insert(stub, name);
        }
        self.printer.fields = self.signals.fields.clone();
        Ok(())
    }

    /// Ports of instances that are nets of this module.
    pub(super) fn stubs(&self) -> Vec<String> {
        self.signals
            .instances
            .iter()
            .flat_map(|instance| {
                let ports = instance.node.atoms.iter();
                ports.map(|atom| format!("{}${}", instance.node.instance, atom.name))
            })
            .filter(|name| self.signals.access.contains_key(name) && !self.folded.contains(name))
            .collect()
    }
}
