//! What holds of every list and of all arguments.

use super::{list, tool};
use crate::{ListOptions, Profile, ToLint, ToolList, lint, rewrite_tools};
use proptest::prelude::*;
use serde_json::{Value, json};

fn property() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({"type": "string", "description": "said"})),
        Just(json!({"type": ["integer", "null"]})),
        Just(json!({})),
        Just(json!({"type": "object"})),
        Just(json!({"enum": ["a", "b", null]})),
        Just(json!({"type": "object", "additionalProperties": {"type": "string"}})),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            inner
                .clone()
                .prop_map(|items| json!({"type": "array", "items": items})),
            proptest::collection::vec(("[a-c$.]{1,2}", inner), 1..3).prop_map(|members| {
                let properties: serde_json::Map<_, _> = members.into_iter().collect();
                json!({"type": "object", "properties": properties})
            }),
        ]
    })
}

/// Strings that look like something else, and ones that do not.
fn text() -> impl Strategy<Value = String> {
    const TELLING: [&str; 9] = [
        "5",
        "1e3",
        "true",
        "null",
        "[1]",
        "{\"a\":1}",
        "\"x\"",
        "007",
        "12345678901234567890123",
    ];
    prop_oneof![
        "[a-z]{0,3}",
        proptest::sample::select(&TELLING[..]).prop_map(str::to_owned)
    ]
}

/// A union of kinds, and a value of one of them.
fn union() -> impl Strategy<Value = (Value, Value)> {
    let schemas = proptest::sample::select(vec![
        json!({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "object"}]}),
        json!({"type": ["string", "integer", "object"]}),
        json!({"anyOf": [{"type": "string", "description": "said"}, {"type": "object"}, {"type": "integer"}]}),
        json!({}),
    ]);
    let values = prop_oneof![
        text().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        Just(json!({"a": "5"})),
    ];
    (schemas, values)
}

/// A schema, a value that it accepts, and whether that is there.
fn sample() -> impl Strategy<Value = (Value, Value)> {
    let leaf = prop_oneof![
        text().prop_map(|text| (
            json!({"type": "string", "description": "said"}),
            json!(text)
        )),
        text().prop_map(|text| (json!({"type": ["string", "object"]}), json!(text))),
        text().prop_map(|text| (json!({"type": ["string", "object", "null"]}), json!(text))),
        union(),
        Just((json!({"type": "string"}), json!("{\"a\": 1}"))),
        any::<i32>().prop_map(|n| (json!({"type": ["integer", "null"]}), json!(n))),
        Just((json!({"type": ["integer", "null"]}), json!(null))),
        Just((json!({}), json!({"b": [null, "x"]}))),
        Just((json!({"description": "any"}), json!("text"))),
        Just((json!(true), json!(7))),
        Just((json!({"type": "object"}), json!({"k": null}))),
        Just((
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            json!({"k": "v"})
        )),
        Just((json!({"enum": ["a", "b"]}), json!("b"))),
        Just((
            json!({"anyOf": [{"type": "string"}, {"type": "object"}]}),
            json!({"o": 1})
        )),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            (inner.clone(), 0..3_usize).prop_map(|((schema, value), count)| {
                (
                    json!({"type": "array", "items": schema}),
                    json!(vec![value; count]),
                )
            }),
            members(inner),
        ]
    })
}

fn members(inner: impl Strategy<Value = (Value, Value)>) -> impl Strategy<Value = (Value, Value)> {
    let member = ("[a-c$.]{1,2}", inner, any::<bool>(), any::<bool>());
    proptest::collection::vec(member, 1..4).prop_map(|members| {
        let members: std::collections::BTreeMap<_, _> = members
            .into_iter()
            .map(|(name, sample, required, there)| (name, (sample, required, required || there)))
            .collect();
        let mut properties = serde_json::Map::new();
        let mut value = serde_json::Map::new();
        let mut needed = Vec::new();
        for (name, ((schema, inner), required, there)) in members {
            properties.insert(name.clone(), schema);
            if there {
                value.insert(name.clone(), inner);
            }
            if required {
                needed.push(name);
            }
        }
        (
            json!({"type": "object", "properties": properties, "required": needed}),
            Value::Object(value),
        )
    })
}

/// Whether a shown schema asks for text that is not valid JSON.
fn takes_text(shown: &Value) -> bool {
    let branches = shown.get("anyOf").and_then(Value::as_array);
    !crate::is_fold(shown)
        && (shown.get("type") == Some(&json!("string"))
            || branches.is_some_and(|all| all.iter().any(takes_text)))
}

/// Whether a shown schema takes a number or a boolean as it is.
fn tells(shown: &Value, value: &Value) -> bool {
    let branches = shown.get("anyOf").and_then(Value::as_array);
    crate::listed::branch::tells(shown, value)
        || branches.is_some_and(|all| all.iter().any(|branch| tells(branch, value)))
}

