//! Correct selectors, broken in further ways.

use super::dialects as other_languages;
use crate::mistakes::{
    dialects::{Theme, theme},
    documents::{Given, Shape},
    goals::{Form, Goal, More, Path, dotted, literal, members, name, then},
    selectors::{
        Break, camel, changed, compared, dropped, equal, first_replaced, number, one, other,
        replaced, snake, swapped, with_field, with_root, wrapped,
    },
};
use serde_json::Value;

macro_rules! dialect {
    ($write:ident, $($theme:ident)|+) => {
        |goal, _| match theme(goal) {
            $(Theme::$theme)|+ => other_languages::$write(goal),
            _ => Vec::new(),
        }
    };
}

/// The list, or the whole.
fn items(goal: &Goal) -> String {
    if goal.root.is_empty() {
        "@".to_owned()
    } else {
        dotted(&goal.root)
    }
}

/// What one of the list is called.
fn noun(goal: &Goal) -> String {
    let last = goal.root.last().map_or("item", String::as_str);
    number(last)
        .filter(|noun| name(noun) == *noun && noun.len() < last.len())
        .unwrap_or_else(|| "item".to_owned())
}

fn by(goal: &Goal) -> Path {
    goal.clone().by_mut().cloned().unwrap_or_default()
}

/// A selector that begins with a name, and is a path or a filter.
fn begins_with_a_name(goal: &Goal) -> bool {
    theme(goal) != Theme::Function
        && !goal.is_of_a_text()
        && goal
            .selector()
            .starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
}

fn before(goal: &Goal, names: &[&str]) -> Vec<String> {
    if !begins_with_a_name(goal) {
        return Vec::new();
    }
    names
        .iter()
        .map(|name| format!("{name}{}", goal.selector()))
        .collect()
}

/// The whole selector in these words, `…` in place of it.
fn round(goal: &Goal, frames: &[&str]) -> Vec<String> {
    frames
        .iter()
        .map(|frame| frame.replace('…', &goal.selector()))
        .collect()
}

/// The one value of a list's item: the list, the index as it is written, the field.
fn item(goal: &Goal) -> Option<(String, usize, Path)> {
    match &goal.form {
        Form::Item(index, field) if !goal.root.is_empty() => {
            Some((dotted(&goal.root), *index, field.clone()))
        }
        _ => None,
    }
}

/// The names of all members, each once.
fn all_keys<'v>(value: &'v Value, keys: &mut Vec<&'v str>) {
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                if !keys.contains(&key.as_str()) {
                    keys.push(key);
                }
                all_keys(member, keys);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| all_keys(item, keys)),
        _ => {}
    }
}

/// The condition of a filter.
fn condition(goal: &Goal) -> Option<String> {
    let selector = goal.selector();
    let (_, rest) = selector.split_once("[?")?;
    let (condition, _) = rest.rsplit_once(']')?;
    (!condition.contains(']')).then(|| condition.to_owned())
}

/// A filter written otherwise: `LIST` for the list, `IF` for the condition, `FIELD` for what follows.
fn filters(goal: &Goal, frames: &[&str]) -> Vec<String> {
    let (Form::Filter(_, _, field)
    | Form::Above(_, _, field)
    | Form::More(More::Below(_, _, field))) = &goal.form
    else {
        return Vec::new();
    };
    let Some(condition) = condition(goal) else {
        return Vec::new();
    };
    let write = |frame: &&str| {
        frame
            .replace("LIST", &dotted(&goal.root))
            .replace("IF", &condition)
            .replace("FIELD", &then(field))
    };
    frames.iter().map(write).collect()
}

/// The condition of a filter, made of its field, its operator and its value.
fn conditions(goal: &Goal, frames: &[&str]) -> Vec<String> {
    frames
        .iter()
        .flat_map(|frame| {
            compared(goal, |by, operator, is| {
                Some(
                    frame
                        .replace("BY", by)
                        .replace("OP", operator)
                        .replace("'IS'", &literal(is))
                        .replace("\"IS\"", &is.to_string()),
                )
            })
        })
        .collect()
}

