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
                assert!(text.starts_with("flow.refused: rule `no mail` forbids passing results of `a/typed` to `b/fetch`"), "{text}");
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
        text.contains("results of `a/fetch`, `a/typed` to"),
        "{text}"
    );
}

/// A server that lists another's tool when that one is gone gets nothing that was resolved for it.
#[tokio::test]
async fn what_was_resolved_for_one_tool_goes_to_no_other() {
    let tool = |name: &str| json!([{"name": name, "inputSchema": {"type": "object"}}]);
    let flows = vec![FlowRule::new("no", "s/*", "b/*", false)];
    let servers = vec![
        (server("s"), tool("secret")),
        (server("a"), tool("x")),
        (server("b"), json!([])),
    ];
    let world = World::new(servers, flows);
    let client = world.client(local()).await;
    let secret = json!({"content": [{"type": "text", "text": "TOPSECRET"}]});
    returned(&client, "secret", secret).await;
    let asked = json!({"name": "x", "arguments": {"v": {"$tool": "call_1"}}});
    let first = forward(&client, asked.to_string().into()).await;
    let question =
        json!({"resultType": "input_required", "requestState": "st", "inputRequests": {}});
    first.pending.finish(question.to_string().into()).await;
    let mut again = asked;
    again["requestState"] = json!("st");
    let again = Bytes::from(again.to_string());
    let same = forward(&client, again.clone()).await;
    assert_eq!(same.server, 1);
    let page = |name: &str| vec![Bytes::from(json!({"tools": tool(name)}).to_string())];
    let lists = [
        ServerList::new(0, page("secret")),
        ServerList::new(2, page("x")),
    ];
    client.list(&lists).await;
    // The name is still that of the server that is gone.
    let same = forward(&client, again.clone()).await;
    assert_eq!(same.server, 1);
    let mut other: Value = serde_json::from_slice(&again).unwrap();
    other["name"] = json!("b__x");
    let answer = answered(&client, other.to_string().into()).await;
    assert!(error(&answer).starts_with("flow.refused"), "{answer}");
}

/// Who waits for a result is woken when it is there, and asks at once whose data it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whose_data_a_result_holds_is_known_when_it_is_there() {
    let flows = vec![FlowRule::new("no", "z/*", "z/*", false)];
    let client = World::new(vec![(server("a"), tools())], flows);
    let client = Arc::new(client.client(local()).await);
    let mut made = 0;
    for _ in 0..50 {
        let first = forward(&client, params("search", json!({}))).await;
        made += 1;
        let id = format!("call_{made}");
        let waiting: Vec<_> = (0..4)
            .map(|_| {
                let (client, id) = (Arc::clone(&client), id.clone());
                tokio::spawn(async move {
                    forward(&client, params("search", json!({"q": {"$tool": id}}))).await
                })
            })
            .collect();
        made += waiting.len();
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        let result = json!({"content": [{"type": "text", "text": "u"}]});
        first.pending.finish(result.to_string().into()).await;
        for waiting in waiting {
            waiting.await.unwrap();
        }
    }
}

/// A client with a result of `secret`, which `via` may have and `sink` may not.
async fn with_secret(result: Value) -> ClientTools {
    let tool = |name: &str| json!([{"name": name, "inputSchema": {"type": "object"}}]);
    let flows = vec![FlowRule::new("no", "s/*", "b/*", false)];
    let servers = vec![
        (server("s"), tool("secret")),
        (server("a"), tool("via")),
        (server("b"), tool("sink")),
    ];
    let client = World::new(servers, flows).client(local()).await;
    returned(&client, "secret", result).await;
    client
}

fn text() -> Value {
    json!({"content": [{"type": "text", "text": "u"}]})
}

/// Sources go with a call that was answered with a question, and with one that runs as a task.
#[tokio::test]
async fn sources_last_through_questions_and_tasks() {
    let text = text();
    let client = with_secret(text.clone()).await;
    let mut asked = json!({"name": "via", "arguments": {"v": {"$tool": "call_1"}}});
    let first = forward(&client, asked.to_string().into()).await;
    let question =
        json!({"resultType": "input_required", "requestState": "st", "inputRequests": {}});
    first.pending.finish(question.to_string().into()).await;
    let task = forward(&client, asked.to_string().into()).await;
    let created = json!({"task": {"taskId": "t"}}).to_string();
    task.pending.finish(created.into()).await;
    client.task_result(1, "t", text.to_string().into()).await;
    asked["requestState"] = json!("st");
    let again = forward(&client, asked.to_string().into()).await;
    again.pending.finish(text.to_string().into()).await;
    for call in ["call_1", "call_3", "call_4"] {
        let sink = params("sink", json!({"v": {"$tool": call}}));
        let answer = answered(&client, sink).await;
        assert!(
            error(&answer).starts_with("flow.refused"),
            "{call} {answer}"
        );
    }
}

/// A server goes on from what it was sent first, whatever comes with its state.
#[tokio::test]
async fn sources_last_where_a_question_is_answered_with_other_arguments() {
    let text = text();
    let client = with_secret(text.clone()).await;
    let asked = params("via", json!({"v": {"$tool": "call_1"}}));
    let first = forward(&client, asked).await;
    let question =
        json!({"resultType": "input_required", "requestState": "st", "inputRequests": {}});
    first.pending.finish(question.to_string().into()).await;
    // Also where others took the room for what was asked.
    for state in ["x", "y"] {
        let large = params("via", json!({"v": "x".repeat(9 << 20)}));
        let large = forward(&client, large).await;
        let question = question
            .to_string()
            .replace("\"st\"", &format!("\"{state}\""));
        large.pending.finish(question.into()).await;
    }
    let bare = json!({"name": "via", "requestState": "st"});
    let other = json!({"name": "via", "arguments": {"v": 1}, "requestState": "st"});
    for (call, again) in [("call_5", bare), ("call_7", other)] {
        let again = forward(&client, again.to_string().into()).await;
        again.pending.finish(text.to_string().into()).await;
        let answer = answered(&client, params("sink", json!({"v": {"$tool": call}}))).await;
        assert!(error(&answer).starts_with("flow.refused"), "{answer}");
    }
}

