//! Edits: what changing one value of a large result costs, beside a copy of its bytes.
#![expect(clippy::unwrap_used, reason = "what cannot run need not be measured")]

use bytes::Bytes;
use crossfeed_benches::{Contender, Run, Work, data};
use crossfeed_core::{Engine, EngineOptions, Session, ToolResult};
use crossfeed_edit::{EditLimits, Patch, TextEdits};
use crossfeed_json::Document;
use crossfeed_wire::{CallId, Scope};
use serde_json::{Value, json};
use std::{hint::black_box, time::Instant};
use tokio::runtime::{Builder, Runtime};

const SIZES: [(&str, usize); 2] = [("100 KB", 100_000), ("10 MB", 10_000_000)];

fn main() {
    let run = Run::from_arguments(1.5);
    let runtime = Builder::new_current_thread().build().unwrap();
    by_itself(&run);
    in_a_reference(&run, &runtime);
}

fn replacing(path: &str) -> Value {
    json!([{"op": "replace", "path": path, "value": "changed"}])
}

fn patch(json: &Value) -> Patch {
    let document = Document::new(json.to_string());
    Patch::read_json(document.root().unwrap(), &EditLimits::default()).unwrap()
}

/// A document whose index is there, as that of a result that was looked at, changed and written.
fn by_itself(run: &Run) {
    let rows = [
        "a copy",
        "the first item",
        "the middle one",
        "the last one",
        "a text, one word",
    ];
    let Some(table) = run.table("One value changed", "document", &rows) else {
        return;
    };
    let limits = EditLimits::default();
    for (size, bytes) in SIZES {
        let raw = data::records(bytes);
        let document = Document::new(raw.clone());
        let root = document.root().unwrap();
        let items = root.get("items").unwrap().len().unwrap();
        let at = |index: usize| {
            let patch = patch(&replacing(&format!("/items/{index}/title")));
            Contender::new(move || patch.apply(root, None, &limits).unwrap())
        };
        let prose = Document::new(Value::from(text(bytes)).to_string());
        let prose = prose.root().unwrap();
        let edits = Document::new(r#"[{"old": "the needle", "new": "a pin"}]"#);
        let edits = TextEdits::read_json(edits.root().unwrap(), &limits).unwrap();
        let rows = vec![
            Contender::new(|| Vec::from(&raw[..])),
            at(0),
            at(items / 2),
            at(items - 1),
            Contender::new(move || edits.apply(prose, &limits).unwrap()),
        ];
        table.line(size, Work::Once, rows);
    }
}

/// Lines of prose with one needle in them.
fn text(bytes: usize) -> String {
    let line = "It was a bright cold day in April, and the clocks were striking.\n";
    let half = line.repeat(bytes / line.len() / 2);
    format!("{half}Here is the needle.\n{half}")
}

/// Arguments with a reference, resolved to bytes in one piece.
fn in_a_reference(run: &Run, runtime: &Runtime) {
    let rows = ["the whole", "the middle item changed"];
    let Some(table) = run.table("A reference", "result", &rows) else {
        return;
    };
    let options = EngineOptions::default().with_edits(EditLimits::default());
    let engine = Engine::in_memory(options);
    let session = engine.session(Scope::parse("tenant", "project", "session").unwrap());
    for (size, bytes) in SIZES {
        let raw = data::records(bytes);
        let items = Document::new(raw.clone());
        let items = items.root().unwrap().get("items").unwrap().len().unwrap();
        let call = CallId::parse(size).unwrap();
        runtime.block_on(async {
            let recorded = session.record(&call, ToolResult::json(raw)).await;
            recorded.unwrap();
        });
        let whole = json!({"x": {"$tool": size}});
        let path = format!("/items/{}/title", items / 2);
        let changed = json!({"x": {"$tool": size, "$patch": replacing(&path)}});
        let rows = [whole, changed].map(|arguments| {
            let arguments = Bytes::from(arguments.to_string());
            resolving(runtime, &session, arguments)
        });
        table.line(size, Work::Once, rows.into());
    }
}

fn resolving<'a>(runtime: &'a Runtime, session: &'a Session, arguments: Bytes) -> Contender<'a> {
    Contender::timed(move |iterations| {
        runtime.block_on(async {
            let start = Instant::now();
            for _ in 0..iterations {
                let resolved = session.resolve_json(arguments.clone(), None).await;
                black_box(resolved.unwrap().arguments.to_vec());
            }
            start.elapsed()
        })
    })
}
