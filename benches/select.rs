//! Selecting: an expression over a recorded result, against the `jmespath` crate.
//!
//! Ours has the document indexed and the expression compiled; `search` gets a
//! `serde_json::Value`, `interpret` one that was converted before. All but the last column write
//! the outcome as bytes.
#![expect(clippy::unwrap_used, reason = "what cannot run need not be measured")]

use crossfeed_benches::{Contender, Run, Work, data};
use crossfeed_jmespath::{Arena, Budget, Expression, Limits, View, evaluate};
use crossfeed_json::Document;
use jmespath::{Context, DEFAULT_RUNTIME, Rcvar, Variable, interpret};
use serde_json::Value;

const EXPRESSIONS: [&str; 9] = [
    "metadata.total",
    "items[0]",
    "items[-1]",
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
        let rows = ["crossfeed", "search", "interpret", "interpret, not written"];
        let title = format!("Selecting from {size}");
        let Some(table) = run.table(&title, "expression", &rows) else {
            continue;
        };
        let raw = data::records(bytes);
        let document = Document::new(raw.clone());
        let root = document.root().unwrap();
        let value: Value = serde_json::from_slice(&raw).unwrap();
        let variable = Rcvar::new(Variable::from_serializable(&value).unwrap());
        for text in EXPRESSIONS {
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

/// Both must give the same value, or they are not to be compared.
fn check(ours: &[u8], theirs: &[u8]) {
    let [ours, theirs]: [Value; 2] =
        [ours, theirs].map(|json| serde_json::from_slice(json).unwrap());
    assert_eq!(ours, theirs);
}
