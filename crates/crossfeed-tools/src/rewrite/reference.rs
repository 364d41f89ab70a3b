//! The schemas of references. They mark rewritten schemas, so each is one exact value.

use crate::{Offers, Spelling, Style};
use crossfeed_schema::keywords;
use serde_json::{Value, json};

/// Where the schema of a reference stands in `$defs`, unless the tool has one of that name.
pub(crate) const NAME: &str = "tool_reference";

/// A schema that accepts everything. It is not empty, because one client turns the arguments of an empty schema
/// into strings.
pub(crate) fn anything() -> Value {
    json!({"type": ["string", "number", "boolean", "object", "array", "null"]})
}

/// What stands where a reference may: with what it is said to be, and what passes as it is.
pub(crate) fn reference(spelling: Spelling, offers: Offers) -> Value {
    let key = |word| spelling.key(word);
    let (tool, select) = (key("tool"), key("select"));
    let mut properties = vec![string(&tool)];
    if offers.artifacts {
        properties.push(string(&key("artifact")));
    }
    properties.push(string(&select));
    if offers.edits {
        properties.extend(edits(|word| spelling.key(word)));
    }
    let about = match source(offers) {
        None => {
            "Part of an earlier result (_toolCallId, JMESPath). Prefer it to copying.".to_owned()
        }
        Some(source) => format!(
            "Part of an earlier result (_toolCallId, JMESPath) or of a {source}. Prefer it to copying."
        ),
    };
    let reference = json!({"type": "object", "properties": object(properties), "required": [tool]});
    let literal = json!({"type": "object", "required": [key("literal")]});
    let mut branches = vec![reference];
    branches.extend(offers.inputs().map(|word| {
        let mut properties = vec![string(&key(word)), string(&select)];
        if offers.edits {
            properties.extend(edits(|word| spelling.key(word)));
        }
        json!({"type": "object", "properties": object(properties), "required": [key(word)]})
    }));
    branches.push(literal);
    if offers.templates {
        let (template, with) = (key("template"), key("with"));
        let properties = object([string(&template), (with.clone(), json!({"type": "object"}))]);
        branches.push(
            json!({"type": "object", "properties": properties, "required": [template, with]}),
        );
    }
    json!({"description": about, "anyOf": branches})
}

/// The members that change what a reference gives.
fn edits(key: impl Fn(&str) -> String) -> impl Iterator<Item = (String, Value)> {
    let list = json!({"type": "array", "items": {"type": "object"}});
    let members = [
        ("patch", list.clone()),
        ("merge", json!({"type": "object"})),
        ("edit", list),
        ("digest", json!({"type": "string"})),
    ];
    members
        .into_iter()
        .map(move |(word, schema)| (key(word), schema))
}

/// What references may name besides results.
fn source(offers: Offers) -> Option<String> {
    let words: Vec<_> = offers.inputs().collect();
    (!words.is_empty()).then(|| words.join(" or "))
}

fn string(name: &str) -> (String, Value) {
    (name.to_owned(), json!({"type": "string"}))
}

fn object(members: impl IntoIterator<Item = (String, Value)>) -> Value {
    Value::Object(members.into_iter().collect())
}

/// The property that holds all references of a call, in the styles that have one. Every word of it stands in every
/// tool, so that there are few.
pub(crate) fn references(style: Style, spelling: Spelling, offers: Offers) -> Option<Value> {
    let about = match source(offers) {
        None => {
            "Fills null parameters from earlier results (_toolCallId, JMESPath). Prefer it to copying."
                .to_owned()
        }
        Some(source) => format!(
            "Fills null parameters from earlier results (_toolCallId, JMESPath) or a {source}. Prefer it to copying."
        ),
    };
    match style {
        Style::Inline => None,
        Style::Refs => {
            let mut properties = entry(offers, |word| spelling.key(word));
            if offers.templates {
                properties.push((spelling.key("with"), json!({"type": "object"})));
            }
            if offers.edits {
                properties.extend(edits(|word| spelling.key(word)));
            }
            // It is open, for what the guidance alone tells of.
            let each = json!({"type": "object", "properties": object(properties)});
            Some(json!({"type": "object", "description": about, "additionalProperties": each}))
        }
        Style::RefsList => {
            let closed = |properties: Vec<_>, required: &[&str]| {
                json!({
                    "type": "object",
                    "properties": object(properties),
                    "required": required,
                    "additionalProperties": false,
                })
            };
            let mut properties = vec![string("to")];
            properties.extend(entry(offers, str::to_owned));
            if offers.templates {
                let words = ["name", "tool", "select"]
                    .into_iter()
                    .chain(offers.inputs());
                let value: Vec<_> = words.map(string).collect();
                let required: &[_] = match source(offers) {
                    None => &["name", "tool"],
                    Some(_) => &["name"],
                };
                let values = json!({"type": "array", "items": closed(value, required)});
                properties.push(("with".to_owned(), values));
            }
            if offers.edits {
                let flag = ("all".to_owned(), json!({"type": "boolean"}));
                let edit = closed(vec![string("old"), string("new"), flag], &["old", "new"]);
                properties.extend(["patch", "merge"].map(string));
                properties.push(("edit".to_owned(), json!({"type": "array", "items": edit})));
                properties.push(string("digest"));
            }
            // Texts: a schema that takes anything is not for every provider.
            properties.push(string("literal"));
            let items = closed(properties, &["to"]);
            Some(json!({"type": "array", "description": about, "items": items}))
        }
    }
}

/// The members of an entry of a references map or list that are strings.
fn entry(offers: Offers, key: impl Fn(&str) -> String) -> Vec<(String, Value)> {
    let words = [
        ("tool", true),
        ("artifact", offers.artifacts),
        ("select", true),
        ("file", offers.files),
        ("resource", offers.resources),
        ("template", offers.templates),
    ];
    let words = words.into_iter().filter(|(_, is_offered)| *is_offered);
    words.map(|(word, _)| string(&key(word))).collect()
}

/// The keywords that may hold the schema of a reference, the first that can.
pub(crate) const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];

/// Whether the definitions of a schema hold exactly the schema of a reference.
pub(crate) fn is_defined(resource: Option<&Value>) -> bool {
    let mut definitions = DEFINITIONS
        .iter()
        .flat_map(|keyword| keywords::members(resource.and_then(|own| own.get(keyword))));
    definitions.any(|(_, schema)| {
        // Only a glance at most of them: the exact schema has two keywords.
        let is_alike = schema.as_object().is_some_and(|own| {
            own.len() == 2 && own.contains_key("anyOf") && own.contains_key("description")
        });
        is_alike
            && [Spelling::Dollar, Spelling::Underscore]
                .into_iter()
                .flat_map(|spelling| Offers::all().map(move |offers| reference(spelling, offers)))
                .any(|exact| exact == *schema)
    })
}

/// The key of the references map or list that a schema has at its root, if it is exactly ours.
pub(crate) fn listed(root: &Value) -> Option<String> {
    let properties = root.get("properties")?.as_object()?;
    let mut spellings = [Spelling::Underscore, Spelling::Dollar].into_iter();
    spellings.find_map(|spelling| {
        let key = spelling.key("refs");
        let property = properties.get(&key)?;
        let mut exact = [Style::Refs, Style::RefsList]
            .into_iter()
            .flat_map(|style| Offers::all().map(move |offers| references(style, spelling, offers)))
            .flatten();
        exact.any(|exact| exact == *property).then_some(key)
    })
}
