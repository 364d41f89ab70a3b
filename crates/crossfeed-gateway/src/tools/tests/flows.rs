//! Flow rules.

use super::*;

#[tokio::test]
async fn flows_are_checked_before_anything_is_forwarded() {
    let rule = |name: &str, from: &str, to: &str, allow| FlowRule::new(name, from, to, allow);
    let flows = vec![
        rule("mail may", "a/search", "b/fetch", true),
        rule("no mail", "a/*", "b/*", false),
    ];
    let world = World::new(vec![(server("a"), tools()), (server("b"), tools())], flows);
    let client = world.client(local()).await;
    let text = json!({"content": [{"type": "text", "text": "u"}]});
    for name in ["a__search", "a__typed", "b__search"] {
        returned(&client, name, text.clone()).await;
    }
    let fetch = |name: &str, call: &str| {
        params(
            name,
            json!({"url": null, "_refs": {"url": {"_tool": call, "_select": "@"}}}),
        )
    };
    // What goes from where to where, and whether it may.
    for (to, from, may) in [
        ("b__fetch", "call_1", true),
        ("b__fetch", "call_2", false),
        ("b__fetch", "call_3", true),
        ("a__fetch", "call_2", true),
    ] {
        match client.call(fetch(to, from)).await {
            Call::Forward(_) => assert!(may, "{from} {to}"),
            Call::Answered(answer) => {
                let answer: Value = serde_json::from_slice(&answer).unwrap();
                assert!(!may, "{answer}");
                let text = error(&answer);
                assert!(text.starts_with("flow.refused: rule `no mail` forbids that results of `a/typed` go to `b/fetch`"), "{text}");
            }
            Call::Refused(error) => panic!("{error:?}"),
        }
    }
    // By way of another tool it is still the same data.
    let by_way = forward(&client, fetch("a__fetch", "call_2")).await;
    let shown = by_way.pending.finish(text.to_string().into()).await;
    let shown = String::from_utf8_lossy(&shown).into_owned();
    let id = shown
        .split("call_")
        .nth(1)
        .unwrap()
        .split('\\')
        .next()
        .unwrap()
        .to_owned();
    let answer = answered(&client, fetch("b__fetch", &format!("call_{id}"))).await;
    let text = error(&answer);
    assert!(
        text.contains("results of `a/fetch`, `a/typed` go to"),
        "{text}"
    );
}

/// Two servers, where what one tool of the first returned must not go to the second; and it was called.
async fn fetched() -> (World, ClientTools) {
    let flows = vec![FlowRule::new("no", "a/fetch", "b/*", false)];
    let world = World::new(vec![(server("a"), tools()), (server("b"), tools())], flows);
    let client = world.client(local()).await;
    let call = forward(&client, params("a__fetch", json!({"url": "u"}))).await;
    call.pending.finish(result().to_string().into()).await;
    (world, client)
}

fn result() -> Value {
    json!({"content": [{"type": "text", "text": "u"}]})
}

fn search(name: &str, call: &str) -> Value {
    json!({"name": name, "arguments": {"q": {"$tool": call}}})
}

/// What is called with a result goes to no tool that this one may not go to.
async fn is_refused(client: &ClientTools, call: &str) {
    let answer = answered(client, search("b__search", call).to_string().into()).await;
    let text = error(&answer);
    assert!(text.starts_with("flow.refused: rule `no`"), "{text}");
}

#[tokio::test]
async fn a_call_in_rounds_keeps_its_sources() {
    let (_world, client) = fetched().await;
    let mut asked = search("a__search", "call_1");
    let question = json!({"resultType": "input_required", "requestState": "st"}).to_string();
    let call = forward(&client, asked.to_string().into()).await;
    call.pending.finish(question.into()).await;
    asked["requestState"] = json!("st");
    let call = forward(&client, asked.to_string().into()).await;
    let shown = call.pending.finish(result().to_string().into()).await;
    assert!(String::from_utf8_lossy(&shown).contains("call_3"));
    is_refused(&client, "call_3").await;
}

#[tokio::test]
async fn a_task_keeps_its_sources() {
    let (_world, client) = fetched().await;
    let call = search("a__search", "call_1");
    let call = forward(&client, call.to_string().into()).await;
    let created = json!({"task": {"taskId": "t"}}).to_string();
    call.pending.finish(created.into()).await;
    let shown = client
        .task_result(0, "t", result().to_string().into())
        .await;
    assert!(String::from_utf8_lossy(&shown).contains("call_2"));
    is_refused(&client, "call_2").await;
}

#[tokio::test]
async fn what_is_no_longer_known_goes_nowhere() {
    let (world, client) = fetched().await;
    returned(&client, "b__search", result()).await;
    forward(&client, search("b__search", "call_2").to_string().into()).await;
    world.tools.flows.forget();
    for call in ["call_1", "call_2"] {
        let answer = answered(&client, search("b__search", call).to_string().into()).await;
        let text = error(&answer);
        let why = format!(
            "flow.refused: it is no longer known whose data the result of call `{call}` holds"
        );
        assert!(text.starts_with(&why), "{text}");
    }
}
