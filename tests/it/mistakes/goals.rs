//! What a model means: a goal on a document, and the selector that says it.

use crate::mistakes::documents::{Given, Shape};
use crossfeed_jmespath::{Arena, Budget, Expression, Limits, View, evaluate};
use crossfeed_json::Document;
use serde_json::Value;

/// Names of fields, one within the other.
pub(crate) type Path = Vec<String>;

/// What is wanted of a list or an object, with paths within an item.
#[derive(Clone, Debug)]
pub(crate) enum Form {
    /// The value itself.
    Whole,
    /// `items[1].a`
    Item(usize, Path),
    /// `items[-1].a`
    Last(Path),
    /// `items[:2].a`
    Slice(usize, Path),
    /// `items[*].a`
    Project(Path),
    /// `*.a`
    Values(Path),
    /// `items[?by == literal].a`
    Filter(Path, Value, Path),
    /// `items[?by == literal] | [0].a`
    First(Path, Value, Path),
    /// ``items[?by > `1`].a``
    Above(Path, Value, Path),
    /// `items[?by == literal && by == literal].a`
    Both((Path, Value), (Path, Value), Path),
    /// `items[?contains(by, word)].a`
    Contains(Path, String, Path),
    /// `length(items)`
    Count,
    /// `length(items[?by == literal])`
    CountWhere(Path, Value),
    /// `sort_by(items, &by)[*].a`
    Sort(Path, Path),
    /// `max_by(items, &by).a`
    Greatest(Path, Path),
    /// `sum(items[*].n)`
    Sum(Path),
    /// `max(items[*].n)`
    Max(Path),
    /// `items[*].{x: a, y: b}`
    Hash(Vec<(String, Path)>),
    /// `items[].list[].a`
    Nested(Path, Path),
    /// `join(' ', [items[1].a, items[1].b])`
    Join(usize, Path, Path),
    /// `keys(items)`
    Keys,
    /// `lines(@)[1]`
    Line(usize),
    /// `lines(@)[?contains(@, word)]`
    Grep(String),
    /// `split(lines(@)[1], ',')[2]`
    Cell(usize, usize),
    /// `length(lines(@))`
    Lines,
    /// Those that only further results are asked for.
    More(More),
}

/// Goals that only further results are asked for.
#[derive(Clone, Debug)]
pub(crate) enum More {
    /// `items[-2:].a`
    Tail(usize, Path),
    /// `items[?by != literal].a`
    Except(Path, Value, Path),
    /// `items[?by == literal || by == literal].a`
    Either(Path, Value, Value, Path),
    /// ``items[?by < `1`].a``
    Below(Path, Value, Path),
    /// `items[?by >= '2026-01-31'].a`
    Since(Path, String, Path),
    /// `items[?starts_with(by, word)].a`
    Starts(Path, String, Path),
    /// ``items[?by != `null`].a``, where some have nothing there
    Present(Path, Path),
    /// ``items[?by == `null`].a``
    Missing(Path, Path),
    /// `reverse(sort_by(items, &by))[*].a`
    Descending(Path, Path),
    /// `min_by(items, &by).a`
    Least(Path, Path),
    /// `avg(items[*].n)`
    Average(Path),
    /// `min(items[*].n)`
    Min(Path),
    /// `items[].list[]`, where the lists hold texts
    Flat(Path),
    /// `length(items[1].list)`
    CountWithin(usize, Path),
    /// `items[1].list[0]`
    FirstWithin(usize, Path),
    /// `records.* | [?by == literal].a`
    Records(Path, Value, Path),
}

#[derive(Clone, Debug)]
pub(crate) struct Goal {
    /// Where the list, or object, stands.
    pub(crate) root: Path,
    pub(crate) form: Form,
}

/// A name as it stands in a selector.
pub(crate) fn name(field: &str) -> String {
    let mut chars = field.chars();
    let is_plain = chars
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && chars.all(|other| other.is_ascii_alphanumeric() || other == '_');
    if is_plain {
        field.to_owned()
    } else {
        Value::from(field).to_string()
    }
}

pub(crate) fn dotted(path: &[String]) -> String {
    path.iter()
        .map(|field| name(field))
        .collect::<Vec<_>>()
        .join(".")
}

