//! Equality and order of values: numbers by value, strings by code point.

use super::{
    Budget, Cost, EvalError, Evaluator, Input,
    number::{order_numbers, order_short},
};
use crate::{
    compile::{Comparison, Constant, Node},
    view::{Repr, View},
};
use crossfeed_json::{Cursor, Kind, compare_numbers, short_number};
use jmespath::ast::Comparator;
use std::cmp::Ordering;

impl Comparison {
    /// The outcome of a comparison for this order of two values; without an order, as for a number and a
    /// string, they differ. `None` for null.
    #[inline]
    pub(super) fn outcome(&self, order: Option<Ordering>) -> Option<bool> {
        Some(match (&self.operator, order) {
            (Comparator::Equal, order) => order.is_some_and(Ordering::is_eq),
            (Comparator::NotEqual, order) => order.is_none_or(Ordering::is_ne),
            (Comparator::LessThan, order) => order?.is_lt(),
            (Comparator::LessThanEqual, order) => order?.is_le(),
            (Comparator::GreaterThan, order) => order?.is_gt(),
            (Comparator::GreaterThanEqual, order) => order?.is_ge(),
        })
    }

    /// The steps of comparing, besides those of both sides: equality reads a value once more.
    pub(super) fn steps(&self) -> u64 {
        1 + u64::from(!self.is_ordered())
    }
}

impl<'a> Evaluator<'a, '_> {
    /// The outcome of a comparison; `None` for its `null`.
    pub(super) fn compare(
        &self,
        comparison: &'a Comparison,
        here: impl Input<'a>,
    ) -> Result<Option<bool>, EvalError> {
        let (Node::Path(path), Some(constant)) = (&comparison.left, &comparison.constant) else {
            return here.on_view(|view| self.compare_values(comparison, view));
        };
        let Some(place) = self.located(path, here)? else {
            return here.on_view(|view| self.compare_values(comparison, view));
        };
        self.budget.spend(comparison.steps())?;
        let order = match (here.number(path), constant.short(), place) {
            (Some(number), Some(constant), _) => Some(order_short(number, constant)),
            (.., Some(place)) => constant.order_of(place, self.budget)?,
            (.., None) => None,
        };
        Ok(comparison.outcome(order))
    }

    #[inline(never)]
    fn compare_values(
        &self,
        comparison: &'a Comparison,
        current: &View<'a>,
    ) -> Result<Option<bool>, EvalError> {
        let left = self.eval(&comparison.left, current)?;
        let right = self.eval(&comparison.right, current)?;
        if comparison.is_ordered() {
            return Ok(comparison.outcome(order(&left, &right, self.budget)?));
        }
        let equal = equal(&left, &right, self.budget)?;
        Ok(Some(equal == (comparison.operator == Comparator::Equal)))
    }
}

impl Constant {
    /// The constant as a float, if it is a number that is distinct as one.
    pub(super) fn short(&self) -> Option<f64> {
        match self {
            Self::Number { short, .. } => *short,
            Self::Text(_) => None,
        }
    }

    /// How the value at `place` compares with this one; `None` if they are of different types.
    #[inline]
    pub(super) fn order_of(
        &self,
        place: Cursor<'_>,
        budget: &Budget,
    ) -> Result<Option<Ordering>, Cost> {
        let kind = match self {
            Self::Number { .. } => Kind::Number,
            Self::Text(_) => Kind::String,
        };
        if place.kind() != kind {
            return Ok(None);
        }
        if place.raw().len() >= LONG {
            return self.order_of_long(place, budget);
        }
        Ok(self.order_of_read(place))
    }

    #[inline]
    fn order_of_read(&self, place: Cursor<'_>) -> Option<Ordering> {
        match self {
            Self::Number { digits, short } => Some(match (short_number(place.raw()), short) {
                (Some(left), Some(right)) => order_short(left, *right),
                _ => compare_numbers(place.as_number().unwrap_or_default(), digits),
            }),
            Self::Text(text) => Some((*place.string_bytes()?).cmp(text)),
        }
    }

    #[cold]
    fn order_of_long(&self, place: Cursor<'_>, budget: &Budget) -> Result<Option<Ordering>, Cost> {
        if let Self::Text(text) = self {
            let order = Prefix::from_raw(place.raw()).order(&Prefix::new(text));
            if order.is_some() {
                return Ok(order);
            }
        }
        budget.read_text(place.raw().len())?;
        Ok(self.order_of_read(place))
    }
}

/// Strings and numbers from this length on are paid for before they are read.
const LONG: usize = 128;

/// The beginning of a string up to its first escape.
struct Prefix<'a> {
    start: &'a [u8],
    /// Whether it is the whole string.
    is_whole: bool,
}

impl<'a> Prefix<'a> {
    fn new(text: &'a [u8]) -> Self {
        let start = text.get(..LONG).unwrap_or(text);
        Self {
            start,
            is_whole: start.len() == text.len(),
        }
    }

