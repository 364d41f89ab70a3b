//! Arguments as bytes: the same as those that are a value, for every input, and by every schema.

use crate::{
    schemas::{corpus, suite},
    support::{block_on, call, report, scope, session},
};
use bytes::Bytes;
use crossfeed_core::{
    Engine, EngineOptions, Error, InputSchema, LimitError, RepairScope, ResolveError, Resolved,
    ResolvedJson, Session, ToolResult,
};
use crossfeed_json::Document;
use proptest::{prelude::*, sample::select};
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashSet};

/// Resolves arguments to a value and to bytes, and judges that they are the same: as JSON, in what
/// is said of it, and in what is refused.
pub(crate) async fn resolve_both(
    session: &Session,
    arguments: &Value,
    schema: Option<&InputSchema>,
) -> Result<Resolved, ResolveError> {
    let value = session.resolve(arguments.clone(), schema).await;
    let bytes = session.resolve_json(arguments.to_string(), schema).await;
    judge(&value, &bytes);
    value
}

/// What is refused besides numbers that only bytes can pass on.
fn besides_numbers(error: &ResolveError) -> Vec<String> {
    let failures = error.failures().iter();
    let other = failures
        .filter(|failure| !matches!(failure.error, Error::Limit(LimitError::Number(_))))
        .map(|failure| format!("{failure:?}"));
    other.collect()
}

pub(crate) fn judge(
    value: &Result<Resolved, ResolveError>,
    bytes: &Result<ResolvedJson, ResolveError>,
) {
    match (value, bytes) {
        (Ok(value), Ok(bytes)) => {
            let written = bytes.arguments.to_vec();
            assert_eq!(bytes.arguments.len(), written.len());
            let document = Document::new(written);
            let read = document.root().unwrap().to_value();
            assert_eq!(read.as_ref(), Ok(&value.arguments));
            assert_eq!(bytes.lineage, value.lineage);
            assert_eq!(bytes.repairs, value.repairs);
            let line = bytes.arguments.clone().on_one_line().to_vec();
            assert!(!line.contains(&b'\n') && !line.contains(&b'\r'));
            let line = Document::new(line);
            assert_eq!(line.root().unwrap().to_value(), read);
        }
        (Err(value), Err(bytes)) if besides_numbers(value).len() == value.failures().len() => {
            assert_eq!(report(value), report(bytes));
        }
        (Err(value), bytes) => {
            let others = bytes
                .as_ref()
                .err()
                .map(besides_numbers)
                .unwrap_or_default();
            assert!(
                besides_numbers(value)
                    .iter()
                    .all(|failure| others.contains(failure))
            );
        }
        other => panic!("{other:?}"),
    }
}

/// Resolves JSON that may hold what a value does not; gives what comes out as a text.
fn resolved(records: &[(&str, &str)], arguments: &str, schema: Option<Value>) -> String {
    let schema = schema.map(|schema| InputSchema::compile(schema).unwrap());
    block_on(async {
        let session = session();
        for (id, json) in records {
            let result = ToolResult::json((*json).to_owned());
            session.record(&call(id), result).await.unwrap();
        }
        let found = session.resolve_json(arguments.to_owned(), schema.as_ref());
        match found.await {
            Ok(found) => String::from_utf8(found.arguments.to_vec()).unwrap(),
            Err(error) => error.to_string(),
        }
    })
}

