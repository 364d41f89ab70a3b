//! What models and hosts give to stages of the engine: selectors, schemas, and traces.

use crate::block_on;
use crossfeed_core::{Engine, EngineOptions, InputSchema, Session, ToolResult};
use crossfeed_edit::{EditLimits, IsWithheld, Merge, Patch, TextEdits};
use crossfeed_json::{Cursor, Document};
use crossfeed_otel::{JsonDocuments, JsonPiece, Policy, sanitize_json};
use crossfeed_output_schema::OutputSchema;
use crossfeed_sql::{Answer, Database, SqlLimits};
use crossfeed_tools::{ListOptions, Profile, Style, ToolList, rewrite_tools};
use crossfeed_wire::{CallId, Scope};
use serde_json::{Value, json};
use std::{sync::OnceLock, time::Duration};

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

/// A statement, and behind its line the result that it is about. What is imported has as many tables as are described; an
/// answer is JSON with its rows, the same again, and leaves everything as it is.
pub(crate) fn statement(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let (sql, result) = text.split_once('\n').unwrap_or((&text, "[]"));
    let limits = SqlLimits::default()
        .with_time(Duration::from_millis(50))
        .with_answer_bytes(64 << 10)
        .with_value_bytes(1 << 20);
    let mut database = Database::open(limits).expect("memory");
    let result = match serde_json::from_str::<Value>(result) {
        Ok(_) => result.to_owned(),
        Err(_) => Value::from(result).to_string(),
    };
    if let Ok(tables) = database.import("call_1", result) {
        assert!(tables.iter().all(|table| !table.columns.is_empty()));
    }
    let before = database.tables().to_vec();
    let rows = |answer: &Answer| {
        let rows: Value = serde_json::from_slice(&answer.json).expect("JSON");
        rows.as_array().expect("a list").len()
    };
    match database.query(sql) {
        Ok(answer) => assert_eq!(rows(&answer), answer.rows, "{sql}"),
        Err(error) => assert!(!error.to_string().is_empty() && !error.advice().is_empty()),
    }
    assert_eq!(database.tables(), before, "{sql}");
    for table in &before {
        let name = table.name.replace('"', "\"\"");
        let counted = database.query(&format!("SELECT count(*) AS n FROM \"{name}\""));
        let expected = format!("[{{\"n\":{}}}]", table.rows);
        assert_eq!(counted.expect("a table").json, expected.as_bytes(), "{sql}");
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

/// A patch, a merge or text edits in the first line, and the document for it behind that. What comes out is a document,
/// the same each time, in which everything that is withheld has its bytes.
pub(crate) fn edit(bytes: &[u8]) {
    let limits = EditLimits::default()
        .with_operations(1_000)
        .with_bytes(64 << 10)
        .with_steps(1_000_000);
    let mut parts = bytes.splitn(2, |byte| *byte == b'\n');
    let edit = Document::new(parts.next().unwrap_or_default().to_vec());
    let document = Document::new(parts.next().unwrap_or_default().to_vec());
    let (Ok(edit), Ok(root)) = (edit.root(), document.root()) else {
        return;
    };
    let is_withheld = |value: Cursor<'_>| value.has_key("secret");
    let withheld: Option<IsWithheld<'_>> = Some(&is_withheld);
    let secrets = |root: Cursor<'_>| {
        let mut found = Vec::new();
        note_secrets(root, &mut found);
        found
    };
    for is_withheld in [None, withheld] {
        let patched = || Patch::read_json(edit, &limits)?.apply(root, is_withheld, &limits);
        let merged = || Merge::read_json(edit, &limits)?.apply(root, is_withheld, &limits);
        for outcome in [(patched(), patched()), (merged(), merged())] {
            assert_eq!(outcome.0, outcome.1, "the same edit has the same outcome");
            let Ok(outcome) = outcome.0 else { continue };
            assert!(outcome.len() <= limits.bytes);
            let outcome = Document::new(outcome);
            let outcome = outcome.root().expect("an edited document is JSON");
            if is_withheld.is_some() {
                let (before, after) = (secrets(root), secrets(outcome));
                let stays = |secret: &Vec<u8>| after.contains(secret);
                assert!(before.iter().all(stays), "what is withheld keeps its bytes");
            }
        }
    }
    let edited = || TextEdits::read_json(edit, &limits)?.apply(root, &limits);
    if let Ok(outcome) = edited() {
        let outcome = Document::new(outcome);
        let outcome = outcome.root().expect("an edited text is JSON");
        assert!(outcome.as_str().is_some());
    }
}

/// The bytes of all that is withheld.
fn note_secrets(value: Cursor<'_>, found: &mut Vec<Vec<u8>>) {
    for child in value.items() {
        if child.has_key("secret") {
            found.push(child.raw().to_vec());
        } else {
            note_secrets(child, found);
        }
    }
}
