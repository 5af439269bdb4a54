//! How large a value can get.

use super::{mask, Binary, Expr, Kind};
use num_bigint::BigUint;

impl Expr {
    /// An upper bound of the value.
    pub fn max_value(&self) -> BigUint {
        let all = mask(self.width);
        let bound = match &self.kind {
            Kind::Constant { value, .. } => value.clone(),
            Kind::Concat(parts) => parts.iter().fold(BigUint::default(), |bound, part| {
                (bound << part.width) + part.max_value()
            }),
            Kind::Binary(Binary::Add, left, right) => left.max_value() + right.max_value(),
            Kind::Binary(Binary::Mul, left, right) => left.max_value() * right.max_value(),
            Kind::Binary(Binary::And, left, right) => left.max_value().min(right.max_value()),
            Kind::Shift {
                left,
                value,
                amount,
            } => match amount.constant().and_then(|a| usize::try_from(a).ok()) {
                Some(places) if *left => value.max_value() << places,
                Some(places) => value.max_value() >> places,
                None if *left => all.clone(),
                None => value.max_value(),
            },
            _ => all.clone(),
        };
        bound.min(all)
    }

    /// The same value without high bits that are always 0.
    pub fn narrowed(self) -> Self {
        let bits = usize::try_from(self.max_value().bits()).unwrap_or(self.width);
        let bits = bits.clamp(1, self.width);
        if bits == self.width {
            self
        } else {
            self.slice(0, bits)
        }
    }
}
