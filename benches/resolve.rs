//! Resolving: what references cost in a call's arguments, and what their absence costs.
#![expect(clippy::unwrap_used, reason = "what cannot run need not be measured")]

use bytes::Bytes;
use crossfeed_benches::{Contender, Run, Work, data};
use crossfeed_core::{Engine, EngineOptions, InputSchema, Session, SplicedJson, ToolResult};
use crossfeed_json::{Cursor, Document, Kind};
use crossfeed_wire::{CallId, Scope};
use serde_json::{Value, json};
use std::{
    hint::black_box,
    time::{Duration, Instant},
};
use tokio::runtime::{Builder, Runtime};

const SIZES: [(&str, usize); 3] = [("1 KB", 1_000), ("100 KB", 100_000), ("1 MB", 1_000_000)];

fn main() {
    let run = Run::from_arguments(1.5);
    let runtime = Builder::new_current_thread().build().unwrap();
    let engine = Engine::in_memory(EngineOptions::default());
    let session = engine.session(Scope::parse("tenant", "project", "session").unwrap());
    without_references(&run, &runtime, &session);
    with_references(&run, &runtime, &session);
    whole_result(&run, &runtime, &session);
    whole_result_as_bytes(&run, &runtime, &session);
}

fn arguments(bytes: usize) -> Value {
    serde_json::from_slice(&data::records(bytes)).unwrap()
}

fn without_references(run: &Run, runtime: &Runtime, session: &Session) {
    let rows = [
        "a walk over texts",
        "a walk",
        "resolve",
        "with a schema",
        "a walk over bytes",
        "resolve bytes",
        "bytes with a schema",
    ];
    let Some(table) = run.table("Arguments without references", "arguments", &rows) else {
        return;
    };
    let schema = InputSchema::compile(json!({
        "type": "object",
        "properties": {"metadata": {"type": "object"}, "items": {"type": "array"}},
    }))
    .unwrap();
    for (size, bytes) in SIZES {
        let walked = arguments(bytes);
        let json = data::records(bytes);
        let rows = vec![
            Contender::new(|| {
                walk(&walked, &|text| {
                    memchr::memchr(b'{', text.as_bytes()).is_some()
                })
            }),
            Contender::new(|| walk(&walked, &|text| text.starts_with('{'))),
            resolving(runtime, session, arguments(bytes), None),
            resolving(runtime, session, arguments(bytes), Some(&schema)),
            Contender::new(|| walk_over(Document::new(json.clone()).root().unwrap())),
            resolving_bytes(runtime, session, &json, None, pieces),
            resolving_bytes(runtime, session, &json, Some(&schema), pieces),
        ];
        table.line(size, Work::Once, rows);
    }
}

/// The least that looking at arguments can be: every value once, every key by its first byte, every string as far as
/// `look` goes: to its first byte, or through all of it for one sign.
fn walk(value: &Value, look: &impl Fn(&str) -> bool) -> usize {
    match value {
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| walk(value, look) + usize::from(key.starts_with(['$', '_'])))
            .sum(),
        Value::Array(items) => items.iter().map(|item| walk(item, look)).sum(),
        Value::String(text) => usize::from(look(text)),
        _ => 0,
    }
}

/// The same of arguments as bytes, which are checked and indexed on the way.
fn walk_over(value: Cursor<'_>) -> usize {
    match value.kind() {
        Kind::Object => value
            .members()
            .map(|(key, value)| walk_over(value) + usize::from(key.raw().starts_with(b"$")))
            .sum(),
        Kind::Array => value.items().map(walk_over).sum(),
        Kind::String => usize::from(value.raw().starts_with(b"\"{")),
        _ => 0,
    }
}

/// Resolves arguments to bytes, of which something is made; letting go of that is measured, too.
fn resolving_bytes<'a, T>(
    runtime: &'a Runtime,
    session: &'a Session,
    arguments: &Bytes,
    schema: Option<&'a InputSchema>,
    made_of: impl Fn(SplicedJson) -> T + 'a,
) -> Contender<'a> {
    let arguments = arguments.clone();
    Contender::timed(move |iterations| {
        runtime.block_on(async {
            let start = Instant::now();
            for _ in 0..iterations {
                let resolved = session.resolve_json(arguments.clone(), schema).await;
                black_box(made_of(resolved.unwrap().arguments));
            }
            start.elapsed()
        })
    })
}

/// All pieces as one, copied.
fn copied(arguments: SplicedJson) -> Vec<u8> {
    arguments.to_vec()
}

/// The pieces, of which the large ones are not copied.
fn pieces(arguments: SplicedJson) -> SplicedJson {
    arguments
}

