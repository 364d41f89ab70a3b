//! Clients that connect again within a conversation.

use super::fake::{ConnectionSet, Server, World};
use crate::config::TokenConfig;

const TOOLS: &str = r#"{"tools":{}}"#;
const LIST: &str = r#"{"tools":[{"name":"t","inputSchema":{"type":"object","properties":{"q":{"type":"string"}}}}]}"#;

fn world() -> World {
    World::with(&["a"], |config| {
        config.tokens = vec![
            TokenConfig::new("ann", "token-of-ann-1234"),
            TokenConfig::new("bob", "token-of-bob-1234"),
        ];
    })
}

/// A client that has listed the tools of its server.
async fn listed(world: &World, client: ConnectionSet) -> (ConnectionSet, Server) {
    let (client, mut servers) = world.begin(client, TOOLS).await;
    let mut server = servers.remove(0);
    client.request("tools/list", "{}").await;
    let asked = server.expect("tools/list").await;
    server.answer(&asked, LIST).await;
    client.answer().await;
    (client, server)
}

/// Calls the tool in a thread of Codex.
async fn call(client: &ConnectionSet, arguments: &str) {
    let params =
        format!(r#"{{"name":"t","arguments":{arguments},"_meta":{{"threadId":"thread"}}}}"#);
    client.request("tools/call", &params).await;
}

/// Has a result recorded, and gives what is shown of it.
async fn recorded(client: &ConnectionSet, server: &mut Server) -> String {
    call(client, "{}").await;
    let called = server.expect("tools/call").await;
    let result = r#"{"content":[{"type":"text","text":"mine"}]}"#;
    server.answer(&called, result).await;
    client.answer().await
}

const REFERENCE: &str = r#"{"q":{"$tool":"call_1"}}"#;

#[tokio::test]
async fn who_connects_again_finds_the_results_of_its_conversation() {
    let world = world();
    let (first, mut server) = listed(&world, world.session_of(Some("ann"))).await;
    let shown = recorded(&first, &mut server).await;
    assert!(shown.contains("call_1"), "{shown}");
    first.client.close().await;

    let (second, mut server) = listed(&world, world.session_of(Some("ann"))).await;
    call(&second, REFERENCE).await;
    let sent = server.expect("tools/call").await;
    let sent = String::from_utf8(sent.params().unwrap().to_vec()).unwrap();
    assert!(sent.contains(r#""q":"mine""#), "{sent}");
    // The server hears of the conversation as before.
    assert!(sent.contains(r#""_meta":{"threadId":"thread"}"#), "{sent}");

    for other in [Some("bob"), None] {
        let (other, mut server) = listed(&world, world.session_of(other)).await;
        call(&other, REFERENCE).await;
        let refused = other.answer().await;
        assert!(refused.contains(r#""isError":true"#), "{refused}");
        assert!(!refused.contains("mine"), "{refused}");
        assert!(server.is_quiet());
    }
}

#[tokio::test]
async fn conversations_end_with_the_client_of_the_process() {
    let world = world();
    let (first, mut server) = listed(&world, world.client()).await;
    recorded(&first, &mut server).await;
    call(&first, REFERENCE).await;
    server.expect("tools/call").await;
    first.client.close().await;
    let (second, _server) = listed(&world, world.client()).await;
    call(&second, REFERENCE).await;
    let refused = second.answer().await;
    assert!(refused.contains(r#""isError":true"#), "{refused}");
}
