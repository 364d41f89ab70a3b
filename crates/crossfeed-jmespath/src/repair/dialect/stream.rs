//! What a stage of jq does with each value that it is given, and what gives no value at all.
//!
//! `.items[] | .tags | first` takes the first tag of each item: stages behind a stream are put together as one expression on an
//! item, so that a list that one of them gives is not mistaken for the stream. `select(…)` and `empty` are choices between
//! a value and none.

use super::{
    exact::mapped,
    method::is_plain_path,
    query::{Of, Query},
};

/// The name of a call that gives no value, not even a null; no function of JMESPath.
const EMPTY: &str = "empty";

impl Query {
    pub(super) fn empty() -> Self {
        Self::Call(EMPTY, Vec::new())
    }

    /// Itself where `condition` is true, else no value.
    pub(super) fn only_where(self, condition: Self) -> Self {
        Self::Choice(condition.into(), self.into(), Self::empty().into())
    }

    /// Whether it may give no value.
    pub(super) fn may_be_empty(&self) -> bool {
        self.any(&|part| *part == Self::empty())
    }

    /// The query with a null for no value; nothing where a part of another value may be none.
    pub(super) fn without_empty(self) -> Option<Self> {
        let query = match self {
            Self::Choice(condition, then, otherwise) => Self::Choice(
                condition,
                then.without_empty()?.into(),
                otherwise.without_empty()?.into(),
            ),
            Self::Exactly(plain, exact) => {
                Self::Exactly(plain.without_empty()?.into(), exact.without_empty()?.into())
            }
            none if none == Self::empty() => Self::literal("null"),
            other => other,
        };
        (!query.may_be_empty()).then_some(query)
    }
}

/// A stream with `each` evaluated on its values.
pub(super) fn on_each(stream: Query, each: &Query) -> Option<Query> {
    if *each == Query::Here {
        return Some(stream);
    }
    if let Query::Exactly(plain, exact) = each {
        let plain = on_each(stream.repeated()?, plain)?;
        return Some(Query::Exactly(plain.into(), on_each(stream, exact)?.into()));
    }
    if let Some((condition, each)) = choice(each) {
        let left = Query::Filter(stream.into(), condition.into(), Of::Whole);
        return on_each(left, &each);
    }
    Some(match mapped(&stream) {
        Some((list, first)) => {
            let each = then(&first, each)?;
            Query::Sub(Query::Each(list.into()).into(), each.into())
        }
        None => Query::Sub(stream.into(), each.clone().into()),
    })
}

/// When an expression gives a value, and which, if it may give none.
fn choice(query: &Query) -> Option<(Query, Query)> {
    let Query::Choice(condition, then, otherwise) = query else {
        return None;
    };
    if **otherwise == Query::empty() {
        return Some(((**condition).clone(), (**then).clone()));
    }
    if **then == Query::empty() {
        return Some(((**condition).clone().not(), (**otherwise).clone()));
    }
    let (or, otherwise) = choice(otherwise)?;
    let either = condition.repeated()?.or(or);
    let value = Query::Choice(condition.clone(), then.clone(), otherwise.into());
    Some((either, value))
}

/// The second expression on what the first gives.
pub(super) fn then(first: &Query, each: &Query) -> Option<Query> {
    match first {
        Query::Here => return Some(each.clone()),
        Query::Exactly(plain, exact) => {
            let (plain, exact) = (then(plain, each)?, then(exact, each)?);
            return Some(Query::Exactly(plain.into(), exact.into()));
        }
        _ => {}
    }
    if let Some((condition, value)) = choice(first) {
        return Some(then(&value, each)?.only_where(condition));
    }
    let is_list = mapped(first).is_some();
    let is_path = is_plain_path(first);
    let on = |part: &Query| then(first, part).map(Box::new);
    let on_all = |parts: &[Query]| {
        let parts = parts.iter().map(|part| then(first, part));
        parts.collect::<Option<Vec<_>>>()
    };
    Some(match each {
        Query::Here => first.repeated()?,
        Query::Constant(_) => each.clone(),
        // A list has no members for jq.
        Query::Field(base, _) if is_list && **base == Query::Here => return None,
        Query::Field(base, name) => Query::Field(on(base)?, name.clone()),
        Query::Index(base, at, of) => Query::Index(on(base)?, *at, *of),
        Query::Slice(base, bounds, of) => Query::Slice(on(base)?, bounds.clone(), *of),
        Query::Filter(base, predicate, of) => Query::Filter(on(base)?, predicate.clone(), *of),
        Query::Each(base) => Query::Each(on(base)?),
        Query::Values(base) => Query::Values(on(base)?),
        Query::Flat(base) => Query::Flat(on(base)?),
        Query::Sub(base, rest) => Query::Sub(on(base)?, rest.clone()),
        Query::Pipe(base, rest) => Query::Pipe(on(base)?, rest.clone()),
        Query::Choice(condition, value, otherwise) => {
            Query::Choice(on(condition)?, on(value)?, on(otherwise)?)
        }
        Query::Exactly(plain, exact) => Query::Exactly(on(plain)?, on(exact)?),
        none if *none == Query::empty() => none.clone(),
        Query::Call(name, arguments) if is_path => Query::Call(name, on_all(arguments)?),
        Query::Not(inner) if is_path => Query::Not(on(inner)?),
        Query::Binary(operator, left, right) if is_path => {
            Query::Binary(*operator, on(left)?, on(right)?)
        }
        // A function as an argument is on other values.
        Query::Reference(_) => each.clone(),
        other if is_list => Query::Pipe(first.clone().into(), other.clone().into()),
        other => Query::Sub(first.clone().into(), other.clone().into()),
    })
}
