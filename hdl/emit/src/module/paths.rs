//! Which outputs answer to which inputs within a cycle, and loops of those.

use super::signals::Signals;
use crate::error::EmitError;
use crate::flow::Access;
use crate::ir::{Expr, Statement};
use crate::netlist::Node;
use std::collections::{BTreeMap, BTreeSet};

/// Inputs that each output depends on without a register between.
pub(crate) type Paths = BTreeMap<String, BTreeSet<String>>;

/// What each signal is computed from.
type Sources = BTreeMap<String, BTreeSet<String>>;

/// The paths through a module with this kernel; `children` holds those of its
/// sub-blocks by instance.
///
/// # Errors
/// A signal depends on itself.
pub(super) fn paths(
    node: &Node,
    signals: &Signals<'_>,
    code: &[Statement],
    children: &BTreeMap<String, Paths>,
) -> Result<Paths, EmitError> {
    let mut sources = Sources::new();
    for statement in code {
        collect(statement, &mut Vec::new(), &mut sources);
    }
    for (instance, paths) in children {
        for (output, inputs) in paths {
            let name = |port: &String| format!("{instance}${port}");
            let inputs = inputs.iter().map(name);
            sources.entry(name(output)).or_default().extend(inputs);
        }
    }
    let mut search = Search {
        sources: &sources,
        inputs: BTreeMap::new(),
        trail: Vec::new(),
    };
    for signal in sources.keys() {
        if let Err(signals) = search.inputs_of(signal) {
            return Err(EmitError::CombinationalLoop {
                module: node.place(),
                signals,
            });
        }
    }
    let mut paths = Paths::new();
    for atom in &node.atoms {
        let is_output = matches!(signals.access.get(&atom.name), Some((Access::Immediate, _)))
            && !signals.locals.contains(&atom.name);
        if let (true, Some(found)) = (is_output, search.inputs.get(&atom.name)) {
            let own = found.iter().filter(|name| node.atom(name).is_some());
            paths.insert(atom.name.clone(), own.cloned().collect());
        }
    }
    Ok(paths)
}

fn collect(statement: &Statement, conditions: &mut Vec<String>, sources: &mut Sources) {
    match statement {
        Statement::Assign { target, value } => {
            let entry = sources.entry(target.signal.clone()).or_default();
            entry.extend(conditions.iter().cloned());
            value.visit_reads(&mut |name, _, _| {
                entry.insert(name.to_owned());
            });
            // Fields of one signal in terms of others: their order is checked
            // bit by bit elsewhere.
            entry.remove(&target.signal);
        }
        Statement::If {
            test,
            then,
            otherwise,
        } => {
            let depth = push_reads(test, conditions);
            for inner in then.iter().chain(otherwise) {
                collect(inner, conditions, sources);
            }
            conditions.truncate(depth);
        }
        Statement::Case { test, arms } => {
            let depth = push_reads(test, conditions);
            for inner in arms.iter().flat_map(|arm| &arm.body) {
                collect(inner, conditions, sources);
            }
            conditions.truncate(depth);
        }
    }
}

/// Adds what a condition reads; returns how many there were before.
fn push_reads(test: &Expr, conditions: &mut Vec<String>) -> usize {
    let depth = conditions.len();
    test.visit_reads(&mut |name, _, _| conditions.push(name.to_owned()));
    depth
}

struct Search<'a> {
    sources: &'a Sources,
    /// Signals that are done: what they depend on and nothing drives here.
    inputs: BTreeMap<String, BTreeSet<String>>,
    trail: Vec<String>,
}

impl Search<'_> {
    /// The undriven signals behind a signal, or the loop that it is in.
    fn inputs_of(&mut self, signal: &str) -> Result<BTreeSet<String>, Vec<String>> {
        if let Some(known) = self.inputs.get(signal) {
            return Ok(known.clone());
        }
        if let Some(start) = self.trail.iter().position(|seen| seen == signal) {
            let members = self.trail[start..].iter().rev();
            return Err(members.map(|name| name.replace('$', ".")).collect());
        }
        let Some(sources) = self.sources.get(signal) else {
            return Ok(BTreeSet::from([signal.to_owned()]));
        };
        self.trail.push(signal.to_owned());
        let mut found = BTreeSet::new();
        for source in sources {
            found.extend(self.inputs_of(source)?);
        }
        self.trail.pop();
        self.inputs.insert(signal.to_owned(), found.clone());
        Ok(found)
    }
}
