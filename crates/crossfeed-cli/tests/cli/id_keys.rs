//! Gateways whose ids of clients without sessions are signed with keys of the configuration.

use super::{
    Run, check_usage, file,
    gateway::post,
    lasting::{ECHO, Listening, TOKENS, directory},
    run,
};
use serde_json::{Value, json};
use std::fs;

const ONE: &str = "key-one AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n";
const TWO: &str = "key-two //////////////////////////////////////////8=\n";

/// What the echoing server does with what begins a session, and with what asks for another era.
const BEGINS: &str = r#"    *'"initialize"'*)"#;
const REFUSES: &str = r#"    *'"server/discover"'*)
      printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown method"}}\n' "$id" ;;
"#;

/// The echoing server, which has no other era than that of sessions.
pub(super) fn server() -> String {
    ECHO.replacen(BEGINS, &format!("{REFUSES}{BEGINS}"), 1)
}

/// A configuration with these keys in a file.
fn configuration(name: &str, keys: &str) -> String {
    let keys = file(&format!("{name}.keys"), keys);
    let server = file("id-keys-server.sh", &server());
    let config = format!("id_keys_file = '{keys}'\n{TOKENS}args = ['{server}']\n");
    file(&format!("{name}.toml"), &config)
}

/// A call of a client without a session; its answer.
pub(super) fn call(gateway: &Listening, text: &Value) -> String {
    call_tool(gateway, "say", &json!({"text": text}))
}

pub(super) fn call_tool(gateway: &Listening, name: &str, arguments: &Value) -> String {
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": name, "arguments": arguments, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    }});
    let headers = format!(
        "authorization: Bearer s3cret-s3cret-of-ann\r\nmcp-protocol-version: 2026-07-28\r\n\
         mcp-method: tools/call\r\nmcp-name: {name}\r\n"
    );
    let (status, answer) = post(&gateway.address, &headers, &call);
    assert_eq!(status, 200, "{answer}");
    answer
}

/// The id of a call, by its answer.
pub(super) fn id_of(answer: &str) -> &str {
    let (_, id) = answer.split_once(r#"_toolCallId\":\""#).unwrap();
    id.split_once('\\').unwrap().0
}

#[test]
fn ids_are_known_to_every_gateway_that_lists_their_key() {
    let state = directory("id-keys");
    let start = |name: &str, keys: &str| {
        let config = configuration(name, keys);
        Listening::of(&["--config", &config, "--state", state.to_str().unwrap()])
    };
    let [a, b] = ["id-keys-a", "id-keys-b"].map(|name| start(name, ONE));
    let answer = call(&a, &json!("one"));
    let id = id_of(&answer).to_owned();
    assert_eq!(id.len(), 26, "{answer}");
    let reference = json!({"$tool": id});
    let answer = call(&b, &reference);
    assert!(answer.contains("heard heard one"), "{answer}");

    // The key is rotated: first every gateway knows both, then the new one signs, then the old one goes.
    let c = start("id-keys-c", &[ONE, TWO].concat());
    let d = start("id-keys-d", &[TWO, ONE].concat());
    let answer = call(&d, &reference);
    assert!(answer.contains("heard heard one"), "{answer}");
    let next = json!({"$tool": id_of(&answer)});
    let answer = call(&c, &next);
    assert!(answer.contains("heard heard heard one"), "{answer}");
    let e = start("id-keys-e", TWO);
    let answer = call(&e, &next);
    assert!(answer.contains("heard heard heard one"), "{answer}");
    for (gateway, id) in [(&e, &reference), (&a, &next)] {
        let answer = call(gateway, id);
        assert!(answer.contains("result.unknown"), "{answer}");
    }
}

#[test]
fn a_check_says_the_ids_of_keys_and_what_is_wrong_with_them() {
    let name = "id-keys-checked";
    let config = configuration(name, &[TWO, ONE].concat());
    let check = |more: &[&str]| {
        let args = [&["gateway", "--check", "--config", &config], more].concat();
        run(&args, "")
    };
    let checked = check(&[]);
    assert_eq!(checked.status, 0, "{checked:?}");
    let says = "\nids: signed with the key `key-two`, known also by `key-one`\n";
    assert!(checked.out.contains(says), "{checked:?}");
    let report: Value = serde_json::from_str(&check(&["--json"]).out).unwrap();
    assert_eq!(report["ids"], json!(says.trim().strip_prefix("ids: ")));

    let keys = format!("{}/{name}.keys", env!("CARGO_TARGET_TMPDIR"));
    let refused = |says: &str| {
        check_usage(&["gateway", "--config", &config], "", says);
        let Run { status, out, .. } = check(&[]);
        assert_eq!(status, 1, "{out}");
        assert!(out.contains(&format!("\nerror: ids: {says}")), "{out}");
        assert!(!out.contains("s3cret"), "{out}");
        let report: Value = serde_json::from_str(&check(&["--json"]).out).unwrap();
        let error = report["ids_error"].as_str().unwrap();
        assert!(error.starts_with(says), "{error}");
    };
    file(&format!("{name}.keys"), "key-one s3cret\n");
    refused(&format!(
        "`idKeysFile`: `{keys}`: line 1 is not a key: write an id and a key"
    ));
    let many: String = (0..9)
        .map(|at| ONE.replace("key-one", &format!("key-{at}")))
        .collect();
    file(&format!("{name}.keys"), &many);
    refused("`idKeys`: there are 9 keys, of which 8 can be used: remove the earliest ones");
    fs::remove_file(&keys).unwrap();
    refused("`idKeysFile`: cannot read `");
}
