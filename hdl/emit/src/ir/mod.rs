//! Expressions and statements with widths.
//!
//! rust-hdl's AST has no types. Here every expression knows its width, and
//! operands of one operation have the same width, so that Verilog's rules
//! about the width of contexts have nothing left to decide.

mod build;
mod fold;
mod lower;
mod range;
mod slice;
mod statement;

pub(crate) use lower::{Lower, SignalType};
pub(crate) use statement::{lower_block, Arm, Statement, Target};

use num_bigint::BigUint;

/// An operation on two operands of one width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Binary {
    Add,
    Sub,
    Mul,
    And,
    Or,
    Xor,
    LogicalAnd,
    LogicalOr,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl Binary {
    /// Whether the result is one bit, whatever the operands' width.
    pub fn is_test(self) -> bool {
        matches!(
            self,
            Self::LogicalAnd
                | Self::LogicalOr
                | Self::Eq
                | Self::Ne
                | Self::Lt
                | Self::Le
                | Self::Gt
                | Self::Ge
        )
    }
}

/// An operation on one operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unary {
    Not,
    Neg,
    All,
    Any,
    Xor,
}

/// An expression.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Expr {
    pub kind: Kind,
    /// Bits; never 0.
    pub width: usize,
    /// Whether comparisons see a two's complement number.
    pub signed: bool,
}

/// The kinds of expressions.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    /// A whole signal.
    Signal(String),
    /// A number; `label` is its name in Rust, or empty.
    Constant {
        value: BigUint,
        label: String,
    },
    /// Bits `offset` and up of `base`.
    Slice {
        base: Box<Expr>,
        offset: usize,
    },
    /// Bits `at` and up of a signal; they all exist.
    Select {
        signal: Box<Expr>,
        at: Box<Expr>,
    },
    /// Most significant part first.
    Concat(Vec<Expr>),
    /// One bit, many times.
    Repeat(Box<Expr>),
    Binary(Binary, Box<Expr>, Box<Expr>),
    Unary(Unary, Box<Expr>),
    /// By any number of places: zeros come in.
    Shift {
        left: bool,
        value: Box<Expr>,
        amount: Box<Expr>,
    },
    /// `test ? then : otherwise`.
    Choice {
        test: Box<Expr>,
        then: Box<Expr>,
        otherwise: Box<Expr>,
    },
}

impl Expr {
    /// Calls `visit` for every part of a signal that the expression reads:
    /// name, offset, width.
    pub fn visit_reads(&self, visit: &mut dyn FnMut(&str, usize, usize)) {
        match &self.kind {
            Kind::Signal(name) => visit(name, 0, self.width),
            Kind::Constant { .. } => {}
            Kind::Slice { base, offset } => match &base.kind {
                Kind::Signal(name) => visit(name, *offset, self.width),
                _ => base.visit_reads(visit),
            },
            Kind::Select { signal, at } => {
                signal.visit_reads(visit);
                at.visit_reads(visit);
            }
            Kind::Concat(parts) => parts.iter().for_each(|part| part.visit_reads(visit)),
            Kind::Repeat(inner) | Kind::Unary(_, inner) => inner.visit_reads(visit),
            Kind::Binary(_, left, right) => {
                left.visit_reads(visit);
                right.visit_reads(visit);
            }
            Kind::Shift { value, amount, .. } => {
                value.visit_reads(visit);
                amount.visit_reads(visit);
            }
            Kind::Choice {
                test,
                then,
                otherwise,
            } => {
                test.visit_reads(visit);
                then.visit_reads(visit);
                otherwise.visit_reads(visit);
            }
        }
    }

    /// The value of a constant.
    pub fn constant(&self) -> Option<&BigUint> {
        match &self.kind {
            Kind::Constant { value, .. } => Some(value),
            _ => None,
        }
    }

    /// The name of a whole signal.
    pub fn whole_signal(&self) -> Option<&str> {
        match &self.kind {
            Kind::Signal(name) => Some(name),
            _ => None,
        }
    }
}

/// All ones.
pub(crate) fn mask(width: usize) -> BigUint {
    (BigUint::from(1u32) << width) - 1u32
}
