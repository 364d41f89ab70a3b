//! What a translation leaves to the values: texts, numbers and lists that count as true or false, items without a field,
//! the first of several that are equal.
//!
//! [`Exact`] gives the query that says the same as the dialect for any value. Where both give the same, the plain one is
//! the answer; where they differ, the exact one.

mod compared;
#[cfg(test)]
mod tests;

pub(super) use self::compared::compared;

use super::query::{Of, Operator, Query};
use crate::error::Dialect;

/// The most parts that are looked at: a condition of a condition may stand in the text twice.
const MAX_PARTS: usize = 8000;

pub(super) struct Exact {
    dialect: Option<Dialect>,
    /// Whether a list of one field of each item keeps the nulls.
    keeps_nulls: bool,
    left: usize,
    /// Whether it may mean something else as a whole.
    refuses: bool,
}

/// A query that says the same for any value or has none, and whether it may mean something else as a
/// whole.
pub(super) fn exact(
    query: &Query,
    dialect: Option<Dialect>,
    collects: bool,
) -> Option<(Query, bool)> {
    let is_program = matches!(
        dialect,
        Some(Dialect::Jq | Dialect::JavaScript | Dialect::Python | Dialect::Lodash)
    );
    let mut exact = Exact {
        dialect,
        keeps_nulls: is_program && !collects,
        left: MAX_PARTS,
        refuses: false,
    };
    let query = exact.value(query)?;
    Some((query, exact.refuses))
}

impl Exact {
    fn is(&self, dialect: Dialect) -> bool {
        self.dialect == Some(dialect)
    }

    fn is_script(&self) -> bool {
        self.is(Dialect::JavaScript) || self.is(Dialect::Lodash)
    }

    /// What is true where the query is, for the dialect.
    fn condition(&mut self, query: &Query) -> Option<Query> {
        Some(match query {
            Query::Not(inner) => negated(self.condition(inner)?),
            Query::Binary(operator @ (Operator::And | Operator::Or), left, right) => {
                let (left, right) = (self.condition(left)?, self.condition(right)?);
                Query::Binary(*operator, left.into(), right.into())
            }
            _ if query.is_condition() || is_match(query) => self.value(query)?,
            _ => self.truth(query)?,
        })
    }

    fn truth(&mut self, query: &Query) -> Option<Query> {
        let value = self.value(query)?;
        let falsehoods = match self.dialect {
            Some(Dialect::Jq) => "[null,false]",
            Some(Dialect::JavaScript | Dialect::Lodash) => "[null,false,0,\"\"]",
            Some(Dialect::Python) => "[null,false,0,\"\",[],{}]",
            // Some ask whether the member is there, others whether it is true.
            Some(Dialect::JsonPath) => {
                if let Query::Field(base, name) = &value {
                    self.refuses = true;
                    return Some((**base).clone().has_member(name));
                }
                return Some(value);
            }
            _ => return Some(value),
        };
        Some(Query::Call("contains", vec![Query::literal(falsehoods), value]).not())
    }

