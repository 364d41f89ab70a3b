//! Calls of the dialects: JMESPath's own functions, and others as methods of what they are called on.

use super::super::Rule;
use super::{
    method::{method, positive},
    parse::{Argument, Parser, Value, joined},
    query::Query,
};
use crate::{error::Dialect, function::Function, token::decode_quoted};

/// What jq calls otherwise, or not at all.
pub(super) const LOOSE_STAGES: [&str; 6] = ["sum", "avg", "count", "len", "size", "average"];

/// What jq calls without parentheses.
pub(super) const STAGES: [&str; 29] = [
    "sum",
    "avg",
    "count",
    "len",
    "size",
    "average",
    "length",
    "first",
    "last",
    "keys",
    "values",
    "add",
    "sort",
    "reverse",
    "min",
    "max",
    "flatten",
    "not",
    "tostring",
    "tonumber",
    "fromjson",
    "type",
    "any",
    "all",
    "floor",
    "abs",
    "ceil",
    "tojson",
    "to_entries",
];

/// A name without its case and underscores.
pub(super) fn fold(name: &str) -> String {
    name.replace('_', "").to_ascii_lowercase()
}

/// A call of a function with all its arguments.
pub(super) fn free(
    parser: &mut Parser<'_, '_, '_>,
    name: &str,
    arguments: Vec<Argument>,
) -> Option<Value> {
    if let Some(function) = Function::named(name)
        && let Some(call) = own(parser, function, &arguments)
    {
        return Some(Value::one(call));
    }
    let folded = fold(name);
    if let Some(function) = Function::named_loosely(&folded)
        && function.name() != name
        && parser.dialect.is_none_or(|dialect| dialect == Dialect::Jq)
        && arguments.len() > 1
        && let Some(call) = own(parser, function, &arguments)
    {
        parser.odd(Rule::FunctionName);
        return Some(Value::one(call));
    }
    if matches!(folded.as_str(), "notnull" | "coalesce") {
        let values: Option<Vec<_>> = arguments.into_iter().map(plain).collect();
        parser.odd(Rule::FunctionName);
        return Some(Value::one(Query::Call("not_null", values?)));
    }
    if matches!(
        folded.as_str(),
        "concat" | "cat" | "join" | "format" | "sprintf" | "printf"
    ) && arguments.len() > 1
        && let Some(text) = put_together(&folded, &arguments)
    {
        parser.odd(Rule::FunctionName);
        return Some(Value::one(text));
    }
    // `max(items, score)` compares items, `max(a, b)` two numbers.
    let compares_values = parser.dialect.is_some() || parser.flipped;
    if matches!(folded.as_str(), "max" | "min")
        && arguments.len() > 1
        && !is_named(&arguments)
        && compares_values
    {
        let values: Option<Vec<_>> = arguments.into_iter().map(plain).collect();
        parser.odd(Rule::FunctionName);
        let name = if folded == "max" { "max" } else { "min" };
        return Some(Value::one(Query::Call(name, vec![Query::List(values?)])));
    }
    // lodash's `_(items)`.
    if let ("_", [Argument::Value(wrapped)]) = (name, arguments.as_slice()) {
        parser.odd(Rule::Lodash);
        return Some(Value::one(wrapped.query.clone()));
    }
    // jq's `limit(2; .items[])`.
    if parser.is(Dialect::Jq)
        && folded == "limit"
        && let [Argument::Value(count), Argument::Value(list)] = arguments.as_slice()
    {
        parser.odd(Rule::Jq);
        let list = match &list.query {
            Query::Each(list) => (**list).clone(),
            other => other.clone(),
        };
        return Some(Value {
            query: list.slice(format!(":{}", positive(&count.query)?)),
            stream: true,
        });
    }
    // jq's functions are called on what they are given.
    if parser.is(Dialect::Jq) && !matches!(folded.as_str(), "first" | "last" | "length" | "len") {
        parser.odd(Rule::Jq);
        return method(parser, name, Value::one(Query::Here), arguments);
    }
    let mut arguments = arguments;
    let function_first = matches!(folded.as_str(), "map" | "filter")
        && parser.is(Dialect::Python)
        && arguments.len() == 2;
    if function_first {
        arguments.swap(0, 1);
    }
    // `map(x => x.url)` is on the value itself, `count()` on nothing.
    if !matches!(arguments.first(), None | Some(Argument::Value(_))) {
        parser.odd(Rule::FunctionName);
        return method(parser, name, Value::one(Query::Here), arguments);
    }
    let mut arguments = arguments.into_iter();
    let Some(Argument::Value(subject)) = arguments.next() else {
        return None;
    };
    parser.odd(Rule::FunctionName);
    let mut subject = subject.query;
    // `_.get(x, 'items')`, whatever the value is called there.
    if let (Some(Dialect::Lodash), Query::Field(base, root)) = (parser.dialect, &subject)
        && **base == Query::Here
        && folded == "get"
        && !(parser.has_key)(root)
    {
        subject = Query::Here;
    }
    method(parser, name, Value::one(subject), arguments.collect())
}

