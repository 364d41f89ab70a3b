//! What selectors build, and what a schema sees of it, is charged before it is allocated, measured by an allocator
//! that counts.
//!
//! One test, since what one thread takes shows in the figures of another.

#![expect(clippy::unwrap_used, reason = "this is a test")]

#[expect(dead_code, reason = "the other test uses the arguments of many shapes")]
mod shapes;

use crossfeed_core::{
    Engine, EngineOptions, InputSchema, Memory, SelectOptions, Session, ToolResult,
};
use crossfeed_jmespath::Limits;
use crossfeed_wire::{CallId, ErrorCode, Scope};
use serde_json::{Value, json};
use shapes::{SLACK, peak};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

/// What the evaluation and the writing of one call may build without being charged.
const UNCHARGED: usize = 2 * (64 << 10);

#[derive(Debug, Default)]
struct Counter {
    limit: AtomicUsize,
    held: AtomicUsize,
    most: AtomicUsize,
}

impl Memory for Counter {
    fn take(&self, needed: usize, _: usize) -> Option<usize> {
        let held = self.held.load(SeqCst) + needed;
        if held > self.limit.load(SeqCst) {
            return None;
        }
        self.held.store(held, SeqCst);
        self.most.fetch_max(held, SeqCst);
        Some(needed)
    }

    fn give_back(&self, bytes: usize) {
        self.held.fetch_sub(bytes, SeqCst);
    }
}

struct Bench {
    runtime: tokio::runtime::Runtime,
    session: Session,
    memory: Arc<Counter>,
}

/// What one call took, what of it was charged, and how it ended.
struct Measured {
    taken: usize,
    charged: usize,
    ended: Result<usize, ErrorCode>,
}

impl Bench {
    fn new(results: &[(&str, String)]) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        // However long it takes on a machine that does other things, too.
        let hour = Duration::from_secs(3600);
        let select = SelectOptions::default().with_limits(Limits::default().with_time(hour));
        let options = EngineOptions::default()
            .with_select(select)
            .with_resolve_time(hour);
        let engine = Engine::in_memory(options);
        let memory = Arc::new(Counter::default());
        let session = engine.session(Scope::parse("a", "b", "c").unwrap());
        let session = session.with_memory(Arc::clone(&memory) as Arc<dyn Memory>);
        for (id, json) in results {
            let call_id = CallId::parse(id).unwrap();
            let recorded = session.record(&call_id, ToolResult::undeclared(json.clone()));
            runtime.block_on(recorded).unwrap();
        }
        Self {
            runtime,
            session,
            memory,
        }
    }

    fn resolve(&self, arguments: &Value, schema: Option<&InputSchema>, limit: usize) -> Measured {
        let arguments = arguments.to_string();
        self.memory.limit.store(limit, SeqCst);
        self.memory.most.store(0, SeqCst);
        let mut ended = Ok(0);
        let taken = peak(|| {
            let resolving = self.session.resolve_json(arguments, schema);
            ended = match self.runtime.block_on(resolving) {
                Ok(resolved) => Ok(resolved.arguments.len()),
                Err(error) => Err(error.failures()[0].error.code()),
            };
        });
        assert_eq!(self.memory.held.load(SeqCst), 0);
        Measured {
            taken,
            charged: self.memory.most.load(SeqCst),
            ended,
        }
    }
}

fn row(n: usize) -> Value {
    json!({"id": n, "name": format!("name {n} \u{e9}\n"), "tags": [n % 7, "a"], "x": {"y": n * 31 % 1009}})
}

fn reference(call: &str, select: &str) -> Value {
    json!({"$tool": call, "$select": select})
}

/// Selectors that build much, each in its own way.
const HEAVY: [&str; 26] = [
    "rows[*].[id,id,id,id]",
    "rows[*].{a: id, b: name, c: x.y}",
    "rows[*].[[id],[[id]]]",
    "rows[?x.y > `10`]",
    "rows[?x.y > `10`].{a: id}",
    "rows[?[id, name][0] > `10`].name",
    "rows[*].tags[]",
    "rows[].x.y",
    "rows[*].x.*",
    "rows[::-1]",
    "rows[5:].id",
    "map(&[id, x], rows)",
    "map(&to_string(@), rows)",
    "sort(rows[*].name)",
    "sort(rows[*].x.y)",
    "sort_by(rows, &x.y)[*].id",
    "sort_by(rows, &name)[*].id",
    "sort_by(rows, &to_string(x))[*].id",
    "reverse(rows)",
    "values(wide)",
    "keys(wide)",
    "merge(wide, wide, {a: `1`})",
    "to_string(rows)",
    "to_string([rows, rows[0], rows[*].[id]])",
    "reverse(to_string(rows))",
    "join('-', rows[*].name)",
];

