//! Roots of clients narrow what `$file` may read.

use super::fake::{ConnectionSet, Server, World};
use crate::{config::FilesConfig, private_file::TestDirectory, protocol::meta};
use serde_json::{Value, json};
use std::{fs, time::Duration};

const TOOLS: &str = r#"{"tools":[{"name":"put","inputSchema":{"type":"object","properties":{"text":{"type":"string"},"more":{"type":"string"}}}}]}"#;

/// A directory with files in two directories beneath it.
fn home() -> TestDirectory {
    let home = TestDirectory::new();
    for name in ["project", "other"] {
        fs::create_dir_all(home.0.join(name)).unwrap();
        fs::write(home.0.join(name).join("a.txt"), name).unwrap();
    }
    home
}

fn world(home: &TestDirectory) -> World {
    World::with(&["notes"], |config| {
        config.references.files = Some(FilesConfig::new(vec![home.0.clone()]));
    })
}

/// A client with these capabilities, which knows the tools.
async fn begun(world: &World, capabilities: Value) -> (ConnectionSet, Server) {
    let client = world.client();
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": capabilities,
        "clientInfo": {"name": "test", "version": "0"},
    });
    client.request("initialize", &params.to_string()).await;
    let mut server = world.server(0).await;
    server.begin(r#"{"tools":{}}"#).await;
    client.answer().await;
    client.request("tools/list", "{}").await;
    let request = server.expect("tools/list").await;
    server.answer(&request, TOOLS).await;
    client.answer().await;
    (client, server)
}

fn call(files: &[(&str, &str)]) -> Value {
    let references = files
        .iter()
        .map(|(key, path)| ((*key).to_owned(), json!({"_file": path})));
    let references: serde_json::Map<_, _> = references.collect();
    let arguments: serde_json::Map<_, _> = files
        .iter()
        .map(|(key, _)| ((*key).to_owned(), Value::Null))
        .collect();
    let mut arguments = Value::Object(arguments);
    arguments["_refs"] = references.into();
    json!({"name": "put", "arguments": arguments})
}

fn parsed(message: &str) -> Value {
    serde_json::from_str(message).unwrap()
}

/// The next message to the client, which asks for its roots, answered with these.
async fn tell(client: &ConnectionSet, roots: Value) {
    let asked = parsed(&client.next().await);
    assert_eq!(asked["method"], "roots/list", "{asked}");
    let answer = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": roots}});
    client.send(&answer.to_string()).await;
}

fn root(home: &TestDirectory, name: &str) -> Value {
    let path = home.0.join(name);
    json!([{"uri": format!("file://{}", path.to_str().unwrap()), "name": "x"}])
}

