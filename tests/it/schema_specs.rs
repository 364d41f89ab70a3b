//! The examples of `specs/schemas.md`: how one schema is shown in one style.

use crate::own_suite::{Group, Outcome};
use crossfeed_schema::{Style, rewrite};
use serde::Deserialize;
use serde_json::{Value, json};

/// ```` ```json schemas ````: schemas and how they are shown.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Schemas {
    #[serde(rename = "about")]
    _about: String,
    style: String,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    schema: Value,
    /// What is expected of the whole but its `$defs`, or of one parameter.
    shown: Option<Value>,
    parameter: Option<String>,
    /// The place of what makes it no schema.
    invalid: Option<String>,
}

impl Group for Schemas {
    fn judge(&self, outcome: &mut dyn FnMut(&str, Outcome)) {
        let style: Style = self.style.parse().unwrap();
        for case in &self.cases {
            outcome(&case.name, judge(style, case));
        }
    }
}

fn judge(style: Style, case: &Case) -> Outcome {
    let rewritten = rewrite(&case.schema, style, style.spelling());
    let expected = match (&case.shown, &case.invalid) {
        (Some(shown), None) => written_out(shown),
        (None, Some(at)) => {
            let error = rewritten.err().ok_or("it is rewritten")?;
            let found = error.at().map(ToString::to_string).unwrap_or_default();
            return match found == *at {
                true => Ok(()),
                false => Err(format!("{error}: at `{found}`, not at `{at}`")),
            };
        }
        _ => panic!("`{}`: one of shown, invalid", case.name),
    };
    let mut shown = rewritten.map_err(|error| error.to_string())?.schema;
    if let Some(parameter) = &case.parameter {
        shown = shown["properties"][parameter].take();
    } else if let Value::Object(shown) = &mut shown {
        shown.shift_remove("$defs");
    }
    match shown.to_string() == expected.to_string() {
        true => Ok(()),
        false => Err(format!("it is shown as {shown}")),
    }
}

/// The abbreviations of the page, written out.
fn written_out(value: &Value) -> Value {
    match value {
        Value::String(text) if text == "R" => json!({"$ref": "#/$defs/tool_reference"}),
        Value::String(text) if text == "any" => {
            json!({"type": ["string", "number", "boolean", "object", "array", "null"]})
        }
        Value::Array(items) => items.iter().map(written_out).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| (key.clone(), written_out(value)))
            .collect(),
        other => other.clone(),
    }
}
