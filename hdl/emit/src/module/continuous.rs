//! Groups of statements that say no more than an `assign` does.

use super::signals::Signals;
use crate::ir::{Expr, Statement, Target};
use num_bigint::BigUint;

/// The signal and value of a group that is a plain wire: one assignment,
/// constants, or parts that together are the whole signal.
pub(super) fn continuous(group: &[Statement], signals: &Signals<'_>) -> Option<(String, Expr)> {
    let assignments: Vec<(&Target, &Expr)> = group
        .iter()
        .map(|statement| match statement {
            Statement::Assign { target, value } => Some((target, value)),
            _ => None,
        })
        .collect::<Option<_>>()?;
    let (first, value) = assignments.first()?;
    if assignments.len() == 1 && first.whole {
        return Some((first.signal.clone(), (*value).clone()));
    }
    let width = signals.width(&first.signal);
    let value = constants(&assignments, width).or_else(|| assembled(&assignments, width))?;
    Some((first.signal.clone(), value))
}

fn constants(assignments: &[(&Target, &Expr)], width: usize) -> Option<Expr> {
    let mut bits = BigUint::default();
    for (target, value) in assignments {
        let value = value.constant()?;
        for index in 0..target.width as u64 {
            bits.set_bit(target.offset as u64 + index, value.bit(index));
        }
    }
    Some(Expr::number(bits, width))
}

/// Parts of one signal, each assigned once, that leave no bit out.
fn assembled(assignments: &[(&Target, &Expr)], width: usize) -> Option<Expr> {
    let signal = &assignments.first()?.0.signal;
    let mut parts = assignments.to_vec();
    parts.sort_by_key(|(target, _)| target.offset);
    let mut next = 0;
    for (target, value) in &parts {
        let mut reads_itself = false;
        value.visit_reads(&mut |name, _, _| reads_itself |= name == signal);
        if target.signal != *signal || target.offset != next || reads_itself {
            return None;
        }
        next += target.width;
    }
    let values = parts.iter().rev().map(|(_, value)| (*value).clone());
    (next == width).then(|| Expr::concat(values.collect()))
}
