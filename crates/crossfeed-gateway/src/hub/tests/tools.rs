//! Tools through the hub: listed whole, called, and what their servers say passed on.

use super::fake::World;
use crate::message::Message;

const TOOLS: &str = r#"{"tools":{}}"#;

fn tool(name: &str) -> String {
    format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#)
}

#[tokio::test]
async fn all_pages_are_listed_as_one() {
    let world = World::new(&["a"]);
    let (client, mut servers) = world.begun(TOOLS).await;
    client
        .send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"k":1.0}}}"#)
        .await;
    let first = servers[0].expect("tools/list").await;
    assert_eq!(first.params().unwrap(), &br#"{"_meta":{"k":1.0}}"#[..]);
    servers[0]
        .answer(
            &first,
            &format!(r#"{{"tools":[{}],"nextCursor":"c"}}"#, tool("one")),
        )
        .await;
    let second = servers[0].expect("tools/list").await;
    assert_eq!(
        second.params().unwrap(),
        &br#"{"_meta":{"k":1.0},"cursor":"c"}"#[..]
    );
    servers[0]
        .answer(&second, &format!(r#"{{"tools":[{}]}}"#, tool("two")))
        .await;
    let list = client.next().await;
    assert!(
        list.contains(r#""one""#) && list.contains(r#""two""#),
        "{list}"
    );
    assert!(!list.contains("nextCursor"));
    client
        .send(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"cursor":"c"}}"#)
        .await;
    assert!(client.next().await.contains("-32602"));
}

#[tokio::test]
async fn a_list_without_an_end_is_refused() {
    let world = World::new(&["a"]);
    let (client, mut servers) = world.begun(TOOLS).await;
    client
        .send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#)
        .await;
    for _ in 0..2 {
        let page = servers[0].expect("tools/list").await;
        servers[0]
            .answer(&page, r#"{"tools":[],"nextCursor":"c"}"#)
            .await;
    }
    let refused = client.next().await;
    assert!(refused.contains("upstream.invalid"), "{refused}");
}

#[tokio::test]
async fn calls_list_first_where_nobody_did() {
    let world = World::new(&["a"]);
    let (client, mut servers) = world.begun(TOOLS).await;
    client
        .send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one","arguments":{}}}"#)
        .await;
    let list = servers[0].expect("tools/list").await;
    // What comes behind does not wait.
    client
        .send(r#"{"jsonrpc":"2.0","id":2,"method":"other"}"#)
        .await;
    servers[0].expect("other").await;
    let tools = format!(r#"{{"tools":[{}]}}"#, tool("one"));
    servers[0].answer(&list, &tools).await;
    let call = servers[0].expect("tools/call").await;
    let id = call.id().unwrap();
    let error = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32000,"message":"m","data":1.0}}}}"#
    );
    servers[0].say(super::fake::message(&error)).await;
    assert_eq!(
        client.next().await,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"m","data":1.0}}"#
    );
    // Listed now; until it changes.
    let call =
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"one","arguments":{}}}"#;
    client.send(call).await;
    servers[0].expect("tools/call").await;
    let changed = "notifications/tools/list_changed";
    servers[0].say(Message::notification(changed, None)).await;
    assert!(client.next().await.contains(changed));
    client.send(&call.replace('3', "4")).await;
    servers[0].expect("tools/list").await;
}

#[tokio::test]
async fn what_a_list_has_that_changes_all_the_time_can_be_called() {
    let world = World::new(&["a"]);
    let (client, mut servers) = world.begun(TOOLS).await;
    client
        .send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one","arguments":{}}}"#)
        .await;
    let changed = "notifications/tools/list_changed";
    for _ in 0..3 {
        let list = servers[0].expect("tools/list").await;
        servers[0].say(Message::notification(changed, None)).await;
        assert!(client.next().await.contains(changed));
        let tools = format!(r#"{{"tools":[{}]}}"#, tool("one"));
        servers[0].answer(&list, &tools).await;
    }
    servers[0].expect("tools/call").await;
}

#[tokio::test]
async fn unknown_tools_are_the_only_servers_to_judge() {
    let world = World::new(&["a"]);
    let (client, mut servers) = world.begun("{}").await;
    client
        .send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"none"}}"#)
        .await;
    let called = servers[0].expect("tools/call").await;
    servers[0].refuse(&called, -32601).await;
    let refused = client.next().await;
    assert!(refused.contains("-32601"), "{refused}");
}

/// However often a server says that its list changed, and however many wait for it.
#[tokio::test]
async fn requests_that_wait_for_a_list_share_the_next_fetch() {
    let world = World::new(&["a"]);
    let (client, mut servers) = world.begun(TOOLS).await;
    let list = format!(r#"{{"tools":[{}]}}"#, tool("one"));
    client.request("tools/list", "{}").await;
    let first = servers[0].expect("tools/list").await;
    for id in 0..20 {
        client
            .send(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list"}}"#
            ))
            .await;
    }
    let changed = "notifications/tools/list_changed";
    for _ in 0..50 {
        servers[0].say(Message::notification(changed, None)).await;
        assert!(client.next().await.contains(changed));
    }
    let mut fetches = 1;
    servers[0].answer(&first, &list).await;
    let mut answered = 0;
    while answered < 21 {
        tokio::select! {
            asked = servers[0].next() => {
                assert_eq!(asked.method(), Some("tools/list"));
                fetches += 1;
                servers[0].answer(&asked, &list).await;
            }
            answer = client.answer() => {
                assert!(answer.contains("one"), "{answer}");
                answered += 1;
            }
        }
    }
    assert_eq!(fetches, 2);
    assert!(servers[0].is_quiet());
    // What the client was sent it may call.
    let call = r#"{"name":"one","arguments":{}}"#;
    client.request("tools/call", call).await;
    servers[0].expect("tools/call").await;
}

#[tokio::test]
async fn a_call_is_not_answered_with_the_error_of_a_list() {
    let world = World::new(&["a"]);
    let (client, mut servers) = world.begun(TOOLS).await;
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a" : 1.0}}}"#;
    client.send(call).await;
    let list = servers[0].expect("tools/list").await;
    servers[0].refuse(&list, -32000).await;
    // The server judges the call itself.
    let called = servers[0].expect("tools/call").await;
    assert_eq!(
        called.params().unwrap(),
        &br#"{"name":"echo","arguments":{"a" : 1.0}}"#[..]
    );
    servers[0].answer(&called, r#"{"content":[]}"#).await;
    assert!(client.next().await.contains(r#""result":{"content":[]}"#));
}
