//! What passes is counted, by names of the configuration only.

use super::fake::{ConnectionSet, Server, World, message};
use crate::{
    metrics::families,
    upstream::{Event, UpstreamError},
};
use std::{collections::BTreeSet, time::Duration};

const TOOLS: &str = r#"{"tools":{}}"#;

fn text(world: &World) -> String {
    world.gateway.metrics.metrics.text()
}

fn check(world: &World, sample: &str, expected: usize) {
    let text = text(world);
    let mut lines = text.lines();
    let found = lines.find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
    assert_eq!(
        found,
        Some(expected.to_string().as_str()),
        "{sample}\n{text}"
    );
}

/// Calls the tool; gives the server's answer to it, and what the client sees.
async fn call(
    client: &ConnectionSet,
    server: &mut Server,
    arguments: &str,
    result: &str,
) -> String {
    let request = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"one","arguments":{arguments}}}}}"#
    );
    client.send(&request).await;
    let request = server.expect("tools/call").await;
    server.answer(&request, result).await;
    client.next().await
}

fn families_of(text: &str) -> BTreeSet<&str> {
    let types = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    types.collect()
}

#[tokio::test(start_paused = true)]
async fn what_passes_is_counted() {
    let world = World::with(&["a"], |config| {
        config.servers[0].timeout = Some(Duration::from_secs(30));
    });
    let (client, mut servers) = world.begun(TOOLS).await;
    let mut server = servers.remove(0);
    let all: BTreeSet<_> = families::ALL.iter().map(|family| family.name).collect();
    assert_eq!(families_of(&text(&world)), all);
    client
        .send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#)
        .await;
    let list = server.expect("tools/list").await;
    let tools = r#"{"tools":[{"name":"one","inputSchema":{"type":"object","properties":{"q":{"type":"string"}}}}]}"#;
    server.answer(&list, tools).await;
    client.next().await;

    let items = vec![r#"{\"url\":\"some address\"}"#; 1000].join(",");
    let large = format!(r#"{{"content":[{{"type":"text","text":"{{\"items\":[{items}]}}"}}]}}"#);
    let shown = call(&client, &mut server, "{}", &large).await;
    assert!(shown.len() < large.len(), "{shown}");
    let refers = r#"{"q":null,"_refs":{"q":{"_tool":"call_1","_select":"items[0].url"}}}"#;
    call(&client, &mut server, refers, r#"{"content":[]}"#).await;
    call(
        &client,
        &mut server,
        "{}",
        r#"{"content":[],"isError":true}"#,
    )
    .await;
    let unknown = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one","arguments":{"q":null,"_refs":{"q":{"_tool":"call_9"}}}}}"#;
    client.send(unknown).await;
    assert!(client.next().await.contains("result.unknown"));
    let plain = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"one"}}"#;
    client.send(plain).await;
    let request = server.expect("tools/call").await;
    let id = request.id().unwrap();
    let error = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-1,"message":"m"}}}}"#);
    server.say(message(&error)).await;
    client.next().await;

    // One is cancelled, one takes too long, one is there when the server ends, one comes behind that.
    let slow = r#"{"jsonrpc":"2.0","id":7,"method":"a-name-of-the-client"}"#;
    client.send(slow).await;
    server.expect("a-name-of-the-client").await;
    client
        .send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#)
        .await;
    server.expect("notifications/cancelled").await;
    client.send(slow).await;
    server.expect("a-name-of-the-client").await;
    tokio::time::advance(Duration::from_secs(31)).await;
    client.next().await;
    server.expect("notifications/cancelled").await;
    client.send(slow).await;
    server.expect("a-name-of-the-client").await;
    let over = UpstreamError::Ended("over".to_owned());
    server.events.send(Event::Closed(over)).await.unwrap();
    client.next().await;
    client.send(slow).await;
    client.next().await;
    let mut server = world.server(0).await;
    server.begin(TOOLS).await;
    server.expect("notifications/initialized").await;

    for (method, outcome, expected) in [
        ("tools/call", "result", 3),
        ("tools/call", "error", 1),
        ("tools/call", "cancelled", 0),
        ("tools/list", "result", 1),
        ("other", "cancelled", 1),
        ("other", "timeout", 1),
        ("other", "unavailable", 1),
        ("other", "unknown", 1),
    ] {
        let sample = format!(
            r#"crossfeed_requests_total{{server="a",method="{method}",outcome="{outcome}"}}"#
        );
        check(&world, &sample, expected);
    }
    check(
        &world,
        r#"crossfeed_tool_call_duration_seconds_count{server="a"}"#,
        4,
    );
    check(
        &world,
        r#"crossfeed_added_seconds_count{stage="before"}"#,
        4,
    );
    check(&world, r#"crossfeed_added_seconds_count{stage="after"}"#, 3);
    check(
        &world,
        r#"crossfeed_references_resolved_total{server="a"}"#,
        1,
    );
    check(
        &world,
        r#"crossfeed_references_refused_total{code="result.unknown"}"#,
        1,
    );
    for (outcome, expected) in [("recorded", 2), ("failed", 1), ("refused", 0)] {
        let sample = format!(r#"crossfeed_results_total{{server="a",outcome="{outcome}"}}"#);
        check(&world, &sample, expected);
    }
    check(&world, r#"crossfeed_previews_total{server="a"}"#, 1);
    check(&world, r#"crossfeed_server_restarts_total{server="a"}"#, 1);
    check(&world, r#"crossfeed_server_failures_total{server="a"}"#, 1);
    let text = text(&world);
    assert_eq!(families_of(&text), all);
    let received = text
        .lines()
        .find_map(|line| {
            line.strip_prefix(r#"crossfeed_message_bytes_total{server="a",direction="received"} "#)
        })
        .unwrap();
    assert!(received.parse::<usize>().unwrap() > large.len());
    assert!(!text.contains("a-name-of-the-client"));
}
