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
    /// A list, within the one key `result` of `structuredContent`, and alone in a text part.
    Wrapped,
}

pub(crate) struct Given {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    /// The tool that returned it, and the call.
    pub(crate) tool: &'static str,
    pub(crate) call_id: &'static str,
    /// Whether rules are tuned on it.
    pub(crate) is_tuned: bool,
    /// Whether all kinds of goals are asked of it.
    pub(crate) asks_more: bool,
    /// What the model reads: a text as a string.
    pub(crate) root: Value,
}

/// A file, its shape, the tool and the call.
type File = (&'static str, Shape, &'static str, &'static str);

/// Those on which rules are tuned.
const TUNED: [File; 18] = [
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

/// Others on which rules are tuned, of which more is asked.
const FURTHER: [File; 13] = [
    ("css.json", Shape::Structured, "css_properties", "call_15"),
    (
        "licences.json",
        Shape::Text,
        "list_licences",
        "toolu_01Hb7Yt5Rd3Es9Wq2Az4Xc6V",
    ),
    ("emoji.json", Shape::Wrapped, "search_emoji", "call_16"),
    (
        "quakes.json",
        Shape::Json,
        "recent_earthquakes",
        "call_Zx8Cv6Bn4Mq2Lk0Jh9Gf7Dd5",
    ),
    (
        "introspection.json",
        Shape::Text,
        "graphql_query",
        "call_17",
    ),
    (
        "manifest.json",
        Shape::File,
        "read_text_file",
        "toolu_01Vb6Nm4Kj2Hg8Fd1Sa3Qw5E",
    ),
    ("territories.json", Shape::Json, "territory_info", "call_18"),
    ("feed.json", Shape::Structured, "fetch_feed", "call_19"),
    ("openapi.json", Shape::Parts, "get_openapi", "call_20"),
    (
        "builds.json",
        Shape::Json,
        "batch_get_builds",
        "call_Qa2Ws4Ed6Rf8Tg0Yh1Uj3Ik5",
    ),
    ("weather.csv", Shape::Plain, "query_weather", "call_21"),
    (
        "rules.md",
        Shape::Plain,
        "fetch_page",
        "toolu_01Rt5Yu7Io9Pl3Kj1Hg6Fd2S",
    ),
    ("patch.diff", Shape::Plain, "get_patch", "call_22"),
];

/// Those on which nothing is tuned.
const HELD_OUT: [File; 13] = [
    ("elements.json", Shape::Wrapped, "run_sql", "call_23"),
    (
        "timezones.json",
        Shape::Text,
        "list_time_zones",
        "toolu_01Gf5Ds4Aq3Wz2Xe1Rc9Vt8B",
    ),
    (
        "zones.json",
        Shape::Json,
        "zone_metadata",
        "call_Nm7Bv5Cx3Zl1Kj9Hg8Fd6Sa4",
    ),
    ("currencies.json", Shape::File, "read_file", "call_24"),
    ("report.json", Shape::Structured, "run_tests", "call_25"),
    (
        "bom.json",
        Shape::Text,
        "generate_sbom",
        "toolu_01Pq8Wm6En4Rb2Tv0Yc9Ux7Z",
    ),
    (
        "records.json",
        Shape::Structured,
        "get_stream_records",
        "call_26",
    ),
    ("penguins.json", Shape::Parts, "query_dataset", "call_27"),
    (
        "report.json",
        Shape::File,
        "read_text_file",
        "call_Tg4Rf2Ed0Ws8Qa6Zx5Cv3Bn1",
    ),
    ("airports.csv", Shape::Plain, "export_table", "call_28"),
    (
        "calendar.ics",
        Shape::Plain,
        "get_calendar",
        "toolu_01Oi9Uy7Tr5Ew3Qa1Sd8Fg6H",
    ),
    ("workflow.yml", Shape::Plain, "get_file_contents", "call_29"),
    ("changelog.md", Shape::Plain, "fetch_url", "call_30"),
];

impl Given {
    pub(crate) fn all() -> Vec<Self> {
        let folder = workspace_root().join("tests/corpora/results");
        let read = |(is_tuned, asks_more, file): (bool, bool, File)| {
            let (name, shape, tool, call_id) = file;
            let text = fs::read_to_string(folder.join(name)).unwrap();
            let root = match shape {
                Shape::Plain => Value::from(text),
                _ => serde_json::from_str(&text).unwrap(),
            };
            Self {
                name,
                shape,
                tool,
                call_id,
                is_tuned,
                asks_more,
                root,
            }
        };
        let tuned = TUNED.into_iter().map(|file| (true, false, file));
        let further = FURTHER.into_iter().map(|file| (true, true, file));
        let held_out = HELD_OUT.into_iter().map(|file| (false, true, file));
        tuned.chain(further).chain(held_out).map(read).collect()
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
            Shape::Wrapped => ToolResult::mcp(
                json!({"content": [part(&self.root["result"].to_string())], "structuredContent": self.root})
                    .to_string(),
            ),
            Shape::Parts => ToolResult::mcp(
                json!({"content": [part("Found 10 entries."), part(&text)]}).to_string(),
            ),
        };
        result.with_tool(self.tool)
    }
}
