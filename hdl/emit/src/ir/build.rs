//! Constructors that keep expressions simple.

use super::fold::{fold_binary, fold_unary};
use super::{mask, Binary, Expr, Kind, Unary};
use num_bigint::BigUint;
use rust_hdl::prelude::clog2;

impl Expr {
    pub fn signal(name: &str, width: usize, signed: bool) -> Self {
        Self {
            kind: Kind::Signal(name.to_owned()),
            width,
            signed,
        }
    }

    pub fn number(value: impl Into<BigUint>, width: usize) -> Self {
        Self::named_number(value.into(), width, "")
    }

    pub fn named_number(value: BigUint, width: usize, label: &str) -> Self {
        Self {
            kind: Kind::Constant {
                value: value & mask(width),
                label: label.to_owned(),
            },
            width,
            signed: false,
        }
    }

    pub fn with_sign(mut self, signed: bool) -> Self {
        self.signed = signed;
        self
    }

    fn of(kind: Kind, width: usize) -> Self {
        Self {
            kind,
            width,
            signed: false,
        }
    }

    /// Operands must have the same width.
    pub fn binary(op: Binary, left: Expr, right: Expr) -> Self {
        let width = if op.is_test() { 1 } else { left.width };
        let signed = left.signed && right.signed;
        if let Some(value) = fold_binary(op, &left, &right) {
            return Self::number(value, width).with_sign(signed && !op.is_test());
        }
        if let (Binary::Mul, Some(factor)) = (op, right.constant()) {
            if factor.count_ones() == 1 {
                let places = factor.trailing_zeros().unwrap_or_default();
                let bits = clog2(width + 1).max(1);
                return Self::shift(true, left, Self::number(places, bits)).with_sign(signed);
            }
        }
        Self::of(Kind::Binary(op, Box::new(left), Box::new(right)), width)
            .with_sign(signed && !op.is_test())
    }

    pub fn unary(op: Unary, operand: Expr) -> Self {
        let same = matches!(op, Unary::Not | Unary::Neg);
        let width = if same { operand.width } else { 1 };
        let signed = operand.signed && same;
        if let Some(value) = fold_unary(op, &operand) {
            return Self::number(value, width).with_sign(signed);
        }
        if !same && operand.width == 1 {
            return operand.with_sign(false);
        }
        Self::of(Kind::Unary(op, Box::new(operand)), width).with_sign(signed)
    }

    /// Most significant part first.
    pub fn concat(parts: Vec<Expr>) -> Self {
        let mut merged: Vec<Expr> = Vec::with_capacity(parts.len());
        for part in parts {
            match part.kind {
                Kind::Concat(inner) => merged.extend(inner),
                _ => merged.push(part),
            }
        }
        let width = merged.iter().map(|part| part.width).sum();
        if merged.iter().all(|part| part.constant().is_some()) {
            let value = merged.iter().fold(BigUint::default(), |value, part| {
                (value << part.width) | part.constant().cloned().unwrap_or_default()
            });
            return Self::number(value, width);
        }
        match merged.pop() {
            Some(only) if merged.is_empty() => only.with_sign(false),
            last => {
                merged.extend(last);
                Self::of(Kind::Concat(merged), width)
            }
        }
    }

    pub fn repeat(bit: Expr, times: usize) -> Self {
        match bit.constant() {
            Some(value) if *value == BigUint::default() => Self::number(0u32, times),
            Some(_) => Self::number(mask(times), times),
            None if times == 1 => bit,
            None => Self::of(Kind::Repeat(Box::new(bit)), times),
        }
    }

    /// `bit_cast`: zeros come in, or high bits are lost; a signed value is
    /// extended by its sign.
    pub fn resize(self, width: usize) -> Self {
        let signed = self.signed;
        let from = self.width;
        if width <= from {
            return self.slice(0, width).with_sign(signed);
        }
        if let (Some(value), false) = (self.constant(), signed) {
            return Self::number(value.clone(), width);
        }
        let filler = if signed {
            Self::repeat(self.clone().slice(from - 1, 1), width - from)
        } else {
            Self::number(0u32, width - from)
        };
        Self::concat(vec![filler, self]).with_sign(signed)
    }