/// Judges what comes out of arguments, by the bytes.
fn check(arguments: &str, expected: &str) {
    let records = [
        ("n", "[1.50, 1e400, 12345678901234567890123]"),
        ("twice", r#"{"a": 1, "b": 2, "a": [3 , 4.0]}"#),
        ("odd", r#"{"k": "\ud800", "v": "\u0041"}"#),
        ("text", r#""{\"n\": 1.10}""#),
    ];
    assert_eq!(resolved(&records, arguments, None), expected);
}

#[test]
fn digits_and_spellings_are_kept() {
    check(
        r#"{"x": {"$tool": "n"}, "own" : [1.50,1e400]}"#,
        r#"{"x":[1.50, 1e400, 12345678901234567890123],"own":[1.50,1e400]}"#,
    );
    check(r#"{"$tool": "n", "$select": "[0]"}"#, "1.50");
    check(
        r#"[{"$tool": "n", "$select": "{a: [1], b: @[0]}"}]"#,
        r#"[{"a":1e400,"b":1.50}]"#,
    );
    check(
        r#"{"$tool": "n", "$select": "none", "$default": [1.10, {"a": 1e999}]}"#,
        r#"[1.10, {"a": 1e999}]"#,
    );
    check(
        r#"{"_refs": [{"to": "a", "tool": "n", "select": "none", "default": 2.50}]}"#,
        r#"{"a":2.50}"#,
    );
    check(
        r#""{\"$tool\": \"n\", \"$select\": \"none\", \"$default\": 2.50}""#,
        "2.5",
    );
    check(
        r#"{"$literal": {"$tool" : 1.50}, "_literal": null}"#,
        r#"{"$tool" : 1.50}"#,
    );
    check(
        r#"[{"$tool": "odd"}]"#,
        r#"[{"k": "\ud800", "v": "\u0041"}]"#,
    );
    check(r#"[{"$tool": "text"}]"#, r#"["{\"n\": 1.10}"]"#);
    check(r#"[{"$tool": "text", "$select": "@"}]"#, r#"[{"n": 1.10}]"#);
    // What is put into a value that another reference brought in, and beside what is there.
    check(
        r#"{"x": {"$tool": "n"}, "_refs": [{"to": "/x/1", "tool": "odd", "select": "v"}, {"to": "/x/-", "tool": "n", "select": "[0]"},
            {"to": "/y/z", "tool": "n", "select": "[2]"}]}"#,
        r#"{"x":[1.50,"\u0041",12345678901234567890123,1.50],"y":{"z":12345678901234567890123}}"#,
    );
}

#[test]
fn a_key_that_stands_twice_goes_out_once() {
    check(
        r#"[{"$tool": "twice"}]"#,
        r#"[{"a":[3 , 4.0],"b":2}]"#.replace(" , ", ",").as_str(),
    );
    check(
        r#"{"a": 1.0, "a": {"$tool": "n", "$select": "[0]"}}"#,
        r#"{"a":1.50}"#,
    );
    // Nothing that looks like a reference goes out under a key that nobody reads.
    check(r#"{"a": {"$tool": "n"}, "a": 1.0}"#, r#"{"a":1.0}"#);
    check(
        r#"{"\ud800": {"$tool": "n"}, "\udfff": 1}"#,
        r#"{"\udfff":1}"#,
    );
    // Nothing was to be put or judged: nothing changes.
    let arguments = " {\"a\": 1.0,\n \"b\": [ ] } ";
    check(arguments, arguments);
    let schema = json!({"required": ["a"]});
    assert_eq!(resolved(&[], arguments, Some(schema.clone())), arguments);
    assert_eq!(
        resolved(&[], r#"{"a": 1.0, "a": 2.0}"#, Some(schema)),
        r#"{"a":2.0}"#
    );
}

#[test]
fn repairs_keep_digits() {
    let records = [
        (
            "list",
            r#"{"at": "[1.10, 2]", "n": "1.50", "x": [1.0, 1.50]}"#,
        ),
        ("number", "1.50"),
    ];
    let schema = json!({"properties": {
        "a": {"type": "array", "items": {"type": "number"}}, "n": {"type": "number"}, "s": {"type": "string"},
        "o": {"properties": {"at": {"type": "array"}, "n": {"type": "number"}}},
    }});
    let arguments = r#"{"a": {"$tool": "list", "$select": "at"}, "n": {"$tool": "list", "$select": "n"}, "s": {"$tool": "number"},
        "o": {"$tool": "list"}}"#;
    assert_eq!(
        resolved(&records, arguments, Some(schema)),
        r#"{"a":[1.10, 2],"n":1.50,"s":"1.50","o":{"at":[1.10, 2],"n":1.50,"x":[1.0, 1.50]}}"#
    );
}

#[test]
fn a_number_beyond_values_passes_where_nobody_judges_it() {
    let records = [("big", r#"{"a": {"b": 1e400}, "c": 1}"#)];
    let by = |schema: Value| {
        resolved(
            &records,
            r#"{"x": {"$tool": "big"}, "y": -1e999}"#,
            Some(schema),
        )
    };
    let whole = r#"{"x":{"a": {"b": 1e400}, "c": 1},"y":-1e999}"#;
    assert_eq!(by(json!({"type": "object"})), whole);
    assert_eq!(
        by(json!({"properties": {"x": {"type": "object", "required": ["a"]}}})),
        whole
    );
    let deep = json!({"properties": {"x": {"properties": {"a": {"additionalProperties": {"minimum": 1}}}}}});
    assert!(by(deep).contains("cannot be passed on"));
    let own = by(json!({"properties": {"y": {"type": "number"}}}));
    assert!(
        own.contains("the arguments hold a number") || own.contains("cannot be passed on"),
        "{own}"
    );
}

#[test]
fn what_is_no_json_is_refused_at_its_byte() {
    let refused = |arguments: &[u8]| {
        let arguments = Bytes::copy_from_slice(arguments);
        block_on(async { session().resolve_json(arguments, None).await.unwrap_err() })
    };
    let error = refused(b"{\"a\": tru}");
    let failure = &error.failures()[0];
    assert_eq!(failure.error.code().as_str(), "arguments.invalid");
    assert_eq!(
        failure.error.to_string(),
        "the arguments are not valid JSON: not JSON at byte 6"
    );
    assert_eq!(
        refused(b"").failures()[0].error.code().as_str(),
        "arguments.invalid"
    );
    assert_eq!(
        refused(b"\"\xff\"").failures()[0].error.code().as_str(),
        "arguments.invalid"
    );
    let deep = "[".repeat(100_000);
    assert_eq!(
        refused(deep.as_bytes()).failures()[0].error.code().as_str(),
        "limit.exceeded"
    );
}

#[test]
fn a_large_value_is_not_copied() {
    let list = format!("[{}]", vec!["{\"n\": 1.50}"; 10_000].join(", "));
    let stored = Bytes::from(format!(
        "{{\"list\": {list}, \"text\": \"{}\"}}",
        "x".repeat(50_000)
    ));
    let within = stored.as_ptr_range();
    let schema = InputSchema::compile(json!({"properties": {"a": {"type": "array"}}})).unwrap();
    block_on(async {
        let session = session();
        session
            .record(&call("c"), ToolResult::json(stored.clone()))
            .await
            .unwrap();
        let arguments = r#"{"a": {"$tool": "c", "$select": "list"}, "b": {"$tool": "c", "$select": "{t: text, n: list[0]}"}}"#;
        let found = session
            .resolve_json(arguments, Some(&schema))
            .await
            .unwrap();
        let shared = found
            .arguments
            .chunks()
            .iter()
            .filter(|chunk| within.contains(&chunk.as_ptr()));
        assert_eq!(
            shared.map(Bytes::len).collect::<Vec<_>>(),
            [list.len(), 50_002]
        );
        let expected = format!(
            "{{\"a\":{list},\"b\":{{\"t\":\"{}\",\"n\":{{\"n\": 1.50}}}}}}",
            "x".repeat(50_000)
        );
        assert_eq!(found.arguments.to_vec(), expected.as_bytes());
        assert_eq!(found.arguments.into_bytes(), expected);
    });
}

/// JSON as a text, in spellings that a `Value` does not keep.
fn text() -> impl Strategy<Value = String> {
    let scalar = select(vec![
        "null",
        "true",
        "0",
        "-1.50",
        "1e2",
        "1e400",
        "12345678901234567890123",
        "\"\"",
        "\"u/1\"",
        "\"\\u0041\\n\"",
        "\"\\ud800\"",
        "\"12\"",
        "\"[1.0, 2]\"",
        "\"{\\\"$tool\\\": \\\"c\\\"}\"",
        "\"é\"",
    ]);
    let scalar = scalar.prop_map(str::to_owned);
    let key = || {
        select(vec![
            "a", "b", "\\u0061", "$tool", "_id", "\\ud800", "\\ud801", "0", "x/y",
        ])
    };
    let blank = || select(vec!["", " ", "\n", "\r\n  "]);
    scalar.prop_recursive(4, 32, 4, move |inner| {
        let items = prop::collection::vec((blank(), inner.clone()), 0..4);
        let members = prop::collection::vec((key(), blank(), inner), 0..4);
        prop_oneof![
            items.prop_map(|items| {
                let items: Vec<_> = items
                    .iter()
                    .map(|(blank, item)| format!("{blank}{item}{blank}"))
                    .collect();
                format!("[{}]", items.join(","))
            }),
            members.prop_map(|members| {
                let members: Vec<_> = members
                    .iter()
                    .map(|(key, blank, value)| format!("{blank}\"{key}\"{blank}:{value}"))
                    .collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

/// Arguments as a text: with references at places, in maps, in one another.
fn arguments() -> impl Strategy<Value = String> {
    let reference = select(vec![
        r#"{"$tool": "c"}"#,
        r#"{"$tool": "c", "$select": "a"}"#,
        r#"{"$tool": "c", "$select": "[a, @]"}"#,
        r#"{"_tool": "c", "_select": "none", "_default": [1.0, {"a": 2}]}"#,
        r#"{"$tool": "c", "$select": "*"}"#,
        r#"{"$literal": {"$tool": "c", "n": 1.0}}"#,
        r#"{"$tool": "none"}"#,
        r#"{"$tool": 7}"#,
        r#""{\"$tool\": \"c\"}""#,
        r#"{"$tool": "d", "$select": "length(@)"}"#,
        r#"{"$tool": "c", "$tool": "d"}"#,
    ]);
    let value = prop_oneof![1 => text().boxed(), 2 => reference.prop_map(str::to_owned).boxed()];
    let targets = select(vec![
        "x", "/x", "/x/a", "/x/-", "/x/0/a", "/y/z", "/a~1b", "/x/a/b", "",
    ]);
    let entry = (
        targets,
        select(vec!["c", "d", "none"]),
        select(vec!["", r#", "select": "a""#]),
    );
    let map = prop::collection::vec(entry, 0..4).prop_map(|entries| {
        let entry = |(to, tool, more): &(&str, &str, &str)| {
            format!(r#"{{"to": "{to}", "tool": "{tool}"{more}}}"#)
        };
        format!(
            "[{}]",
            entries.iter().map(entry).collect::<Vec<_>>().join(",")
        )
    });
    prop_oneof![
        1 => value.clone().boxed(),
        2 => (value.clone(), value.clone()).prop_map(|(x, y)| format!("{{\"x\": {x},\n\"y\": {y}}}")).boxed(),
        2 => (value.clone(), map).prop_map(|(x, map)| format!("{{\"x\":{x}, \"_refs\": {map}}}")).boxed(),
        1 => (value.clone(), value).prop_map(|(x, y)| format!("[{x}, [{y}], 1.50]")).boxed(),
    ]
}

fn wanted() -> impl Strategy<Value = Option<Value>> {
    let inner = select(vec![
        json!({"type": "string"}),
        json!({"type": "array"}),
        json!({"type": "object"}),
        json!({"type": "number"}),
        json!({}),
        json!({"type": "array", "items": {"type": "number"}}),
        json!({"additionalProperties": {"type": "string"}}),
        json!({"anyOf": [{"type": "array", "minItems": 2}, {"required": ["a"]}]}),
        json!({"const": [1]}),
        // What a skeleton could be taken for.
        json!({"enum": [[], {}, "", null]}),
        json!({"not": {"enum": [[], {}, "", null]}}),
        json!({"items": {"enum": [[], {}, "", null, 1.0]}, "additionalProperties": {"enum": [[], {}, "", null]}}),
        json!({"$ref": "#"}),
        json!({"properties": {"a": {"type": "array", "items": {"type": "integer"}}}}),
        json!({"not": {"type": "null"}}),
    ]);
    let schema = (inner.clone(), inner).prop_map(|(x, y)| {
        Some(json!({"properties": {"x": x, "y": y}, "items": {"type": ["array", "number", "object"]}}))
    });
    prop_oneof![1 => Just(None), 3 => schema]
}

/// Resolves both ways, the bytes as the model wrote them, and judges that they are the same.
fn judge_both(records: &[(&str, &str)], arguments: &str, schema: Option<Value>, limit: usize) {
    let read = Document::new(arguments.to_owned());
    let value = read.root().unwrap().to_value().unwrap();
    let schema = schema.map(|schema| InputSchema::compile(schema).unwrap());
    block_on(async {
        let options = EngineOptions::default()
            .with_repairs(RepairScope::Off)
            .with_max_resolved_bytes(limit);
        let session = Engine::in_memory(options).session(scope("s"));
        for (id, json) in records {
            let result = ToolResult::json((*json).to_owned());
            session.record(&call(id), result).await.unwrap();
        }
        let value = session.resolve(value, schema.as_ref()).await;
        let bytes = session.resolve_json(arguments.to_owned(), schema.as_ref());
        judge(&value, &bytes.await);
    });
}

#[test]
fn what_cannot_be_made_is_charged_all_the_same() {
    let records = [
        ("c", r#"{"a":null}"#),
        ("d", r#"[{"a":{"a":null,"a":null},"a":1e400}]"#),
    ];
    let arguments = r#"{"x": {"$tool": "c", "$select": "[a, @]"},
        "_refs": [{"to": "/x/a", "tool": "d"}, {"to": "/x/a", "tool": "c"}, {"to": "/x/a/b", "tool": "c"}]}"#;
    for limit in 0..300 {
        judge_both(&records, arguments, None, limit);
    }
}

#[test]
fn keys_that_read_as_the_same_text_are_one_key_both_ways() {
    let records = [
        ("c", r#"{"\ud800": 1, "\udfff": 2}"#),
        (
            "w",
            r#"{"\ud800": 1, "\udfff": 2, "a": 1, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1, "g": 1, "h": 1, "i": 1}"#,
        ),
        ("d", "9"),
    ];
    let by = |name: Value| json!({"properties": {"x": {"properties": {"\u{fffd}": name}}}});
    let schemas = [
        json!({"properties": {"x": {"maxProperties": 1}}}),
        by(json!({"const": 1})),
        by(json!({"const": 2})),
        by(json!({"type": "number", "minimum": 2})),
        by(json!({"type": "number", "maximum": 1})),
    ];
    for name in ["c", "w"] {
        let put = format!(
            r#"{{"x": {{"$tool": "{name}"}}, "_refs": [{{"to": "/x/\ufffd", "tool": "d"}}]}}"#
        );
        let whole = format!(r#"{{"x": {{"$tool": "{name}"}}}}"#);
        let selected = format!(r#"{{"x": {{"$tool": "{name}", "$select": "@"}}}}"#);
        for arguments in [&put, &whole, &selected] {
            judge_both(&records, arguments, None, usize::MAX);
            for schema in &schemas {
                judge_both(&records, arguments, Some(schema.clone()), usize::MAX);
            }
        }
    }
    let arguments = r#"{"\ud800": 1, "\udfff": 2, "n": 1e400, "id": 12345678901234567890123, "x": {"$tool": "d"}}"#;
    assert_eq!(
        resolved(&records, arguments, None),
        r#"{"\udfff":2,"n":1e400,"id":12345678901234567890123,"x":9}"#
    );
}

/// Every keyword that asserts something refuses what it refuses of the whole, and `not` of it.
#[test]
fn each_keyword_is_read() {
    let text = json!("x!".repeat(50));
    let value = json!({"a": [[1], 2], "b": {"c": 1}});
    let list = json!([[1], [1], "x"]);
    let deep = json!({"properties": {"a": {"maxItems": 1}}});
    let cases = [
        (7, json!({"minLength": 101}), &text),
        (7, json!({"maxLength": 99}), &text),
        (7, json!({"pattern": "^y"}), &text),
        (6, json!({"contentEncoding": "base64"}), &text),
        (7, json!({"contentEncoding": "base64"}), &text),
        (6, json!({"contentMediaType": "application/json"}), &text),
        (7, json!({"contentMediaType": "application/json"}), &text),
        (
            2020,
            json!({"if": deep, "then": true, "else": false}),
            &value,
        ),
        (2020, json!({"if": true, "then": deep}), &value),
        (2020, json!({"if": false, "else": deep}), &value),
        (2020, json!({"not": {"minProperties": 1}}), &value),
        (2020, json!({"maxProperties": 1}), &value),
        (2020, json!({"not": {"minItems": 1}}), &list),
        (2020, json!({"maxItems": 1}), &list),
        (2020, json!({"uniqueItems": true}), &list),
        (
            2020,
            json!({"patternProperties": {"^a": {"maxItems": 1}}}),
            &value,
        ),
        (2020, json!({"dependentSchemas": {"b": deep}}), &value),
        (2020, json!({"dependentRequired": {"a": ["z"]}}), &value),
        (
            2020,
            json!({"not": {"dependentRequired": {"a": ["b"]}}}),
            &value,
        ),
        (2020, json!({"prefixItems": [{"maxItems": 0}]}), &list),
        (
            2020,
            json!({"prefixItems": [true, {"items": {"minimum": 2}}]}),
            &list,
        ),
        (2020, json!({"enum": [[], {}, null]}), &value),
        (
            2020,
            json!({"not": {"const": {"a": [[1], 2], "b": {"c": 1}}}}),
            &value,
        ),
        (
            2020,
            json!({"$ref": "#/$defs/%61", "$defs": {"%61": true, "a": {"maxProperties": 1}}}),
            &value,
        ),
        (
            2020,
            json!({"$dynamicRef": "#d", "$defs": {"d": {"$dynamicAnchor": "d", "maxProperties": 1}}}),
            &value,
        ),
        (
            2019,
            json!({"anyOf": [{"type": "number"}, {"properties": {"a": {"items": {"$recursiveRef": "#"}}, "b": {"maxProperties": 0}}}]}),
            &value,
        ),
    ];
    for (draft, mut schema, instance) in cases {
        let dialect = match draft {
            6 | 7 => format!("http://json-schema.org/draft-0{draft}/schema#"),
            2019 => "https://json-schema.org/draft/2019-09/schema".to_owned(),
            _ => "https://json-schema.org/draft/2020-12/schema".to_owned(),
        };
        schema["$schema"] = dialect.into();
        let refused = InputSchema::compile(schema.clone()).unwrap();
        let records = [("c", instance.to_string())];
        let records = records.each_ref().map(|(id, json)| (*id, json.as_str()));
        block_on(async {
            let session = session();
            let result = ToolResult::json(instance.to_string());
            session.record(&call("c"), result).await.unwrap();
            let whole = json!({"$tool": "c"});
            let found = resolve_both(&session, &whole, Some(&refused)).await;
            assert!(found.is_err(), "{schema}");
        });
        // References that begin at the root stay what they are.
        if schema.get("$defs").is_none() && draft != 2019 {
            let not = json!({"$schema": schema["$schema"], "not": schema});
            judge_both(&records, r#"{"$tool": "c"}"#, Some(not), usize::MAX);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn both_outputs_are_the_same(
        results in (text(), text()), arguments in arguments(), schema in wanted(),
        scope_of_repairs in select(vec![RepairScope::Off, RepairScope::References, RepairScope::All]),
        limit in select(vec![40_usize, 200, usize::MAX]),
    ) {
        let read = Document::new(arguments.clone());
        // A number that the arguments themselves hold only bytes can bring.
        let value = read.root().unwrap().to_value();
        let compiled = schema.clone().map(|schema| InputSchema::compile(schema).unwrap());
        block_on(async {
            let options = EngineOptions::default().with_repairs(scope_of_repairs).with_max_resolved_bytes(limit);
            let engine = Engine::in_memory(options);
            // One each: the order in which results are offered is that of their use.
            let [session, other] = ["s", "t"].map(|name| engine.session(scope(name)));
            for session in [&session, &other] {
                for (name, result) in [("c", &results.0), ("d", &results.1)] {
                    session.record(&call(name), ToolResult::json(result.clone())).await.unwrap();
                }
            }
            let bytes = other.resolve_json(arguments.clone(), compiled.as_ref()).await;
            match value {
                Ok(value) => {
                    let value = session.resolve(value, compiled.as_ref()).await;
                    judge(&value, &bytes);
                }
                Err(_) => if let (Ok(found), Some(compiled)) = (&bytes, &compiled) {
                    // Whatever is passed on fits what can be read of it.
                    let document = Document::new(found.arguments.to_vec());
                    if let Ok(value) = document.root().unwrap().to_value() {
                        let again = session.resolve(json!({"$literal": value}), Some(compiled)).await;
                        assert!(again.is_ok(), "{again:?}");
                    }
                },
            }
        });
    }

    /// What goes out without references is what came, byte for byte.
    #[test]
    fn off_means_off(arguments in text()) {
        let hides = ["$tool", "\\\\\"$tool", "\\ud8", "\\u0061", "_id"];
        prop_assume!(!hides.iter().any(|hidden| arguments.contains(hidden)));
        let document = Document::new(arguments.clone());
        prop_assume!(!document.root().unwrap().document_has_duplicates());
        let arguments = format!("\n{arguments} ");
        prop_assert_eq!(resolved(&[], &arguments, None), arguments.as_str());
        let schema = json!({"description": "anything"});
        prop_assert_eq!(resolved(&[], &arguments, Some(schema)), arguments.as_str());
    }
}

/// Judges an instance that references bring in, whole and member by member, by a schema.
async fn judged(session: &Session, name: &str, schema: &InputSchema, instance: &Value) -> usize {
    let recorded = ToolResult::json(json!({"w": instance}).to_string());
    session.record(&call(name), recorded).await.unwrap();
    let whole = json!({"$tool": name, "$select": "w"});
    let found = resolve_both(session, &whole, Some(schema)).await;
    if let Value::Object(members) = instance {
        let parts = members.keys().map(|key| {
            let selector = format!("w.{}", Value::from(key.as_str()));
            (key.clone(), json!({"$tool": name, "$select": selector}))
        });
        let parts: serde_json::Map<_, _> = parts.collect();
        let _ = resolve_both(session, &parts.into(), Some(schema)).await;
    }
    usize::from(found.is_ok())
}

/// Every schema of the official suite gives the same verdict of what it sees as of the whole.
#[test]
fn the_official_suite_judges_skeletons_as_the_whole() {
    block_on(async {
        let (mut accepted, mut refused) = (0, 0);
        for case in suite::cases() {
            let Ok(schema) = InputSchema::compile(case.schema.clone()) else {
                continue;
            };
            let session = session();
            for (number, test) in case.tests.iter().enumerate() {
                let is_accepted =
                    judged(&session, &format!("c{number}"), &schema, &test.data).await;
                accepted += is_accepted;
                refused += 1 - is_accepted;
            }
        }
        assert!(accepted > 500 && refused > 500, "{accepted} {refused}");
    });
}

/// What a schema looks at, whatever the names in it are.
fn shape(schema: &Value, out: &mut String) {
    match schema {
        Value::Object(members) => {
            out.push('{');
            for (key, value) in members {
                match key.as_str() {
                    "title" | "description" | "default" | "examples" | "required" => {}
                    "properties" | "$defs" | "definitions" => {
                        let mut shapes = BTreeSet::new();
                        for schema in value.as_object().into_iter().flatten().map(|(_, of)| of) {
                            let mut one = String::new();
                            shape(schema, &mut one);
                            shapes.insert(one);
                        }
                        out.push_str(&format!("{key}{shapes:?}"));
                    }
                    key => {
                        out.push_str(key);
                        shape(value, out);
                    }
                }
            }
            out.push('}');
        }
        Value::Array(items) => items.iter().for_each(|item| shape(item, out)),
        Value::String(text) if text.starts_with('#') => out.push('#'),
        Value::String(text) if out.ends_with("type") => out.push_str(text),
        _ => out.push('.'),
    }
}

/// So does every shape of schemas of real tools, of instances that fit and of those that do not.
#[test]
fn real_tools_judge_skeletons_as_the_whole() {
    block_on(async {
        let mut seen = HashSet::new();
        for tool in corpus::tools() {
            let mut own = String::new();
            shape(&tool.schema, &mut own);
            if !seen.insert(own) {
                continue;
            }
            let schema = InputSchema::compile(tool.schema.clone()).unwrap();
            let session = session();
            let (valid, invalid) = (&tool.instances.valid, &tool.instances.invalid);
            let some = valid.iter().take(2).chain(invalid.iter().take(2));
            for (number, instance) in some.enumerate() {
                judged(&session, &format!("c{number}"), &schema, instance).await;
            }
        }
        assert!(seen.len() > 400, "{}", seen.len());
    });
}
