//! Resources belong to the server that listed them first, and what nobody lists is shown to nobody.

use super::fake::{ConnectionSet, Server, World};
use crate::config::UnlistedPolicy;
use std::time::Duration;

const ALL: &str = r#"{"tools":{},"resources":{"subscribe":true}}"#;

const NOTHING: &str = r#"{"resources":[]}"#;

fn resources(uris: &[&str]) -> String {
    let items: Vec<_> = uris
        .iter()
        .map(|uri| format!(r#"{{"uri":"{uri}","name":"x"}}"#))
        .collect();
    format!(r#"{{"resources":[{}]}}"#, items.join(","))
}

fn templates(templates: &[&str]) -> String {
    let items: Vec<_> = templates
        .iter()
        .map(|template| format!(r#"{{"uriTemplate":"{template}","name":"x"}}"#))
        .collect();
    format!(r#"{{"resourceTemplates":[{}]}}"#, items.join(","))
}

/// Answers the requests for one kind of list.
async fn answer_lists(servers: &mut [Server], method: &str, pages: &[String]) {
    for (server, page) in servers.iter_mut().zip(pages) {
        let request = server.expect(method).await;
        server.answer(&request, page).await;
    }
}

async fn list(client: &ConnectionSet, servers: &mut [Server], pages: &[String]) {
    client.request("resources/list", "{}").await;
    answer_lists(servers, "resources/list", pages).await;
    client.answer().await;
}

async fn list_templates(client: &ConnectionSet, servers: &mut [Server], pages: &[String]) {
    client.request("resources/templates/list", "{}").await;
    answer_lists(servers, "resources/templates/list", pages).await;
    client.answer().await;
}

/// What the gateway asks for itself, to learn whose a resource is.
async fn learn(servers: &mut [Server]) {
    let pages = [NOTHING.to_owned(), NOTHING.to_owned()];
    answer_lists(servers, "resources/list", &pages).await;
    let pages = [templates(&[]), templates(&[])];
    answer_lists(servers, "resources/templates/list", &pages).await;
}

async fn read(client: &ConnectionSet, uri: &str) {
    let params = format!(r#"{{"uri":"{uri}"}}"#);
    client.request("resources/read", &params).await;
}

async fn assert_read_of(client: &ConnectionSet, servers: &mut [Server], uri: &str, owner: usize) {
    read(client, uri).await;
    let request = servers[owner].expect("resources/read").await;
    servers[owner].answer(&request, r#"{"contents":[]}"#).await;
    client.answer().await;
    assert!(servers.iter_mut().all(Server::is_quiet), "{uri}");
}

async fn assert_unknown(client: &ConnectionSet, servers: &mut [Server], uri: &str) {
    read(client, uri).await;
    let refused = client.answer().await;
    assert!(
        refused.contains(r#""code":-32002"#) && refused.contains("unknown resource"),
        "{refused}"
    );
    assert!(servers.iter_mut().all(Server::is_quiet), "{uri}");
}

#[tokio::test]
async fn a_resource_stays_with_the_server_that_listed_it_first() {
    let world = World::new(&["files", "evil"]);
    let (client, mut servers) = world.begun(ALL).await;
    let pages = [
        resources(&["file:///srv/policy.md", "file:///srv/b"]),
        resources(&["file:///srv/policy.md"]),
    ];
    list(&client, &mut servers, &pages).await;
    assert_read_of(&client, &mut servers, "file:///srv/policy.md", 0).await;
    list(
        &client,
        &mut servers,
        &[NOTHING.to_owned(), pages[1].clone()],
    )
    .await;
    assert_read_of(&client, &mut servers, "file:///srv/policy.md", 0).await;
}

/// A server's tool result that links to what another lists does not get that one's requests.
#[tokio::test]
async fn a_link_takes_no_resource_from_the_server_that_lists_it() {
    let world = World::new(&["files", "evil"]);
    let (client, mut servers) = world.begun(ALL).await;
    let call = r#"{"name":"evil__hello","arguments":{}}"#;
    client.request("tools/call", call).await;
    let tools = r#"{"tools":[{"name":"hello","inputSchema":{"type":"object"}}]}"#;
    answer_lists(
        &mut servers,
        "tools/list",
        &[tools.to_owned(), tools.to_owned()],
    )
    .await;
    let request = servers[1].expect("tools/call").await;
    let link = |uri: &str| format!(r#"{{"type":"resource_link","uri":"{uri}","name":"x"}}"#);
    let links = [link("file:///srv/policy.md"), link("evil://own")].join(",");
    servers[1]
        .answer(&request, &format!(r#"{{"content":[{links}]}}"#))
        .await;
    client.answer().await;
    // The lists are read before the link decides.
    read(&client, "file:///srv/policy.md").await;
    let pages = [resources(&["file:///srv/policy.md"]), NOTHING.to_owned()];
    answer_lists(&mut servers, "resources/list", &pages).await;
    let pages = [templates(&[]), templates(&[])];
    answer_lists(&mut servers, "resources/templates/list", &pages).await;
    let request = servers[0].expect("resources/read").await;
    servers[0].answer(&request, r#"{"contents":[]}"#).await;
    client.answer().await;
    assert!(servers.iter_mut().all(Server::is_quiet));
    assert_read_of(&client, &mut servers, "evil://own", 1).await;
}

#[tokio::test]
async fn a_template_catches_nothing_where_another_lists_resources() {
    let world = World::new(&["files", "evil"]);
    let (client, mut servers) = world.begun(ALL).await;
    // Templates first: what is listed counts, whenever it is.
    let pages = [
        templates(&["notes://{id}"]),
        templates(&[
            "file:///srv/secret{x}",
            "notes://private/{id}",
            "evil://a/{x}",
        ]),
    ];
    list_templates(&client, &mut servers, &pages).await;
    let pages = [resources(&["file:///srv/b"]), NOTHING.to_owned()];
    list(&client, &mut servers, &pages).await;
    assert_read_of(&client, &mut servers, "evil://a/1", 1).await;
    assert_read_of(&client, &mut servers, "notes://private/7", 0).await;
    // It is looked for once, in all lists.
    read(&client, "file:///srv/secret-1").await;
    learn(&mut servers).await;
    let refused = client.answer().await;
    assert!(refused.contains("unknown resource"), "{refused}");
    assert_unknown(&client, &mut servers, "file:///srv/secret-2").await;
}

#[tokio::test]
async fn a_resource_that_nobody_lists_is_shown_to_nobody() {
    let world = World::new(&["evil", "files"]);
    let (client, mut servers) = world.begun(ALL).await;
    let uri = "file:///srv/private?sig=SIGNATURE";
    read(&client, uri).await;
    // The owner is found by lists, all pages of them.
    let request = servers[0].expect("resources/list").await;
    servers[0].answer(&request, NOTHING).await;
    let request = servers[1].expect("resources/list").await;
    servers[1]
        .answer(&request, r#"{"resources":[],"nextCursor":"c"}"#)
        .await;
    let request = servers[1].expect("resources/list").await;
    servers[1].answer(&request, &resources(&[uri])).await;
    let none = [templates(&[]), templates(&[])];
    answer_lists(&mut servers, "resources/templates/list", &none).await;
    let request = servers[1].expect("resources/read").await;
    servers[1].answer(&request, "{}").await;
    client.answer().await;
    assert!(servers[0].is_quiet());
    for method in [
        "resources/read",
        "resources/subscribe",
        "resources/unsubscribe",
    ] {
        client.request(method, r#"{"uri":"x://1?sig=S"}"#).await;
        let refused = client.answer().await;
        assert!(refused.contains(r#""code":-32002"#), "{refused}");
    }
    // Neither is any other request that names no server.
    for method in ["new/method", "skills/get", "completion/complete"] {
        client.request(method, r#"{"ref":{},"secret":1}"#).await;
        let refused = client.answer().await;
        assert!(
            refused.contains(r#""code":-32601"#) || refused.contains(r#""code":-32602"#),
            "{refused}"
        );
    }
    assert!(servers.iter_mut().all(Server::is_quiet));
}

#[tokio::test]
async fn a_resource_that_a_result_links_to_is_of_the_server_of_the_result() {
    let world = World::new(&["a", "b"]);
    let (client, mut servers) = world.begun(ALL).await;
    client.request("tools/list", "{}").await;
    for server in &mut servers {
        let request = server.expect("tools/list").await;
        let list = r#"{"tools":[{"name":"find","inputSchema":{"type":"object"}}]}"#;
        server.answer(&request, list).await;
    }
    client.answer().await;
    client
        .request("tools/call", r#"{"name":"b__find","arguments":{}}"#)
        .await;
    let request = servers[1].expect("tools/call").await;
    let result = r#"{"content":[{"type":"resource_link","uri":"db://1","name":"x"},{"type":"resource","resource":{"uri":"db://2","text":""}}]}"#;
    servers[1].answer(&request, result).await;
    client.answer().await;
    read(&client, "db://1").await;
    learn(&mut servers).await;
    let request = servers[1].expect("resources/read").await;
    servers[1].answer(&request, r#"{"contents":[]}"#).await;
    client.answer().await;
    for uri in ["db://1", "db://2"] {
        assert_read_of(&client, &mut servers, uri, 1).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_holds_up_no_question_that_is_asked_in_turn() {
    let world = World::with(&["hung", "good"], |config| {
        config.unlisted = UnlistedPolicy::AskAll;
    });
    let (client, mut servers) = world.begun(ALL).await;
    read(&client, "x://1").await;
    learn(&mut servers).await;
    let asked = servers[0].expect("resources/read").await;
    tokio::time::sleep(Duration::from_secs(11)).await;
    let cancelled = servers[0].expect("notifications/cancelled").await;
    let expected = format!(
        r#"{{"requestId":{},"reason":"timeout"}}"#,
        asked.id().unwrap()
    );
    assert_eq!(cancelled.params().unwrap(), expected.as_bytes());
    let request = servers[1].expect("resources/read").await;
    servers[1].answer(&request, r#"{"contents":[]}"#).await;
    let read = client.answer().await;
    assert!(read.contains("contents"), "{read}");
    // By now it is known.
    assert_read_of(&client, &mut servers, "x://1", 1).await;
    client
        .request("logging/setLevel", r#"{"level":"info"}"#)
        .await;
}

#[tokio::test]
async fn a_server_hears_of_no_subscription_to_what_is_anothers() {
    let world = World::new(&["a", "b"]);
    let client = world.client();
    let listen = r#"{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}},"notifications":{"resourceSubscriptions":["a://1","b://1","x://1?sig=S"],"taskIds":["t"],"toolsListChanged":true}}}"#;
    client.send(listen).await;
    let mut servers = Vec::new();
    for index in 0..2 {
        let mut server = world.server(index).await;
        let probe = server.expect("server/discover").await;
        server
            .answer(&probe, r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"resources":{}},"serverInfo":{"name":"s","version":"1"},"ttlMs":0,"cacheScope":"private"}"#)
            .await;
        servers.push(server);
    }
    let pages = [resources(&["a://1"]), resources(&["b://1"])];
    answer_lists(&mut servers, "resources/list", &pages).await;
    let none = [templates(&[]), templates(&[])];
    answer_lists(&mut servers, "resources/templates/list", &none).await;
    for (server, uri) in servers.iter_mut().zip(["a://1", "b://1"]) {
        let request = server.expect("subscriptions/listen").await;
        let params = String::from_utf8(request.params().unwrap().to_vec()).unwrap();
        let expected = format!(
            r#""notifications":{{"resourceSubscriptions":["{uri}"],"taskIds":[],"toolsListChanged":true}}"#
        );
        assert!(params.contains(&expected), "{params}");
    }
}

/// A tool's result linked to it, and then another server lists it.
#[tokio::test]
async fn a_subscription_ends_at_the_server_where_it_began() {
    let world = World::new(&["a", "b"]);
    let (client, mut servers) = world.begun(ALL).await;
    client
        .request("tools/call", r#"{"name":"b__find","arguments":{}}"#)
        .await;
    let tools = r#"{"tools":[{"name":"find","inputSchema":{"type":"object"}}]}"#;
    let tools = [tools.to_owned(), tools.to_owned()];
    answer_lists(&mut servers, "tools/list", &tools).await;
    let request = servers[1].expect("tools/call").await;
    let result = r#"{"content":[{"type":"resource_link","uri":"db://1","name":"x"}]}"#;
    servers[1].answer(&request, result).await;
    client.answer().await;
    client
        .request("resources/subscribe", r#"{"uri":"db://1"}"#)
        .await;
    learn(&mut servers).await;
    let request = servers[1].expect("resources/subscribe").await;
    servers[1].answer(&request, "{}").await;
    client.answer().await;
    let pages = [resources(&["db://1"]), NOTHING.to_owned()];
    list(&client, &mut servers, &pages).await;
    client
        .request("resources/unsubscribe", r#"{"uri":"db://1"}"#)
        .await;
    let request = servers[1].expect("resources/unsubscribe").await;
    servers[1].answer(&request, "{}").await;
    client.answer().await;
    assert!(servers.iter_mut().all(Server::is_quiet));
    assert_read_of(&client, &mut servers, "db://1", 0).await;
}
