//! One client, one server: everything passes, both ways, under the ids of either side.

use super::fake::{INITIALIZE, World, message};
use crate::message::Message;
use bytes::Bytes;

#[tokio::test]
async fn a_session_begins_with_the_clients_own_bytes() {
    let world = World::new(&["a"]);
    let client = world.client();
    client.send(INITIALIZE).await;
    let mut server = world.server(0).await;
    let handshake = server.expect("initialize").await;
    assert_eq!(
        handshake.params(),
        message(INITIALIZE).params(),
        "the parameters as they came"
    );
    // What comes too early waits; a ping does not.
    client
        .send(r#"{"jsonrpc":"2.0","id":2,"method":"x/y"}"#)
        .await;
    client
        .send(r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#)
        .await;
    assert_eq!(
        client.next().await,
        r#"{"jsonrpc":"2.0","id":3,"result":{}}"#
    );
    server
        .answer(&handshake, r#"{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s"},"z":1.0}"#)
        .await;
    let answer = client.next().await;
    let as_came = r#"{"jsonrpc":"2.0","id":"init","result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s"},"z":1.0,"instructions":"#;
    assert!(answer.starts_with(as_came), "{answer}");
    let pre_init_queue = server.expect("x/y").await;
    server.answer(&pre_init_queue, "1").await;
    assert_eq!(
        client.next().await,
        r#"{"jsonrpc":"2.0","id":2,"result":1}"#
    );
    client.send(INITIALIZE).await;
    assert!(client.next().await.contains("-32600"));
}

#[tokio::test]
async fn a_server_that_refuses_is_heard() {
    let world = World::new(&["a"]);
    let client = world.client();
    client.send(INITIALIZE).await;
    let mut server = world.server(0).await;
    let handshake = server.expect("initialize").await;
    let id = handshake.id().unwrap();
    server
        .say(message(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32002,"message":"no","data":[1.0]}}}}"#
        )))
        .await;
    // Nor does it know the other era.
    let mut server = world.server(0).await;
    let probe = server.expect("server/discover").await;
    let id = probe.id().unwrap();
    server
        .say(message(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"other"}}}}"#
        )))
        .await;
    assert_eq!(
        client.next().await,
        r#"{"jsonrpc":"2.0","id":"init","error":{"code":-32002,"message":"no","data":[1.0]}}"#
    );
}

