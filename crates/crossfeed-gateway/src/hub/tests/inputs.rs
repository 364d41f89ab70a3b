//! Resources in arguments (`$resource`): read from the server that listed or linked to them, for this client alone.

use super::fake::{ConnectionSet, Server, World};
use crate::config::FlowRule;
use crate::message::Message;
use serde_json::{Value, json};
use std::time::Duration;

const ALL: &str = r#"{"tools":{"listChanged":true},"resources":{"listChanged":true}}"#;

const TOOLS: &str = r#"{"tools":[{"name":"get","inputSchema":{"type":"object","properties":{"any":{},"text":{"type":"string"}}}}]}"#;

fn world(names: &[&str], flows: Vec<FlowRule>) -> World {
    World::with(names, |config| {
        config.references.resources = true;
        config.flows.clone_from(&flows);
    })
}

/// A client that knows the tools of its servers.
async fn begun(world: &World) -> (ConnectionSet, Vec<Server>) {
    let (client, mut servers) = world.begun(ALL).await;
    client.request("tools/list", "{}").await;
    for server in &mut servers {
        let request = server.expect("tools/list").await;
        server.answer(&request, TOOLS).await;
    }
    client.answer().await;
    (client, servers)
}

async fn call(client: &ConnectionSet, name: &str, arguments: Value) {
    let params = json!({"name": name, "arguments": arguments}).to_string();
    client.request("tools/call", &params).await;
}

async fn refer(client: &ConnectionSet, name: &str, reference: Value) {
    call(
        client,
        name,
        json!({"text": null, "_refs": {"text": reference}}),
    )
    .await;
}

/// The lists that the gateway reads to learn whose a resource is.
async fn learn(servers: &mut [Server], listed: &[&str], templates: &[&str]) {
    for (server, uri) in servers.iter_mut().zip(listed) {
        let request = server.expect("resources/list").await;
        let page = if uri.is_empty() {
            json!([])
        } else {
            json!([{"uri": uri, "name": "x"}])
        };
        server
            .answer(&request, &json!({"resources": page}).to_string())
            .await;
    }
    for server in servers.iter_mut() {
        let request = server.expect("resources/templates/list").await;
        let list: Vec<_> = templates
            .iter()
            .map(|own| json!({"uriTemplate": own, "name": "x"}))
            .collect();
        server
            .answer(&request, &json!({"resourceTemplates": list}).to_string())
            .await;
    }
}

/// A tool of a server returns a link.
async fn link(client: &ConnectionSet, (name, server): (&str, &mut Server), uri: &str) {
    call(client, name, json!({})).await;
    let request = server.expect("tools/call").await;
    let part = json!({"type": "resource_link", "uri": uri, "name": "x"});
    server
        .answer(&request, &json!({"content": [part]}).to_string())
        .await;
    client.answer().await;
}

/// Answers the reading of a resource, whose URI it is.
async fn give(server: &mut Server, uri: &str, content: Value) {
    let request = server.expect("resources/read").await;
    let params: Value = serde_json::from_slice(&request.params().unwrap()).unwrap();
    assert_eq!(params["uri"], json!(uri));
    server
        .answer(&request, &json!({"contents": [content]}).to_string())
        .await;
}