/// Resolves what the resolution before gave: arguments that have no references come back as they
/// were.
fn resolving<'a>(
    runtime: &'a Runtime,
    session: &'a Session,
    arguments: Value,
    schema: Option<&'a InputSchema>,
) -> Contender<'a> {
    let mut arguments = arguments;
    Contender::timed(move |iterations| {
        runtime.block_on(async {
            let start = Instant::now();
            for _ in 0..iterations {
                let resolved = session.resolve(arguments.take(), schema).await.unwrap();
                arguments = resolved.arguments;
            }
            start.elapsed()
        })
    })
}

/// Resolves the same arguments again and again; making them is not measured.
fn resolving_anew<'a>(
    runtime: &'a Runtime,
    session: &'a Session,
    arguments: &'a Value,
) -> Contender<'a> {
    Contender::timed(move |iterations| {
        runtime.block_on(async {
            let mut taken = Duration::ZERO;
            for _ in 0..iterations {
                let arguments = arguments.clone();
                let start = Instant::now();
                let resolved = session.resolve(arguments, None).await.unwrap();
                taken += start.elapsed();
                drop(resolved);
            }
            taken
        })
    })
}

fn record(runtime: &Runtime, session: &Session, call: &str, bytes: usize) {
    let call = CallId::parse(call).unwrap();
    let result = ToolResult::json(data::records(bytes));
    runtime.block_on(session.record(&call, result)).unwrap();
}

fn with_references(run: &Run, runtime: &Runtime, session: &Session) {
    let rows = ["1 reference", "4 references", "16 references"];
    let title = "Arguments with references to fields";
    let Some(table) = run.table(title, "recorded result", &rows) else {
        return;
    };
    for (size, bytes) in data::SIZES {
        let call = format!("fields of {size}");
        record(runtime, session, &call, bytes);
        let urls = |count: usize| {
            let reference = |n: usize| json!({"$tool": call, "$select": format!("items[{n}].url")});
            json!({"urls": (0..count).map(reference).collect::<Vec<_>>()})
        };
        let arguments = [1, 4, 16].map(urls);
        let rows = arguments
            .iter()
            .map(|arguments| resolving_anew(runtime, session, arguments))
            .collect();
        table.line(size, Work::Once, rows);
    }
}

fn whole_result(run: &Run, runtime: &Runtime, session: &Session) {
    let rows = ["parse to `Value`", "resolve", "copy of the bytes"];
    let title = "A whole result as an argument";
    let Some(table) = run.table(title, "recorded result", &rows) else {
        return;
    };
    for (size, bytes) in SIZES {
        let call = format!("whole {size}");
        record(runtime, session, &call, bytes);
        let raw = data::records(bytes);
        let arguments = json!({"data": {"$tool": call}});
        let rows = vec![
            Contender::timed(|iterations| {
                let mut taken = Duration::ZERO;
                for _ in 0..iterations {
                    let start = Instant::now();
                    let value: Value = serde_json::from_slice(&raw).unwrap();
                    taken += start.elapsed();
                    drop(value);
                }
                taken
            }),
            resolving_anew(runtime, session, &arguments),
            Contender::new(|| raw.to_vec()),
        ];
        table.line(size, Work::Once, rows);
    }
}

fn whole_result_as_bytes(run: &Run, runtime: &Runtime, session: &Session) {
    let rows = [
        "copy of the bytes",
        "pieces, type only",
        "copied, type only",
        "copied, items read",
        "copied, all read",
        "resolve to `Value`, items read",
    ];
    let title = "A whole result as an argument, as bytes";
    let Some(table) = run.table(title, "recorded result", &rows) else {
        return;
    };
    let by = |data: Value| {
        let schema = json!({"type": "object", "properties": {"data": data}});
        InputSchema::compile(schema).unwrap()
    };
    let kind = by(json!({"type": "object"}));
    let item = json!({"type": "object", "required": ["title"], "properties": {"title": {"type": "string"}}});
    let items = by(json!({"properties": {"items": {"type": "array", "items": item}}}));
    let whole = by(json!({"not": {"const": 1}}));
    for (size, bytes) in data::SIZES {
        let call = format!("bytes {size}");
        record(runtime, session, &call, bytes);
        let raw = data::records(bytes);
        let value = json!({"data": {"$tool": call}});
        let arguments = Bytes::from(value.to_string());
        let judged = || {
            Contender::timed(|iterations| {
                runtime.block_on(async {
                    let mut taken = Duration::ZERO;
                    for _ in 0..iterations {
                        let start = Instant::now();
                        let resolved = session.resolve(value.clone(), Some(&items)).await.unwrap();
                        taken += start.elapsed();
                        drop(resolved);
                    }
                    taken
                })
            })
        };
        let rows = vec![
            Contender::new(|| raw.to_vec()),
            resolving_bytes(runtime, session, &arguments, Some(&kind), pieces),
            resolving_bytes(runtime, session, &arguments, Some(&kind), copied),
            resolving_bytes(runtime, session, &arguments, Some(&items), copied),
            resolving_bytes(runtime, session, &arguments, Some(&whole), copied),
            judged(),
        ];
        table.line(size, Work::Once, rows);
    }
}
