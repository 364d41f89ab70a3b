//! The same goals in other languages, as models write them from habit.

use crate::mistakes::goals::{Form, Goal, More, Path, members, name};
use serde_json::Value;

/// What of a dialect a goal needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Theme {
    Path,
    Projection,
    Filter,
    Function,
    Text,
}

pub(crate) fn theme(goal: &Goal) -> Theme {
    match goal.form {
        Form::Whole | Form::Item(..) | Form::Last(_) => Theme::Path,
        Form::Slice(..) | Form::Project(_) | Form::Values(_) | Form::Hash(_) | Form::Nested(..) => {
            Theme::Projection
        }
        Form::Filter(..)
        | Form::First(..)
        | Form::Above(..)
        | Form::Both(..)
        | Form::Contains(..) => Theme::Filter,
        Form::Count
        | Form::CountWhere(..)
        | Form::Sort(..)
        | Form::Greatest(..)
        | Form::Sum(_)
        | Form::Max(_)
        | Form::Join(..)
        | Form::Keys => Theme::Function,
        Form::Line(_) | Form::Lines | Form::Grep(_) | Form::Cell(..) => Theme::Text,
        Form::More(ref more) => match more {
            More::FirstWithin(..) => Theme::Path,
            More::Tail(..) | More::Flat(_) => Theme::Projection,
            More::Except(..)
            | More::Either(..)
            | More::Below(..)
            | More::Since(..)
            | More::Starts(..)
            | More::Present(..)
            | More::Missing(..)
            | More::Records(..) => Theme::Filter,
            More::Descending(..)
            | More::Least(..)
            | More::Average(_)
            | More::Min(_)
            | More::CountWithin(..) => Theme::Function,
        },
    }
}

pub(crate) fn is_plain(field: &str) -> bool {
    !name(field).starts_with('"')
}

pub(crate) fn quoted(field: &str) -> String {
    Value::from(field).to_string()
}

pub(crate) fn single(value: &Value) -> String {
    match value {
        Value::String(text) => format!("'{}'", text.replace('\'', "\\'")),
        other => other.to_string(),
    }
}

/// `.a.b`, with `["a-b"]` where a name is not plain.
fn dots(path: &[String]) -> String {
    let step = |field: &String| {
        if is_plain(field) {
            format!(".{field}")
        } else {
            format!("[{}]", quoted(field))
        }
    };
    path.iter().map(step).collect()
}

