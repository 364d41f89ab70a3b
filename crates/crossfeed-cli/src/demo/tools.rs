//! The demo's tools: small but real. They compute their results from the bundled data and the arguments.

use super::page::grouped;
use crate::report::{CommandError, Result};
use bytes::Bytes;
use crossfeed::{Engine, InputSchema, ToolResult};
use miniz_oxide::inflate::decompress_to_vec_zlib;
use serde_json::{Map, Value, json};

/// Every CSS property and its support in browsers, packed by `build.rs`.
const COMPAT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/css-compat.json.zlib"));
/// Every browser and its releases.
const BROWSERS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/browsers.json.zlib"));

/// The data that the tools work on.
pub(super) struct Data {
    compat: Source,
    browsers: Source,
}

/// A JSON document.
struct Source {
    json: Bytes,
    value: Value,
}

impl Source {
    fn unpack(packed: &[u8]) -> Result<Self> {
        let damaged =
            |why: String| CommandError::usage(format!("the bundled data is damaged: {why}"));
        let json = decompress_to_vec_zlib(packed).map_err(|error| damaged(error.to_string()))?;
        Ok(Self {
            value: serde_json::from_slice(&json).map_err(|error| damaged(error.to_string()))?,
            json: json.into(),
        })
    }
}

impl Data {
    pub(super) fn load() -> Result<Self> {
        Ok(Self {
            compat: Source::unpack(COMPAT)?,
            browsers: Source::unpack(BROWSERS)?,
        })
    }

    /// The source of the data.
    pub(super) fn origin(&self) -> String {
        let meta = |key: &str| text(&self.compat.value["meta"], key);
        format!(
            "{} {} ({}), {} + {} bytes",
            meta("source"),
            meta("version"),
            meta("license"),
            grouped(self.compat.json.len()),
            grouped(self.browsers.json.len())
        )
    }
}

/// What a tool returned.
pub(super) enum Output {
    Json(Bytes),
    Text(String),
}

impl Output {
    /// The result as a model would read it.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Json(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Self::Text(text) => text.clone(),
        }
    }

    /// The result to record.
    pub(super) fn to_result(&self) -> ToolResult {
        match self {
            Self::Json(bytes) => ToolResult::json(bytes.clone()),
            Self::Text(text) => ToolResult::text(text.as_str()),
        }
    }
}

impl From<Value> for Output {
    fn from(value: Value) -> Self {
        Self::Json(value.to_string().into())
    }
}

type Run = fn(&Data, &Value) -> Result<Output, String>;

/// A tool: its name, its own input schema, and its function. It does not know about references.
pub(super) struct Tool {
    pub(super) name: &'static str,
    /// Whether it only reads, so that it can be called again without harm.
    pub(super) reads_only: bool,
    pub(super) input_schema: InputSchema,
    pub(super) run: Run,
}

/// All tools, their schemas compiled once.
pub(super) fn all(engine: &Engine) -> Result<Vec<Tool>> {
    let tool = |name, reads_only, schema: Value, run: Run| -> Result<Tool> {
        let input_schema = engine
            .input_schema(&schema)
            .map_err(|error| CommandError::answer(error.code(), error.to_string()))?;
        Ok(Tool {
            name,
            reads_only,
            input_schema,
            run,
        })
    };
    Ok(vec![
        tool(
            "search_compat_data",
            true,
            object(json!({"section": {"enum": ["css.properties"]}})),
            |data, _| Ok(Output::Json(data.compat.json.clone())),
        )?,
        tool("list_browsers", true, object(json!({})), |data, _| {
            Ok(Output::Json(data.browsers.json.clone()))
        })?,
        tool(
            "get_release",
            true,
            object(json!({"browser": {"type": "string"}, "version": {"type": "string"}})),
            get_release,
        )?,
        tool(
            "get_support_table",
            true,
            object(json!({
                "properties": {"type": "array", "items": {"type": "string"}, "minItems": 1},
                "browsers": {"type": "array", "items": {"type": "string"}, "minItems": 1},
            })),
            get_support_table,
        )?,
        tool(
            "file_issues",
            false,
            object(json!({
                "label": {"type": "string"},
                "items": {
                    "type": "array",
                    "items": object(json!({"title": {"type": "string"}, "key": {"type": "string"}})),
                },
            })),
            file_issues,
        )?,
        tool(
            "write_report",
            false,
            object(json!({
                "title": {"type": "string"},
                "as_of": {"type": "string"},
                "rows": {"type": "array", "items": {"type": "object"}},
                "issues": {"type": "array", "items": {"type": "object"}},
            })),
            write_report,
        )?,
    ])
}

