//! Files in arguments (`$file`).

use super::*;
use crate::{config::FilesConfig, private_file::TestDirectory};
use crossfeed_tokens::TokenCounter;
use std::fs;

fn world(root: Option<&TestDirectory>, flows: Vec<FlowRule>) -> World {
    let mut world = World::new(vec![(server("a"), tools()), (server("b"), tools())], flows);
    let mut config = (*world.tools.config).clone();
    config.references.files = root.map(|root| FilesConfig::new(vec![root.0.clone()]));
    let engine = Engine::in_memory(EngineOptions::default());
    world.tools = Tools::new(engine, Arc::new(config));
    world
}

fn root() -> TestDirectory {
    let root = TestDirectory::new();
    fs::create_dir_all(root.0.join("notes")).unwrap();
    fs::write(root.0.join("notes/a.txt"), "one\ntwo").unwrap();
    fs::write(
        root.0.join("data.json"),
        r#"{"items": [{"url": "https://a.example"}], "n": 1.50}"#,
    )
    .unwrap();
    root
}

fn fetch(tool: &str, reference: Value) -> Bytes {
    params(tool, json!({"url": null, "_refs": {"url": reference}}))
}

/// The arguments as the server gets them.
fn sent(forward: &Forward) -> Value {
    let params: Value = serde_json::from_slice(&forward.params).unwrap();
    params["arguments"].clone()
}

#[tokio::test]
async fn a_file_goes_where_an_argument_goes() {
    let root = root();
    let client = world(Some(&root), Vec::new()).client(local()).await;
    let select = json!({"_file": "data.json", "_select": "items[0].url"});
    for (reference, expected) in [
        (json!({"_file": "notes/a.txt"}), "one\ntwo"),
        (select, "https://a.example"),
        (
            json!({"_template": "<{a}>", "_with": {"a": {"_file": "notes/a.txt"}}}),
            "<one\ntwo>",
        ),
    ] {
        let forward = forward(&client, fetch("a__fetch", reference)).await;
        assert_eq!(sent(&forward), json!({"url": expected}));
    }
    // Untyped: what the name says.
    let both = json!({"url": "u", "any": null, "_refs": {"any": {"_file": "data.json"}}});
    let forward = forward(&client, params("a__fetch", both)).await;
    assert_eq!(sent(&forward)["any"]["n"], json!(1.50));
    let refused = answered(&client, fetch("a__fetch", json!({"_file": "../x"}))).await;
    assert_eq!(
        error(&refused),
        "input.refused: file `../x` is refused: the path has `.` or `..` as a name (argument `/_refs/url`)\n\
         name a file by its path beneath a root of `references.files`, such as `today.md`, without the root itself"
    );
}

#[tokio::test]
async fn a_small_result_shows_its_digest_where_edits_are_on() {
    let mut world = World::new(vec![(server("a"), tools())], Vec::new());
    let result = json!({"content": [{"type": "text", "text": "an old page"}]});
    let client = world.client(local()).await;
    let shown = returned(&client, "search", result.clone()).await;
    assert!(!shown.to_string().contains("Digest"), "{shown}");
    let mut config = (*world.tools.config).clone();
    config.references.edits = true;
    let options = EngineOptions::default().with_edits(Default::default());
    world.tools = Tools::new(Engine::in_memory(options), Arc::new(config));
    let client = world.client(local()).await;
    let shown = returned(&client, "search", result).await;
    let parts = shown["content"].as_array().unwrap();
    let ours = parts.last().unwrap()["text"].as_str().unwrap();
    let ours: Value = serde_json::from_str(ours).unwrap_or_else(|_| panic!("{shown}"));
    let digest = ours["_crossfeedDigest"].as_str().unwrap();
    let edit = |digest: &str| {
        let edit = json!([{"old": "old", "new": "new"}]);
        json!({"_tool": ours["_toolCallId"], "_edit": edit, "_digest": digest})
    };
    let forward = forward(&client, fetch("fetch", edit(digest))).await;
    assert_eq!(sent(&forward)["url"], "an new page");
    let refused = answered(&client, fetch("fetch", edit("0123456789ab"))).await;
    assert!(error(&refused).contains(digest), "{refused}");
    // What failed is not edited.
    let failed = json!({"content": [{"type": "text", "text": "no"}], "isError": true});
    let shown = returned(&client, "search", failed).await;
    assert!(!shown.to_string().contains("Digest"), "{shown}");
}

/// The story: 300 KB go into an argument, and the model writes and reads next to nothing.
#[tokio::test]
async fn a_large_file_costs_the_model_next_to_nothing() {
    let root = root();
    let lines: String = (0..9_000)
        .map(|line| format!("line {line}: the quick brown fox, etc.\n"))
        .collect();
    let text = format!("ü{}", &lines[..299_998]);
    fs::write(root.0.join("page.md"), &text).unwrap();
    let client = world(Some(&root), Vec::new()).client(local()).await;
    let written = json!({"url": null, "_refs": {"url": {"_file": "page.md"}}});
    let forward = forward(&client, params("a__fetch", written.clone())).await;
    let received = sent(&forward);
    assert_eq!(received["url"].as_str().unwrap(), text);
    assert_eq!(received["url"].as_str().unwrap().len(), 300_000);
    let done = json!({"content": [{"type": "text", "text": "stored 300000 bytes"}]});
    let shown = forward.pending.finish(done.to_string().into()).await;
    let counter = TokenCounter::estimate();
    let seen =
        counter.count(&written.to_string()) + counter.count(std::str::from_utf8(&shown).unwrap());
    assert!(seen < 100, "{seen} tokens in the context");
    assert!(counter.count(&text) > 50_000);
}

