//! What reading written arguments takes in memory, measured by an allocator that counts.
//!
//! One test, since what one thread takes shows in the figures of another.

#![expect(clippy::unwrap_used, reason = "this is a test")]

mod shapes;

use bytes::Bytes;
use crossfeed_core::{
    Engine, EngineOptions, InputSchema, PreparedTool, Session, ToolResult, arguments_cost,
};
use crossfeed_tools::{ListOptions, Profile, Style, ToolList, rewrite_tools};
use crossfeed_wire::{CallId, Scope};
use serde_json::{Value, json};
use shapes::{peak, shapes};

const LIMIT: usize = 16 << 20;
/// What else is allocated meanwhile: less than beside a gateway.
const SLACK: usize = shapes::SLACK / 4 + (5 << 10);
const REFERENCE: &str = r#"{"$tool":"call_1"}"#;

fn tool(engine: &Engine, schema: &Value, options: &ListOptions) -> PreparedTool {
    let tools = json!([{"name": "t", "inputSchema": schema}]);
    let listed = rewrite_tools(&ToolList::parse(&tools).unwrap(), options);
    engine.prepare(listed.find("t").unwrap().clone())
}

struct Bench {
    runtime: tokio::runtime::Runtime,
    engine: Engine,
    session: Session,
    /// A tool without a word about `x`, and one whose parameters are shown under other names.
    tools: [PreparedTool; 2],
}

impl Bench {
    fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let engine = Engine::in_memory(EngineOptions::default().with_max_argument_bytes(LIMIT));
        let schema = json!({
            "type": "object", "properties": {"x": {}, "n": {"type": "string"}, "a b": {}},
        });
        let options = [
            ListOptions::style(Style::Refs),
            ListOptions::profile(Profile::Anthropic),
        ];
        let tools = options.map(|options| tool(&engine, &schema, &options));
        let session = engine.session(Scope::parse("a", "b", "c").unwrap());
        let call_id = CallId::parse("call_1").unwrap();
        let recorded = session.record(&call_id, ToolResult::json("[1]"));
        runtime.block_on(recorded).unwrap();
        Self {
            runtime,
            engine,
            session,
            tools,
        }
    }

    fn tool(&self, schema: &Value, options: &ListOptions) -> PreparedTool {
        tool(&self.engine, schema, options)
    }

    /// What resolving arguments takes, these included, and whether it was done.
    fn resolve(&self, arguments: &str, schema: Option<&InputSchema>) -> (usize, bool) {
        let mut is_done = false;
        let taken = peak(|| {
            let resolving = self.session.resolve_json(arguments.to_owned(), schema);
            is_done = self.runtime.block_on(resolving).is_ok();
        });
        (taken, is_done)
    }

    /// The same of a call, whose bytes somebody keeps.
    fn call(&self, arguments: &str, tool: &PreparedTool) -> (usize, bool) {
        let mut is_done = false;
        let taken = peak(|| {
            let arguments = Bytes::from(arguments.to_owned());
            let resolving = self.session.resolve_call_json(tool, arguments.clone());
            is_done = self.runtime.block_on(resolving).is_ok();
            drop(arguments);
        });
        (taken, is_done)
    }
}

#[test]
fn written_arguments_cost_at_most_six_times_their_bytes() {
    let bench = Bench::new();
    let unlooked =
        json!({"type": "object", "properties": {"x": {}, "n": {"type": ["string", "null"]}}});
    let unlooked = InputSchema::compile(unlooked).unwrap();
    let reference = format!("\"y\":{REFERENCE},");
    let text = format!("\"y\":{},", json!(REFERENCE));
    for bytes in [32 << 10, 512 << 10] {
        for extra in ["", "\"n\":null,", &reference, &text] {
            for (name, arguments) in shapes(bytes, extra, REFERENCE) {
                let most = shapes::factor(&name) * arguments.len() + SLACK;
                for schema in [None, Some(&unlooked)] {
                    let (taken, is_done) = bench.resolve(&arguments, schema);
                    assert!(taken <= most, "{name}, {bytes}: {taken} of {most}");
                    assert!(is_done, "{name}, {bytes}");
                }
                let [own, renamed] = &bench.tools;
                let (taken, is_done) = bench.call(&arguments, own);
                assert!(taken <= most, "call, {name}, {bytes}: {taken} of {most}");
                assert!(is_done, "call, {name}, {bytes}");
                // To it null is not text: all of the arguments are built to say so.
                if extra.contains("null") {
                    continue;
                }
                let shown = renamed.listed().names().shown("a b");
                let arguments = arguments.replacen('{', &format!("{{\"{shown}\":0,"), 1);
                let (taken, is_done) = bench.call(&arguments, renamed);
                assert!(taken <= most, "renamed, {name}, {bytes}: {taken} of {most}");
                assert!(is_done, "renamed, {name}, {bytes}");
            }
        }
    }
    texts_are_counted_where_they_are_taken_apart(&bench);
    judged_values_are_counted(&bench, &reference);
    references_and_judged_values_are_counted_together(&bench);
}

