//! Summaries and the inspector: every marker works when it is followed, whatever the schema. What the
//! themes below share is a reading of the lines, and the following of them.

mod corpus;
mod generated;
mod hostile;

use crossfeed_output_schema::{InspectRequest, Inspection, OutputSchema, Summary};
use std::collections::BTreeSet;

/// What a line of a summary is, read back.
#[derive(Debug, PartialEq)]
enum Line {
    Leaf { path: String },
    Contains { path: String, count: usize },
    Unknown { path: String },
    More { path: String, count: usize },
}

fn read(line: &str, tool: &str) -> Line {
    let Some((label, rest)) = line.split_once(" (") else {
        let (path, word) = line.rsplit_once(": ").unwrap();
        assert!(WORDS.contains(&word), "{line}");
        return Line::Leaf {
            path: path.to_owned(),
        };
    };
    let (what, asked) = rest.split_once("inspect_tool_output(tool_id=").unwrap();
    let asked = asked.strip_suffix("))").unwrap();
    let (id, path) = asked.split_once(", field_path=").unwrap();
    assert_eq!(serde_json::from_str::<String>(id).unwrap(), tool, "{line}");
    let path: String = serde_json::from_str(path).unwrap();
    let number = |text: &str, end: &str| text.strip_suffix(end)?.parse().ok();
    if let Some(count) = what
        .strip_prefix('+')
        .and_then(|w| number(w, " more fields; "))
    {
        let label = label.strip_suffix('*').unwrap();
        assert_eq!(label.strip_suffix('.').unwrap_or(label), path, "{line}");
        return Line::More { path, count };
    }
    let (name, word) = label.rsplit_once(": ").unwrap();
    assert!(name == path || (name, &*path) == ("data", ""), "{line}");
    assert!(matches!(word, "object" | "union"), "{line}");
    match what {
        "unknown keys; " => Line::Unknown { path },
        _ => {
            let count = what
                .strip_prefix("contains ")
                .and_then(|w| number(w, " sub-fields; "));
            Line::Contains {
                path,
                count: count.unwrap(),
            }
        }
    }
}

const WORDS: [&str; 10] = [
    "string", "number", "integer", "boolean", "null", "object", "array", "enum", "union", "unknown",
];

fn inspect(schema: &OutputSchema, path: &str) -> Inspection {
    schema.inspect(&InspectRequest::new(path)).unwrap()
}

/// Follows every marker, and counts what the lines leave out.
fn markers_work(tool: &str, schema: &OutputSchema) -> Summary {
    let summary = schema.summary(tool);
    assert_eq!(summary, schema.summary(tool));
    assert!(summary.output_fields.len() <= 30, "{tool}");
    let lines: Vec<_> = summary
        .output_fields
        .iter()
        .map(|line| read(line, tool))
        .collect();
    for (line, text) in lines.iter().zip(&summary.output_fields) {
        match line {
            Line::Leaf { .. } => {}
            Line::Contains { path, count } => {
                let answer = inspect(schema, path);
                assert_eq!(answer.total_child_fields, *count, "{tool}: {text}");
                assert!(*count > 0, "{tool}: {text}");
                assert!(
                    text.contains(&format!(": {} (", answer.node_type)),
                    "{tool}: {text}"
                );
                // Nothing of it is listed.
                let within = |other: &&String| other.starts_with(&format!("{path}."));
                assert_eq!(
                    summary.output_fields.iter().find(within),
                    None,
                    "{tool}: {text}"
                );
            }
            Line::Unknown { path } => {
                assert_eq!(
                    inspect(schema, path).total_child_fields,
                    0,
                    "{tool}: {text}"
                );
            }
            Line::More { path, count } => {
                let listed = children_of(&summary.output_fields, path);
                let total = inspect(schema, path).total_child_fields;
                assert_eq!(listed.len() + count, total, "{tool}: {text}");
                assert!(*count > 0, "{tool}: {text}");
            }
        }
    }
    let distinct: BTreeSet<_> = summary.output_fields.iter().collect();
    assert_eq!(
        distinct.len(),
        lines.len(),
        "{tool}: {:#?}",
        summary.output_fields
    );
    summary
}

/// The names right below a place that lines are about. Names here hold nothing that needs quotes.
fn children_of(lines: &[String], path: &str) -> BTreeSet<String> {
    let prefix = match path {
        "" => String::new(),
        path => format!("{path}."),
    };
    let inside = lines.iter().filter_map(|line| line.strip_prefix(&prefix));
    let names = inside.map(|rest| rest.split(['.', '[', ':', ' ']).next().unwrap().to_owned());
    names.filter(|name| name != "*").collect()
}
/// All children of a place, page by page.
fn all_children(schema: &OutputSchema, path: &str) -> Vec<String> {
    let mut names = Vec::new();
    loop {
        let answer = schema
            .inspect(&InspectRequest::new(path).with_offset(names.len()))
            .unwrap();
        assert!(answer.children.len() <= 80 && answer.flattened_fields.len() <= 120);
        names.extend(answer.children.into_iter().map(|child| child.name));
        match answer.next_offset {
            Some(next) => assert!(next == names.len() && answer.truncated),
            None => return names,
        }
    }
}