#[tokio::test]
async fn what_is_off_says_how_to_switch_it_on_and_data_passes() {
    let client = world(None, Vec::new()).client(local()).await;
    for (key, name) in [
        ("file", "references.files"),
        ("resource", "references.resources"),
    ] {
        let refused = answered(
            &client,
            fetch("a__fetch", json!({format!("_{key}"): "x:y"})),
        )
        .await;
        let expected = format!(
            "reference.malformed: {key} `x:y` cannot be read, because such references are switched off (argument `/_refs/url`)\n\
             write the value in place of the reference; whoever runs this can switch them on by `{name}`; \
             to pass the object as data, put it into `{{\"$literal\": …}}`"
        );
        assert_eq!(error(&refused), expected);
        let data = json!({"url": "u", "any": {format!("${key}"): "x:y", "mode": 7}});
        let forward = forward(&client, params("a__fetch", data.clone())).await;
        assert_eq!(sent(&forward), data);
        let literal = json!({"url": "u", "any": {"$literal": {format!("${key}"): "x:y"}}});
        let passed = self::forward(&client, params("a__fetch", literal)).await;
        assert_eq!(sent(&passed)["any"], json!({format!("${key}"): "x:y"}));
    }
    // Nothing of it is in the list, nor in what the client is told.
    let listing = client.shared.listing().unwrap();
    let text = String::from_utf8_lossy(&listing.bytes).into_owned() + &client.guidance();
    assert!(
        !text.contains("_file") && !text.contains("_resource"),
        "{text}"
    );
}

#[tokio::test]
async fn what_is_on_is_listed_and_told() {
    let root = root();
    let client = world(Some(&root), Vec::new()).client(local()).await;
    let listing = client.shared.listing().unwrap();
    let text = String::from_utf8_lossy(&listing.bytes);
    assert!(
        text.contains(r#""_file":{"type":"string"}"#) && !text.contains("_resource"),
        "{text}"
    );
    let guidance = client.guidance();
    assert!(
        guidance.contains("`_file` in place of `_tool`") && !guidance.contains("_resource"),
        "{guidance}"
    );
}

#[tokio::test]
async fn what_must_not_go_to_a_tool_is_not_told_of_in_errors_either() {
    let root = root();
    let rule = FlowRule::new("none", "$file/*", "b/*", false);
    let client = world(Some(&root), vec![rule]).client(local()).await;
    let miss = json!({"_file": "data.json", "_select": "itms[0].url"});
    let told = answered(&client, fetch("a__fetch", miss.clone())).await;
    assert!(error(&told).contains("items[0].url"), "{told}");
    let told = answered(&client, fetch("b__fetch", miss)).await;
    assert!(
        error(&told).starts_with("flow.refused: rule `none`"),
        "{told}"
    );
    assert!(!told.to_string().contains("items"), "{told}");
}

#[tokio::test]
async fn flow_rules_judge_files_by_their_path() {
    let root = root();
    fs::create_dir(root.0.join("private")).unwrap();
    fs::write(root.0.join("private/key"), "k").unwrap();
    let flows = vec![
        FlowRule::new("no keys", "$file/private/*", "b/*", false),
        FlowRule::new("not from a", "a/*", "b/*", false),
    ];
    let client = world(Some(&root), flows).client(local()).await;
    let file = |name: &str| json!({"_file": name});
    for (tool, name, may) in [
        ("b__fetch", "private/key", false),
        ("a__fetch", "private/key", true),
        ("b__fetch", "notes/a.txt", true),
    ] {
        match client.call(fetch(tool, file(name))).await {
            Call::Forward(_) => assert!(may, "{name} to {tool}"),
            Call::Answered(answer) => {
                let answer: Value = serde_json::from_slice(&answer).unwrap();
                let text = error(&answer);
                let expected = "flow.refused: rule `no keys` forbids passing results of `$file/private/key` to `b/fetch`";
                assert!(!may && text.starts_with(expected), "{text}");
            }
            Call::Refused(error) => panic!("{error:?}"),
        }
    }
    // What a tool made of a file is still of the file.
    let by_way = forward(&client, fetch("a__fetch", file("private/key"))).await;
    let done = json!({"content": [{"type": "text", "text": "k"}]});
    by_way.pending.finish(done.to_string().into()).await;
    let answer = answered(&client, fetch("b__fetch", json!({"_tool": "call_4"}))).await;
    assert!(error(&answer).contains("`$file/private/key`"), "{answer}");
}
