//! `save_result`: what is written where, and what is refused.

use super::*;
use crate::{
    config::{ListenConfig, TokenConfig},
    private_file::TestDirectory,
};
use crossfeed_core::ToolResult;
use crossfeed_tokens::TokenCounter;
use crossfeed_wire::CallId;
use data_encoding::HEXLOWER;
use proptest::prelude::*;
use sha2::{Digest as _, Sha256};
use std::{fs, path::PathBuf};

/// A gateway that saves results in a directory, which is there.
struct Saving {
    home: TestDirectory,
    world: World,
}

impl Saving {
    fn with(flows: Vec<FlowRule>, change: impl Fn(&mut GatewayConfig)) -> Self {
        let home = TestDirectory::new();
        fs::create_dir_all(home.0.join("root")).unwrap();
        fs::create_dir_all(home.0.join("outside")).unwrap();
        let servers = vec![(server("a"), tools()), (server("b"), tools())];
        let mut saving = Self {
            world: World::new(servers, flows),
            home,
        };
        saving.restart(change);
        saving
    }

    fn new() -> Self {
        Self::with(Vec::new(), |_| ())
    }

    /// Another process over the same directory.
    fn restart(&mut self, change: impl Fn(&mut GatewayConfig)) {
        let mut config = GatewayConfig {
            save_directory: Some(self.home.0.join("root")),
            ..(*self.world.tools.config).clone()
        };
        change(&mut config);
        let engine = Engine::in_memory(EngineOptions::default());
        let tools = Tools::new(engine, Arc::new(config));
        self.world.tools = tools.with_save_directory().unwrap();
    }

    async fn client(&self) -> ClientTools {
        self.world.client(local()).await
    }

    fn at(&self, path: &str) -> PathBuf {
        self.home.0.join("root").join(path)
    }
}

async fn save(client: &ClientTools, arguments: Value) -> Value {
    answered(client, params("save_result", arguments)).await
}

async fn text(client: &ClientTools, text: &str) {
    let result = json!({"content": [{"type": "text", "text": text}]});
    returned(client, "a__search", result).await;
}

