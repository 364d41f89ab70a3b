//! The lists and records of a value, the fields of their items, and literals as the fields have them.

use super::{Effort, read::Comparison};
use crate::{
    paths::{candidates, member, raw_string},
    select::rewrite::opened,
};
use crossfeed_jmespath::{Arena, Budget, Kind, View};
use std::collections::HashSet;

/// The most lists and records of a value that are compared with a text.
const MAX_ROWS: usize = 40;
/// The most items whose fields are read, and those whose values are compared with a literal.
const MAX_SAMPLES: usize = 3;
const MAX_ITEMS: usize = 1000;
/// The size of the longest text that is compared with a literal.
const MAX_TEXT_BYTES: usize = 2048;
/// The most fields of an item, and how deep they lie.
const MAX_FIELDS: usize = 200;
/// The most members of an object whose names are read.
const MAX_MEMBERS: usize = 1000;
const MAX_DEPTH: usize = 4;

/// What a selector goes through: a list, an object of records, or one object.
pub(super) struct Rows<'a> {
    /// The path to it; nothing for the whole value.
    pub(super) path: String,
    pub(super) names: Vec<String>,
    pub(super) kind: RowsKind,
    items: Vec<View<'a>>,
    pub(super) fields: Vec<Field>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowsKind {
    List,
    Records,
    Object,
}

/// A field of items.
pub(super) struct Field {
    /// The names on its path within an item, and whether each is a list that is gone through.
    pub(super) names: Vec<String>,
    pub(super) path: String,
    pub(super) kind: Kind,
    /// Whether its path goes through a list.
    pub(super) is_nested: bool,
}

