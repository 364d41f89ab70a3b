//! Files and resources in place of results.

use super::Session;
use crate::{
    Engine, EngineOptions, Error, InputError, InputSchema, Inputs, RevealPolicy, ToolResult,
};
use async_trait::async_trait;
use crossfeed_projection::RevealRules;
use crossfeed_wire::{
    CallId, Scope,
    reference::{Input, InputKind},
};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

/// Files by their names; resources are off.
#[derive(Default)]
struct Files {
    files: HashMap<String, Vec<u8>>,
    read: AtomicUsize,
}

#[async_trait]
impl Inputs for Files {
    async fn read(&self, input: &Input) -> Result<ToolResult, InputError> {
        self.read.fetch_add(1, Ordering::Relaxed);
        if input.kind() == InputKind::Resource {
            let setting = Some("references.resources".to_owned());
            return Err(InputError::SwitchedOff { setting });
        }
        let bytes = self.files.get(input.name()).cloned();
        let bytes = bytes.ok_or_else(|| InputError::Unavailable {
            why: "there is no such file".to_owned(),
            advice: "try: another path".to_owned(),
        })?;
        Ok(match String::from_utf8(bytes) {
            Ok(text) => ToolResult::text(text),
            Err(error) => ToolResult::bytes(error.into_bytes(), "application/octet-stream"),
        }
        .with_sources("the host"))
    }
}

fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(work)
}

fn session(files: &[(&str, &[u8])]) -> Session {
    let files = files
        .iter()
        .map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec()));
    let files = Files {
        files: files.collect(),
        ..Files::default()
    };
    plain(EngineOptions::default()).with_inputs(Arc::new(files))
}

fn plain(options: EngineOptions) -> Session {
    Engine::in_memory(options).session(Scope::parse("t", "p", "s").unwrap())
}

fn compiled(parameter: Value) -> InputSchema {
    let schema = json!({"type": "object", "properties": {"a": parameter}});
    InputSchema::compile(schema).unwrap()
}

