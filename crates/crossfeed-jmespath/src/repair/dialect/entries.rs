//! Members of an object as pairs of key and value: `to_entries`, `Object.entries(…)`, `items()`.
//!
//! JMESPath has no such pairs, but what is taken of only the keys or only the values is taken of `keys(…)` or `values(…)`.

use super::query::{Of, Query};

/// The name of a call that gives the pairs; no function of JMESPath.
pub(super) const ENTRIES: &str = "entries";

/// The query without pairs; nothing where keys and values are both needed.
pub(super) fn resolved(query: Query) -> Option<Query> {
    let resolved = resolve(&query).unwrap_or(query);
    (!resolved.any(&|part| matches!(part, Query::Call(ENTRIES, _)))).then_some(resolved)
}

/// The same query on keys or on values, if it goes through pairs at its root.
fn resolve(query: &Query) -> Option<Query> {
    for (member, function) in [("value", "values"), ("key", "keys")] {
        if let Some(found) = through(query, member, function) {
            return Some(match found {
                // All of them are the list.
                Query::Each(list) => *list,
                Query::Sub(list, each) if *each == Query::Here => match *list {
                    Query::Each(list) => *list,
                    list => list,
                },
                other => other,
            });
        }
    }
    // What a function is called on may go through pairs, too.
    match query {
        Query::Call("length", list) => match list.as_slice() {
            [Query::Call(ENTRIES, object)] => Some(Query::Call("length", object.clone())),
            _ => in_call("length", list),
        },
        Query::Call(name, arguments) => in_call(name, arguments),
        _ => None,
    }
}

fn in_call(name: &'static str, arguments: &[Query]) -> Option<Query> {
    let mut arguments = arguments.to_vec();
    let first = arguments.iter_mut().find_map(|argument| {
        let resolved = resolve(argument)?;
        *argument = resolved;
        Some(())
    });
    first.map(|()| Query::Call(name, arguments))
}

/// A path through the pairs of which only `member` is taken.
fn through(query: &Query, member: &str, function: &'static str) -> Option<Query> {
    let list = |base: &Query| pairs(base, member, function);
    Some(match query {
        Query::Sub(base, each) => match list(base) {
            Some(base) => Query::Sub(base.into(), taken(each, member)?.into()),
            None => Query::Sub(through(base, member, function)?.into(), each.clone()),
        },
        Query::Field(base, name) if name == member => match list(base) {
            Some(base) => base,
            None => Query::Field(through(base, member, function)?.into(), name.clone()),
        },
        Query::Field(base, name) => {
            Query::Field(through(base, member, function)?.into(), name.clone())
        }
        Query::Index(base, at, of) => {
            Query::Index(through(base, member, function)?.into(), *at, *of)
        }
        Query::Slice(base, bounds, of) => {
            Query::Slice(through(base, member, function)?.into(), bounds.clone(), *of)
        }
        Query::Filter(base, predicate, of) => Query::Filter(
            through(base, member, function)?.into(),
            predicate.clone(),
            *of,
        ),
        Query::Each(base) => Query::Each(through(base, member, function)?.into()),
        Query::Flat(base) => Query::Flat(through(base, member, function)?.into()),
        _ => return None,
    })
}

/// The list of keys or values for a list of pairs, filtered as they are.
fn pairs(query: &Query, member: &str, function: &'static str) -> Option<Query> {
    Some(match query {
        Query::Call(ENTRIES, object) => Query::Call(function, object.clone()),
        Query::Each(list) => Query::Each(pairs(list, member, function)?.into()),
        Query::Filter(list, predicate, Of::Whole) => Query::Filter(
            pairs(list, member, function)?.into(),
            taken(predicate, member)?.into(),
            Of::Whole,
        ),
        Query::Slice(list, bounds, Of::Whole) => Query::Slice(
            pairs(list, member, function)?.into(),
            bounds.clone(),
            Of::Whole,
        ),
        _ => return None,
    })
}

/// An expression on a pair as one on the member of it that it takes.
fn taken(each: &Query, member: &str) -> Option<Query> {
    let inner = |query: &Query| taken(query, member).map(Box::new);
    Some(match each {
        Query::Field(base, name) if **base == Query::Here => {
            return (name == member).then_some(Query::Here);
        }
        // `pair => pair[1]`
        Query::Index(base, at, _) if **base == Query::Here => {
            let wanted = if member == "key" { 0 } else { 1 };
            return (*at == wanted).then_some(Query::Here);
        }
        Query::Constant(_) => each.clone(),
        Query::Field(base, name) => Query::Field(inner(base)?, name.clone()),
        Query::Index(base, at, of) => Query::Index(inner(base)?, *at, *of),
        Query::Each(base) => Query::Each(inner(base)?),
        Query::Not(base) => Query::Not(inner(base)?),
        Query::Binary(operator, left, right) => {
            Query::Binary(*operator, inner(left)?, inner(right)?)
        }
        Query::Choice(condition, then, otherwise) => {
            Query::Choice(inner(condition)?, inner(then)?, inner(otherwise)?)
        }
        Query::Exactly(plain, exact) => Query::Exactly(inner(plain)?, inner(exact)?),
        Query::Sub(base, rest) => Query::Sub(inner(base)?, rest.clone()),
        Query::Call(name, arguments) => {
            let arguments = arguments.iter().map(|one| taken(one, member));
            Query::Call(name, arguments.collect::<Option<_>>()?)
        }
        Query::Hash(members) => {
            let members = members.iter();
            let members = members.map(|(key, one)| Some((key.clone(), taken(one, member)?)));
            Query::Hash(members.collect::<Option<_>>()?)
        }
        _ => return None,
    })
}