/// A value as a model writes it that keeps to the shown schema: null for what is left out, JSON
/// text where it is asked for. Names are as they are shown.
fn written(value: &Value, shown: &Value, names: &crate::Names) -> Value {
    let branches = shown.get("anyOf").and_then(Value::as_array);
    if crate::is_fold(shown) || branches.is_some_and(|all| all.iter().any(crate::is_fold)) {
        // Null is written as it is where the schema admits it, and so is a scalar that is told of.
        let is_json = |text: &str| {
            let decoded = crate::decode(text);
            decoded.is_some_and(|decoded| !decoded.is_number() && !decoded.is_boolean())
        };
        return match value {
            Value::Null if branches.is_some() => Value::Null,
            Value::Object(_) | Value::Array(_) => Value::String(value.to_string()),
            Value::String(text) if takes_text(shown) && !is_json(text) => value.clone(),
            Value::Number(_) | Value::Bool(_) if tells(shown, value) => value.clone(),
            value => Value::String(value.to_string()),
        };
    }
    let shown = branches.and_then(|all| all.first()).unwrap_or(shown);
    match value {
        Value::Object(members) => {
            let mut out: serde_json::Map<_, _> = members
                .iter()
                .map(|(name, value)| {
                    let name = names.shown(name);
                    let inner = shown["properties"].get(name).unwrap_or(&Value::Null);
                    (name.to_owned(), written(value, inner, names))
                })
                .collect();
            for name in shown["required"].as_array().into_iter().flatten() {
                let name = name.as_str().unwrap();
                out.entry(name).or_insert(Value::Null);
            }
            Value::Object(out)
        }
        Value::Array(items) => items
            .iter()
            .map(|item| written(item, &shown["items"], names))
            .collect(),
        other => other.clone(),
    }
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(name, value)| (name.clone(), without_nulls(value)))
            .collect(),
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// What a model writes for the shown schema is read as what was meant.
    #[test]
    fn what_is_written_is_read_as_meant((schema, value) in members(sample())) {
        for profile in [Profile::OpenAiStrict, Profile::AnthropicStrict, Profile::Gemini, Profile::Mcp] {
            let document = json!([tool("t", schema.clone())]);
            let listed = rewrite_tools(&ToolList::parse(&document).unwrap(), &ListOptions::profile(profile));
            let tool = &listed.tools[0];
            let written = written(&value, tool.shown_schema(), tool.names());
            let read = tool.read(written.clone()).unwrap();
            // Where the tool's own schema takes null, an absent optional is null.
            prop_assert_eq!(without_nulls(&read), without_nulls(&value), "{}: {} for {}", profile, written, tool.shown_schema());
            prop_assert!(jsonschema::is_valid(&schema, &read), "{}: {} is no {}", profile, read, schema);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// What a profile gives, its lint takes; and arguments that hold no null, no text of JSON and
    /// no map come back as they were.
    #[test]
    fn what_is_listed_is_legal(
        tools in proptest::collection::vec(proptest::collection::vec(("[a-d$]{1,3}", property(), any::<bool>()), 0..5), 1..5),
    ) {
        let tools: Vec<_> = tools.into_iter().enumerate().map(|(index, parameters)| {
            let required: Vec<_> = parameters.iter().filter(|p| p.2).map(|p| p.0.clone()).collect::<std::collections::BTreeSet<_>>().into_iter().collect();
            let properties: serde_json::Map<_, _> = parameters.into_iter().map(|(name, schema, _)| (name, schema)).collect();
            tool(&format!("t{index}"), json!({"type": "object", "properties": properties, "required": required}))
        }).collect();
        let document = json!({ "tools": tools });
        for profile in Profile::ALL {
            let listed = list(&document, &ListOptions::profile(profile));
            let shown = ToolList::parse(&listed.value).unwrap();
            let schemas: Vec<_> = shown.tools().map(|tool| (tool, tool.input_schema().into_owned())).collect();
            let to_lint: Vec<_> = schemas.iter().map(|(tool, schema)| ToLint {
                name: tool.name(), description: tool.description(), input_schema: schema, strict: tool.strict(),
            }).collect();
            let refused: Vec<_> = lint(&to_lint, profile).into_iter()
                .filter(|finding| finding.severity == crate::Severity::Refused).collect();
            prop_assert!(refused.is_empty(), "{}: {:?} in {}", profile, refused, listed.value);
            prop_assert_eq!(&list(&listed.value, &ListOptions::profile(profile)).value, &listed.value);
            for tool in &listed.tools {
                prop_assert!(tool.error().is_none());
                prop_assert_eq!(tool.read(json!({})), Ok(json!({})));
            }
        }
    }
}