pub(super) fn question(state: &str) -> Bytes {
    let question =
        json!({"resultType": "input_required", "requestState": state, "inputRequests": {}});
    question.to_string().into()
}

/// A call of `tool` that continues from `state`.
pub(super) fn continued(tool: &str, state: &Value) -> Bytes {
    json!({"name": tool, "arguments": {}, "requestState": state})
        .to_string()
        .into()
}

/// A client whose call of `via` with the secret was answered with a question, in state `first`.
async fn with_question() -> ClientTools {
    let client = with_secret(text()).await;
    let asked = params("via", json!({"v": {"$tool": "call_1"}}));
    let first = forward(&client, asked).await;
    first.pending.finish(question("first")).await;
    client
}

pub(super) async fn refused_as_unknown(client: &ClientTools, tool: &str, state: &Value) {
    let answer = answered(client, continued(tool, state)).await;
    let text = error(&answer);
    assert!(
        text.starts_with("flow.refused") && text.contains("requestState"),
        "{text}"
    );
}

/// A question whose round was forgotten cannot be continued: nobody knows whose data its state holds.
#[tokio::test]
async fn a_forgotten_round_is_not_continued() {
    let client = with_question().await;
    for number in 0..256 {
        let other = forward(&client, params("via", json!({"n": number}))).await;
        other
            .pending
            .finish(question(&format!("other {number}")))
            .await;
    }
    refused_as_unknown(&client, "via", &json!("first")).await;
    let last = continued("via", &json!("other 255"));
    forward(&client, last).await;
}

/// Of a state no more is kept than tells it from others: however long states are, they displace nothing.
#[tokio::test]
async fn long_states_displace_no_round() {
    let client = with_question().await;
    let long = "s".repeat(17 << 20);
    let other = forward(&client, params("via", json!({}))).await;
    other.pending.finish(question(&long)).await;
    refused_as_unknown(&client, "via", &json!(long[1..])).await;
    for state in ["first", &long] {
        forward(&client, continued("via", &json!(state))).await;
    }
}

/// A state belongs to the client that it was sent to, and to the tool that sent it.
#[tokio::test]
async fn a_state_from_elsewhere_is_not_continued() {
    let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
    let marked = json!({"name": "apart", "inputSchema": {"type": "object"}, "_meta": {"dev.crossfeed/chain": false}});
    let servers = || {
        vec![
            (server("s"), json!([tool("secret")])),
            (server("a"), json!([tool("via"), tool("other"), marked])),
            (server("b"), json!([tool("sink")])),
        ]
    };
    let rules = vec![FlowRule::new("no", "s/*", "b/*", false)];
    let world = World::new(servers(), rules);
    let client = world.client(local()).await;
    returned(&client, "secret", text()).await;
    let asked = params("via", json!({"v": {"$tool": "call_1"}}));
    let first = forward(&client, asked).await;
    first.pending.finish(question("first")).await;
    // Another tool, another state, and what is not a state at all.
    refused_as_unknown(&client, "other", &json!("first")).await;
    refused_as_unknown(&client, "via", &json!("forged")).await;
    for state in [json!({"a": 1}), json!(7), json!(["first"]), json!("")] {
        refused_as_unknown(&client, "via", &state).await;
    }
    forward(&client, continued("via", &Value::Null)).await;
    // Nothing refers to the results of a tool that is never chained, and none goes into it.
    forward(&client, continued("apart", &json!("first"))).await;
    // Another session of the same principal, and another revision.
    for (session, revision) in [
        (Some("other".to_owned()), Revision::V2025_11_25),
        (None, Revision::V2026_07_28),
    ] {
        let caller = Caller::new(Principal::Local, session, revision);
        let other = world.client(caller).await;
        refused_as_unknown(&other, "via", &json!("first")).await;
    }
    // Without rules a state is the server's own matter.
    let free = World::new(servers(), Vec::new()).client(local()).await;
    forward(&free, continued("via", &json!("forged"))).await;
}

/// Of two states a server may read the one that was not judged.
#[tokio::test]
async fn a_call_has_one_state() {
    let client = with_question().await;
    for other in ["requestState", "RequestState", "request\\u0053tate"] {
        let twice = format!(r#"{{"name":"via","requestState":"first","{other}":"forged"}}"#);
        let Call::Refused(error) = client.call(twice.into()).await else {
            panic!("{other}");
        };
        assert!(error.message.contains("requestState"), "{error:?}");
    }
}

/// A server that reads members leniently would continue from a state that was not judged.
#[tokio::test]
async fn a_state_is_not_passed_on_by_another_name() {
    let client = with_question().await;
    for name in [
        "requeststate",
        "RequestState",
        "request State",
        "requestState\\u200b",
    ] {
        let params = format!(r#"{{"name":"via","{name}":"forged"}}"#);
        let Call::Refused(error) = client.call(params.into()).await else {
            panic!("{name}");
        };
        assert!(
            error.message.contains("looks like `requestState`"),
            "{error:?}"
        );
    }
}
