//! Calls of clients that say which conversation they belong to.

use super::*;
use crossfeed_json::{Document, quoted};

pub(super) fn named(name: &str) -> Principal {
    Principal::Named(name.to_owned())
}

pub(super) fn caller(principal: Principal, session: Option<&str>) -> Caller {
    let revision = match session {
        Some(_) => Revision::V2025_11_25,
        None => Revision::V2026_07_28,
    };
    Caller::new(principal, session.map(str::to_owned), revision)
}

fn world() -> World {
    World::new(vec![(server("a"), tools())], Vec::new())
}

/// The `params` of a call with this member of `_meta`, as JSON.
fn with_meta(name: &str, arguments: &Value, (key, id): (&str, &str)) -> Bytes {
    let arguments = arguments.to_string();
    format!(
        r#"{{"name":"{name}","arguments":{arguments},"_meta":{{{}:{id}}}}}"#,
        quoted(key)
    )
    .into()
}

/// The same with a thread of Codex.
fn in_thread(name: &str, arguments: &Value, thread: &str) -> Bytes {
    with_meta(name, arguments, ("threadId", &quoted(thread)))
}

/// What a forwarded call is shown as, whose result is this text.
async fn finished(forward: Forward, text: &str) -> Value {
    let result = json!({"content": [{"type": "text", "text": text}]}).to_string();
    serde_json::from_slice(&forward.pending.finish(result.into()).await).unwrap()
}

/// The id that a shown result has.
fn id_of(shown: &Value) -> String {
    let text = shown["content"][1]["text"].as_str().unwrap();
    let said: Value = serde_json::from_str(text).unwrap();
    said["_toolCallId"].as_str().unwrap().to_owned()
}

/// The id of a call with these `params` whose result is this text.
pub(super) async fn recorded(client: &ClientTools, params: Bytes, text: &str) -> String {
    id_of(&finished(forward(client, params).await, text).await)
}

pub(super) async fn in_thread_recorded(client: &ClientTools, thread: &str, text: &str) -> String {
    recorded(client, in_thread("search", &json!({}), thread), text).await
}

/// What a reference to a call brings in; else the error.
pub(super) async fn referred(
    client: &ClientTools,
    id: &str,
    meta: Option<(&str, &str)>,
) -> Result<Value, String> {
    let arguments = json!({"q": {"$tool": id}});
    let params = match meta {
        Some(meta) => with_meta("search", &arguments, meta),
        None => params("search", arguments),
    };
    match client.call(params).await {
        Call::Forward(forward) => {
            // Not every `_meta` here can be held as a value.
            let sent = Document::new(forward.params);
            let arguments = sent.root().unwrap().get("arguments").unwrap();
            Ok(arguments.get("q").unwrap().to_nearest_value())
        }
        Call::Answered(answer) => {
            let answer = serde_json::from_slice(&answer).unwrap();
            Err(error(&answer).to_owned())
        }
        Call::Refused(error) => panic!("{error:?}"),
    }
}

pub(super) async fn in_thread_referred(
    client: &ClientTools,
    id: &str,
    thread: &str,
) -> Result<Value, String> {
    referred(client, id, Some(("threadId", &quoted(thread)))).await
}

pub(super) fn is_unknown(referred: Result<Value, String>) {
    let error = referred.unwrap_err();
    // The id may be that of the call itself, where it is the first.
    let is_own = error.contains("refers to itself");
    assert!(is_own || error.starts_with("result.unknown"), "{error}");
}

