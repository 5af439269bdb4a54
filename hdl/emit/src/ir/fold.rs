//! Operations on constants, as Rust's `Bits` does them.

use super::{mask, Binary, Expr, Kind, Unary};
use num_bigint::BigUint;

/// The result, if both operands are constants or one decides it.
pub(super) fn fold_binary(op: Binary, left: &Expr, right: &Expr) -> Option<BigUint> {
    let zero = BigUint::default();
    let (Some(l), Some(r)) = (left.constant(), right.constant()) else {
        return None;
    };
    let width = left.width;
    let modulus = mask(width) + 1u32;
    let bit = |condition: bool| BigUint::from(u32::from(condition));
    // Ordering signed numbers as unsigned ones needs the sign bit flipped.
    let order = |value: &BigUint| {
        if left.signed {
            value ^ (BigUint::from(1u32) << (width - 1))
        } else {
            value.clone()
        }
    };
    Some(match op {
        Binary::Add => (l + r) % modulus,
        Binary::Sub => (l + &modulus - r) % modulus,
        Binary::Mul => (l * r) % modulus,
        Binary::And => l & r,
        Binary::Or => l | r,
        Binary::Xor => l ^ r,
        Binary::LogicalAnd => bit(*l != zero && *r != zero),
        Binary::LogicalOr => bit(*l != zero || *r != zero),
        Binary::Eq => bit(l == r),
        Binary::Ne => bit(l != r),
        Binary::Lt => bit(order(l) < order(r)),
        Binary::Le => bit(order(l) <= order(r)),
        Binary::Gt => bit(order(l) > order(r)),
        Binary::Ge => bit(order(l) >= order(r)),
    })
}

/// The result, if the operand is a constant.
pub(super) fn fold_unary(op: Unary, operand: &Expr) -> Option<BigUint> {
    let Kind::Constant { value, .. } = &operand.kind else {
        return None;
    };
    let all = mask(operand.width);
    let bit = |condition: bool| BigUint::from(u32::from(condition));
    Some(match op {
        Unary::Not => all ^ value,
        Unary::Neg => (&all + 1u32 - value) & all,
        Unary::All => bit(*value == all),
        Unary::Any => bit(*value != BigUint::default()),
        Unary::Xor => bit(value.count_ones() % 2 == 1),
    })
}