/// The `text` that a server is called with.
async fn received(server: &mut Server) -> Value {
    let request = server.expect("tools/call").await;
    let params: Value = serde_json::from_slice(&request.params().unwrap()).unwrap();
    server.answer(&request, r#"{"content":[]}"#).await;
    params["arguments"]["text"].clone()
}

#[tokio::test]
async fn a_listed_resource_goes_into_an_argument_and_is_kept() {
    let world = world(&["docs", "mail"], Vec::new());
    let (client, mut servers) = begun(&world).await;
    let reference = json!({"_resource": "docs://a", "_select": "b[0]"});
    refer(&client, "mail__get", reference.clone()).await;
    learn(&mut servers, &["docs://a", ""], &[]).await;
    let content =
        json!({"uri": "docs://a", "mimeType": "application/json", "text": r#"{"b": ["x"]}"#});
    give(&mut servers[0], "docs://a", content.clone()).await;
    assert_eq!(received(&mut servers[1]).await, json!("x"));
    client.answer().await;
    // It is not read again, and not by another name.
    refer(&client, "docs__get", reference.clone()).await;
    assert_eq!(received(&mut servers[0]).await, json!("x"));
    client.answer().await;
    // Until it changes.
    servers[0]
        .say(Message::notification(
            "notifications/resources/list_changed",
            None,
        ))
        .await;
    assert!(client.next().await.contains("list_changed"));
    refer(&client, "mail__get", reference).await;
    give(
        &mut servers[0],
        "docs://a",
        json!({"uri": "docs://a", "text": r#"{"b": ["y"]}"#}),
    )
    .await;
    assert_eq!(received(&mut servers[1]).await, json!("y"));
}

#[tokio::test]
async fn a_link_in_a_result_makes_a_resource_known() {
    for names in [&["docs"][..], &["docs", "mail"]] {
        let world = world(names, Vec::new());
        let (client, mut servers) = begun(&world).await;
        let tool = if names.len() == 1 { "get" } else { "docs__get" };
        link(&client, (tool, &mut servers[0]), "docs://hidden?v=1#x").await;
        refer(&client, tool, json!({"_resource": "docs://hidden?v=1#x"})).await;
        learn(&mut servers, &["", ""][..names.len()], &[]).await;
        give(
            &mut servers[0],
            "docs://hidden?v=1#x",
            json!({"blob": "iVBOR/8="}),
        )
        .await;
        assert_eq!(
            received(&mut servers[0]).await,
            json!("iVBOR/8="),
            "{names:?}"
        );
        // Another client does not know it.
        let (other, mut own) = begun(&world).await;
        refer(&other, tool, json!({"_resource": "docs://hidden?v=1#x"})).await;
        learn(&mut own, &["", ""][..names.len()], &[]).await;
        let answer = other.answer().await;
        assert!(answer.contains("input.refused"), "{answer}");
        assert!(own.iter_mut().all(Server::is_quiet));
    }
}

#[tokio::test]
async fn what_nobody_listed_or_linked_to_is_refused_unread() {
    let world = world(&["docs", "mail"], Vec::new());
    let (client, mut servers) = begun(&world).await;
    let mut is_learnt = false;
    for uri in [
        "docs://b",
        "docs://a/",
        "docs://a%20",
        "DOCS://a",
        "docs://a#x",
        "docs://a/../b",
        " docs://a",
        "docs:a",
        "file:///etc/passwd",
        "docs://any/thing",
        "call_1",
    ] {
        refer(&client, "mail__get", json!({"_resource": uri})).await;
        if !is_learnt {
            learn(
                &mut servers,
                &["docs://a", ""],
                &["docs://any/{x}", "{+uri}"],
            )
            .await;
            is_learnt = true;
        }
        let answer = client.answer().await;
        assert!(
            answer.contains("input.refused")
                && answer.contains("no server of this session listed it"),
            "{uri}: {answer}"
        );
        assert!(servers.iter_mut().all(Server::is_quiet), "{uri}");
    }
}

#[tokio::test]
async fn flow_rules_judge_a_resource_as_data_of_any_tool_of_its_server() {
    let flows = vec![FlowRule::new("no mail", "docs/secret_*", "mail/*", false)];
    let world = world(&["docs", "mail"], flows);
    let (client, mut servers) = begun(&world).await;
    refer(&client, "mail__get", json!({"_resource": "docs://a"})).await;
    learn(&mut servers, &["docs://a", ""], &[]).await;
    give(&mut servers[0], "docs://a", json!({"text": "x"})).await;
    let answer = client.answer().await;
    assert!(
        answer.contains("flow.refused") && answer.contains("`docs/…`"),
        "{answer}"
    );
    assert!(servers.iter_mut().all(Server::is_quiet));
    refer(&client, "docs__get", json!({"_resource": "docs://a"})).await;
    assert_eq!(received(&mut servers[0]).await, json!("x"));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_fails_or_is_late_ends_the_call_with_advice() {
    let world = world(&["docs", "mail"], Vec::new());
    let (client, mut servers) = begun(&world).await;
    refer(&client, "mail__get", json!({"_resource": "docs://a"})).await;
    learn(&mut servers, &["docs://a", ""], &[]).await;
    let request = servers[0].expect("resources/read").await;
    servers[0].refuse(&request, -32002).await;
    let answer = client.answer().await;
    assert!(
        answer.contains("input.unavailable")
            && answer.contains("server `docs`: it answered with an error"),
        "{answer}"
    );
    // What is no valid answer.
    for result in [
        r#"{"contents":[]}"#,
        r#"{}"#,
        r#"{"contents":[{"blob":"?"}]}"#,
    ] {
        refer(&client, "mail__get", json!({"_resource": "docs://a"})).await;
        let request = servers[0].expect("resources/read").await;
        servers[0].answer(&request, result).await;
        let answer = client.answer().await;
        assert!(answer.contains("input.unavailable"), "{answer}");
    }
    refer(&client, "mail__get", json!({"_resource": "docs://a"})).await;
    servers[0].expect("resources/read").await;
    tokio::time::sleep(Duration::from_secs(11)).await;
    let answer = client.answer().await;
    assert!(answer.contains("input.unavailable"), "{answer}");
    servers[0].expect("notifications/cancelled").await;
    assert!(servers[1].is_quiet());
}

#[tokio::test]
async fn several_contents_are_a_list() {
    let world = world(&["docs"], Vec::new());
    let (client, mut servers) = begun(&world).await;
    refer(
        &client,
        "get",
        json!({"_resource": "docs://a", "_select": "[1].text"}),
    )
    .await;
    learn(&mut servers, &["docs://a"], &[]).await;
    let request = servers[0].expect("resources/read").await;
    let contents =
        json!([{"uri": "docs://a/1", "text": "one"}, {"uri": "docs://a/2", "text": "two"}]);
    servers[0]
        .answer(&request, &json!({"contents": contents}).to_string())
        .await;
    assert_eq!(received(&mut servers[0]).await, json!("two"));
}
