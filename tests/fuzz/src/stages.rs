//! What models and hosts give to stages of the engine: selectors, schemas, and traces.

use crate::block_on;
use crossfeed_core::{Engine, EngineOptions, InputSchema, Session, ToolResult};
use crossfeed_json::Document;
use crossfeed_otel::{JsonDocuments, JsonPiece, Policy, sanitize_json};
use crossfeed_output_schema::OutputSchema;
use crossfeed_tools::{ListOptions, Profile, Style, ToolList, rewrite_tools};
use crossfeed_wire::{CallId, Scope};
use serde_json::{Value, json};
use std::sync::OnceLock;

const DOCUMENT: &str = r#"{"items": [
    {"id": "a", "url": "https://a.example", "n": 1.5, "tags": ["x", "y"], "deep": {"er": {"est": null}}},
    {"id": "b", "url": "https://b.example", "n": -2, "tags": [], "deep": {}},
    {"id": "c", "n": 1e300, "ok": true, "tags": ["\u00e9", "\ud83d\ude00"]}
], "total": 3, "text": "{\"in\": [1, 2, {\"side\": \"text\"}]}", "_meta": {"x": 1}}"#;

fn session() -> &'static (Session, CallId) {
    static SESSION: OnceLock<(Session, CallId)> = OnceLock::new();
    SESSION.get_or_init(|| {
        let engine = Engine::in_memory(EngineOptions::default());
        let session = engine.session(Scope::parse("t", "p", "s").expect("a scope"));
        let call_id = CallId::parse("call_1").expect("an id");
        let result = ToolResult::json(DOCUMENT).with_tool("search");
        block_on(session.record(&call_id, result)).expect("room");
        (session, call_id)
    })
}

/// A selector gives the same whenever it is asked for, or says why it gives nothing.
pub(crate) fn selector(input: &[u8]) {
    let expression = String::from_utf8_lossy(input);
    let (session, call_id) = session();
    let [one, two] = [0; 2].map(|_| {
        block_on(session.select(call_id, &expression)).map_err(|failure| failure.to_string())
    });
    match (one, two) {
        (Ok(one), Ok(two)) => assert_eq!(one.json, two.json),
        (Err(one), Err(two)) => assert_eq!(one, two),
        _ => panic!("{expression:?} gives something once"),
    }
    let reference = json!({"x": {"$tool": "call_1", "$select": &*expression}}).to_string();
    // What it gives may be nothing or too much; either is an error with a message.
    if let Err(error) = block_on(session.resolve_json(reference, None)) {
        assert!(!error.to_string().is_empty());
    }
}

/// A schema is one or is not; what it admits, its rewritten forms are made of.
pub(crate) fn schema(input: &[u8]) {
    let Ok(schema) = serde_json::from_slice::<Value>(input) else {
        return;
    };
    if let Ok(compiled) = InputSchema::compile(schema.clone()) {
        let (session, _) = session();
        let arguments = r#"{"a": 1, "b": {"$tool": "call_1", "$select": "items[0]"}}"#;
        let _ = block_on(session.resolve_json(arguments, Some(&compiled)));
    }
    let _ = OutputSchema::new(schema.clone()).summary("t");
    let list = json!({"tools": [{"name": "t", "inputSchema": schema}]});
    let Ok(list) = ToolList::parse(&list) else {
        return;
    };
    for options in [
        ListOptions::style(Style::Inline),
        ListOptions::profile(Profile::Anthropic),
        ListOptions::profile(Profile::OpenAiStrict),
    ] {
        let once = rewrite_tools(&list, &options);
        let again = rewrite_tools(&list, &options);
        assert_eq!(once.value, again.value);
    }
}

/// What is sanitized is read again, and nothing is left to do.
pub(crate) fn otlp(input: &[u8]) {
    let policy = Policy::default();
    let mut documents = JsonDocuments::new(1 << 20);
    documents.push(input);
    documents.end();
    while let Some(piece) = documents.next() {
        let JsonPiece::Document(document, _) = piece else {
            continue;
        };
        let document = Document::new(document);
        let Ok(once) = sanitize_json(&document, &policy) else {
            continue;
        };
        let sanitized = Document::new(once.json.into_owned());
        let again = sanitize_json(&sanitized, &policy).expect("what is sanitized is JSON");
        assert_eq!(&again.json[..], &sanitized.raw()[..]);
    }
}
