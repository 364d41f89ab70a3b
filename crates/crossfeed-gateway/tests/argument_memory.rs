//! What reading the arguments of calls takes in memory, measured by an allocator that counts.
//!
//! One test, since what one thread takes shows in the figures of another.

use bytes::Bytes;
use crossfeed_core::{Engine, EngineOptions};
use crossfeed_gateway::{
    Revision,
    config::GatewayConfig,
    downstream::Principal,
    tools::{Call, Caller, ClientTools, ServerList, Tools},
};
use peak_alloc::PeakAlloc;
use serde_json::json;
use std::sync::Arc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const LARGE: usize = 1 << 20;
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

async fn client(argument_bytes: usize) -> ClientTools {
    let mut config = GatewayConfig::of_command("a", Vec::new());
    config.limits.argument_bytes = argument_bytes;
    let options = EngineOptions::default().with_max_argument_bytes(argument_bytes);
    let tools = Tools::new(Engine::in_memory(options), Arc::new(config));
    let caller = Caller::new(
        Principal::Local,
        Some("s".to_owned()),
        Revision::V2025_11_25,
    );
    let client = tools.of(caller);
    let page = json!({"tools": [{"name": "echo", "inputSchema": {
        "type": "object", "properties": {"x": {}, "text": {"type": "string"}},
    }}]});
    client
        .list(&[ServerList::new(0, vec![page.to_string().into()])])
        .await;
    client
}

fn params(tool: &str, arguments: &str) -> Bytes {
    let params = ["{\"name\":\"", tool, "\",\"arguments\":", arguments, "}"].concat();
    params.into()
}

#[test]
fn arguments_of_calls_cost_at_most_six_times_their_bytes() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let client = |bytes| runtime.block_on(client(bytes));
    let bounded = client(16 << 20);
    let call = |client: &ClientTools, tool: &str, arguments: &str| {
        // The bytes themselves are counted, too.
        let params = params(tool, arguments);
        runtime.block_on(client.call(params))
    };
    let reference = "\"text\":{\"_tool\":\"call_1\"},";
    for tool in ["echo", "read_result"] {
        for extra in [
            "",
            "\"text\":null,",
            reference,
            "\"call_id\":\"x\",\"fields\":[],",
        ] {
            for (name, arguments) in shapes(LARGE, extra) {
                let taken = peak(|| drop(call(&bounded, tool, &arguments)));
                // Where the index grows, it is counted twice while it moves; an allocator of a system moves a block
                // of this size without a copy.
                let most = 7 * arguments.len() + SLACK;
                assert!(taken <= most, "{tool}, {name}, {extra}: {taken} of {most}");
            }
        }
    }
    // Without the limit it is many times as much: the measure would see it.
    let (_, zeros) = shapes(LARGE, "\"text\":null,").swap_remove(0);
    let unbounded = client(usize::MAX);
    let taken = peak(|| drop(call(&unbounded, "echo", &zeros)));
    assert!(taken > 30 * zeros.len(), "{taken}");
    // What is refused says what to do.
    let Call::Answered(refused) = call(&bounded, "echo", &zeros) else {
        panic!("it was made");
    };
    let refused = String::from_utf8_lossy(&refused);
    assert!(refused.contains("limit.exceeded"), "{refused}");
    assert!(refused.contains("by reference"), "{refused}");
    // And what holds nothing of ours is passed on, however many values it has.
    let (_, zeros) = shapes(LARGE, "").swap_remove(0);
    assert!(matches!(call(&bounded, "echo", &zeros), Call::Forward(_)));
}