/// With a dot before it, unless there is nothing.
pub(crate) fn then(path: &[String]) -> String {
    path.iter()
        .map(|field| format!(".{}", name(field)))
        .collect()
}

/// A literal as JMESPath writes it.
pub(crate) fn literal(value: &Value) -> String {
    match value {
        Value::String(text) => format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'")),
        other => format!("`{other}`"),
    }
}

impl Goal {
    /// The correct selector.
    pub(crate) fn selector(&self) -> String {
        let root = dotted(&self.root);
        let items = if root.is_empty() { "@" } else { &root };
        match &self.form {
            Form::Whole => items.to_owned(),
            Form::Item(index, field) => format!("{root}[{index}]{}", then(field)),
            Form::Last(field) => format!("{root}[-1]{}", then(field)),
            Form::Slice(end, field) => format!("{root}[:{end}]{}", then(field)),
            Form::Project(field) => format!("{root}[*]{}", then(field)),
            Form::Values(field) if root.is_empty() => format!("*{}", then(field)),
            Form::Values(field) => format!("{root}.*{}", then(field)),
            Form::Filter(by, is, field) => {
                format!("{root}[?{} == {}]{}", dotted(by), literal(is), then(field))
            }
            Form::First(by, is, field) => {
                format!(
                    "{root}[?{} == {}] | [0]{}",
                    dotted(by),
                    literal(is),
                    then(field)
                )
            }
            Form::Above(by, is, field) => {
                format!("{root}[?{} > {}]{}", dotted(by), literal(is), then(field))
            }
            Form::Both((a, x), (b, y), field) => format!(
                "{root}[?{} == {} && {} == {}]{}",
                dotted(a),
                literal(x),
                dotted(b),
                literal(y),
                then(field)
            ),
            Form::Contains(by, word, field) => {
                format!(
                    "{root}[?contains({}, {})]{}",
                    dotted(by),
                    literal(&Value::from(word.as_str())),
                    then(field)
                )
            }
            Form::Count => format!("length({items})"),
            Form::CountWhere(by, is) => {
                format!("length({root}[?{} == {}])", dotted(by), literal(is))
            }
            Form::Sort(by, field) => format!("sort_by({items}, &{})[*]{}", dotted(by), then(field)),
            Form::Greatest(by, field) => format!("max_by({items}, &{}){}", dotted(by), then(field)),
            Form::Sum(field) => format!("sum({root}[*]{})", then(field)),
            Form::Max(field) => format!("max({root}[*]{})", then(field)),
            Form::Hash(pairs) => format!("{root}[*].{{{}}}", members(pairs, dotted)),
            Form::Nested(list, field) => format!("{root}[].{}[]{}", dotted(list), then(field)),
            Form::Join(index, a, b) => {
                let item = format!("{root}[{index}]");
                format!("join(' ', [{item}{}, {item}{}])", then(a), then(b))
            }
            Form::Keys => format!("keys({items})"),
            Form::Grep(word) => {
                format!(
                    "lines(@)[?contains(@, {})]",
                    literal(&Value::from(word.as_str()))
                )
            }
            Form::Cell(line, cell) => format!("split(lines(@)[{line}], ',')[{cell}]"),
            Form::Line(index) => format!("lines(@)[{index}]"),
            Form::Lines => "length(lines(@))".to_owned(),
            Form::More(more) => more.selector(&root, items),
        }
    }

    /// The path to the wanted field within an item, to be written otherwise.
    pub(crate) fn field_mut(&mut self) -> Option<&mut Path> {
        let field = match &mut self.form {
            Form::Item(_, field)
            | Form::Last(field)
            | Form::Slice(_, field)
            | Form::Project(field)
            | Form::Values(field)
            | Form::Filter(_, _, field)
            | Form::First(_, _, field)
            | Form::Above(_, _, field)
            | Form::Both(_, _, field)
            | Form::Contains(_, _, field)
            | Form::Sort(_, field)
            | Form::Greatest(_, field)
            | Form::Sum(field)
            | Form::Nested(_, field)
            | Form::Join(_, _, field)
            | Form::Max(field) => field,
            Form::Hash(pairs) => &mut pairs.last_mut()?.1,
            Form::Whole => &mut self.root,
            Form::More(more) => more.field_mut(),
            Form::Count
            | Form::CountWhere(..)
            | Form::Keys
            | Form::Line(_)
            | Form::Lines
            | Form::Grep(_)
            | Form::Cell(..) => return None,
        };
        (!field.is_empty()).then_some(field)
    }

