//! Indexing: what the first use of a recorded result costs, against serde_json.
#![expect(clippy::unwrap_used, reason = "what cannot run need not be measured")]

use bytes::Bytes;
use crossfeed_benches::{Contender, Run, Work, data};
use crossfeed_json::Document;
use serde::de::IgnoredAny;
use serde_json::Value;

fn main() {
    let run = Run::from_arguments(0.8);
    for (size, bytes) in data::SIZES {
        let rows = ["crossfeed", "`IgnoredAny`", "`Value`"];
        let Some(table) = run.table(&format!("Indexing {size}"), "data", &rows) else {
            continue;
        };
        for (set, make) in data::SETS {
            let raw = make(bytes);
            let rows = vec![
                Contender::new(|| {
                    let document = Document::new(raw.clone());
                    assert!(document.root().is_ok());
                    document
                }),
                Contender::new(|| serde_json::from_slice::<IgnoredAny>(&raw).unwrap()),
                Contender::new(|| serde_json::from_slice::<Value>(&raw).unwrap()),
            ];
            table.line(set, Work::Bytes(raw.len()), rows);
        }
    }
    memory(&run);
}

fn memory(run: &Run) {
    let mut lines = Vec::new();
    let mut add = |set: &str, raw: Bytes| {
        let document = Document::new(raw.clone());
        document.root().unwrap();
        let times = document.resident_bytes() as f64 / raw.len() as f64;
        lines.push(vec![set.to_owned(), format!("{times:.2}")]);
    };
    for (set, make) in data::SETS {
        add(set, make(1_000_000));
    }
    let nested = format!("{}{}", "[".repeat(126), "]".repeat(126));
    // The fewest bytes for a container, a value, an object with a repeated key, with an escaped one
    // too, and for a container around others.
    for (set, item) in [
        ("worst case: `[[],[],…]`", "[]"),
        ("`[0,0,…]`", "0"),
        (r#"`[{"":0,"":0},…]`"#, r#"{"":0,"":0}"#),
        (r#"`[{"\n":0,"\n":0},…]`"#, r#"{"\n":0,"\n":0}"#),
        ("lists nested 126 deep", nested.as_str()),
    ] {
        let items = vec![item; 1_000_000 / (item.len() + 1)];
        add(set, format!("[{}]", items.join(",")).into());
    }
    let head = [
        "data, 1 MB",
        "bytes held per raw byte, the raw byte included",
    ];
    run.print("Memory", &head, &lines);
}
