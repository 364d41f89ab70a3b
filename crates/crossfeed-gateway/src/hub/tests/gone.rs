//! Servers that end and are not back at once: what they listed is listed no longer, and clients hear of it.

use super::fake::{ConnectionSet, INITIALIZE, Server, World, message};
use crate::upstream::{Event, UpstreamError};
use std::{sync::atomic::Ordering, time::Duration};

const ALL: &str = r#"{"tools":{},"prompts":{},"resources":{}}"#;

/// What a server lists, by the method that asks for it.
const LISTS: [(&str, &str, &str); 3] = [
    (
        "tools",
        "tools/list",
        r#"{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}"#,
    ),
    ("prompts", "prompts/list", r#"{"prompts":[{"name":"p"}]}"#),
    (
        "resources",
        "resources/list",
        r#"{"resources":[{"uri":"x:1"}]}"#,
    ),
];

fn changed(list: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/{list}/list_changed"}}"#)
}

/// The client asks for every list; the first of the servers has something in each, the others nothing.
async fn list_all(client: &ConnectionSet, servers: &mut [Server]) {
    for (member, method, list) in LISTS {
        client.request(method, "{}").await;
        let empty = format!(r#"{{"{member}":[]}}"#);
        let lists = [list, &empty, &empty];
        for (server, list) in servers.iter_mut().zip(lists) {
            let asked = server.expect(method).await;
            server.answer(&asked, list).await;
        }
        assert!(client.answer().await.contains(method));
    }
}

impl World {
    /// A server ends, and cannot be reached again.
    async fn end(&self, index: usize, server: Server) {
        self.fakes[index].is_down.store(true, Ordering::Relaxed);
        let reason = "killed".to_owned();
        let over = Event::Closed(UpstreamError::Ended(reason));
        server.events.send(over).await.unwrap();
        // Less than until the first attempt to reach it again.
        tokio::time::sleep(Duration::from_millis(200)).await;
    }

    async fn is_back(&self, index: usize, capabilities: &str) -> Server {
        self.fakes[index].is_down.store(false, Ordering::Relaxed);
        tokio::time::sleep(Duration::from_secs(60)).await;
        let mut server = self.server(index).await;
        server.begin(capabilities).await;
        server.expect("notifications/initialized").await;
        server
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_hears_once_that_what_a_server_had_is_gone() {
    let world = World::new(&["a", "b"]);
    let (client, mut servers) = world.begun(ALL).await;
    list_all(&client, &mut servers).await;
    world.end(0, servers.remove(0)).await;
    // It may be back at once.
    assert!(client.is_quiet().await);
    for (list, ..) in LISTS {
        assert_eq!(client.next().await, changed(list));
    }
    // Not again at each attempt.
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert!(client.is_quiet().await);
    let a = world.is_back(0, ALL).await;
    for (list, ..) in LISTS {
        assert_eq!(client.next().await, changed(list));
    }
    // What is gone again is said again.
    world.end(0, a).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    for (list, ..) in LISTS {
        assert_eq!(client.next().await, changed(list));
    }
    // What had nothing in any list is not missed.
    world.end(1, servers.remove(0)).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(client.is_quiet().await);
}

#[tokio::test(start_paused = true)]
async fn a_client_hears_nothing_of_lists_that_it_does_not_know() {
    let world = World::new(&["a", "b"]);
    // It never asked.
    let (client, mut servers) = world.begun(ALL).await;
    world.end(0, servers.remove(0)).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(client.is_quiet().await);
    // It asked again meanwhile.
    let world = World::new(&["a", "b"]);
    let (client, mut servers) = world.begun(r#"{"tools":{},"prompts":{}}"#).await;
    for (member, method, list) in &LISTS[..2] {
        client.request(method, "{}").await;
        for (server, list) in servers
            .iter_mut()
            .zip([*list, &format!(r#"{{"{member}":[]}}"#)])
        {
            let asked = server.expect(method).await;
            server.answer(&asked, list).await;
        }
        client.answer().await;
    }
    world.end(0, servers.remove(0)).await;
    client.request("tools/list", "{}").await;
    let asked = servers[0].expect("tools/list").await;
    servers[0].answer(&asked, r#"{"tools":[]}"#).await;
    assert!(!client.answer().await.contains("a__t"));
    assert_eq!(client.next().await, changed("prompts"));
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(client.is_quiet().await);
}

/// With one server there is no other list: a request for it fails.
#[tokio::test(start_paused = true)]
async fn of_the_only_server_no_list_changes() {
    let world = World::new(&["a"]);
    let (client, mut servers) = world.begun(ALL).await;
    list_all(&client, &mut servers).await;
    world.end(0, servers.remove(0)).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(client.is_quiet().await);
    client.request("tools/list", "{}").await;
    assert!(client.next().await.contains("upstream.unavailable"));
}

/// A client without sessions hears what it listens to.
#[tokio::test(start_paused = true)]
async fn a_client_without_sessions_hears_what_it_listens_to() {
    let world = World::new(&["a", "b"]);
    let client = world.stateless();
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let listen = format!(r#"{{"notifications":{{"toolsListChanged":true}},{meta}}}"#);
    client.request("subscriptions/listen", &listen).await;
    let mut servers = Vec::new();
    for index in 0..2 {
        let mut server = world.server(index).await;
        let probe = server.expect("server/discover").await;
        server
            .answer(
                &probe,
                &format!(r#"{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{ALL},"serverInfo":{{"name":"s","version":"1"}},"ttlMs":0,"cacheScope":"private"}}"#),
            )
            .await;
        servers.push(server);
    }
    for server in &mut servers {
        let asked = server.expect("subscriptions/listen").await;
        let id = asked.id().unwrap();
        server
            .say(message(&format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"notifications":{{"toolsListChanged":true}},"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
            )))
            .await;
    }
    assert!(client.next().await.contains("acknowledged"));
    for (member, method, list) in &LISTS[..2] {
        client.request(method, &format!("{{{meta}}}")).await;
        for (server, list) in servers
            .iter_mut()
            .zip([*list, &format!(r#"{{"{member}":[]}}"#)])
        {
            let asked = server.expect(method).await;
            server.answer(&asked, list).await;
        }
        client.answer().await;
    }
    world.end(0, servers.remove(0)).await;
    assert!(client.is_quiet().await);
    assert_eq!(
        client.next().await,
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"subscriptions/listen"}}}"#
    );
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert!(client.is_quiet().await);
}

/// A server behind a bridge that forgot its session is asked to tell again.
#[tokio::test(start_paused = true)]
async fn a_subscription_outlives_the_session_behind_a_bridge() {
    let world = World::new(&["a", "b"]);
    let client = world.stateless();
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let listen = format!(r#"{{"notifications":{{"toolsListChanged":true}},{meta}}}"#);
    client.request("subscriptions/listen", &listen).await;
    let mut servers = Vec::new();
    for index in 0..2 {
        let mut server = world.server(index).await;
        let probe = server.expect("server/discover").await;
        server
            .answer(
                &probe,
                &format!(r#"{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{ALL},"serverInfo":{{"name":"s","version":"1"}},"ttlMs":0,"cacheScope":"private"}}"#),
            )
            .await;
        servers.push(server);
    }
    let mut ids = Vec::new();
    for server in &mut servers {
        let asked = server.expect("subscriptions/listen").await;
        let id = asked.id().unwrap();
        server
            .say(message(&format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"notifications":{{"toolsListChanged":true}},"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}}}}}"#
            )))
            .await;
        ids.push(id.clone());
    }
    assert!(client.next().await.contains("acknowledged"));
    let failed = Event::Failed {
        id: ids.remove(0),
        error: UpstreamError::SessionOver.after_sending(),
    };
    servers[0].events.send(failed).await.unwrap();
    servers[0].expect("subscriptions/listen").await;
    assert!(
        client
            .next()
            .await
            .contains("notifications/tools/list_changed")
    );
}

/// Also in a session that began without it, and in one that has listed since.
#[tokio::test(start_paused = true)]
async fn a_tool_of_a_server_that_is_gone_is_not_unknown() {
    for has_rules in [false, true] {
        let world = World::with(&["a", "b"], |config| {
            if has_rules {
                config.servers[0].deny = vec!["x*".to_owned()];
            }
        });
        let (client, mut servers) = world.begun(ALL).await;
        list_all(&client, &mut servers).await;
        world.end(0, servers.remove(0)).await;
        for (list, ..) in LISTS {
            assert_eq!(client.next().await, changed(list));
        }
        let call = r#"{"name":"a__t","arguments":{}}"#;
        let empty = r#"{"tools":[]}"#;
        client.request("tools/list", "{}").await;
        let asked = servers[0].expect("tools/list").await;
        servers[0].answer(&asked, empty).await;
        assert!(!client.next().await.contains("a__t"));
        client.request("tools/call", call).await;
        let failed = client.next().await;
        assert!(failed.contains("upstream.unavailable"), "{failed}");
        let late = world.client();
        late.send(INITIALIZE).await;
        let mut b = world.server(1).await;
        b.begin(ALL).await;
        assert!(late.next().await.contains("protocolVersion"));
        for is_listed in [false, true] {
            if is_listed {
                late.request("tools/list", "{}").await;
            } else {
                late.request("tools/call", call).await;
            }
            let asked = b.expect("tools/list").await;
            b.answer(&asked, empty).await;
            if is_listed {
                late.next().await;
                late.request("tools/call", call).await;
            }
            let failed = late.next().await;
            assert!(
                failed.contains(r#""isError":true"#) && failed.contains("upstream.unavailable"),
                "{failed}"
            );
        }
    }
}
