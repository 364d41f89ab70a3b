//! The examples of `specs/schemas.md` and `specs/profiles.md`.

use crate::own_suite::{Group, Outcome};
use crossfeed_tools::{Finding, Profile, Style, ToolList, lint_list, narrow, rewrite};
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
            return if found == *at {
                Ok(())
            } else {
                Err(format!("{error}: at `{found}`, not at `{at}`"))
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
    if bytes(&shown) == bytes(&expected) {
        Ok(())
    } else {
        Err(format!("it is shown as {shown}"))
    }
}

/// Members of objects count in their order.
fn bytes(value: &Value) -> String {
    value.to_string()
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

/// ```` ```json profiles ````: what a profile makes of schemas, and what it finds in tools.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Profiles {
    #[serde(rename = "about")]
    _about: String,
    cases: Vec<ProfileCase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ProfileCase {
    name: String,
    profile: String,
    schema: Option<Value>,
    /// The schema as it is narrowed.
    shown: Option<Value>,
    #[serde(default)]
    tools: Vec<Value>,
    findings: Option<Vec<Expected>>,
}

/// A finding: `what` is a part of what is said.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    tool: String,
    at: String,
    what: String,
}

impl Group for Profiles {
    fn judge(&self, outcome: &mut dyn FnMut(&str, Outcome)) {
        for case in &self.cases {
            outcome(&case.name, judge_profile(case));
        }
    }
}

fn judge_profile(case: &ProfileCase) -> Outcome {
    let profile: Profile = case.profile.parse().unwrap();
    if let (Some(schema), Some(expected)) = (&case.schema, &case.shown) {
        let shown = narrow(schema, profile).schema;
        return if bytes(&shown) == bytes(expected) {
            Ok(())
        } else {
            Err(format!("it is shown as {shown}"))
        };
    }
    let expected = case.findings.as_ref().unwrap();
    let list = ToolList::parse(&Value::Array(case.tools.clone())).unwrap();
    let found = lint_list(&list, profile);
    let is_as = |(found, expected): (&Finding, &Expected)| {
        found.tool == expected.tool
            && found.at.as_str() == expected.at
            && found.what.contains(&expected.what)
    };
    if found.len() == expected.len() && found.iter().zip(expected).all(is_as) {
        Ok(())
    } else {
        Err(format!("found are {found:#?}"))
    }
}