pub(crate) fn jq(goal: &Goal) -> Vec<String> {
    let path = |path: &[String]| match path.first() {
        Some(first) if !is_plain(first) => format!(".{}", dots(path)),
        _ => dots(path),
    };
    let root = path(&goal.root);
    let items = if root.is_empty() {
        ".".to_owned()
    } else {
        root
    };
    let each = format!("{items}[]");
    let is = |by: &Path, is: &Value| format!("{} == {is}", path(by));
    match &goal.form {
        Form::Whole => vec![items.clone(), format!("{items} // empty")],
        Form::Item(index, field) => vec![
            format!("{items}[{index}]{}", dots(field)),
            format!("{items}[{index}] | {}", path(field)),
        ],
        Form::Last(field) => vec![
            format!("{items}[-1]{}", dots(field)),
            format!("{items} | last | {}", path(field)),
            format!("last({each}){}", dots(field)),
        ],
        Form::Slice(end, field) => vec![
            format!("{items}[:{end}][]{}", dots(field)),
            format!("[{items}[:{end}][] | {}]", path(field)),
            format!("[limit({end}; {each}) | {}]", path(field)),
        ],
        Form::Project(field) => vec![
            format!("{each}{}", dots(field)),
            format!("[{each} | {}]", path(field)),
            format!("{items} | map({})", path(field)),
            format!("{each} | {}", path(field)),
            format!("[{each}{}]", dots(field)),
        ],
        Form::Values(field) => vec![
            format!("{each}{}", dots(field)),
            format!("[{each} | {}]", path(field)),
            format!("{items} | to_entries | map(.value{})", dots(field)),
        ],
        Form::Filter(by, to, field) => vec![
            format!("{each} | select({}) | {}", is(by, to), path(field)),
            format!("[{each} | select({}) | {}]", is(by, to), path(field)),
            format!(
                "{items} | map(select({})) | map({})",
                is(by, to),
                path(field)
            ),
            format!("[{each} | select({}){}]", is(by, to), dots(field)),
        ],
        Form::First(by, to, field) => vec![
            format!("first({each} | select({})) | {}", is(by, to), path(field)),
            format!("[{each} | select({})][0]{}", is(by, to), dots(field)),
            format!(
                "{items} | map(select({})) | first | {}",
                is(by, to),
                path(field)
            ),
            format!("{each} | select({}) | {}", is(by, to), path(field)),
        ],
        Form::Above(by, than, field) => vec![
            format!("{each} | select({} > {than}) | {}", path(by), path(field)),
            format!(
                "{items} | map(select({} > {than}){})",
                path(by),
                dots(field)
            ),
        ],
        Form::Both((a, x), (b, y), field) => vec![
            format!(
                "{each} | select({} and {}) | {}",
                is(a, x),
                is(b, y),
                path(field)
            ),
            format!(
                "[{each} | select({} and {}) | {}]",
                is(a, x),
                is(b, y),
                path(field)
            ),
        ],
        Form::Contains(by, word, field) => vec![
            format!(
                "{each} | select({} | contains({})) | {}",
                path(by),
                quoted(word),
                path(field)
            ),
            format!(
                "[{each} | select({} | test({})) | {}]",
                path(by),
                quoted(word),
                path(field)
            ),
        ],
        Form::Count => vec![format!("{items} | length"), format!("[{each}] | length")],
        Form::CountWhere(by, to) => vec![
            format!("[{each} | select({})] | length", is(by, to)),
            format!("{items} | map(select({})) | length", is(by, to)),
        ],
        Form::Sort(by, field) => vec![
            format!("{items} | sort_by({}) | map({})", path(by), path(field)),
            format!("[{items} | sort_by({})[] | {}]", path(by), path(field)),
        ],
        Form::Greatest(by, field) => vec![
            format!("{items} | max_by({}) | {}", path(by), path(field)),
            format!("{items} | max_by({}){}", path(by), dots(field)),
            format!("{items} | sort_by({}) | last | {}", path(by), path(field)),
        ],
        Form::Sum(field) => vec![
            format!("[{each}{}] | add", dots(field)),
            format!("{items} | map({}) | add", path(field)),
        ],
        Form::Max(field) => vec![
            format!("[{each}{}] | max", dots(field)),
            format!("{items} | map({}) | max", path(field)),
        ],
        Form::Hash(pairs) => vec![
            format!("{each} | {{{}}}", members(pairs, path)),
            format!("[{each} | {{{}}}]", members(pairs, path)),
            format!("{items} | map({{{}}})", members(pairs, path)),
        ],
        Form::Line(index) => vec![
            format!("split(\"\\n\")[{index}]"),
            format!(". | split(\"\\n\") | .[{index}]"),
        ],
        Form::Lines => vec!["split(\"\\n\") | length".to_owned()],
        Form::Grep(word) => vec![
            format!("split(\"\\n\")[] | select(contains({}))", quoted(word)),
            format!("split(\"\\n\") | map(select(test({})))", quoted(word)),
        ],
        Form::Cell(line, cell) => vec![format!("split(\"\\n\")[{line}] | split(\",\")[{cell}]")],
        Form::Nested(list, field) => vec![
            format!("{each}{}[]{}", dots(list), dots(field)),
            format!("[{each} | {}[] | {}]", path(list), path(field)),
        ],
        Form::Join(index, a, b) => vec![
            format!("{items}[{index}] | {} + \" \" + {}", path(a), path(b)),
            format!("{items}[{index}] | \"\\({}) \\({})\"", path(a), path(b)),
        ],
        Form::Keys if goal.root.is_empty() => vec![". | keys".to_owned(), "keys".to_owned()],
        Form::Keys => vec![format!("{items} | keys")],
        Form::More(_) => Vec::new(),
    }
}

