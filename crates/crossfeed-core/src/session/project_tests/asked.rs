//! What a model asks of a result, in the arguments of the call.

use super::engine;
use crate::{Error, Failure, Session, session::reveal_laws::run, tool::PreparedTool};
use crossfeed_tools::{
    ListOptions, Profile, ReadError, Reflection, Spelling, Style, ToolList, rewrite_tools,
};
use crossfeed_wire::Scope;
use serde_json::{Value, json};

/// Every way to list the tool `search` with this input schema.
fn listed(schema: &Value, with: impl Fn(ListOptions) -> ListOptions) -> Vec<PreparedTool> {
    let tools = json!([{"name": "search", "inputSchema": schema,
        "outputSchema": {"type": "object", "properties": {"items": {}, "next": {}}}}]);
    let tools = ToolList::parse(&tools).unwrap();
    let styles = Style::ALL.iter().flat_map(|style| {
        let spelled = |spelling| ListOptions::style(*style).with_spelling(spelling);
        [Spelling::Dollar, Spelling::Underscore].map(spelled)
    });
    let profiles = Profile::ALL
        .iter()
        .map(|profile| ListOptions::profile(*profile));
    let ways = styles.chain(profiles).map(with);
    ways.map(|options| {
        let listed = rewrite_tools(&tools, &options);
        engine().prepare(listed.tools.into_iter().next().unwrap())
    })
    .collect()
}

fn session() -> Session {
    engine().session(Scope::parse("t", "p", "s").unwrap())
}

/// What is wrong with a call, from a value and from bytes: the same.
async fn failures(tool: &PreparedTool, arguments: &Value) -> Vec<Failure> {
    let session = session();
    let values = session.resolve_call(tool, arguments.clone()).await;
    let bytes = session.resolve_call_json(tool, arguments.to_string()).await;
    let unjudged = tool.without_validation();
    let unjudged = session.resolve_call_json(&unjudged, arguments.to_string());
    assert_eq!(unjudged.await.is_ok(), values.is_ok(), "{arguments}");
    let text = |failures: &[Failure]| failures.iter().map(Failure::to_string).collect::<Vec<_>>();
    match (values, bytes) {
        (Ok(values), Ok(bytes)) => {
            let written: Value = serde_json::from_slice(&bytes.arguments.into_bytes()).unwrap();
            assert_eq!(values.arguments, written);
            Vec::new()
        }
        (Err(values), Err(bytes)) => {
            assert_eq!(
                text(values.failures()),
                text(bytes.failures()),
                "{arguments}"
            );
            values.failures().to_vec()
        }
        (values, bytes) => panic!("{arguments}: {values:?}, but {bytes:?}"),
    }
}

#[test]
fn a_choice_of_fields_that_is_not_offered_is_refused() {
    let schema = json!({"type": "object", "properties": {"q": {"type": "string"}}});
    let none = json!({"type": "object", "properties": {}});
    run(async {
        for schema in [&schema, &none] {
            for tool in listed(schema, |options| options) {
                for name in ["_select", "$select", "_fields", "$fields"] {
                    for written in [json!(["id"]), json!("id"), json!("minimal"), json!(null)] {
                        let alone = json!({name: written});
                        let found = failures(&tool, &alone).await;
                        let [failure] = found.as_slice() else {
                            panic!("{alone}: {found:?}");
                        };
                        assert_eq!(failure.error.code().as_str(), "arguments.invalid");
                        assert_eq!(failure.at.as_str(), format!("/{name}"));
                        let text = failure.to_string();
                        let says = format!("the tool does not offer `{name}`");
                        assert!(text.contains(&says), "{text}");
                        assert!(text.contains("ListOptions::with_reflection"), "{text}");
                        let part = "write a reference as the value of a parameter";
                        assert!(text.contains(part), "{text}");
                    }
                }
                if schema["properties"].get("q").is_some() {
                    for beside in [
                        json!({"q": "x"}),
                        json!({"_refs": {}}),
                        json!({"_tool": null}),
                    ] {
                        let mut arguments = beside.clone();
                        arguments["_select"] = json!(["id"]);
                        let found = failures(&tool, &arguments).await;
                        assert_eq!(found.len(), 1, "{arguments}: {found:?}");
                        assert_eq!(found[0].error.code().as_str(), "arguments.invalid");
                    }
                }
            }
        }
    });
}

