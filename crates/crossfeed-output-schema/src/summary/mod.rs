//! Sums an output schema up in at most 30 lines; the inspector answers the markers among them.
//!
//! # Lines
//!
//! A leaf has the line `path: type`. A marker stands for fields that are not listed; the inspector takes the
//! path of a marker:
//!
//! | line | meaning |
//! |---|---|
//! | `variants[]: object (contains 15 sub-fields; …)` | a branch of which nothing is listed; N counts its immediate children |
//! | `metadata: object (unknown keys; …)` | an open object |
//! | `body.* (+12 more fields; …)` | the children of a branch that have no line, neither of their own nor within |
//! | `* (+9 more fields; …)` | the same of the root |
//! | `result: union (contains 4 sub-fields; …)` | a union with an object branch; the children of all branches |
//!
//! A branch that is listed wholly needs no line. A place that stands within itself (recursion) is a
//! branch of which nothing is listed. A field whose path would be longer than a path may be has no
//! line: its parent counts it.
//!
//! # Order
//!
//! Where all leaves lie within three names and are at most 30: they, in the source's order. Else
//! first the root's fields (the marker of a branch that is listed in part stands at its place), then
//! well-known leaves at any depth, the nearest first, then everything else within three names,
//! breadth first, until 30 lines are full. The root's own marker is the last line.

mod lines;
mod tree;

#[cfg(test)]
mod tests;

use super::{OutputSchema, read::Reader};
use lines::Lines;
use serde_json::{Value, json};
use tree::Tree;

/// How many lines there are at most.
const MAX_LINES: usize = 30;
/// Names on the way to a field that is listed whatever it is called.
const DEPTH: usize = 3;
/// Leaves that are listed at any depth, beside those that end in `_id`.
const WELL_KNOWN: [&str; 12] = [
    "id",
    "name",
    "title",
    "status",
    "type",
    "url",
    "email",
    "price",
    "amount",
    "created",
    "updated",
    "timestamp",
];

/// Lines about what a tool returns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// At most 30 lines, markers included.
    pub output_fields: Vec<String>,
    /// Whether something is hidden: a branch that is folded or cut, an open object, a union with an
    /// object branch. It is exactly where a line is a marker, or the whole value is an open object,
    /// which has no line. `{}` hides nothing, as it describes nothing.
    pub has_hidden_fields: bool,
}

impl Summary {
    /// `{"output_fields": […], "has_hidden_fields": bool}`
    pub fn to_value(&self) -> Value {
        json!({
            "output_fields": self.output_fields,
            "has_hidden_fields": self.has_hidden_fields,
        })
    }
}

impl OutputSchema {
    /// Sums the schema up, for a prompt. Markers name the tool by `tool_id`.
    ///
    /// ```
    /// use crossfeed_output_schema::OutputSchema;
    /// use serde_json::json;
    ///
    /// let mut body = json!({"type": "object", "properties": {}});
    /// for number in 0..40 {
    ///     body["properties"][format!("f{number}")] = json!({"type": "number"});
    /// }
    /// let schema = OutputSchema::new(json!({"properties": {"ok": {"type": "boolean"}, "body": body}}));
    /// let lines = schema.summary("T").output_fields;
    /// assert_eq!(lines.len(), 30);
    /// assert_eq!(lines[0], "ok: boolean");
    /// assert_eq!(
    ///     lines[1],
    ///     r#"body.* (+12 more fields; inspect_tool_output(tool_id="T", field_path="body"))"#
    /// );
    /// assert_eq!(lines[2], "body.f0: number");
    /// ```
    pub fn summary(&self, tool_id: &str) -> Summary {
        let reader = Reader::new(self);
        let tree = Tree::new(&reader);
        let mut lines = Lines::new(tree);
        if !lines.list_leaves() {
            lines.list_root();
            lines.list_well_known();
            lines.fill();
        }
        lines.written(tool_id)
    }
}

fn is_well_known(name: &str) -> bool {
    WELL_KNOWN.contains(&name) || name.ends_with("_id")
}
