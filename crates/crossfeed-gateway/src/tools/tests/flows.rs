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