#[test]
fn a_choice_of_fields_is_told_how_it_is_offered() {
    let schema = json!({"type": "object", "properties": {"q": {"type": "string"}}});
    let offered = |options: ListOptions| options.with_reflection("search", Reflection::new());
    run(async {
        for tool in listed(&schema, offered) {
            assert_eq!(tool.listed().reflected(), ["_select"]);
            assert!(
                failures(&tool, &json!({"q": "x", "_select": ["next"]}))
                    .await
                    .is_empty()
            );
            for name in ["$select", "_fields", "$fields"] {
                let found = failures(&tool, &json!({"q": "x", name: ["next"]})).await;
                let [failure] = found.as_slice() else {
                    panic!("{found:?}");
                };
                assert!(failure.to_string().contains("try: `_select`"), "{failure}");
            }
        }
    });
}

#[test]
fn a_host_says_how_a_choice_of_fields_is_offered() {
    let schema = json!({"type": "object", "properties": {"q": {}}});
    run(async {
        for tool in listed(&schema, |options| options) {
            let found = failures(&tool, &json!({"_select": ["id"]})).await;
            let Error::Read(error @ ReadError::NotOffered { .. }) = &found[0].error else {
                panic!("{found:?}");
            };
            let advice = error.advice_with("set `projection = true`");
            assert!(advice.contains("set `projection = true`"), "{advice}");
            assert!(!advice.contains("with_reflection"), "{advice}");
            assert!(advice.contains("write a reference"), "{advice}");
        }
    });
}

/// What a tool takes by its own schema is its own, whatever it is called.
#[test]
fn parameters_of_the_tools_own_are_no_choice_of_fields() {
    let names = ["_select", "$select", "_fields", "$fields"];
    let all = json!({"_select": {}, "$select": {}, "_fields": {}, "$fields": {}, "q": {}});
    let one = json!({"q": {"type": "string"}});
    run(async {
        for schema in [
            json!({"type": "object", "properties": all}),
            json!({"type": "object", "properties": one, "required": names}),
            json!({"allOf": [{"type": "object", "properties": all}]}),
            json!({"type": "object", "properties": one, "additionalProperties": true}),
            json!({"type": "object", "properties": one, "additionalProperties": {"type": "array"}}),
            json!({"type": "object", "properties": one, "unevaluatedProperties": true}),
            json!({"type": "object", "properties": one, "patternProperties": {"^[_$]": {}}}),
            json!({"allOf": [{"properties": one}, {"additionalProperties": {}}]}),
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"properties": one, "additionalProperties": true}}}),
            json!({"type": "object"}),
            json!({}),
            json!(true),
        ] {
            let tools = json!([{"name": "search", "inputSchema": schema}]);
            let tools = ToolList::parse(&tools).unwrap();
            // Profiles show less than all of them.
            for style in Style::ALL {
                let listed = rewrite_tools(&tools, &ListOptions::style(style));
                let tool = engine().prepare(listed.tools[0].clone());
                for name in names {
                    let mut arguments = json!({"q": "x", name: ["id"]});
                    for other in names.iter().filter(|_| schema.get("required").is_some()) {
                        arguments[*other] = json!(["id"]);
                    }
                    let found = failures(&tool, &arguments).await;
                    assert!(found.is_empty(), "{schema}: {arguments}: {found:?}");
                }
            }
        }
    });
}

/// An object of nothing but words of references is none of the tool's, whatever that takes.
#[test]
fn a_choice_of_fields_alone_is_refused_whatever_a_tool_takes() {
    run(async {
        for schema in [
            json!({"type": "object", "properties": {"q": {}}, "additionalProperties": true}),
            json!({"type": "object"}),
            json!({}),
        ] {
            for tool in listed(&schema, |options| options) {
                for name in ["_select", "$select"] {
                    let found = failures(&tool, &json!({name: ["id"]})).await;
                    assert_eq!(found.len(), 1, "{schema}");
                    assert_eq!(found[0].error.code().as_str(), "arguments.invalid");
                }
                for name in ["_fields", "$fields"] {
                    assert!(failures(&tool, &json!({name: ["id"]})).await.is_empty());
                }
            }
        }
    });
}

/// Beside the name of a call it is a selector, and the grammar says what is wrong with it.
#[test]
fn a_selector_of_a_reference_is_no_choice_of_fields() {
    let schema = json!({"type": "object", "properties": {"q": {}}});
    run(async {
        for tool in listed(&schema, |options| options) {
            for (arguments, code) in [
                (json!({"$tool": "c", "$select": "a"}), "result.unknown"),
                (json!({"_tool": "c", "_select": "a"}), "result.unknown"),
                (
                    json!({"_artifact": "c", "_select": "a"}),
                    "reference.malformed",
                ),
                (json!({"_tool": 7, "_select": "a"}), "reference.malformed"),
            ] {
                let found = failures(&tool, &arguments).await;
                assert_eq!(found[0].error.code().as_str(), code, "{arguments}");
            }
        }
    });
}