async fn received(server: &mut Server) -> Value {
    let request = server.expect("tools/call").await;
    let params = serde_json::from_slice(&request.params().unwrap()).unwrap();
    server.answer(&request, r#"{"content":[]}"#).await;
    params
}

#[tokio::test]
async fn a_client_with_roots_is_asked_for_them_once_a_call() {
    let home = home();
    let world = world(&home);
    let (client, mut server) = begun(&world, json!({"roots": {"listChanged": true}})).await;
    let both = call(&[("text", "project/a.txt"), ("more", "project/a.txt")]);
    client.request("tools/call", &both.to_string()).await;
    tell(&client, root(&home, "project")).await;
    let arguments = received(&mut server).await["arguments"].clone();
    assert_eq!(arguments, json!({"text": "project", "more": "project"}));
    client.answer().await;
    // They may be others by the next call.
    let outside = "it is outside of the roots of the client";
    let invalid = "the roots of the client are not known: its answer is not valid";
    let long = format!("file://{}", "/x".repeat(4096));
    for (roots, refused) in [
        (root(&home, "other"), outside),
        (json!([]), outside),
        (root(&home, "proj"), outside),
        (root(&home, "project/a.txt/.."), outside),
        // Whether there is such a directory is not to be learnt.
        (root(&home, "other/../project"), outside),
        (root(&home, "%6eone/../project"), outside),
        (
            json!([{"uri": "https://example.com/"}, {"uri": 1}, {}, {"uri": long}]),
            outside,
        ),
        (json!("/"), invalid),
    ] {
        let file = call(&[("text", "project/a.txt")]);
        client.request("tools/call", &file.to_string()).await;
        tell(&client, roots).await;
        let answer = client.answer().await;
        assert!(
            answer.contains(refused) && answer.contains(r#""isError":true"#),
            "{answer}"
        );
        assert!(server.is_quiet());
    }
    for roots in [
        root(&home, ""),
        root(&home, "project/"),
        root(&home, "./project"),
        root(&home, "pro%6Aect"),
        json!([{"uri": "file:///"}]),
    ] {
        let file = call(&[("text", "project/a.txt")]);
        client.request("tools/call", &file.to_string()).await;
        tell(&client, roots).await;
        assert_eq!(received(&mut server).await["arguments"]["text"], "project");
        client.answer().await;
    }
}

#[tokio::test]
async fn a_client_without_roots_is_not_asked() {
    let home = home();
    let world = world(&home);
    for capabilities in [json!({}), json!({"roots": null}), json!({"roots": false})] {
        let (client, mut server) = begun(&world, capabilities).await;
        client
            .request("tools/call", &call(&[("text", "other/a.txt")]).to_string())
            .await;
        assert_eq!(received(&mut server).await["arguments"]["text"], "other");
        client.answer().await;
    }
}

#[tokio::test]
async fn a_root_of_the_configuration_may_be_a_link() {
    let home = home();
    let link = home.0.join("link");
    std::os::unix::fs::symlink(home.0.join("project"), &link).unwrap();
    let world = World::with(&["notes"], |config| {
        config.references.files = Some(FilesConfig::new(vec![link.clone()]));
    });
    let (client, mut server) = begun(&world, json!({"roots": true})).await;
    for (of_client, is_read) in [("link", true), ("project", true), ("other", false)] {
        let file = call(&[("text", "a.txt")]);
        client.request("tools/call", &file.to_string()).await;
        tell(&client, root(&home, of_client)).await;
        if is_read {
            assert_eq!(received(&mut server).await["arguments"]["text"], "project");
        }
        let answer = client.answer().await;
        assert_eq!(
            answer.contains("outside of the roots"),
            !is_read,
            "{answer}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_does_not_tell_its_roots_reads_no_file() {
    let home = home();
    let world = world(&home);
    let (client, mut server) = begun(&world, json!({"roots": {}})).await;
    client
        .request(
            "tools/call",
            &call(&[("text", "project/a.txt")]).to_string(),
        )
        .await;
    let asked = parsed(&client.next().await);
    let refused =
        json!({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32601, "message": "none"}});
    client.send(&refused.to_string()).await;
    let answer = client.answer().await;
    assert!(
        answer.contains("the roots of the client are not known: it answered with an error"),
        "{answer}"
    );
    client
        .request(
            "tools/call",
            &call(&[("text", "project/a.txt")]).to_string(),
        )
        .await;
    let asked = parsed(&client.next().await);
    tokio::time::sleep(Duration::from_secs(11)).await;
    let cancelled = parsed(&client.next().await);
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], asked["id"]);
    let answer = client.answer().await;
    assert!(answer.contains("it did not answer in time"), "{answer}");
    assert!(server.is_quiet());
    // An answer that comes too late is that to nothing.
    let late = json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": []}});
    client.send(&late.to_string()).await;
    assert!(client.is_quiet().await);
}

/// A request without a session, of a client that has roots or none.
fn stateless(id: u32, method: &str, has_roots: bool, mut params: Value) -> String {
    let capabilities = if has_roots {
        json!({"roots": {}})
    } else {
        json!({})
    };
    params["_meta"] = json!({
        (meta::PROTOCOL_VERSION): "2026-07-28",
        (meta::CLIENT_CAPABILITIES): capabilities,
        (meta::CLIENT_INFO): {"name": "test", "version": "0"},
    });
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

#[tokio::test]
async fn a_client_without_a_session_is_asked_by_the_answer_to_its_call() {
    let home = home();
    let world = world(&home);
    let client = world.stateless();
    let with_file = call(&[("text", "project/a.txt")]);
    // The connection is there before the call.
    client.send(&stateless(0, "x/y", false, json!({}))).await;
    let mut server = world.server(0).await;
    let probe = server.expect("server/discover").await;
    let about = json!({
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "s", "version": "1"},
        "ttlMs": 0,
        "cacheScope": "private",
    });
    server.answer(&probe, &about.to_string()).await;
    let request = server.expect("x/y").await;
    server.answer(&request, "{}").await;
    client.answer().await;
    client
        .send(&stateless(1, "tools/call", true, with_file.clone()))
        .await;
    let request = server.expect("tools/list").await;
    server.answer(&request, TOOLS).await;
    let asked = parsed(&client.answer().await)["result"].clone();
    assert_eq!(asked["resultType"], "input_required");
    let questions = asked["inputRequests"].as_object().unwrap();
    let (key, question) = questions.iter().next().unwrap();
    assert_eq!(
        (questions.len(), &question["method"]),
        (1, &json!("roots/list"))
    );
    assert!(server.is_quiet());
    let again = |roots: Value| {
        let mut params = with_file.clone();
        params["requestState"] = asked["requestState"].clone();
        params["inputResponses"] = json!({key: {"roots": roots}});
        params
    };
    let params = again(root(&home, "project"));
    client.send(&stateless(2, "tools/call", true, params)).await;
    let params = received(&mut server).await;
    assert_eq!(params["arguments"]["text"], "project");
    assert_eq!(
        (params.get("requestState"), params.get("inputResponses")),
        (None, None)
    );
    client.answer().await;
    let params = again(root(&home, "other"));
    client.send(&stateless(3, "tools/call", true, params)).await;
    let answer = client.answer().await;
    assert!(
        answer.contains("outside of the roots of the client"),
        "{answer}"
    );
    let params = again(json!(1));
    client.send(&stateless(4, "tools/call", true, params)).await;
    let answer = client.answer().await;
    assert!(answer.contains("its answer is not valid"), "{answer}");
    let params = again(root(&home, "project"));
    let twice = stateless(5, "tools/call", true, params).replace(
        r#""requestState""#,
        r#""requestState":"x","request\u0053tate""#,
    );
    client.send(&twice).await;
    let answer = client.answer().await;
    assert!(answer.contains("-32602") && server.is_quiet(), "{answer}");
    // A server's state does not make way for a question.
    let mut params = with_file.clone();
    params["requestState"] = json!("of the server");
    client.send(&stateless(6, "tools/call", true, params)).await;
    let answer = client.answer().await;
    assert!(answer.contains("the call cannot go on here"), "{answer}");
    assert!(server.is_quiet());
    // Who has no roots is not asked.
    client
        .send(&stateless(7, "tools/call", false, with_file))
        .await;
    assert_eq!(received(&mut server).await["arguments"]["text"], "project");
}
