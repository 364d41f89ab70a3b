//! Stripping internal fields from a text of telemetry, against parsing, retaining and serialising with
//! `serde_json::Value`, against the two scans that it takes at least, and against doing nothing.
#![expect(clippy::unwrap_used, reason = "what cannot run need not be measured")]

use crossfeed_benches::{Contender, Run, Work, data};
use crossfeed_otel::{Outcome, Policy};
use crossfeed_wire::internal::is_internal;
use memchr::memmem::Finder;
use serde_json::{Map, Value, json};

const SIZES: [(&str, usize); 3] = [("1 KB", 1_000), ("100 KB", 100_000), ("1 MB", 1_000_000)];

const RESULT: &str = "gen_ai.tool.call.result";

fn main() {
    let run = Run::from_arguments(1.5);
    nothing_to_strip(&run);
    something_to_strip(&run, "A result with internal fields", result);
    something_to_strip(&run, "The same in a string of messages", messages);
}

fn nothing_to_strip(run: &Run) {
    let rows = ["`Policy::strip`", "two scans", "`Value`", "nothing"];
    let Some(table) = run.table("A result without internal fields", "result", &rows) else {
        return;
    };
    let policy = Policy::default();
    let quoted = Finder::new(b"\"_");
    let written = Finder::new(b"\\u00");
    for (size, bytes) in SIZES {
        let text = plain(bytes);
        assert_eq!(policy.strip(RESULT, &text), Outcome::Unchanged);
        let rows = vec![
            Contender::new(|| policy.strip(RESULT, &text)),
            Contender::new(|| (quoted.find(text.as_bytes()), written.find(text.as_bytes()))),
            Contender::new(|| by_value(&text)),
            Contender::new(|| text.as_str()),
        ];
        table.line(size, Work::Bytes(text.len()), rows);
    }
}

fn something_to_strip(run: &Run, title: &str, text: fn(usize) -> String) {
    let rows = ["`Policy::strip`", "`Value`"];
    let Some(table) = run.table(title, "text", &rows) else {
        return;
    };
    let policy = Policy::default();
    for (size, bytes) in SIZES {
        let text = text(bytes);
        let Outcome::Text(stripped) = policy.strip(RESULT, &text) else {
            continue;
        };
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert_eq!(read(&stripped), read(&by_value(&text)));
        let rows = vec![
            Contender::new(|| policy.strip(RESULT, &text)),
            Contender::new(|| by_value(&text)),
        ];
        table.line(size, Work::Bytes(text.len()), rows);
    }
}

/// Records, as many as fit.
fn items(size: usize) -> Vec<Value> {
    let records: Value = serde_json::from_slice(&data::records(size)).unwrap();
    records["items"].as_array().unwrap().clone()
}

fn plain(size: usize) -> String {
    json!({"items": items(size)}).to_string()
}

/// A result as a host shows it: internal fields at the top, and in one of ten items.
fn result(size: usize) -> String {
    let mut items = items(size);
    for item in items.iter_mut().step_by(10) {
        item["_toolCallId"] = json!("call_7f3");
    }
    let mut result = Map::new();
    result.insert("_rank".to_owned(), json!(1));
    result.insert("items".to_owned(), items.into());
    result.insert("_toolCallId".to_owned(), json!("call_7f3"));
    result.insert(
        "_structureHints".to_owned(),
        json!({"compact": ["items[0].title", "items[*].url"]}),
    );
    Value::Object(result).to_string()
}

/// Messages whose contents are results of at most 10 KB.
fn messages(size: usize) -> String {
    let content = result(size.min(10_000));
    let count = size.div_ceil(content.len());
    let message = json!({"role": "tool", "content": content});
    Value::Array(vec![message; count]).to_string()
}

fn by_value(text: &str) -> String {
    let mut value: Value = serde_json::from_str(text).unwrap();
    retain(&mut value, true);
    value.to_string()
}

/// What a host would write by hand. A string is parsed only if it may hold such a key.
fn retain(value: &mut Value, top: bool) {
    match value {
        Value::Object(members) => {
            members.retain(|key, _| !(is_internal(key) || top && key.starts_with('_')));
            members.values_mut().for_each(|value| retain(value, false));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| retain(item, false)),
        Value::String(text) if text.starts_with(['{', '[']) && text.contains("\"_") => {
            if let Ok(mut inner) = serde_json::from_str(text) {
                retain(&mut inner, false);
                *text = inner.to_string();
            }
        }
        _ => {}
    }
}
