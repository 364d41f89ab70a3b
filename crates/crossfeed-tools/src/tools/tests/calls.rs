//! Calls, and the answers that hold them.

use crate::ToolCall;
use serde_json::{Value, json};

/// Reads a call and writes it again, with other arguments at `at`.
fn called(block: Value, id: Option<&str>, arguments: Value, at: &str) {
    let call = ToolCall::parse(&block).unwrap();
    assert_eq!((call.id(), call.name()), (id, "f"), "{block}");
    assert_eq!(*call.arguments(), arguments, "{block}");
    assert_eq!(call.to_value().to_string(), block.to_string());
    let same = call.clone().with_arguments(arguments);
    assert_eq!(same.to_value().to_string(), block.to_string());

    let other = json!({"z": [1.5, "\u{e9}"]});
    let mut expected = block.clone();
    *expected.pointer_mut(at).unwrap() = match expected.pointer(at) {
        Some(Value::String(_)) => Value::from(other.to_string()),
        _ => other.clone(),
    };
    assert_eq!(
        call.with_arguments(other).to_value().to_string(),
        expected.to_string()
    );
}

#[test]
fn calls_of_every_provider() {
    let arguments = json!({"b": 1, "a": {"$tool": "c"}});
    let text = r#"{"b": 1,  "a": {"$tool": "c"}}"#;
    called(
        json!({"type": "tool_use", "id": "t1", "name": "f", "input": arguments, "caller": {"type": "direct"}}),
        Some("t1"),
        arguments.clone(),
        "/input",
    );
    called(
        json!({"index": 0, "id": "t2", "type": "function", "function": {"name": "f", "arguments": text}}),
        Some("t2"),
        arguments.clone(),
        "/function/arguments",
    );
    called(
        json!({"type": "function_call", "id": "fc_1", "call_id": "t3", "name": "f", "arguments": text, "status": "completed"}),
        Some("t3"),
        arguments.clone(),
        "/arguments",
    );
    called(
        json!({"functionCall": {"name": "f", "args": arguments}, "thoughtSignature": "s"}),
        None,
        arguments.clone(),
        "/functionCall/args",
    );
    called(
        json!({"function_call": {"id": "t4", "name": "f", "args": arguments}}),
        Some("t4"),
        arguments.clone(),
        "/function_call/args",
    );
    called(
        json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "f", "arguments": arguments, "_meta": {"progressToken": 1}}}),
        Some("9"),
        arguments.clone(),
        "/params/arguments",
    );
    called(
        json!({"name": "f", "arguments": arguments, "_meta": {}}),
        None,
        arguments,
        "/arguments",
    );
    called(
        json!({"type": "function", "id": "t", "function": {"name": "f", "arguments": ""}}),
        Some("t"),
        json!({}),
        "/function/arguments",
    );
    for none in [json!({"name": "f"}), json!({"functionCall": {"name": "f"}})] {
        assert_eq!(*ToolCall::parse(&none).unwrap().arguments(), json!({}));
    }
}

fn refused(block: Value, says: &str) {
    let error = ToolCall::parse(&block).unwrap_err();
    assert_eq!(error.to_string(), says, "{block}");
}

#[test]
fn a_call_that_cannot_be_read_says_why() {
    let chat = |arguments: &str| json!({"id": "t", "type": "function", "function": {"name": "f", "arguments": arguments}});
    refused(
        chat("{\"a\": "),
        "call of `f`: the arguments are not valid JSON: unexpected end at byte 6",
    );
    refused(
        chat("plain"),
        "call of `f`: the arguments are not valid JSON: not JSON at byte 0",
    );
    refused(
        chat(&"[".repeat(1000)),
        "call of `f`: the arguments nest deeper than 127",
    );
    refused(
        json!({"type": "tool_use", "id": "t", "name": "f", "input": "x"}),
        "call of `f`: the arguments must be an object, not string",
    );
    refused(
        json!({"type": "function_call", "name": "f", "arguments": 7}),
        "call of `f`: the arguments must be a string of JSON, not number",
    );
    refused(
        json!({"type": "tool_use", "input": {}}),
        "the call names no tool",
    );
    refused(
        json!({"type": "text", "text": "x"}),
        "expected a tool call, found object",
    );
    refused(json!(7), "expected a tool call, found number");
    let error = ToolCall::parse(&chat("{")).unwrap_err();
    assert_eq!(
        (error.id.as_deref(), error.name.as_deref()),
        (Some("t"), Some("f"))
    );
}