const FILES: [(&str, &[u8]); 6] = [
    ("notes.txt", b"one\ntwo"),
    ("data.json", br#"{"b": [1, 2.50], "c": {"d": "x"}}"#),
    ("data", br#"{"b": [1, 2.50]}"#),
    ("broken.json", b"{\n \"a\": nope}"),
    ("image.png", b"\x89PNG\xff"),
    ("half.json", b"{\"a\":\n\"\xff\"}"),
];

/// What a parameter of a schema gets, or why not.
fn check(parameter: Value, argument: Value, expected: Value) {
    let schema = compiled(parameter.clone());
    let arguments = json!({"a": argument});
    let resolved = run(session(&FILES).resolve(arguments.clone(), Some(&schema)));
    match resolved {
        Ok(resolved) => assert_eq!(
            resolved.arguments,
            json!({"a": expected}),
            "{parameter} {arguments}"
        ),
        Err(error) => assert_eq!(
            json!(error.to_string()),
            expected,
            "{parameter} {arguments}"
        ),
    }
}

fn file(name: &str) -> Value {
    json!({"$file": name})
}

#[test]
fn a_parameter_gets_the_form_that_it_takes() {
    let base64 = "iVBOR/8=";
    let text = |at: usize| json!(std::str::from_utf8(FILES[at].1).unwrap());
    let data = json!({"b": [1, 2.50], "c": {"d": "x"}});
    // Text only.
    for schema in [
        json!({"type": "string"}),
        json!({"type": ["string", "null"]}),
        json!({"anyOf": [{"type": "string", "maxLength": 400}, {"type": "null"}]}),
    ] {
        check(schema.clone(), file("notes.txt"), text(0));
        check(schema.clone(), file("data.json"), text(1));
        check(schema.clone(), file("broken.json"), text(3));
        check(schema, file("image.png"), json!(base64));
    }
    // Base64 of anything.
    for schema in [
        json!({"type": "string", "contentEncoding": "base64"}),
        json!({"type": "string", "format": "byte"}),
        json!({"type": "string", "format": "binary"}),
    ] {
        check(schema.clone(), file("image.png"), json!(base64));
        check(schema, file("notes.txt"), json!("b25lCnR3bw=="));
    }
    // What only JSON gives.
    for schema in [
        json!({"type": "object"}),
        json!({"anyOf": [{"type": "array"}, {"type": "object"}]}),
    ] {
        check(schema.clone(), file("data.json"), data.clone());
        check(schema.clone(), file("data"), json!({"b": [1, 2.50]}));
        for (name, place) in [
            ("broken.json", "line 2, column 7"),
            ("image.png", "line 1, column 1"),
            ("half.json", "line 2, column 2"),
        ] {
            let error = format!(
                "file `{name}` is not valid JSON ({place}) (argument `/a`)\nmend it, or name another: this parameter takes no text"
            );
            check(schema.clone(), file(name), json!(error));
        }
    }
    // Both, or nothing is said: what the name says, if it holds.
    for schema in [json!({}), json!({"type": ["string", "object"]})] {
        check(schema.clone(), file("notes.txt"), text(0));
        check(schema.clone(), file("data"), text(2));
        check(schema.clone(), file("data.json"), data.clone());
        check(schema, file("broken.json"), text(3));
    }
    let image =
        json!({"data": base64, "encoding": "base64", "mimeType": "application/octet-stream"});
    check(json!({}), file("image.png"), image);
}

#[test]
fn selectors_defaults_templates_and_maps_reach_into_inputs() {
    let select = |name: &str, select: &str| json!({"$file": name, "$select": select});
    check(
        json!({"type": "string"}),
        select("data.json", "c.d"),
        json!("x"),
    );
    check(
        json!({"type": "number"}),
        select("data", "b[1]"),
        json!(2.50),
    );
    check(
        json!({"type": "string"}),
        select("image.png", "mimeType"),
        json!("application/octet-stream"),
    );
    check(
        json!({"type": "number"}),
        json!({"$file": "data.json", "$select": "nope", "$default": 7}),
        json!(7),
    );
    check(
        json!({"type": "string"}),
        json!({"$template": "<{n}|{d}>", "$with": {"n": file("data"), "d": select("data.json", "c.d")}}),
        json!("<{\"b\": [1, 2.50]}|x>"),
    );
    check(
        json!({"type": "string"}),
        select("data.json", "c.e"),
        json!(
            "selector `c.e` matched nothing in file `data.json` (argument `/a`)\nfound: {b: [number](len=2), c: {d: string(1)}}\ntry: c.d"
        ),
    );
    // By the place of the target, not of the entry.
    let schema = json!({"type": "object", "properties": {
        "a": {"type": "string"},
        "b": {"type": "object", "properties": {"c": {"type": "object"}}},
    }});
    let schema = InputSchema::compile(schema).unwrap();
    let expected = json!({"a": "{\"b\": [1, 2.50]}", "b": {"c": {"b": [1, 2.50]}}});
    for refs in [
        json!({"a": file("data"), "/b/c": {"_file": "data"}}),
        json!([{"to": "a", "file": "data"}, {"to": "/b/c", "file": "data"}]),
    ] {
        let arguments = json!({"b": {}, "_refs": refs});
        let resolved = run(session(&FILES).resolve(arguments, Some(&schema))).unwrap();
        assert_eq!(resolved.arguments, expected);
    }
}

#[test]
fn what_is_off_is_refused_and_says_how_to_switch_it_on() {
    let off = "cannot be read, because such references are switched off (argument `/a`)\nwrite the value in place of the reference";
    let data = "; to pass the object as data, put it into `{\"$literal\": …}`";
    let resolved = |session: &Session, argument: &Value| {
        let resolved = run(session.resolve(json!({"a": argument}), None));
        resolved.map(|resolved| resolved.arguments["a"].clone())
    };
    let without = plain(EngineOptions::default());
    for argument in [file("a"), json!({"_file": "a", "_select": "b"})] {
        let error = resolved(&without, &argument).unwrap_err();
        assert_eq!(error.to_string(), format!("file `a` {off}{data}"));
        assert_eq!(
            error.failures()[0].error.code().as_str(),
            "reference.malformed"
        );
    }
    let with = session(&FILES);
    let error = resolved(&with, &json!({"$resource": "a:b"})).unwrap_err();
    let setting = "; whoever runs this can switch them on by `references.resources`";
    assert_eq!(
        error.to_string(),
        format!("resource `a:b` {off}{setting}{data}")
    );
    // Data is data, whatever is on.
    for data in [
        json!({"$file": "notes.txt", "mode": 7}),
        json!({"file": "notes.txt"}),
        json!("$file"),
    ] {
        assert_eq!(resolved(&without, &data).unwrap(), data);
        assert_eq!(resolved(&with, &data).unwrap(), data);
    }
    let literal = json!({"$literal": file("notes.txt")});
    assert_eq!(resolved(&with, &literal).unwrap(), file("notes.txt"));
    // A key that the tool itself has.
    let own = json!({"type": "object", "properties": {"$file": {"type": "string"}}});
    check(own, file("notes.txt"), file("notes.txt"));
}

#[test]
fn an_input_is_no_call() {
    let session = session(&FILES);
    let id = CallId::parse("$file:notes.txt").unwrap();
    run(session.record(&id, ToolResult::text("of a call"))).unwrap();
    let arguments = json!({"a": file("notes.txt"), "b": {"$tool": "$file:notes.txt"}});
    let resolved = run(session.resolve(arguments, None)).unwrap();
    assert_eq!(
        resolved.arguments,
        json!({"a": "one\ntwo", "b": "of a call"})
    );
    let inputs: Vec<_> = resolved
        .lineage
        .iter()
        .map(|link| &link.source.input)
        .collect();
    assert_eq!(
        inputs,
        [
            &Some(Input::parse(InputKind::File, "notes.txt").unwrap()),
            &None
        ]
    );
    let sources: Vec<_> = resolved
        .lineage
        .iter()
        .map(|link| link.source.sources.as_deref())
        .collect();
    assert_eq!(sources, [Some("the host"), None]);
    assert_eq!(resolved.lineage[0].source.bytes_in, 7);
}

#[test]
fn bytes_in_place_of_text_are_noticed() {
    let schema = compiled(json!({"type": "string"}));
    let resolved =
        run(session(&FILES).resolve(json!({"a": file("image.png")}), Some(&schema))).unwrap();
    assert_eq!(
        resolved.notices().to_lines(),
        ["encoded: /a, file `image.png` is not UTF-8 text, and was passed as base64"]
    );
    assert_eq!(
        resolved.masked_notices().to_lines(),
        ["encoded: /a, a file is not UTF-8 text, and was passed as base64"]
    );
    let schema = compiled(json!({"type": "string", "format": "byte"}));
    let resolved =
        run(session(&FILES).resolve(json!({"a": file("image.png")}), Some(&schema))).unwrap();
    assert!(resolved.notices().to_lines().is_empty());
}

#[test]
fn each_is_read_once_for_a_form() {
    let files = Arc::new(Files::default());
    let session =
        plain(EngineOptions::default()).with_inputs(Arc::clone(&files) as Arc<dyn Inputs>);
    let arguments = json!({"a": vec![file("x"); 9], "b": {"$file": "x", "$select": "y"}});
    let error = run(session.resolve(arguments, None)).unwrap_err();
    assert_eq!(error.failures().len(), 10);
    assert!(
        error
            .failures()
            .iter()
            .all(|failure| matches!(failure.error, Error::Lookup(_)))
    );
    assert_eq!(files.read.load(Ordering::Relaxed), 1);
    let body = error.failures()[0].body();
    assert_eq!((body.code, body.call_id), ("input.unavailable", None));
}

#[test]
fn what_rules_withhold_is_withheld_of_inputs() {
    let rules = RevealRules::parse([] as [&str; 0], ["pin"]).unwrap();
    let options =
        EngineOptions::default().with_reveal(RevealPolicy::default().with_every_tool(rules));
    let files = HashMap::from([(
        "a.json".to_owned(),
        br#"{"pin": "S3CR3T", "b": 1}"#.to_vec(),
    )]);
    let files = Files {
        files,
        ..Files::default()
    };
    let session = plain(options).with_inputs(Arc::new(files));
    let of = |select: &str| json!({"a": {"$file": "a.json", "$select": select}});
    assert_eq!(
        run(session.resolve(of("b"), None)).unwrap().arguments,
        json!({"a": 1})
    );
    let error = run(session.resolve(of("pin"), None)).unwrap_err();
    assert!(!error.to_string().contains("S3CR3T"), "{error}");
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<i32>().prop_map(Value::from),
        "[a-z\\PC]{0,6}".prop_map(Value::from),
        Just(json!("{\"x\": 1}")),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(
                prop::sample::select(&["a", "b", "x", "_toolCallId", "$tool"][..]),
                inner,
                0..4
            )
            .prop_map(|members| members
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect()),
        ]
    })
}

