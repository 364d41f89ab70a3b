//! Equality and order of values: numbers by value, strings by code point.

use super::{Budget, Cost, EvalError, Evaluator, number::order_numbers};
use crate::{
    compile::{Comparison, Constant, Node, Operator},
    view::{Repr, View},
};
use crossfeed_json::{Cursor, Kind};
use std::cmp::Ordering;

impl Operator {
    fn is_equality(self) -> bool {
        matches!(self, Self::Equal | Self::NotEqual)
    }

    /// Whether it holds between values of this order.
    #[inline]
    fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        }
    }
}

impl<'a> Evaluator<'a, '_> {
    /// The outcome of a comparison; `None` for its `null`.
    pub(super) fn compare(
        &self,
        comparison: &'a Comparison,
        current: &View<'a>,
    ) -> Result<Option<bool>, EvalError> {
        if let (Node::Path(path), Some(constant), Repr::Json(cursor)) =
            (&comparison.left, &comparison.constant, &current.0)
        {
            let operator = comparison.operator;
            let place = self.locate(path, *cursor)?;
            // The literal, and the look at both if they may be equal.
            self.budget.spend(1 + u64::from(operator.is_equality()))?;
            let order = place.and_then(|place| constant.order_of(place));
            return Ok(match order {
                Some(order) => Some(operator.holds(order)),
                None => unordered(operator),
            });
        }
        self.compare_values(comparison, current)
    }

    #[inline(never)]
    fn compare_values(
        &self,
        comparison: &'a Comparison,
        current: &View<'a>,
    ) -> Result<Option<bool>, EvalError> {
        let left = self.eval(&comparison.left, current)?;
        let right = self.eval(&comparison.right, current)?;
        let operator = comparison.operator;
        if operator.is_equality() {
            let equal = equal(&left, &right, self.budget)?;
            return Ok(Some(equal == (operator == Operator::Equal)));
        }
        Ok(order(&left, &right).map(|order| operator.holds(order)))
    }
}

/// The outcome between two values that have no order, such as a number and a string: they differ.
fn unordered(operator: Operator) -> Option<bool> {
    operator
        .is_equality()
        .then_some(operator == Operator::NotEqual)
}

impl Constant {
    /// How the value at `place` compares with this one; `None` if they are of different types.
    #[inline]
    fn order_of(&self, place: Cursor<'_>) -> Option<Ordering> {
        match self {
            Self::Number(number) => (place.kind() == Kind::Number).then(|| number.order_of(place)),
            Self::Text(text) => Some((*place.string_bytes()?).cmp(text)),
        }
    }
}

/// The order of two numbers or two strings; `None` for anything else.
pub(super) fn order(left: &View<'_>, right: &View<'_>) -> Option<Ordering> {
    match (left.kind(), right.kind()) {
        (Kind::Number, Kind::Number) => Some(order_numbers(left, right)),
        (Kind::String, Kind::String) => Some(left.string_bytes()?.cmp(&right.string_bytes()?)),
        _ => None,
    }
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
        Kind::Number => Ok(order_numbers(left, right).is_eq()),
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