pub(crate) fn jsonpath(goal: &Goal) -> Vec<String> {
    let brackets = |path: &[String]| {
        path.iter()
            .map(|field| format!("['{field}']"))
            .collect::<String>()
    };
    let dot = |path: &[String]| {
        let step = |field: &String| {
            if is_plain(field) {
                format!(".{field}")
            } else {
                format!("['{field}']")
            }
        };
        path.iter().map(step).collect::<String>()
    };
    let root = format!("${}", dot(&goal.root));
    let bracketed = format!("${}", brackets(&goal.root));
    let is = |by: &Path, is: &Value| format!("@{} == {}", dot(by), single(is));
    match &goal.form {
        Form::Whole if goal.root.is_empty() => vec!["$".to_owned()],
        Form::Whole => vec![root, bracketed],
        Form::Item(index, field) => vec![
            format!("{root}[{index}]{}", dot(field)),
            format!("{bracketed}[{index}]{}", brackets(field)),
        ],
        Form::Last(field) => vec![
            format!("{root}[-1:]{}", dot(field)),
            format!("{root}[(@.length-1)]{}", dot(field)),
            format!("{root}[-1]{}", dot(field)),
        ],
        Form::Slice(end, field) => vec![
            format!("{root}[0:{end}]{}", dot(field)),
            format!("{root}[:{end}]{}", dot(field)),
        ],
        Form::Project(field) => vec![
            format!("{root}[*]{}", dot(field)),
            format!("{root}.*{}", dot(field)),
            format!("{root}..{}", field.last().map_or("", |field| field)),
            format!("{bracketed}[*]{}", brackets(field)),
        ],
        Form::Values(field) => vec![
            format!("{root}.*{}", dot(field)),
            format!("{root}[*]{}", dot(field)),
        ],
        Form::Filter(by, to, field) => vec![
            format!("{root}[?({})]{}", is(by, to), dot(field)),
            format!("{root}[?(@{}=={to})]{}", dot(by), dot(field)),
            format!("{root}[?@{}=={}]{}", dot(by), single(to), dot(field)),
        ],
        Form::First(by, to, field) => vec![
            format!("{root}[?({})][0]{}", is(by, to), dot(field)),
            format!("{root}[?({})]{}", is(by, to), dot(field)),
        ],
        Form::Above(by, than, field) => vec![
            format!("{root}[?(@{} > {than})]{}", dot(by), dot(field)),
            format!("{root}[?@{} > {than}]{}", dot(by), dot(field)),
        ],
        Form::Both((a, x), (b, y), field) => vec![format!(
            "{root}[?({} && {})]{}",
            is(a, x),
            is(b, y),
            dot(field)
        )],
        Form::Contains(by, word, field) => vec![
            format!("{root}[?(@{} =~ /{word}/)]{}", dot(by), dot(field)),
            format!("{root}[?(@{} =~ /.*{word}.*/i)]{}", dot(by), dot(field)),
        ],
        Form::Count => vec![
            format!("{root}.length"),
            format!("{root}.length()"),
            format!("length({root})"),
        ],
        Form::CountWhere(by, to) => vec![
            format!("{root}[?({})].length()", is(by, to)),
            format!("length({root}[?({})])", is(by, to)),
        ],
        Form::Sum(field) => vec![
            format!("{root}[*]{}.sum()", dot(field)),
            format!("sum({root}[*]{})", dot(field)),
        ],
        Form::Max(field) => vec![
            format!("{root}[*]{}.max()", dot(field)),
            format!("max({root}[*]{})", dot(field)),
        ],
        Form::Nested(list, field) => vec![
            format!("{root}[*]{}[*]{}", dot(list), dot(field)),
            format!("{root}..{}", field.last().map_or("", |field| field)),
        ],
        Form::Keys => vec![format!("{root}.keys()"), format!("{root}~")],
        _ => Vec::new(),
    }
}

/// The root as a variable, and a path on one.
pub(crate) fn variable(goal: &Goal) -> Option<String> {
    let (first, rest) = goal.root.split_first()?;
    is_plain(first).then(|| format!("{first}{}", dots(rest)))
}

