//! Progress, which says only by a token what it is about.

use super::fake::{World, message};
use crate::{hub::client::MAX_ENDED, members};
use std::time::Duration;

const ALL: &str = r#"{"tools":{},"resources":{}}"#;

fn progress(token: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":1.0}}}}"#
    )
}

#[tokio::test]
async fn progress_of_what_servers_ask_goes_to_the_one_that_asked() {
    let world = World::new(&["a", "b"]);
    let (client, mut servers) = world.begun(ALL).await;
    let ask = r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"_meta":{"progressToken":"t"},"x":1.50}}"#;
    let mut tokens = Vec::new();
    for server in &servers {
        server.say(message(ask)).await;
        let asked = message(&client.next().await);
        let token = members::get(&asked.params().unwrap(), &["_meta", "progressToken"]);
        tokens.push(String::from_utf8(token.unwrap().to_vec()).unwrap());
    }
    assert_ne!(tokens[0], tokens[1]);
    for (server, token) in servers.iter_mut().zip(&tokens) {
        client.send(&progress(token)).await;
        let told = server.next().await;
        assert_eq!(told.to_bytes(), progress(r#""t""#).as_bytes());
    }
    client.send(&progress("99")).await;
    assert!(servers.iter_mut().all(super::fake::Server::is_quiet));
}

#[tokio::test]
async fn progress_of_what_another_server_does_is_not_believed() {
    let world = World::new(&["a", "b"]);
    let (client, mut servers) = world.begun(ALL).await;
    client
        .send(r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"x:1","_meta":{"progressToken":5}}}"#)
        .await;
    let lists = [
        ("resources/list", r#"{"resources":[{"uri":"x:1"}]}"#),
        ("resources/templates/list", "{}"),
    ];
    for (method, list) in lists {
        for (server, list) in servers.iter_mut().zip([list, "{}"]) {
            let request = server.expect(method).await;
            server.answer(&request, list).await;
        }
    }
    servers[0].expect("resources/read").await;
    servers[1].say(message(&progress("5"))).await;
    // Of what nobody is known to have asked, it passes.
    servers[1].say(message(&progress("6"))).await;
    assert_eq!(client.next().await, progress("6"));
    servers[0].say(message(&progress("5"))).await;
    assert_eq!(client.next().await, progress("5"));
    assert!(client.is_quiet().await);
}

#[tokio::test(start_paused = true)]
async fn no_progress_comes_behind_an_answer_but_of_a_task() {
    let world = World::with(&["a"], |config| {
        config.servers[0].timeout = Some(Duration::from_secs(3));
    });
    let (client, mut servers) = world.begun(r#"{"resources":{},"tasks":{}}"#).await;
    let ask = |id: u64| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"resources/read","params":{{"uri":"x:1","_meta":{{"progressToken":5}}}}}}"#
        )
    };
    // Answered, given up by the client, and given up by the gateway.
    client.send(&ask(1)).await;
    let request = servers[0].expect("resources/read").await;
    servers[0].answer(&request, r#"{"contents":[]}"#).await;
    client.answer().await;
    for token in ["5", "6"] {
        servers[0].say(message(&progress(token))).await;
    }
    assert_eq!(client.next().await, progress("6"));

    client.send(&ask(2)).await;
    servers[0].expect("resources/read").await;
    client
        .send(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#)
        .await;
    servers[0].expect("notifications/cancelled").await;
    for token in ["5", "6"] {
        servers[0].say(message(&progress(token))).await;
    }
    assert_eq!(client.next().await, progress("6"));

    client.send(&ask(3)).await;
    servers[0].expect("resources/read").await;
    let answer = client.answer().await;
    assert!(answer.contains("did not answer within"), "{answer}");
    servers[0].expect("notifications/cancelled").await;
    for token in ["5", "6"] {
        servers[0].say(message(&progress(token))).await;
    }
    assert_eq!(client.next().await, progress("6"));

    client.send(&ask(4)).await;
    let request = servers[0].expect("resources/read").await;
    servers[0].say(message(&progress("5"))).await;
    assert_eq!(client.next().await, progress("5"));
    let task = r#"{"task":{"taskId":"t","status":"working"}}"#;
    servers[0].answer(&request, task).await;
    client.answer().await;
    servers[0].say(message(&progress("5"))).await;
    assert_eq!(client.next().await, progress("5"));
}

/// Servers write a token anew, some with escapes.
#[tokio::test]
async fn a_token_is_the_same_however_it_is_spelled() {
    let world = World::new(&["a", "b"]);
    let (client, mut servers) = world.begun(r#"{"resources":{}}"#).await;
    client
        .send(r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"x:1","_meta":{"progressToken":"é\/"}}}"#)
        .await;
    let lists = [
        ("resources/list", r#"{"resources":[{"uri":"x:1"}]}"#),
        ("resources/templates/list", "{}"),
    ];
    for (method, list) in lists {
        for (server, list) in servers.iter_mut().zip([list, "{}"]) {
            let request = server.expect(method).await;
            server.answer(&request, list).await;
        }
    }
    let request = servers[0].expect("resources/read").await;
    let spellings = [r#""\u00e9/""#, r#""\u00E9\/""#, r#""é/""#];
    for token in spellings {
        servers[1].say(message(&progress(token))).await;
        servers[1].say(message(&progress("6"))).await;
        assert_eq!(client.next().await, progress("6"), "{token}");
        servers[0].say(message(&progress(token))).await;
        assert_eq!(client.next().await, progress(token));
    }
    servers[0].answer(&request, r#"{"contents":[]}"#).await;
    client.answer().await;
    for token in spellings {
        servers[0].say(message(&progress(token))).await;
        servers[0].say(message(&progress("6"))).await;
        assert_eq!(client.next().await, progress("6"), "{token}");
    }
}

#[tokio::test]
async fn the_tokens_of_the_last_requests_are_remembered() {
    let world = World::new(&["a"]);
    let (client, mut servers) = world.begun(r#"{"resources":{}}"#).await;
    for id in 0..=MAX_ENDED {
        client
            .send(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"resources/read","params":{{"uri":"x:1","_meta":{{"progressToken":"t{id}"}}}}}}"#
            ))
            .await;
        let request = servers[0].expect("resources/read").await;
        servers[0].answer(&request, r#"{"contents":[]}"#).await;
        client.answer().await;
    }
    for id in [1, MAX_ENDED, 0] {
        let told = progress(&format!(r#""t{id}""#));
        servers[0].say(message(&told)).await;
        if id == 0 {
            assert_eq!(client.next().await, told);
        }
    }
    assert!(client.is_quiet().await);
}