/// What a client knows that came before 2025-06-18 is asked of the server, which may know it.
#[tokio::test]
async fn a_client_of_an_older_revision_begins_as_with_the_server_itself() {
    for revision in ["2024-11-05", "2025-03-26"] {
        for names in [&["a"][..], &["a", "b"]] {
            let world = World::new(names);
            let client = world.client();
            client
                .send(&INITIALIZE.replace("2025-11-25", revision))
                .await;
            let mut servers = Vec::new();
            for index in 0..names.len() {
                let mut server = world.server(index).await;
                let handshake = server.expect("initialize").await;
                let asked = String::from_utf8_lossy(&handshake.to_bytes()).into_owned();
                assert!(asked.contains(revision), "{asked}");
                let about = format!(r#"{{"protocolVersion":"{revision}","capabilities":{{}}}}"#);
                server.answer(&handshake, &about).await;
                servers.push(server);
            }
            let answer = client.next().await;
            assert!(
                answer.contains(&format!(r#""protocolVersion":"{revision}""#)),
                "{answer}"
            );
        }
    }
}

#[tokio::test]
async fn requests_pass_and_answers_come_back_under_their_own_ids() {
    let world = World::new(&["a"]);
    let (client, mut servers) = world.begun("{}").await;
    let server = &mut servers[0];
    let texts = [
        r#" {"id" : "1", "jsonrpc":"2.0", "params":{"a": 1.50, "a": 2}, "method":"resources/read", "more":[]} "#,
        r#"{"jsonrpc":"2.0","id":1,"method":"un/known"}"#,
        r#"{"jsonrpc":"2.0","id":1.0,"method":"prompts/get","params":{"name":"x"}}"#,
    ];
    let mut requests = Vec::new();
    for text in texts {
        client.send(text).await;
        let request = server.next().await;
        let back = request.clone().with_id(message(text).id().unwrap().clone());
        assert_eq!(back.to_bytes(), text.as_bytes(), "all but the id");
        requests.push(request);
    }
    // Answered in another order, one with an error.
    server.answer(&requests[2], "[ 3 ]").await;
    let id = requests[0].id().unwrap();
    server
        .say(message(&format!(
            r#"{{"error" : {{"code":-7,"message":"m","data":{{"d":1.0}}}}, "id":{id},"jsonrpc":"2.0"}}"#
        )))
        .await;
    server.answer(&requests[1], "2").await;
    assert_eq!(
        client.next().await,
        r#"{"jsonrpc":"2.0","id":1.0,"result":[ 3 ]}"#
    );
    assert_eq!(
        client.next().await,
        r#"{"error" : {"code":-7,"message":"m","data":{"d":1.0}}, "id":"1","jsonrpc":"2.0"}"#
    );
    assert_eq!(
        client.next().await,
        r#"{"jsonrpc":"2.0","id":1,"result":2}"#
    );
    // Twice is once too often.
    server.answer(&requests[1], "2").await;
    server.say(Message::notification("n", None)).await;
    assert_eq!(client.next().await, r#"{"jsonrpc":"2.0","method":"n"}"#);
}

#[tokio::test]
async fn servers_ask_clients() {
    let world = World::new(&["a"]);
    let (client, mut servers) = world.begun("{}").await;
    let server = &mut servers[0];
    server
        .say(message(
            r#"{"jsonrpc":"2.0","id":"s-1","method":"sampling/createMessage","params":{"q": 1.0}}"#,
        ))
        .await;
    server
        .say(message(r#"{"jsonrpc":"2.0","id":"s-2","method":"ping"}"#))
        .await;
    let first = client.next().await;
    assert_eq!(
        first,
        r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"q": 1.0}}"#
    );
    assert_eq!(
        client.next().await,
        r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#
    );
    client.send(r#"{"jsonrpc":"2.0","id":2,"result":{}}"#).await;
    assert_eq!(
        server.next().await.to_bytes(),
        &br#"{"jsonrpc":"2.0","id":"s-2","result":{}}"#[..]
    );
    // The server gives up; what the client answers then goes nowhere.
    server
        .say(message(
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"s-1","reason":"r"}}"#,
        ))
        .await;
    assert_eq!(
        client.next().await,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":"r"}}"#
    );
    client.send(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).await;
    client
        .send(r#"{"jsonrpc":"2.0","id":77,"result":{}}"#)
        .await;
    assert!(server.is_quiet());
}

#[tokio::test]
async fn what_is_cancelled_is_not_answered() {
    let world = World::new(&["a"]);
    let (client, mut servers) = world.begun("{}").await;
    let server = &mut servers[0];
    client
        .send(r#"{"jsonrpc":"2.0","id":"7","method":"slow"}"#)
        .await;
    let slow = server.expect("slow").await;
    client
        .send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":"r","requestId":"7"}}"#)
        .await;
    let cancelled = server.expect("notifications/cancelled").await;
    let id = slow.id().unwrap();
    assert_eq!(
        cancelled.params().unwrap(),
        Bytes::from(format!(r#"{{"reason":"r","requestId":{id}}}"#))
    );
    server.answer(&slow, "1").await;
    // The id is free again; a cancellation of what does not run says nothing.
    client
        .send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"8"}}"#)
        .await;
    client
        .send(r#"{"jsonrpc":"2.0","id":"7","method":"quick"}"#)
        .await;
    let quick = server.expect("quick").await;
    server.answer(&quick, "2").await;
    assert_eq!(
        client.next().await,
        r#"{"jsonrpc":"2.0","id":"7","result":2}"#
    );
}

#[tokio::test]
async fn notifications_keep_their_order() {
    let world = World::new(&["a"]);
    let (client, mut servers) = world.begun("{}").await;
    let server = &mut servers[0];
    for n in 0..100 {
        client
            .send(&format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/{n}"}}"#
            ))
            .await;
        server
            .say(Message::notification(&format!("m/{n}"), None))
            .await;
    }
    for n in 0..100 {
        server.expect(&format!("notifications/{n}")).await;
        assert!(client.next().await.contains(&format!("m/{n}\"")));
    }
}

#[tokio::test]
async fn one_client_may_not_ask_for_everything_at_once() {
    let world = World::with(&["a"], |config| config.limits.requests_per_client = 2);
    let (client, mut servers) = world.begun("{}").await;
    for id in 1..=3 {
        client
            .send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"m"}}"#))
            .await;
    }
    let refused = client.next().await;
    assert!(refused.contains(r#""id":3"#) && refused.contains("limit.exceeded"));
    let first = servers[0].next().await;
    servers[0].answer(&first, "1").await;
    assert_eq!(
        client.next().await,
        r#"{"jsonrpc":"2.0","id":1,"result":1}"#
    );
    client
        .send(r#"{"jsonrpc":"2.0","id":2,"method":"m"}"#)
        .await;
    assert!(client.next().await.contains("-32600"), "the id runs");
}

#[tokio::test]
async fn before_the_session_nothing_passes() {
    let world = World::new(&["a"]);
    let client = world.client();
    client
        .send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#)
        .await;
    assert!(client.next().await.contains("-32600"));
    client
        .send(r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#)
        .await;
    assert_eq!(
        client.next().await,
        r#"{"jsonrpc":"2.0","id":2,"result":{}}"#
    );
    client
        .send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
}

#[tokio::test]
async fn a_call_without_an_id_is_not_passed_on() {
    let world = World::new(&["a"]);
    let (client, mut servers) = world.begun("{}").await;
    for id in ["", r#""id":null,"#] {
        let call = format!(
            r#"{{"jsonrpc":"2.0",{id}"method":"tools/call","params":{{"name":"denied"}}}}"#
        );
        client.send(&call).await;
        client
            .send(r#"{"jsonrpc":"2.0","method":"notifications/x"}"#)
            .await;
        servers[0].expect("notifications/x").await;
    }
}

#[tokio::test]
async fn a_client_that_asks_for_much_at_once_is_initialized_all_the_same() {
    let world = World::with(&["a"], |config| config.limits.requests_per_client = 2);
    let client = world.client();
    client.send(INITIALIZE).await;
    for id in 0..3 {
        client
            .send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"x"}}"#))
            .await;
    }
    assert!(client.next().await.contains("limit.exceeded"));
    client
        .send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
    let mut server = world.server(0).await;
    server.begin("{}").await;
    server.expect("x").await;
    server.expect("x").await;
    server.expect("notifications/initialized").await;
}

#[tokio::test]
async fn the_beginning_is_not_cancelled() {
    let world = World::new(&["a"]);
    let client = world.client();
    client.send(INITIALIZE).await;
    let mut server = world.server(0).await;
    client
        .send(
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"init"}}"#,
        )
        .await;
    server.begin("{}").await;
    assert!(client.next().await.contains("protocolVersion"));
}

#[tokio::test]
async fn methods_that_only_look_like_known_ones_reach_no_server() {
    let world = World::new(&["a"]);
    let (client, mut servers) = world.begun(r#"{"tools":{}}"#).await;
    for (id, method) in ["tools/call ", "TOOLS/CALL", r"tools/\u0000call"]
        .iter()
        .enumerate()
    {
        client
            .send(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{"name":"x"}}}}"#
            ))
            .await;
        let refused = client.next().await;
        assert!(refused.contains("-32601"), "{method}: {refused}");
    }
    client
        .send(r#"{"jsonrpc":"2.0","method":"Notifications/Cancelled","params":{"requestId":1}}"#)
        .await;
    client
        .send(r#"{"jsonrpc":"2.0","id":9,"method":"other/method"}"#)
        .await;
    servers[0].expect("other/method").await;
}
