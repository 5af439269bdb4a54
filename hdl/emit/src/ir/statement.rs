//! Statements of a kernel, with loops unrolled and widths known.

use super::{Expr, Lower};
use crate::error::EmitError;
use crate::runtime::{literal_value, EncodedConstant};
use num_bigint::BigUint;
use rust_hdl::core::ast::{
    VerilogBlockOrConditional, VerilogCase, VerilogConditional, VerilogExpression, VerilogLink,
    VerilogLinkDetails, VerilogMatch, VerilogStatement,
};

/// Bits of a signal that a statement assigns.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Target {
    pub signal: String,
    pub offset: usize,
    pub width: usize,
    /// Whether it is all of the signal.
    pub whole: bool,
}

/// A statement.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Statement {
    Assign {
        target: Target,
        value: Expr,
    },
    If {
        test: Expr,
        then: Vec<Statement>,
        otherwise: Vec<Statement>,
    },
    /// Some arm always runs: the last one is the default.
    Case {
        test: Expr,
        arms: Vec<Arm>,
    },
}

/// An arm of a case.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Arm {
    /// Constants; none in an arm that was a default already in Rust.
    pub patterns: Vec<Expr>,
    pub body: Vec<Statement>,
}

impl Statement {
    /// Calls `visit` for every assignment in it.
    pub fn visit_writes(&self, visit: &mut dyn FnMut(&Target)) {
        match self {
            Self::Assign { target, .. } => visit(target),
            Self::If {
                then, otherwise, ..
            } => {
                for inner in then.iter().chain(otherwise) {
                    inner.visit_writes(visit);
                }
            }
            Self::Case { arms, .. } => {
                for inner in arms.iter().flat_map(|arm| &arm.body) {
                    inner.visit_writes(visit);
                }
            }
        }
    }

    /// Calls `visit` for every part of a signal that it reads.
    pub fn visit_reads(&self, visit: &mut dyn FnMut(&str, usize, usize)) {
        match self {
            Self::Assign { value, .. } => value.visit_reads(visit),
            Self::If {
                test,
                then,
                otherwise,
            } => {
                test.visit_reads(visit);
                for inner in then.iter().chain(otherwise) {
                    inner.visit_reads(visit);
                }
            }
            Self::Case { test, arms } => {
                test.visit_reads(visit);
                for inner in arms.iter().flat_map(|arm| &arm.body) {
                    inner.visit_reads(visit);
                }
            }
        }
    }
}

/// Translates a block of statements.
pub(crate) fn lower_block(
    lower: &mut Lower<'_>,
    block: &[VerilogStatement],
) -> Result<Vec<Statement>, EmitError> {
    let mut code = Vec::new();
    for statement in block {
        lower_statement(lower, statement, &mut code)?;
    }
    Ok(code)
}

fn lower_statement(
    lower: &mut Lower<'_>,
    statement: &VerilogStatement,
    code: &mut Vec<Statement>,
) -> Result<(), EmitError> {
    match statement {
        VerilogStatement::Assignment(target, value) => {
            let target = whole_target(lower, target)?;
            let value = lower.sized(value, target.width)?;
            code.push(Statement::Assign { target, value });
        }
        VerilogStatement::SliceAssignment {
            base,
            width,
            offset,
            replacement,
        } => {
            let whole = whole_target(lower, base)?;
            let offset = constant_offset(lower, offset)?;
            let target = Target {
                whole: offset == 0 && *width == whole.width,
                offset,
                width: *width,
                ..whole
            };
            let value = lower.sized(replacement, *width)?;
            code.push(Statement::Assign { target, value });
        }
        VerilogStatement::If(branch) => lower_if(lower, branch, code)?,
        VerilogStatement::Match(choice) => lower_match(lower, choice, code)?,
        VerilogStatement::Loop(repeat) => {
            let bound = |literal| {
                usize::try_from(literal_value(literal))
                    .map_err(|_| lower.unsupported("a loop bound that is no usize"))
            };
            let (from, to) = (bound(&repeat.from)?, bound(&repeat.to)?);
            for value in from..to {
                lower.loops.push((repeat.index.clone(), value));
                let body = lower_block(lower, &repeat.block);
                lower.loops.pop();
                code.extend(body?);
            }
        }
        VerilogStatement::Comment(_) => {}
        VerilogStatement::Macro(block) => code.extend(lower_block(lower, block)?),
        VerilogStatement::Link(links) => {
            for link in links {
                code.push(lower_link(lower, link)?);
            }
        }
    }
    Ok(())
}

