//! What calls build is charged to the budget, and given back.

use super::*;
use crate::{
    budget::{Budget, Purpose},
    metrics::Metrics,
};

async fn within(limit: usize) -> (ClientTools, Arc<Budget>) {
    let mut world = World::new(vec![(server("a"), tools())], Vec::new());
    let budget = Budget::new(limit, 1, 0, &Metrics::new());
    world.tools = world.tools.with_budget(&budget);
    (world.client(local()).await, budget)
}

/// A short request whose selector builds sixty copies of a result.
fn copies(id: &str) -> Bytes {
    let copies = vec!["@"; 60].join(",");
    let reference = json!({"_tool": id, "_select": format!("to_string([{copies}])")});
    params("fetch", json!({"url": null, "_refs": {"url": reference}}))
}

#[tokio::test]
async fn what_references_build_is_charged_until_it_is_sent() {
    let (client, budget) = within(1 << 20).await;
    let result = json!({"content": [{"type": "text", "text": "x".repeat(5000)}]});
    returned(&client, "search", result).await;
    assert_eq!(budget.held(), 0);
    // Two that the server does not read, of 300 kB each; the third finds no room.
    let first = forward(&client, copies("call_1")).await;
    assert!(first.params.len() > 300_000);
    assert!(budget.held() >= first.params.len());
    assert!(budget.held() < 2 * first.params.len(), "it is held once");
    let second = forward(&client, copies("call_1")).await;
    let refused = answered(&client, copies("call_1")).await;
    let text = error(&refused);
    assert!(text.starts_with("limit.exceeded: "), "{text}");
    assert!(text.contains("call again when other calls"), "{text}");
    drop((first, second));
    assert_eq!(budget.held(), 0);
    forward(&client, copies("call_1")).await;
}

/// A reference whose selector builds much and gives little.
fn selecting(select: &str) -> Bytes {
    let reference = json!({"_tool": "call_1", "_select": select});
    params("fetch", json!({"url": null, "_refs": {"url": reference}}))
}

#[tokio::test]
async fn what_selectors_build_on_the_way_is_charged() {
    let (client, budget) = within(200_000).await;
    let account = budget.account(&Principal::Local);
    let rows = vec![json!({"a": 1, "b": "x"}); 3000];
    let result =
        json!({"content": [], "structuredContent": {"rows": rows, "text": "x".repeat(5000)}});
    returned(&client, "search", result).await;
    let copies = vec!["text"; 60].join(",");
    let heavy = [
        format!("to_string(length(to_string([{copies}])))"),
        format!("to_string(length(join('', [{copies}])))"),
        "to_string(length(rows[*].[a,b,a,b,a,b,a,b]))".to_owned(),
        "to_string(length(rows[*].{a: a, b: b, c: [a, b], d: [a, b]}))".to_owned(),
        "to_string(length(map(&[a, b, [a, b], [a, b]], rows)))".to_owned(),
    ];
    for select in heavy {
        let refused = answered(&client, selecting(&select)).await;
        let text = error(&refused);
        assert!(text.starts_with("limit.exceeded: "), "{select}: {text}");
        assert!(
            text.contains("call again when other calls"),
            "{select}: {text}"
        );
        assert_eq!(budget.held(), 0, "{select}");
    }
    // What is small is made, however little is left.
    let rest = account.charge(200_000, Purpose::Request).unwrap();
    for select in [
        "rows[0].b",
        "to_string(rows[0])",
        "to_string(length(rows[?a == `2`]))",
    ] {
        drop(forward(&client, selecting(select)).await);
    }
    drop(rest);
    assert_eq!(budget.held(), 0);
}

