//! What a function or method does, by what it is called on.

use super::{
    call::{as_text, fold, named, text_of},
    entries::ENTRIES,
    parse::{Argument, Parser, Value},
    query::{Of, Operator, Query},
    stream::on_each,
};
use crate::error::Dialect;

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
        ("length" | "len" | "size" | "sizeof" | "count", []) => one("length", subject),
        ("last" | "tail" | "takelast", [Argument::Value(count)])
            if positive(&count.query).is_some() =>
        {
            Some(subject.slice(format!(
                "-{}:",
                positive(&count.query).filter(|count| *count > 0)?
            )))
        }
        ("first" | "head", []) => Some(subject.index(0)),
        ("last" | "pop" | "end" | "lastordefault", []) => Some(subject.index(-1)),
        ("shift", []) => Some(subject.index(0)),
        ("next", [] | [Argument::Value(_)]) => Some(subject.index(0)),
        ("at" | "nth" | "get" | "elementat", [Argument::Value(place)]) => {
            match integer(&place.query) {
                Some(at) => Some(subject.index(at)),
                None if folded == "get" => after(subject, named(text_of(&place.query)?)?),
                None => None,
            }
        }
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
        (
            "tolist" | "toarray" | "iter" | "stream" | "collect" | "unwrap" | "orelse"
            | "asiterable",
            [],
        ) if dialect != Some(Dialect::Jq) && folded != "toarray" || folded == "tolist" => {
            Some(subject)
        }
        // Comparisons as functions.
        (_, [Argument::Value(other)]) if comparison(&folded).is_some() => {
            Some(subject.compare(comparison(&folded)?, as_text(&other.query)))
        }
        ("isnull" | "isna" | "isnone" | "ismissing", []) => {
            Some(subject.compare("==", Query::literal("null")))
        }
        ("isnotnull" | "notnull" | "notna" | "exists" | "isdefined", []) => {
            Some(subject.compare("!=", Query::literal("null")))
        }
        // `count(items, kind == 'a')`
        (
            "length" | "len" | "size" | "count" | "countif" | "countwhere" | "countdocuments",
            [Argument::Value(wanted)],
        ) if wanted.query.is_condition() => Some(Query::Call(
            "length",
            vec![subject.filter(wanted.query.clone())],
        )),
        (
            "filter" | "where" | "find" | "first" | "last" | "any" | "all",
            [Argument::Value(wanted)],
        ) if dialect.is_none() && wanted.query.is_condition() => {
            let found = subject.clone().filter(wanted.query.clone());
            match folded.as_str() {
                "find" | "first" => Some(found.index(0)),
                "last" => Some(found.index(-1)),
                "any" => count_is(found, ">"),
                "all" => count_is(subject.filter(wanted.query.clone().not()), "=="),
                _ => Some(found),
            }
        }
        ("countdocuments" | "countof", []) => one("length", subject),
        ("countdocuments" | "count" | "length", [Argument::Value(wanted)])
            if matches!(&wanted.query, Query::Hash(_)) || wanted.query == Query::literal("{}") =>
        {
            Some(Query::Call(
                "length",
                vec![match &wanted.query {
                    Query::Hash(_) => subject.filter(as_condition(&wanted.query)?),
                    _ => subject,
                }],
            ))
        }
        ("findone", [Argument::Value(wanted)]) => {
            Some(subject.filter(as_condition(&wanted.query)?).index(0))
        }
        ("sumof", [one_each]) => one("sum", subject.map(each(one_each)?)),
        ("dig", keys) => keys.iter().try_fold(subject, |path, key| match key {
            Argument::Value(key) => match integer(&key.query) {
                Some(at) => Some(path.index(at)),
                None => Some(path.field(text_of(&as_text(&key.query))?)),
            },
            _ => None,
        }),
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
                    // Another may be a text.
                    [one @ Query::Constant(_)] => one,
                    _ => return None,
                },
                wanted => wanted,
            };
            // Words in quotes are texts where a list of them is searched.
            let subject = match subject {
                Query::List(items) => Query::List(items.iter().map(as_text).collect()),
                other => other,
            };
            Some(Query::Call("contains", vec![subject, wanted.clone()]))
        }
        ("lines" | "splitlines", []) => one("lines", subject),
        ("split", [Argument::Value(separator)]) => {
            let separator = as_text(&separator.query);
            // An end of line at the end, or two signs for one, make a difference.
            if matches!(text_of(&separator), Some("\n" | "\\n")) {
                let parts = Query::Call("split", vec![subject.repeated()?, separator]);
                let lines = Query::Call("lines", vec![subject]);
                Some(Query::Exactly(lines.into(), parts.into()))
            } else {
                Some(Query::Call("split", vec![subject, separator]))
            }
        }
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
        ("max", [one_each @ Argument::Lambda(_)]) if name == "Max" => {
            one("max", subject.map(each(one_each)?))
        }
        ("min", [one_each @ Argument::Lambda(_)]) if name == "Min" => {
            one("min", subject.map(each(one_each)?))
        }
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
        ("maximum", []) => one("max", subject),
        ("minimum", []) => one("min", subject),
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
        // JavaScript joins lists, and does not show objects.
        ("tostring" | "string", []) if matches!(name, "String" | "toString") => {
            let structured = is_structured(&subject)?;
            Query::Call("to_string", vec![subject]).unless(structured)
        }
        ("tostring" | "string", []) => one("to_string", subject),
        ("type" | "typeof", []) => one("type", subject),
        ("toarray", []) => one("to_array", subject),
        ("parse" | "loads" | "fromjson", []) if parser.is_called_whole(&subject) => {
            Some(Query::Here)
        }
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