pub(crate) fn javascript(goal: &Goal) -> Vec<String> {
    let Some(items) = variable(goal) else {
        return Vec::new();
    };
    let on = |item: &str, path: &[String]| format!("{item}{}", dots(path));
    let x = |path: &[String]| on("x", path);
    let is = |by: &Path, is: &Value| format!("{} === {}", x(by), single(is));
    let map = |field: &Path| format!(".map(x => {})", x(field));
    match &goal.form {
        Form::Whole => match goal.root.len() {
            1 => Vec::new(),
            _ => vec![items.replacen('.', "?.", 1)],
        },
        Form::Item(index, field) => {
            let subscripts: String = field.iter().map(|field| format!("[\"{field}\"]")).collect();
            vec![
                format!("{items}[{index}]?{}", dots(field)),
                format!("{items}?.[{index}]?{}", dots(field)),
                format!("{items}[{index}]{subscripts}"),
                format!("{items}.at({index}){}", dots(field)),
            ]
        }
        Form::Last(field) => vec![
            format!("{items}[{items}.length - 1]{}", dots(field)),
            format!("{items}.at(-1){}", dots(field)),
            format!("{items}.slice(-1)[0]{}", dots(field)),
            format!("{items}.pop(){}", dots(field)),
        ],
        Form::Slice(end, field) => vec![
            format!("{items}.slice(0, {end}){}", map(field)),
            format!("{items}.map(x => {}).slice(0, {end})", x(field)),
        ],
        Form::Project(field) => {
            let long = goal
                .root
                .last()
                .map_or("item", |root| root.trim_end_matches('s'));
            let arrow = if is_plain(long) {
                long.to_owned()
            } else {
                "item".to_owned()
            };
            vec![
                format!("{items}{}", map(field)),
                format!("{items}.map(({arrow}) => {})", on(&arrow, field)),
                format!("{items}.map(function(x) {{ return {}; }})", x(field)),
                format!("{items}.flatMap(x => {})", x(field)),
            ]
        }
        Form::Values(field) => vec![format!("Object.values({items}){}", map(field))],
        Form::Filter(by, to, field) => vec![
            format!("{items}.filter(x => {}){}", is(by, to), map(field)),
            format!("{items}.filter((x) => {} == {to}){}", x(by), map(field)),
        ],
        Form::First(by, to, field) => vec![
            format!("{items}.find(x => {}){}", is(by, to), dots(field)),
            format!("{items}.find(x => {})?{}", is(by, to), dots(field)),
            format!("{items}.filter(x => {})[0]{}", is(by, to), dots(field)),
        ],
        Form::Above(by, than, field) => vec![format!(
            "{items}.filter(x => {} > {than}){}",
            x(by),
            map(field)
        )],
        Form::Both((a, p), (b, q), field) => vec![format!(
            "{items}.filter(x => {} && {}){}",
            is(a, p),
            is(b, q),
            map(field)
        )],
        Form::Contains(by, word, field) => vec![
            format!(
                "{items}.filter(x => {}.includes('{word}')){}",
                x(by),
                map(field)
            ),
            format!(
                "{items}.filter(x => /{word}/.test({})){}",
                x(by),
                map(field)
            ),
        ],
        Form::Count => vec![
            format!("{items}.length"),
            format!("{items}?.length"),
            format!("{items}.length()"),
        ],
        Form::CountWhere(by, to) => vec![format!("{items}.filter(x => {}).length", is(by, to))],
        Form::Sort(by, field) => vec![
            format!(
                "{items}.sort((a, b) => {} - {}){}",
                on("a", by),
                on("b", by),
                map(field)
            ),
            format!(
                "[...{items}].sort((a, b) => {} - {}){}",
                on("a", by),
                on("b", by),
                map(field)
            ),
            format!(
                "{items}.toSorted((a, b) => {} - {}){}",
                on("a", by),
                on("b", by),
                map(field)
            ),
        ],
        Form::Greatest(by, field) => vec![
            format!(
                "{items}.sort((a, b) => {} - {})[0]{}",
                on("b", by),
                on("a", by),
                dots(field)
            ),
            format!(
                "{items}.reduce((a, b) => {} > {} ? a : b){}",
                on("a", by),
                on("b", by),
                dots(field)
            ),
        ],
        Form::Sum(field) => vec![
            format!("{items}.reduce((sum, x) => sum + {}, 0)", x(field)),
            format!("{items}{}.reduce((a, b) => a + b, 0)", map(field)),
        ],
        Form::Max(field) => vec![
            format!("Math.max(...{items}{})", map(field)),
            format!("Math.max.apply(null, {items}{})", map(field)),
        ],
        Form::Hash(pairs) => vec![
            format!("{items}.map(x => ({{{}}}))", members(pairs, x)),
            format!("{items}.map(x => {{ return {{{}}} }})", members(pairs, x)),
        ],
        Form::Nested(list, field) => vec![
            format!(
                "{items}.flatMap(x => x{}.map(y => y{}))",
                dots(list),
                dots(field)
            ),
            format!(
                "{items}.map(x => x{}.map(y => y{})).flat()",
                dots(list),
                dots(field)
            ),
        ],
        Form::Join(index, a, b) => {
            let item = format!("{items}[{index}]");
            vec![
                format!("{item}{} + ' ' + {item}{}", dots(a), dots(b)),
                format!("`${{{item}{}}} ${{{item}{}}}`", dots(a), dots(b)),
            ]
        }
        Form::Keys => vec![format!("Object.keys({items})")],
        Form::Line(_) | Form::Lines | Form::Grep(_) | Form::Cell(..) | Form::More(_) => Vec::new(),
    }
}

