//! Holders of tokens who may use some servers and some tools only.

use super::fake::{INITIALIZE, World};
use crate::{
    budget::Purpose,
    config::{ListenConfig, TokenConfig},
    principal::Principal,
};

fn world() -> World {
    World::with(&["files", "bank"], |config| {
        let mut bob = TokenConfig::new("bob", "token-of-bob-1234");
        bob.servers = vec!["files".to_owned()];
        bob.tools = vec!["files/read_*".to_owned()];
        config.tokens = vec![bob, TokenConfig::new("ann", "token-of-ann-1234")];
    })
}

#[tokio::test]
async fn a_holder_whose_results_fill_the_store_can_still_send_and_be_answered() {
    let world = World::with(&["files"], |config| {
        let mut listen = ListenConfig::new(ListenConfig::ADDRESS);
        listen.tokens = vec![
            TokenConfig::new("bob", "token-of-bob-1234"),
            TokenConfig::new("ann", "token-of-ann-1234"),
        ];
        config.listen = Some(listen);
        config.limits.message_bytes = 8 << 20;
        config.limits.total_bytes = 64 << 20;
        config.limits.memory_bytes = 128 << 20;
    });
    let budget = &world.gateway.budget;
    assert_eq!(budget.limit(), 128 << 20);
    let bob = budget.account(&Principal::Named("bob".to_owned()));
    let _results = bob.charge(64 << 20, Purpose::Answer).unwrap();
    let _request = bob.charge(8 << 20, Purpose::Request).unwrap();
    let _answer = bob.charge(8 << 20, Purpose::Answer).unwrap();
    assert!(bob.charge(1, Purpose::Request).is_none());
    let ann = budget.account(&Principal::Named("ann".to_owned()));
    assert!(ann.charge(32 << 20, Purpose::Request).is_some());
}

#[tokio::test]
async fn servers_that_a_holder_may_not_use_do_not_exist_for_it() {
    let world = world();
    let bob = world.session_of(Some("bob"));
    bob.send(INITIALIZE).await;
    let mut files = world.server(0).await;
    files.begin(r#"{"tools":{}}"#).await;
    // One server, as far as it knows.
    let handshake = bob.next().await;
    assert!(handshake.contains(r#""name":"fake""#), "{handshake}");
    bob.send(r#"{"jsonrpc":"2.0","id":1,"method":"resources/list"}"#)
        .await;
    let asked = files.expect("resources/list").await;
    files.answer(&asked, r#"{"resources":[]}"#).await;
    assert!(bob.next().await.contains("resources"));
    assert!(world.try_server(1).await.is_none());

    let ann = world.session_of(Some("ann"));
    ann.send(INITIALIZE).await;
    world.server(0).await.begin("{}").await;
    world.server(1).await.begin("{}").await;
    assert!(ann.next().await.contains("crossfeed"));
}

#[tokio::test]
async fn tools_that_a_holder_may_not_use_are_unknown_to_it() {
    let world = world();
    let bob = world.session_of(Some("bob"));
    bob.send(INITIALIZE).await;
    let mut files = world.server(0).await;
    files.begin(r#"{"tools":{}}"#).await;
    bob.next().await;
    bob.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#)
        .await;
    let asked = files.expect("tools/list").await;
    let tools = ["read_file", "write_file"]
        .map(|name| format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#));
    let list = format!(r#"{{"tools":[{}]}}"#, tools.join(","));
    files.answer(&asked, &list).await;
    let listed = bob.next().await;
    assert!(
        listed.contains("read_file") && !listed.contains("write_file"),
        "{listed}"
    );
    let call = async |name: &str| {
        bob.send(&format!(
            r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"{name}","arguments":{{}}}}}}"#
        ))
        .await;
    };
    for name in ["files__write_file", "no_such_tool"] {
        call(name).await;
        let refused = bob.next().await;
        assert!(
            refused.contains(&format!("there is no tool \\\"{name}\\\"")),
            "{refused}"
        );
    }
    assert!(files.is_quiet());
    call("files__read_file").await;
    files.expect("tools/call").await;
}

#[tokio::test]
async fn prompts_have_the_same_names_for_a_holder_of_one_server() {
    let world = world();
    let bob = world.session_of(Some("bob"));
    bob.send(INITIALIZE).await;
    let mut files = world.server(0).await;
    files
        .begin(r#"{"prompts":{},"completions":{},"resources":{}}"#)
        .await;
    bob.next().await;
    bob.request("prompts/list", "{}").await;
    let asked = files.expect("prompts/list").await;
    let list = r#"{"prompts":[{"name":"greet","x":1.50}]}"#;
    files.answer(&asked, list).await;
    let listed = bob.answer().await;
    let expected = r#""result":{"prompts":[{"name":"files__greet","x":1.50}]}"#;
    assert!(listed.contains(expected), "{listed}");

    bob.request("prompts/get", r#"{"name":"files__greet"}"#)
        .await;
    let asked = files.expect("prompts/get").await;
    let params = asked.params().unwrap();
    assert_eq!(params, r#"{"name":"greet"}"#);
    files.answer(&asked, r#"{"messages":[]}"#).await;
    bob.answer().await;

    let of =
        |reference: &str| format!(r#"{{"ref":{reference},"argument":{{"name":"a","value":""}}}}"#);
    let of_prompt = of(r#"{"type":"ref/prompt","name":"files__greet"}"#);
    bob.request("completion/complete", &of_prompt).await;
    let asked = files.expect("completion/complete").await;
    let params = asked.params().unwrap();
    assert_eq!(params, of(r#"{"type":"ref/prompt","name":"greet"}"#));
    files
        .answer(&asked, r#"{"completion":{"values":[]}}"#)
        .await;
    bob.answer().await;
    // What has no such name is its only server's.
    let of_resource = of(r#"{"type":"ref/resource","uri":"x://y"}"#);
    bob.request("completion/complete", &of_resource).await;
    files.expect("completion/complete").await;

    bob.request("prompts/get", r#"{"name":"greet"}"#).await;
    let refused = bob.answer().await;
    assert!(refused.contains("-32602"), "{refused}");
    assert!(files.is_quiet());
}
