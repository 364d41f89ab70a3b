use super::message::{self, Reply};
use crate::message::Message;
use crossfeed_projection::RevealRules;
use serde_json::{Value, json};
use std::sync::Arc;

fn rules() -> Arc<RevealRules> {
    Arc::new(RevealRules::parse([""; 0], ["password", "owner.mail"]).unwrap())
}

fn judged(message: Value, reply: Reply) -> Value {
    let message = Message::parse(message.to_string()).unwrap();
    let judged = message::judged(message, reply, &rules()).unwrap();
    serde_json::from_slice(&judged.to_bytes()).unwrap()
}

/// What is left of the result of a request for `method`.
#[track_caller]
fn check(method: &str, result: Value, expected: Value) {
    let message = json!({"jsonrpc": "2.0", "id": 1, "result": result});
    let judged = judged(message, Reply::to(method));
    assert_eq!(judged["result"], expected, "{method}");
}

#[track_caller]
fn check_params(message: Value, expected: Value) {
    let mut message = message;
    message["jsonrpc"] = json!("2.0");
    let judged = judged(message, Reply::ToolResult);
    assert_eq!(judged["params"], expected);
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

#[test]
fn tool_results_are_cut_and_say_so() {
    let mark = json!({"dev.crossfeed/withheld": true});
    check(
        "tools/call",
        json!({
            "content": [text(r#"{"Password":"S","n":1}"#), text("its password is S"), text("hello")],
            "structuredContent": {"password": "S", "owner": {"mail": "S", "name": "a"}},
            "_meta": {"k": 1},
        }),
        json!({
            // A text that may repeat what went says what is left.
            "content": [text(r#"{"owner":{"name":"a"}}"#)],
            "structuredContent": {"owner": {"name": "a"}},
            "_meta": {"k": 1, "dev.crossfeed/withheld": true},
        }),
    );
    check(
        "tools/call",
        json!({"content": [text("{'p\\x61ssword': 'S'}")], "isError": true}),
        json!({"content": [text("[withheld]")], "isError": true, "_meta": mark}),
    );
    // Also of a request that is not known, and of a result that is none.
    check(
        "x/y",
        json!({"deep": [{"PASSWORD": "S", "n": 1}]}),
        json!({"deep": [{"n": 1}], "_meta": mark}),
    );
    // Nothing is changed where nothing is named, and no server may say that something was.
    let other = json!({"content": [text("hello")], "_meta": {"k": 1}});
    check("tools/call", other.clone(), other);
    check(
        "tools/call",
        json!({"content": [], "_meta": {"dev.crossfeed/withheld": true}}),
        json!({"content": [], "_meta": {}}),
    );
}

#[test]
fn a_key_that_stands_twice_hides_nothing() {
    let raw = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"password":"S"},"structuredContent":{"n":1}}}"#;
    let message = Message::parse(raw).unwrap();
    let judged = message::judged(message, Reply::ToolResult, &rules()).unwrap();
    let judged = judged.to_bytes();
    assert!(
        !judged.windows(3).any(|part| part == b"\"S\""),
        "{judged:?}"
    );
}

#[test]
fn members_beside_the_envelope_do_not_pass() {
    let beside = json!({"jsonrpc": "2.0", "id": 1, "result": {}, "debug": {"password": "S"}});
    let judged_result = judged(beside, Reply::ToolResult);
    assert_eq!(
        judged_result,
        json!({"jsonrpc": "2.0", "id": 1, "result": {}})
    );
    let beside = json!({"jsonrpc": "2.0", "method": "notifications/x", "debug": "password: S"});
    let judged_notice = judged(beside, Reply::ToolResult);
    assert_eq!(
        judged_notice,
        json!({"jsonrpc": "2.0", "method": "notifications/x"})
    );
    let error = json!({"code": -1, "message": "no"});
    let beside = json!({"jsonrpc": "2.0", "id": 1, "error": error, "debug": "password: S"});
    let judged_error = judged(beside, Reply::ToolResult);
    assert_eq!(
        judged_error,
        json!({"jsonrpc": "2.0", "id": 1, "error": error})
    );
}

#[test]
fn lists_name_fields_and_stay() {
    let tools =
        json!({"tools": [{"name": "login", "inputSchema": {"properties": {"password": {}}}}]});
    check("tools/list", tools.clone(), tools);
}

#[test]
fn resources_and_prompts_are_cut() {
    check(
        "resources/read",
        json!({"contents": [
            {"uri": "x://a", "mimeType": "application/json", "text": r#"{"password":"S","n":1}"#},
            {"uri": "x://b", "text": "password = S"},
            {"uri": "x://c", "blob": "eyJwYXNzd29yZCI6IlMiLCJuIjoxfQ=="},
        ]}),
        json!({"contents": [
            {"uri": "x://a", "mimeType": "application/json", "text": r#"{"n":1}"#},
            {"uri": "x://b", "text": "[withheld]"},
            {"uri": "x://c", "blob": "eyJuIjoxfQ=="},
        ]}),
    );
    let plain = json!({"contents": [{"uri": "x://a", "text": "hello"}]});
    check("resources/read", plain.clone(), plain);
    check(
        "prompts/get",
        json!({"description": "the password", "messages": [
            {"role": "user", "content": text(r#"{"password":"S"}"#)},
            {"role": "user", "content": [text("hello"), text("password: S")]},
        ]}),
        json!({"description": "[withheld]", "messages": [
            {"role": "user", "content": text("{}")},
            {"role": "user", "content": [text("hello"), text("[withheld]")]},
        ]}),
    );
}

#[test]
fn tasks_are_cut_and_keep_what_the_protocol_reads() {
    check(
        "tools/call",
        json!({"task": {"taskId": "t", "status": "working", "statusMessage": "password: S"}}),
        json!({"task": {"taskId": "t", "status": "working", "statusMessage": "[withheld]"}}),
    );
    check(
        "tasks/get",
        json!({"taskId": "t", "status": "completed", "result": {"content": [], "structuredContent": {"password": "S"}}}),
        json!({"taskId": "t", "status": "completed", "result": {
            "content": [], "structuredContent": {}, "_meta": {"dev.crossfeed/withheld": true},
        }}),
    );
    check(
        "tasks/list",
        json!({"tasks": [{"taskId": "t", "x": {"password": "S"}}], "nextCursor": "c"}),
        json!({"tasks": [{"taskId": "t", "x": {}}], "nextCursor": "c"}),
    );
    check_params(
        json!({"method": "notifications/tasks/status", "params": {"taskId": "t", "password": "S"}}),
        json!({"taskId": "t"}),
    );
}

#[test]
fn questions_are_cut_unless_their_state_holds_what_is_withheld() {
    let question = |state: &str| {
        json!({
            "resultType": "input_required",
            "requestState": state,
            "inputRequests": {"q": {"method": "elicitation/create", "params": {
                "message": "your password was S",
                "requestedSchema": {"type": "object", "properties": {"password": {"type": "string"}}},
            }}},
        })
    };
    let mut expected = question("opaque");
    expected["inputRequests"]["q"]["params"]["message"] = json!("[withheld]");
    check("tools/call", question("opaque"), expected);
    let message = json!({"jsonrpc": "2.0", "id": 1, "result": question(r#"{"password":"S"}"#)});
    let refused = judged(message, Reply::ToolResult);
    assert_eq!(refused["result"]["isError"], json!(true), "{refused}");
    assert!(!refused.to_string().contains("\"S"), "{refused}");
}

#[test]
fn errors_requests_and_notifications_are_cut() {
    let error = json!({"code": -32000, "message": "password S is wrong", "data": {"password": "S", "n": 1}});
    let message = json!({"jsonrpc": "2.0", "id": 1, "error": error});
    let judged_error = judged(message, Reply::ToolResult);
    let expected = json!({"code": -32000, "message": "[withheld]", "data": {"n": 1}});
    assert_eq!(judged_error["error"], expected);
    check_params(
        json!({"id": 1, "method": "sampling/createMessage", "params": {
            "messages": [{"role": "user", "content": text(r#"{"password":"S"}"#)}],
            "systemPrompt": "password: S", "maxTokens": 5,
        }}),
        json!({
            "messages": [{"role": "user", "content": text("{}")}],
            "systemPrompt": "[withheld]", "maxTokens": 5,
        }),
    );
    check_params(
        json!({"method": "notifications/message", "params": {"level": "info", "data": {"password": "S", "n": 1}}}),
        json!({"level": "info", "data": {"n": 1}}),
    );
    check_params(
        json!({"method": "notifications/progress", "params": {"progressToken": 1, "progress": 2, "message": "password: S"}}),
        json!({"progressToken": 1, "progress": 2, "message": "[withheld]"}),
    );
    check_params(
        json!({"method": "notifications/other", "params": {"password": "S", "x": [{"password": "S"}]}}),
        json!({"x": [{}]}),
    );
}

#[test]
fn what_cannot_be_judged_is_withheld() {
    let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    let raw = format!(
        r#"{{"jsonrpc":"2.0","id":1,"result":{{"content":[],"structuredContent":{{"a":{deep}}}}}}}"#
    );
    // A message that nests so deep may not even be read.
    if let Ok(message) = Message::parse(raw) {
        let judged = message::judged(message, Reply::ToolResult, &rules()).unwrap();
        let judged: Value = serde_json::from_slice(&judged.to_bytes()).unwrap();
        assert_eq!(judged["result"]["isError"], json!(true));
    }
}