    fn value(&mut self, query: &Query) -> Option<Query> {
        self.left = self.left.checked_sub(1)?;
        Some(match query {
            Query::Here | Query::Constant(_) => query.clone(),
            Query::Field(base, name) => Query::Field(self.projected(base)?.into(), name.clone()),
            Query::Index(base, at, of) => Query::Index(self.on(base, *of)?.into(), *at, *of),
            Query::Slice(base, bounds, of) => {
                Query::Slice(self.on(base, *of)?.into(), bounds.clone(), *of)
            }
            Query::Each(base) => Query::Each(self.stage(base)?.into()),
            Query::Values(base) => Query::Values(self.value(base)?.into()),
            Query::Flat(base) => Query::Flat(self.value(base)?.into()),
            Query::Filter(base, predicate, of) => {
                let predicate = self.condition(predicate)?;
                let base = match of {
                    Of::Whole => self.stage(base)?,
                    Of::Item => self.projected(base)?,
                };
                Query::Filter(base.into(), predicate.into(), *of)
            }
            // A function is called on nulls, too.
            Query::Sub(base, each)
                if self.keeps_nulls && matches!(**each, Query::Call(..)) && gives_nulls(base) =>
            {
                self.whole(query)?
            }
            Query::Sub(base, each) => {
                Query::Sub(self.projected(base)?.into(), self.value(each)?.into())
            }
            Query::Pipe(first, second) => {
                Query::Pipe(self.whole(first)?.into(), self.value(second)?.into())
            }
            call if *call == Query::refusal() => {
                self.refuses = true;
                call.clone()
            }
            Query::Call(name, arguments) => self.call(name, arguments)?,
            Query::Reference(each) => Query::Reference(self.value(each)?.into()),
            Query::Not(inner) => negated(self.condition(inner)?),
            Query::Binary(operator @ Operator::Comparison(_), left, right) => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                Query::Binary(*operator, left.into(), right.into())
            }
            Query::Binary(operator, left, right) => self.operation(*operator, left, right)?,
            Query::List(items) => {
                let items: Option<_> = items.iter().map(|item| self.value(item)).collect();
                Query::List(items?)
            }
            Query::Hash(members) => {
                let members = members.iter();
                let members = members.map(|(key, one)| Some((key.clone(), self.value(one)?)));
                Query::Hash(members.collect::<Option<_>>()?)
            }
            Query::Choice(condition, then, otherwise) => Query::Choice(
                self.condition(condition)?.into(),
                self.value(then)?.into(),
                self.value(otherwise)?.into(),
            ),
            Query::Exactly(_, exact) => self.value(exact)?,
        })
    }

    /// `a || b` and `a && b`, of which programs give one.
    fn operation(&mut self, operator: Operator, left: &Query, right: &Query) -> Option<Query> {
        let condition = self.condition(left)?;
        let is_boolean = left.is_condition() || self.dialect.is_none();
        if self.is(Dialect::Jq) || is_boolean {
            let right = if self.is(Dialect::Jq) {
                self.condition(right)?
            } else {
                self.value(right)?
            };
            return Some(Query::Binary(operator, condition.into(), right.into()));
        }
        let (left, right) = (self.value(left)?, self.value(right)?);
        let (then, otherwise) = if operator == Operator::Or {
            (left, right)
        } else {
            (right, left)
        };
        Some(Query::Choice(
            condition.into(),
            then.into(),
            otherwise.into(),
        ))
    }

    fn call(&mut self, name: &'static str, arguments: &[Query]) -> Option<Query> {
        // A filter leaves out the nulls that it takes, so what it says of each is counted.
        if let ("length", [Query::Filter(list, condition, Of::Whole)]) = (name, arguments)
            && self.keeps_nulls
            && (gives_nulls(list) || condition.is_of_item())
        {
            return self.count(list, condition);
        }
        let list = match name {
            "length" | "reverse" | "sort" | "min" | "avg" | "sort_by" | "max_by" | "min_by"
            | "contains" => Some(0),
            // jq takes no account of nulls here.
            "max" | "sum" if !self.is(Dialect::Jq) => Some(0),
            "join" | "map" => Some(1),
            _ => None,
        };
        let mut said = Vec::new();
        for (at, argument) in arguments.iter().enumerate() {
            said.push(if Some(at) == list {
                self.whole(argument)?
            } else {
                self.value(argument)?
            });
        }
        // Of several that are equal, jq takes the last one.
        if name == "max_by" && self.is(Dialect::Jq) {
            let list = Query::Call("reverse", vec![said.first()?.clone()]);
            *said.first_mut()? = list;
        }
        Some(Query::Call(name, said))
    }

    fn on(&mut self, base: &Query, of: Of) -> Option<Query> {
        match of {
            Of::Whole => self.whole(base),
            Of::Item => self.projected(base),
        }
    }

    /// The query as what a path goes on from: on each item, if it gives a list of what a function gives for each.
    fn projected(&mut self, query: &Query) -> Option<Query> {
        let value = self.value(query)?;
        let is_list = matches!(query, Query::Sub(..)) && matches!(value, Query::Call("map", _));
        Some(if is_list {
            Query::Each(value.into())
        } else {
            value
        })
    }

    /// How many items of a list meet a condition.
    fn count(&mut self, list: &Query, condition: &Query) -> Option<Query> {
        let fails = Query::Reference(negated(self.condition(condition)?).into());
        let found = Query::Call("map", vec![fails, self.whole(list)?]);
        Some(Query::Call("length", vec![found.filter(Query::Here.not())]))
    }

    /// The query as a list that has as many items as for the dialect.
    fn whole(&mut self, query: &Query) -> Option<Query> {
        match query {
            // What the dialect makes flat keeps its nulls.
            Query::Flat(_) if self.keeps_nulls => {
                let (flat, has_nulls) = (self.value(query)?, self.has_nulls(query)?);
                return Some(refused_where(has_nulls, flat));
            }
            Query::Filter(list, condition, Of::Whole) if self.keeps_nulls && gives_nulls(list) => {
                let found = self.value(query)?;
                let all = self.count(list, condition)?;
                let found_count = Query::Call("length", vec![found.repeated()?]);
                return Some(refused_where(all.compare("!=", found_count), found));
            }
            Query::Exactly(_, exact) => return self.whole(exact),
            Query::Each(list) => return self.whole(list),
            _ => {}
        }
        match self.keeps_nulls.then(|| mapped(query)).flatten() {
            Some((list, Query::Here)) => self.value(&list),
            Some((list, each)) => {
                let each = Query::Reference(self.value(&each)?.into());
                Some(Query::Call("map", vec![each, self.whole(&list)?]))
            }
            None => self.value(query),
        }
    }

    /// The query as a list that another stage goes through; the values that jq streams are no list.
    fn stage(&mut self, query: &Query) -> Option<Query> {
        if matches!(query, Query::Flat(_)) && !self.is_script() {
            return self.value(query);
        }
        self.whole(query)
    }

    /// Whether there are nulls in a list that is made flat, at any depth.
    fn has_nulls(&mut self, flat: &Query) -> Option<Query> {
        let Query::Flat(list) = flat else {
            return Some(Query::literal("false"));
        };
        // `.tags[]` of jq fails on a null; others take it for an item.
        let is_stream = !matches!(**list, Query::Flat(_)) && !self.is_script();
        let values = Query::Call("to_array", vec![Query::Here]);
        let found = Query::Call("contains", vec![values, Query::literal("null")]);
        let found = if is_stream {
            let is_value = Query::Here.compare("!=", Query::literal("null"));
            Query::Binary(Operator::And, is_value.into(), found.into())
        } else {
            found
        };
        let inner = self.has_nulls(list)?;
        // A null behind the filter would be left out.
        let lists = if matches!(**list, Query::Flat(_)) {
            self.value(list)?
        } else {
            self.whole(list)?
        };
        let found = Query::Call("map", vec![Query::Reference(found.not().into()), lists]);
        let count = Query::Call("length", vec![found.filter(Query::Here.not())]);
        let here = count.compare(">", Query::literal("0"));
        Some(match inner {
            Query::Constant(_) => here,
            inner => inner.or(here),
        })
    }
}