/// What JavaScript and shells do with a text.
pub(crate) fn of_texts(goal: &Goal) -> Vec<String> {
    match &goal.form {
        Form::Line(index) => vec![
            format!("text.split('\\n')[{index}]"),
            format!("content.split(\"\\n\")[{index}]"),
            format!("lines[{index}]"),
            format!("lines()[{index}]"),
            format!("lines(text)[{index}]"),
            format!("lines($)[{index}]"),
            format!("@.lines[{index}]"),
            format!("split(@, '\\n')[{index}]"),
        ],
        Form::Lines => vec![
            "text.split('\\n').length".to_owned(),
            "lines.length".to_owned(),
            "length(lines)".to_owned(),
            "lines(@) | length".to_owned(),
            "count(lines(@))".to_owned(),
        ],
        Form::Grep(word) => vec![
            format!("text.split('\\n').filter(l => l.includes('{word}'))"),
            format!("lines[?contains(@, '{word}')]"),
            format!("lines(@)[?contains('{word}')]"),
            format!("lines(@)[?contains(@, \"{word}\")]"),
            format!("grep '{word}'"),
            format!("lines(@) | [?@ =~ '{word}']"),
        ],
        Form::Cell(line, cell) => vec![
            format!("text.split('\\n')[{line}].split(',')[{cell}]"),
            format!("lines(@)[{line}].split(',')[{cell}]"),
            format!("split(lines(@)[{line}], \",\")[{cell}]"),
            format!("lines(@)[{line}] | split(',')[{cell}]"),
        ],
        _ => Vec::new(),
    }
}