    /// Rust's shift of `Bits`: by the width or more gives 0.
    pub fn shift(left: bool, value: Expr, amount: Expr) -> Self {
        let width = value.width;
        if let Some(places) = amount.constant() {
            let Some(places) = usize::try_from(places).ok().filter(|p| *p < width) else {
                return Self::number(0u32, width);
            };
            if places == 0 {
                return value;
            }
            if let Some(number) = value.constant() {
                let number = if left {
                    number << places
                } else {
                    number >> places
                };
                return Self::number(number, width);
            }
        }
        let amount = amount.narrowed();
        let shift = |amount: Expr| {
            Self::of(
                Kind::Shift {
                    left,
                    value: Box::new(value.clone()),
                    amount: Box::new(amount),
                },
                width,
            )
        };
        // Simulators shift by 32 bits at most.
        if amount.width > 32 && amount.constant().is_none() {
            let high = amount.clone().slice(32, amount.width - 32);
            return Self::choice(
                Self::unary(Unary::Any, high),
                Self::number(0u32, width),
                shift(amount.slice(0, 32)),
            );
        }
        shift(amount)
    }

    pub fn choice(test: Expr, then: Expr, otherwise: Expr) -> Self {
        let width = then.width;
        Self::of(
            Kind::Choice {
                test: Box::new(test),
                then: Box::new(then),
                otherwise: Box::new(otherwise),
            },
            width,
        )
    }

    /// `get_bits::<width>(at)`: bits past the end are 0.
    pub fn get_bits(self, at: Expr, width: usize) -> Self {
        let base = self.with_sign(false);
        if let Some(offset) = at.constant() {
            let Some(offset) = usize::try_from(offset).ok().filter(|o| *o < base.width) else {
                return Self::number(0u32, width);
            };
            let there = width.min(base.width - offset);
            return base.slice(offset, there).resize(width);
        }
        let fits = at.max_value() + BigUint::from(width) <= BigUint::from(base.width);
        let part = match &base.kind {
            Kind::Signal(_) => Some((base.clone(), 0)),
            Kind::Slice {
                base: signal,
                offset,
            } if signal.whole_signal().is_some() => Some(((**signal).clone(), *offset)),
            _ => None,
        };
        match part {
            Some((signal, offset)) if fits && signal.width > 1 => {
                let bits = clog2(signal.width);
                let mut at = at.resize(bits);
                if offset > 0 {
                    at = Self::binary(Binary::Add, at, Self::number(offset, bits));
                }
                Self::of(
                    Kind::Select {
                        signal: Box::new(signal),
                        at: Box::new(at),
                    },
                    width,
                )
            }
            _ => Self::shift(false, base, at).resize(width),
        }
    }

    /// `replace_bit(at, bit)`.
    pub fn replace_bit(self, at: Expr, bit: Expr) -> Self {
        let width = self.width;
        let signed = self.signed;
        if let Some(offset) = at.constant() {
            if let Some(offset) = usize::try_from(offset).ok().filter(|o| *o < width) {
                let mut parts = Vec::new();
                if offset + 1 < width {
                    parts.push(self.clone().slice(offset + 1, width - offset - 1));
                }
                parts.push(bit);
                if offset > 0 {
                    parts.push(self.slice(0, offset));
                }
                return Self::concat(parts).with_sign(signed);
            }
        }
        let place = |bit: Expr| Self::shift(true, bit.resize(width), at.clone());
        let others = Self::unary(Unary::Not, place(Self::number(1u32, 1)));
        let kept = Self::binary(Binary::And, self.with_sign(false), others);
        Self::binary(Binary::Or, kept, place(bit)).with_sign(signed)
    }
}