/// Whether it takes of each item what may not be there.
fn gives_nulls(list: &Query) -> bool {
    mapped(list).is_some_and(|(_, each)| each != Query::Here)
}

/// The query, as long as a condition is false.
fn refused_where(condition: Query, query: Query) -> Query {
    Query::Choice(condition.into(), Query::unlike().into(), query.into())
}

fn negated(condition: Query) -> Query {
    match condition {
        Query::Not(inner) if inner.is_condition() => *inner,
        other => other.not(),
    }
}

/// Whether it is a search for a pattern, of which an empty list of matches is false for JMESPath.
fn is_match(query: &Query) -> bool {
    matches!(query, Query::Call("match", _))
}

/// A list, and what is taken of each item of it; nothing where nothing is.
pub(super) fn mapped(query: &Query) -> Option<(Query, Query)> {
    match query {
        Query::Each(list) => Some(((**list).clone(), Query::Here)),
        Query::Filter(_, _, Of::Whole) | Query::Slice(_, _, Of::Whole) | Query::Flat(_) => {
            Some((query.clone(), Query::Here))
        }
        Query::Field(base, name) => {
            let (list, each) = mapped(base)?;
            Some((list, Query::Field(each.into(), name.clone())))
        }
        Query::Index(base, at, Of::Item) => {
            let (list, each) = mapped(base)?;
            Some((list, Query::Index(each.into(), *at, Of::Whole)))
        }
        Query::Slice(base, bounds, Of::Item) => {
            let (list, each) = mapped(base)?;
            Some((list, Query::Slice(each.into(), bounds.clone(), Of::Whole)))
        }
        Query::Sub(base, more) => {
            let (list, each) = mapped(base)?;
            Some(match each {
                Query::Here => (list, (**more).clone()),
                each => (list, Query::Sub(each.into(), more.clone())),
            })
        }
        _ => None,
    }
}