pub(crate) fn python(goal: &Goal) -> Vec<String> {
    let sub = |path: &[String]| {
        path.iter()
            .map(|field| format!("[{}]", quoted(field)))
            .collect::<String>()
    };
    let sub_single = |path: &[String]| {
        path.iter()
            .map(|field| format!("['{field}']"))
            .collect::<String>()
    };
    match &goal.form {
        Form::Line(index) => {
            return vec![
                format!("text.splitlines()[{index}]"),
                format!("text.split('\\n')[{index}]"),
            ];
        }
        Form::Lines => return vec!["len(text.splitlines())".to_owned()],
        Form::Grep(word) => {
            return vec![format!("[l for l in text.splitlines() if '{word}' in l]")];
        }
        Form::Cell(line, cell) => {
            return vec![format!("text.splitlines()[{line}].split(',')[{cell}]")];
        }
        _ => {}
    }
    let Some((first, rest)) = goal.root.split_first() else {
        return Vec::new();
    };
    let items = if is_plain(first) {
        format!("{first}{}", sub(rest))
    } else {
        format!("data{}", sub(&goal.root))
    };
    let named = format!("data{}", sub_single(&goal.root));
    let constant = |value: &Value| match value {
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        other => single(other),
    };
    let x = |path: &[String]| format!("x{}", sub_single(path));
    let is = |by: &Path, is: &Value| format!("{} == {}", x(by), constant(is));
    let pairs_of = |pairs: &[(String, Path)]| {
        let pairs = pairs
            .iter()
            .map(|(key, field)| format!("'{key}': {}", x(field)));
        pairs.collect::<Vec<_>>().join(", ")
    };
    match &goal.form {
        Form::Whole if rest.is_empty() => vec![named],
        Form::Whole => vec![items, named],
        Form::Item(index, field) => vec![
            format!("{items}[{index}]{}", sub(field)),
            format!("{named}[{index}]{}", sub_single(field)),
            format!("{items}[{index}].get('{}')", field.join("']['")),
        ],
        Form::Last(field) => vec![
            format!("{items}[-1]{}", sub(field)),
            format!("{named}[-1]{}", sub_single(field)),
            format!("{items}[len({items})-1]{}", sub(field)),
        ],
        Form::Slice(end, field) => vec![
            format!("[{} for x in {items}[:{end}]]", x(field)),
            format!("[{} for x in {items}][:{end}]", x(field)),
        ],
        Form::Project(field) => vec![
            format!("[{} for x in {items}]", x(field)),
            format!("[item{} for item in {named}]", sub(field)),
            format!("[x.get('{}') for x in {items}]", field.join("']['")),
            format!("list(map(lambda x: {}, {items}))", x(field)),
        ],
        Form::Values(field) => vec![format!("[{} for x in {items}.values()]", x(field))],
        Form::Filter(by, to, field) => vec![
            format!("[{} for x in {items} if {}]", x(field), is(by, to)),
            format!(
                "[x{} for x in {items} if x{} == {}]",
                sub(field),
                sub(by),
                constant(to)
            ),
        ],
        Form::First(by, to, field) => vec![
            format!("next({} for x in {items} if {})", x(field), is(by, to)),
            format!("[{} for x in {items} if {}][0]", x(field), is(by, to)),
            format!(
                "next((x for x in {items} if {}), None){}",
                is(by, to),
                sub_single(field)
            ),
        ],
        Form::Above(by, than, field) => vec![format!(
            "[{} for x in {items} if {} > {than}]",
            x(field),
            x(by)
        )],
        Form::Both((a, p), (b, q), field) => vec![format!(
            "[{} for x in {items} if {} and {}]",
            x(field),
            is(a, p),
            is(b, q)
        )],
        Form::Contains(by, word, field) => vec![format!(
            "[{} for x in {items} if '{word}' in {}]",
            x(field),
            x(by)
        )],
        Form::Count => vec![format!("len({items})"), format!("len({named})")],
        Form::CountWhere(by, to) => vec![
            format!("len([x for x in {items} if {}])", is(by, to)),
            format!("sum(1 for x in {items} if {})", is(by, to)),
        ],
        Form::Sort(by, field) => vec![format!(
            "[{} for x in sorted({items}, key=lambda x: {})]",
            x(field),
            x(by)
        )],
        Form::Greatest(by, field) => vec![
            format!("max({items}, key=lambda x: {}){}", x(by), sub_single(field)),
            format!(
                "sorted({items}, key=lambda x: {})[-1]{}",
                x(by),
                sub_single(field)
            ),
        ],
        Form::Sum(field) => vec![
            format!("sum({} for x in {items})", x(field)),
            format!("sum([{} for x in {items}])", x(field)),
        ],
        Form::Max(field) => vec![
            format!("max({} for x in {items})", x(field)),
            format!("max([{} for x in {items}])", x(field)),
        ],
        Form::Hash(pairs) => vec![format!("[{{{}}} for x in {items}]", pairs_of(pairs))],
        Form::Nested(list, field) => vec![format!(
            "[y{} for x in {items} for y in {}]",
            sub_single(field),
            x(list)
        )],
        Form::Join(index, a, b) => vec![
            format!(
                "{items}[{index}]{} + ' ' + {items}[{index}]{}",
                sub(a),
                sub(b)
            ),
            format!(
                "' '.join([{items}[{index}]{}, {items}[{index}]{}])",
                sub(a),
                sub(b)
            ),
        ],
        Form::Keys => vec![format!("list({items}.keys())"), format!("list({items})")],
        Form::Line(_) | Form::Lines | Form::Grep(_) | Form::Cell(..) | Form::More(_) => Vec::new(),
    }
}

/// JSON Pointers and XPath.
pub(crate) fn slashes(goal: &Goal) -> Vec<String> {
    let path = |path: &[String]| {
        path.iter()
            .map(|field| format!("/{field}"))
            .collect::<String>()
    };
    let root = path(&goal.root);
    match &goal.form {
        Form::Whole if goal.root.is_empty() => Vec::new(),
        Form::Whole => vec![root.clone(), root[1..].to_owned(), format!("/{root}")],
        Form::Item(index, field) => vec![
            format!("{root}/{index}{}", path(field)),
            format!("{root}/{index}{}", path(field))[1..].to_owned(),
            format!("#{root}/{index}{}", path(field)),
        ],
        Form::Last(field) => vec![format!("{root}[last()]{}", path(field))],
        Form::Project(field) => vec![
            format!("{root}/*{}", path(field)),
            format!("/{}", path(field)),
            format!("{root}[*]{}", path(field)),
        ],
        Form::Values(field) => vec![format!("{root}/*{}", path(field))],
        Form::Filter(by, to, field) => vec![
            format!("{root}[{}={}]{}", by.join("/"), single(to), path(field)),
            format!("{root}/*[{}={}]{}", by.join("/"), single(to), path(field)),
        ],
        Form::Contains(by, word, field) => vec![format!(
            "{root}[contains({}, '{word}')]{}",
            by.join("/"),
            path(field)
        )],
        Form::Count => vec![format!("count({root})"), format!("count({root}/*)")],
        Form::Sum(field) => vec![format!("sum({root}/*{})", path(field))],
        _ => Vec::new(),
    }
}