#[tokio::test]
async fn results_outlive_the_session_in_their_conversation() {
    for principal in [named("a"), Principal::Local] {
        let world = world();
        let first = world.client(caller(principal.clone(), Some("1"))).await;
        assert_eq!(in_thread_recorded(&first, "t", "one").await, "call_1");
        first.close().await;
        let second = world.client(caller(principal.clone(), Some("2"))).await;
        assert_eq!(
            in_thread_referred(&second, "call_1", "t").await.unwrap(),
            "one"
        );
        // The call that referred to it had an id, too.
        assert_eq!(in_thread_recorded(&second, "t", "two").await, "call_3");
        let read = in_thread("read_result", &json!({"call_id": "call_1"}), "t");
        let read = answered(&second, read).await;
        assert_eq!(
            read["content"][0]["text"],
            json!({"value": "one"}).to_string()
        );
        let list = answered(&second, in_thread("list_results", &json!({}), "t")).await;
        let list: Value =
            serde_json::from_str(list["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(list["total"], 2, "{list}");
        // Outside of it nothing of it is known, and neither is it in another conversation.
        is_unknown(referred(&second, "call_1", None).await);
        is_unknown(in_thread_referred(&second, "call_1", "u").await);
        assert_eq!(
            recorded(&second, params("search", json!({})), "own").await,
            "call_2"
        );
        is_unknown(in_thread_referred(&second, "call_2", "t").await);
        // It ends with the only client of the process.
        world.tools.close_conversations(&principal).await;
        is_unknown(in_thread_referred(&second, "call_1", "t").await);
    }
}

#[tokio::test]
async fn clients_without_sessions_get_short_ids_in_a_conversation() {
    let world = world();
    for client in [
        world.client(caller(named("a"), None)).await,
        world.client(caller(named("a"), None)).await,
    ] {
        let shown = recorded(&client, params("search", json!({})), "x").await;
        assert_eq!(shown.len(), 26);
    }
    let client = world.client(caller(named("a"), None)).await;
    assert_eq!(in_thread_recorded(&client, "t", "one").await, "call_1");
    assert_eq!(in_thread_recorded(&client, "u", "two").await, "call_1");
    let other = world.client(caller(named("a"), None)).await;
    assert_eq!(
        in_thread_referred(&other, "call_1", "t").await.unwrap(),
        "one"
    );
    assert_eq!(
        in_thread_referred(&other, "call_1", "u").await.unwrap(),
        "two"
    );
}

/// What a client can write reaches nothing of another principal.
#[tokio::test]
async fn a_conversation_is_its_principals_own() {
    let world = world();
    let owner = world.client(caller(named("a"), Some("1"))).await;
    assert_eq!(in_thread_recorded(&owner, "t", "secret").await, "call_1");
    let never = world.client(caller(named("never"), Some("1"))).await;
    let unknown = in_thread_referred(&never, "call_1", "t").await.unwrap_err();
    for other in [
        caller(named("b"), Some("1")),
        caller(named("c"), None),
        caller(named("local"), Some("1")),
        caller(Principal::Local, Some("1")),
        caller(Principal::Anonymous, Some("1")),
        caller(Principal::Anonymous, None),
    ] {
        let is_listed = other.session.is_some() || other.principal.name().is_some();
        let other = world.client(other).await;
        let refused = in_thread_referred(&other, "call_1", "t").await.unwrap_err();
        is_unknown(Err(refused.clone()));
        if is_listed {
            // It reads as if it had never been.
            assert_eq!(refused, unknown);
        }
        assert!(!refused.contains("secret"), "{refused}");
        let read = in_thread("read_result", &json!({"call_id": "call_1"}), "t");
        let read = answered(&other, read).await;
        assert!(error(&read).starts_with("result.unknown"), "{read}");
    }
    assert_eq!(
        in_thread_referred(&owner, "call_1", "t").await.unwrap(),
        "secret"
    );
}

/// Anybody could write the conversation of somebody else.
#[tokio::test]
async fn a_conversation_of_nobody_is_ignored() {
    let world = world();
    let one = world.client(caller(Principal::Anonymous, Some("1"))).await;
    assert_eq!(in_thread_recorded(&one, "t", "one").await, "call_1");
    // It is in its session, as without.
    assert_eq!(referred(&one, "call_1", None).await.unwrap(), "one");
    let two = world.client(caller(Principal::Anonymous, Some("2"))).await;
    is_unknown(in_thread_referred(&two, "call_1", "t").await);
    let nobody = world.client(caller(Principal::Anonymous, None)).await;
    let id = in_thread_recorded(&nobody, "t", "x").await;
    assert_eq!(id.len(), 26);
    is_unknown(in_thread_referred(&nobody, "call_1", "t").await);
    assert_eq!(referred(&nobody, &id, None).await.unwrap(), "x");
}

#[tokio::test]
async fn what_names_no_conversation_is_ignored() {
    let world = world();
    let client = world.client(caller(named("a"), Some("1"))).await;
    let long = quoted(&"x".repeat(1025));
    let longest = quoted(&"x".repeat(1 << 20));
    let mut count = 0;
    for id in [
        r#""""#,
        "7",
        "true",
        "null",
        "[]",
        r#"["t"]"#,
        "{}",
        r#"{"threadId":"t"}"#,
        &long,
        &longest,
    ] {
        let params = with_meta("search", &json!({}), ("threadId", id));
        count += 1;
        assert_eq!(
            recorded(&client, params, "x").await,
            format!("call_{count}")
        );
    }
    for meta in [
        "null",
        "[]",
        r#""threadId""#,
        r#"{"_meta":{"threadId":"t"}}"#,
    ] {
        let params = format!(r#"{{"name":"search","arguments":{{}},"_meta":{meta}}}"#);
        count += 1;
        assert_eq!(
            recorded(&client, params.into(), "x").await,
            format!("call_{count}")
        );
    }
    let behind: String = (0..1000).map(|n| format!(r#""k{n}":0,"#)).collect();
    for members in [
        r#""thread_id":"t""#,
        r#""ThreadId":"t""#,
        &format!(r#"{behind}"threadId":"t""#),
    ] {
        let params = format!(r#"{{"name":"search","arguments":{{}},"_meta":{{{members}}}}}"#);
        count += 1;
        assert_eq!(
            recorded(&client, params.into(), "x").await,
            format!("call_{count}")
        );
    }
}

/// Of several members the first key of the table counts that names a conversation; of one key its last value.
#[tokio::test]
async fn one_of_several_members_names_the_conversation() {
    let world = world();
    let client = world.client(caller(named("a"), None)).await;
    assert_eq!(in_thread_recorded(&client, "t", "one").await, "call_1");
    let code = ("vscode.conversationId", r#""c""#);
    let other = recorded(&client, with_meta("search", &json!({}), code), "two");
    assert_eq!(other.await, "call_1");
    let behind: String = (0..990).map(|n| format!(r#""k{n}":0,"#)).collect();
    for (members, expected) in [
        (r#""vscode.conversationId":"c","threadId":"t""#, "one"),
        (r#""threadId":"t","vscode.conversationId":"c""#, "one"),
        (r#""threadId":"","vscode.conversationId":"c""#, "two"),
        (r#""threadId":7,"vscode.conversationId":"c""#, "two"),
        (r#""threadId":"u","threadId":"t""#, "one"),
        (&format!(r#"{behind}"threadId":"t""#), "one"),
    ] {
        let params = format!(
            r#"{{"name":"search","arguments":{{"q":{{"$tool":"call_1"}}}},"_meta":{{{members}}}}}"#
        );
        let sent = forward(&client, params.into()).await.params;
        let sent: Value = serde_json::from_slice(&sent).unwrap();
        assert_eq!(sent["arguments"]["q"], expected, "{members}");
    }
}

/// Each of these is a conversation of its own, however it is written.
#[tokio::test]
async fn conversations_are_told_apart_by_their_ids() {
    let world = world();
    let client = world.client(caller(named("a"), None)).await;
    let longest = quoted(&"x".repeat(1024));
    let shorter = quoted(&"x".repeat(1023));
    let metas = [
        ("threadId", r#""t""#),
        ("threadId", r#""T""#),
        ("threadId", r#""t ""#),
        ("threadId", r#""t\u0000""#),
        ("threadId", r#""\u0000t""#),
        ("threadId", r#""\ud800""#),
        ("threadId", r#""\ud801""#),
        ("threadId", r#""\\u0074""#),
        ("threadId", &longest),
        ("threadId", &shorter),
        ("vscode.conversationId", r#""t""#),
        ("vscode.conversationId", r#""threadId""#),
    ];
    for meta in metas {
        let params = with_meta("search", &json!({}), meta);
        assert_eq!(
            recorded(&client, params, meta.1).await,
            "call_1",
            "{meta:?}"
        );
    }
    for meta in metas {
        let brought = referred(&client, "call_1", Some(meta)).await;
        assert_eq!(brought.unwrap(), meta.1);
    }
    // An escape is the sign that it stands for, in the id and in its key.
    for params in [
        r#"{"name":"search","arguments":{"q":{"$tool":"call_1"}},"_meta":{"threadId":"\u0074"}}"#,
        r#"{"name":"search","arguments":{"q":{"$tool":"call_1"}},"_meta":{"thread\u0049d":"t"}}"#,
        r#"{"name":"search","arguments":{"q":{"$tool":"call_1"}},"\u005fmeta":{"threadId":"t"}}"#,
    ] {
        let sent: Value =
            serde_json::from_slice(&forward(&client, params.into()).await.params).unwrap();
        assert_eq!(sent["arguments"]["q"], r#""t""#);
    }
}

/// Sessions of one conversation share its ids: none is given twice.
#[tokio::test]
async fn sessions_share_the_ids_of_a_conversation() {
    let world = world();
    let one = world.client(caller(named("a"), Some("1"))).await;
    let two = world.client(caller(named("a"), Some("2"))).await;
    let calls = (0..20).map(async |number: usize| {
        let client = if number.is_multiple_of(2) { &one } else { &two };
        let text = number.to_string();
        (in_thread_recorded(client, "t", &text).await, text)
    });
    let calls = futures_util::future::join_all(calls).await;
    let ids: std::collections::BTreeSet<_> = calls.iter().map(|(id, _)| id.clone()).collect();
    assert_eq!(ids.len(), 20);
    for (id, text) in &calls {
        let brought = in_thread_referred(&one, id, "t").await;
        assert_eq!(&brought.unwrap(), text);
    }
}

#[tokio::test]
async fn the_conversation_that_was_not_used_for_longest_is_forgotten() {
    let world = world();
    let client = world.client(caller(named("a"), None)).await;
    for text in ["one", "two", "three"] {
        in_thread_recorded(&client, "first", text).await;
    }
    for number in 0..1023 {
        in_thread_recorded(&client, &number.to_string(), "x").await;
    }
    // As many as are remembered; this one is used.
    assert_eq!(
        in_thread_referred(&client, "call_1", "first")
            .await
            .unwrap(),
        "one"
    );
    assert_eq!(in_thread_recorded(&client, "more", "x").await, "call_2");
    assert_eq!(
        in_thread_referred(&client, "call_1", "first")
            .await
            .unwrap(),
        "one"
    );
    is_unknown(in_thread_referred(&client, "call_1", "0").await);
    for number in 1..1023 {
        in_thread_recorded(&client, &number.to_string(), "x").await;
    }
    in_thread_recorded(&client, "still more", "x").await;
    // What was forgotten is not mistaken for what comes after it, under the same ids.
    let forgotten = in_thread_referred(&client, "call_1", "first").await;
    is_unknown(forgotten);
    let id = in_thread_recorded(&client, "first", "new").await;
    let number: u64 = id.strip_prefix("call_").unwrap().parse().unwrap();
    assert!(number > 5, "{id}");
    is_unknown(in_thread_referred(&client, "call_2", "first").await);
    assert_eq!(
        in_thread_referred(&client, &id, "first").await.unwrap(),
        "new"
    );
    // Conversations of others are not touched by it.
    let other = world.client(caller(named("b"), None)).await;
    assert_eq!(in_thread_recorded(&other, "first", "x").await, "call_1");
}

/// A call that continues is in the conversation in which it began, whatever its client says then.
#[tokio::test]
async fn a_call_that_continues_stays_in_its_conversation() {
    let world = world();
    for principal in [named("a"), Principal::Local] {
        let client = Caller::new(principal, Some("1".to_owned()), Revision::V2026_07_28);
        let client = world.client(client).await;
        in_thread_recorded(&client, "t", "one").await;
        let asked = json!({"q": {"$tool": "call_1"}});
        let first = forward(&client, in_thread("search", &asked, "t")).await;
        let question =
            json!({"resultType": "input_required", "requestState": "st", "inputRequests": {}});
        first.pending.finish(question.to_string().into()).await;
        let again = json!({"name": "search", "arguments": asked, "requestState": "st"});
        let again = forward(&client, again.to_string().into()).await;
        let sent: Value = serde_json::from_slice(&again.params).unwrap();
        assert_eq!(sent["arguments"]["q"], "one");
        assert_eq!(id_of(&finished(again, "two").await), "call_3");
        assert_eq!(
            in_thread_referred(&client, "call_3", "t").await.unwrap(),
            "two"
        );
        is_unknown(referred(&client, "call_3", None).await);
    }
}

#[tokio::test]
async fn a_task_stays_in_its_conversation() {
    let world = world();
    let client = world.client(caller(named("a"), Some("1"))).await;
    let begun = forward(&client, in_thread("search", &json!({}), "t")).await;
    let created = json!({"task": {"taskId": "task", "status": "working"}});
    begun.pending.finish(created.to_string().into()).await;
    let result = json!({"content": [{"type": "text", "text": "done"}]}).to_string();
    let first = client.task_result(0, "task", result.clone().into()).await;
    let shown: Value = serde_json::from_slice(&first).unwrap();
    assert_eq!(id_of(&shown), "call_1");
    assert_eq!(client.task_result(0, "task", result.into()).await, first);
    assert_eq!(
        in_thread_referred(&client, "call_1", "t").await.unwrap(),
        "done"
    );
    is_unknown(referred(&client, "call_1", None).await);
}

/// Rules hold across the sessions of a conversation, by where its data came from.
#[tokio::test]
async fn sources_are_known_across_the_sessions_of_a_conversation() {
    let rule = FlowRule::new("no", "a/search", "a/fetch", false);
    let world = World::new(vec![(server("a"), tools())], vec![rule]);
    let one = world.client(caller(named("a"), Some("1"))).await;
    in_thread_recorded(&one, "t", "u").await;
    one.close().await;
    let two = world.client(caller(named("a"), Some("2"))).await;
    let refused = in_thread("fetch", &json!({"url": {"$tool": "call_1"}}), "t");
    let refused = answered(&two, refused).await;
    assert!(error(&refused).starts_with("flow.refused"), "{refused}");
    assert_eq!(in_thread_referred(&two, "call_1", "t").await.unwrap(), "u");
}