/// Tools that are never chained are called as if there was nobody in between.
#[test]
fn tools_that_are_never_chained_take_what_they_take() {
    let schema = json!({"type": "object", "properties": {"q": {}}});
    run(async {
        for tool in listed(&schema, |options| options.with_never("search")) {
            for name in ["_select", "$select", "_fields", "$fields"] {
                let found = failures(&tool, &json!({"q": "x", name: ["id"]})).await;
                assert!(found.is_empty(), "{found:?}");
            }
        }
    });
}

/// Every kind of thing that a model may write for `_whole`, and whether it asks for the whole result; none
/// where it is refused.
fn wholes() -> Vec<(Value, Option<bool>)> {
    vec![
        (json!(true), Some(true)),
        (json!(false), Some(false)),
        (json!(null), Some(false)),
        (json!("true"), None),
        (json!(1), None),
        (json!([true]), None),
        (json!({"_tool": "c"}), None),
        (json!({"$literal": true}), None),
    ]
}

#[test]
fn the_whole_result_is_asked_for() {
    let offered = |options: ListOptions| options.with_whole("search");
    run(async {
        for schema in [
            json!({"type": "object", "properties": {"q": {"type": "string"}}, "additionalProperties": false}),
            json!({"type": "object", "properties": {}}),
            json!({"type": "object", "properties": {"q": {}}, "maxProperties": 1}),
        ] {
            for tool in listed(&schema, offered) {
                assert_eq!(tool.listed().reflected(), ["_whole"], "{schema}");
                for (written, whole) in wholes() {
                    let mut arguments = json!({"_whole": written});
                    let has_q = schema["properties"].get("q").is_some();
                    let expected = if has_q { json!({"q": "x"}) } else { json!({}) };
                    if has_q {
                        arguments["q"] = json!("x");
                    }
                    let found = failures(&tool, &arguments).await;
                    let Some(whole) = whole else {
                        let [failure] = found.as_slice() else {
                            panic!("{arguments}: {found:?}");
                        };
                        assert_eq!(failure.error.code().as_str(), "arguments.invalid");
                        assert_eq!(failure.at.as_str(), "/_whole");
                        let text = failure.to_string();
                        assert!(text.contains("`_whole` must be a boolean"), "{text}");
                        assert!(
                            text.contains("true") && text.contains("leave it out"),
                            "{text}"
                        );
                        continue;
                    };
                    assert!(found.is_empty(), "{arguments}: {found:?}");
                    let values = session()
                        .resolve_call(&tool, arguments.clone())
                        .await
                        .unwrap();
                    assert_eq!((values.arguments, values.whole), (expected.clone(), whole));
                    assert_eq!(values.projection, None);
                    let bytes = session()
                        .resolve_call_json(&tool, arguments.to_string())
                        .await;
                    assert_eq!(bytes.unwrap().whole, whole);
                    let session = session();
                    let unjudged = tool.without_validation();
                    let unjudged = session.resolve_call_json(&unjudged, arguments.to_string());
                    assert_eq!(unjudged.await.unwrap().whole, whole);
                }
                let silent = session().resolve_call(&tool, json!({})).await.unwrap();
                assert!(!silent.whole);
            }
        }
    });
}

#[test]
fn a_parameter_whole_of_the_tools_own_is_passed_on() {
    let schema = json!({"type": "object", "properties": {"_whole": {"type": "string"}}});
    let offered = |options: ListOptions| options.with_whole("search");
    run(async {
        for tool in listed(&schema, offered) {
            assert!(tool.listed().reflected().is_empty());
            let arguments = json!({"_whole": "x"});
            let resolved = session()
                .resolve_call(&tool, arguments.clone())
                .await
                .unwrap();
            assert_eq!((resolved.arguments, resolved.whole), (arguments, false));
        }
    });
}

/// What is asked of the result is heard also where arguments are not judged.
#[test]
fn what_is_asked_is_heard_without_judging() {
    let schema = json!({"type": "object", "properties": {"q": {"type": "string"}}});
    let offered = |options: ListOptions| {
        options
            .with_reflection("search", Reflection::new())
            .with_whole("search")
    };
    run(async {
        for tool in listed(&schema, offered) {
            assert_eq!(tool.listed().reflected(), ["_select", "_whole"]);
            let arguments = r#"{"q":7,"_select":["next"],"_whole":true}"#;
            let session = session();
            let resolved = session
                .resolve_call_json(&tool.without_validation(), arguments)
                .await
                .unwrap();
            assert_eq!(resolved.arguments.into_bytes(), r#"{"q":7}"#);
            let request = resolved.projection.unwrap();
            assert_eq!(request.select, Some(vec!["next".to_owned()]));
            assert!(resolved.whole);
        }
    });
}