impl<'a> Rows<'a> {
    /// The lists and records of a value, and the value itself if it is an object, nearest to the root first. Of objects
    /// with many members, those that `words` name are fields.
    pub(super) fn all(
        root: &View<'a>,
        words: &HashSet<&str>,
        arena: &'a Arena,
        budget: &Budget,
    ) -> Vec<Self> {
        let inner = candidates(root, arena, budget).into_iter();
        let inner = inner
            .filter(|place| !place.selector.contains('['))
            .map(|place| (place.selector, place.names, place.view));
        let places = std::iter::once((String::new(), Vec::new(), root.clone())).chain(inner);
        let mut all = Vec::new();
        for (path, names, view) in places {
            let Some(view) = opened(&view, arena, budget) else {
                continue;
            };
            let mut add = |kind: RowsKind, items: Vec<View<'a>>| {
                all.push(Self {
                    path: path.clone(),
                    names: names.clone(),
                    kind,
                    fields: fields(&items, kind, words, arena, budget),
                    items,
                });
            };
            match view.kind() {
                Kind::Array if !view.is_empty() => {
                    add(RowsKind::List, view.items().take(MAX_ITEMS).collect());
                }
                Kind::Object => {
                    if is_records(&view) {
                        let items = view.members().map(|(_, item)| item);
                        add(RowsKind::Records, items.take(MAX_ITEMS).collect());
                    }
                    if path.is_empty() {
                        add(RowsKind::Object, vec![view]);
                    }
                }
                _ => {}
            }
            if all.len() >= MAX_ROWS {
                break;
            }
        }
        all
    }

    /// A selector of each of the rows.
    pub(super) fn each(&self) -> String {
        match self.kind {
            RowsKind::List => format!("{}[*]", self.path),
            RowsKind::Records if self.path.is_empty() => "*".to_owned(),
            RowsKind::Records => format!("{}.*", self.path),
            RowsKind::Object => self.path.clone(),
        }
    }

    /// A selector of the rows as a list.
    pub(super) fn list(&self) -> String {
        match self.kind {
            RowsKind::Records => format!("{} | [*]", self.each()),
            _ if self.path.is_empty() => "@".to_owned(),
            _ => self.path.clone(),
        }
    }

    /// A selector of the rows for which conditions hold.
    pub(super) fn filtered(&self, conditions: &str) -> Option<String> {
        match self.kind {
            RowsKind::List => Some(format!("{}[?{conditions}]", self.path)),
            RowsKind::Records => Some(format!("{} | [?{conditions}]", self.each())),
            RowsKind::Object => None,
        }
    }

    /// Whether a field has exactly this name.
    pub(super) fn is_named(&self, field: usize, name: &str) -> bool {
        let field = self.fields.get(field);
        field.is_some_and(|field| field.names.last().is_some_and(|last| last == name))
    }

    /// The field that a name means, within another one if it stands behind that, and how like the names are.
    pub(super) fn field(
        &self,
        name: &str,
        within: Option<usize>,
        effort: &mut Effort,
    ) -> Option<(usize, f64)> {
        let parent = within.and_then(|within| self.fields.get(within));
        let mut best: Option<(usize, f64)> = None;
        for (number, field) in self.fields.iter().enumerate() {
            let Some(like) = field
                .names
                .last()
                .and_then(|last| effort.likeness(name, last))
            else {
                continue;
            };
            let is_within = parent.is_some_and(|parent| {
                field.names.len() == parent.names.len() + 1
                    && field.names.starts_with(&parent.names)
            });
            let like = like + if is_within { 0.5 } else { 0.0 };
            let deeper =
                field.names.len() as f64 / 100.0 + if field.is_nested { 0.05 } else { 0.0 };
            if best.is_none_or(|(_, known)| like - deeper > known) {
                best = Some((number, like - deeper));
            }
        }
        best
    }

    /// The condition that a field compares so with a literal, spelled as the items have it.
    pub(super) fn condition(
        &self,
        field: &Field,
        comparison: Comparison,
        literal: Option<&str>,
    ) -> Option<String> {
        use Comparison::{
            AtLeast, AtMost, Contains, Ends, Equal, Greater, Less, OneOf, Starts, Unequal,
        };
        let path = &field.path;
        let Some(literal) = literal else {
            let sign = if comparison == Unequal { "!=" } else { "==" };
            return Some(format!("{path} {sign} `null`"));
        };
        let stripped = literal
            .trim_matches(['%', '/', '^', '$'])
            .trim_start_matches(".*")
            .trim_end_matches(".*");
        if matches!(field.kind, Kind::Array) || field.is_nested {
            let found = self.spelled(field, literal, Match::Whole)?;
            let has = format!("contains({path}, {found})");
            return Some(if comparison == Unequal {
                format!("!{has}")
            } else {
                has
            });
        }
        let order = |sign: &str| {
            let is_number = literal.parse::<f64>().is_ok_and(f64::is_finite);
            match field.kind {
                Kind::Number => is_number.then(|| format!("{path} {sign} `{literal}`")),
                // Texts of digits have another order than numbers.
                Kind::String if is_number => Some(format!("to_number({path}) {sign} `{literal}`")),
                Kind::String => Some(format!("{path} {sign} {}", raw_string(literal)?)),
                _ => None,
            }
        };
        let called = |function: &str, part: Match| {
            Some(format!(
                "{function}({path}, {})",
                self.spelled(field, stripped, part)?
            ))
        };
        match comparison {
            Equal => {
                let equal = self.spelled(field, literal, Match::Whole);
                let equal = equal.map(|found| format!("{path} == {found}"));
                let is_pattern = stripped != literal;
                equal.or_else(|| is_pattern.then(|| called("contains", Match::Part))?)
            }
            Unequal => Some(format!(
                "{path} != {}",
                self.spelled(field, literal, Match::Whole)?
            )),
            Greater => order(">"),
            AtLeast => order(">="),
            Less => order("<"),
            AtMost => order("<="),
            OneOf => {
                let equal = self.spelled(field, literal, Match::Whole);
                let equal = equal.map(|found| format!("{path} == {found}"));
                equal.or_else(|| called("contains", Match::Part))
            }
            Contains => called("contains", Match::Part),
            Starts => called("starts_with", Match::Beginning),
            Ends => called("ends_with", Match::End),
        }
    }

    /// Whether an item has this value in a field.
    pub(super) fn has(&self, field: &Field, literal: &str) -> bool {
        self.spelled(field, literal, Match::Whole).is_some()
    }

    /// A literal as items have it.
    fn spelled(&self, field: &Field, literal: &str, part: Match) -> Option<String> {
        let mut similar = None;
        for item in &self.items {
            for value in values(item, &field.names) {
                match of_value(&value, literal, part) {
                    Some((found, true)) => return Some(found),
                    Some((found, false)) => similar = similar.or(Some(found)),
                    None => {}
                }
            }
        }
        similar
    }
}

/// How much of a text must agree with a literal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Match {
    Whole,
    Part,
    Beginning,
    End,
}

