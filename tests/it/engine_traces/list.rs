//! The tables of `specs/telemetry.md`, against what a session emits that does everything.

use super::{
    pipeline::{Exported, exported, text},
    scenario::everything,
};
use crossfeed_core::EngineOptions;
use crossfeed_edit::EditLimits;
use crossfeed_tests::workspace_root;
use opentelemetry::{KeyValue, Value};
use std::{collections::BTreeSet, fs};

/// The rows of all tables of this head, without code marks.
fn rows(page: &str, head: &str) -> BTreeSet<Vec<String>> {
    let tables = page.split(head).skip(1);
    let rows = tables.flat_map(|table| {
        table
            .lines()
            .skip(2)
            .take_while(|line| line.starts_with('|'))
    });
    let cells = |row: &str| {
        let cells = row.trim_matches('|').split(" |");
        cells
            .map(|cell| cell.trim().replace('`', ""))
            .collect::<Vec<_>>()
    };
    let rows: BTreeSet<_> = rows.map(cells).collect();
    assert!(!rows.is_empty(), "no table of {head}");
    rows
}

/// The first columns of rows.
fn first(rows: BTreeSet<Vec<String>>, columns: usize) -> BTreeSet<Vec<String>> {
    let cut = rows.into_iter().map(|mut row| {
        row.truncate(columns);
        row
    });
    cut.collect()
}

fn page() -> String {
    fs::read_to_string(workspace_root().join("specs/telemetry.md")).unwrap()
}

fn owned<const N: usize>(row: [&str; N]) -> Vec<String> {
    row.map(str::to_owned).to_vec()
}

/// The name that a span has before its tool is named.
fn name(span: &str) -> &str {
    if span.starts_with("execute_tool") {
        "execute_tool"
    } else {
        span
    }
}

fn attributes(on: &str, attributes: &[KeyValue], found: &mut BTreeSet<Vec<String>>) {
    for pair in attributes {
        let kind = match &pair.value {
            Value::Bool(_) => "boolean",
            Value::I64(_) => "int",
            Value::F64(_) => "double",
            Value::String(_) => "string",
            _ => "other",
        };
        // These are the bridge's.
        if !["level", "target"].contains(&pair.key.as_str()) {
            found.insert(owned([on, pair.key.as_str(), kind]));
        }
    }
}

fn run() -> Exported {
    let options = EngineOptions::default().with_edits(EditLimits::default());
    exported(options, everything)
}

/// Both are the same, and where not, it is said in which way.
fn check(listed: &BTreeSet<Vec<String>>, found: &BTreeSet<Vec<String>>) {
    let unlisted: Vec<_> = found.difference(listed).collect();
    let unseen: Vec<_> = listed.difference(found).collect();
    assert!(
        unlisted.is_empty() && unseen.is_empty(),
        "emitted, but not listed: {unlisted:#?}\nlisted, but not emitted: {unseen:#?}"
    );
}

#[test]
fn spans_are_those_of_the_list() {
    let mut found = BTreeSet::new();
    for span in run().spans {
        let text = |name| text(&span.attributes, name).unwrap();
        found.insert(owned([name(&span.name), &text("target"), &text("level")]));
    }
    let listed = rows(&page(), "| span | target | level | from, to |");
    check(&first(listed, 3), &found);
}

#[test]
fn attributes_are_those_of_the_list() {
    let mut found = BTreeSet::new();
    for span in run().spans {
        attributes(name(&span.name), &span.attributes, &mut found);
        for event in span.events.iter() {
            attributes(&event.name, &event.attributes, &mut found);
        }
        for link in span.links.iter() {
            attributes("link", &link.attributes, &mut found);
        }
    }
    let listed = rows(&page(), "| on | attribute | type | says |");
    check(&first(listed, 3), &found);
}

#[test]
fn metrics_are_those_of_the_list() {
    let mut found = BTreeSet::new();
    for metric in run().metrics {
        let keys: BTreeSet<_> = metric
            .attributes
            .iter()
            .map(|pair| pair.key.as_str())
            .collect();
        let keys: Vec<_> = keys.into_iter().collect();
        found.insert(owned([
            &metric.name,
            metric.instrument,
            &metric.unit,
            &keys.join(", "),
        ]));
    }
    let listed = rows(
        &page(),
        "| metric | instrument | unit | attributes | measures |",
    );
    let listed = first(listed, 4).into_iter().map(|mut row| {
        // An export does not tell what is observed from what is added up.
        row[1] = row[1].replace("observable ", "");
        row
    });
    check(&listed.collect(), &found);
}
