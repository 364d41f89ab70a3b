//! What reading the arguments of calls takes in memory, measured by an allocator that counts.
//!
//! One test, since what one thread takes shows in the figures of another.

#[path = "../../crossfeed-core/tests/shapes/mod.rs"]
mod shapes;

use bytes::Bytes;
use crossfeed_core::{Engine, EngineOptions};
use crossfeed_gateway::{
    Revision,
    config::GatewayConfig,
    principal::Principal,
    tools::{Call, Caller, ClientTools, ServerList, Tools},
};
use serde_json::json;
use shapes::{SLACK, peak, shapes};
use std::sync::Arc;

const LIMIT: usize = 16 << 20;
const REFERENCE: &str = r#"{"_tool":"call_1"}"#;

async fn client() -> ClientTools {
    let mut config = GatewayConfig::from_command("a", Vec::new());
    config.limits.argument_bytes = LIMIT;
    let options = EngineOptions::default().with_max_argument_bytes(LIMIT);
    let tools = Tools::new(Engine::in_memory(options), Arc::new(config));
    let caller = Caller::new(
        Principal::Local,
        Some("s".to_owned()),
        Revision::V2025_11_25,
    );
    let client = tools.for_caller(caller);
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
    let client = runtime.block_on(client());
    // The bytes themselves are counted, too.
    let call = |tool: &str, arguments: &str| runtime.block_on(client.call(params(tool, arguments)));
    let reference = format!("\"text\":{REFERENCE},");
    let own = "\"call_id\":\"x\",\"fields\":[],";
    for bytes in [64 << 10, 256 << 10] {
        // Those of the gateway's own tools are refused beyond 64 KiB.
        let own_tool = (bytes > 64 << 10).then_some("read_result");
        for tool in ["echo"].into_iter().chain(own_tool) {
            for extra in ["", "\"text\":null,", &reference, own] {
                for (name, arguments) in shapes(bytes, extra, REFERENCE) {
                    let taken = peak(|| drop(call(tool, &arguments)));
                    let most = shapes::factor(&name) * arguments.len() + SLACK;
                    assert!(taken <= most, "{tool}, {name}, {bytes}: {taken} of {most}");
                }
            }
        }
    }
    // However many values they hold, they are passed on.
    for extra in ["", "\"text\":null,"] {
        let (_, zeros) = shapes(3 << 20, extra, REFERENCE).swap_remove(0);
        assert!(matches!(call("echo", &zeros), Call::Forward(_)), "{extra}");
    }
}