/// A literal for a value, if it agrees with a written one, and whether it does so exactly.
fn of_value(value: &View<'_>, written: &str, part: Match) -> Option<(String, bool)> {
    match value.kind() {
        Kind::Number => {
            let mut digits = Vec::new();
            value.write(&mut digits, 64).ok()?;
            let digits = String::from_utf8(digits).ok()?;
            let is_same = digits.parse::<f64>().ok()? == written.trim().parse::<f64>().ok()?;
            is_same.then(|| (format!("`{digits}`"), true))
        }
        Kind::Boolean => {
            let own = value.as_bool()?.to_string();
            own.eq_ignore_ascii_case(written.trim())
                .then(|| (format!("`{own}`"), true))
        }
        Kind::String => {
            if value
                .as_cursor()
                .is_some_and(|text| text.raw().len() > MAX_TEXT_BYTES)
            {
                return None;
            }
            let own = value.as_str()?;
            let is_found = |own: &str, written: &str| match part {
                Match::Whole => own == written,
                Match::Part => own.contains(written),
                Match::Beginning => own.starts_with(written),
                Match::End => own.ends_with(written),
            };
            if !written.is_empty() && is_found(&own, written) {
                return Some((raw_string(written)?, true));
            }
            let (lower, wanted) = (
                own.to_ascii_lowercase(),
                written.trim().to_ascii_lowercase(),
            );
            if wanted.is_empty() || !is_found(lower.trim(), &wanted) {
                return None;
            }
            let at = lower.find(&wanted)?;
            let found = match part {
                Match::Whole => &*own,
                Match::End => own.get(own.trim_end().len().checked_sub(wanted.len())?..)?,
                _ => own.get(at..at + wanted.len())?,
            };
            Some((raw_string(found)?, false))
        }
        _ => None,
    }
}

/// The values at a path within an item; of lists those of all items.
fn values<'a>(item: &View<'a>, names: &[String]) -> Vec<View<'a>> {
    let mut found = vec![item.clone()];
    let spread = |found: Vec<View<'a>>| -> Vec<View<'a>> {
        let mut all = Vec::new();
        for view in found {
            match view.kind() {
                Kind::Array => all.extend(view.items().take(MAX_ITEMS)),
                _ => all.push(view),
            }
        }
        all.truncate(MAX_ITEMS);
        all
    };
    for name in names {
        found = spread(found);
        found = found.iter().filter_map(|view| view.get(name)).collect();
    }
    spread(found)
}

/// Whether an object holds records: several objects, the first of which share a key.
fn is_records(view: &View<'_>) -> bool {
    let first: Vec<_> = view
        .members()
        .map(|(_, value)| value)
        .take(MAX_SAMPLES)
        .collect();
    let [one, other, ..] = &*first else {
        return false;
    };
    let are_objects = first.iter().all(|value| value.kind() == Kind::Object);
    let shares = one
        .members()
        .take(MAX_FIELDS)
        .any(|(key, _)| other.get(&key).is_some());
    are_objects && shares
}

/// The fields of the first items, those nearest to the item first.
fn fields<'a>(
    items: &[View<'a>],
    rows: RowsKind,
    words: &HashSet<&str>,
    arena: &'a Arena,
    budget: &Budget,
) -> Vec<Field> {
    let mut found: Vec<Field> = Vec::new();
    for item in items.iter().take(MAX_SAMPLES) {
        let mut level = vec![(Vec::new(), String::new(), item.clone(), false)];
        for _ in 0..MAX_DEPTH {
            let mut next = Vec::new();
            for (names, path, view, is_nested) in level {
                for (key, value) in view.members().take(MAX_MEMBERS) {
                    let is_full = found.len() >= MAX_FIELDS;
                    if is_full && (found.len() >= MAX_MEMBERS || !words.contains(&*key)) {
                        continue;
                    }
                    let names: Vec<String> = [names.as_slice(), &[key.to_string()]].concat();
                    let path = member(&path, &key);
                    let known = found.iter_mut().find(|field| field.names == names);
                    match known {
                        Some(field) if field.kind == Kind::Null => field.kind = value.kind(),
                        Some(_) => {}
                        None => found.push(Field {
                            names: names.clone(),
                            path: path.clone(),
                            kind: value.kind(),
                            is_nested,
                        }),
                    }
                    let Some(inner) = opened(&value, arena, budget) else {
                        continue;
                    };
                    match inner.kind() {
                        Kind::Object => next.push((names, path, inner, is_nested)),
                        // What a list holds is found as its rows.
                        Kind::Array if rows != RowsKind::Object => next.extend(
                            inner
                                .at(0)
                                .map(|item| (names, format!("{path}[*]"), item, true)),
                        ),
                        _ => {}
                    }
                }
            }
            level = next;
        }
    }
    found
}
