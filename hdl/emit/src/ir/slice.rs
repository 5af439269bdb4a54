//! Slices, pushed down to the signals: Verilog can slice only those.

use super::{Binary, Expr, Kind, Unary};

impl Expr {
    /// Bits `offset .. offset + width`, which must exist.
    pub fn slice(self, offset: usize, width: usize) -> Self {
        debug_assert!(offset + width <= self.width && width > 0);
        if width == self.width {
            return self;
        }
        let narrow = |operand: Box<Expr>| operand.slice(offset, width);
        match self.kind {
            Kind::Constant { value, .. } => Self::number(value >> offset, width),
            Kind::Slice {
                base,
                offset: inner,
            } => base.slice(inner + offset, width),
            Kind::Concat(parts) => slice_of_concat(parts, offset, width),
            Kind::Repeat(bit) => Self::repeat(*bit, width),
            Kind::Binary(op @ (Binary::And | Binary::Or | Binary::Xor), left, right) => {
                Self::binary(op, narrow(left), narrow(right))
            }
            // Low bits of sums depend on low bits only.
            Kind::Binary(op @ (Binary::Add | Binary::Sub | Binary::Mul), left, right)
                if offset == 0 =>
            {
                Self::binary(op, narrow(left), narrow(right))
            }
            Kind::Unary(Unary::Not, operand) => Self::unary(Unary::Not, narrow(operand)),
            Kind::Unary(Unary::Neg, operand) if offset == 0 => {
                Self::unary(Unary::Neg, narrow(operand))
            }
            Kind::Choice {
                test,
                then,
                otherwise,
            } => Self::choice(*test, narrow(then), narrow(otherwise)),
            Kind::Shift {
                left,
                value,
                amount,
            } => slice_of_shift(left, *value, *amount, offset, width),
            kind => Self {
                kind: Kind::Slice {
                    base: Box::new(Self {
                        kind,
                        width: self.width,
                        signed: false,
                    }),
                    offset,
                },
                width,
                signed: false,
            },
        }
    }
}

fn slice_of_concat(parts: Vec<Expr>, offset: usize, width: usize) -> Expr {
    let mut low = parts.iter().map(|part| part.width).sum::<usize>();
    let mut kept = Vec::new();
    for part in parts {
        low -= part.width;
        let from = offset.max(low);
        let to = (offset + width).min(low + part.width);
        if from < to {
            kept.push(part.slice(from - low, to - from));
        }
    }
    Expr::concat(kept)
}

fn slice_of_shift(left: bool, value: Expr, amount: Expr, offset: usize, width: usize) -> Expr {
    let full = value.width;
    let places = amount.constant().and_then(|a| usize::try_from(a).ok());
    match places {
        // A constant shift is a choice of wires.
        Some(places) => {
            let zeros = Expr::number(0u32, places);
            let wires = if left {
                vec![value.slice(0, full - places), zeros]
            } else {
                vec![zeros, value.slice(places, full - places)]
            };
            Expr::concat(wires).slice(offset, width)
        }
        None if left && offset == 0 => Expr::shift(true, value.slice(0, width), amount),
        None => Expr {
            kind: Kind::Slice {
                base: Box::new(Expr::shift(left, value, amount)),
                offset,
            },
            width,
            signed: false,
        },
    }
}