#[test]
fn what_selectors_build_is_charged_before_it_is_allocated() {
    let rows: Vec<_> = (0..8_000).map(row).collect();
    let wide: serde_json::Map<_, _> = (0..8_000)
        .map(|n| (format!("key \u{e9}\n {n}"), json!(n)))
        .collect();
    let result = json!({"rows": rows, "wide": wide, "numbers": vec![0; 50_000]}).to_string();
    // JSON in a text of a tool result, which is opened.
    let texts = json!({"content": [{"type": "text", "text": result}]}).to_string();
    let bench = Bench::new(&[("call_1", result), ("call_2", texts)]);
    let all = usize::MAX / 2;
    // Nothing of what is kept beside results is made any more.
    for (call, select) in [("call_1", "rows[0].id"), ("call_2", "rows[0].id")] {
        let arguments = json!({"x": {"$tool": call, "$select": select}});
        let first = bench.resolve(&arguments, None, all);
        assert_eq!(first.ended.err(), None, "{call}");
    }
    let of_x = |of_x: Value| InputSchema::compile(json!({"properties": {"x": of_x}})).unwrap();
    let deep = of_x(json!({"items": {"properties": {"tags": {"items": {"minLength": 0}}}}}));
    let numbers = of_x(json!({"items": {"minimum": 0}}));
    let names = of_x(json!({"propertyNames": {"minLength": 1}}));
    let all_of_it = of_x(json!({"not": {"const": 1}}));
    let seen = [
        ("rows", &deep),
        ("rows[1:]", &deep),
        ("wide", &names),
        ("merge(wide, {a: `1`})", &names),
        ("rows", &all_of_it),
        ("numbers", &numbers),
        ("numbers", &all_of_it),
        ("rows[*].{a: id, b: name}", &all_of_it),
    ];
    let heavy = HEAVY.into_iter().map(|select| (select, None));
    let seen = seen.map(|(select, schema)| (select, Some(schema)));
    for (select, schema) in heavy.chain(seen) {
        for call in ["call_1", "call_2"] {
            let arguments = json!({"x": {"$tool": call, "$select": select}});
            let what = format!(
                "{select} of {call}, {:?}",
                schema.map(InputSchema::as_value)
            );
            let Measured {
                taken,
                charged,
                ended,
            } = bench.resolve(&arguments, schema, all);
            ended.unwrap();
            assert!(
                charged + UNCHARGED + SLACK >= taken,
                "{what}: {charged} were charged for {taken}",
            );
            // Nor is much more charged, where it is mostly what a schema sees.
            assert!(
                select != "numbers" || charged <= 2 * taken,
                "{what}: {charged} were charged for {taken}",
            );
            // Without room it is refused, wherever that is.
            for part in [0, 5, 9] {
                let limit = charged / 10 * part;
                let refused = bench.resolve(&arguments, schema, limit);
                let error = Err(ErrorCode::LimitExceeded);
                assert_eq!(refused.ended, error, "{what}: {part}");
                assert!(refused.taken <= limit + UNCHARGED + SLACK, "{what}: {part}");
            }
        }
    }
    // What one reference built and dropped is free for the next.
    let one = "length(rows[?id>`10`].[id,id,id])";
    let single = bench.resolve(&json!({"x": reference("call_1", one)}), None, all);
    let all_ten: Vec<_> = (10..20)
        .map(|k| reference("call_1", &one.replace("10", &k.to_string())))
        .collect();
    let ten = bench.resolve(&json!({"x": all_ten}), None, all);
    assert_eq!(ten.ended.err(), None);
    assert!(
        ten.charged < single.charged + SLACK,
        "{} were charged for ten of {}",
        ten.charged,
        single.charged
    );
    // What they give is not.
    let kept: Vec<_> = (10..14)
        .map(|k| reference("call_1", &format!("rows[?id>`{k}`].[id,id]")))
        .collect();
    let kept = bench.resolve(&json!({"x": kept}), None, all);
    assert_eq!(kept.ended.err(), None);
    assert!(
        kept.charged + UNCHARGED + SLACK >= kept.taken,
        "{} were charged for {}",
        kept.charged,
        kept.taken
    );
}