    /// The path that is compared or sorted by.
    pub(crate) fn by_mut(&mut self) -> Option<&mut Path> {
        match &mut self.form {
            Form::Filter(by, ..)
            | Form::First(by, ..)
            | Form::Above(by, ..)
            | Form::Contains(by, ..)
            | Form::CountWhere(by, _)
            | Form::Sort(by, _)
            | Form::Greatest(by, _)
            | Form::Both((by, _), ..) => Some(by),
            Form::More(more) => more.by_mut(),
            _ => None,
        }
    }

    /// What a filter compares with.
    pub(crate) fn literal_mut(&mut self) -> Option<&mut Value> {
        match &mut self.form {
            Form::Filter(_, is, _)
            | Form::First(_, is, _)
            | Form::Above(_, is, _)
            | Form::CountWhere(_, is)
            | Form::Both((_, is), ..)
            | Form::More(
                More::Except(_, is, _) | More::Below(_, is, _) | More::Records(_, is, _),
            ) => Some(is),
            _ => None,
        }
    }

    /// Whether it is of a list, rather than of one object or a text.
    pub(crate) fn is_of_a_list(&self) -> bool {
        !matches!(
            self.form,
            Form::Whole | Form::Values(_) | Form::Keys | Form::More(More::Records(..))
        ) && !self.is_of_a_text()
    }

    pub(crate) fn is_of_a_text(&self) -> bool {
        matches!(
            self.form,
            Form::Line(_) | Form::Lines | Form::Grep(_) | Form::Cell(..)
        )
    }
}

impl More {
    fn selector(&self, root: &str, items: &str) -> String {
        let (by, field) = (
            self.clone().by_mut().cloned().unwrap_or_default(),
            self.clone().field_mut().clone(),
        );
        let (by, field) = (dotted(&by), then(&field));
        match self {
            Self::Tail(count, _) => format!("{root}[-{count}:]{field}"),
            Self::Except(_, is, _) => format!("{root}[?{by} != {}]{field}", literal(is)),
            Self::Either(_, a, b, _) => format!(
                "{root}[?{by} == {} || {by} == {}]{field}",
                literal(a),
                literal(b)
            ),
            Self::Below(_, is, _) => format!("{root}[?{by} < {}]{field}", literal(is)),
            Self::Since(_, date, _) => format!("{root}[?{by} >= '{date}']{field}"),
            Self::Starts(_, word, _) => format!("{root}[?starts_with({by}, '{word}')]{field}"),
            Self::Present(..) => format!("{root}[?{by} != `null`]{field}"),
            Self::Missing(..) => format!("{root}[?{by} == `null`]{field}"),
            Self::Descending(..) => format!("reverse(sort_by({items}, &{by}))[*]{field}"),
            Self::Least(..) => format!("min_by({items}, &{by}){field}"),
            Self::Average(_) => format!("avg({root}[*]{field})"),
            Self::Min(_) => format!("min({root}[*]{field})"),
            Self::Flat(_) => format!("{root}[]{field}[]"),
            Self::CountWithin(index, _) => format!("length({root}[{index}]{field})"),
            Self::FirstWithin(index, _) => format!("{root}[{index}]{field}[0]"),
            Self::Records(_, is, _) => {
                let records = if root.is_empty() {
                    "*".to_owned()
                } else {
                    format!("{root}.*")
                };
                format!("{records} | [?{by} == {}]{field}", literal(is))
            }
        }
    }

