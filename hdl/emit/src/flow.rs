//! Does every signal get a value, on every path, before it is read?

use crate::error::EmitError;
use crate::ir::{mask, Expr, Statement, Target};
use num_bigint::BigUint;
use std::collections::{BTreeMap, BTreeSet};

/// What a kernel may do with a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Driven from elsewhere: inputs, outputs of sub-blocks, registers.
    ReadOnly,
    /// Rust reads the value assigned last: outputs and temporaries.
    Immediate,
    /// Rust reads the value after everything settled: inputs of sub-blocks.
    Settled,
}

/// Looks at the kernel of one module.
pub(crate) struct Flow<'a> {
    /// The module, for messages.
    pub place: &'a str,
    /// Every signal: what may be done with it, and its width.
    pub signals: &'a BTreeMap<String, (Access, usize)>,
}

/// Bits that have a value, by signal.
type Assigned = BTreeMap<String, BigUint>;

impl Flow<'_> {
    /// Finds latches, reads before writes and writes to inputs.
    pub fn check(&self, code: &[Statement]) -> Result<(), EmitError> {
        let mut assigned = Assigned::new();
        self.block(code, &mut assigned)?;
        self.check_settled_reads(code)?;
        let mut read = BTreeSet::new();
        for statement in code {
            statement.visit_reads(&mut |name, _, _| {
                read.insert(name.to_owned());
            });
        }
        let mut written = BTreeSet::new();
        for statement in code {
            statement.visit_writes(&mut |target| {
                written.insert(target.signal.clone());
            });
        }
        for (name, (access, width)) in self.signals {
            if *access == Access::ReadOnly || assigned.get(name) == Some(&mask(*width)) {
                continue;
            }
            if written.contains(name) {
                return Err(EmitError::Latch {
                    module: self.place.to_owned(),
                    signal: name.replace('$', "."),
                });
            }
            return Err(EmitError::Unconnected {
                module: self.place.to_owned(),
                signal: name.replace('$', "."),
            });
        }
        Ok(())
    }

    fn block(&self, code: &[Statement], assigned: &mut Assigned) -> Result<(), EmitError> {
        for statement in code {
            match statement {
                Statement::Assign { target, value } => {
                    self.reads(value, assigned)?;
                    self.write(target, assigned)?;
                }
                Statement::If {
                    test,
                    then,
                    otherwise,
                } => {
                    self.reads(test, assigned)?;
                    let bodies = [then.as_slice(), otherwise.as_slice()];
                    self.branches(&bodies, assigned)?;
                }
                Statement::Case { test, arms } => {
                    self.reads(test, assigned)?;
                    let bodies: Vec<_> = arms.iter().map(|arm| arm.body.as_slice()).collect();
                    self.branches(&bodies, assigned)?;
                }
            }
        }
        Ok(())
    }

    /// Keeps what all branches assign.
    fn branches(&self, bodies: &[&[Statement]], assigned: &mut Assigned) -> Result<(), EmitError> {
        let mut common: Option<Assigned> = None;
        for body in bodies {
            let mut after = assigned.clone();
            self.block(body, &mut after)?;
            common = Some(match common {
                None => after,
                Some(mut common) => {
                    common.retain(|name, bits| match after.get(name) {
                        Some(other) => {
                            *bits &= other;
                            true
                        }
                        None => false,
                    });
                    common
                }
            });
        }
        if let Some(common) = common {
            *assigned = common;
        }
        Ok(())
    }

    fn write(&self, target: &Target, assigned: &mut Assigned) -> Result<(), EmitError> {
        match self.signals.get(&target.signal) {
            Some((Access::Immediate | Access::Settled, _)) => {
                *assigned.entry(target.signal.clone()).or_default() |=
                    mask(target.width) << target.offset;
                Ok(())
            }
            _ => Err(EmitError::DrivesInput {
                module: self.place.to_owned(),
                signal: target.signal.replace('$', "."),
            }),
        }
    }

    fn reads(&self, value: &Expr, assigned: &Assigned) -> Result<(), EmitError> {
        let mut missing = None;
        value.visit_reads(&mut |name, offset, width| {
            if let Some((Access::Immediate, _)) = self.signals.get(name) {
                let wanted = mask(width) << offset;
                let there = assigned.get(name).cloned().unwrap_or_default();
                if &there & &wanted != wanted && missing.is_none() {
                    missing = Some(name.to_owned());
                }
            }
        });
        match missing {
            None => Ok(()),
            Some(signal) => Err(EmitError::ReadBeforeWrite {
                module: self.place.to_owned(),
                signal: signal.replace('$', "."),
            }),
        }
    }

    /// A sub-block's input may be read only after its last assignment.
    fn check_settled_reads(&self, code: &[Statement]) -> Result<(), EmitError> {
        let mut still_written: BTreeSet<String> = BTreeSet::new();
        for statement in code.iter().rev() {
            statement.visit_writes(&mut |target| {
                still_written.insert(target.signal.clone());
            });
            let mut early = None;
            statement.visit_reads(&mut |name, _, _| {
                let settled = matches!(self.signals.get(name), Some((Access::Settled, _)));
                if settled && still_written.contains(name) {
                    early = Some(name.to_owned());
                }
            });
            if let Some(signal) = early {
                return Err(EmitError::ReadOfUnfinished {
                    module: self.place.to_owned(),
                    signal: signal.replace('$', "."),
                });
            }
        }
        Ok(())
    }
}