fn whole_target(lower: &Lower<'_>, target: &VerilogExpression) -> Result<Target, EmitError> {
    let VerilogExpression::Signal(name) = target else {
        return Err(lower.unsupported(format!("an assignment to {target:?}")));
    };
    let signal = lower.flat_name(name)?;
    let width = lower.signal_type(&signal)?.width;
    Ok(Target {
        signal,
        offset: 0,
        width,
        whole: true,
    })
}

fn constant_offset(lower: &Lower<'_>, offset: &VerilogExpression) -> Result<usize, EmitError> {
    let offset = lower.any(offset)?;
    offset
        .constant()
        .and_then(|value| usize::try_from(value).ok())
        .ok_or_else(|| lower.unsupported("an assignment to bits chosen at run time"))
}

fn lower_if(
    lower: &mut Lower<'_>,
    branch: &VerilogConditional,
    code: &mut Vec<Statement>,
) -> Result<(), EmitError> {
    let test = lower.bit(&branch.test)?;
    let then = lower_block(lower, &branch.then)?;
    let mut otherwise = Vec::new();
    match &branch.otherwise {
        VerilogBlockOrConditional::Block(block) => otherwise = lower_block(lower, block)?,
        VerilogBlockOrConditional::Conditional(inner) => {
            lower_statement(lower, inner, &mut otherwise)?;
        }
        VerilogBlockOrConditional::None => {}
    }
    // What is decided when the hardware is generated is no hardware.
    match test.constant() {
        Some(value) if *value == BigUint::default() => code.extend(otherwise),
        Some(_) => code.extend(then),
        None => code.push(Statement::If {
            test,
            then,
            otherwise,
        }),
    }
    Ok(())
}

fn lower_match(
    lower: &mut Lower<'_>,
    choice: &VerilogMatch,
    code: &mut Vec<Statement>,
) -> Result<(), EmitError> {
    let test = lower.any(&choice.test)?;
    let mut arms = Vec::new();
    for case in &choice.cases {
        arms.push(Arm {
            patterns: patterns(lower, case, test.width)?,
            body: lower_block(lower, &case.block)?,
        });
        // Nothing comes after a default.
        if arms.last().is_some_and(|arm| arm.patterns.is_empty()) {
            break;
        }
    }
    if let Some(value) = test.constant() {
        let chosen = arms.into_iter().find(|arm| {
            arm.patterns.is_empty() || arm.patterns.iter().any(|p| p.constant() == Some(value))
        });
        code.extend(chosen.map(|arm| arm.body).unwrap_or_default());
    } else if !arms.is_empty() {
        code.push(Statement::Case { test, arms });
    }
    Ok(())
}

/// The constants of a case; none for the default.
fn patterns(lower: &Lower<'_>, case: &VerilogCase, width: usize) -> Result<Vec<Expr>, EmitError> {
    if case.condition == "default" {
        return Ok(Vec::new());
    }
    case.condition
        .split('|')
        .map(|pattern| {
            if pattern == "default" {
                return Err(lower.unsupported("a pattern with `_` inside `|`"));
            }
            match EncodedConstant::decode(pattern) {
                Some(constant) => Ok(Expr::named_number(constant.value, width, &constant.label)),
                // rust-hdl's own macro: an enum variant, or a literal.
                None => lower.sized(&VerilogExpression::Signal(pattern.to_owned()), width),
            }
        })
        .collect()
}

fn lower_link(lower: &Lower<'_>, link: &VerilogLink) -> Result<Statement, EmitError> {
    let ends = |details: &VerilogLinkDetails| -> Result<(String, String), EmitError> {
        let name = |end: &str| lower.flat_name(&format!("{end}{}", details.my_name));
        Ok((name(&details.owner_name)?, name(&details.other_name)?))
    };
    let (source, target) = match link {
        VerilogLink::Forward(details) => ends(details)?,
        VerilogLink::Backward(details) => {
            let (owner, other) = ends(details)?;
            (other, owner)
        }
        VerilogLink::Bidirectional(_) => {
            return Err(lower.unsupported("a bidirectional link: use a Wrapper at the pads"));
        }
    };
    let target = whole_target(lower, &VerilogExpression::Signal(target))?;
    let value = lower.sized(&VerilogExpression::Signal(source), target.width)?;
    Ok(Statement::Assign { target, value })
}