    pub(crate) fn field_mut(&mut self) -> &mut Path {
        match self {
            Self::Tail(_, field)
            | Self::Except(_, _, field)
            | Self::Either(_, _, _, field)
            | Self::Below(_, _, field)
            | Self::Since(_, _, field)
            | Self::Starts(_, _, field)
            | Self::Present(_, field)
            | Self::Missing(_, field)
            | Self::Descending(_, field)
            | Self::Least(_, field)
            | Self::Average(field)
            | Self::Min(field)
            | Self::Flat(field)
            | Self::CountWithin(_, field)
            | Self::FirstWithin(_, field)
            | Self::Records(_, _, field) => field,
        }
    }

    pub(crate) fn by_mut(&mut self) -> Option<&mut Path> {
        match self {
            Self::Except(by, ..)
            | Self::Either(by, ..)
            | Self::Below(by, ..)
            | Self::Since(by, ..)
            | Self::Starts(by, ..)
            | Self::Present(by, _)
            | Self::Missing(by, _)
            | Self::Descending(by, _)
            | Self::Least(by, _)
            | Self::Records(by, ..) => Some(by),
            _ => None,
        }
    }
}

/// `x: a, y: b`, with paths as the language writes them.
pub(crate) fn members(pairs: &[(String, Path)], path: impl Fn(&[String]) -> String) -> String {
    let pairs = pairs
        .iter()
        .map(|(key, field)| format!("{}: {}", name(key), path(field)));
    pairs.collect::<Vec<_>>().join(", ")
}

/// What JMESPath says: `None` where it does not parse, or selects nothing.
pub(crate) fn pure(root: &Document, selector: &str) -> Option<Value> {
    let expression = Expression::parse(selector).ok()?;
    let root = root.root().ok()?;
    let budget = Budget::new(&Limits::default(), root.value_count());
    let arena = Arena::new();
    let found = evaluate(&expression, &View::from(root), &arena, &budget).ok()??;
    let mut json = Vec::new();
    found.write(&mut json, 1 << 24).ok()?;
    serde_json::from_slice(&json).ok()
}

/// A list of objects, and the paths that lead to scalars in each of its items.
struct Table {
    root: Path,
    items: Vec<Value>,
    texts: Vec<Path>,
    numbers: Vec<Path>,
    flags: Vec<Path>,
}

pub(crate) fn at<'v>(value: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, field| value.get(field))
}

/// The paths to the scalars of an object, at most three names deep.
fn leaves(value: &Value, path: &mut Path, found: &mut Vec<Path>) {
    let Value::Object(members) = value else {
        return;
    };
    for (key, member) in members {
        path.push(key.clone());
        match member {
            Value::Object(_) if path.len() < 3 => leaves(member, path, found),
            Value::String(text) if !text.is_empty() && text.len() < 120 => found.push(path.clone()),
            Value::Number(_) | Value::Bool(_) => found.push(path.clone()),
            _ => {}
        }
        path.pop();
    }
}

fn tables(value: &Value, path: &mut Path, found: &mut Vec<Table>) {
    match value {
        Value::Array(items) if items.len() >= 2 && items.iter().all(Value::is_object) => {
            let mut every = Vec::new();
            leaves(&items[0], &mut Path::new(), &mut every);
            let kind = |is: fn(&Value) -> bool| {
                let fits = |path: &&Path| items.iter().all(|item| at(item, path).is_some_and(is));
                every.iter().filter(fits).cloned().collect()
            };
            found.push(Table {
                root: path.clone(),
                items: items.clone(),
                texts: kind(Value::is_string),
                numbers: kind(Value::is_number),
                flags: kind(Value::is_boolean),
            });
        }
        Value::Object(members) => {
            for (key, member) in members {
                path.push(key.clone());
                tables(member, path, found);
                path.pop();
            }
        }
        _ => {}
    }
}

fn keep<T>(from: &[T], most: usize) -> impl Iterator<Item = &T> {
    let step = from.len().div_ceil(most).max(1);
    from.iter().step_by(step)
}