fn encoded(selector: &str) -> String {
    let keep = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    selector
        .bytes()
        .map(|byte| {
            if keep(byte) {
                char::from(byte).to_string()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}

fn escaped(selector: &str) -> String {
    selector
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

/// A name before a path where a text part holds the JSON.
fn envelopes(goal: &Goal, given: &Given, names: &[&str]) -> Vec<String> {
    if matches!(given.shape, Shape::Json | Shape::Plain)
        || theme(goal) == Theme::Function
        || goal.selector().starts_with(['@', '*', '"'])
    {
        return Vec::new();
    }
    let dot = if goal.selector().starts_with('[') {
        ""
    } else {
        "."
    };
    names
        .iter()
        .map(|name| format!("{name}{dot}{}", goal.selector()))
        .collect()
}

pub(crate) const CLASSES: &[(&str, Break)] = &[
    // Two at once.
    ("letters wrong in list and field", |goal, _| {
        one(changed(goal, |goal| {
            if !goal.is_of_a_list() {
                return None;
            }
            let list = goal.root.last_mut()?;
            *list = swapped(list)?;
            let field = goal.field_mut()?.last_mut()?;
            *field = dropped(field)?;
            Some(())
        }))
    }),
    ("a wrapper and a misspelt field", |goal, _| {
        one(changed(goal, |goal| {
            let field = goal.field_mut()?.last_mut()?;
            *field = swapped(field)?;
            Some(())
        })
        .filter(|_| !matches!(goal.form, Form::Whole) && theme(goal) != Theme::Function)
        .map(|selector| {
            if selector.starts_with('[') {
                format!("data{selector}")
            } else {
                format!("data.{selector}")
            }
        }))
    }),
    ("another style of name and double quotes", |goal, _| {
        let restyled = with_field(goal, |word| camel(word).or_else(|| snake(word)));
        one(restyled
            .filter(|text| text.contains('\'') && !text.contains('"'))
            .map(|text| text.replace('\'', "\"")))
    }),
    ("`=` and double quotes", |goal, _| {
        equal(goal, |by, is| format!("{by} = {is}"))
    }),
    ("a singular list and `[]`", |goal, _| {
        one(with_root(goal, number))
            .into_iter()
            .filter(|text| text.contains("[*]"))
            .map(|text| text.replace("[*]", "[]"))
            .collect()
    }),
    ("`$.` and `===` and double quotes", |goal, _| {
        match goal.form {
            Form::Filter(..) if begins_with_a_name(goal) => {
                equal(goal, |by, is| format!("{by} === {is}"))
                    .into_iter()
                    .map(|text| format!("$.{text}"))
                    .collect()
            }
            _ => Vec::new(),
        }
    }),
    ("the field of a filter alone, and misspelt", |goal, _| {
        one(changed(goal, |goal| {
            let by = goal.by_mut().filter(|by| by.len() > 1)?;
            *by = vec![swapped(by.last()?)?];
            Some(())
        }))
    }),
    ("a prefix left out of the field", |goal, given| {
        one(with_field(goal, |word| {
            let (_, rest) = word.trim_start_matches('_').split_once('_')?;
            let mut keys = Vec::new();
            all_keys(&given.root, &mut keys);
            keys.retain(|key| key.ends_with(&format!("_{rest}")));
            (keys.len() == 1).then_some(())?;
            other(word, rest.to_owned())
        }))
    }),
    ("`_` left out of the field", |goal, _| {
        one(with_field(goal, |word| {
            other(word, word.replace(['_', '-'], ""))
        }))
    }),
    ("`-` and `_` exchanged in the field", |goal, _| {
        one(with_field(goal, |word| {
            let to = if word.contains('-') {
                word.replace('-', "_")
            } else {
                word.replace('_', "-")
            };
            other(word, to)
        }))
    }),
    ("a letter doubled in the field", |goal, _| {
        one(with_field(goal, |word| {
            let middle = word.char_indices().nth(word.chars().count() / 2)?;
            let mut doubled = word.to_owned();
            doubled.insert(middle.0, middle.1);
            Some(doubled)
        }))
    }),
    ("the parent's name before the field", |goal, _| {
        let noun = noun(goal);
        if noun == "item" {
            return Vec::new();
        }
        one(with_field(goal, |word| Some(format!("{noun}_{word}"))).filter(|_| goal.is_of_a_list()))
    }),
    // Functions.
    ("a misspelt function", |goal, _| {
        let selector = goal.selector();
        let names = [
            ("length(", "lenght("),
            ("length(", "legnth("),
            ("sort_by(", "sorted_by("),
            ("sort_by(", "sort_bye("),
            ("contains(", "contain("),
            ("contains(", "conatins("),
            ("max_by(", "maxx_by("),
            ("min_by(", "min_bu("),
            ("starts_with(", "starts_wiht("),
            ("starts_with(", "start_with("),
            ("reverse(", "revers("),
            ("avg(", "agv("),
            ("keys(", "kyes("),
        ];
        names
            .iter()
            .flat_map(|(from, to)| first_replaced(&selector, from, to))
            .collect()
    }),
    ("a function in capitals", |goal, _| {
        let selector = goal.selector();
        [
            "length(",
            "sort_by(",
            "contains(",
            "max_by(",
            "min_by(",
            "sum(",
            "max(",
            "avg(",
            "keys(",
            "starts_with(",
        ]
        .iter()
        .filter(|function| {
            selector.starts_with(**function) || selector.contains(&format!("[?{function}"))
        })
        .flat_map(|function| first_replaced(&selector, function, &function.to_uppercase()))
        .collect()
    }),
    ("the field before the list in a function", |goal, _| {
        let by = dotted(&by(goal));
        match &goal.form {
            Form::Sort(..)
            | Form::Greatest(..)
            | Form::More(More::Least(..) | More::Descending(..)) => replaced(
                &goal.selector(),
                &format!("{}, &{by}", items(goal)),
                &format!("&{by}, {}", items(goal)),
            ),
            _ => Vec::new(),
        }
    }),
    ("contains the wrong way round", |goal, _| match &goal.form {
        Form::Contains(by, word, field) => {
            let word = literal(&Value::from(word.as_str()));
            one(Some(format!(
                "{}[?contains({word}, {})]{}",
                dotted(&goal.root),
                dotted(by),
                then(field)
            )))
        }
        Form::More(More::Starts(by, word, field)) => one(Some(format!(
            "{}[?starts_with('{word}', {})]{}",
            dotted(&goal.root),
            dotted(by),
            then(field)
        ))),
        _ => Vec::new(),
    }),
    (
        "a function without its parentheses",
        |goal, _| match &goal.form {
            Form::Count => vec![
                format!("length {}", items(goal)),
                format!("{} length", items(goal)),
            ],
            Form::Sum(field) => vec![format!("sum {}[*]{}", items(goal), then(field))],
            Form::Keys => vec![format!("keys {}", items(goal))],
            _ => Vec::new(),
        },
    ),
    ("a function after a dot", |goal, _| {
        match &goal.form {
            Form::Count => vec![
                format!("{}.length(@)", dotted(&goal.root)),
                format!("{}[*].length", dotted(&goal.root)),
            ],
            Form::CountWhere(..) => {
                one(condition(goal).map(|is| format!("{}[?{is}].length", dotted(&goal.root))))
            }
            Form::Keys => vec![
                format!("{}.keys", items(goal)),
                format!("{}.keys(@)", items(goal)),
            ],
            _ => Vec::new(),
        }
        .into_iter()
        .filter(|text| !text.starts_with('.'))
        .collect()
    }),
    ("a mean by another name", |goal, _| match &goal.form {
        Form::More(More::Average(field)) => {
            let list = format!("{}[*]{}", dotted(&goal.root), then(field));
            vec![
                format!("mean({list})"),
                format!("average({list})"),
                format!("{list}.avg()"),
                format!("avg({}, &{})", items(goal), dotted(field)),
            ]
        }
        Form::More(More::Min(field)) => {
            let list = format!("{}[*]{}", dotted(&goal.root), then(field));
            vec![
                format!("minimum({list})"),
                format!("{list}.min()"),
                format!("min({}, &{})", items(goal), dotted(field)),
            ]
        }
        _ => Vec::new(),
    }),
    ("a descending sort", |goal, _| match &goal.form {
        Form::More(More::Descending(by, field)) => {
            let (items, by, field) = (items(goal), dotted(by), then(field));
            vec![
                format!("sort_by({items}, &-{by})[*]{field}"),
                format!("sort_by({items}, &{by}, 'desc')[*]{field}"),
                format!("sort_by({items}, &{by}, reverse=true)[*]{field}"),
                format!("sort_by({items}, &{by}) | reverse[*]{field}"),
                format!("sort_by({items}, &{by}).reverse()[*]{field}"),
                format!("reverse(sort_by({items}, {by}))[*]{field}"),
                format!("sort_by_desc({items}, &{by})[*]{field}"),
                format!("sort_by({items}, -{by})[*]{field}"),
            ]
        }
        _ => Vec::new(),
    }),
    ("nested lists to be flattened", |goal, _| match &goal.form {
        Form::More(More::Flat(list)) => {
            let (root, list) = (dotted(&goal.root), then(list));
            vec![
                format!("flatten({root}[*]{list})"),
                format!("{root}[*]{list} | flatten(@)"),
                format!("{root}[*]{list}.flatten()"),
                format!("{root}[*]{list}[*]"),
                format!("{root}[**]{list}"),
                format!("merge({root}[*]{list})"),
            ]
        }
        _ => Vec::new(),
    }),
    // Lists and indexes.
    ("the index behind a projection", |goal, _| {
        match item(goal) {
            Some((root, index, field)) if !field.is_empty() => vec![
                format!("{root}[*]{}[{index}]", then(&field)),
                format!("{root}[]{}[{index}]", then(&field)),
            ],
            _ => Vec::new(),
        }
    }),
    ("an index in other brackets", |goal, _| match item(goal) {
        Some((root, index, field)) => vec![
            format!("{root}({index}){}", then(&field)),
            format!("{root}{{{index}}}{}", then(&field)),
            format!("{root}<{index}>{}", then(&field)),
        ],
        None => Vec::new(),
    }),
    ("an index as a text", |goal, _| match item(goal) {
        Some((root, index, field)) => vec![
            format!("{root}['{index}']{}", then(&field)),
            format!("{root}[\"{index}\"]{}", then(&field)),
            format!("{root}[`{index}`]{}", then(&field)),
            format!("{root}[#{index}]{}", then(&field)),
        ],
        None => Vec::new(),
    }),
    ("a word for the index", |goal, _| match &goal.form {
        Form::Item(0, field) if !goal.root.is_empty() => vec![
            format!("{}[first]{}", dotted(&goal.root), then(field)),
            format!("{}.first(){}", dotted(&goal.root), then(field)),
            format!("{}[first()]{}", dotted(&goal.root), then(field)),
        ],
        Form::Last(field) if !goal.root.is_empty() => vec![
            format!("{}[last]{}", dotted(&goal.root), then(field)),
            format!("{}[end]{}", dotted(&goal.root), then(field)),
            format!("{}[$]{}", dotted(&goal.root), then(field)),
            format!("{}[^1]{}", dotted(&goal.root), then(field)),
            format!("{0}[length({0}) - 1]{1}", dotted(&goal.root), then(field)),
        ],
        _ => Vec::new(),
    }),
    ("the end of a slice written out", |goal, _| {
        match &goal.form {
            Form::More(More::Tail(count, field)) if !goal.root.is_empty() => {
                let (root, field) = (dotted(&goal.root), then(field));
                vec![
                    format!("{root}[-{count}:0]{field}"),
                    format!("{root}[-{count}:-0]{field}"),
                    format!("{root}[-{count}:end]{field}"),
                    format!("{root}[-{count}..]{field}"),
                    format!("{root}[length({root})-{count}:]{field}"),
                ]
            }
            _ => Vec::new(),
        }
    }),
    ("several indexes", |goal, _| match &goal.form {
        Form::Slice(2, field) => vec![
            format!("{}[0,1]{}", dotted(&goal.root), then(field)),
            format!("{}[0, 1]{}", dotted(&goal.root), then(field)),
        ],
        _ => Vec::new(),
    }),
    ("a letter for every item", |goal, _| match &goal.form {
        Form::Project(field) if !goal.root.is_empty() => ["i", "n", "x", "all", "each", "any"]
            .iter()
            .map(|each| format!("{}[{each}]{}", dotted(&goal.root), then(field)))
            .collect(),
        _ => Vec::new(),
    }),
    (
        "brackets and quotes behind a projection",
        |goal, _| match &goal.form {
            Form::Project(field) => {
                let double: String = field.iter().map(|field| format!("[\"{field}\"]")).collect();
                let single: String = field.iter().map(|field| format!("['{field}']")).collect();
                vec![
                    format!("{}[*]{double}", dotted(&goal.root)),
                    format!("{}[*].{single}", dotted(&goal.root)),
                ]
            }
            _ => Vec::new(),
        },
    ),
    ("a projection of an object", |goal, _| match &goal.form {
        Form::Values(field) => {
            let root = if goal.root.is_empty() {
                String::new()
            } else {
                format!("{}.", dotted(&goal.root))
            };
            vec![
                format!("{root}[*]{}", then(field)),
                format!("values({}){}", items(goal), then(field)),
                format!("{root}{{*}}{}", then(field)),
            ]
        }
        _ => Vec::new(),
    }),
    ("a dot before an index", |goal, _| {
        match item(goal) {
            Some((root, index, field)) => vec![format!("{root}.[{index}].{}", dotted(&field))],
            None => Vec::new(),
        }
        .into_iter()
        .filter(|text| !text.ends_with('.'))
        .collect()
    }),
    // Separators.
    ("colons or arrows between names", |goal, _| {
        match &goal.form {
            Form::Item(..) | Form::Whole | Form::Last(_)
                if goal.selector().contains('.') && !goal.selector().contains('"') =>
            {
                [":", "::", "->", " > ", " → ", "\\"]
                    .iter()
                    .map(|between| goal.selector().replace('.', between))
                    .collect()
            }
            _ => Vec::new(),
        }
    }),
    ("two dots between names", |goal, _| match &goal.form {
        Form::Item(..) | Form::Whole
            if goal.selector().contains('.') && !goal.selector().contains('"') =>
        {
            first_replaced(&goal.selector(), ".", "..")
        }
        _ => Vec::new(),
    }),
    ("blanks between names", |goal, _| match item(goal) {
        Some((root, index, field)) if field.len() == 1 => vec![
            format!("{root}[{index}] {}", dotted(&field)),
            format!("{root} {index} {}", dotted(&field)),
            format!("{root}[{index}], {}", dotted(&field)),
        ],
        _ => Vec::new(),
    }),
    // Filters.
    ("the item's name in the filter", |goal, _| {
        let noun = noun(goal);
        [noun.as_str(), "item", "this", "it", "$", "_"]
            .iter()
            .flat_map(|name| conditions(goal, &[&format!("{name}.BY OP 'IS'")]))
            .collect()
    }),
    ("brackets in the filter", |goal, _| {
        conditions(
            goal,
            &["@['BY'] OP 'IS'", "@[\"BY\"] OP \"IS\"", "['BY'] OP 'IS'"],
        )
        .into_iter()
        .filter(|text| {
            !text.contains("'\"") && !by(goal).join("").contains('.') && by(goal).len() == 1
        })
        .collect()
    }),
    ("slashes in the filter", |goal, _| {
        compared(goal, |by, operator, is| {
            by.contains('.')
                .then(|| format!("{} {operator} {}", by.replace('.', "/"), literal(is)))
        })
    }),
    ("a colon in the filter", |goal, _| {
        equal(goal, |by, is| format!("{by}: {}", literal(is)))
            .into_iter()
            .chain(equal(goal, |by, is| format!("{by}:{is}")))
            .collect()
    }),
    ("`is` or `equals` in the filter", |goal, _| {
        ["is", "equals", "is equal to", "IS", "eq:"]
            .iter()
            .flat_map(|word| equal(goal, |by, is| format!("{by} {word} {}", literal(is))))
            .collect()
    }),
    ("a function for the comparison", |goal, _| {
        equal(goal, |by, is| format!("equals({by}, {})", literal(is)))
            .into_iter()
            .chain(equal(goal, |by, is| format!("eq({by}, {})", literal(is))))
            .chain(equal(goal, |by, is| {
                format!("{by}.equals({})", literal(is))
            }))
            .collect()
    }),
    ("`where` or `filter` for the brackets", |goal, _| {
        filters(
            goal,
            &[
                "LIST.where(IF)FIELD",
                "LIST.filter(IF)FIELD",
                "filter(LIST, IF)FIELD",
                "LIST | filter(IF)FIELD",
                "LIST[where IF]FIELD",
            ],
        )
    }),
    ("other brackets round the filter", |goal, _| {
        filters(
            goal,
            &[
                "LIST{?IF}FIELD",
                "LIST(?IF)FIELD",
                "LIST?[IF]FIELD",
                "LIST.[?IF]FIELD",
            ],
        )
    }),
    ("two filters one after another", |goal, _| {
        match &goal.form {
            Form::Both((a, x), (b, y), field) => {
                let (root, a, b, field) = (dotted(&goal.root), dotted(a), dotted(b), then(field));
                let (x, y) = (literal(x), literal(y));
                vec![
                    format!("{root}[?{a} == {x}][?{b} == {y}]{field}"),
                    format!("{root}[?{a} == {x}, {b} == {y}]{field}"),
                    format!("{root}[?{a} == {x}; {b} == {y}]{field}"),
                    format!("{root}[?{a} == {x} && ?{b} == {y}]{field}"),
                ]
            }
            _ => Vec::new(),
        }
    }),
    ("`or` in another language", |goal, _| match &goal.form {
        Form::More(More::Either(by, a, b, field)) => {
            let (root, by, field) = (dotted(&goal.root), dotted(by), then(field));
            let (a, b) = (literal(a), literal(b));
            vec![
                format!("{root}[?{by} == {a} or {by} == {b}]{field}"),
                format!("{root}[?{by} = {a} OR {by} = {b}]{field}"),
                format!("{root}[?{by} == {a} | {by} == {b}]{field}"),
            ]
        }
        _ => Vec::new(),
    }),
    ("`in` a list of values", |goal, _| match &goal.form {
        Form::More(More::Either(by, a, b, field)) => {
            let (root, by, field) = (dotted(&goal.root), dotted(by), then(field));
            let (x, y) = (literal(a), literal(b));
            vec![
                format!("{root}[?{by} in [{x}, {y}]]{field}"),
                format!("{root}[?{by} in ({x}, {y})]{field}"),
                format!("{root}[?{by} IN ({a}, {b})]{field}"),
                format!("{root}[?[{a}, {b}].includes({by})]{field}"),
            ]
        }
        _ => Vec::new(),
    }),
    ("`!=` in another language", |goal, _| match &goal.form {
        Form::More(More::Except(by, is, field)) => {
            let (root, by, field, is) = (dotted(&goal.root), dotted(by), then(field), literal(is));
            ["<>", "!==", "ne", "is not", "~=", "≠"]
                .iter()
                .map(|sign| format!("{root}[?{by} {sign} {is}]{field}"))
                .chain([
                    format!("{root}[?not {by} == {is}]{field}"),
                    format!("{root}[?not({by} == {is})]{field}"),
                ])
                .collect()
        }
        _ => Vec::new(),
    }),
    ("words for greater and less", |goal, _| {
        let (words, sign): (&[&str], &str) = match goal.form {
            Form::Above(..) => (&["gt", "GT", "is greater than", ">>"], ">"),
            Form::More(More::Below(..)) => (&["lt", "LT", "is less than", "below"], "<"),
            _ => return Vec::new(),
        };
        words
            .iter()
            .flat_map(|word| {
                first_replaced(&goal.selector(), &format!(" {sign} "), &format!(" {word} "))
            })
            .collect()
    }),
    (
        "a number in quotes that is compared by size",
        |goal, _| match goal.form {
            Form::Above(..) | Form::More(More::Below(..)) => one(Some(goal.selector())
                .filter(|text| text.matches('`').count() == 2)
                .map(|text| text.replace('`', "'")))
            .into_iter()
            .chain(one(Some(goal.selector().replace('`', "\""))))
            .collect(),
            _ => Vec::new(),
        },
    ),
    ("a date in another form", |goal, _| match &goal.form {
        Form::More(More::Since(by, date, field)) => {
            let (root, by, field) = (dotted(&goal.root), dotted(by), then(field));
            vec![
                format!("{root}[?{by} >= \"{date}\"]{field}"),
                format!("{root}[?{by} >= {date}]{field}"),
                format!("{root}[?{by} >= date('{date}')]{field}"),
                format!("{root}[?new Date({by}) >= new Date('{date}')]{field}"),
                format!("{root}[?{by} >= `{date}`]{field}"),
                format!("{root}[?{by} >= DATE '{date}']{field}"),
            ]
        }
        _ => Vec::new(),
    }),
    ("words for what is missing", |goal, _| match &goal.form {
        Form::More(More::Missing(by, field)) => {
            let (root, by, field) = (dotted(&goal.root), dotted(by), then(field));
            [
                "BY == 'null'",
                "BY is null",
                "BY IS NULL",
                "BY == None",
                "BY is None",
                "BY == nil",
                "isnull(BY)",
                "BY === null",
                "is_null(BY)",
            ]
            .iter()
            .map(|is| format!("{root}[?{}]{field}", is.replace("BY", &by)))
            .collect()
        }
        _ => Vec::new(),
    }),
    ("words for what is there", |goal, _| match &goal.form {
        Form::More(More::Present(by, field)) => {
            let (root, by, field) = (dotted(&goal.root), dotted(by), then(field));
            [
                "BY is not null",
                "BY IS NOT NULL",
                "BY is not None",
                "BY != None",
                "BY !== null",
                "BY <> null",
                "not null BY",
                "BY != nil",
                "not BY is null",
            ]
            .iter()
            .map(|is| format!("{root}[?{}]{field}", is.replace("BY", &by)))
            .collect()
        }
        _ => Vec::new(),
    }),
    ("words for the beginning of a text", |goal, _| {
        match &goal.form {
            Form::More(More::Starts(by, word, field)) => {
                let (root, by, field) = (dotted(&goal.root), dotted(by), then(field));
                [
                    "BY startswith 'WORD'",
                    "BY.startsWith(\"WORD\")",
                    "BY.startswith('WORD')",
                    "startswith(BY, \"WORD\")",
                    "begins_with(BY, 'WORD')",
                    "BY ^= 'WORD'",
                    "BY like 'WORD%'",
                    "BY LIKE \"WORD%\"",
                ]
                .iter()
                .map(|is| {
                    format!(
                        "{root}[?{}]{field}",
                        is.replace("BY", &by).replace("WORD", word)
                    )
                })
                .collect()
            }
            _ => Vec::new(),
        }
    }),
    ("other words for contains", |goal, _| match &goal.form {
        Form::Contains(by, word, field) if word.chars().all(char::is_alphanumeric) => {
            let (root, by, field) = (dotted(&goal.root), dotted(by), then(field));
            [
                "BY contains 'WORD'",
                "BY ~ 'WORD'",
                "BY matches 'WORD'",
                "BY CONTAINS \"WORD\"",
                "contains(BY, 'WORD') == true",
                "BY.indexOf('WORD') >= 0",
                "BY =~ /WORD/",
                "BY *= 'WORD'",
            ]
            .iter()
            .map(|is| {
                format!(
                    "{root}[?{}]{field}",
                    is.replace("BY", &by).replace("WORD", word)
                )
            })
            .collect()
        }
        _ => Vec::new(),
    }),
    (
        "a filter of records by their field",
        |goal, _| match &goal.form {
            Form::More(More::Records(by, is, field)) => {
                let (by, field, is) = (dotted(by), then(field), literal(is));
                let root = if goal.root.is_empty() {
                    String::new()
                } else {
                    dotted(&goal.root)
                };
                let dot = if root.is_empty() { "" } else { "." };
                vec![
                    format!("{root}[?{by} == {is}]{field}"),
                    format!("{root}{dot}*[?{by} == {is}]{field}"),
                    format!("values({})[?{by} = {is}]{field}", items(goal)),
                    format!("{root}{dot}*.[?{by} == {is}]{field}"),
                ]
            }
            _ => Vec::new(),
        },
    ),
    ("the first match by a word", |goal, _| match &goal.form {
        Form::First(by, is, field) => {
            let filter = format!("{}[?{} == {}]", dotted(&goal.root), dotted(by), literal(is));
            vec![
                format!("{filter}.first{}", then(field)),
                format!("{filter}.first(){}", then(field)),
                format!("{filter} | first(@){}", then(field)),
                format!("{filter}.[0]{}", then(field)),
                format!("first({filter}){}", then(field)),
                format!("{filter}(0){}", then(field)),
            ]
        }
        _ => Vec::new(),
    }),
    (
        "a count of matches in another order",
        |goal, _| match &goal.form {
            Form::CountWhere(..) => one(condition(goal))
                .into_iter()
                .flat_map(|is| {
                    let root = items(goal);
                    [
                        format!("count({root}, {is})"),
                        format!("{root}.count({is})"),
                        format!("{root}[?{is}] | count"),
                        format!("length({root}, {is})"),
                    ]
                })
                .filter(|text| !text.starts_with('.'))
                .collect(),
            _ => Vec::new(),
        },
    ),
    // Constructions.
    ("a construction in other brackets", |goal, _| {
        match &goal.form {
            Form::Hash(pairs) => {
                let (root, inner) = (dotted(&goal.root), members(pairs, dotted));
                vec![
                    format!("{root}[*].({inner})"),
                    format!("{root}[*]({inner})"),
                    format!("{root}[*].[{inner}]"),
                    format!("{root}[*] | {{{inner}}}"),
                    format!("{root}.{{{inner}}}"),
                ]
            }
            _ => Vec::new(),
        }
    }),
    ("`as` in a construction", |goal, _| match &goal.form {
        Form::Hash(pairs) => {
            let write = |between: &str| {
                pairs
                    .iter()
                    .map(|(key, path)| format!("{} as {}", dotted(path), name(key)))
                    .collect::<Vec<_>>()
                    .join(between)
            };
            vec![
                format!("{}[*].{{{}}}", dotted(&goal.root), write(", ")),
                format!("{}[*].({})", dotted(&goal.root), write(", ")),
            ]
        }
        _ => Vec::new(),
    }),
    (
        "semicolons or arrows in a construction",
        |goal, _| match &goal.form {
            Form::Hash(pairs) => {
                let inner = members(pairs, dotted);
                let root = dotted(&goal.root);
                vec![
                    format!("{root}[*].{{{}}}", inner.replace(", ", "; ")),
                    format!("{root}[*].{{{}}}", inner.replace(": ", " => ")),
                    format!("{root}[*].{{{}}}", inner.replace(": ", ": .")),
                    format!("{root}[*].{{{}}}", inner.replace(": ", ": $.")),
                ]
            }
            _ => Vec::new(),
        },
    ),
    (
        "a text of two fields in another way",
        |goal, _| match &goal.form {
            Form::Join(index, a, b) => {
                let item = format!("{}[{index}]", dotted(&goal.root));
                let (a, b) = (format!("{item}{}", then(a)), format!("{item}{}", then(b)));
                vec![
                    format!("join(' ', {a}, {b})"),
                    format!("[{a}, {b}].join(' ')"),
                    format!("{a} & ' ' & {b}"),
                    format!("format('{{}} {{}}', {a}, {b})"),
                    format!("concat({a}, \" \", {b})"),
                    format!("join(\" \", [{a}, {b}])"),
                ]
            }
            _ => Vec::new(),
        },
    ),
    // Letters.
    ("other quotes of typography", |goal, _| {
        let selector = goal.selector();
        if selector.matches('\'').count() != 2 {
            return Vec::new();
        }
        [("‘", "’"), ("“", "”"), ("«", "»")]
            .iter()
            .map(|(open, close)| selector.replacen('\'', open, 1).replacen('\'', close, 1))
            .collect()
    }),
    ("blanks of typography", |goal, _| {
        vec![
            goal.selector().replace(' ', "\u{a0}"),
            format!("{}\u{200b}", goal.selector()),
            format!("\u{feff}{}", goal.selector()),
        ]
    }),
    ("full-width brackets", |goal, _| {
        replaced(&goal.selector().replace('[', "［"), "]", "］")
    }),
    ("signs as HTML writes them", |goal, _| {
        one(Some(escaped(&goal.selector())))
    }),
    ("signs as URLs write them", |goal, _| {
        one(Some(encoded(&goal.selector())))
    }),
    ("quotes with backslashes", |goal, _| {
        let selector = goal.selector();
        replaced(&selector, "'", "\\'")
            .into_iter()
            .chain(replaced(&selector, "'", "\\\""))
            .collect()
    }),
    ("a backslash and n at the end", |goal, _| {
        round(goal, &["…\\n", "…\\r\\n"])
    }),
    ("marks of Markdown round the whole", |goal, _| {
        round(goal, &["**…**", "- …", "> …", "1. …", "_…_"])
    }),
    ("words before the selector", |goal, _| {
        round(
            goal,
            &[
                "jmespath\n…",
                "selector: `…`",
                "The selector is …",
                "query: …",
                "expression = …",
                "path = \"…\"",
            ],
        )
    }),
    ("words after the selector", |goal, _| match theme(goal) {
        Theme::Path | Theme::Projection => round(
            goal,
            &[
                "… // the value",
                "… # the value",
                "… -- the value",
                "… /* the value */",
            ],
        ),
        _ => Vec::new(),
    }),
    ("a pipe at an end", |goal, _| {
        round(goal, &["… |", "| …", "… | .", "… | $"])
    }),
    ("the selector within JSON", |goal, _| {
        let text = Value::from(goal.selector());
        vec![
            format!("{{\"select\": {text}}}"),
            format!("[{text}]"),
            format!("{{\"$select\": {text}}}"),
            format!("{{\"path\": {text}}}"),
        ]
    }),
    ("the selector in parentheses or a call", |goal, _| {
        round(
            goal,
            &[
                "((…)",
                "jmespath('…')",
                "search(\"…\")",
                "jmespath.search('…', data)",
                "select(…)",
            ],
        )
        .into_iter()
        .filter(|text| text.matches('\'').count() <= 2)
        .collect()
    }),
    ("a command for the selector", |goal, _| match theme(goal) {
        Theme::Path | Theme::Projection | Theme::Filter => {
            round(goal, &["jp \"…\"", "--query \"…\"", "jmespath \"…\""])
                .into_iter()
                .filter(|text| text.matches('"').count() == 2)
                .collect()
        }
        _ => Vec::new(),
    }),
    // Where the selector begins.
    ("a name for the root", |goal, _| {
        before(
            goal,
            &["root.", "this.", "json.", "body.", "payload.", "input."],
        )
    }),
    ("a name with a sign for the root", |goal, _| {
        before(
            goal,
            &["$json.", "$input.", "$root.", "$data.", "$$.", "$result."],
        )
    }),
    ("`$` without a dot", |goal, _| {
        before(goal, &["$", "@", "$:"])
    }),
    ("a call with a name as a prefix", |goal, given| {
        before(
            goal,
            &[
                &format!("functions.{}.", given.tool),
                &format!("{}_result.", given.tool),
                &format!("results.{}.", given.tool),
                &format!("{}().", given.tool),
            ],
        )
    }),
    ("the call's id in brackets as a prefix", |goal, given| {
        let id = given.call_id;
        before(
            goal,
            &[
                &format!("['{id}']."),
                &format!("results['{id}']."),
                &format!("${id}."),
                &format!("{id}:"),
                &format!("{id}.result."),
                &format!("{id}.output."),
                &format!("{{{{{id}}}}}."),
            ],
        )
    }),
    ("a wrapper and the wrong list", |goal, _| {
        one(with_root(goal, swapped))
            .into_iter()
            .filter(|text| begins_with_a_name(goal) && !text.starts_with('"'))
            .map(|text| format!("result.{text}"))
            .collect()
    }),
    ("two invented wrappers", |goal, _| {
        one(wrapped(goal, "data"))
            .into_iter()
            .filter(|_| begins_with_a_name(goal))
            .flat_map(|text| [format!("response.{text}"), format!("result.{text}")])
            .collect()
    }),
    ("other names of the text part", |goal, given| {
        envelopes(
            goal,
            given,
            &[
                "content.0.text",
                "contents[0].text",
                "text",
                "content[0]",
                "content.text",
                "structured_content",
                "result.structuredContent",
                "message.content",
            ],
        )
    }),
    ("the text part read as JSON", |goal, given| {
        envelopes(
            goal,
            given,
            &[
                "JSON.parse(content[0].text)",
                "json_parse(content[0].text)",
                "from_json(content[0].text)",
                "parse_json(@)",
                "json.loads(content[0].text)",
                "to_json(content[0].text)",
            ],
        )
    }),
    // Words.
    ("words for a path", |goal, _| match item(goal) {
        Some((root, index, field)) if field.len() == 1 => {
            let field = dotted(&field);
            let mut texts = vec![
                format!("{field} of {root}[{index}]"),
                format!("{root}[{index}]'s {field}"),
            ];
            if index == 0 {
                texts.extend([
                    format!("first {root} {field}"),
                    format!("first {} {field}", noun(goal)),
                    format!("the {field} of the first {}", noun(goal)),
                ]);
            }
            texts
        }
        _ => Vec::new(),
    }),
    ("words for a projection", |goal, _| match &goal.form {
        Form::Project(field) if !goal.root.is_empty() && field.len() == 1 => {
            let (root, field) = (dotted(&goal.root), dotted(field));
            vec![
                format!("{field} of all {root}"),
                format!("all {root} {field}"),
                format!("{field} of each {}", noun(goal)),
                format!("every {}'s {field}", noun(goal)),
            ]
        }
        _ => Vec::new(),
    }),
    ("words for a filter", |goal, _| match &goal.form {
        Form::Filter(by, is, field) if !goal.root.is_empty() && field.len() == 1 => {
            let (root, by, field, is) =
                (dotted(&goal.root), dotted(by), dotted(field), literal(is));
            vec![
                format!("{root} where {by} is {is}, {field}"),
                format!("{field} of {root} where {by} == {is}"),
                format!("{root} with {by} {is} -> {field}"),
            ]
        }
        _ => Vec::new(),
    }),
    // Texts.
    ("texts: lines in another way", |goal, _| match &goal.form {
        Form::Line(index) => vec![
            format!("lines(@, {index})"),
            format!("lines({index})"),
            format!("lines(@)({index})"),
            format!("line {}", index + 1),
            format!("@[{index}]"),
            format!("lines(content)[{index}]"),
            format!("content[0].text.lines[{index}]"),
            format!("splitlines(@)[{index}]"),
            format!("split_lines(@)[{index}]"),
            format!("read_lines()[{index}]"),
        ]
        .into_iter()
        .filter(|text| !text.starts_with("line ") || *index == 0)
        .collect(),
        Form::Lines => vec![
            "len(lines(@))".to_owned(),
            "lines(@).length".to_owned(),
            "lines(@).length()".to_owned(),
            "count_lines(@)".to_owned(),
            "length(lines)".to_owned(),
        ],
        _ => Vec::new(),
    }),
    (
        "texts: matching lines in another way",
        |goal, _| match &goal.form {
            Form::Grep(word) => vec![
                format!("lines(@)[?@ contains '{word}']"),
                format!("lines(@)[?contains('{word}', @)]"),
                format!("lines(@)[?@.contains('{word}')]"),
                format!("lines(@)[?includes(@, '{word}')]"),
                format!("lines(@)[contains(@, '{word}')]"),
                format!("filter(lines(@), &contains(@, '{word}'))"),
                format!("lines(@) | [?contains(., '{word}')]"),
                format!("lines(@).filter(l => l.includes('{word}'))"),
                format!("lines($)[?contains(@, `{word}`)]"),
                format!("[?contains(@, '{word}')]"),
            ],
            _ => Vec::new(),
        },
    ),
    ("texts: cells in another way", |goal, _| match &goal.form {
        Form::Cell(line, cell) => vec![
            format!("split(',', lines(@)[{line}])[{cell}]"),
            format!("lines(@)[{line}].split(\",\")[{cell}]"),
            format!("lines(@)[{line}] | split(@, \",\")[{cell}]"),
            format!("lines(@)[{line}][{cell}]"),
            format!("rows[{line}][{cell}]"),
            format!("csv(@)[{line}][{cell}]"),
        ],
        _ => Vec::new(),
    }),
    // Other languages.
    (
        "jq: with variables, limits and entries",
        dialect!(jq, Path | Projection | Filter | Function),
    ),
    (
        "jq: with options of the command",
        dialect!(jq_command, Path | Projection | Filter | Function),
    ),
    (
        "JSONPath: of later years",
        dialect!(jsonpath, Path | Projection | Filter),
    ),
    ("JSONPath: functions", dialect!(jsonpath, Function)),
    (
        "JavaScript: other methods of paths",
        dialect!(javascript, Path),
    ),
    (
        "JavaScript: other projections",
        dialect!(javascript, Projection),
    ),
    ("JavaScript: other filters", dialect!(javascript, Filter)),
    (
        "JavaScript: other functions",
        dialect!(javascript, Function),
    ),
    (
        "JavaScript: a whole statement",
        dialect!(javascript_statement, Path | Projection | Filter),
    ),
    ("Python: chains of `get`", dialect!(python_get, Path)),
    ("Python: other projections", dialect!(python, Projection)),
    ("Python: other filters", dialect!(python, Filter)),
    ("Python: other functions", dialect!(python, Function)),
    (
        "Python: a whole statement",
        dialect!(python_statement, Path | Projection | Filter),
    ),
    (
        "XPath: axes and predicates",
        dialect!(xpath, Path | Projection),
    ),
    ("XPath: filters", dialect!(xpath, Filter)),
    ("XPath: functions", dialect!(xpath, Function)),
    ("JSON Pointer: other forms", dialect!(pointer, Path)),
    (
        "lodash: chains and Ramda",
        dialect!(lodash, Path | Projection | Filter | Function),
    ),
    ("SQL", dialect!(sql, Projection | Filter)),
    ("SQL: functions", dialect!(sql, Function)),
    ("GraphQL", dialect!(graphql, Path | Projection)),
    ("pandas", dialect!(pandas, Path | Projection | Filter)),
    ("pandas: functions", dialect!(pandas, Function)),
    ("JSONata", dialect!(jsonata, Path | Projection | Filter)),
    ("JSONata: functions", dialect!(jsonata, Function)),
    (
        "gjson",
        dialect!(gjson, Path | Projection | Filter | Function),
    ),
    ("MongoDB", dialect!(mongo, Filter | Function)),
    (
        "Jinja",
        dialect!(jinja, Path | Projection | Filter | Function),
    ),
    (
        "Go templates and Handlebars",
        dialect!(templates, Path | Projection),
    ),
    (
        "Ruby",
        dialect!(ruby, Path | Projection | Filter | Function),
    ),
    (
        "C#",
        dialect!(csharp, Path | Projection | Filter | Function),
    ),
    (
        "Kotlin and Rust",
        dialect!(kotlin, Path | Projection | Filter | Function),
    ),
    ("PHP", dialect!(php, Path | Projection | Function)),
    (
        "PowerShell and Kusto",
        dialect!(powershell, Path | Projection | Filter | Function),
    ),
    ("Terraform", dialect!(terraform, Path | Projection | Filter)),
    ("CSS", dialect!(css, Path)),
    ("shell: texts", dialect!(shell, Text)),
    ("Ruby, Perl and Go: texts", dialect!(other_texts, Text)),
];
