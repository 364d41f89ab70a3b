//! Lists, decisions, and arguments read back.

mod costs;
mod decided;
mod folds;
mod laws;
mod nulls;

use super::{ListOptions, RewrittenList, rewrite_tools};
use crate::{Style, ToolList};
use serde_json::{Value, json};

fn list(document: &Value, options: &ListOptions) -> RewrittenList {
    let list = ToolList::parse(document).unwrap();
    let listed = rewrite_tools(&list, options);
    // The same again, byte for byte.
    let again = rewrite_tools(&list, options);
    assert_eq!(again.value.to_string(), listed.value.to_string());
    assert!(again.decisions().eq(listed.decisions()));
    listed
}

fn object(properties: Value, required: Value) -> Value {
    json!({"type": "object", "properties": properties, "required": required})
}

fn tool(name: &str, schema: Value) -> Value {
    json!({"name": name, "description": "d", "inputSchema": schema})
}

/// A tool with so many optional parameters.
fn optionals(name: &str, count: usize) -> Value {
    let properties: serde_json::Map<_, _> = (0..count)
        .map(|n| (format!("p{n}"), json!({"type": "string"})))
        .collect();
    tool(name, object(Value::Object(properties), json!([])))
}

fn decisions(listed: &RewrittenList) -> Vec<(&str, Option<&str>, Option<bool>, &str)> {
    listed
        .decisions()
        .map(|d| {
            (
                d.tool.as_str(),
                d.style.map(Style::as_str),
                d.strict,
                d.why.as_str(),
            )
        })
        .collect()
}

/// Reads arguments back in a style, or under a profile.
fn read(schema: &Value, options: &ListOptions, arguments: Value) -> Result<Value, Vec<String>> {
    let listed = list(&json!([tool("t", schema.clone())]), options);
    let tool = &listed.tools[0];
    assert!(
        tool.error().is_none() && tool.style().is_some(),
        "{:?}",
        tool.decision()
    );
    tool.read(arguments)
        .map_err(|errors| errors.iter().map(|e| format!("{} {e}", e.at())).collect())
}

fn check(
    schema: &Value,
    options: &ListOptions,
    arguments: Value,
    expected: Result<Value, &[&str]>,
) {
    let read = read(schema, options, arguments.clone());
    let expected = expected.map_err(|errors| errors.iter().map(ToString::to_string).collect());
    assert_eq!(read, expected, "{arguments}");
}
