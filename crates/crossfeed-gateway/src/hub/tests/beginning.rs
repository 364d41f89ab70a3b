//! How sessions begin, fail to, and end.

use super::fake::{INITIALIZE, World, message};
use std::time::Duration;

const ALL: &str = r#"{"tools":{},"resources":{"subscribe":true}}"#;

#[tokio::test(start_paused = true)]
async fn one_session_begins_at_a_time_and_ends_with_its_client() {
    let world = World::new(&["a"]);
    let client = world.client();
    for id in 1..=3 {
        client
            .send(&INITIALIZE.replace("\"init\"", &id.to_string()))
            .await;
    }
    client
        .send(r#"{"jsonrpc":"2.0","id":4,"method":"m"}"#)
        .await;
    // Neither era takes the first.
    for _ in 0..2 {
        let mut server = world.server(0).await;
        let handshake = server.next().await;
        server.refuse(&handshake, -32602).await;
    }
    let refused = client.next().await;
    assert!(
        refused.contains(r#""id":1"#) && refused.contains("-32602"),
        "{refused}"
    );
    let mut server = world.server(0).await;
    server.begin(ALL).await;
    let begun = client.next().await;
    assert!(begun.contains(r#""id":2"#) && begun.contains("protocolVersion"));
    let refused = client.next().await;
    assert!(
        refused.contains(r#""id":3"#) && refused.contains("is initialized"),
        "{refused}"
    );
    server.expect("m").await;
    assert!(world.try_server(0).await.is_none(), "two sessions began");
    client.client.close().await;
    drop(client);
    tokio::time::sleep(Duration::from_secs(3600)).await;
    while server.inbox.try_recv().is_ok() {}
    assert_eq!(server.inbox.sender_strong_count(), 0);
    assert!(world.try_server(0).await.is_none(), "it is started again");
}

#[tokio::test(start_paused = true)]
async fn what_one_client_says_wrongly_does_not_decide_the_era_for_all() {
    let world = World::new(&["a"]);
    let discover = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"serverInfo":{"name":"s","version":"1"}}"#;
    // Of both eras, and unknown yet: the session begins, but nothing is learnt.
    let client = world.client();
    client.send(INITIALIZE).await;
    let mut server = world.server(0).await;
    let handshake = server.expect("initialize").await;
    server.refuse(&handshake, -32602).await;
    let mut server = world.server(0).await;
    let probe = server.expect("server/discover").await;
    server.answer(&probe, discover).await;
    assert!(client.next().await.contains("protocolVersion"));
    // The next is asked in its own era, which is known from then on.
    let (_second, _servers) = world.begun(ALL).await;
    let third = world.client();
    third.send(INITIALIZE).await;
    let mut server = world.server(0).await;
    let handshake = server.expect("initialize").await;
    server.refuse(&handshake, -32602).await;
    assert!(third.next().await.contains("-32602"));
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(world.try_server(0).await.is_none(), "another era was tried");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_a_revision_that_it_lists_is_asked_again() {
    let world = World::new(&["a"]);
    let client = world.client();
    client
        .send(r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#)
        .await;
    let mut server = world.server(0).await;
    let probe = server.expect("server/discover").await;
    let id = probe.id().unwrap();
    server
        .say(message(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32022,"message":"no","data":{{"supported":["2026-07-28"],"requested":"x"}}}}}}"#
        )))
        .await;
    let probe = server.expect("server/discover").await;
    server.answer(&probe, r#"{"capabilities":{}}"#).await;
    server.expect("m").await;
}

#[tokio::test(start_paused = true)]
async fn what_a_server_asks_before_it_is_there_is_answered_for_the_client() {
    let world = World::new(&["a"]);
    let client = world.client();
    client.send(INITIALIZE).await;
    let mut server = world.server(0).await;
    let handshake = server.expect("initialize").await;
    // Also under the id that the gateway uses itself.
    for (id, method) in [(0, "ping"), (7, "roots/list")] {
        server
            .say(message(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#
            )))
            .await;
    }
    let pong = server.next().await.to_bytes();
    assert_eq!(pong, &br#"{"jsonrpc":"2.0","id":0,"result":{}}"#[..]);
    assert!(server.next().await.error().is_some());
    assert!(client.is_quiet().await);
    server.answer(&handshake, r#"{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}"#).await;
    assert!(client.next().await.contains("protocolVersion"));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_at_its_start_is_tried_at_growing_distances() {
    let world = World::new(&["a", "b"]);
    let client = world.client();
    client.send(INITIALIZE).await;
    let mut starts = Vec::new();
    while starts.len() < 9 {
        if let Some(server) = world.try_server(0).await {
            starts.push((tokio::time::Instant::now(), server));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let last = starts[8].0 - starts[7].0;
    // A minute for the attempt, and at least half of one between.
    assert!(last > Duration::from_secs(90), "{last:?}");
}

#[tokio::test(start_paused = true)]
async fn every_request_is_answered_when_the_gateway_ends() {
    for is_begun in [true, false] {
        let world = World::new(&["a"]);
        let (client, servers) = if is_begun {
            world.begun(ALL).await
        } else {
            let client = world.client();
            client.send(INITIALIZE).await;
            (client, vec![world.server(0).await])
        };
        for id in 1..=2 {
            client
                .send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#))
                .await;
        }
        world.gateway.shut_down().await;
        drop(servers);
        let mut answers = Vec::new();
        for _ in 0..if is_begun { 2 } else { 3 } {
            let answer = client.next().await;
            // What the server was given may have run.
            let says = if is_begun {
                "the gateway closes the connection"
            } else {
                "shutting down"
            };
            assert!(answer.contains(says), "{answer}");
            answers.push(answer);
        }
        for id in 1..=2 {
            let id = format!(r#""id":{id},"#);
            let of = answers.iter().filter(|answer| answer.contains(&id));
            assert_eq!(of.count(), 1, "{answers:?}");
        }
        assert!(client.is_quiet().await);
    }
}

#[tokio::test(start_paused = true)]
async fn what_waited_for_a_session_is_refused_when_the_gateway_ends_meanwhile() {
    let world = World::new(&["a"]);
    let client = world.client();
    client.send(INITIALIZE).await;
    let mut server = world.server(0).await;
    client
        .send(r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#)
        .await;
    let gateway = std::sync::Arc::clone(&world.gateway);
    let ends = tokio::spawn(async move { gateway.shut_down().await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    server.begin(ALL).await;
    assert!(client.next().await.contains("protocolVersion"));
    let refused = client.next().await;
    assert!(
        refused.contains(r#""id":1"#) && refused.contains("shutting down"),
        "{refused}"
    );
    ends.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_request_takes_no_longer_than_it_may_while_its_server_starts() {
    let world = World::with(&["a"], |config| {
        config.servers[0].timeout = Some(Duration::from_secs(3));
    });
    let client = world.client();
    client
        .send(r#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#)
        .await;
    let _silent = world.server(0).await;
    let answer = client.next().await;
    assert!(answer.contains("did not answer within 3 s"), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn an_id_that_is_too_long_to_be_kept_is_refused() {
    let world = World::new(&["a"]);
    let (client, mut servers) = world.begun(ALL).await;
    let id = "x".repeat(5000);
    client
        .send(&format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"m"}}"#))
        .await;
    let refused = client.next().await;
    assert!(refused.contains("-32600") && refused.contains(&id));
    assert!(servers[0].is_quiet());
    servers[0]
        .say(message(&format!(
            r#"{{"jsonrpc":"2.0","id":"{id}","method":"roots/list"}}"#
        )))
        .await;
    assert!(servers[0].next().await.error().is_some());
    assert!(client.is_quiet().await);
}

#[tokio::test]
async fn what_is_kept_of_a_client_is_small() {
    let world = World::new(&["a"]);
    let client = world.client();
    let name = "x".repeat(300_000);
    client
        .send(&INITIALIZE.replace(r#""test""#, &format!("{name:?}")))
        .await;
    let refused = client.next().await;
    assert!(
        refused.contains("-32600") && refused.contains("262144"),
        "{refused}"
    );
    client.send(INITIALIZE).await;
    let mut server = world.server(0).await;
    server.begin(ALL).await;
    assert!(client.next().await.contains("protocolVersion"));
    let initialized = format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/initialized","params":{{"_meta":{{"a":"{name}"}}}}}}"#
    );
    client.send(&initialized).await;
    let said = server.expect("notifications/initialized").await;
    assert_eq!(said.params(), None);
}

#[tokio::test]
async fn what_waits_for_a_session_is_bounded_by_its_bytes() {
    let world = World::new(&["a"]);
    let client = world.client();
    client.send(INITIALIZE).await;
    for id in [1, 2] {
        let large = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"m","params":{{"a":"{}"}}}}"#,
            "x".repeat(10 << 20)
        );
        client.send(&large).await;
    }
    let refused = client.next().await;
    assert!(
        refused.contains(r#""id":2"#) && refused.contains("too many requests"),
        "{refused}"
    );
    let mut server = world.server(0).await;
    server.begin(ALL).await;
    assert_eq!(server.expect("m").await.len() >> 20, 10);
}

/// What a client is told at the beginning by servers with these capabilities: by `initialize`, and, of servers
/// without sessions, by `server/discover`.
async fn beginnings(capabilities: &[&str], never_chain: &[&str]) -> [serde_json::Value; 2] {
    let names = &["a", "b"][..capabilities.len()];
    let world = || {
        World::with(names, |config| {
            for (server, pattern) in config.servers.iter_mut().zip(never_chain) {
                server.never_chain = vec![(*pattern).to_owned()];
            }
        })
    };
    let session = world();
    let client = session.client();
    client.send(INITIALIZE).await;
    let mut servers = Vec::new();
    for (index, capabilities) in capabilities.iter().enumerate() {
        let mut server = session.server(index).await;
        server.begin(capabilities).await;
        servers.push(server);
    }
    let begun = client.next().await;
    let stateless = world();
    let client = stateless.stateless();
    let meta = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}"#;
    client.request("server/discover", meta).await;
    for (index, capabilities) in capabilities.iter().enumerate() {
        let mut server = stateless.server(index).await;
        let about = format!(
            r#"{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{capabilities},"serverInfo":{{"name":"s","version":"1"}}}}"#
        );
        let probe = server.expect("server/discover").await;
        server.answer(&probe, &about).await;
        // What a client asks of the only server, the server is asked.
        if names.len() == 1 {
            let asked = server.expect("server/discover").await;
            server.answer(&asked, &about).await;
        }
        servers.push(server);
    }
    let discovered = client.next().await;
    [begun, discovered].map(|answer| {
        let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
        assert!(answer["result"].is_object(), "{answer}");
        answer["result"].clone()
    })
}

#[tokio::test(start_paused = true)]
async fn references_are_explained_only_where_a_tool_takes_them() {
    const TOOLS: &str = r#"{"tools":{}}"#;
    const NONE: &str = r#"{"resources":{}}"#;
    for (capabilities, never_chain, has_tools, has_guidance) in [
        (&[TOOLS][..], &[][..], true, true),
        (&[TOOLS], &["*"], true, false),
        (&[NONE], &[], false, false),
        (&[TOOLS, TOOLS], &[], true, true),
        (&[TOOLS, TOOLS], &["*"], true, true),
        (&[TOOLS, NONE], &["x*", "*"], true, true),
        (&[TOOLS, TOOLS], &["*", "*"], true, false),
        (&[NONE, NONE], &[], false, false),
    ] {
        for result in beginnings(capabilities, never_chain).await {
            let case = format!("{capabilities:?} {never_chain:?} {result}");
            let listed = result["capabilities"].get("tools");
            assert_eq!(listed.is_some(), has_tools, "{case}");
            let said = result["instructions"].as_str().unwrap_or_default();
            assert_eq!(said.contains("_refs"), has_guidance, "{case}");
            // The servers say nothing.
            assert_eq!(result.get("instructions").is_some(), has_guidance, "{case}");
        }
    }
}