/// Ten at once never hold more than there is, and give all of it back.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_built_at_once_is_bounded_in_sum() {
    let (client, budget) = within(1 << 20).await;
    let client = Arc::new(client);
    let result = json!({"content": [{"type": "text", "text": "x".repeat(5000)}]});
    returned(&client, "search", result).await;
    let calls = (0..10).map(|_| {
        let client = Arc::clone(&client);
        tokio::spawn(async move { client.call(copies("call_1")).await })
    });
    let calls = futures_util::future::join_all(calls).await;
    assert!(budget.held() <= budget.limit());
    let mut refused = 0;
    for call in &calls {
        if let Call::Answered(answer) = call.as_ref().unwrap() {
            let answer: Value = serde_json::from_slice(answer).unwrap();
            let text = error(&answer);
            assert!(text.starts_with("limit.exceeded: "), "{text}");
            refused += 1;
        }
    }
    assert!((1..10).contains(&refused), "{refused} were refused");
    drop(calls);
    assert_eq!(budget.held(), 0);
    forward(&client, copies("call_1")).await;
}

/// Also where the arguments are the client's own bytes. What the client wrote is not kept.
#[tokio::test]
async fn a_call_under_another_name_is_charged_until_it_is_sent() {
    let servers = vec![(server("a"), tools()), (server("b"), json!([]))];
    let mut world = World::new(servers, Vec::new());
    let config = GatewayConfig::clone(&world.tools.config);
    let config = GatewayConfig {
        prefix: Prefix::Always,
        ..config
    };
    let budget = Budget::new(1 << 20, 1, 0, &Metrics::new());
    let engine = Engine::in_memory(EngineOptions::default());
    world.tools = Tools::new(engine, Arc::new(config)).with_budget(&budget);
    let client = world.client(local()).await;
    let call = params("a__search", json!({"q": "x".repeat(400_000)}));
    let first = forward(&client, call.clone()).await;
    assert_eq!(
        first.params,
        params("search", json!({"q": "x".repeat(400_000)}))
    );
    assert!(
        budget.held() >= first.params.len(),
        "{} of {}",
        budget.held(),
        first.params.len()
    );
    let second = forward(&client, call.clone()).await;
    let refused = answered(&client, call.clone()).await;
    assert!(error(&refused).starts_with("limit.exceeded: "));
    let pending = [first, second].map(|forwarded| forwarded.pending);
    assert_eq!(budget.held(), 0);
    drop(pending);
}

/// What waits for the client's answer to a question is charged, though each is short.
#[tokio::test]
async fn rounds_are_charged() {
    let (client, budget) = within(1 << 20).await;
    let text = json!({"content": [{"type": "text", "text": "x".repeat(3000)}]});
    returned(&client, "search", text).await;
    assert_eq!(budget.held(), 0);
    let call = |state: Option<&str>| {
        let arguments = json!({"url": {"$tool": "call_1"}});
        let call = json!({"name": "fetch", "arguments": arguments, "requestState": state});
        forward(&client, call.to_string().into())
    };
    let asks = async |state: &str| {
        let question = json!({"resultType": "input_required", "requestState": state});
        let forwarded = call(None).await;
        forwarded.pending.finish(question.to_string().into()).await;
    };
    asks("a").await;
    let one = budget.held();
    assert!(one > 3000);
    asks("b").await;
    assert_eq!(budget.held(), 2 * one);
    // Where there is no room, the arguments are resolved anew.
    let account = budget.account(&Principal::Local);
    let forwarded = call(None).await;
    let rest = budget.limit() - budget.held();
    let rest = account.charge(rest, Purpose::Request).unwrap();
    let question = json!({"resultType": "input_required", "requestState": "c"});
    forwarded.pending.finish(question.to_string().into()).await;
    assert_eq!(budget.held(), rest.bytes() + 2 * one);
    drop(rest);
    for state in ["a", "c"] {
        let again = call(Some(state)).await;
        assert!(
            again
                .params
                .windows(3000)
                .any(|part| part.iter().all(|byte| *byte == b'x'))
        );
    }
    client.close().await;
    assert_eq!(budget.held(), 0);
}