impl Table {
    /// A list of objects in every item, and a text in each of those.
    fn nested(&self) -> Option<(Path, Path)> {
        let members = self.items[0].as_object()?;
        members.keys().find_map(|list| {
            let inner = |item: &Value| {
                item.get(list)?
                    .as_array()
                    .filter(|inner| inner.iter().all(Value::is_object))
                    .cloned()
            };
            let all: Vec<Value> = self
                .items
                .iter()
                .map(inner)
                .collect::<Option<Vec<_>>>()?
                .concat();
            let field = all
                .first()?
                .as_object()?
                .iter()
                .find(|(key, value)| {
                    value.is_string()
                        && all
                            .iter()
                            .all(|item| item.get(key.as_str()).is_some_and(Value::is_string))
                })?
                .0;
            Some((vec![list.clone()], vec![field.clone()]))
        })
    }

    fn goals(&self, goals: &mut Vec<Goal>) {
        let mut add = |form| {
            goals.push(Goal {
                root: self.root.clone(),
                form,
            })
        };
        let last = self.items.len() - 1;
        let of = |index: usize, path: &Path| at(&self.items[index], path).unwrap().clone();
        let all: Vec<Path> = keep(&self.texts, 4)
            .chain(keep(&self.numbers, 2))
            .cloned()
            .collect();
        let Some(label) = self.texts.first().or(self.numbers.first()) else {
            return;
        };
        add(Form::Count);
        add(Form::Whole);
        for field in &all {
            add(Form::Item(0, field.clone()));
            add(Form::Item(last.min(2), field.clone()));
            add(Form::Last(field.clone()));
            add(Form::Project(field.clone()));
            add(Form::Slice(2, field.clone()));
        }
        for (index, by) in keep(&self.texts, 3)
            .chain(keep(&self.numbers, 1))
            .chain(keep(&self.flags, 1))
            .enumerate()
        {
            let is = of((index + 1).min(last), by);
            let field = all
                .iter()
                .find(|field| *field != by)
                .unwrap_or(label)
                .clone();
            add(Form::Filter(by.clone(), is.clone(), field.clone()));
            add(Form::First(by.clone(), is.clone(), field.clone()));
            add(Form::CountWhere(by.clone(), is.clone()));
            if let Value::String(text) = &is {
                let word: String = text
                    .chars()
                    .filter(|char| *char != '\'')
                    .skip(1)
                    .take(5)
                    .collect();
                add(Form::Contains(by.clone(), word, field.clone()));
                if by.len() == 1 {
                    let b = all
                        .iter()
                        .find(|b| *b != by && **b != field)
                        .unwrap_or(label);
                    let y = of((index + 1).min(last), b);
                    add(Form::Both((by.clone(), is), (b.clone(), y), field));
                }
            }
        }
        for by in keep(&self.numbers, 2) {
            let mut values: Vec<Value> = (0..=last).map(|index| of(index, by)).collect();
            values.sort_by(|a, b| a.as_f64().unwrap().total_cmp(&b.as_f64().unwrap()));
            if values[0] != values[last] {
                add(Form::Above(
                    by.clone(),
                    values[last / 2].clone(),
                    label.clone(),
                ));
                add(Form::Sort(by.clone(), label.clone()));
            }
            // Of several greatest ones, languages give one or the other.
            if values[last - 1] != values[last] {
                add(Form::Greatest(by.clone(), label.clone()));
            }
            add(Form::Sum(by.clone()));
            add(Form::Max(by.clone()));
        }
        if let Some((list, field)) = self.nested() {
            add(Form::Nested(list, field));
        }
        if let [a, b, ..] = self.texts.as_slice() {
            add(Form::Join(last.min(1), a.clone(), b.clone()));
        }
        if let [first, .., other] = all.as_slice() {
            let key = |path: &Path| path.last().unwrap().clone();
            add(Form::Hash(vec![
                (key(first), first.clone()),
                ("other".to_owned(), other.clone()),
            ]));
            add(Form::Hash(vec![
                ("label".to_owned(), first.clone()),
                (key(other), other.clone()),
            ]));
        }
    }
}

/// Whether a text begins as a date does, `2026-01-31`.
fn is_date(text: &str) -> bool {
    let shape = text
        .bytes()
        .take(10)
        .map(|byte| if byte.is_ascii_digit() { b'0' } else { byte });
    shape.eq(*b"0000-00-00")
}