/// A text of several: `concat(a, ' ', b)`, `join(' ', a, b)`, `format('{} {}', a, b)`.
fn put_together(name: &str, arguments: &[Argument]) -> Option<Query> {
    let values = arguments.iter().map(|one| plain_ref(one).map(as_text));
    let mut values = values.collect::<Option<Vec<_>>>()?;
    if name.ends_with("cat") {
        return Some(joined(values));
    }
    let first = values.remove(0);
    let text = text_of(&first)?;
    if name == "join" {
        return (values.len() > 1).then(|| Query::Call("join", vec![first, Query::List(values)]));
    }
    let mut pieces = text.split("{}");
    if !text.contains("{}") {
        return None;
    }
    let mut parts = Vec::new();
    let mut values = values.into_iter();
    for (at, piece) in pieces.by_ref().enumerate() {
        if at > 0 {
            parts.push(values.next()?);
        }
        if !piece.is_empty() {
            parts.push(Query::text(piece));
        }
    }
    values.next().is_none().then(|| joined(parts))
}

/// A word in quotes that cannot be a plain name, as a text.
pub(super) fn as_text(query: &Query) -> Query {
    match query {
        Query::Field(base, name) if **base == Query::Here && name.starts_with('"') => {
            decode_quoted(name).map_or_else(|| query.clone(), |text| Query::text(&text))
        }
        other => other.clone(),
    }
}

/// Whether it is JMESPath's own function with as many arguments as it takes.
pub(super) fn is_complete(name: &str, arguments: usize) -> bool {
    Function::named(name).is_some_and(|function| function.check_arity(arguments).is_ok())
}

fn is_named(arguments: &[Argument]) -> bool {
    arguments
        .iter()
        .any(|one| matches!(one, Argument::Named(..)))
}

/// A call that is JMESPath's own, but maybe for a missing `&` and the order of arguments.
fn own(
    parser: &mut Parser<'_, '_, '_>,
    function: Function,
    arguments: &[Argument],
) -> Option<Query> {
    let values: Option<Vec<Query>> = arguments
        .iter()
        .map(|one| plain_ref(one).cloned())
        .collect();
    let mut values = values?;
    function.check_arity(values.len()).ok()?;
    if parser.dialect == Some(Dialect::Jq) && values.len() == 1 && function != Function::Length {
        return None;
    }
    // `sum(1 for …)` counts.
    if function == Function::Sum
        && matches!(values.as_slice(), [Query::Sub(_, each)] if matches!(**each, Query::Constant(_)))
    {
        return None;
    }
    let reference = match function {
        Function::Map => Some(0),
        Function::SortBy | Function::MaxBy | Function::MinBy => Some(1),
        _ => None,
    };
    let is_reference = |value: &Query| matches!(value, Query::Reference(_));
    if let Some(place) = reference {
        let [first, second] = values.as_slice() else {
            return None;
        };
        let at = [first, second].iter().position(|value| is_reference(value));
        match at {
            Some(at) if at == place => {}
            Some(_) => {
                values.swap(0, 1);
                parser.odd(Rule::ArgumentOrder);
            }
            // In a stage of jq, both are on its value.
            None if parser.is(Dialect::Jq) && parser.is_inner() => return None,
            None => {
                // `map(items, 'url')`: a string names the field.
                let text = [first, second]
                    .iter()
                    .position(|value| text_of(value).is_some());
                if text.is_some_and(|at| at != place)
                    || text.is_none() && parser.flipped && place == 0
                {
                    values.swap(0, 1);
                }
                let each = values.get_mut(place)?;
                *each = Query::Reference(Box::new(field_of(each)?));
                parser.odd(Rule::MissingAmpersand);
            }
        }
    }
    if function == Function::Match
        && parser.is(Dialect::JsonPath)
        && let [text, pattern] = values.as_slice()
    {
        // The whole text must match.
        parser.odd(Rule::JsonPath);
        let whole = Query::text(&format!("\\A(?:{})\\z", text_of(pattern)?));
        let exact = Query::Call("match", vec![text.repeated()?, whole]);
        let plain = Query::Call("match", values);
        return Some(Query::Exactly(plain.into(), exact.into()));
    }
    if function == Function::Join
        && let [first, second] = values.as_slice()
        && !is_text(first)
        && is_text(second)
    {
        values.swap(0, 1);
        parser.odd(Rule::ArgumentOrder);
    }
    Some(Query::Call(function.name(), values))
}