#[tokio::test]
async fn results_are_saved_as_what_they_are() {
    let saving = Saving::new();
    let client = saving.client().await;
    text(&client, "Ä line\n").await;
    text(&client, "{\"items\": [1.50, \"x\"]}\n").await;
    let structured = json!({"structuredContent": {"items": [{"id": 1}]}, "content": []});
    returned(&client, "a__typed", structured).await;
    let image = json!({"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]});
    returned(&client, "a__search", image).await;
    for (arguments, expected) in [
        (json!({"call_id": "call_1", "path": "a.txt"}), "Ä line\n"),
        (
            json!({"call_id": "call_2", "path": "deep/er/b.json"}),
            "{\"items\": [1.50, \"x\"]}\n",
        ),
        (
            json!({"call_id": "call_2", "path": "n", "select": "items[0]"}),
            "1.50",
        ),
        (
            json!({"call_id": "call_2", "path": "x", "select": "items[1]"}),
            "x",
        ),
        (
            json!({"call_id": "call_3", "path": "c.json"}),
            r#"{"items":[{"id":1}]}"#,
        ),
        (json!({"call_id": "call_4", "path": "d.png"}), "hi"),
    ] {
        let answer = save(&client, arguments.clone()).await;
        let path = arguments["path"].as_str().unwrap();
        let digest = HEXLOWER.encode(&Sha256::digest(expected));
        let kind = match path.split_once('.') {
            Some((_, "json")) => "application/json",
            Some((_, "png")) => "image/png",
            None if path == "n" => "application/json",
            _ => "text/plain",
        };
        let saved =
            json!({"path": path, "bytes": expected.len(), "sha256": digest, "mimeType": kind});
        assert_eq!(answer["structuredContent"], saved, "{answer}");
        let text = answer["content"][0]["text"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), saved);
        assert_eq!(fs::read_to_string(saving.at(path)).unwrap(), expected);
    }
}

#[tokio::test]
async fn a_file_of_someone_else_stays() {
    let mut saving = Saving::new();
    let client = saving.client().await;
    text(&client, "one").await;
    text(&client, "two").await;
    let to = |call: &str| json!({"call_id": call, "path": "a.txt"});
    let read = |saving: &Saving| fs::read_to_string(saving.at("a.txt")).unwrap();
    let refused = async |client: &ClientTools| {
        let answer = save(client, to("call_1")).await;
        assert!(
            error(&answer).starts_with("file.refused: a file is there already\nsave it under another path; `overwrite: true`"),
            "{answer}"
        );
    };
    save(&client, to("call_1")).await;
    // It is its own.
    save(&client, to("call_2")).await;
    assert_eq!(read(&saving), "two");
    // So it is for another session of the same principal, and not for another principal.
    let other = Caller::new(
        Principal::Local,
        Some("t".to_owned()),
        Revision::V2025_11_25,
    );
    let other = saving.world.client(other).await;
    text(&other, "three").await;
    save(&other, to("call_1")).await;
    assert_eq!(read(&saving), "three");
    let ann = Principal::Named("ann".to_owned());
    let ann = Caller::new(ann, Some("u".to_owned()), Revision::V2025_11_25);
    let ann = saving.world.client(ann).await;
    text(&ann, "four").await;
    refused(&ann).await;
    // Another program changed it.
    fs::write(saving.at("a.txt"), "mine!").unwrap();
    refused(&client).await;
    assert_eq!(read(&saving), "mine!");
    let mut arguments = to("call_1");
    arguments["overwrite"] = json!(true);
    save(&client, arguments.clone()).await;
    assert_eq!(read(&saving), "one");
    // After a restart nothing is known of it.
    saving.restart(|_| ());
    let client = saving.client().await;
    text(&client, "five").await;
    refused(&client).await;
    save(&client, arguments).await;
    assert_eq!(read(&saving), "five");
    assert_eq!(fs::read_dir(saving.home.0.join("root")).unwrap().count(), 1);
}

#[tokio::test]
async fn a_holder_never_replaces_a_file_of_another() {
    let holders = |config: &mut GatewayConfig| {
        let tokens = ["ann", "bob"].map(|name| TokenConfig::new(name, format!("{name}-token")));
        let mut listen = ListenConfig::new(ListenConfig::ADDRESS);
        listen.tokens = tokens.into();
        config.listen = Some(listen);
    };
    let mut saving = Saving::with(Vec::new(), holders);
    let holder = async |saving: &Saving, name: &str| {
        let principal = Principal::Named(name.to_owned());
        let caller = Caller::new(principal, Some(name.to_owned()), Revision::V2025_11_25);
        let client = saving.world.client(caller).await;
        text(&client, name).await;
        text(&client, "same").await;
        client
    };
    let [ann, bob] = [holder(&saving, "ann").await, holder(&saving, "bob").await];
    let to = |call: &str| json!({"call_id": call, "path": "a.txt"});
    let mut overwriting = to("call_1");
    overwriting["overwrite"] = json!(true);
    let answer = save(&bob, overwriting).await;
    assert!(error(&answer).contains("has no parameter"), "{answer}");
    let read = |saving: &Saving| fs::read_to_string(saving.at("a.txt")).unwrap();
    let refused = async |client: &ClientTools| {
        let answer = save(client, to("call_1")).await;
        let expected = "file.refused: a file is there already\nsave it under another path: several clients save here, and only a file of your own is replaced that nobody has changed since";
        assert!(error(&answer).starts_with(expected), "{answer}");
    };
    let listed = ann.list(&saving.world.lists).await;
    assert!(!String::from_utf8_lossy(&listed).contains("overwrite"));
    save(&ann, to("call_1")).await;
    refused(&bob).await;
    assert_eq!(read(&saving), "ann");
    save(&ann, to("call_2")).await;
    assert_eq!(read(&saving), "same");
    // What another wrote there since is the other's, also if it is the same.
    fs::remove_file(saving.at("a.txt")).unwrap();
    save(&bob, to("call_2")).await;
    refused(&ann).await;
    save(&bob, to("call_1")).await;
    assert_eq!(read(&saving), "bob");
    // Another program may be a gateway, too, and so may the process before.
    fs::write(saving.at("a.txt"), "other").unwrap();
    refused(&bob).await;
    saving.restart(holders);
    refused(&holder(&saving, "bob").await).await;
    assert_eq!(read(&saving), "other");
}

#[cfg(unix)]
#[tokio::test]
async fn paths_that_leave_the_directory_are_refused() {
    use std::os::unix::{fs::symlink, net::UnixListener};
    let saving = Saving::new();
    let client = saving.client().await;
    text(&client, "text").await;
    let outside = saving.home.0.join("outside");
    fs::write(outside.join("secret"), "secret").unwrap();
    fs::create_dir(saving.at("directory")).unwrap();
    symlink(&outside, saving.at("link")).unwrap();
    symlink(outside.join("secret"), saving.at("file")).unwrap();
    symlink(outside.join("new"), saving.at("dangling")).unwrap();
    let _socket = UnixListener::bind(saving.at("socket")).unwrap();
    let long = "a".repeat(256);
    let deep = ["a"; 17].join("/");
    let absolute = outside.join("new");
    let absolute = absolute.to_str().unwrap();
    for path in [
        "",
        "..",
        "../outside/new",
        "directory/../../outside/new",
        absolute,
        "link/new",
        "link/secret",
        "file",
        "dangling",
        "socket",
        "directory",
        "file/new",
        "a\\b",
        "C:\\new",
        "new\0",
        "new\n",
        "new.",
        "new ",
        "NUL",
        "con.txt",
        "a//b",
        "a/",
        "./a",
        "a\u{202e}b",
        &long,
        &deep,
    ] {
        for overwrite in [false, true] {
            let arguments = json!({"call_id": "call_1", "path": path, "overwrite": overwrite});
            let answer = save(&client, arguments).await;
            assert!(
                error(&answer).starts_with("file.refused"),
                "{path:?} {answer}"
            );
        }
    }
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    assert_eq!(
        fs::read_to_string(outside.join("secret")).unwrap(),
        "secret"
    );
    assert_eq!(fs::read_dir(saving.home.0.join("root")).unwrap().count(), 5);
    // Nothing is decoded.
    let arguments = json!({"call_id": "call_1", "path": "%2e%2e%2fnew"});
    save(&client, arguments).await;
    assert_eq!(
        fs::read_to_string(saving.at("%2e%2e%2fnew")).unwrap(),
        "text"
    );
}

#[tokio::test]
async fn what_cannot_be_referred_to_cannot_be_saved() {
    let saving = Saving::with(Vec::new(), |config| config.limits.message_bytes = 3000);
    let client = saving.client().await;
    let failed = json!({"content": [{"type": "text", "text": "no"}], "isError": true});
    returned(&client, "a__search", failed).await;
    text(&client, "text").await;
    text(&client, &"x".repeat(4000)).await;
    for (arguments, expected) in [
        (
            json!({"path": "a"}),
            "arguments.invalid: the required parameter `call_id` is missing",
        ),
        (
            json!({"call_id": "call_2"}),
            "arguments.invalid: the required parameter `path` is missing",
        ),
        (json!({"call_id": "call_2", "path": 7}), "arguments.invalid"),
        (
            json!({"call_id": "call_2", "path": "a", "to": "b"}),
            "arguments.invalid",
        ),
        (
            json!({"call_id": "call_2", "path": "a", "overwrite": 7}),
            "arguments.invalid",
        ),
        (json!({"call_id": "call_9", "path": "a"}), "result.unknown"),
        (json!({"call_id": "CALL_2", "path": "a"}), "result.unknown"),
        (
            json!({"call_id": "../call_2", "path": "a"}),
            "result.unknown",
        ),
        (json!({"call_id": "call_1", "path": "a"}), "result.failed"),
        (
            json!({"call_id": "call_2", "path": "a", "select": "none"}),
            "select.matched_nothing: selector `none` matched nothing in the result of call `call_2`\n",
        ),
        (
            json!({"call_id": "call_3", "path": "a"}),
            "limit.exceeded: the result has 4002 bytes; the limit is 3000\npick a part of it with `select`",
        ),
    ] {
        let answer = save(&client, arguments).await;
        assert!(error(&answer).starts_with(expected), "{expected} {answer}");
    }
    // That of another client reads like one that never was.
    let other = Caller::new(
        Principal::Local,
        Some("t".to_owned()),
        Revision::V2025_11_25,
    );
    let other = saving.world.client(other).await;
    let foreign = save(&other, json!({"call_id": "call_2", "path": "a"})).await;
    let unknown = save(&other, json!({"call_id": "call_7", "path": "a"})).await;
    let as_foreign = error(&unknown).replace("call_7", "call_2");
    assert_eq!(error(&foreign), as_foreign);
    assert_eq!(fs::read_dir(saving.home.0.join("root")).unwrap().count(), 0);
}

#[tokio::test]
async fn flow_rules_judge_what_is_saved() {
    for to in ["crossfeed/*", "crossfeed/save_result", "*/*"] {
        let rule = FlowRule::new("not on the disk", "a/*", to, false);
        let saving = Saving::with(vec![rule], |_| ());
        let client = saving.client().await;
        text(&client, "text").await;
        let result = json!({"content": [{"type": "text", "text": "other"}]});
        returned(&client, "b__search", result).await;
        let answer = save(&client, json!({"call_id": "call_1", "path": "a"})).await;
        let expected = "flow.refused: rule `not on the disk` forbids passing results of `a/search` to `crossfeed/save_result`";
        assert!(error(&answer).starts_with(expected), "{answer}");
        assert!(!saving.at("a").exists());
        save(&client, json!({"call_id": "call_2", "path": "b"})).await;
        assert_eq!(fs::read_to_string(saving.at("b")).unwrap(), "other");
    }
}

#[tokio::test]
async fn it_is_offered_where_there_is_a_directory() {
    let names = |list: &Bytes| {
        let list: Value = serde_json::from_slice(list).unwrap();
        let tools = list["tools"].as_array().unwrap().clone();
        tools
            .into_iter()
            .filter(|tool| tool["name"] == "save_result")
            .collect::<Vec<_>>()
    };
    let saving = Saving::new();
    let client = saving.world.tools.for_caller(local());
    let listed = names(&client.list(&saving.world.lists).await);
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0]["annotations"]["readOnlyHint"], false);
    assert_eq!(listed[0]["annotations"]["destructiveHint"], true);
    // As `docs/gateway.md` says.
    let tokens = TokenCounter::estimate().count(&listed[0].to_string());
    assert_eq!(tokens, 205);
    let plain = World::new(vec![(server("a"), tools())], Vec::new());
    let client = plain.tools.for_caller(local());
    assert!(names(&client.list(&plain.lists).await).is_empty());
    // A directory that is not there is said at the start.
    let config = GatewayConfig {
        save_directory: Some(saving.home.0.join("none")),
        ..GatewayConfig::default()
    };
    let engine = Engine::in_memory(EngineOptions::default());
    assert!(
        Tools::new(engine, Arc::new(config))
            .with_save_directory()
            .is_err()
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// A text is saved to the byte, whatever it looks like, and so is JSON.
    #[test]
    fn bytes_stay(text in prop_oneof!["\\PC{0,40}", any::<String>(), "[\\[{][ \n]{0,3}\"a\"?(: 1.0)?[}\\]][ \n]{0,2}"]) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let saving = Saving::new();
            let client = saving.client().await;
            let id = CallId::parse("call_1").unwrap();
            let result = ToolResult::text(text.clone());
            client.shared.session().record(&id, result).await.unwrap();
            save(&client, json!({"call_id": "call_1", "path": "a"})).await;
            assert_eq!(fs::read_to_string(saving.at("a")).unwrap(), text);
        });
    }
}
