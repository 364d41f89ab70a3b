//! Selecting: an expression over a recorded result, against the `jmespath` crate.
//!
//! Ours has the document indexed and the expression compiled. In the first column the document
//! has seen each expression before, and has the side tables that pay; "first" is an evaluation on a
//! document that has seen none, indexed just before. `search` gets a `serde_json::Value`,
//! `interpret` one that was converted before. All but the last column write the outcome as bytes.
#![expect(clippy::unwrap_used, reason = "what cannot run need not be measured")]

use bytes::Bytes;
use crossfeed_benches::{Contender, Run, Work, data};
use crossfeed_jmespath::{Arena, Budget, Expression, Limits, View, evaluate};
use crossfeed_json::Document;
use jmespath::{Context, DEFAULT_RUNTIME, Rcvar, Variable, interpret};
use serde_json::Value;
use std::{
    hint::black_box,
    time::{Duration, Instant},
};

/// `MIDDLE` stands for the place of the middle item.
const EXPRESSIONS: [&str; 10] = [
    "metadata.total",
    "items[0]",
    "items[-1]",
    "items[MIDDLE].title",
    "items[*].title",
    "items[?score > `0.8`].{title: title, url: url}",
    "items[?author.verified].url",
    "sort_by(items, &score)[-5:].title",
    "max_by(items, &score).title",
    "length(items)",
];

fn main() {
    let run = Run::from_arguments(1.8);
    for (size, bytes) in data::SIZES {
        let rows = [
            "crossfeed",
            "first",
            "search",
            "interpret",
            "interpret, not written",
        ];
        let title = format!("Selecting from {size}");
        let Some(table) = run.table(&title, "expression", &rows) else {
            continue;
        };
        let raw = data::records(bytes);
        let document = Document::new(raw.clone());
        let root = document.root().unwrap();
        let value: Value = serde_json::from_slice(&raw).unwrap();
        let variable = Rcvar::new(Variable::from_serializable(&value).unwrap());
        let middle = root.get("items").and_then(|items| items.len()).unwrap() / 2;
        for text in EXPRESSIONS {
            let text = &*text.replace("MIDDLE", &middle.to_string());
            let expression = Expression::parse(text).unwrap();
            let theirs = jmespath::compile(text).unwrap();
            let interpret = || {
                let mut context = Context::new(text, &DEFAULT_RUNTIME);
                interpret(&variable, theirs.as_ast(), &mut context).unwrap()
            };
            check(
                &ours(&expression, root),
                &serde_json::to_vec(&interpret()).unwrap(),
            );
            let rows = vec![
                Contender::new(|| ours(&expression, root)),
                Contender::timed(|times| first(&expression, &raw, times)),
                Contender::new(|| serde_json::to_vec(&theirs.search(&value).unwrap()).unwrap()),
                Contender::new(|| serde_json::to_vec(&interpret()).unwrap()),
                Contender::new(interpret),
            ];
            table.line(&format!("`` {text} ``"), Work::Once, rows);
        }
    }
}

fn ours(expression: &Expression, root: crossfeed_json::Cursor<'_>) -> Vec<u8> {
    let limits = Limits::default();
    let (arena, budget) = (Arena::new(), Budget::new(&limits, root.value_count()));
    let outcome = evaluate(expression, &View::from(root), &arena, &budget).unwrap();
    let mut json = Vec::new();
    outcome
        .unwrap()
        .write(&mut json, limits.output_bytes)
        .unwrap();
    json
}

/// Time for evaluations on documents that have no side tables yet. Making the document takes a
/// thousand times as long as some evaluations: so only some are measured, and stand for all.
fn first(expression: &Expression, raw: &Bytes, times: u64) -> Duration {
    let once = || {
        let document = Document::new(raw.clone());
        let root = document.root().unwrap();
        let start = Instant::now();
        black_box(ours(expression, root));
        start.elapsed()
    };
    let measured = times.min(1 + 2_000_000 / raw.len() as u64);
    let taken: Duration = (0..measured).map(|_| once()).sum();
    taken.mul_f64(times as f64 / measured as f64)
}

/// Both must give the same value, or they are not to be compared.
fn check(ours: &[u8], theirs: &[u8]) {
    let [ours, theirs]: [Value; 2] =
        [ours, theirs].map(|json| serde_json::from_slice(json).unwrap());
    assert_eq!(ours, theirs);
}
