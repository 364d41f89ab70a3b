//! Converts lists to another provider's shape.

use super::{Tool, ToolList, find, list::has_properties};
use crate::Shape;
use serde_json::{Map, Value, json};

/// A list in another shape, and what that has no place for.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Converted {
    /// The list.
    pub list: ToolList,
    /// The member that is dropped.
    pub lost: Vec<UnsupportedField>,
}

/// A field, or a whole tool, that the other shape has no place for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UnsupportedField {
    /// The tool; empty for what stood beside the list.
    pub tool: String,
    /// The field; `None` where the whole tool has no counterpart.
    pub field: Option<String>,
}

impl UnsupportedField {
    fn field(tool: &str, field: &str) -> Self {
        Self {
            tool: tool.to_owned(),
            field: Some(field.to_owned()),
        }
    }
}

impl ToolList {
    /// The list as another provider takes it. A list that is in that shape stays as it is.
    pub fn to_shape(&self, shape: Shape) -> Converted {
        if self.tools().all(|tool| tool.shape() == shape) {
            return Converted {
                list: self.clone(),
                lost: Vec::new(),
            };
        }
        let mut lost = Vec::new();
        if let Value::Object(document) = &self.document
            && self.tools().all(|tool| !tool.at().as_str().is_empty())
        {
            let holds_tools = |key: &str| {
                matches!(
                    key,
                    "tools" | "result" | "functionDeclarations" | "function_declarations"
                )
            };
            let beside = document.keys().filter(|key| !holds_tools(key));
            lost.extend(beside.map(|key| UnsupportedField::field("", key)));
        }
        lost.extend(self.passed().iter().map(|passed| UnsupportedField {
            tool: passed.name.clone(),
            field: None,
        }));
        let tools: Vec<_> = self
            .tools()
            .map(|tool| converted(&tool, shape, &mut lost))
            .collect();
        let document = match shape {
            Shape::Mcp => json!({ "tools": tools }),
            Shape::Gemini => json!([{ "functionDeclarations": tools }]),
            _ => Value::Array(tools),
        };
        let entries = find::entries(&document).unwrap_or_default();
        Converted {
            list: Self::from_entries(document, entries),
            lost,
        }
    }
}

fn converted(tool: &Tool<'_>, shape: Shape, lost: &mut Vec<UnsupportedField>) -> Value {
    let mut out = Map::new();
    if shape == Shape::OpenAiResponses {
        out.insert("type".to_owned(), Value::from("function"));
    }
    out.insert("name".to_owned(), Value::from(tool.name()));
    if let Some(description) = tool.description() {
        out.insert("description".to_owned(), Value::from(description));
    }
    let schema = tool.input_schema();
    // Gemini refuses an object without properties; a function without parameters has no schema.
    if shape != Shape::Gemini || has_properties(&schema) {
        out.insert(shape.schema_key().to_owned(), schema.into_owned());
    }
    let strict = tool.strict().filter(|_| shape.has_strict());
    if let Some(strict) = strict {
        out.insert("strict".to_owned(), Value::Bool(strict));
    }
    // The title takes the place of a missing description.
    let said = |key: &str| match key {
        "name" | "description" | "type" => true,
        "title" => out.get("description").is_some_and(|said| {
            let mut members = tool.members();
            members.any(|(key, value)| key == "title" && value == said)
        }),
        "strict" => strict.is_some() || tool.strict() == Some(false),
        key => find::GEMINI_SCHEMAS.contains(&key) || key == "input_schema",
    };
    let unsaid = tool.members().filter(|(key, _)| !said(key));
    lost.extend(unsaid.map(|(key, _)| UnsupportedField::field(tool.name(), key)));
    match shape {
        Shape::OpenAiChat => json!({"type": "function", "function": out}),
        _ => Value::Object(out),
    }
}
