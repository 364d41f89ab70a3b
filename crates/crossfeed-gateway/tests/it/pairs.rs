//! Clients of either era before servers of either era.

use crate::world::{Era, Peer, World};
use crossfeed_gateway::port::Hub as _;
use serde_json::{Value, json};

const ERAS: [Era; 2] = [Era::Session, Era::Stateless];

fn text(answer: &Value) -> String {
    let content = answer["result"]["content"].as_array();
    let texts = content
        .unwrap()
        .iter()
        .filter_map(|part| part["text"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}

/// The id that a result is shown with.
fn call_id(answer: &Value) -> String {
    let text = text(answer);
    let rest = text.split("\"_toolCallId\":\"").nth(1).expect("no call id");
    rest.split('"').next().unwrap().to_owned()
}

/// What every pair can do.
async fn check(peer: &Peer, prefix: &str) {
    let tool = |name: &str| format!("{prefix}{name}");
    let answered = peer.call(&tool("test_simple_text"), json!({})).await;
    assert!(text(&answered.answer).contains("simple text response"));
    let failed = peer.call(&tool("test_error_handling"), json!({})).await;
    assert_eq!(failed.answer["result"]["isError"], true);
    assert!(!failed.answer.to_string().contains("_toolCallId"));
    let progressed = peer.call(&tool("test_tool_with_progress"), json!({})).await;
    assert_eq!(progressed.before, ["notifications/progress"; 3]);
    let sampled = peer
        .call(&tool("test_sampling"), json!({"prompt": "p"}))
        .await;
    assert!(
        text(&sampled.answer).contains("sampled"),
        "{}",
        sampled.answer
    );
    let asked = sampled.before.iter();
    assert_eq!(
        asked
            .filter(|method| *method == "sampling/createMessage")
            .count(),
        1
    );
    let unknown = peer.ask("un/known", json!({})).await.answer;
    assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
    let read = json!({"uri": "test://static-text"});
    let read = peer.result("resources/read", read).await;
    assert_eq!(read["contents"][0]["uri"], "test://static-text");
    let unknown = peer.call("no_such_tool", json!({})).await.answer;
    let is_refused = unknown["error"]["code"] == -32602 || unknown["result"]["isError"] == true;
    assert!(is_refused, "{unknown}");
}

#[tokio::test]
async fn every_pair_works() {
    for server in ERAS {
        for client in ERAS {
            let world = World::new(&[("one", server)]).await;
            let peer = world.client(client).await;
            let tools = peer.tools().await;
            assert_eq!(tools[0], "inspect_tool_output", "{client:?} {server:?}");
            check(&peer, "").await;
            peer.client.close().await;
            assert_eq!(world.gateway.health()[0].open, 0);
        }
    }
}

#[tokio::test]
async fn servers_of_both_eras_stand_behind_one_gateway() {
    let world = World::new(&[("one", Era::Session), ("two", Era::Stateless)]).await;
    for era in ERAS {
        let peer = world.client(era).await;
        let tools = peer.tools().await;
        for name in ["one__echo", "two__echo"] {
            assert!(tools.iter().any(|tool| tool == name), "{tools:?}");
        }
        check(&peer, "one__").await;
        check(&peer, "two__").await;
        let resources = peer.result("resources/list", json!({})).await;
        let uris = resources["resources"].as_array().unwrap().iter();
        let same = uris.filter(|resource| resource["uri"] == "test://static-text");
        assert_eq!(same.count(), 2);

        // One server's result into another's arguments.
        let first = peer
            .call("one__echo", json!({"message": "passed on"}))
            .await;
        let id = call_id(&first.answer);
        let arguments = json!({"message": null, "_refs": {"message": {"_tool": id}}});
        let second = peer.call("two__echo", arguments).await;
        assert!(
            text(&second.answer).contains("passed on"),
            "{}",
            second.answer
        );
        peer.client.close().await;
    }
    world.gateway.shut_down().await;
}

#[tokio::test]
async fn what_one_client_recorded_is_out_of_reach_for_others() {
    let world = World::new(&[("one", Era::Session)]).await;
    for era in ERAS {
        let (one, two) = (world.client(era).await, world.client(era).await);
        // A short id that the other does not give next itself.
        one.call("echo", json!({"message": "first"})).await;
        let first = one.call("echo", json!({"message": "secret"})).await;
        let id = call_id(&first.answer);
        let arguments = json!({"message": null, "_refs": {"message": {"_tool": id}}});
        let refused = two.call("echo", arguments.clone()).await.answer;
        assert_eq!(refused["result"]["isError"], true, "{refused}");
        let said = text(&refused);
        assert!(
            said.contains("result.unknown") && !said.contains("secret"),
            "{said}"
        );
        let own = one.call("echo", arguments).await.answer;
        assert!(text(&own).contains("secret"));
    }
}
