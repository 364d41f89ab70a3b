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
            | Form::Both((_, is), ..) => Some(is),
            _ => None,
        }
    }

    /// Whether it is of a list, rather than of one object or a text.
    pub(crate) fn is_of_a_list(&self) -> bool {
        !matches!(self.form, Form::Whole | Form::Values(_) | Form::Keys) && !self.is_of_a_text()
    }

    pub(crate) fn is_of_a_text(&self) -> bool {
        matches!(
            self.form,
            Form::Line(_) | Form::Lines | Form::Grep(_) | Form::Cell(..)
        )
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
            goals.push(Goal {
                root: Path::new(),
                form: Form::Keys,
            });
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
    let words = ["crossfeed", "2026", "pub fn"].map(str::to_owned);
    let mut forms = vec![Form::Lines];
    forms.extend(words.map(Form::Grep));
    if given.name.ends_with(".csv") {
        forms.extend([(1, 0), (2, 1), (5, 4)].map(|(line, cell)| Form::Cell(line, cell)));
    }
    forms
}
