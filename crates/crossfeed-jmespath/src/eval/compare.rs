//! Equality and order of values: numbers by value, strings by code point.

use super::{Budget, Cost, Evaluated, Evaluator};
use crate::{
    compile::{Comparison, Operator},
    view::{Repr, View},
};
use crossfeed_json::{Kind, compare_numbers};
use std::cmp::Ordering;

impl<'a> Evaluator<'a, '_> {
    #[inline(never)]
    pub(super) fn comparison(
        &self,
        comparison: &'a Comparison,
        current: &View<'a>,
    ) -> Evaluated<'a> {
        let left = self.eval(&comparison.left, current)?;
        let right = self.eval(&comparison.right, current)?;
        let operator = comparison.operator;
        if matches!(operator, Operator::Equal | Operator::NotEqual) {
            let equal = equal(&left, &right, self.budget)?;
            return Ok(View::bool(equal == (operator == Operator::Equal)));
        }
        // Numbers and strings have an order; between anything else a comparison is null.
        let Some(ordering) = order(&left, &right) else {
            return Ok(View::null());
        };
        Ok(View::bool(match operator {
            Operator::Less => ordering.is_lt(),
            Operator::LessOrEqual => ordering.is_le(),
            Operator::Greater => ordering.is_gt(),
            _ => ordering.is_ge(),
        }))
    }
}

/// The order of two numbers or two strings; `None` for anything else.
pub(super) fn order(left: &View<'_>, right: &View<'_>) -> Option<Ordering> {
    match (left.kind(), right.kind()) {
        (Kind::Number, Kind::Number) => Some(numbers(left, right)),
        (Kind::String, Kind::String) => Some(left.string_bytes()?.cmp(&right.string_bytes()?)),
        _ => None,
    }
}

fn numbers(left: &View<'_>, right: &View<'_>) -> Ordering {
    if let (Repr::Json(left), Repr::Json(right)) = (&left.0, &right.0) {
        return compare_numbers(
            left.as_number().unwrap_or_default(),
            right.as_number().unwrap_or_default(),
        );
    }
    let (left, right) = (left.digits(), right.digits());
    compare_numbers(&left.unwrap_or_default(), &right.unwrap_or_default())
}

/// Whether two values are the same: objects whatever their order of keys.
pub(super) fn equal(left: &View<'_>, right: &View<'_>, budget: &Budget) -> Result<bool, Cost> {
    budget.spend(1)?;
    let kind = left.kind();
    if kind != right.kind() {
        return Ok(false);
    }
    match kind {
        Kind::Null => {
            Ok(matches!(left.0, Repr::Reference(_)) == matches!(right.0, Repr::Reference(_)))
        }
        Kind::Boolean => Ok(left.as_bool() == right.as_bool()),
        Kind::Number => Ok(numbers(left, right).is_eq()),
        Kind::String => Ok(left.string_bytes() == right.string_bytes()),
        Kind::Array => {
            if left.len() != right.len() {
                return Ok(false);
            }
            for (a, b) in left.items().zip(right.items()) {
                if !equal(&a, &b, budget)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        Kind::Object => {
            if left.len() != right.len() {
                return Ok(false);
            }
            // Looking a key up costs a walk over the other object, so the walk is paid for.
            let width = left.len().unwrap_or_default() as u64;
            for (key, a) in left.members() {
                budget.spend(width / 8)?;
                let Some(b) = right.get(&key) else {
                    return Ok(false);
                };
                if !equal(&a, &b, budget)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
    }
}
