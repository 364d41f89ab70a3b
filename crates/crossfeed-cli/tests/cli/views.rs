//! `crossfeed gateway` between programs and models: which view who gets, and what that shows.

use super::{
    Run, file,
    gateway::{Client, server},
    run,
};
use serde_json::{Value, json};

/// A configuration of the server that says something, with more at its end.
fn config(name: &str, rest: &str) -> String {
    let server = server();
    file(
        name,
        &format!("[mcpServers.a]\ncommand = \"sh\"\nargs = [{server:?}]\n{rest}"),
    )
}

#[test]
fn a_check_says_which_view_each_client_gets_and_why() {
    let path = config("views.toml", "[clients.Bot]\nview = \"program\"\n");
    let Run { status, out, err } = run(
        &["gateway", "--config", &path, "--check", "--view", "ask"],
        "",
    );
    assert_eq!(status, 0, "{out}{err}");
    let lines: Vec<_> = out
        .lines()
        .filter(|line| line.starts_with("view of "))
        .collect();
    let [bot, others] = lines[..] else {
        panic!("clients with the same view share a line: {out}");
    };
    assert_eq!(
        bot,
        "view of Bot: program, by the client's entry in `clients`"
    );
    assert!(others.starts_with("view of claude-code, "), "{out}");
    let end =
        ", any other client: ask, by `--view`, else the `view` at the top of the configuration";
    assert!(others.ends_with(end), "{out}");
    let Run { out, .. } = run(&["--json", "gateway", "--config", &path, "--check"], "");
    let said: Value = serde_json::from_str(&out).unwrap();
    let views = said["views"].as_array().unwrap();
    let row = |client: Value, view: &str, reason: &str| {
        let row = json!({"client": client, "version": null, "server": "a", "view": view, "reason": reason});
        assert!(views.contains(&row), "{row}: {out}");
    };
    row(json!("Bot"), "program", "the client's entry in `clients`");
    row(
        json!("codex-mcp-client"),
        "ask",
        "the table of known clients",
    );
    row(
        Value::Null,
        "model",
        "the default, since the client is not in the table of known clients",
    );
}

#[test]
fn a_client_gets_the_view_that_is_asked_for() {
    let server = server();
    for (view, is_program) in [("program", true), ("model", false)] {
        let mut client = Client::of(&["--log", "off", "--view", view, "--", "sh", &server]);
        client.initialize();
        let answer = client.ask(2, "tools/call", &json!({"name": "say", "arguments": {}}));
        let mut result = answer["result"].clone();
        let meta = result.as_object_mut().unwrap().remove("_meta");
        let came = json!({"content": [{"type": "text", "text": "key "}]});
        assert_eq!(result == came, is_program, "{answer}");
        let id = json!({"dev.crossfeed/callId": "call_1"});
        assert_eq!(meta, is_program.then_some(id));
        client.leave();
    }
}