/// The schema of an object that has all these properties and no other.
fn object(properties: Value) -> Value {
    let required: Vec<&String> = properties
        .as_object()
        .into_iter()
        .flat_map(Map::keys)
        .collect();
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn get_release(data: &Data, arguments: &Value) -> Result<Output, String> {
    let (id, version) = (text(arguments, "browser"), text(arguments, "version"));
    let browser = find(&data.browsers.value, "items", "id", id)
        .ok_or_else(|| format!("there is no browser `{id}`"))?;
    let release = find(browser, "releases", "version", version)
        .ok_or_else(|| format!("there is no release `{version}` of `{id}`"))?;
    Ok(json!({"browser": browser["name"], "release": release}).into())
}

fn get_support_table(data: &Data, arguments: &Value) -> Result<Output, String> {
    let browsers: Vec<&str> = list(arguments, "browsers")
        .filter_map(Value::as_str)
        .collect();
    let mut rows = Vec::new();
    for name in list(arguments, "properties").filter_map(Value::as_str) {
        let property = find(&data.compat.value, "items", "name", name)
            .ok_or_else(|| format!("there is no property `{name}`"))?;
        let since = |browser: &&str| (browser.to_string(), since(&property["support"][*browser]));
        let support: Map<_, _> = browsers.iter().map(since).collect();
        let supported = support.values().filter(|since| since.is_string()).count();
        rows.push(json!({
            "key": property["key"],
            "name": name,
            "support": support,
            "supported": supported,
        }));
    }
    Ok(json!({"browsers": browsers, "rows": rows}).into())
}

/// The released version since which a browser supports something, without a flag and until today; else `false`.
fn since(statement: &Value) -> Value {
    let latest = match statement {
        Value::Array(statements) => statements.first().unwrap_or(&Value::Null),
        statement => statement,
    };
    let is_limited = latest
        .get("flags")
        .or(latest.get("version_removed"))
        .is_some();
    match &latest["version_added"] {
        Value::String(version) if version != "preview" && !is_limited => version.as_str().into(),
        _ => false.into(),
    }
}

fn file_issues(_: &Data, arguments: &Value) -> Result<Output, String> {
    let filed: Vec<Value> = list(arguments, "items")
        .zip(1..)
        .map(|(item, number)| {
            json!({
                "number": number,
                "title": item["title"],
                "key": item["key"],
                "label": arguments["label"],
            })
        })
        .collect();
    Ok(json!({"count": filed.len(), "filed": filed}).into())
}

fn write_report(_: &Data, arguments: &Value) -> Result<Output, String> {
    let mut report = format!(
        "# {}\n\nAs of {}\n\n| property | ships in | issue |\n|---|---|---|\n",
        text(arguments, "title"),
        text(arguments, "as_of"),
    );
    for row in list(arguments, "rows") {
        let issue = find(arguments, "issues", "key", text(row, "key"))
            .and_then(|issue| issue.get("number"))
            .map_or_else(String::new, |number| format!("#{number}"));
        let support = row["support"].as_object().into_iter().flatten();
        let ships: Vec<String> = support
            .filter_map(|(browser, since)| Some(format!("{browser} {}", since.as_str()?)))
            .collect();
        let name = text(row, "name");
        report.push_str(&format!("| {name} | {} | {issue} |\n", ships.join(", ")));
    }
    Ok(Output::Text(report))
}

fn list<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    value[key].as_array().into_iter().flatten()
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

/// The first item of a list whose key has this text.
fn find<'v>(value: &'v Value, items: &str, key: &str, wanted: &str) -> Option<&'v Value> {
    list(value, items).find(|item| text(item, key) == wanted)
}