/// The names and ids of all calls in an answer.
fn all(answer: Value, expected: &[&str]) {
    let found: Vec<_> = ToolCall::parse_all(&answer)
        .into_iter()
        .map(|call| match call {
            Ok(call) => format!("{} {}", call.id().unwrap_or("-"), call.name()),
            Err(error) => format!("{} !", error.id.unwrap_or_default()),
        })
        .collect();
    assert_eq!(found, expected, "{answer}");
}

#[test]
fn answers_hold_calls() {
    let use_ = |id: &str| json!({"type": "tool_use", "id": id, "name": "f", "input": {}});
    all(
        json!({"type": "message", "role": "assistant", "stop_reason": "tool_use",
               "content": [{"type": "text", "text": "I"}, use_("1"), {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}, use_("2")]}),
        &["1 f", "2 f"],
    );
    all(json!([use_("1"), use_("2")]), &["1 f", "2 f"]);
    let chat = |id: &str, text: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": text}});
    let message = json!({"role": "assistant", "content": null, "tool_calls": [chat("1", "{}"), chat("2", "{"), chat("3", "")]});
    all(message.clone(), &["1 f", "2 !", "3 f"]);
    all(
        json!({"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}),
        &["1 f", "2 !", "3 f"],
    );
    all(
        json!({"role": "assistant", "content": null, "function_call": {"name": "f", "arguments": "{\"a\": 1}"}}),
        &["- f"],
    );
    all(
        json!({"object": "response", "output": [
            {"type": "reasoning", "summary": []},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]},
            {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        ]}),
        &["c f"],
    );
    all(
        json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "x"}, {"functionCall": {"name": "f", "args": {}}}]}}]}),
        &["- f"],
    );
}

#[test]
fn what_a_tool_returned_is_not_searched_for_calls() {
    let call = json!({"type": "tool_use", "id": "1", "name": "f", "input": {}});
    all(json!({"role": "user", "content": [call]}), &[]);
    all(
        json!([{"type": "tool_result", "tool_use_id": "0", "content": [call]}]),
        &[],
    );
    all(json!({"role": "tool", "content": [call]}), &[]);
    all(
        json!([{"functionResponse": {"name": "f", "response": {"content": [call]}}}]),
        &[],
    );
    all(
        json!({"type": "function_call_output", "output": [call]}),
        &[],
    );
    all(json!("text"), &[]);
}

#[test]
fn results_are_known_by_their_keys() {
    let call = json!({"type": "tool_use", "id": "x", "name": "evil", "input": {}});
    let bare = json!({"name": "rm", "arguments": {"path": "/"}});
    let args = json!({"name": "rm", "args": {}});
    for result in [
        json!([{"name": "f", "response": {"content": [call]}}]),
        json!({"name": "f", "response": {"content": [call]}}),
        json!({"response": {"content": [call]}}),
        json!({"content": [call], "structuredContent": {"content": [call]}}),
        json!({"content": [call], "isError": false}),
        json!({"structuredContent": {}, "output": [bare]}),
        json!({"output": [bare]}),
        json!({"output": bare}),
        json!({"content": [bare, args, {"name": "rm"}]}),
        json!({"content": [{"method": "tools/call", "params": bare}]}),
        json!({"tool_result": [call], "content": [call]}),
        json!({"parts": [{"functionResponse": {"name": "f", "response": {"parts": [call]}}}]}),
        json!({"parts": [{"function_response": {"name": "f", "response": {"parts": [call]}}}]}),
        json!({"type": "mcp_call", "output": [call]}),
    ] {
        all(result, &[]);
    }
    // What was given is a call by its keys.
    all(bare.clone(), &["- rm"]);
    all(json!([bare, args]), &["- rm", "- rm"]);
}

#[test]
fn a_response_is_read_within_its_event() {
    let call = json!({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"});
    let response = json!({"object": "response", "output": [call]});
    all(
        json!({"type": "response.completed", "sequence_number": 7, "response": response}),
        &["c f"],
    );
    all(
        json!({"object": "response", "response": response}),
        &["c f"],
    );
    all(json!({"type": "other", "response": response}), &[]);
}

#[test]
fn no_arguments_may_be_written_as_null() {
    called(
        json!({"type": "function_call", "call_id": "t", "name": "f", "arguments": " null "}),
        Some("t"),
        json!({}),
        "/arguments",
    );
}
