//! What the configuration withholds: from what a client sees, and from what references pass on.

use super::fake::World;
use crossfeed_projection::RevealRules;
use serde_json::{Value, json};
use std::sync::Arc;

const ALL: &str = r#"{"tools":{},"resources":{},"logging":{}}"#;
const SECRET: &str = "S3CR3T";

fn withholding() -> World {
    World::with(&["a", "b"], |config| {
        let rules = RevealRules::parse([""; 0], ["password", "owner.mail"]).unwrap();
        config.servers[0].withheld = Arc::new(rules);
    })
}

fn read(message: &str) -> Value {
    assert!(!message.contains(SECRET), "{message}");
    serde_json::from_str(message).unwrap()
}

/// The name under which a tool is listed.
fn shown(list: &Value, name: &str) -> String {
    let tools = list["result"]["tools"].as_array().unwrap();
    let names = tools.iter().map(|tool| tool["name"].as_str().unwrap());
    let mut ends = names.filter(|shown| shown.ends_with(name));
    ends.next().unwrap().to_owned()
}

#[tokio::test]
async fn what_is_withheld_reaches_neither_client_nor_another_server() {
    let world = withholding();
    let (client, mut servers) = world.begun(ALL).await;
    client
        .send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#)
        .await;
    let lists = [
        r#"{"tools":[{"name":"find","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"password":{"const":"S3CR3T"},"n":{"type":"integer"}},"required":["password"]}}]}"#,
        r#"{"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"x":{}}}}]}"#,
    ];
    for (server, list) in servers.iter_mut().zip(lists) {
        let request = server.expect("tools/list").await;
        server.answer(&request, list).await;
    }
    let list = read(&client.next().await);
    let (find, echo) = (shown(&list, "find"), shown(&list, "echo"));
    assert!(!list.to_string().contains("password"), "{list}");

    let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": find, "arguments": {}}});
    client.send(&call.to_string()).await;
    let request = servers[0].expect("tools/call").await;
    let result = json!({
        "content": [{"type": "text", "text": format!("{{'pass\\x77ord': '{SECRET}'}}")}],
        "structuredContent": {"password": SECRET, "PassWord": SECRET, "owner": {"mail": SECRET}, "n": 1},
    });
    servers[0].answer(&request, &result.to_string()).await;
    let answer = read(&client.next().await);
    assert_eq!(answer["result"]["structuredContent"]["n"], json!(1));
    assert!(
        answer
            .to_string()
            .contains("withholds parts of this result"),
        "{answer}"
    );
    assert_eq!(
        answer["result"]["_meta"]["dev.crossfeed/withheld"],
        json!(true)
    );

    // A reference brings what the client may see, with a selector and without.
    for (id, select) in [(3, None), (4, Some("@")), (5, Some("to_string(@)"))] {
        let mut reference = json!({"$tool": "call_1"});
        if let Some(select) = select {
            reference["$select"] = json!(select);
        }
        let arguments = json!({"$refs": {"x": reference}});
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": echo, "arguments": arguments}});
        client.send(&call.to_string()).await;
        let request = servers[1].expect("tools/call").await;
        let sent = String::from_utf8(request.to_bytes().to_vec()).unwrap();
        assert!(!sent.contains(SECRET) && sent.contains("owner"), "{sent}");
        servers[1].answer(&request, r#"{"content":[]}"#).await;
        read(&client.next().await);
    }

    // Neither can it be read, nor found out by a selector, nor is its name told.
    for (id, select) in [
        (6, "@"),
        (7, "password"),
        (8, "owner.mail"),
        (9, "passwort"),
    ] {
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
            "name": "read_result", "arguments": {"call_id": "call_1", "select": select},
        }});
        client.send(&call.to_string()).await;
        let answer = read(&client.next().await);
        if select == "passwort" {
            assert!(!answer.to_string().contains("password"), "{answer}");
        }
    }
}

#[tokio::test]
async fn failures_errors_resources_and_logs_are_cut() {
    let world = withholding();
    let (client, mut servers) = world.begun(ALL).await;
    let a = &mut servers[0];
    client
        .send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#)
        .await;
    let request = a.expect("tools/list").await;
    a.answer(
        &request,
        r#"{"tools":[{"name":"find","inputSchema":{"type":"object"}},{"name":"apart","inputSchema":{"type":"object"},"_meta":{"dev.crossfeed/chain":false}}]}"#,
    )
    .await;
    let request = servers[1].expect("tools/list").await;
    servers[1].answer(&request, r#"{"tools":[]}"#).await;
    let list = read(&client.next().await);
    let a = &mut servers[0];

    let text = format!("{{\"Password\": \"{SECRET}\"}}");
    let part = json!({"type": "text", "text": text});
    let results = [
        ("find", json!({"content": [part], "isError": true})),
        ("apart", json!({"content": [part]})),
        ("find", json!({"content": {"a": part}})),
    ];
    for (id, (tool, result)) in results.into_iter().enumerate() {
        let call = json!({"jsonrpc": "2.0", "id": id + 2, "method": "tools/call", "params": {"name": shown(&list, tool), "arguments": {}}});
        client.send(&call.to_string()).await;
        let request = a.expect("tools/call").await;
        a.answer(&request, &result.to_string()).await;
        read(&client.next().await);
    }

    let call = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": shown(&list, "find"), "arguments": {}}});
    client.send(&call.to_string()).await;
    let request = a.expect("tools/call").await;
    let error = crate::message::RpcError::new(-32000, format!("password {SECRET}"))
        .with_data(json!({"password": SECRET}));
    a.say(crate::message::Message::failure(request.id(), &error))
        .await;
    let answer = read(&client.next().await);
    assert_eq!(answer["error"]["code"], json!(-32000));

    let data = json!({"level": "info", "data": {"password": SECRET}})
        .to_string()
        .into();
    a.say(crate::message::Message::notification(
        "notifications/message",
        Some(&data),
    ))
    .await;
    let notice = read(&client.next().await);
    assert_eq!(notice["params"]["data"], json!({}));
}
