//! What is asked of whom: the documents, and for each the expressions that make sense on it.
//!
//! Deliberately not here: how peers are asked, and what they answered.

use bytes::Bytes;
use crossfeed_benches::data;
use crossfeed_json::Cursor;

/// A kind of document with its expressions.
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    pub(crate) document: fn(usize) -> Bytes,
    /// The expressions, which may depend on how many items or members there are.
    pub(crate) rows: fn(Cursor<'_>) -> Vec<Row>,
}

/// One question in both languages.
pub(crate) struct Row {
    /// As tables name it.
    pub(crate) title: String,
    pub(crate) jmespath: String,
    pub(crate) jq: String,
    /// Why an answer of jq's language may be another one, where that is known beforehand: such
    /// answers are timed and marked.
    pub(crate) excuse: Option<&'static str>,
}

impl Row {
    fn new(jmespath: impl Into<String>, jq: impl Into<String>) -> Self {
        let jmespath = jmespath.into();
        Self {
            title: jmespath.clone(),
            jmespath,
            jq: jq.into(),
            excuse: None,
        }
    }
}

/// All documents.
pub(crate) const SHAPES: [Shape; 4] = [
    Shape {
        name: "records",
        document: data::records,
        rows: records,
    },
    Shape {
        name: "nested",
        document: data::nested,
        rows: nested,
    },
    Shape {
        name: "wide",
        document: data::wide,
        rows: wide,
    },
    Shape {
        name: "mixed",
        document: data::mixed,
        rows: mixed,
    },
];

fn records(root: Cursor<'_>) -> Vec<Row> {
    let count = root.get("items").and_then(Cursor::len).unwrap_or_default();
    let middle = count / 2;
    vec![
        Row::new("metadata.total", ".metadata.total"),
        Row::new("items[0]", ".items[0]"),
        Row::new("items[-1]", ".items[-1]"),
        Row::new(format!("items[{middle}]"), format!(".items[{middle}]")),
        Row::new("items[*].title", "[.items[].title]"),
        Row::new(
            "items[?score > `0.8`].{title: title, url: url}",
            "[.items[] | select(.score > 0.8) | {title, url}]",
        ),
        Row::new(
            "items[?author.verified].url",
            "[.items[] | select(.author.verified) | .url]",
        ),
        Row::new(
            "sort_by(items, &score)[-5:].title",
            "[.items | sort_by(.score)[-5:][].title]",
        ),
        Row {
            excuse: Some("of equal items the last one is taken, not the first"),
            ..Row::new(
                "max_by(items, &score).title",
                ".items | max_by(.score).title",
            )
        },
        Row::new("length(items)", ".items | length"),
    ]
}

fn nested(root: Cursor<'_>) -> Vec<Row> {
    let middle = root.len().unwrap_or_default() / 2;
    let (steps, jq_steps) = ("[0].in".repeat(60), "[0].in".repeat(60));
    vec![
        Row::new(format!("[{middle}]"), format!(".[{middle}]")),
        Row {
            title: format!("[{middle}][0].in[0].in … (120 steps)"),
            ..Row::new(
                format!("[{middle}]{steps}"),
                format!(".[{middle}]{jq_steps}"),
            )
        },
        Row {
            title: String::from("[*][0].in[0].in … (120 steps each)"),
            ..Row::new(format!("[*]{steps}"), format!("[.[]{jq_steps}]"))
        },
        Row::new("length(@)", "length"),
    ]
}

fn wide(root: Cursor<'_>) -> Vec<Row> {
    let count = root.len().unwrap_or_default();
    let key = |number: usize| {
        let key = format!(r#""user-{number:07}""#);
        Row::new(key.clone(), format!(".{key}"))
    };
    vec![
        key(0),
        key(count / 2),
        key(count.saturating_sub(1)),
        Row::new(r#""user-none""#, r#"."user-none""#),
        Row::new("length(keys(@))", "keys_unsorted | length"),
    ]
}

fn mixed(root: Cursor<'_>) -> Vec<Row> {
    let middle = root.len().unwrap_or_default() / 2;
    vec![
        Row::new(format!("[{middle}]"), format!(".[{middle}]")),
        Row::new(
            "[?kind == 'note'].text",
            r#"[.[] | objects | select(.kind == "note") | .text]"#,
        ),
        Row::new("[].rows[].label", "[.[] | objects | .rows[]? | .label]"),
        Row::new(
            "[?kind == 'series'].{kind: kind, sum: sum(values)}",
            r#"[.[] | objects | select(.kind == "series") | {kind, sum: (.values | add)}]"#,
        ),
        Row::new(
            "[?author.verified].author.name",
            "[.[] | objects | select(.author.verified) | .author.name]",
        ),
    ]
}
