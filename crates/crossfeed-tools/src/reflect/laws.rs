//! What holds of every tool that has parameters of ours.

use super::{
    FIELDS, SELECT, WHOLE,
    tests::{self, list, offered, tool, without_reflections},
};
use crate::{ListOptions, Reflection, RewrittenList, Severity, ToLint, ToolList, lint};
use crossfeed_projection::RevealRules;
use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Every way to show a list, with all parameters.
fn ways() -> impl Iterator<Item = ListOptions> {
    tests::ways()
        .into_iter()
        .map(|options| options.with_whole("t"))
}

/// Schemas whose roots refuse what they do not know, in many ways.
fn schema() -> impl Strategy<Value = Value> {
    let leaf = || {
        select(vec![
            json!({"type": "string", "description": "said"}),
            json!({"type": ["integer", "null"]}),
            json!({}),
            json!({"type": "array", "items": {"type": "object", "properties": {"x": {}}}}),
            json!({"enum": ["a", "b"]}),
            json!({"$ref": "#/definitions/d"}),
        ])
    };
    let keyword = select(vec![
        ("additionalProperties", json!(false)),
        ("additionalProperties", json!({"type": "integer"})),
        ("unevaluatedProperties", json!(false)),
        ("maxProperties", json!(2)),
        ("minProperties", json!(1)),
        ("propertyNames", json!({"maxLength": 2})),
        ("propertyNames", json!({"enum": ["a", "b"]})),
        ("patternProperties", json!({"^_": {"type": "integer"}})),
        ("patternProperties", json!({"": {"maxLength": 3}})),
        ("dependentSchemas", json!({"a": {"maxProperties": 1}})),
        (
            "dependencies",
            json!({"a": {"maxProperties": 1}, "b": ["a"]}),
        ),
        ("dependentRequired", json!({"a": ["b"]})),
        ("allOf", json!([{"properties": {"b": {}}}])),
        (
            "anyOf",
            json!([{"required": ["a"]}, {"properties": {"c": {}}, "additionalProperties": false}]),
        ),
        ("oneOf", json!([{"required": ["a"]}, {"required": ["b"]}])),
        ("not", json!({"required": ["_select"]})),
        ("if", json!({"required": ["a"]})),
        ("then", json!({"maxProperties": 1})),
        ("$schema", json!("http://json-schema.org/draft-07/schema#")),
        ("required", json!(["a"])),
    ]);
    let properties = vec(("[a-c]", leaf()), 0..4);
    (properties, vec(keyword, 0..4)).prop_map(|(properties, keywords)| {
        let properties: Map<_, _> = properties.into_iter().collect();
        let mut schema = json!({"type": "object", "properties": properties});
        schema["definitions"] = json!({"d": {"type": "string"}});
        for (key, value) in keywords {
            schema[key] = value;
        }
        schema
    })
}

fn arguments() -> impl Strategy<Value = Value> {
    let leaf = select(vec![
        json!("a"),
        json!(1),
        json!(null),
        json!([]),
        json!([{"x": 1}]),
    ]);
    vec(("[a-c]", leaf), 0..4).prop_map(|members| Value::Object(members.into_iter().collect()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// What the tool takes, the model may write, with our parameters besides; and taking them out
    /// gives exactly what it would have written without.
    #[test]
    fn what_is_shown_accepts_ours_besides(
        schema in schema(), arguments in arguments(), selected in vec(select(vec!["a", "id"]), 0..3),
    ) {
        let document = json!([tool(schema.clone())]);
        for options in ways() {
            let listed = list(&document, &options);
            let tool = &listed.tools[0];
            if tool.error().is_some() {
                prop_assert!(tool.reflected().is_empty());
                continue;
            }
            prop_assert_eq!(tool.input_schema(), &schema);
            let mut with = arguments.clone();
            let ours = json!({SELECT: selected, FIELDS: "minimal", WHOLE: true});
            for name in tool.reflected() {
                with[*name] = ours[*name].clone();
            }
            let profile = tool.strict();
            if profile.is_none() && jsonschema::is_valid(&schema, &arguments) {
                let shown = tool.shown_schema();
                let plain = list(&document, &without_reflections(options.clone()));
                // Profiles that must narrow have a normalisation of their own.
                if jsonschema::is_valid(plain.tools[0].shown_schema(), &arguments) {
                    prop_assert!(jsonschema::is_valid(shown, &with), "{} is no {}", with, shown);
                }
            }
            let taken = tool.take_projection(&mut with);
            prop_assert_eq!(&with, &arguments);
            prop_assert!(taken.diagnostics.is_empty());
            let asked = |name: &str| tool.reflected().contains(&name);
            prop_assert_eq!(taken.request.select.is_some(), asked(SELECT));
            prop_assert_eq!(taken.request.fields.is_some(), asked(FIELDS));
            prop_assert_eq!(taken.whole, asked(WHOLE));
            // What is read back is what is written without.
            prop_assert_eq!(tool.read(with.clone()), tool.read(arguments.clone()));
        }
    }

    /// Showing twice is showing once, the result is valid in its dialect, and no provider refuses
    /// it more than before.
    #[test]
    fn what_is_shown_is_legal(schema in schema()) {
        let document = json!([tool(schema)]);
        for options in ways() {
            let listed = list(&document, &options);
            let tool = &listed.tools[0];
            if tool.error().is_some() {
                continue;
            }
            let shown = tool.shown_schema();
            prop_assert!(crossfeed_schema::check(shown).is_ok(), "{:?}: {}", crossfeed_schema::check(shown), shown);
            let again = list(&listed.value, &options);
            prop_assert_eq!(&again.value, &listed.value);
            prop_assert_eq!(again.tools[0].reflected(), tool.reflected());
            if tool.reflected().contains(&SELECT) {
                prop_assert_eq!(offered(shown), ["a", "b", "id", "pin"]);
            }
            let Some(profile) = options.profile_of() else {
                continue;
            };
            let refused = |listed: &RewrittenList| {
                let list = ToolList::parse(&listed.value).unwrap();
                let tool = list.tools().next().unwrap();
                let schema = tool.input_schema().into_owned();
                let to_lint = ToLint {
                    name: tool.name(), description: tool.description(),
                    input_schema: &schema, strict: tool.strict(),
                };
                let findings = lint(&[to_lint], profile);
                findings.into_iter().filter(|finding| finding.severity == Severity::Refused).count()
            };
            let plain = list(&document, &without_reflections(options.clone()));
            prop_assert!(refused(&listed) <= refused(&plain), "{}: {}", profile, shown);
        }
    }

    /// The keys are sorted, each once, without those that may never be shown.
    #[test]
    fn keys_are_in_order(names in vec("[a-c$_.]{0,2}", 0..8), never in vec("[a-c]{1,2}", 0..3)) {
        let properties: Map<_, _> = names.iter().map(|name| (name.clone(), json!({}))).collect();
        let schema = json!({"type": "object", "properties": properties});
        let rules = Arc::new(RevealRules::parse([""; 0], &never).unwrap());
        let keys = Reflection::new().with_rules(rules).keys(Some(&schema));
        prop_assert!(keys.is_sorted_by(|a, b| a < b), "{:?}", keys);
        prop_assert!(!keys.iter().any(|key| never.contains(key)));
        let listed = properties.keys().filter(|key| !never.contains(key)).count();
        prop_assert_eq!(keys.len(), listed);
    }
}