/// The comparison that a function makes.
fn comparison(name: &str) -> Option<&'static str> {
    Some(match name {
        "eq" | "equals" | "equal" | "isequal" | "isequalto" | "equalto" | "eql" | "is" => "==",
        "ne" | "neq" | "notequals" | "notequal" | "noteq" | "isnotequal" => "!=",
        "gt" | "greaterthan" | "isgreaterthan" | "morethan" => ">",
        "gte" | "ge" | "greaterthanorequal" | "greaterthanorequals" => ">=",
        "lt" | "lessthan" | "islessthan" => "<",
        "lte" | "le" | "lessthanorequal" | "lessthanorequals" => "<=",
        _ => return None,
    })
}

/// An object of wanted members, as a condition.
fn as_condition(hash: &Query) -> Option<Query> {
    let Query::Hash(members) = hash else {
        return None;
    };
    let compared = members.iter().map(|(key, wanted)| {
        let wanted = as_text(wanted);
        let field = Query::Field(Query::Here.into(), key.clone());
        matches!(wanted, Query::Constant(_)).then(|| field.compare("==", wanted))
    });
    let compared = compared.collect::<Option<Vec<_>>>()?.into_iter();
    compared.reduce(|left, right| Query::Binary(Operator::And, left.into(), right.into()))
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

/// Whether a value is a list or an object.
fn is_structured(value: &Query) -> Option<Query> {
    let kind = Query::Call("type", vec![value.repeated()?]);
    let kinds = Query::literal("[\"array\",\"object\"]");
    Some(Query::Call("contains", vec![kinds, kind]))
}

/// A value as Python prints it; lists and objects it prints in its own way.
fn printed(subject: Query) -> Option<Query> {
    let constants = [("`true`", "True"), ("`false`", "False"), ("`null`", "None")];
    let text = Query::Call("to_string", vec![subject.repeated()?]);
    let structured = is_structured(&subject)?;
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
            (hash @ Query::Hash(_), Some(Dialect::Lodash | Dialect::JavaScript) | None) => {
                as_condition(hash)
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

pub(super) fn positive(query: &Query) -> Option<i64> {
    integer(query).filter(|count| *count >= 0)
}
