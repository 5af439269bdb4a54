//! From rust-hdl's AST to expressions with widths.

use super::{mask, Binary, Expr, Unary};
use crate::error::EmitError;
use crate::runtime::{literal_value, EncodedConstant};
use num_bigint::BigUint;
use rust_hdl::core::ast::{VerilogExpression, VerilogOp, VerilogOpUnary};
use std::collections::HashMap;

/// Type of a signal as a kernel sees it.
#[derive(Debug, Clone)]
pub(crate) struct SignalType {
    pub width: usize,
    pub signed: bool,
    /// The value, if it is a constant.
    pub constant: Option<BigUint>,
}

/// An expression, or a number whose width its surroundings decide.
enum Lowered {
    Sized(Expr),
    Free { value: BigUint, label: String },
}

/// Translates the expressions of one module.
pub(crate) struct Lower<'a> {
    /// The module, for messages.
    pub place: &'a str,
    /// Everything the kernel can name.
    pub signals: &'a HashMap<String, SignalType>,
    /// Loop variables of kernels made by rust-hdl's own macro.
    pub loops: Vec<(String, usize)>,
}

impl Lower<'_> {
    pub fn unsupported(&self, what: impl Into<String>) -> EmitError {
        EmitError::Unsupported {
            module: self.place.to_owned(),
            what: what.into(),
        }
    }

    /// An expression that must be `width` bits wide.
    pub fn sized(&self, ast: &VerilogExpression, width: usize) -> Result<Expr, EmitError> {
        let expr = self.adapt(self.lower(ast)?, width)?;
        if expr.width == width {
            Ok(expr)
        } else {
            Err(self.mismatch(width, expr.width, ast))
        }
    }

    fn mismatch(&self, left: usize, right: usize, ast: &VerilogExpression) -> EmitError {
        EmitError::WidthMismatch {
            module: self.place.to_owned(),
            left,
            right,
            expression: format!("{ast:?}"),
        }
    }

    /// An expression that must say itself how wide it is.
    pub fn any(&self, ast: &VerilogExpression) -> Result<Expr, EmitError> {
        match self.lower(ast)? {
            Lowered::Sized(expr) => Ok(expr),
            // Rust's own rule for a shift amount or index: it is a number.
            Lowered::Free { value, label } => {
                let width = usize::try_from(value.bits()).unwrap_or(64).max(1);
                Ok(Expr::named_number(value, width, &label))
            }
        }
    }

    /// A test: one bit.
    pub fn bit(&self, ast: &VerilogExpression) -> Result<Expr, EmitError> {
        self.sized(ast, 1)
    }

    fn adapt(&self, lowered: Lowered, width: usize) -> Result<Expr, EmitError> {
        match lowered {
            Lowered::Sized(expr) => Ok(expr),
            Lowered::Free { value, .. } if value > mask(width) => Err(EmitError::LiteralTooWide {
                module: self.place.to_owned(),
                value: format!("{value:#x}"),
                width,
            }),
            Lowered::Free { value, label } => Ok(Expr::named_number(value, width, &label)),
        }
    }

    fn lower(&self, ast: &VerilogExpression) -> Result<Lowered, EmitError> {
        Ok(Lowered::Sized(match ast {
            VerilogExpression::Signal(name) => return self.signal(name),
            VerilogExpression::Literal(literal) => {
                let text = format!("{literal:x}");
                let value = literal_value(literal);
                // Only `bool` literals are one bit wide; integers are 32 or more.
                if text.starts_with("1'") {
                    Expr::number(value, 1)
                } else {
                    return Ok(Lowered::Free {
                        value,
                        label: String::new(),
                    });
                }
            }
            VerilogExpression::Paren(inner) => return self.lower(inner),
            VerilogExpression::Cast(inner, width) => match self.lower(inner)? {
                Lowered::Sized(expr) => expr.resize(*width),
                free => self.adapt(free, *width)?,
            },
            VerilogExpression::Signed(inner) => self.any(inner)?.with_sign(true),
            VerilogExpression::Unsigned(inner) => self.any(inner)?.with_sign(false),
            VerilogExpression::Binary(left, op, right) => return self.binary(ast, left, op, right),
            VerilogExpression::Unary(op, operand) => {
                let operand = match self.lower(operand)? {
                    Lowered::Sized(expr) => expr,
                    Lowered::Free { .. } => {
                        return Err(self.unsupported(format!(
                            "{op:?} of a literal without a width: write bits::<WIDTH>(..)"
                        )))
                    }
                };
                let op = match op {
                    VerilogOpUnary::Not => Unary::Not,
                    VerilogOpUnary::Neg => Unary::Neg,
                    VerilogOpUnary::All => Unary::All,
                    VerilogOpUnary::Any => Unary::Any,
                    VerilogOpUnary::Xor => Unary::Xor,
                };
                Expr::unary(op, operand)
            }
            VerilogExpression::Index(base, at) => self.any(base)?.get_bits(self.any(at)?, 1),
            VerilogExpression::Slice(base, width, at) => {
                let base = self.any(base)?;
                let signed = base.signed;
                base.get_bits(self.any(at)?, *width).with_sign(signed)
            }
            VerilogExpression::IndexReplace(base, at, bit) => {
                self.any(base)?.replace_bit(self.any(at)?, self.bit(bit)?)
            }
        }))
    }

    fn binary(
        &self,
        ast: &VerilogExpression,
        left_ast: &VerilogExpression,
        op: &VerilogOp,
        right_ast: &VerilogExpression,
    ) -> Result<Lowered, EmitError> {
        let (left, right) = (self.lower(left_ast)?, self.lower(right_ast)?);
        let op = match op {
            VerilogOp::Shl | VerilogOp::Shr => {
                let leftwards = matches!(op, VerilogOp::Shl);
                // Rust's `u64 << Bits` is 64 bits wide.
                let value = self.adapt(left, 64)?;
                let amount = match right {
                    Lowered::Sized(expr) => expr.with_sign(false),
                    Lowered::Free { .. } => self.any(right_ast)?,
                };
                return Ok(Lowered::Sized(Expr::shift(leftwards, value, amount)));
            }
            VerilogOp::Add => Binary::Add,
            VerilogOp::Sub => Binary::Sub,
            VerilogOp::Mul => Binary::Mul,
            VerilogOp::LogicalAnd => Binary::LogicalAnd,
            VerilogOp::LogicalOr => Binary::LogicalOr,
            VerilogOp::BitXor => Binary::Xor,
            VerilogOp::BitAnd => Binary::And,
            VerilogOp::BitOr => Binary::Or,
            VerilogOp::Eq => Binary::Eq,
            VerilogOp::Lt => Binary::Lt,
            VerilogOp::Le => Binary::Le,
            VerilogOp::Ne => Binary::Ne,
            VerilogOp::Ge => Binary::Ge,
            VerilogOp::Gt => Binary::Gt,
        };
        let (left, right) = match (left, right) {
            (Lowered::Sized(left), right) => {
                let right = self.adapt(right, left.width)?;
                (left, right)
            }
            (left, Lowered::Sized(right)) => (self.adapt(left, right.width)?, right),
            // Rust computes with integers here.
            (left, right) => (self.adapt(left, 64)?, self.adapt(right, 64)?),
        };
        // `Bits<N> + bool` counts up by a bit.
        let right = if op == Binary::Add && right.width == 1 && !right.signed {
            right.resize(left.width)
        } else {
            right
        };
        if left.signed && op == Binary::Mul {
            // Signed<16> * Signed<16> is a Signed<32>.
            let width = left.width + right.width;
            let product = Expr::binary(op, left.resize(width), right.resize(width));
            return Ok(Lowered::Sized(product));
        }
        if left.width != right.width {
            return Err(self.mismatch(left.width, right.width, ast));
        }
        Ok(Lowered::Sized(Expr::binary(op, left, right)))
    }

    fn signal(&self, name: &str) -> Result<Lowered, EmitError> {
        if let Some(constant) = EncodedConstant::decode(name) {
            return Ok(if constant.width == 0 {
                Lowered::Free {
                    value: constant.value,
                    label: constant.label,
                }
            } else {
                Lowered::Sized(Expr::named_number(
                    constant.value,
                    constant.width,
                    &constant.label,
                ))
            });
        }
        if let Some((_, value)) = self.loops.iter().rev().find(|(index, _)| index == name) {
            return Ok(Lowered::Free {
                value: BigUint::from(*value),
                label: String::new(),
            });
        }
        let flat = self.flat_name(name)?;
        let signal = self.signal_type(&flat)?;
        Ok(Lowered::Sized(match &signal.constant {
            Some(value) => {
                Expr::named_number(value.clone(), signal.width, &flat).with_sign(signal.signed)
            }
            None => Expr::signal(&flat, signal.width, signal.signed),
        }))
    }

    pub fn signal_type(&self, flat: &str) -> Result<&SignalType, EmitError> {
        let found = self.signals.get(flat);
        let signal = found.ok_or_else(|| EmitError::UnknownSignal {
            module: self.place.to_owned(),
            signal: flat.replace('$', "."),
        })?;
        if signal.width == 0 {
            return Err(EmitError::ZeroWidth {
                module: self.place.to_owned(),
                signal: flat.replace('$', "."),
            });
        }
        Ok(signal)
    }

    /// The flat name behind rust-hdl's spellings: `.a[i].b`, `a$next`.
    pub fn flat_name(&self, name: &str) -> Result<String, EmitError> {
        let mut flat = String::new();
        let mut rest = name;
        while let Some((before, after)) = rest.split_once('[') {
            let (index, after) = after
                .split_once(']')
                .ok_or_else(|| self.unsupported(format!("the name {name}")))?;
            flat.push_str(before);
            flat.push('$');
            flat.push_str(&self.index(index)?.to_string());
            rest = after;
        }
        flat.push_str(rest);
        let flat = flat.replace("::", "$").replace('.', "$");
        let flat = flat.trim_start_matches('$');
        Ok(flat.strip_suffix("$next").unwrap_or(flat).to_owned())
    }

    /// An array index of rust-hdl's macro: a number, a loop variable, or one
    /// of those plus or minus a number.
    fn index(&self, text: &str) -> Result<usize, EmitError> {
        let text = text.trim_matches(|c: char| c == '(' || c == ')');
        let term = |term: &str| {
            let variable = self.loops.iter().rev().find(|(index, _)| index == term);
            variable
                .map(|(_, value)| *value)
                .or_else(|| term.trim_end_matches("usize").parse().ok())
        };
        let value = if let Some((left, right)) = text.split_once('+') {
            term(left).zip(term(right)).map(|(l, r)| l + r)
        } else if let Some((left, right)) = text.split_once('-') {
            term(left)
                .zip(term(right))
                .and_then(|(l, r)| l.checked_sub(r))
        } else {
            term(text)
        };
        value.ok_or_else(|| self.unsupported(format!("the array index [{text}]")))
    }
}
