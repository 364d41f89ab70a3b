//! One client, several servers: what is listed is joined, what is named goes to who has it.

use super::fake::{INITIALIZE, Server, World, message};
use crate::{
    config::{Prefix, UnlistedPolicy},
    message::Message,
    upstream::{Event, UpstreamError},
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::Value;
use std::{sync::atomic::Ordering, time::Duration};

const ALL: &str = r#"{"tools":{},"prompts":{},"resources":{"subscribe":true},"logging":{}}"#;

/// Two servers whose prompts and tools keep their names.
fn two() -> World {
    World::with(&["a", "b"], |config| config.prefix = Prefix::Collisions)
}

/// Two servers that are asked for what nobody lists.
fn two_in_turn() -> World {
    World::with(&["a", "b"], |config| {
        config.unlisted = UnlistedPolicy::AskAll
    })
}

fn error(request: &Message, code: i64) -> Message {
    let id = request.id().unwrap();
    message(&format!(
        r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":"no"}}}}"#
    ))
}

#[tokio::test]
async fn a_session_begins_with_all() {
    let world = World::new(&["a", "b"]);
    let client = world.client();
    client.send(INITIALIZE).await;
    let mut second = world.server(1).await;
    second.begin(r#"{"logging":{}}"#).await;
    let mut first = world.server(0).await;
    first.begin(r#"{"tools":{}}"#).await;
    let answer = client.next().await;
    for part in [
        r#""logging":{}"#,
        r#""name":"crossfeed""#,
        r#""listChanged":true"#,
    ] {
        assert!(answer.contains(part), "{answer}");
    }
}

/// The servers of a holder may all be switched off.
#[tokio::test]
async fn a_session_without_servers_begins() {
    // What is polled first is chance.
    for _ in 0..20 {
        let world = World::new(&[]);
        let client = world.client();
        client.send(INITIALIZE).await;
        let answer = client.next().await;
        assert!(answer.contains(r#""name":"crossfeed""#), "{answer}");
    }
}

#[tokio::test]
async fn pages_are_joined_in_the_order_of_the_configuration() {
    let world = World::new(&["a", "b", "c"]);
    let (client, mut servers) = world.begun(ALL).await;
    client
        .send(r#"{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{"_meta":{"k":1}}}"#)
        .await;
    let mut requests = Vec::new();
    for server in &mut servers {
        requests.push(server.expect("resources/list").await);
    }
    // One knows the method no better than that; the others answer in another order.
    servers[2].say(error(&requests[2], -32601)).await;
    servers[1]
        .answer(
            &requests[1],
            r#"{"resources":[{"uri":"b:1", "size":1.0}],"nextCursor":"next"}"#,
        )
        .await;
    servers[0]
        .answer(
            &requests[0],
            r#"{"resources":[ {"uri":"a:1"},{"uri":"a:2"} ]}"#,
        )
        .await;
    let page = client.next().await;
    let expected = r#"{"jsonrpc":"2.0","id":1,"result":{"resources":[{"uri":"a:1"},{"uri":"a:2"},{"uri":"b:1", "size":1.0}],"nextCursor":""#;
    assert!(page.starts_with(expected), "{page}");
    let cursor = page[expected.len()..].trim_end_matches("\"}}");
    client
        .send(&format!(
            r#"{{"jsonrpc":"2.0","id":2,"method":"resources/list","params":{{"cursor":"{cursor}"}}}}"#
        ))
        .await;
    let request = servers[1].expect("resources/list").await;
    assert_eq!(request.params().unwrap(), &br#"{"cursor":"next"}"#[..]);
    servers[1]
        .answer(&request, r#"{"resources":[{"uri":"b:2"}]}"#)
        .await;
    assert_eq!(
        client.next().await,
        r#"{"jsonrpc":"2.0","id":2,"result":{"resources":[{"uri":"b:2"}]}}"#
    );
    assert!(servers[0].is_quiet() && servers[2].is_quiet());
    // Whose a resource is was learnt.
    client
        .send(r#"{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"b:2"}}"#)
        .await;
    servers[1].expect("resources/read").await;
    client
        .send(r#"{"jsonrpc":"2.0","id":4,"method":"resources/list","params":{"cursor":"foreign"}}"#)
        .await;
    assert!(client.next().await.contains("-32602"));
}

/// The answer of one of several servers is its own, down to the order of its members.
#[tokio::test]
async fn what_one_of_several_servers_answers_keeps_its_bytes() {
    let world = two();
    let (client, mut servers) = world.begun(ALL).await;
    let pages = [r#"{"resources":[{"uri":"a:1"}]}"#, r#"{"resources":[]}"#];
    client.request("resources/list", "{}").await;
    for (server, page) in servers.iter_mut().zip(pages) {
        let request = server.expect("resources/list").await;
        server.answer(&request, page).await;
    }
    client.next().await;
    client.request("resources/read", r#"{"uri":"a:1"}"#).await;
    let request = servers[0].expect("resources/read").await;
    let id = request.id().unwrap();
    let odd = |id: &str| {
        format!(r#"{{ "result": {{"contents": [ ]}} , "x":1.50,"id":{id}, "jsonrpc":"2.0" }}"#)
    };
    servers[0].say(message(&odd(&id.to_string()))).await;
    assert_eq!(client.next().await, odd("\"resources/read\""));
}

#[tokio::test]
async fn prompts_of_two_servers_with_one_name_are_told_apart() {
    let world = two();
    let (client, mut servers) = world.begun(ALL).await;
    client
        .send(r#"{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"b__same","x":1.0}}"#)
        .await;
    for (server, list) in servers.iter_mut().zip([
        r#"{"prompts":[{"name":"same"}]}"#,
        r#"{"prompts":[{ "t":1.0, "name" : "same", "z":[]},{"name":"own"}]}"#,
    ]) {
        let request = server.expect("prompts/list").await;
        server.answer(&request, list).await;
    }
    let get = servers[1].expect("prompts/get").await;
    assert_eq!(get.params().unwrap(), &br#"{"name":"same","x":1.0}"#[..]);
    client
        .send(r#"{"jsonrpc":"2.0","id":2,"method":"prompts/list"}"#)
        .await;
    for (server, list) in servers.iter_mut().zip([
        r#"{"prompts":[{"name":"same"}]}"#,
        r#"{"prompts":[{ "t":1.0, "name" : "same", "z":[]},{"name":"own"}]}"#,
    ]) {
        let request = server.expect("prompts/list").await;
        server.answer(&request, list).await;
    }
    assert_eq!(
        client.next().await,
        r#"{"jsonrpc":"2.0","id":2,"result":{"prompts":[{"name":"a__same"},{ "t":1.0, "name" : "b__same", "z":[]},{"name":"own"}]}}"#
    );
    client
        .send(r#"{"jsonrpc":"2.0","id":3,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"own"},"argument":{}}}"#)
        .await;
    servers[1].expect("completion/complete").await;
}

#[tokio::test]
async fn what_nobody_is_known_to_have_is_asked_for_in_turn() {
    let world = two_in_turn();
    let (client, mut servers) = world.begun(ALL).await;
    for (id, codes, found) in [
        (1, [-32601, 0], true),
        (2, [-32601, -7], false),
        (3, [-7, -32601], false),
    ] {
        client
            .send(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"new/method"}}"#
            ))
            .await;
        for (server, code) in servers.iter_mut().zip(codes) {
            let request = server.expect("new/method").await;
            match code {
                0 => server.answer(&request, "7").await,
                code => server.say(error(&request, code)).await,
            }
        }
        let answer = client.next().await;
        let expected = if found {
            r#""result":7"#
        } else {
            r#""code":-7"#
        };
        assert!(answer.contains(expected), "{answer}");
    }
    client
        .send(r#"{"jsonrpc":"2.0","id":9,"method":"resources/read","params":{"uri":"x:y"}}"#)
        .await;
    // Unless a list says whose it is.
    for list in ["resources/list", "resources/templates/list"] {
        for server in &mut servers {
            let request = server.expect(list).await;
            server.answer(&request, "{}").await;
        }
    }
    let request = servers[0].expect("resources/read").await;
    servers[0].say(error(&request, -32002)).await;
    let request = servers[1].expect("resources/read").await;
    servers[1].answer(&request, "{}").await;
    client.next().await;
    client
        .send(r#"{"jsonrpc":"2.0","id":9,"method":"resources/subscribe","params":{"uri":"x:y"}}"#)
        .await;
    servers[1].expect("resources/subscribe").await;
    assert!(servers[0].is_quiet());
}

#[tokio::test]
async fn all_are_told_how_much_to_log() {
    let world = World::new(&["a", "b"]);
    let (client, mut servers) = world.begun(ALL).await;
    client
        .send(r#"{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug"}}"#)
        .await;
    let first = servers[0].expect("logging/setLevel").await;
    let second = servers[1].expect("logging/setLevel").await;
    servers[0].say(error(&first, -7)).await;
    servers[1].answer(&second, "{}").await;
    assert_eq!(
        client.next().await,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#
    );
    client
        .send(r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#)
        .await;
    assert_eq!(
        client.next().await,
        r#"{"jsonrpc":"2.0","id":2,"result":{}}"#
    );
    client
        .send(r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#)
        .await;
    for server in &mut servers {
        server.expect("notifications/roots/list_changed").await;
    }
}

#[tokio::test]
async fn what_servers_ask_is_answered_to_the_one_that_asked() {
    let world = World::new(&["a", "b"]);
    let (client, mut servers) = world.begun(ALL).await;
    let ask = r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#;
    servers[1].say(message(ask)).await;
    assert!(client.next().await.contains(r#""id":1"#));
    servers[0].say(message(ask)).await;
    assert!(client.next().await.contains(r#""id":2"#));
    client
        .send(r#"{"jsonrpc":"2.0","id":2,"result":"a"}"#)
        .await;
    client
        .send(r#"{"jsonrpc":"2.0","id":1,"result":"b"}"#)
        .await;
    for (server, own) in servers.iter_mut().zip(["a", "b"]) {
        let answer = server.next().await;
        let expected = format!(r#"{{"jsonrpc":"2.0","id":1,"result":"{own}"}}"#);
        assert_eq!(answer.to_bytes(), expected.as_bytes());
    }
    // Once is enough.
    client
        .send(r#"{"jsonrpc":"2.0","id":2,"result":"again"}"#)
        .await;
    assert!(servers.iter_mut().all(Server::is_quiet));
}

#[tokio::test(start_paused = true)]
async fn what_one_server_takes_back_another_still_asks() {
    let world = World::new(&["a", "b"]);
    let (client, mut servers) = world.begun("{}").await;
    let ask = r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#;
    servers[0].say(message(ask)).await;
    assert!(client.next().await.contains(r#""id":1"#));
    let taken_back =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    // It has asked nothing, and says so in vain; then it asks, and ends.
    servers[1].say(message(taken_back)).await;
    servers[1].say(message(ask)).await;
    assert!(client.next().await.contains(r#""id":2"#));
    let over = Event::Closed(UpstreamError::Ended("x".to_owned()));
    servers[1].events.send(over).await.unwrap();
    let cancelled = client.next().await;
    assert!(cancelled.contains(r#""requestId":2"#), "{cancelled}");
    client
        .send(r#"{"jsonrpc":"2.0","id":1,"result":"here"}"#)
        .await;
    assert!(servers[0].next().await.result().is_some());
    assert!(client.is_quiet().await);
}

#[tokio::test]
async fn a_server_that_does_not_read_holds_nobody_up() {
    let world = World::with(&["a", "b"], |config| {
        config.limits.requests_per_client = usize::MAX;
        config.unlisted = UnlistedPolicy::AskAll;
    });
    let (client, mut servers) = world.begun(ALL).await;
    world.fakes[0].is_stuck.store(true, Ordering::Relaxed);
    client
        .send(r#"{"jsonrpc":"2.0","id":"l","method":"resources/list"}"#)
        .await;
    // What it does not read waits, up to a limit; what is for others does not.
    let list = servers[1].expect("resources/list").await;
    servers[1]
        .answer(&list, r#"{"resources":[{"uri":"b:1"}]}"#)
        .await;
    for id in 0..3000 {
        client
            .send(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"prompts/list"}}"#
            ))
            .await;
        servers[1].next().await;
    }
    assert!(
        client.is_quiet().await,
        "each waits for the one that does not read"
    );
    client
        .send(r#"{"jsonrpc":"2.0","id":"x","method":"new/method"}"#)
        .await;
    servers[1].expect("new/method").await;
}

const TOOL: &str = r#"{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}"#;

#[tokio::test(start_paused = true)]
async fn a_list_of_tools_that_does_not_come_holds_up_no_other_server() {
    let world = World::new(&["a", "b"]);
    let (client, mut servers) = world.begun(ALL).await;
    client
        .send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"b__t","arguments":{}}}"#)
        .await;
    let late = servers[0].expect("tools/list").await;
    let list = servers[1].expect("tools/list").await;
    servers[1].answer(&list, TOOL).await;
    tokio::time::sleep(Duration::from_secs(11)).await;
    let call = servers[1].expect("tools/call").await;
    servers[1].answer(&call, r#"{"content":[]}"#).await;
    assert!(client.next().await.contains(r#""id":1"#));
    // While it is to come it is not asked for again, and nobody waits for it.
    client
        .send(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#)
        .await;
    let list = servers[1].expect("tools/list").await;
    servers[1].answer(&list, TOOL).await;
    let listed = client.next().await;
    assert!(listed.contains(r#""name":"b__t""#), "{listed}");
    assert!(servers[0].is_quiet());
    // Once it is there, the client is told, and lists it.
    let tool = TOOL.replace(r#""t""#, r#""slow""#);
    servers[0].answer(&late, &tool).await;
    let told = client.next().await;
    assert!(told.contains("notifications/tools/list_changed"), "{told}");
    client
        .send(r#"{"jsonrpc":"2.0","id":3,"method":"tools/list"}"#)
        .await;
    let list = servers[1].expect("tools/list").await;
    servers[1].answer(&list, TOOL).await;
    let listed = client.next().await;
    assert!(
        listed.contains(r#""name":"a__slow""#) && listed.contains(r#""name":"b__t""#),
        "{listed}"
    );
    assert!(servers[0].is_quiet());
}

#[tokio::test(start_paused = true)]
async fn what_a_server_does_not_list_in_time_is_left_out() {
    let world = two();
    let (client, mut servers) = world.begun(ALL).await;
    for (id, method, list) in [
        (1, "resources/list", r#"{"resources":[{"uri":"b:1"}]}"#),
        (2, "prompts/list", r#"{"prompts":[{"name":"p"}]}"#),
    ] {
        client
            .send(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#
            ))
            .await;
        let silent = servers[0].expect(method).await;
        let request = servers[1].expect(method).await;
        servers[1].answer(&request, list).await;
        tokio::time::sleep(Duration::from_secs(11)).await;
        assert_eq!(
            client.next().await,
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{list}}}"#)
        );
        let cancelled = servers[0].expect("notifications/cancelled").await;
        let id = silent.id().unwrap();
        let expected = format!(r#"{{"requestId":{id},"reason":"timeout"}}"#);
        assert_eq!(cancelled.params().unwrap(), expected.as_bytes());
    }
}

#[tokio::test]
async fn prompts_without_end_are_left_out() {
    let world = two();
    let many = vec![r#"{"name":"p"}"#; 10_001].join(",");
    let (client, mut servers) = world.begun(ALL).await;
    // The same cursor twice, and more than is listed of one server.
    for (list, pages) in [
        (r#"{"prompts":[],"nextCursor":"c"}"#.to_owned(), 2),
        (format!(r#"{{"prompts":[{many}]}}"#), 1),
    ] {
        client
            .send(r#"{"jsonrpc":"2.0","id":1,"method":"prompts/list"}"#)
            .await;
        for _ in 0..pages {
            let request = servers[0].expect("prompts/list").await;
            servers[0].answer(&request, &list).await;
        }
        let request = servers[1].expect("prompts/list").await;
        servers[1]
            .answer(&request, r#"{"prompts":[{"name":"own"}]}"#)
            .await;
        assert_eq!(
            client.next().await,
            r#"{"jsonrpc":"2.0","id":1,"result":{"prompts":[{"name":"own"}]}}"#
        );
        assert!(servers[0].is_quiet());
    }
}

#[tokio::test]
async fn a_cursor_of_one_gateway_goes_on_at_another() {
    let world = World::new(&["a", "b"]);
    let (client, mut servers) = world.begun(ALL).await;
    client
        .send(r#"{"jsonrpc":"2.0","id":1,"method":"resources/list"}"#)
        .await;
    for server in &mut servers {
        let request = server.expect("resources/list").await;
        let page = r#"{"resources":[],"nextCursor":"next"}"#;
        server.answer(&request, page).await;
    }
    let page: Value = serde_json::from_str(&client.next().await).unwrap();
    let cursor = &page["result"]["nextCursor"];

    let other = World::new(&["a", "b"]);
    let (client, mut servers) = other.begun(ALL).await;
    client
        .send(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{{"cursor":{cursor}}}}}"#
        ))
        .await;
    for server in &mut servers {
        let request = server.expect("resources/list").await;
        assert_eq!(request.params().unwrap(), &br#"{"cursor":"next"}"#[..]);
    }
}

#[tokio::test]
async fn a_cursor_goes_to_each_server_once() {
    let world = World::new(&["a", "b"]);
    let (client, mut servers) = world.begun(ALL).await;
    for rest in [r#"[[0,""],[0,""]]"#, r#"[[1,""],[0,""]]"#] {
        let cursor = BASE64_URL_SAFE_NO_PAD.encode(rest);
        client
            .send(&format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{{"cursor":"{cursor}"}}}}"#
            ))
            .await;
        assert!(client.next().await.contains("-32602"));
    }
    assert!(servers.iter_mut().all(|server| server.is_quiet()));
    // One that could not come back is not given out.
    client
        .send(r#"{"jsonrpc":"2.0","id":2,"method":"resources/list"}"#)
        .await;
    let long = "c".repeat(1 << 20);
    for (server, cursor) in servers.iter_mut().zip([&*long, "c"]) {
        let request = server.expect("resources/list").await;
        let page = format!(r#"{{"resources":[],"nextCursor":"{cursor}"}}"#);
        server.answer(&request, &page).await;
    }
    let page = client.next().await;
    let cursor = BASE64_URL_SAFE_NO_PAD.encode(r#"[[1,"c"]]"#);
    assert_eq!(
        page,
        format!(
            r#"{{"jsonrpc":"2.0","id":2,"result":{{"resources":[],"nextCursor":"{cursor}"}}}}"#
        )
    );
}
#[tokio::test]
async fn a_task_stays_with_the_server_that_named_it_first() {
    let world = two_in_turn();
    let (client, mut servers) = world.begun(r#"{"tools":{},"tasks":{"list":{}}}"#).await;
    client
        .send(r#"{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"t"}}"#)
        .await;
    let request = servers[0].expect("tasks/get").await;
    servers[0]
        .answer(&request, r#"{"taskId":"t","status":"working"}"#)
        .await;
    client.next().await;
    // Another one lists it as its own.
    client
        .send(r#"{"jsonrpc":"2.0","id":2,"method":"tasks/list"}"#)
        .await;
    let request = servers[0].expect("tasks/list").await;
    servers[0].answer(&request, r#"{"tasks":[]}"#).await;
    let request = servers[1].expect("tasks/list").await;
    servers[1]
        .answer(&request, r#"{"tasks":[{"taskId":"t"},{"taskId":"u"}]}"#)
        .await;
    client.next().await;
    for (method, task, owner) in [
        ("tasks/get", "t", 0),
        ("tasks/result", "t", 0),
        ("tasks/cancel", "t", 0),
        ("tasks/cancel", "u", 1),
    ] {
        client
            .send(&format!(
                r#"{{"jsonrpc":"2.0","id":3,"method":"{method}","params":{{"taskId":"{task}"}}}}"#
            ))
            .await;
        let server = &mut servers[owner];
        let request = server.expect(method).await;
        server
            .answer(&request, &format!(r#"{{"taskId":"{task}"}}"#))
            .await;
        client.next().await;
    }
}

/// A server that asks and asks leaves the others room to ask.
#[tokio::test]
async fn one_server_does_not_use_up_the_room_for_questions() {
    let world = two();
    let (client, servers) = world.begun(ALL).await;
    let ask = |id: usize| {
        message(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"roots/list"}}"#
        ))
    };
    let [first, second] = &servers[..] else {
        panic!("there are two")
    };
    for id in 0..600 {
        first.say(ask(id)).await;
    }
    for _ in 0..512 {
        client.next().await;
    }
    second.say(ask(0)).await;
    assert!(client.next().await.contains("roots/list"));
    assert!(client.is_quiet().await);
}