/// A call that ran is not to be made again because what was asked of its result cannot be shown.
#[tokio::test]
async fn parts_that_cannot_be_shown_are_of_a_call_that_has_run() {
    let mut config = server("a");
    config.projection = true;
    let mut world = World::new(vec![(config, tools())], Vec::new());
    let budget = Budget::new(1 << 20, 1, 0, &Metrics::new());
    let engine = Engine::in_memory(EngineOptions::default());
    let config = Arc::clone(&world.tools.config);
    world.tools = Tools::new(engine, config).with_budget(&budget);
    let client = world.client(local()).await;
    let asked = forward(&client, params("typed", json!({"_select": ["b"]}))).await;
    let many = json!({"a": vec![0; 40_000], "b": 1}).to_string();
    let result = json!({"content": [{"type": "text", "text": many}]}).to_string();
    let shown = asked.pending.finish(result.into()).await;
    let shown: Value = serde_json::from_slice(&shown).unwrap();
    let text = error(&shown);
    assert!(
        text.starts_with("limit.exceeded: the call has run, but: "),
        "{text}"
    );
    assert!(
        text.ends_with("do not call again: refer to `call_1`, or read it with `read_result`"),
        "{text}"
    );
}

#[tokio::test]
async fn a_result_that_cannot_be_shown_is_kept_and_says_so() {
    let (client, budget) = within(50_000).await;
    let forwarded = forward(&client, params("page", json!({}))).await;
    let result = json!({"content": [{"type": "text", "text": "x".repeat(60_000)}]}).to_string();
    let shown = forwarded.pending.finish(result.into()).await;
    let shown: Value = serde_json::from_slice(&shown).unwrap();
    let text = error(&shown);
    assert!(text.contains("the call has run"), "{text}");
    assert!(text.contains("do not call again"), "{text}");
    let asked = params("read_result", json!({"call_id": "call_1"}));
    let read = answered(&client, asked).await.to_string();
    assert!(read.contains("xxx"), "{read}");
    assert_eq!(budget.held(), 0);
}

#[tokio::test]
async fn the_index_of_a_result_is_charged_while_it_is_read() {
    let dense = format!(
        r#"{{"content":[],"structuredContent":{{"x":[0{}]}}}}"#,
        ",0".repeat(100_000)
    );
    let (client, budget) = within(1 << 20).await;
    let forwarded = forward(&client, params("page", json!({}))).await;
    tokio::time::pause();
    let shown = forwarded.pending.finish(dense.clone().into()).await;
    let shown: Value = serde_json::from_slice(&shown).unwrap();
    let text = error(&shown);
    assert!(
        text.starts_with("limit.exceeded: the call has run"),
        "{text}"
    );
    assert_eq!(budget.held(), 0);
    let (client, budget) = within(4 << 20).await;
    let forwarded = forward(&client, params("page", json!({}))).await;
    let shown = forwarded.pending.finish(dense.into()).await;
    assert!(!String::from_utf8_lossy(&shown).contains("limit.exceeded"));
    drop(shown);
    assert_eq!(budget.held(), 0);
}

#[tokio::test]
async fn arguments_are_charged_while_they_are_read() {
    let (client, budget) = within(1 << 20).await;
    let text = "x".repeat(400_000);
    let long = |text: &str| params("fetch", json!({"url": "u", "region": null, "any": text}));
    let refused = answered(&client, long(&text)).await;
    assert!(error(&refused).starts_with("limit.exceeded: "));
    let forwarded = forward(&client, long(&text[..100_000])).await;
    drop(forwarded);
    assert_eq!(budget.held(), 0);
}

#[tokio::test]
async fn arguments_beyond_a_message_are_refused_before_they_are_written() {
    let mut world = World::new(vec![(server("a"), tools())], Vec::new());
    let mut config = GatewayConfig::clone(&world.tools.config);
    config.limits.message_bytes = 100_000;
    world.tools.config = Arc::new(config);
    let client = world.client(local()).await;
    let result = json!({"content": [{"type": "text", "text": "x".repeat(5000)}]});
    returned(&client, "search", result).await;
    let refused = answered(&client, copies("call_1")).await;
    let text = error(&refused);
    assert!(text.starts_with("limit.exceeded: "), "{text}");
    assert!(text.contains("the limit of a message is 100000"), "{text}");
}
