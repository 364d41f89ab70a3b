//! Clients and servers of either era.

use super::fake::{INITIALIZE, SOON, Server, World, message};
use crate::{
    message::{Id, Message},
    port::Hub,
    upstream::{Event, UpstreamError},
};

/// A request of the stateless era.
fn request(id: &str, method: &str, more: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}{more}}}}}}}"#
    )
}

const DISCOVERED: &str = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"},"ttlMs":0,"cacheScope":"private"}"#;

async fn discovered(server: &mut Server) {
    let probe = server.expect("server/discover").await;
    server.answer(&probe, DISCOVERED).await;
}

async fn refuse(server: &Server, request: &Message) {
    let id = request.id().unwrap();
    let text = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"no"}}}}"#);
    server.say(message(&text)).await;
}

#[tokio::test]
async fn requests_without_sessions_pass_as_they_come() {
    let world = World::new(&["a"]);
    let client = world.client();
    let text = request("\"x\"", "resources/read", "");
    client.send(&text).await;
    let mut server = world.server(0).await;
    discovered(&mut server).await;
    let read = server.expect("resources/read").await;
    let back = read.clone().with_id(message(&text).id().unwrap().clone());
    assert_eq!(back.to_bytes(), text.as_bytes());
    server.answer(&read, "1").await;
    assert_eq!(
        client.next().await,
        r#"{"jsonrpc":"2.0","id":"x","result":1}"#
    );
    client.send(&request("1", "server/discover", "")).await;
    discovered(&mut server).await;
    let answer = client.next().await;
    assert!(
        answer.contains(r#""supportedVersions":["2026-07-28"]"#),
        "{answer}"
    );
    assert!(answer.contains(r#""listChanged":true"#));
}

#[tokio::test]
async fn a_revision_that_is_none_is_refused() {
    let world = World::new(&["a"]);
    let client = world.client();
    client
        .send(&request("1", "x", "").replace("2026-07-28", "2099-01-01"))
        .await;
    let refused = client.next().await;
    assert!(
        refused.contains("-32022") && refused.contains("2099-01-01"),
        "{refused}"
    );
}

#[tokio::test]
async fn clients_that_share_connections_share_nothing_else() {
    let world = World::new(&["a"]);
    let (one, two) = (world.stateless(), world.stateless());
    let text = request("1", "slow", r#","progressToken":"t""#);
    one.send(&text).await;
    two.send(&text).await;
    let mut server = world.server(0).await;
    discovered(&mut server).await;
    let first = server.expect("slow").await;
    let second = server.expect("slow").await;
    assert_ne!(first.id(), second.id());
    let token = |request: &Message| {
        crate::members::get(&request.params().unwrap(), &["_meta", "progressToken"]).unwrap()
    };
    assert_ne!(token(&first), token(&second));
    for request in [&second, &first] {
        let token = String::from_utf8(token(request).to_vec()).unwrap();
        server
            .say(message(&format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":1.0}}}}"#
            )))
            .await;
    }
    server.answer(&second, "2").await;
    server.answer(&first, "1").await;
    for (client, own) in [(&one, 1), (&two, 2)] {
        assert_eq!(
            client.next().await,
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1.0}}"#
        );
        assert_eq!(
            client.next().await,
            format!(r#"{{"jsonrpc":"2.0","id":1,"result":{own}}}"#)
        );
    }
    // One goes away; the other's request of the same id runs on.
    one.send(&text).await;
    two.send(&text).await;
    let gone = server.expect("slow").await;
    let stays = server.expect("slow").await;
    one.client.give_up(&Id::number(0), &one.outlet).await;
    let cancelled = server.expect("notifications/cancelled").await;
    let id = gone.id().unwrap().to_string();
    assert!(
        String::from_utf8_lossy(&cancelled.to_bytes()).contains(&format!("\"requestId\":{id}"))
    );
    assert_eq!(server.abandoned.recv().await.as_ref(), gone.id());
    server.answer(&gone, "3").await;
    server.answer(&stays, "4").await;
    assert!(two.next().await.contains(r#""result":4"#));
    assert!(one.is_quiet().await);
    // Nothing is asked of clients without sessions.
    server
        .say(message(r#"{"jsonrpc":"2.0","id":5,"method":"roots/list"}"#))
        .await;
    assert!(server.next().await.error().is_some());
}

fn listen(id: &str) -> String {
    request(id, "subscriptions/listen", "").replace(
        r#""params":{"#,
        r#""params":{"notifications":{"toolsListChanged":true},"#,
    )
}

fn told(method: &str, id: &str) -> Message {
    message(&format!(
        r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"notifications":{{"toolsListChanged":true}},"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
    ))
}

const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
const CHANGED: &str = "notifications/tools/list_changed";

#[tokio::test]
async fn subscriptions_are_told_under_the_clients_own_id() {
    let world = World::new(&["a"]);
    let (one, two) = (world.stateless(), world.stateless());
    one.send(&listen("\"l\"")).await;
    two.send(&listen("\"l\"")).await;
    let mut server = world.server(0).await;
    discovered(&mut server).await;
    let first = server.expect("subscriptions/listen").await;
    let second = server.expect("subscriptions/listen").await;
    for part in [&first, &second] {
        let id = part.id().unwrap().to_string();
        server.say(told(ACKNOWLEDGED, &id)).await;
    }
    let id = second.id().unwrap().to_string();
    server.say(told(CHANGED, &id)).await;
    let expected = |method| String::from_utf8(told(method, "\"l\"").to_bytes().to_vec()).unwrap();
    assert_eq!(one.next().await, expected(ACKNOWLEDGED));
    assert_eq!(two.next().await, expected(ACKNOWLEDGED));
    assert_eq!(two.next().await, expected(CHANGED));
    assert!(one.is_quiet().await);
    let id = first.id().unwrap().to_string();
    server
        .answer(
            &first,
            &format!(r#"{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}"#),
        )
        .await;
    assert_eq!(
        one.next().await,
        r#"{"jsonrpc":"2.0","id":"l","result":{"_meta":{"io.modelcontextprotocol/subscriptionId":"l"}}}"#
    );
}

#[tokio::test]
async fn call_ids_of_clients_that_share_connections_cannot_be_guessed() {
    let world = World::new(&["a"]);
    let client = world.stateless();
    let call = request("1", "tools/call", "")
        .replace(r#""params":{"#, r#""params":{"name":"one","arguments":{},"#);
    client.send(&call).await;
    let mut server = world.server(0).await;
    discovered(&mut server).await;
    let tools =
        r#"{"resultType":"complete","tools":[{"name":"one","inputSchema":{"type":"object"}}]}"#;
    // Listed again where it came before the server was known to be there.
    let mut called = server.next().await;
    while called.method() == Some("tools/list") {
        server.answer(&called, tools).await;
        called = server.next().await;
    }
    assert_eq!(called.method(), Some("tools/call"));
    let result = r#"{"resultType":"complete","content":[{"type":"text","text":"x"}]}"#;
    server.answer(&called, result).await;
    let said = client.next().await;
    let (_, id) = said.split_once("_toolCallId").unwrap();
    let id = id.trim_start_matches(|c: char| !c.is_ascii_alphanumeric());
    let id: String = id.chars().take_while(char::is_ascii_alphanumeric).collect();
    assert_eq!(id.len(), 26, "{said}");
}

#[tokio::test]
async fn a_subscription_does_not_take_what_is_said_of_a_call() {
    let world = World::new(&["a"]);
    let (one, two) = (world.stateless(), world.stateless());
    one.send(&listen("1")).await;
    let mut server = world.server(0).await;
    discovered(&mut server).await;
    server.expect("subscriptions/listen").await;
    let log = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}}"#;
    // Of nothing that runs: for nobody.
    server.say(message(log)).await;
    server
        .say(message(r#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#))
        .await;
    assert!(server.next().await.error().is_some());
    two.send(&request("1", "x", "")).await;
    let asked = server.expect("x").await;
    server.say(message(log)).await;
    assert_eq!(two.next().await, log);
    server.answer(&asked, "1").await;
    assert!(two.next().await.contains(r#""result":1"#));
    assert!(one.is_quiet().await);
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_the_end_of_a_subscription() {
    let world = World::new(&["a"]);
    let (shared, own) = (world.stateless(), world.client());
    let mut servers = Vec::new();
    for client in [&shared, &own] {
        client.send(&listen("1")).await;
        let mut server = world.server(0).await;
        discovered(&mut server).await;
        server.expect("subscriptions/listen").await;
        servers.push(server);
    }
    let since = tokio::time::Instant::now();
    world.gateway.shut_down().await;
    assert!(since.elapsed() < std::time::Duration::from_secs(1));
    for client in [&shared, &own] {
        let said = client.next().await;
        assert!(said.contains("shutting down"), "{said}");
    }
}

#[tokio::test]
async fn several_servers_acknowledge_together() {
    let world = World::new(&["a", "b"]);
    let client = world.stateless();
    let own = "12345678901234567890123";
    client.send(&listen(own)).await;
    let mut servers = Vec::new();
    for index in 0..2 {
        let mut server = world.server(index).await;
        discovered(&mut server).await;
        servers.push(server);
    }
    let first = servers[0].expect("subscriptions/listen").await;
    let id = first.id().unwrap().to_string();
    servers[0].say(told(ACKNOWLEDGED, &id)).await;
    servers[0].say(told(CHANGED, &id)).await;
    let second = servers[1].expect("subscriptions/listen").await;
    assert!(client.is_quiet().await);
    refuse(&servers[1], &second).await;
    let acknowledged = client.next().await;
    assert!(acknowledged.contains(ACKNOWLEDGED) && acknowledged.contains("toolsListChanged"));
    let own = format!(r#""_meta":{{"io.modelcontextprotocol/subscriptionId":{own}}}"#);
    assert!(acknowledged.contains(&own), "{acknowledged}");
    assert!(client.next().await.contains(CHANGED));
    client.client.give_up(&Id::number(0), &client.outlet).await;
    servers[0].expect("notifications/cancelled").await;
}

#[tokio::test(start_paused = true)]
async fn a_subscription_does_not_wait_for_a_server_that_says_nothing() {
    let world = World::new(&["a", "b"]);
    let client = world.stateless();
    client.send(&listen("7")).await;
    let mut servers = Vec::new();
    let mut ids = Vec::new();
    for index in 0..2 {
        let mut server = world.server(index).await;
        discovered(&mut server).await;
        servers.push(server);
    }
    for server in &mut servers {
        let request = server.expect("subscriptions/listen").await;
        ids.push(request.id().unwrap().to_string());
    }
    // Once is enough.
    servers[0].say(told(ACKNOWLEDGED, &ids[0])).await;
    let more = message(&format!(
        r#"{{"jsonrpc":"2.0","method":"{ACKNOWLEDGED}","params":{{"notifications":{{"more":true}},"_meta":{{"io.modelcontextprotocol/subscriptionId":{}}}}}}}"#,
        ids[0]
    ));
    servers[0].say(more).await;
    tokio::time::sleep(std::time::Duration::from_secs(11)).await;
    let acknowledged = client.next().await;
    assert!(acknowledged.contains(ACKNOWLEDGED) && acknowledged.contains("toolsListChanged"));
    assert!(!acknowledged.contains("more"), "{acknowledged}");
    // Who says it late tells all the same.
    servers[1].say(told(ACKNOWLEDGED, &ids[1])).await;
    servers[1].say(told(CHANGED, &ids[1])).await;
    assert!(client.next().await.contains(CHANGED));
    assert!(client.is_quiet().await);
}

#[tokio::test]
async fn a_server_without_sessions_is_bridged_for_a_client_that_has_one() {
    let world = World::new(&["a"]);
    for is_first in [true, false] {
        let client = world.client();
        client.send(INITIALIZE).await;
        if is_first {
            // Only for the first client this has to be found out.
            let mut server = world.server(0).await;
            let handshake = server.expect("initialize").await;
            refuse(&server, &handshake).await;
        }
        let mut server = world.server(0).await;
        discovered(&mut server).await;
        let answer = client.next().await;
        assert!(
            answer.contains(r#""protocolVersion":"2025-11-25""#),
            "{answer}"
        );
        client
            .send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
            .await;
        client
            .send(r#"{"jsonrpc":"2.0","id":1,"method":"prompts/list"}"#)
            .await;
        let list = server.expect("prompts/list").await;
        let says = crate::members::get_text(
            &list.params().unwrap(),
            &["_meta", crate::protocol::meta::PROTOCOL_VERSION],
        );
        assert_eq!(says.as_deref(), Some("2026-07-28"));
    }
}

/// A connection to a server that refused a session, and what it is asked instead.
async fn probed(world: &World) -> (Server, Message) {
    let mut server = world.server(0).await;
    let handshake = server.expect("initialize").await;
    server.refuse(&handshake, -32020).await;
    let mut server = world.server(0).await;
    let probe = server.expect("server/discover").await;
    (server, probe)
}

#[tokio::test]
async fn a_server_of_another_era_that_wants_to_know_who_asks_is_heard() {
    let world = World::new(&["a"]);
    let client = world.client();
    client.send(INITIALIZE).await;
    let (server, probe) = probed(&world).await;
    let error = UpstreamError::Refused("log in".to_owned());
    let id = probe.id().unwrap().clone();
    server
        .events
        .send(Event::Failed { id, error })
        .await
        .unwrap();
    let answer = client.next().await;
    assert!(answer.contains("log in"), "{answer}");
}

#[tokio::test]
async fn what_a_server_of_neither_era_says_first_stands() {
    for by_status in [false, true] {
        let world = World::new(&["a"]);
        let client = world.client();
        client.send(INITIALIZE).await;
        let (server, probe) = probed(&world).await;
        if by_status {
            let error = UpstreamError::Rejected("HTTP 400".to_owned());
            let id = probe.id().unwrap().clone();
            let failed = Event::Failed { id, error };
            server.events.send(failed).await.unwrap();
        } else {
            server.refuse(&probe, -32601).await;
        }
        let answer = client.next().await;
        assert!(answer.contains("-32020"), "{answer}");
    }
}

#[tokio::test]
async fn several_servers_refuse_what_sessions_had() {
    let world = World::new(&["a", "b"]);
    let client = world.client();
    client.send(&request("1", "ping", "")).await;
    let mut servers = [world.server(0).await, world.server(1).await];
    for server in &mut servers {
        discovered(server).await;
    }
    for (id, method) in [("1", "ping"), ("2", "tasks/list")] {
        if id == "2" {
            client.send(&request(id, method, "")).await;
        }
        let refused = client.next().await;
        assert!(refused.contains("-32601"), "{method}: {refused}");
        assert!(servers.iter_mut().all(Server::is_quiet));
    }
    client.send(&request("3", "server/discover", "")).await;
    let answer = client.next().await;
    let own = r#""_meta":{"io.modelcontextprotocol/serverInfo":{"name":"crossfeed""#;
    assert!(answer.contains(own), "{answer}");
}

/// A server that has sessions only.
async fn refuses_the_era(server: &mut Server) {
    let probe = server.expect("server/discover").await;
    refuse(server, &probe).await;
}

/// A client that asks for the era of a server with sessions is to begin one, as it would with the server itself.
#[tokio::test]
async fn the_stateless_era_is_offered_only_where_servers_speak_it() {
    let world = World::new(&["a"]);
    let client = world.client();
    client.send(&request("1", "server/discover", "")).await;
    let mut probed = world.server(0).await;
    refuses_the_era(&mut probed).await;
    let refused = client.next().await;
    assert!(
        refused.contains("-32022")
            && refused
                .contains(r#""supported":["2024-11-05","2025-03-26","2025-06-18","2025-11-25"]"#),
        "{refused}"
    );
    client.send(INITIALIZE).await;
    let mut server = loop {
        let mut opened = world.server(0).await;
        let Ok(Some(handshake)) = tokio::time::timeout(SOON, opened.inbox.recv()).await else {
            continue;
        };
        // Not the bridge that was being opened.
        if String::from_utf8_lossy(&handshake.to_bytes()).contains("1.50") {
            opened
                .answer(
                    &handshake,
                    r#"{"protocolVersion":"2025-11-25","capabilities":{}}"#,
                )
                .await;
            break opened;
        }
    };
    assert!(client.next().await.contains("protocolVersion"));
    client
        .send(r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#)
        .await;
    let ping = server.expect("ping").await;
    server.answer(&ping, "{}").await;
    client.next().await;
    // Nothing of the stateless era stays open.
    assert_eq!(world.gateway.health()[0].open, 1);
    // Who does not ask is served.
    let pinned = world.stateless();
    pinned.send(&request("3", "resources/read", "")).await;
    let mut server = world.server(0).await;
    server.begin("{}").await;
    // Of the bridge, then of the request that it is for.
    server.expect("notifications/initialized").await;
}

#[tokio::test]
async fn every_era_is_offered_where_the_configuration_says_so() {
    let world = World::with(&["a"], |config| config.eras = crate::config::Eras::All);
    let client = world.client();
    client.send(&request("1", "server/discover", "")).await;
    refuses_the_era(&mut world.server(0).await).await;
    // The bridge's own session, and the client's.
    let mut bridged = world.server(0).await;
    bridged.begin("{}").await;
    let mut own = world.server(0).await;
    own.begin("{}").await;
    let answer = client.next().await;
    assert!(
        answer.contains(r#""supportedVersions":["2026-07-28"]"#),
        "{answer}"
    );
}

/// One that has sessions only would lose what only sessions have.
#[tokio::test]
async fn one_server_with_sessions_only_decides_for_several() {
    let world = World::new(&["a", "b"]);
    let client = world.client();
    client.send(&request("1", "server/discover", "")).await;
    discovered(&mut world.server(0).await).await;
    refuses_the_era(&mut world.server(1).await).await;
    let refused = client.next().await;
    assert!(refused.contains("-32022"), "{refused}");
}
