//! What reading written arguments takes in memory, measured by an allocator that counts.
//!
//! One test, since what one thread takes shows in the figures of another.

#![expect(clippy::unwrap_used, reason = "this is a test")]

use crossfeed_core::{Engine, EngineOptions, InputSchema, Session, ToolResult, arguments_cost};
use crossfeed_wire::{CallId, Scope};
use peak_alloc::PeakAlloc;
use serde_json::json;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const LARGE: usize = 1 << 20;
const SMALL: usize = 16 << 10;
/// What else is allocated meanwhile.
const SLACK: usize = 256 << 10;

/// Arguments of about this many bytes, which hold `extra` beside many values of one kind.
fn shapes(bytes: usize, extra: &str) -> Vec<(&'static str, String)> {
    let many = |piece: &str| piece.repeat(bytes / piece.len());
    let list = |piece: &str| format!("[{}0]", many(piece));
    let nested = format!("{}{},", "[".repeat(100), "]".repeat(100));
    let members: String = (0..bytes / 11)
        .map(|key| format!("\"{key:06}\":0,"))
        .collect();
    let values = [
        ("zeros", list("0,")),
        ("empty strings", list("\"\",")),
        ("short strings", list("\"ab\",")),
        ("empty objects", list("{},")),
        ("objects", list("{\"\":0},")),
        ("nested lists", list(&nested)),
        ("a wide object", format!("{{{members}\"x\":0}}")),
        ("a long text", format!("\"{}\"", many("words, "))),
        ("a text that is JSON", format!("\"{{tool {}\"", many("0,"))),
    ];
    let arguments = |(name, value)| (name, format!("{{{extra}\"x\":{value}}}"));
    values.into_iter().map(arguments).collect()
}

/// The most bytes that `work` holds at once, beside what was held before.
fn peak(work: impl FnOnce()) -> usize {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    work();
    MEMORY.peak_usage().saturating_sub(before)
}

fn session(options: EngineOptions) -> Session {
    let scope = Scope::parse("a", "b", "c").unwrap();
    Engine::in_memory(options).session(scope)
}

#[test]
fn written_arguments_cost_at_most_six_times_their_bytes() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let schema = json!({"type": "object", "properties": {"x": {}, "y": {"type": "string"}}});
    let schema = InputSchema::compile(schema).unwrap();
    let judging = json!({"properties": {"x": {"items": {"type": "number"}, "uniqueItems": true}}});
    let judging = InputSchema::compile(judging).unwrap();
    let resolve = |session: &Session, arguments: &str, schema: Option<&InputSchema>| {
        // The bytes themselves are counted, too.
        let arguments = arguments.to_owned();
        runtime
            .block_on(session.resolve_json(arguments, schema))
            .is_ok()
    };
    let bounded = session(EngineOptions::default());
    let call_id = CallId::parse("call_1").unwrap();
    let recorded = bounded.record(&call_id, ToolResult::json("[1]"));
    runtime.block_on(recorded).unwrap();
    let extras = ["", "\"n\":null,", "\"y\":{\"$tool\":\"call_1\"},"];
    for schema in [None, Some(&schema), Some(&judging)] {
        for extra in extras {
            for (name, arguments) in shapes(LARGE, extra) {
                let taken = peak(|| {
                    resolve(&bounded, &arguments, schema);
                });
                // Where the index grows, it is counted twice while it moves; an allocator of a system moves a block
                // of this size without a copy.
                let most = 7 * arguments.len() + SLACK;
                assert!(taken <= most, "{name}, {extra}: {taken} of {most}");
            }
            // What is counted beforehand is an upper bound of what is taken.
            for (name, arguments) in shapes(SMALL, extra) {
                let taken = peak(|| {
                    resolve(&bounded, &arguments, schema);
                });
                let most = arguments_cost(arguments.as_bytes()) + arguments.len() + SLACK;
                assert!(taken <= most, "{name}, {extra}: {taken} of {most}");
            }
        }
    }
    // Without the limit it is many times as much: the measure would see it.
    let unbounded = session(EngineOptions::default().with_max_argument_bytes(usize::MAX));
    let (_, zeros) = shapes(LARGE, "\"n\":{\"$literal\":1},").swap_remove(0);
    let taken = peak(|| assert!(resolve(&unbounded, &zeros, None)));
    assert!(taken > 30 * zeros.len(), "{taken}");
    assert!(!resolve(&bounded, &zeros, None));
}
