//! What is advised of calls whose results are gone: only those that do no harm are to be made again.

use super::*;
use crossfeed_store::{MemoryLimits, MemoryStore};

/// What a reference to the first of two calls of a tool with these annotations is answered, in a session
/// that holds one result.
async fn advice(annotations: Value) -> String {
    let tools = json!([
        {"name": "pay", "inputSchema": {"type": "object"}, "annotations": annotations},
        {"name": "echo", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}},
    ]);
    let mut world = World::new(vec![(server("a"), tools)], Vec::new());
    let limits = MemoryLimits::default().with_session_results(1);
    let engine = Engine::new(EngineOptions::default(), Arc::new(MemoryStore::new(limits)));
    let config = Arc::clone(&world.tools.config);
    world.tools = Tools::new(engine, config);
    let client = world.client(local()).await;
    let paid = json!({"content": [{"type": "text", "text": "{\"paid\":100}"}]});
    for _ in 0..2 {
        let made = forward(&client, params("pay", json!({"amount": 100}))).await;
        made.pending.finish(paid.to_string().into()).await;
    }
    let arguments = json!({"text": null, "_refs": {"text": {"_tool": "call_1"}}});
    let answer = answered(&client, params("echo", arguments)).await;
    let text = error(&answer).to_owned();
    let (first, advice) = text.split_once('\n').unwrap();
    assert!(first.starts_with("result.evicted: "), "{text}");
    advice.to_owned()
}

#[tokio::test]
async fn only_calls_of_tools_that_say_so_are_advised_to_be_made_again() {
    let again = r#"call `pay` again with {"amount":100}, then refer to that call"#;
    for annotations in [
        json!({"readOnlyHint": true}),
        json!({"idempotentHint": true}),
        json!({"readOnlyHint": false, "destructiveHint": true, "idempotentHint": true}),
    ] {
        assert_eq!(advice(annotations.clone()).await, again, "{annotations}");
    }
    let not = "the call was made and only its result is gone: do not call `pay` again unless \
               repeating it is intended";
    for annotations in [
        json!(null),
        json!({}),
        json!({"destructiveHint": true, "idempotentHint": false}),
        json!({"destructiveHint": false}),
        json!({"readOnlyHint": "true", "idempotentHint": 1}),
    ] {
        assert_eq!(advice(annotations.clone()).await, not, "{annotations}");
    }
}
