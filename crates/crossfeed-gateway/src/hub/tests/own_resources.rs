//! Resources of the gateway's own, beside those of servers.

use super::fake::{ConnectionSet, INITIALIZE, Server, World};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};

const RESOURCES: &str = r#"{"tools":{},"resources":{"subscribe":true}}"#;

fn world(names: &[&str]) -> World {
    World::with(names, |config| config.result_resources = true)
}

async fn asked(client: &ConnectionSet, method: &str, params: Value) -> Value {
    client.request(method, &params.to_string()).await;
    serde_json::from_str(&client.answer().await).unwrap()
}

/// Calls a tool of the only server, which returns `call_1`.
async fn called(client: &ConnectionSet, server: &mut Server) {
    let call = r#"{"name":"hello","arguments":{}}"#;
    client.request("tools/call", call).await;
    let list = server.expect("tools/list").await;
    let tools = r#"{"tools":[{"name":"hello","inputSchema":{"type":"object"}}]}"#;
    server.answer(&list, tools).await;
    let request = server.expect("tools/call").await;
    let result = r#"{"content":[{"type":"text","text":"said"}]}"#;
    server.answer(&request, result).await;
    let answer = client.answer().await;
    assert!(answer.contains("call_1"), "{answer}");
}

fn uris(answer: &Value, member: &str, key: &str) -> Vec<String> {
    let items = answer["result"][member].as_array().unwrap();
    let uri = |item: &Value| item[key].as_str().unwrap().to_owned();
    items.iter().map(uri).collect()
}

const RESULT: &str = "crossfeed://results/call_1";
const TEMPLATES: [&str; 2] = [
    "crossfeed://results/{callId}{?select}",
    "crossfeed://artifacts/{artifactId}/{callId}{?select}",
];

#[tokio::test]
async fn results_are_resources_also_where_no_server_has_any() {
    let world = world(&["a"]);
    let client = world.client();
    client.send(INITIALIZE).await;
    let mut server = world.server(0).await;
    server.begin(r#"{"tools":{}}"#).await;
    let begun: Value = serde_json::from_str(&client.next().await).unwrap();
    assert_eq!(begun["result"]["capabilities"]["resources"], json!({}));
    client
        .send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
    server.expect("notifications/initialized").await;
    called(&client, &mut server).await;
    let listed = asked(&client, "resources/list", json!({})).await;
    assert_eq!(uris(&listed, "resources", "uri"), [RESULT]);
    let listed = asked(&client, "resources/templates/list", json!({})).await;
    assert_eq!(uris(&listed, "resourceTemplates", "uriTemplate"), TEMPLATES);
    let read = asked(&client, "resources/read", json!({"uri": RESULT})).await;
    assert_eq!(read["result"]["contents"][0]["text"], "said");
    assert!(server.is_quiet());
}

#[tokio::test]
async fn no_server_has_resources_of_the_gateways_scheme() {
    let world = world(&["a"]);
    let (client, mut servers) = world.begun(RESOURCES).await;
    let server = &mut servers[0];
    called(&client, server).await;
    let (listed, ()) = tokio::join!(asked(&client, "resources/list", json!({})), async {
        let list = server.expect("resources/list").await;
        let item = |uri: &str| json!({"uri": uri, "name": "x"});
        let own = [RESULT, "CROSSFEED://x", " crossfeed:x", "file:///x"].map(item);
        let page = json!({ "resources": own }).to_string();
        server.answer(&list, &page).await;
    });
    assert_eq!(uris(&listed, "resources", "uri"), ["file:///x", RESULT]);
    let templates = asked(&client, "resources/templates/list", json!({}));
    let (listed, ()) = tokio::join!(templates, async {
        let list = server.expect("resources/templates/list").await;
        let item = |uri: &str| json!({"uriTemplate": uri, "name": "x"});
        let own = ["crossfeed://results/{x}", "file:///{x}"].map(item);
        let page = json!({ "resourceTemplates": own }).to_string();
        server.answer(&list, &page).await;
    });
    let mut expected = TEMPLATES.to_vec();
    expected.insert(0, "file:///{x}");
    assert_eq!(uris(&listed, "resourceTemplates", "uriTemplate"), expected);
    let read = asked(&client, "resources/read", json!({"uri": RESULT})).await;
    assert_eq!(read["result"]["contents"][0]["text"], "said");
    for uri in ["CROSSFEED://x", " crossfeed:x", "crossfeed://results/x"] {
        for method in [
            "resources/read",
            "resources/subscribe",
            "resources/unsubscribe",
        ] {
            let refused = asked(&client, method, json!({"uri": uri})).await;
            assert_eq!(refused["error"]["code"], -32002, "{refused}");
        }
        let reference = json!({"ref": {"type": "ref/resource", "uri": uri}});
        let refused = asked(&client, "completion/complete", reference).await;
        assert_eq!(refused["error"]["code"], -32002, "{refused}");
    }
    assert!(server.is_quiet());
    // What is a server's goes there.
    client
        .request("resources/read", r#"{"uri":"file:///x"}"#)
        .await;
    server.expect("resources/read").await;
}

#[tokio::test]
async fn pages_of_servers_and_of_the_gateway_go_on_together() {
    let world = world(&["a", "b"]);
    let (client, mut servers) = world.begun(RESOURCES).await;
    let page = |uri: &str, next: Option<&str>| {
        let mut page = json!({"resources": [{"uri": uri, "name": "x"}]});
        if let Some(next) = next {
            page["nextCursor"] = json!(next);
        }
        page.to_string()
    };
    let (first, ()) = tokio::join!(asked(&client, "resources/list", json!({})), async {
        let list = servers[0].expect("resources/list").await;
        servers[0].answer(&list, &page("a:1", Some("more"))).await;
        let list = servers[1].expect("resources/list").await;
        servers[1].answer(&list, &page("b:1", None)).await;
    });
    assert_eq!(uris(&first, "resources", "uri"), ["a:1", "b:1"]);
    let cursor = first["result"]["nextCursor"].as_str().unwrap();
    let second = asked(&client, "resources/list", json!({"cursor": cursor}));
    let (second, ()) = tokio::join!(second, async {
        let list = servers[0].expect("resources/list").await;
        assert!(list.params().unwrap().ends_with(br#""cursor":"more"}"#));
        servers[0].answer(&list, &page("a:2", None)).await;
    });
    // The gateway's were all on the first page.
    assert_eq!(uris(&second, "resources", "uri"), ["a:2"]);
    assert_eq!(second["result"].get("nextCursor"), None);
    // Its own cursors are checked like all others.
    let cursor = |own: &str| BASE64_URL_SAFE_NO_PAD.encode(json!([[usize::MAX, own]]).to_string());
    let after = json!({"cursor": cursor("crossfeed://results/call_1")});
    let third = asked(&client, "resources/list", after).await;
    assert!(uris(&third, "resources", "uri").is_empty());
    let wrong = asked(&client, "resources/list", json!({"cursor": cursor("x")})).await;
    assert_eq!(wrong["error"]["code"], -32602);
    assert!(servers.iter_mut().all(Server::is_quiet));
}

#[tokio::test]
async fn without_the_option_the_scheme_is_like_any_other() {
    let world = World::new(&["a"]);
    let (client, mut servers) = world.begun(RESOURCES).await;
    for (method, params) in [
        ("resources/list", json!({})),
        ("resources/read", json!({"uri": RESULT})),
    ] {
        client.request(method, &params.to_string()).await;
        servers[0].expect(method).await;
    }
}