/// What a schema looks at is built of values, which are counted before.
fn judged_values_are_counted(bench: &Bench, extra: &str) {
    let judging = json!({"properties": {"x": {"items": {"not": {"const": 7}}}}});
    let judging = InputSchema::compile(judging).unwrap();
    let small_enough = [
        "escapes",
        "a wide object",
        "doubled keys",
        "a doubled key",
        "a long text",
        "escapes in a text",
        "a text that is JSON",
        "a reference in a wide object",
    ];
    for bytes in [16 << 10, 256 << 10] {
        for (name, arguments) in shapes(bytes, extra, REFERENCE) {
            let (taken, is_done) = bench.resolve(&arguments, Some(&judging));
            let cost = arguments_cost(arguments.as_bytes(), LIMIT);
            let most = cost + arguments.len() + SLACK;
            assert!(taken <= most, "{name}, {bytes}: {taken} of {most}");
            let name = name.trim_end_matches(&format!(", {extra}"));
            let fits = bytes == 16 << 10 || small_enough.contains(&name);
            assert_eq!(is_done, fits, "{name}, {bytes}");
        }
    }
}

/// What references hold is there while the rest is judged.
fn references_and_judged_values_are_counted_together(bench: &Bench) {
    let judging = json!({"properties": {"x": {"items": {"not": {"const": 7}}}}});
    let judging = InputSchema::compile(judging).unwrap();
    let zeros = format!("[{}0]", "0,".repeat(30_000));
    let check = |default: &str, x: &str, fits: bool| {
        let reference = format!(r#"{{"_tool":"call_1","_select":"none","_default":{default}}}"#);
        let arguments = format!(r#"{{"y":{reference},"x":{x}}}"#);
        assert_eq!(bench.resolve(&arguments, Some(&judging)).1, fits);
    };
    check(&zeros, "[]", true);
    check("[]", &zeros, true);
    check(&zeros, &zeros, false);
}

/// The JSON texts of a tool whose shown schema asks for one are counted before they become values.
fn texts_are_counted_where_they_are_taken_apart(bench: &Bench) {
    let schema = json!({"type": "object", "properties": {
        "x": {"items": {}}, "n": {"type": "string"},
    }});
    for profile in [Profile::Gemini, Profile::OpenAiStrict] {
        let tool = bench.tool(&schema, &ListOptions::profile(profile));
        assert!(tool.listed().folded() > 0, "{profile:?}");
        let check = |x: &str, n: &str, fits: bool| {
            let arguments = json!({"x": x, "n": n}).to_string();
            let (taken, is_done) = bench.call(&arguments, &tool);
            let most = arguments_cost(arguments.as_bytes(), LIMIT) + arguments.len() + SLACK;
            let begin = arguments.get(..20);
            assert!(taken <= most, "{profile:?}, {begin:?}: {taken} of {most}");
            assert_eq!(is_done, fits, "{profile:?}, {begin:?}");
        };
        let zeros = |count: usize| format!("[{}0]", "0,".repeat(count));
        check(&zeros(10_000), "", true);
        check(&zeros(1_000_000), "", false);
        // What cannot be read is built as far as it goes.
        check(zeros(1_000_000).trim_end_matches(']'), "", false);
        check(&format!("[{}{{}}]", "{\"\":0},".repeat(200_000)), "", false);
        // Nobody reads a text that is not valid JSON, nor one that the tool takes as it is.
        check(&"words, [and] ".repeat(100_000), "", true);
        check("[]", &zeros(1_000_000), true);
    }
}
