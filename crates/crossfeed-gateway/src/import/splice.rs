//! Replaces entries of a table in a text of JSON, leaving every other byte alone.

use crate::config::node::Entry;
use std::collections::BTreeSet;

/// How a table is written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Style<'t> {
    /// What stands before an entry on its line; none where entries share lines.
    indent: Option<&'t str>,
    /// One step further in.
    step: &'static str,
    /// What ends a line.
    newline: &'static str,
}

impl<'t> Style<'t> {
    fn detect(text: &'t str, entry: &Entry) -> Self {
        let before = text.get(..entry.key_span.start).unwrap_or_default();
        let line = before.rsplit_once('\n').map(|(_, line)| line);
        let indent = line.filter(|line| line.trim().is_empty());
        let step = match indent {
            Some(indent) if indent.contains('\t') => "\t",
            Some(indent) if indent.len() % 4 == 0 && !text.contains("\n  \"") => "    ",
            _ => "  ",
        };
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        Self {
            indent,
            step,
            newline,
        }
    }

    /// An entry as the table writes them.
    pub(super) fn entry(&self, name: &str, value: &serde_json::Value) -> String {
        let Some(indent) = self.indent else {
            return format!("{}: {value}", serde_json::Value::from(name));
        };
        let pretty = format!("{:#}", serde_json::json!({ name: value }));
        // The braces around it go, and one step with them.
        let mut lines = pretty.lines().skip(1).collect::<Vec<_>>();
        lines.pop();
        let line = |line: &&str| {
            let line = line.strip_prefix("  ").unwrap_or(line);
            let text = line.trim_start_matches(' ');
            self.step.repeat((line.len() - text.len()) / 2) + text
        };
        let lines: Vec<_> = lines.iter().map(line).collect();
        lines.join(&format!("{}{indent}", self.newline))
    }

    /// Entries of another text, moved in or out to stand among those of this one.
    pub(super) fn reindent(&self, entries: &str, from: &str, first: &[&Entry]) -> String {
        let other = first.first().map(|entry| Style::detect(from, entry));
        let (Some(here), Some(there)) = (self.indent, other.and_then(|other| other.indent)) else {
            return entries.to_owned();
        };
        if here == there {
            return entries.to_owned();
        }
        let line = |line: &str| match line.strip_prefix(there) {
            Some(line) => format!("{here}{line}"),
            None => line.to_owned(),
        };
        let lines: Vec<_> = entries.split('\n').map(line).collect();
        lines.join("\n")
    }
}

/// How the first of the entries that go is written.
pub(super) fn style<'t>(
    text: &'t str,
    entries: &[Entry],
    gone: &BTreeSet<&str>,
) -> Option<Style<'t>> {
    let mut entries = entries.iter();
    let first = entries.find(|entry| gone.contains(entry.key.as_str()))?;
    Some(Style::detect(text, first))
}

/// The text with `put` in place of the entries that go; none if none of them is there.
pub(super) fn replace(
    text: &str,
    entries: &[Entry],
    gone: &BTreeSet<&str>,
    put: &str,
) -> Option<String> {
    let goes = |index: &usize| {
        let entry = entries.get(*index);
        entry.is_some_and(|entry| gone.contains(entry.key.as_str()))
    };
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for index in (0..entries.len()).filter(goes) {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == index => *last = index,
            _ => runs.push((index, index)),
        }
    }
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    let mut put = Some(put);
    for (first, last) in runs {
        let (head, tail) = (entries.get(first)?, entries.get(last)?);
        let (start, end, new) = match put.take() {
            Some(put) => (head.key_span.start, tail.node.span.end, put),
            // The comma goes with them: that behind, or the one before where they are the last.
            None => match (entries.get(last + 1), first.checked_sub(1)) {
                (Some(next), _) => (head.key_span.start, next.key_span.start, ""),
                (None, before) => {
                    let before = entries.get(before?)?;
                    (before.node.span.end, tail.node.span.end, "")
                }
            },
        };
        out.push_str(text.get(at..start)?);
        out.push_str(new);
        at = end;
    }
    if put.is_some() {
        return None;
    }
    out.push_str(text.get(at..)?);
    Some(out)
}

/// Entries as they stand in a text: with what is between those that stand together, comments included.
pub(super) fn joined(text: &str, entries: &[Entry], picked: &BTreeSet<&str>) -> String {
    let is_picked = |entry: &&Entry| picked.contains(entry.key.as_str());
    let Some(style) = style(text, entries, picked) else {
        return String::new();
    };
    let between = match style.indent {
        Some(indent) => format!(",{}{indent}", style.newline),
        None => ", ".to_owned(),
    };
    let mut joined = String::new();
    let mut last: Option<&Entry> = None;
    for entry in entries {
        if !is_picked(&entry) {
            last = None;
            continue;
        }
        match last {
            Some(last) => {
                let gap = text.get(last.node.span.end..entry.key_span.start);
                joined.push_str(gap.unwrap_or_default());
            }
            None if joined.is_empty() => {}
            None => joined.push_str(&between),
        }
        let written = text.get(entry.key_span.start..entry.node.span.end);
        joined.push_str(written.unwrap_or_default());
        last = Some(entry);
    }
    joined
}

/// Whether there are comments in entries that go, or beside them.
pub(super) fn loses(text: &str, entries: &[Entry], gone: &BTreeSet<&str>) -> bool {
    let goes = |entry: &Entry| gone.contains(entry.key.as_str());
    let commented = |text: &str| {
        let blank = |c: char| c.is_whitespace() || c == ',';
        !text.trim_matches(blank).is_empty()
    };
    let within = entries.iter().filter(|entry| goes(entry)).any(|entry| {
        let server = text.get(entry.node.span.clone()).unwrap_or_default();
        serde_json::from_str::<serde::de::IgnoredAny>(server).is_err()
    });
    within
        || entries.windows(2).any(|pair| match pair {
            [one, next] if goes(one) || goes(next) => {
                let gap = text.get(one.node.span.end..next.key_span.start);
                gap.is_some_and(commented)
            }
            _ => false,
        })
}