impl Table {
    /// What only further results are asked for.
    fn more(&self, goals: &mut Vec<Goal>) {
        let mut add = |more| {
            goals.push(Goal {
                root: self.root.clone(),
                form: Form::More(more),
            })
        };
        let last = self.items.len() - 1;
        let of = |index: usize, path: &Path| at(&self.items[index], path).unwrap().clone();
        let Some(label) = self.texts.first().or(self.numbers.first()) else {
            return;
        };
        let not = |by: &Path| {
            let other = self
                .texts
                .iter()
                .chain(&self.numbers)
                .find(|path| *path != by);
            other.unwrap_or(label).clone()
        };
        add(More::Tail(2, label.clone()));
        for (index, by) in keep(&self.texts, 3).enumerate() {
            let is = of((index + 1).min(last), by);
            let text = is.as_str().unwrap().to_owned();
            let word: String = text.chars().take(4).collect();
            if is_date(&text) {
                add(More::Since(by.clone(), text[..10].to_owned(), not(by)));
            } else if !word.contains(['\'', '\\']) {
                add(More::Starts(by.clone(), word, not(by)));
            }
            if of(0, by) != is {
                add(More::Either(by.clone(), of(0, by), is.clone(), not(by)));
            }
            add(More::Except(by.clone(), is, not(by)));
        }
        for by in keep(&self.numbers, 3) {
            let mut values: Vec<f64> = (0..=last)
                .filter_map(|index| of(index, by).as_f64())
                .collect();
            values.sort_by(f64::total_cmp);
            // Where two are alike, the orders may differ.
            if values.windows(2).all(|pair| pair[0] < pair[1]) {
                add(More::Descending(by.clone(), label.clone()));
            }
            if values[0] < values[1] {
                add(More::Least(by.clone(), label.clone()));
            }
            add(More::Below(by.clone(), of(last / 2, by), label.clone()));
            add(More::Average(by.clone()));
            add(More::Min(by.clone()));
        }
        let mut keys: Vec<&String> = self
            .items
            .iter()
            .filter_map(Value::as_object)
            .flat_map(|item| item.keys())
            .collect();
        keys.sort();
        keys.dedup();
        let with = |key: &str| {
            self.items
                .iter()
                .filter(|item| item.get(key).is_some_and(|value| !value.is_null()))
                .count()
        };
        for key in keep(
            &keys
                .iter()
                .copied()
                .filter(|key| (1..=last).contains(&with(key)))
                .collect::<Vec<_>>(),
            3,
        ) {
            add(More::Present(vec![(*key).clone()], label.clone()));
            add(More::Missing(vec![(*key).clone()], label.clone()));
        }
        let is_of_texts = |item: &Value, key: &str| {
            item.get(key)
                .and_then(Value::as_array)
                .is_some_and(|list| !list.is_empty() && list.iter().all(Value::is_string))
        };
        for key in keys
            .iter()
            .filter(|key| self.items.iter().all(|item| is_of_texts(item, key)))
            .take(2)
        {
            let list = vec![(*key).clone()];
            add(More::Flat(list.clone()));
            add(More::CountWithin(last.min(1), list.clone()));
            add(More::FirstWithin(last.min(1), list));
        }
    }
}

/// The objects whose members are all objects: maps of records.
fn maps(value: &Value, path: &mut Path, found: &mut Vec<(Path, Vec<Value>)>) {
    let Value::Object(members) = value else {
        return;
    };
    if members.len() > 3 && members.values().all(Value::is_object) {
        found.push((path.clone(), members.values().cloned().collect()));
        return;
    }
    for (key, member) in members {
        path.push(key.clone());
        maps(member, path, found);
        path.pop();
    }
}

/// Whether the keys are in order: some languages give them so.
fn is_sorted(value: &Value) -> bool {
    value
        .as_object()
        .is_some_and(|members| members.keys().is_sorted())
}

