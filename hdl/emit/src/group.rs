//! Cuts a kernel into independent pieces.
//!
//! One `always_comb` for a whole kernel would make every signal that it drives
//! depend on every signal that it reads: simulators would see loops through
//! sub-blocks that aren't there. So statements stay together only if they
//! drive the same signal or if their order matters.

use crate::ir::Statement;
use std::collections::BTreeMap;

/// Statements that belong together, in their original order.
pub(crate) type Group = Vec<Statement>;

/// Splits top-level statements into groups, ordered by their first statement.
pub(crate) fn split(code: Vec<Statement>) -> Vec<Group> {
    let code = without_dead_stores(code);
    let writers = writers(&code);
    let mut sets = Sets::new(code.len());
    for indices in writers.values() {
        for pair in indices.windows(2) {
            sets.join(pair[0], pair[1]);
        }
    }
    for (index, statement) in code.iter().enumerate() {
        statement.visit_reads(&mut |name, _, _| {
            // A value read before its last assignment is an intermediate one.
            if let Some(last) = writers.get(name).and_then(|w| w.last()) {
                if *last >= index {
                    sets.join(index, *last);
                }
            }
        });
    }
    let mut groups: BTreeMap<usize, Group> = BTreeMap::new();
    for (index, statement) in code.into_iter().enumerate() {
        groups.entry(sets.first(index)).or_default().push(statement);
    }
    groups.into_values().collect()
}

/// The statements that write each signal.
fn writers(code: &[Statement]) -> BTreeMap<String, Vec<usize>> {
    let mut writers: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (index, statement) in code.iter().enumerate() {
        statement.visit_writes(&mut |target| {
            let indices = writers.entry(target.signal.clone()).or_default();
            if indices.last() != Some(&index) {
                indices.push(index);
            }
        });
    }
    writers
}

/// Drops defaults that are always overwritten before anything reads them.
fn without_dead_stores(code: Vec<Statement>) -> Vec<Statement> {
    // Signals that are certainly overwritten after the present statement.
    let mut overwritten: BTreeMap<String, bool> = BTreeMap::new();
    let mut kept = Vec::with_capacity(code.len());
    for statement in code.into_iter().rev() {
        if let Statement::Assign { target, .. } = &statement {
            if overwritten.get(&target.signal) == Some(&true) {
                continue;
            }
            if target.whole {
                overwritten.insert(target.signal.clone(), true);
            }
        }
        statement.visit_reads(&mut |name, _, _| {
            overwritten.insert(name.to_owned(), false);
        });
        kept.push(statement);
    }
    kept.reverse();
    kept
}

/// Disjoint sets, each known by its smallest member.
struct Sets {
    parent: Vec<usize>,
}

impl Sets {
    fn new(size: usize) -> Self {
        Self {
            parent: (0..size).collect(),
        }
    }

    fn first(&self, mut index: usize) -> usize {
        while self.parent[index] != index {
            index = self.parent[index];
        }
        index
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.first(a), self.first(b));
        self.parent[a.max(b)] = a.min(b);
    }
}