    /// The prefix of a raw string with its quotes.
    fn from_raw(raw: &'a [u8]) -> Self {
        let inside = raw.get(1..raw.len().saturating_sub(1)).unwrap_or_default();
        let mut prefix = Self::new(inside);
        if let Some(escape) = prefix.start.iter().position(|&byte| byte == b'\\') {
            prefix.start = &prefix.start[..escape];
            prefix.is_whole = false;
        }
        prefix
    }

    fn from_view(view: &'a View<'_>) -> Option<Self> {
        match &view.0 {
            Repr::Json(cursor) => Some(Self::from_raw(cursor.raw())),
            _ => view.own_text().map(|text| Self::new(text.as_bytes())),
        }
    }

    /// The order of the strings, if their beginnings tell.
    fn order(&self, other: &Prefix<'_>) -> Option<Ordering> {
        let both = self.start.len().min(other.start.len());
        let order = self.start[..both].cmp(&other.start[..both]);
        if order.is_ne() {
            return Some(order);
        }
        match (self.is_whole, other.is_whole) {
            (true, true) => Some(self.start.len().cmp(&other.start.len())),
            (true, false) if self.start.len() == both => Some(Ordering::Less),
            (false, true) if other.start.len() == both => Some(Ordering::Greater),
            _ => None,
        }
    }
}

/// The order of two numbers or two strings, paid for; `None` for anything else.
pub(super) fn order(
    left: &View<'_>,
    right: &View<'_>,
    budget: &Budget,
) -> Result<Option<Ordering>, Cost> {
    let kind = left.kind();
    if kind != right.kind() || !matches!(kind, Kind::Number | Kind::String) {
        return Ok(None);
    }
    let len = left.text_len() + right.text_len();
    if len >= LONG {
        if left.is_same(right) {
            return Ok(Some(Ordering::Equal));
        }
        if kind == Kind::String
            && let (Some(left), Some(right)) = (Prefix::from_view(left), Prefix::from_view(right))
            && let Some(order) = left.order(&right)
        {
            return Ok(Some(order));
        }
        budget.read_text(len)?;
    }
    if kind == Kind::Number {
        return Ok(Some(order_numbers(left, right)));
    }
    let (left, right) = (left.string_bytes(), right.string_bytes());
    Ok(left.zip(right).map(|(left, right)| left.cmp(&right)))
}

/// Whether two values are equal; the order of keys does not matter.
pub fn equal(left: &View<'_>, right: &View<'_>, budget: &Budget) -> Result<bool, Cost> {
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
        Kind::Number | Kind::String => Ok(order(left, right, budget)? == Some(Ordering::Equal)),
        Kind::Array | Kind::Object if left.is_same(right) => Ok(true),
        Kind::Array | Kind::Object if left.len() != right.len() => Ok(false),
        Kind::Array => {
            for (a, b) in left.items().zip(right.items()) {
                if !equal(&a, &b, budget)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        Kind::Object => {
            for (key, a) in left.members() {
                budget.read_text(key.len())?;
                let Some(b) = get(right, &key, budget)? else {
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

/// The member `key` of an object, the walk over its members paid for.
pub(super) fn get<'a>(
    object: &View<'a>,
    key: &str,
    budget: &Budget,
) -> Result<Option<View<'a>>, Cost> {
    if let Repr::Json(cursor) = &object.0 {
        return Ok(look_up(*cursor, key, budget)?.map(View::from));
    }
    budget.spend(object.len().unwrap_or_default() as u64 / 8)?;
    Ok(object.get(key))
}

/// The cost of a look-up in a wide object beyond the step of any look-up: a few reads of a table.
const WIDE_STEPS: u64 = 4;

/// Members that are walked over between two looks at the clock.
const LOOK_EVERY: usize = 1024;

/// Takes the steps for a look-up in a wide object: the same whether there is a table yet, as there
/// is one from the second look-up on.
#[inline]
pub(super) fn pay_wide(budget: &Budget) -> Result<(), Cost> {
    budget.spend(WIDE_STEPS)
}

/// The member `key` of an object.
#[inline]
pub(super) fn look_up<'a>(
    object: Cursor<'a>,
    name: &str,
    budget: &Budget,
) -> Result<Option<Cursor<'a>>, Cost> {
    if !object.is_wide() {
        return Ok(object.get(name));
    }
    pay_wide(budget)?;
    look_up_wide(object, name, budget)
}

/// The member `key` of a wide object, already paid for: by its table, the first time by a walk.
#[inline(never)]
pub(super) fn look_up_wide<'a>(
    object: Cursor<'a>,
    name: &str,
    budget: &Budget,
) -> Result<Option<Cursor<'a>>, Cost> {
    if let Some(found) = object.get_in_table(name, budget.tables(), budget.building()) {
        return Ok(found);
    }
    for (walked, member) in object.items().enumerate() {
        if walked % LOOK_EVERY == LOOK_EVERY - 1 {
            budget.tick()?;
        }
        if member.has_key(name) {
            return Ok(Some(member));
        }
    }
    Ok(None)
}
