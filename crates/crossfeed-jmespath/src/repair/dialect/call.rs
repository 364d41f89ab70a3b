//! Functions and methods of the dialects, by what they are called on.

use super::super::Rule;
use super::{
    entries::ENTRIES,
    parse::{Argument, Parser, Value, joined},
    query::{Of, Operator, Query},
    stream::on_each,
};
use crate::{error::Dialect, function::Function};

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
    if folded == "concat" && arguments.len() > 1 {
        let values: Option<Vec<_>> = arguments.into_iter().map(plain).collect();
        parser.odd(Rule::FunctionName);
        return Some(Value::one(joined(values?)));
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
fn text_of(query: &Query) -> Option<&str> {
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
fn named(path: &str) -> Option<Query> {
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

/// A function on a value: `items.filter(…)`, `items | select(…)`, `len(items)`.
pub(super) fn method(
    parser: &mut Parser<'_, '_, '_>,
    name: &str,
    subject: Value,
    arguments: Vec<Argument>,
) -> Option<Value> {
    let folded = fold(name);
    // Of a field that a projection gives, each or all may be meant.
    if subject.stream
        && matches!(
            folded.as_str(),
            "length" | "len" | "size" | "count" | "contains" | "includes"
        )
        && !matches!(
            subject.query,
            Query::Each(_) | Query::Filter(..) | Query::Slice(..) | Query::Flat(_)
        )
    {
        return None;
    }
    let dialect = parser.dialect;
    let each = |argument: &Argument| item_expression(dialect, argument);
    let subject = match subject.query {
        // The items of a list are the list.
        Query::Each(list) => *list,
        other => other,
    };
    let one = |name: &'static str, subject: Query| Some(Query::Call(name, vec![subject]));
    let count_is = |list: Query, sign: &'static str| {
        Some(Query::Call("length", vec![list]).compare(sign, Query::literal("0")))
    };
    let query = match (folded.as_str(), arguments.as_slice()) {
        ("length" | "len" | "size" | "count", []) => one("length", subject),
        ("first" | "head", []) => Some(subject.index(0)),
        ("last" | "pop", []) => Some(subject.index(-1)),
        ("shift", []) => Some(subject.index(0)),
        ("next", [] | [Argument::Value(_)]) => Some(subject.index(0)),
        ("at" | "nth" | "get", [Argument::Value(place)]) => match integer(&place.query) {
            Some(at) => Some(subject.index(at)),
            None if folded == "get" => after(subject, named(text_of(&place.query)?)?),
            None => None,
        },
        ("get", [Argument::Value(name), Argument::Value(default)]) => {
            let path = after(subject, named(text_of(&name.query)?)?)?;
            let plain = path.repeated()?.or_default(default.query.clone());
            // A null that is there stays.
            let exact = match &path {
                Query::Field(base, name) => {
                    let is_there = base.repeated()?.has_member(name);
                    let default = default.query.repeated()?;
                    Query::Choice(is_there.into(), path.into(), default.into())
                }
                _ => plain.repeated()?,
            };
            Some(Query::Exactly(plain.into(), exact.into()))
        }
        ("map", [Argument::Value(each)]) if dialect == Some(Dialect::Jq) => {
            let mapped = on_each(Query::Each(subject.opened().into()), &each.query)?;
            Some(if each.stream {
                Query::Flat(mapped.into())
            } else {
                mapped
            })
        }
        ("map" | "collect" | "pluck", [one]) => Some(subject.map(each(one)?)),
        ("flatmap", [one]) => Some(Query::Flat(subject.map(each(one)?).into())),
        // LINQ's gives what the function does.
        ("select", [Argument::Lambda(each)]) if dialect == Some(Dialect::JavaScript) => {
            match (name == "Select", each.takes_for_true()) {
                (true, _) => Some(subject.map(each.clone())),
                (false, true) => None,
                (false, false) => Some(subject.filter(each.clone())),
            }
        }
        ("count", [one @ Argument::Lambda(_)]) => {
            Some(Query::Call("length", vec![subject.filter(each(one)?)]))
        }
        ("firstordefault" | "first" | "single", [one @ Argument::Lambda(_)]) => {
            Some(subject.filter(each(one)?).index(0))
        }
        ("firstordefault" | "single", []) => Some(subject.index(0)),
        ("lastordefault" | "last", [one @ Argument::Lambda(_)]) => {
            Some(subject.filter(each(one)?).index(-1))
        }
        ("orderbydescending" | "sortbydesc", [one]) => {
            let by = Argument::Order {
                by: each(one)?,
                descending: true,
                locale: false,
            };
            sorted(subject, &[by], &each)
        }
        ("tolist", []) => Some(subject),
        // What is selected is the value itself, which is an item.
        ("select", [one])
            if dialect == Some(Dialect::Jq) && parser.is_inner() && subject == Query::Here =>
        {
            Some(Query::Here.only_where(each(one)?.without_empty()?))
        }
        ("filter" | "select" | "where" | "findall", [one]) => Some(subject.filter(each(one)?)),
        ("reject", [one]) => Some(subject.filter(each(one)?.not())),
        ("find" | "detect", [one]) => Some(subject.filter(each(one)?).index(0)),
        ("findlast", [one]) => Some(subject.filter(each(one)?).index(-1)),
        ("some" | "any", []) => {
            let (list, predicate) = mapped(subject);
            count_is(list.filter(predicate), ">")
        }
        ("every" | "all", []) => {
            let (list, predicate) = mapped(subject);
            count_is(list.filter(predicate.not()), "==")
        }
        ("some" | "any", [one]) => count_is(subject.filter(each(one)?), ">"),
        ("every" | "all", [one]) => count_is(subject.filter(each(one)?.not()), "=="),
        ("includes" | "contains" | "include", [Argument::Value(wanted)]) => {
            let wanted = match &wanted.query {
                // jq asks whether the list contains all of another one, and of texts a part is enough.
                Query::List(items) if dialect == Some(Dialect::Jq) => match items.as_slice() {
                    [one] if text_of(one).is_some() => {
                        let part = Query::Call("contains", vec![Query::Here, one.clone()]);
                        let found = subject.repeated()?.filter(part);
                        let exact = Query::Call("length", vec![found]);
                        let exact = exact.compare(">", Query::literal("0"));
                        let plain = Query::Call("contains", vec![subject, one.clone()]);
                        return Some(Value::one(Query::Exactly(plain.into(), exact.into())));
                    }
                    [one] => one,
                    _ => return None,
                },
                wanted => wanted,
            };
            Some(Query::Call("contains", vec![subject, wanted.clone()]))
        }
        ("lines" | "splitlines", []) => one("lines", subject),
        ("split", [Argument::Value(separator)]) => match text_of(&separator.query) {
            // An end of line at the end, or two signs for one, make a difference.
            Some("\n" | "\\n") => {
                let parts =
                    Query::Call("split", vec![subject.repeated()?, separator.query.clone()]);
                let lines = Query::Call("lines", vec![subject]);
                Some(Query::Exactly(lines.into(), parts.into()))
            }
            _ => Some(Query::Call("split", vec![subject, separator.query.clone()])),
        },
        ("has", [Argument::Value(key)]) if dialect == Some(Dialect::Jq) => {
            let keys = Query::Call("keys", vec![subject]);
            Some(Query::Call("contains", vec![keys, key.query.clone()]))
        }
        ("has", [Argument::Value(part)]) if dialect.is_none() => {
            Some(Query::Call("contains", vec![subject, part.query.clone()]))
        }
        ("search", [Argument::Value(pattern)]) if dialect == Some(Dialect::JsonPath) => {
            Some(subject.matches(pattern.query.clone()))
        }
        ("test", [Argument::Value(pattern)]) if dialect == Some(Dialect::Jq) => {
            Some(subject.matches(pattern.query.clone()))
        }
        ("test", [Argument::Value(pattern), Argument::Value(flags)])
            if dialect == Some(Dialect::Jq) && text_of(&flags.query) == Some("i") =>
        {
            let pattern = format!("(?i){}", text_of(&pattern.query)?);
            Some(subject.matches(Query::text(&pattern)))
        }
        ("startswith", [Argument::Value(part)]) => Some(Query::Call(
            "starts_with",
            vec![subject, part.query.clone()],
        )),
        ("endswith", [Argument::Value(part)]) => {
            Some(Query::Call("ends_with", vec![subject, part.query.clone()]))
        }
        ("join", [Argument::Value(list)]) if matches!(subject, Query::Constant(_)) => {
            Some(Query::Call("join", vec![subject, list.query.clone()]))
        }
        ("join", [Argument::Value(glue)]) => {
            Some(Query::Call("join", vec![glue.query.clone(), subject]))
        }
        ("sum" | "add", []) => match mapped(subject) {
            (list, Query::Constant(one)) if one == "`1`" => Some(Query::Call("length", vec![list])),
            (list, Query::Here) => one("sum", list),
            (list, each) => one("sum", list.map(each)),
        },
        ("sum" | "sumby", [one_each]) => one("sum", subject.map(each(one_each)?)),
        ("reduce", [Argument::Sum(each)] | [Argument::Sum(each), Argument::Value(_)]) => {
            if let [_, Argument::Value(start)] = arguments.as_slice()
                && integer(&start.query) != Some(0)
            {
                return None;
            }
            one(
                "sum",
                if *each == Query::Here {
                    subject
                } else {
                    subject.map(each.clone())
                },
            )
        }
        ("reduce", [Argument::Best { by, greatest, last }]) => {
            let name = if *greatest { "max_by" } else { "min_by" };
            let by = Query::Reference(by.clone().into());
            let best = |list| Query::Call(name, vec![list, by.clone()]);
            let plain = best(subject.repeated()?);
            Some(if *last {
                let exact = best(Query::Call("reverse", vec![subject]));
                Query::Exactly(plain.into(), exact.into())
            } else {
                plain
            })
        }
        // JavaScript sorts numbers as texts.
        ("sort" | "tosorted", []) if dialect == Some(Dialect::JavaScript) => {
            let sort = |list| Query::Call("sort", vec![list]);
            let text = Query::Call("to_string", vec![Query::Here]);
            let by_text = Query::Call(
                "sort_by",
                vec![subject.repeated()?, Query::Reference(text.into())],
            );
            let differ = sort(subject.repeated()?).compare("!=", by_text);
            sort(subject).unless(differ)
        }
        ("sort" | "sorted" | "tosorted" | "sortby" | "orderby", arguments) => {
            sorted(subject, arguments, &each)
        }
        ("reverse" | "reversed" | "toreversed", []) => one("reverse", subject),
        ("max", []) => one("max", subject),
        ("min", []) => one("min", subject),
        // LINQ gives the largest value, others the item that has it.
        ("max" | "min", [Argument::Lambda(_)])
            if matches!(dialect, Some(Dialect::JavaScript | Dialect::Lodash)) =>
        {
            None
        }
        ("max" | "min" | "maxby" | "minby", [by]) => {
            let by = match by {
                Argument::Named(name, by) if name == "key" => each(by)?,
                Argument::Named(..) => return None,
                by => each(by)?,
            };
            let name = if folded.starts_with("max") {
                "max_by"
            } else {
                "min_by"
            };
            Some(Query::Call(
                name,
                vec![subject, Query::Reference(by.into())],
            ))
        }
        ("avg" | "average" | "mean", []) => one("avg", subject),
        ("avgby" | "meanby", [one_each]) => one("avg", subject.map(each(one_each)?)),
        ("keys", []) if dialect == Some(Dialect::Jq) => {
            one("sort", Query::Call("keys", vec![subject]))
        }
        ("keys" | "keysunsorted", []) => one("keys", subject),
        // jq's is for values that are not null.
        ("toentries" | "entries" | "topairs", []) => one(ENTRIES, subject),
        ("items", []) if dialect == Some(Dialect::Python) => one(ENTRIES, subject),
        ("values", []) if dialect != Some(Dialect::Jq) || !parser.begins_with_dot() => {
            one("values", subject)
        }
        ("flatten", []) if dialect == Some(Dialect::Jq) => {
            // At any depth.
            let flat = Query::Flat(subject.into());
            let deeper = |list: Query| Query::Flat(list.into());
            let exact = deeper(deeper(deeper(deeper(flat.repeated()?))));
            Some(Query::Exactly(flat.into(), exact.into()))
        }
        ("flat" | "flatten", []) => Some(Query::Flat(subject.into())),
        ("compact", []) => Some(subject.filter(Query::Here)),
        ("slice", [Argument::Value(from)]) => {
            Some(subject.slice(format!("{}:", integer(&from.query)?)))
        }
        ("slice", [Argument::Value(from), Argument::Value(to)]) => {
            Some(subject.slice(format!("{}:{}", integer(&from.query)?, integer(&to.query)?)))
        }
        ("take" | "limit" | "head" | "first", [Argument::Value(count)]) => {
            Some(subject.slice(format!(":{}", positive(&count.query)?)))
        }
        ("drop" | "skip", [Argument::Value(count)]) => {
            Some(subject.slice(format!("{}:", positive(&count.query)?)))
        }
        ("int" | "parseint" | "trunc", []) => truncated(subject),
        ("parseint", [Argument::Value(base)]) if integer(&base.query) == Some(10) => {
            truncated(subject)
        }
        ("tonumber" | "number" | "float" | "parsefloat", []) => one("to_number", subject),
        ("str", []) => printed(subject),
        // JSON has a text in quotes.
        ("stringify" | "dumps" | "tojson", []) => {
            let kind = Query::Call("type", vec![subject.repeated()?]);
            let text = Query::Call("to_string", vec![subject]);
            text.unless(kind.compare("==", Query::text("string")))
        }
        ("tostring" | "string", []) => one("to_string", subject),
        ("type" | "typeof", []) => one("type", subject),
        ("toarray", []) => one("to_array", subject),
        ("parse" | "loads" | "fromjson", []) => Some(subject.parsed()),
        // The keys of an object.
        ("list" | "tuple" | "iter", []) if is_plain_path(&subject) => copied(parser, subject),
        ("list" | "tuple" | "from" | "chain" | "value" | "iter", []) => Some(subject),
        ("isarray", []) => {
            Some(Query::Call("type", vec![subject]).compare("==", Query::text("array")))
        }
        ("isempty", []) => count_is(subject, "=="),
        ("identity", []) => Some(subject),
        ("abs", []) => one("abs", subject),
        ("floor", []) => one("floor", subject),
        ("ceil" | "ceiling", []) => one("ceil", subject),
        ("not", []) if dialect == Some(Dialect::Jq) => Some(subject.not()),
        _ => None,
    }?;
    Some(Value::one(query))
}

/// A number without its fraction, which a number from a text may have.
fn truncated(subject: Query) -> Option<Query> {
    let number = Query::Call("to_number", vec![subject]);
    let part = |name| Some(Query::Call(name, vec![number.repeated()?]));
    let exact = Query::Choice(
        number.repeated()?.compare("<", Query::literal("0")).into(),
        part("ceil")?.into(),
        part("floor")?.into(),
    );
    Some(Query::Exactly(number.into(), exact.into()))
}

/// What Python makes a list of: the items of a list, or the keys of an object.
pub(super) fn copied(parser: &Parser<'_, '_, '_>, value: Query) -> Option<Query> {
    if parser.flipped {
        return Some(Query::Call("keys", vec![value]));
    }
    let here = Query::Reference(Query::Here.into());
    let exact = Query::Call("map", vec![here, value.repeated()?]);
    Some(Query::Exactly(value.map(Query::Here).into(), exact.into()))
}

/// A value as Python prints it; lists and objects it prints in its own way.
fn printed(subject: Query) -> Option<Query> {
    let constants = [("`true`", "True"), ("`false`", "False"), ("`null`", "None")];
    let text = Query::Call("to_string", vec![subject.repeated()?]);
    let kind = Query::Call("type", vec![subject.repeated()?]);
    let kinds = Query::literal("[\"array\",\"object\"]");
    let structured = Query::Call("contains", vec![kinds, kind]);
    let mut exact = Query::Choice(
        structured.into(),
        Query::refusal().into(),
        text.repeated()?.into(),
    );
    for (json, printed) in constants {
        let is = subject
            .repeated()?
            .compare("==", Query::Constant(json.to_owned()));
        exact = Query::Choice(is.into(), Query::text(printed).into(), exact.into());
    }
    Some(Query::Exactly(text.into(), exact.into()))
}

/// Whether it is a path of names and indexes.
pub(super) fn is_plain_path(query: &Query) -> bool {
    match query {
        Query::Here => true,
        Query::Field(base, _) | Query::Index(base, _, Of::Whole) => is_plain_path(base),
        _ => false,
    }
}

/// What an argument says of an item.
fn item_expression(dialect: Option<Dialect>, argument: &Argument) -> Option<Query> {
    match argument {
        Argument::Lambda(each) => Some(each.clone()),
        Argument::Value(value) => match (&value.query, dialect) {
            (Query::Reference(each), _) => Some((**each).clone()),
            (Query::Constant(_), Some(Dialect::Lodash) | None) => named(text_of(&value.query)?),
            (Query::List(parts), Some(Dialect::Lodash)) => match parts.as_slice() {
                [name] => named(text_of(name)?),
                [name, wanted @ Query::Constant(_)] => {
                    Some(named(text_of(name)?)?.compare("==", wanted.clone()))
                }
                _ => None,
            },
            (Query::Hash(members), Some(Dialect::Lodash | Dialect::JavaScript) | None) => {
                let is_constant =
                    |(_, wanted): &(String, Query)| matches!(wanted, Query::Constant(_));
                if !members.iter().all(is_constant) {
                    return None;
                }
                let compared = members.iter().map(|(key, wanted)| {
                    let field = Query::Field(Query::Here.into(), key.clone());
                    field.compare("==", wanted.clone())
                });
                compared
                    .reduce(|left, right| Query::Binary(Operator::And, left.into(), right.into()))
            }
            // JavaScript's functions as arguments.
            (Query::Field(base, name), Some(Dialect::JavaScript) | None)
                if **base == Query::Here && name == "Boolean" =>
            {
                Some(Query::Here)
            }
            (Query::Field(base, name), Some(Dialect::JavaScript) | None)
                if **base == Query::Here && matches!(name.as_str(), "Number" | "String") =>
            {
                let function = if name == "Number" {
                    "to_number"
                } else {
                    "to_string"
                };
                Some(Query::Call(function, vec![Query::Here]))
            }
            (_, Some(Dialect::Jq) | None) if !value.stream || dialect.is_none() => {
                Some(value.query.clone())
            }
            _ => None,
        },
        _ => None,
    }
}

fn sorted(
    subject: Query,
    arguments: &[Argument],
    each: &dyn Fn(&Argument) -> Option<Query>,
) -> Option<Query> {
    let (mut by, mut descending, mut is_locale) = (None, false, false);
    for argument in arguments {
        match argument {
            Argument::Order {
                by: key,
                descending: falls,
                locale,
            } => {
                by = Some(key.clone());
                descending = *falls;
                is_locale = *locale;
            }
            Argument::Named(name, value) => match (name.as_str(), &**value) {
                (
                    "key",
                    Argument::Order {
                        by: key,
                        descending: true,
                        ..
                    },
                ) => {
                    by = Some(key.clone());
                    descending = !descending;
                }
                ("key", key) => by = Some(each(key)?),
                ("reverse", Argument::Value(value)) => match &value.query {
                    Query::Constant(flag) => descending ^= flag == "`true`",
                    _ => return None,
                },
                _ => return None,
            },
            Argument::Value(value) if by.is_some() => match text_of(only(&value.query))? {
                "desc" => descending = true,
                "asc" => {}
                _ => return None,
            },
            other => by = Some(each(other)?),
        }
    }
    let reversed = |list: Query| Query::Call("reverse", vec![list]);
    let others = match &by {
        Some(by) if is_locale => Some(sorted_otherwise(&subject, by)?),
        _ => None,
    };
    // Items that are equal stay in their order.
    let subject = if descending {
        reversed(subject)
    } else {
        subject
    };
    let list = match by.filter(|by| *by != Query::Here) {
        Some(by) => Query::Call("sort_by", vec![subject, Query::Reference(by.into())]),
        None => Query::Call("sort", vec![subject]),
    };
    let list = if descending { reversed(list) } else { list };
    match others {
        Some(others) => list.unless(others),
        None => Some(list),
    }
}

/// Whether people sort the texts of a list in another order than their letters have as numbers: some are not of small
/// letters and figures, and some not of a capital and small letters.
fn sorted_otherwise(list: &Query, by: &Query) -> Option<Query> {
    let others = |pattern: &str| {
        let text = by.repeated()?;
        let found = Query::Call("match", vec![text, Query::text(pattern)]);
        let others = list.repeated()?.filter(found.not());
        Some(Query::Call("length", vec![others]).compare(">", Query::literal("0")))
    };
    let (small, capital) = (others("\\A[a-z0-9]*\\z")?, others("\\A[A-Z][a-z]*\\z")?);
    Some(Query::Binary(Operator::And, small.into(), capital.into()))
}

/// The one element of a list, or a value itself.
fn only(query: &Query) -> &Query {
    match query {
        Query::List(items) if items.len() == 1 => items.first().unwrap_or(query),
        other => other,
    }
}

/// A list and what is taken of each item.
fn mapped(query: Query) -> (Query, Query) {
    match query {
        Query::Sub(base, each) => match *base {
            Query::Each(list) => (*list, *each),
            base => (Query::Sub(base.into(), each), Query::Here),
        },
        other => (other, Query::Here),
    }
}

/// A path of names and indexes, on a value.
fn after(subject: Query, path: Query) -> Option<Query> {
    match path {
        Query::Here => Some(subject),
        Query::Field(base, name) => Some(Query::Field(after(subject, *base)?.into(), name)),
        Query::Index(base, at, of) => Some(Query::Index(after(subject, *base)?.into(), at, of)),
        _ => None,
    }
}

fn integer(query: &Query) -> Option<i64> {
    match query {
        Query::Constant(text) => text.strip_prefix('`')?.strip_suffix('`')?.parse().ok(),
        _ => None,
    }
}

fn positive(query: &Query) -> Option<i64> {
    integer(query).filter(|count| *count >= 0)
}
