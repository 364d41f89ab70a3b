//! The results that models refer to: real documents, in the shapes in which tools return them.

use crossfeed_core::ToolResult;
use crossfeed_tests::workspace_root;
use serde_json::{Value, json};
use std::fs;

/// How a tool returns a document.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// As its own JSON.
    Json,
    /// As the text part of an MCP result.
    Text,
    /// As `structuredContent`, with the same in a text part.
    Structured,
    /// As a file's text: in a text part, and as the one field `content` of `structuredContent`.
    File,
    /// As a text part with a line of prose before it.
    Parts,
    /// As text that is not JSON.
    Plain,
}

pub(crate) struct Given {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    /// The tool that returned it, and the call.
    pub(crate) tool: &'static str,
    pub(crate) call_id: &'static str,
    /// Whether rules are tuned on it.
    pub(crate) tuned: bool,
    /// What the model reads: a text as a string.
    pub(crate) root: Value,
}

/// A file, its shape, the tool and the call. Every other one is held out.
const FILES: [(&str, Shape, &str, &str); 18] = [
    ("search.json", Shape::Json, "search_issues", "call_3"),
    ("browsers.json", Shape::Json, "list_browsers", "call_4"),
    (
        "issues.json",
        Shape::Text,
        "list_issues",
        "toolu_01A9fKq2ZtVxW8mRbN3cYpLd",
    ),
    ("releases.json", Shape::File, "read_text_file", "call_12"),
    (
        "repository.json",
        Shape::Json,
        "get_repository",
        "call_h7Qz0bXkV3mTnR9sLcWfJd2A",
    ),
    (
        "statuses.json",
        Shape::Structured,
        "get_combined_status",
        "call_2",
    ),
    (
        "offerings.json",
        Shape::Structured,
        "describe_offerings",
        "call_7",
    ),
    (
        "faces.json",
        Shape::Text,
        "list_faces",
        "toolu_01QmH4sBv7dXkT2nPzR8wLcE",
    ),
    ("atlas.json", Shape::File, "read_file", "call_5"),
    (
        "types.json",
        Shape::Json,
        "mime_types",
        "call_JkP2vN8xQ4rT6yU1wZ3sB5dF",
    ),
    ("countries.json", Shape::Text, "get_countries", "call_9"),
    (
        "table.json",
        Shape::Json,
        "run_query",
        "toolu_01ZxC5vB2nM8kL4jH7gF1dSa",
    ),
    ("issues.json", Shape::Parts, "list_issues", "call_6"),
    ("log.txt", Shape::Plain, "git_log", "call_8"),
    ("releases.csv", Shape::Plain, "export_csv", "call_11"),
    (
        "change.diff",
        Shape::Plain,
        "git_diff",
        "toolu_01Lk3Jh6Gf9Ds2Aq5Wz8Xe1R",
    ),
    (
        "statuses.json",
        Shape::Parts,
        "get_combined_status",
        "call_13",
    ),
    (
        "offerings.json",
        Shape::Parts,
        "describe_offerings",
        "call_14",
    ),
];

impl Given {
    pub(crate) fn all() -> Vec<Self> {
        let folder = workspace_root().join("tests/corpora/results");
        let read = |(index, (name, shape, tool, call_id)): (usize, _)| {
            let text = fs::read_to_string(folder.join(name)).unwrap();
            let root = match shape {
                Shape::Plain => Value::from(text),
                _ => serde_json::from_str(&text).unwrap(),
            };
            let tuned = index % 2 == 0;
            Self {
                name,
                shape,
                tool,
                call_id,
                tuned,
                root,
            }
        };
        FILES.into_iter().enumerate().map(read).collect()
    }

    /// The document as its tool returned it.
    pub(crate) fn result(&self) -> ToolResult {
        let part = |text: &str| json!({"type": "text", "text": text});
        let text = match &self.root {
            Value::String(text) => text.clone(),
            root => root.to_string(),
        };
        let result = match self.shape {
            Shape::Json => ToolResult::json(text),
            Shape::Text | Shape::Plain => {
                ToolResult::mcp(json!({"content": [part(&text)]}).to_string())
            }
            Shape::Structured => ToolResult::mcp(
                json!({"content": [part(&text)], "structuredContent": self.root}).to_string(),
            ),
            Shape::File => ToolResult::mcp(
                json!({"content": [part(&text)], "structuredContent": {"content": text}})
                    .to_string(),
            ),
            Shape::Parts => ToolResult::mcp(
                json!({"content": [part("Found 10 entries."), part(&text)]}).to_string(),
            ),
        };
        result.with_tool(self.tool)
    }
}
