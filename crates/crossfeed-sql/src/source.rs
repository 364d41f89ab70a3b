//! What of a result becomes a table: lists, and what stands around them.

use crate::csv_text;
use crossfeed_json::{Cursor, Document, Kind};
use std::collections::HashSet;

/// The most tables of one result.
const MAX_TABLES: usize = 64;
/// How deep within objects lists are found.
const MAX_DEPTH: usize = 5;

/// The rows of a table to be.
pub(crate) enum Rows<'d> {
    /// The items of a list.
    Items(Cursor<'d>),
    /// One row: the members of an object, by the names of their columns.
    One(Vec<(String, Cursor<'d>)>),
    /// The lines of a text.
    Lines(String),
    /// A text with values between separators.
    Separated(String, u8),
}

impl Rows<'_> {
    /// Those of a text that is not JSON.
    pub(crate) fn of_text(text: String) -> Self {
        match csv_text::separator(&text) {
            Some(separator) => Self::Separated(text, separator),
            None => Self::Lines(text),
        }
    }
}

/// A text that holds JSON, or one value for each of its lines.
pub(crate) fn embedded_json(text: &str) -> Option<Document> {
    let text = text.trim();
    if !text.starts_with(['{', '[']) {
        return None;
    }
    let whole = Document::new(text.to_owned());
    if whole.root().is_ok() {
        return Some(whole);
    }
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let lines: Vec<&str> = lines.collect();
    let list = Document::new(format!("[{}]", lines.join(",")));
    let is_one_a_line = list
        .root()
        .is_ok_and(|root| root.len() == Some(lines.len()));
    (lines.len() > 1 && is_one_a_line).then_some(list)
}

/// The tables of a result: what follows its name in theirs, and their rows. The first is the result itself, unless it
/// is an object that holds nothing but lists.
pub(crate) fn sources(root: Cursor<'_>) -> Vec<(String, Rows<'_>)> {
    match root.kind() {
        Kind::Array => vec![(String::new(), Rows::Items(root))],
        Kind::Object => {
            let mut found = ListSearch::default();
            found.object(root, "", 0);
            let own = (!found.own.is_empty() || found.lists.is_empty())
                .then(|| (String::new(), Rows::One(found.own)));
            let paths = distinct_all(found.lists.iter().map(|(path, _)| path.as_str()));
            let lists = paths.into_iter().zip(found.lists);
            let lists = lists.map(|(path, (_, list))| (format!("_{path}"), Rows::Items(list)));
            own.into_iter().chain(lists).collect()
        }
        _ => vec![(String::new(), Rows::One(vec![("value".to_owned(), root)]))],
    }
}

#[derive(Default)]
struct ListSearch<'d> {
    own: Vec<(String, Cursor<'d>)>,
    lists: Vec<(String, Cursor<'d>)>,
}

impl<'d> ListSearch<'d> {
    fn object(&mut self, object: Cursor<'d>, around: &str, depth: usize) {
        for (key, value) in object.members() {
            let key = key.text();
            let name = if around.is_empty() {
                key.into_owned()
            } else {
                format!("{around}_{key}")
            };
            match value.kind() {
                Kind::Array if self.lists.len() < MAX_TABLES => self.lists.push((name, value)),
                Kind::Object if holds_lists(value, MAX_DEPTH.saturating_sub(depth + 1)) => {
                    self.object(value, &name, depth + 1);
                }
                _ => self.own.push((name, value)),
            }
        }
    }
}

/// Whether lists stand in an object, not deeper than so many objects.
fn holds_lists(object: Cursor<'_>, depth: usize) -> bool {
    object.members().any(|(_, value)| match value.kind() {
        Kind::Array => true,
        Kind::Object => depth > 0 && holds_lists(value, depth - 1),
        _ => false,
    })
}

/// A name that is not among these yet, to SQLite: with a number where it is. A very long one is cut, and control characters
/// stand in none.
pub(crate) fn distinct(name: &str, names: &mut HashSet<String>) -> String {
    let name = written_name(name);
    if names.insert(name.to_ascii_lowercase()) {
        return name;
    }
    let mut number = 2;
    loop {
        let other = format!("{name}_{number}");
        if names.insert(other.to_ascii_lowercase()) {
            return other;
        }
        number += 1;
    }
}

/// The same of all names of a table: one that is there once stays as it is, whatever the others become.
pub(crate) fn distinct_all<'n>(all: impl Iterator<Item = &'n str> + Clone) -> Vec<String> {
    let mut names: HashSet<String> = all
        .clone()
        .map(|name| written_name(name).to_ascii_lowercase())
        .collect();
    let mut given = HashSet::new();
    all.map(|name| {
        let own = written_name(name);
        if given.insert(own.to_ascii_lowercase()) {
            own
        } else {
            distinct(name, &mut names)
        }
    })
    .collect()
}

/// The beginning of a text, of at most so many bytes and whole characters.
pub(crate) fn start(text: &str, most: usize) -> &str {
    let mut ends = (0..=text.len().min(most)).rev();
    let end = ends.find(|end| text.is_char_boundary(*end));
    &text[..end.unwrap_or_default()]
}

fn written_name(name: &str) -> String {
    const MAX_BYTES: usize = 400;
    let name: String = name
        .chars()
        .map(|c| if c.is_control() { '_' } else { c })
        .collect();
    start(&name, MAX_BYTES).to_owned()
}