proptest! {
    /// A file resolves as a recorded result with its bytes does, whatever is selected of it and whatever takes it.
    #[test]
    fn a_file_is_like_a_result(
        value in value(),
        is_prose: bool,
        select in prop::option::of(prop::sample::select(&["a", "b[0]", "*", "@", "x.a", "[0].b", "keys(@)"][..])),
        parameter in prop::sample::select(vec![json!({"type": "string"}), json!({"type": "object"}), json!({"type": ["array", "object", "number"]}), json!({})]),
    ) {
        let bytes = if is_prose { format!("see {value}") } else { value.to_string() };
        let session = session(&[("f", bytes.as_bytes())]);
        let takes_json = parameter["type"] != json!(null) && parameter["type"] != json!("string");
        let recorded = if takes_json && select.is_none() {
            ToolResult::json(bytes.clone())
        } else {
            ToolResult::text(bytes.clone())
        };
        run(session.record(&CallId::parse("call_1").unwrap(), recorded)).unwrap();
        let schema = compiled(parameter);
        let resolve = |key: &str, name: &str| {
            let mut reference = json!({key: name});
            if let Some(select) = select {
                reference["$select"] = select.into();
            }
            let resolved = run(session.resolve(json!({"a": reference}), Some(&schema)));
            resolved.map(|resolved| (resolved.arguments, resolved.repairs, resolved.lineage[0].source.bytes_out))
                .map_err(|error| error.failures().iter().map(|failure| (failure.at.clone(), failure.error.code())).collect::<Vec<_>>())
        };
        let (of_file, of_call) = (resolve("$file", "f"), resolve("$tool", "call_1"));
        match (&of_file, &of_call) {
            // Text is refused as such where only JSON fits.
            (Err(failures), Err(_)) if takes_json && is_prose => prop_assert_eq!(failures.len(), 1),
            _ => prop_assert_eq!(of_file, of_call),
        }
    }

    /// Whatever bytes a file has, and whatever takes it: a value or an error, and no panic; base64 is that of its bytes.
    #[test]
    fn any_bytes_are_a_value_or_an_error(
        bytes in prop::collection::vec(prop_oneof![any::<u8>(), prop::sample::select(&b"{}[]\",:1a\n"[..])], 0..40),
        kind in prop::sample::select(vec![json!({"type": "string"}), json!({"type": "string", "format": "byte"}), json!({"type": "object"}), json!({})]),
        name in prop::sample::select(&["a.json", "a.bin"][..]),
    ) {
        use base64::{Engine as _, engine::general_purpose::STANDARD};
        let session = session(&[(name, &bytes)]);
        let resolved = run(session.resolve(json!({"a": file(name)}), Some(&compiled(kind.clone()))));
        match resolved {
            Ok(resolved) if kind["format"] == json!("byte") => {
                let text = resolved.arguments["a"].as_str().unwrap();
                prop_assert_eq!(STANDARD.decode(text).unwrap(), bytes);
            }
            Ok(resolved) if kind["type"] == json!("string") => {
                let text = resolved.arguments["a"].as_str().unwrap();
                match String::from_utf8(bytes.clone()) {
                    Ok(own) => prop_assert_eq!(text, own),
                    Err(_) => prop_assert_eq!(STANDARD.decode(text).unwrap(), bytes),
                }
            }
            Ok(_) => {}
            Err(error) => prop_assert!(kind["type"] == json!("object"), "{error}"),
        }
    }
}

#[test]
fn a_reference_to_an_input_in_a_text_takes_room_as_one_to_a_call_does() {
    run(async {
        let options = EngineOptions::default().with_max_argument_bytes(10_000);
        let session = Engine::in_memory(options).session(Scope::parse("t", "p", "s").unwrap());
        for key in ["$tool", "$file", "$resource"] {
            let reference = json!({key: "a", "$default": vec![0; 20_000]});
            let arguments = json!({"x": reference.to_string()});
            let error = session.resolve_json(arguments.to_string(), None).await;
            let code = error.unwrap_err().failures()[0].error.code();
            assert_eq!(code.as_str(), "limit.exceeded", "{key}");
        }
    });
}
