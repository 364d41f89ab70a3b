//! A request to the inspector, and the inspector as a tool of a list.

use super::InspectError;
use derive_setters::Setters;
use serde_json::{Value, json};

/// The name of the inspector among the tools.
pub const INSPECTOR: &str = "inspect_tool_output";

/// How deep the lines go by default: what a summary folds is mostly one or two levels
/// more.
const DEFAULT_DEPTH: usize = 4;
/// How many lines there are by default: some thousand tokens at most.
const DEFAULT_FIELDS: usize = 120;

/// The place to describe, and how much of it.
#[derive(Clone, Debug, PartialEq, Eq, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct InspectRequest {
    /// The place, as a path; empty for the whole value, as it is by default.
    #[setters(into)]
    pub field_path: String,
    /// How many names deep the lines go: 4 by default.
    pub max_depth: usize,
    /// How many lines there are at most: 120 by default.
    pub max_fields: usize,
    /// How many children are left aside: 0 by default.
    pub offset: usize,
}

impl Default for InspectRequest {
    fn default() -> Self {
        Self {
            field_path: String::new(),
            max_depth: DEFAULT_DEPTH,
            max_fields: DEFAULT_FIELDS,
            offset: 0,
        }
    }
}

impl InspectRequest {
    /// A request for a place, with defaults for the rest.
    pub fn new(field_path: impl Into<String>) -> Self {
        Self {
            field_path: field_path.into(),
            ..Self::default()
        }
    }

    /// Reads the arguments of a call. A parameter that is missing or null has its default; `tool_id` and
    /// other parameters are the host's.
    ///
    /// # Errors
    ///
    /// [`InspectError::Arguments`] for arguments that are not an object, a path that is not a string, and a
    /// count that is not a non-negative integer.
    pub fn parse(arguments: &Value) -> Result<Self, InspectError> {
        let wrong = |parameter, expected| InspectError::Arguments {
            parameter,
            expected,
        };
        if !(arguments.is_object() || arguments.is_null()) {
            return Err(wrong("arguments", "an object"));
        }
        let given = |name: &str| arguments.get(name).filter(|value| !value.is_null());
        let number = |name: &'static str, usual: usize| match given(name) {
            None => Ok(usual),
            Some(value) => whole(value).ok_or(wrong(name, "an integer from 0 on")),
        };
        let field_path = match given("field_path") {
            None => "",
            Some(Value::String(path)) => path,
            Some(_) => return Err(wrong("field_path", "a string")),
        };
        Ok(Self {
            field_path: field_path.to_owned(),
            max_depth: number("max_depth", DEFAULT_DEPTH)?,
            max_fields: number("max_fields", DEFAULT_FIELDS)?,
            offset: number("offset", 0)?,
        })
    }
}

/// A count: `4`, `4.0`, and as models write it `"4"`. What no machine counts to is the most it can.
fn whole(value: &Value) -> Option<usize> {
    let clamped = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    match value {
        Value::Number(number) => number.as_u64().map(clamped).or_else(|| {
            let float = number.as_f64()?;
            // The cast holds at the ends.
            (float >= 0.0 && float.fract() == 0.0).then_some(float as usize)
        }),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// The inspector as a tool, in the shape of MCP's `tools/list`.
///
/// ```
/// use crossfeed_output_schema::{INSPECTOR, inspector};
/// use serde_json::json;
///
/// let tool = inspector();
/// assert_eq!(tool["name"], INSPECTOR);
/// assert_eq!(tool["inputSchema"]["required"], json!(["tool_id", "field_path"]));
/// ```
pub fn inspector() -> Value {
    json!({
        "name": INSPECTOR,
        "description": "Shows the fields of a tool's output, one place at a time, without running the tool.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "tool_id": {
                    "type": "string",
                    "description": "the tool whose output is looked into",
                },
                "field_path": {
                    "type": "string",
                    "description": "a place of the output, such as `items[].author`; empty for the whole",
                },
                "max_depth": {"type": "integer", "minimum": 0, "default": DEFAULT_DEPTH},
                "max_fields": {"type": "integer", "minimum": 0, "default": DEFAULT_FIELDS},
                "offset": {
                    "type": "integer",
                    "minimum": 0,
                    "default": 0,
                    "description": "how many children to leave aside: `next_offset` of the answer before",
                },
            },
            "required": ["tool_id", "field_path"],
            "additionalProperties": false,
        },
        "outputSchema": {
            "type": "object",
            "properties": {
                "node_type": {"type": "string"},
                "children": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {"name": {"type": "string"}, "type": {"type": "string"}},
                        "required": ["name", "type"],
                    },
                },
                "flattened_fields": {"type": "array", "items": {"type": "string"}},
                "total_child_fields": {"type": "integer"},
                "truncated": {"type": "boolean"},
                "next_offset": {"type": "integer"},
            },
            "required": [
                "node_type",
                "children",
                "flattened_fields",
                "total_child_fields",
                "truncated",
            ],
        },
    })
}
