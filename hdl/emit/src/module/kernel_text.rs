//! Modules with a kernel: their text.

use super::continuous::continuous;
use super::kernel::{Drive, Kernel};
use super::register::Register;
use super::text::{field_list, header};
use super::{ports, Child, Instance};
use crate::error::EmitError;
use crate::ports::PortDirection;
use crate::print::{literal, range};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

impl Kernel<'_> {
    pub(super) fn print(
        &mut self,
        children: &BTreeMap<String, Child>,
    ) -> Result<String, EmitError> {
        let logic = self.print_logic();
        let instances = self.print_instances(children)?;
        let clocked = self.print_registers();
        let nets = self.print_nets();
        let ports = ports(self.node)?;
        let regs: BTreeSet<String> = self
            .drives
            .iter()
            .filter(|(_, drive)| matches!(drive, Drive::Process))
            .map(|(name, _)| self.printer.name(name))
            .collect();
        let mut text = header(&ports, &|name| regs.contains(name));
        for part in [self.printer.declarations(), nets, logic, instances, clocked] {
            if !part.is_empty() {
                text.push_str(part.trim_start_matches('\n').trim_end());
                text.push_str("\n\n");
            }
        }
        let mut text = text.trim_end().to_owned();
        text.push_str("\nendmodule\n");
        Ok(text)
    }

    fn print_nets(&mut self) -> String {
        let mut text = String::new();
        let registers = self.signals.registers.clone();
        for register in &registers {
            let _ = writeln!(
                text,
                "    reg  {}{} = {};{}",
                range(register.width),
                self.printer.name(&register.q),
                literal(&register.init, register.width),
                self.fields_of(&register.q)
            );
        }
        let inputs = registers.iter().map(|register| register.d.clone());
        let locals = self.signals.locals.iter().cloned();
        let nets: Vec<String> = inputs
            .filter(|d| !self.folded.contains(d))
            .chain(locals)
            .chain(self.stubs())
            .filter(|name| !self.aliases.contains_key(name))
            .collect();
        for name in nets {
            let kind = match self.drives.get(&name) {
                Some(Drive::Process) => "reg ",
                _ => "wire",
            };
            let _ = writeln!(
                text,
                "    {kind} {}{};{}",
                range(self.signals.width(&name)),
                self.printer.name(&name),
                self.fields_of(&name)
            );
        }
        text
    }

    fn fields_of(&self, name: &str) -> String {
        field_list(self.signals.fields.get(name).map_or(&[], Vec::as_slice))
    }

    fn print_logic(&mut self) -> String {
        let mut text = String::new();
        let mut after_block = false;
        for group in std::mem::take(&mut self.groups) {
            if let Some((signal, value)) = continuous(&group, &self.signals) {
                if self.folded.contains(&signal) {
                    continue;
                }
                let separator = if after_block { "\n" } else { "" };
                text.push_str(separator);
                self.printer.wire(&signal, &value, &mut text);
                after_block = false;
            } else {
                text.push_str("\n    always_comb begin\n");
                for statement in &group {
                    self.printer.statement(statement, 2, &mut text);
                }
                text.push_str("    end\n");
                after_block = true;
            }
        }
        text
    }

    fn print_instances(&mut self, children: &BTreeMap<String, Child>) -> Result<String, EmitError> {
        let mut text = String::new();
        for index in 0..self.signals.instances.len() {
            let child = self.signals.instances[index].node;
            let Some(Child { module, .. }) = children.get(&child.instance) else {
                continue;
            };
            let name = self.printer.name(&child.instance);
            let ports = ports(child)?;
            let mut instance = Instance {
                name: name.clone(),
                module: module.clone(),
                clocks: Vec::new(),
            };
            if ports.is_empty() {
                let _ = writeln!(text, "\n    {module} {name} ();");
                self.instances.push(instance);
                continue;
            }
            let _ = writeln!(text, "\n    {module} {name} (");
            let atoms = child.atoms.iter().filter(|atom| {
                self.signals
                    .access
                    .contains_key(&format!("{}${}", child.instance, atom.name))
            });
            let stubs: Vec<String> = atoms
                .map(|atom| format!("{}${}", child.instance, atom.name))
                .collect();
            for (position, (port, stub)) in ports.iter().zip(&stubs).enumerate() {
                let net = match port.direction {
                    PortDirection::Input if port.is_clock => self.clock(stub),
                    PortDirection::Input => self.source(stub),
                    PortDirection::Output | PortDirection::InOut => self.printer.name(stub),
                };
                let comma = if position + 1 == ports.len() { "" } else { "," };
                let _ = writeln!(text, "        .{}({net}){comma}", port.name);
                if port.is_clock {
                    instance.clocks.push((port.name.clone(), net));
                }
            }
            text.push_str("    );\n");
            self.instances.push(instance);
        }
        Ok(text)
    }

    /// What drives a folded signal, or the signal itself.
    fn source(&mut self, name: &str) -> String {
        if self.folded.contains(name) {
            if let Some(Drive::Wire(value)) = self.drives.get(name) {
                return self.printer.expr(&value.clone());
            }
        }
        self.printer.name(name)
    }

    /// The first of the nets that a clock is a copy of. Simulators would see
    /// copies move after it, and data move between.
    fn clock(&self, name: &str) -> String {
        let mut root = name;
        while let Some(Drive::Wire(value)) = self.drives.get(root) {
            match value.whole_signal() {
                Some(source) => root = source,
                None => break,
            }
        }
        self.printer.name(root)
    }

    /// One block a clock.
    fn print_registers(&mut self) -> String {
        let mut clocks: Vec<(String, Vec<Register>)> = Vec::new();
        for register in self.signals.registers.clone() {
            let clock = self.clock(&register.clock);
            match clocks.iter_mut().find(|(name, _)| *name == clock) {
                Some((_, registers)) => registers.push(register),
                None => clocks.push((clock, vec![register])),
            }
        }
        let mut text = String::new();
        for (clock, registers) in clocks {
            let _ = writeln!(text, "\n    always @(posedge {clock}) begin");
            for register in registers {
                let d = self.source(&register.d);
                let _ = writeln!(text, "        {} <= {d};", self.printer.name(&register.q));
            }
            text.push_str("    end\n");
        }
        text
    }
}