/// Whether it is a string, or a word in quotes that cannot be a plain name.
fn is_text(query: &Query) -> bool {
    match query {
        Query::Constant(_) => true,
        Query::Field(base, name) => **base == Query::Here && name.starts_with('"'),
        _ => false,
    }
}

/// The text of a string.
pub(super) fn text_of(query: &Query) -> Option<&str> {
    match query {
        Query::Constant(text) => text.strip_prefix('\'')?.strip_suffix('\''),
        _ => None,
    }
}

/// What a string names, or the expression itself.
fn field_of(query: &Query) -> Option<Query> {
    match query {
        Query::Constant(_) => named(text_of(query)?),
        other => Some(other.clone()),
    }
}

/// The path that a string names: `items[0].url`.
pub(super) fn named(path: &str) -> Option<Query> {
    let mut query = Query::Here;
    for part in path.split('.') {
        let mut part = part.split('[');
        let name = part.next()?;
        if name.is_empty() && query != Query::Here || name.contains(['\'', '"', '\\', '(', ']']) {
            return None;
        }
        if !name.is_empty() {
            query = match name.parse() {
                Ok(at) => query.index(at),
                Err(_) => query.field(name),
            };
        }
        for index in part {
            query = query.index(index.strip_suffix(']')?.parse().ok()?);
        }
    }
    Some(query)
}

fn plain(argument: Argument) -> Option<Query> {
    match argument {
        Argument::Value(value) => Some(value.query),
        _ => None,
    }
}

fn plain_ref(argument: &Argument) -> Option<&Query> {
    match argument {
        Argument::Value(value) => Some(&value.query),
        _ => None,
    }
}

/// A call behind a dot: JMESPath's own function on the value, or a method.
pub(super) fn on_value(
    parser: &mut Parser<'_, '_, '_>,
    name: &str,
    value: Value,
    arguments: Vec<Argument>,
) -> Option<Value> {
    if parser.dialect.is_none()
        && let Some(function) = Function::named(name)
        && function.check_arity(arguments.len()).is_ok()
        && (function.check_arity(arguments.len() + 1).is_err())
    {
        let values: Option<Vec<_>> = arguments.into_iter().map(plain).collect();
        let call = Query::Call(function.name(), values?);
        return Some(Value {
            query: Query::Sub(value.query.into(), call.into()),
            stream: value.stream,
        });
    }
    parser.odd(Rule::MethodCall);
    if value.stream && is_of_text(&fold(name)) {
        let call = method(parser, name, Value::one(Query::Here), arguments)?;
        return Some(Value {
            query: Query::Sub(value.query.into(), call.query.into()),
            stream: true,
        });
    }
    method(parser, name, value, arguments)
}

/// Whether a method is one of texts, so that on a list projection each item is meant.
fn is_of_text(folded: &str) -> bool {
    matches!(
        folded,
        "startswith"
            | "endswith"
            | "tonumber"
            | "tostring"
            | "split"
            | "lines"
            | "splitlines"
            | "get"
    )
}