/// lodash, and paths with dots for everything.
pub(crate) fn lodash(goal: &Goal) -> Vec<String> {
    let Some(items) = variable(goal) else {
        return Vec::new();
    };
    let text = |path: &[String]| format!("'{}'", path.join("."));
    let matches = |by: &Path, is: &Value| match by.as_slice() {
        [by] => Some(format!("{{{}: {}}}", name(by), single(is))),
        _ => None,
    };
    match &goal.form {
        Form::Whole => vec![format!("_.get(data, {})", text(&goal.root))],
        Form::Item(index, field) => vec![
            format!("{items}.{index}{}", dots(field)),
            format!("_.get({items}, '[{index}]{}')", dots(field)),
            format!("_.get(data, '{items}[{index}]{}')", dots(field)),
            format!("_.nth({items}, {index}){}", dots(field)),
        ],
        Form::Last(field) => vec![
            format!("_.last({items}){}", dots(field)),
            format!("last({items}){}", dots(field)),
            format!("{items}.last{}", dots(field)),
            format!("{items}.last(){}", dots(field)),
            format!("{items}.-1{}", dots(field)),
        ],
        Form::Slice(end, field) => vec![
            format!("_.map(_.take({items}, {end}), {})", text(field)),
            format!("take({items}, {end}){}", dots(field)),
        ],
        Form::Project(field) => vec![
            format!("_.map({items}, {})", text(field)),
            format!("map({items}, {})", text(field)),
            format!("{items}.*{}", dots(field)),
            format!("{items}.#{}", dots(field)),
            format!("pluck({items}, {})", text(field)),
        ],
        Form::Values(field) => vec![format!("_.map(_.values({items}), {})", text(field))],
        Form::Filter(by, to, field) => matches(by, to)
            .map(|is| {
                vec![
                    format!("_.map(_.filter({items}, {is}), {})", text(field)),
                    format!("_.filter({items}, {is}).map(x => x{})", dots(field)),
                    format!("filter({items}, {is}){}", dots(field)),
                ]
            })
            .unwrap_or_default(),
        Form::First(by, to, field) => matches(by, to)
            .map(|is| {
                vec![
                    format!("_.find({items}, {is}){}", dots(field)),
                    format!("_.get(_.find({items}, {is}), {})", text(field)),
                    format!("find({items}, {is}){}", dots(field)),
                ]
            })
            .unwrap_or_default(),
        Form::Count => vec![
            format!("_.size({items})"),
            format!("size({items})"),
            format!("count({items})"),
            format!("{items}.size"),
            format!("{items}.count()"),
        ],
        Form::Sort(by, field) => vec![
            format!("_.map(_.sortBy({items}, {}), {})", text(by), text(field)),
            format!("_.sortBy({items}, {}).map(x => x{})", text(by), dots(field)),
        ],
        Form::Greatest(by, field) => vec![
            format!("_.maxBy({items}, {}){}", text(by), dots(field)),
            format!("maxBy({items}, {}){}", text(by), dots(field)),
        ],
        Form::Sum(field) => vec![
            format!("_.sumBy({items}, {})", text(field)),
            format!("_.sum(_.map({items}, {}))", text(field)),
            format!("sumBy({items}, {})", text(field)),
        ],
        Form::Max(field) => vec![format!("_.max(_.map({items}, {}))", text(field))],
        Form::Nested(list, field) => vec![
            format!(
                "_.flatMap({items}, x => _.map(x{}, {}))",
                dots(list),
                text(field)
            ),
            format!("{items}.*{}.*{}", dots(list), dots(field)),
        ],
        Form::Keys => vec![format!("_.keys({items})")],
        _ => Vec::new(),
    }
}