fn of_maps(given: &Given, goals: &mut Vec<Goal>) {
    let mut found = Vec::new();
    maps(&given.root, &mut Path::new(), &mut found);
    for (root, items) in found.iter().take(2) {
        let mut fields = Vec::new();
        leaves(&items[0], &mut Path::new(), &mut fields);
        let is_text = |item: &Value, field: &Path| at(item, field).is_some_and(Value::is_string);
        fields.retain(|field| items.iter().all(|item| is_text(item, field)));
        if !root.is_empty() {
            if at(&given.root, root).is_some_and(is_sorted) {
                goals.push(Goal {
                    root: root.clone(),
                    form: Form::Keys,
                });
            }
            goals.extend(keep(&fields, 3).map(|field| Goal {
                root: root.clone(),
                form: Form::Values(field.clone()),
            }));
        }
        if let [by, .., field] = fields.as_slice() {
            goals.extend([0, 2].map(|index| Goal {
                root: root.clone(),
                form: Form::More(More::Records(
                    by.clone(),
                    at(&items[index], by).unwrap().clone(),
                    field.clone(),
                )),
            }));
        }
    }
}

/// What models may want of a document, the same each time.
pub(crate) fn goals(given: &Given) -> Vec<Goal> {
    let mut goals = Vec::new();
    if let Shape::Plain = given.shape {
        goals.push(Goal {
            root: Path::new(),
            form: Form::Whole,
        });
        goals.extend([0, 1, 4].map(|index| Goal {
            root: Path::new(),
            form: Form::Line(index),
        }));
        goals.extend(texts(given).into_iter().map(|form| Goal {
            root: Path::new(),
            form,
        }));
        return goals;
    }
    let mut found = Vec::new();
    tables(&given.root, &mut Path::new(), &mut found);
    for table in found.iter().take(2) {
        table.goals(&mut goals);
        if given.asks_more {
            table.more(&mut goals);
        }
    }
    if given.asks_more {
        of_maps(given, &mut goals);
    }
    let mut plain = Vec::new();
    leaves(&given.root, &mut Path::new(), &mut plain);
    for path in keep(&plain, 8) {
        goals.push(Goal {
            root: path.clone(),
            form: Form::Whole,
        });
    }
    if let (Value::Object(members), true) = (&given.root, found.is_empty()) {
        let items: Vec<&Value> = members.values().collect();
        if items.len() > 3 && items.iter().all(|item| item.is_object()) {
            let mut fields = Vec::new();
            leaves(items[0], &mut Path::new(), &mut fields);
            fields.retain(|field| {
                items
                    .iter()
                    .all(|item| at(item, field).is_some_and(Value::is_string))
            });
            if is_sorted(&given.root) {
                goals.push(Goal {
                    root: Path::new(),
                    form: Form::Keys,
                });
            }
            goals.extend(keep(&fields, 3).map(|field| Goal {
                root: Path::new(),
                form: Form::Values(field.clone()),
            }));
        }
    }
    // The rows of a table without names.
    if let Some(rows) = given
        .root
        .get("rows")
        .and_then(Value::as_array)
        .filter(|rows| rows[0].is_array())
    {
        let rows_path = || vec!["rows".to_owned()];
        goals.push(Goal {
            root: rows_path(),
            form: Form::Whole,
        });
        goals.push(Goal {
            root: rows_path(),
            form: Form::Count,
        });
        goals.push(Goal {
            root: rows_path(),
            form: Form::Item(rows.len() - 1, Path::new()),
        });
    }
    goals
}

/// What is wanted of a text that is not JSON.
fn texts(given: &Given) -> Vec<Form> {
    let words = match given.name {
        "weather.csv" => ["rain", "2012-02", "sun"],
        "rules.md" => ["Prefer", "no-array", "Promise"],
        "patch.diff" => ["+++", "document", "Section"],
        "airports.csv" => ["Municipal", "TX", "County"],
        "calendar.ics" => ["DTSTART", "BEGIN", "GMT"],
        "workflow.yml" => ["run:", "uses", "cargo"],
        "changelog.md" => ["## 0.1", "Added", "MSRV"],
        _ => ["crossfeed", "2026", "pub fn"],
    };
    let words = words.map(str::to_owned);
    let mut forms = vec![Form::Lines];
    forms.extend(words.map(Form::Grep));
    if given.name.ends_with(".csv") {
        forms.extend([(1, 0), (2, 1), (5, 4)].map(|(line, cell)| Form::Cell(line, cell)));
    }
    forms
}
