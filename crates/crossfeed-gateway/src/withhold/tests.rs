use super::{
    ExpectedReplies, Judge,
    message::{self, NO_ROOM, Reply, TOO_LARGE, Verdict},
};
use crate::{
    budget::{Account, Budget, Purpose},
    message::{Id, Message},
    metrics::Metrics,
    principal::Principal,
};
use crossfeed_json::indexing_bytes;
use crossfeed_projection::RevealRules;
use serde_json::{Value, json};
use std::sync::Arc;
use tokio::sync::watch;

fn rules() -> Arc<RevealRules> {
    Arc::new(RevealRules::parse([""; 0], ["password", "owner.mail"]).unwrap())
}

fn judged(message: Value, reply: Reply) -> Value {
    let message = Message::parse(message.to_string()).unwrap();
    serde_json::from_slice(&passed(message, reply).to_bytes()).unwrap()
}

#[track_caller]
fn passed(message: Message, reply: Reply) -> Message {
    match message::judged(message, reply, &rules(), None) {
        Verdict::Passes(message) => message,
        other => panic!("{other:?}"),
    }
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

/// Also where the protocol's own member is what went.
#[test]
fn no_server_keeps_a_cut_result_from_saying_so() {
    let odd = json!(["password: S"]);
    let mark = json!({"k": 1, "dev.crossfeed/withheld": true});
    for claim in [json!({"k": 1}), mark.clone()] {
        check(
            "tools/call",
            json!({"content": [], "resultType": odd, "_meta": claim}),
            json!({"content": [], "resultType": ["[withheld]"], "_meta": mark}),
        );
    }
}

/// Each is judged as what it is, so there are few; what stands deeper goes.
#[test]
fn tasks_stand_within_each_other_a_few_times() {
    let nested = |levels: usize| {
        let end = json!({"content": [text("hello")]});
        (0..levels).fold(end, |inner, level| match level % 2 {
            0 => json!({"content": [], "task": inner}),
            _ => json!({"taskId": "t", "status": "completed", "result": inner}),
        })
    };
    for method in ["tools/call", "tasks/get"] {
        check(method, nested(3), nested(3));
        for levels in [5, 101] {
            let message = json!({"jsonrpc": "2.0", "id": 1, "result": nested(levels)});
            let left = judged(message, Reply::to(method)).to_string();
            assert!(!left.contains("hello"), "{left}");
        }
    }
}

#[test]
fn a_key_that_stands_twice_hides_nothing() {
    let raw = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"password":"S"},"structuredContent":{"n":1}}}"#;
    let message = Message::parse(raw).unwrap();
    let judged = passed(message, Reply::ToolResult);
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
fn resources_and_prompts_are_cut_and_say_so() {
    let mark = json!({"dev.crossfeed/withheld": true});
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
        ], "_meta": mark}),
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
        ], "_meta": mark}),
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

/// A message that is read, and whose body nests deeper than is judged.
fn deep(envelope: &str, body: &str) -> Message {
    let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    let body = body.replace("DEEP", &deep);
    Message::parse(format!(r#"{{"jsonrpc":"2.0",{envelope}:{body}}}"#)).unwrap()
}

#[test]
fn whoever_waits_for_what_cannot_be_judged_gets_an_answer() {
    let result = deep(r#""id":1,"result""#, r#"{"structuredContent":DEEP}"#);
    let shown = passed(result, Reply::ToolResult).to_bytes();
    let shown: Value = serde_json::from_slice(&shown).unwrap();
    assert_eq!(shown["result"]["isError"], json!(true));
    let result = deep(r#""id":1,"result""#, r#"{"contents":DEEP}"#);
    let error = deep(r#""id":1,"error""#, r#"{"code":-1,"data":DEEP}"#);
    for (message, reply) in [(result, Reply::Resource), (error, Reply::ToolResult)] {
        let shown = passed(message, reply).to_bytes();
        let shown: Value = serde_json::from_slice(&shown).unwrap();
        assert_eq!(shown["id"], json!(1));
        let text = shown["error"]["message"].as_str().unwrap();
        assert!(text.starts_with("limit.exceeded: "), "{text}");
    }
    let request = deep(r#""id":"r","method":"ping","params""#, "DEEP");
    match message::judged(request, Reply::ToolResult, &rules(), None) {
        Verdict::Answered(answer) => assert_eq!(&answer.id().unwrap().raw()[..], b"\"r\""),
        other => panic!("{other:?}"),
    }
    let told = deep(r#""method":"notifications/x","params""#, "DEEP");
    let judged = message::judged(told, Reply::ToolResult, &rules(), None);
    assert!(matches!(judged, Verdict::Dropped), "{judged:?}");
}

/// Judges that nothing is left of what is withheld, in any of the messages that a server may put it in.
#[track_caller]
fn check_secret(message: Value, reply: Reply) {
    let mut message = message;
    message["jsonrpc"] = json!("2.0");
    let shown = judged(message.clone(), reply).to_string();
    assert!(!shown.contains("S3CR3T"), "{message} shows {shown}");
}

#[test]
fn members_of_the_protocol_are_judged_where_they_are_of_another_kind() {
    let named = json!({"password": "S3CR3T"});
    let said = json!("password: S3CR3T");
    let written = json!(named.to_string());
    for secret in [named, said, written] {
        let listed = json!([secret]);
        let sampling =
            |params: Value| json!({"method": "sampling/createMessage", "params": params});
        for requests in [
            json!([{"method": "elicitation/create", "params": {"message": secret}}]),
            json!({"q": secret}),
            json!({"q": {"method": "roots/list", "params": secret}}),
            json!({"q": {"method": "elicitation/create", "params": listed}}),
            json!({"q": sampling(json!({"messages": secret}))}),
            json!({"q": sampling(json!({"messages": listed}))}),
            json!({"q": sampling(json!({"messages": [], "tools": listed}))}),
        ] {
            let question = json!({"resultType": "input_required", "inputRequests": requests});
            check_secret(json!({"id": 1, "result": question}), Reply::ToolResult);
            let task = json!({"taskId": "t", "requestState": secret, "inputRequests": requests});
            // A state that is a text only names something.
            if !secret.is_string() {
                check_secret(json!({"id": 1, "result": task}), Reply::Task);
            }
        }
        for error in [secret.clone(), listed.clone(), json!({"code": secret})] {
            check_secret(json!({"id": 1, "error": error}), Reply::ToolResult);
        }
        for key in ["role", "content"] {
            let prompt = json!({"messages": [{key: secret}]});
            check_secret(json!({"id": 1, "result": prompt}), Reply::Prompt);
        }
        for key in [
            "messages",
            "tools",
            "maxTokens",
            "description",
            "resultType",
        ] {
            for value in [&secret, &listed] {
                check_secret(json!({"id": 1, "result": {key: value}}), Reply::Prompt);
            }
        }
        for key in ["contents", "ttlMs", "resultType", "cacheScope"] {
            check_secret(json!({"id": 1, "result": {key: secret}}), Reply::Resource);
        }
        check_secret(
            json!({"id": 1, "result": {"contents": listed}}),
            Reply::Resource,
        );
        for key in [
            "status",
            "ttl",
            "createdAt",
            "tasks",
            "pollInterval",
            "statusMessage",
        ] {
            check_secret(json!({"id": 1, "result": {key: secret}}), Reply::Task);
        }
        for reply in [
            Reply::ToolResult,
            Reply::Task,
            Reply::Resource,
            Reply::Prompt,
        ] {
            check_secret(json!({"id": 1, "result": secret}), reply);
            check_secret(json!({"id": 1, "result": listed}), reply);
        }
        for params in [
            listed.clone(),
            json!({"level": secret}),
            json!({"progress": secret}),
        ] {
            check_secret(
                json!({"method": "notifications/message", "params": params}),
                Reply::ToolResult,
            );
        }
        check_secret(
            json!({"method": "notifications/message", "params": {"level": "info", "data": listed}}),
            Reply::ToolResult,
        );
        if secret.is_object() {
            for key in ["logger", "uri", "progressToken", "notifications"] {
                check_secret(
                    json!({"method": "notifications/x", "params": {key: secret}}),
                    Reply::ToolResult,
                );
            }
            for method in ["roots/list", "ping", "x/y"] {
                check_secret(
                    json!({"id": 1, "method": method, "params": secret}),
                    Reply::ToolResult,
                );
            }
            let schema =
                json!({"type": "object", "properties": {"password": {"default": "S3CR3T"}}});
            for schema in [schema, secret] {
                let params = json!({"message": "m", "requestedSchema": schema});
                check_secret(
                    json!({"id": 1, "method": "elicitation/create", "params": params}),
                    Reply::ToolResult,
                );
            }
        }
    }
}

/// Found by the property below.
#[test]
fn names_that_a_server_chooses_are_no_way_around() {
    for secret in [json!("S3CR3T"), json!(["S3CR3T"]), json!({"n": ["S3CR3T"]})] {
        let requests = json!({"Password": secret, "id": 1});
        for reply in [Reply::Task, Reply::ToolResult] {
            let result = json!({"resultType": "input_required", "inputRequests": requests});
            check_secret(json!({"id": 1, "result": result}), reply);
        }
        let properties = json!({"Password": secret, "other": {"type": "string"}});
        let params = json!({"message": "m", "requestedSchema": {"properties": properties}});
        check_secret(
            json!({"id": 1, "method": "elicitation/create", "params": params}),
            Reply::ToolResult,
        );
    }
    let field = json!({"type": "string", "title": "New one", "minLength": 8, "enum": ["a"]});
    let form = |field: Value| json!({"message": "m", "requestedSchema": {"properties": {"password": field}}});
    check_params(
        json!({"id": 1, "method": "elicitation/create", "params": form(field)}),
        form(json!({"type": "string", "title": "New one", "minLength": 8})),
    );
}

/// Places of a message where a value could stand that nobody judges by its name.
#[test]
fn no_place_is_left_out() {
    let said = "{\"password\":\"S3CR3T\"}";
    let field = json!({"type": "string", "default": "S3CR3T", "minLength": 8});
    let schema = |schema: Value| json!({"id": 1, "method": "elicitation/create", "params": {"message": "m", "requestedSchema": schema}});
    for message in [
        schema(
            json!({"properties": {"password": {"$ref": "#/$defs/own"}}, "$defs": {"own": field}}),
        ),
        schema(json!({"patternProperties": {"^password$": field}})),
        schema(json!({"properties": ["password: S3CR3T"]})),
        schema(json!({"properties": {"password": {"type": ["string", "password: S3CR3T"]}}})),
        json!({"id": 1, "result": {"resultType": "input_required", "inputRequests": {said: {"method": "roots/list"}}}}),
        json!({"id": 1, "result": {"content": [], "task": {"taskId": "t", "status": "working", "statusMessage": "password: S3CR3T"}}}),
        json!({"id": 1, "result": {"content": [], "resultType": ["password: S3CR3T"]}}),
        json!({"id": 1, "result": {"content": [{"type": "resource_link", "name": "n", "uri": said}]}}),
        json!({"id": 1, "result": {"content": [{"type": "resource", "resource": {"text": "", "uri": format!("data:,{said}")}}]}}),
    ] {
        check_secret(message, Reply::ToolResult);
    }
}

#[test]
fn requests_for_input_take_no_result_out_of_its_rules() {
    check(
        "tools/call",
        json!({"inputRequests": {}, "content": [], "structuredContent": {"owner": {"mail": "S", "n": 1}}}),
        json!({
            "inputRequests": {}, "content": [], "structuredContent": {"owner": {"n": 1}},
            "_meta": {"dev.crossfeed/withheld": true},
        }),
    );
}

#[test]
fn the_words_of_the_protocol_stay_though_rules_name_them() {
    let names = [
        "user", "working", "info", "complete", "form", "status", "code",
    ];
    let rules = Arc::new(RevealRules::parse([""; 0], names).unwrap());
    for (message, reply) in [
        (
            json!({"id": 1, "result": {"messages": [{"role": "user", "content": text("a")}]}}),
            Reply::Prompt,
        ),
        (
            json!({"id": 1, "result": {"task": {"taskId": "user/1", "status": "working"}}}),
            Reply::ToolResult,
        ),
        (
            json!({"id": 1, "result": {"resultType": "complete", "contents": []}}),
            Reply::Resource,
        ),
        (
            json!({"id": 1, "error": {"code": -1, "message": "no"}}),
            Reply::ToolResult,
        ),
        (
            json!({"method": "notifications/message", "params": {"level": "info", "data": 1}}),
            Reply::ToolResult,
        ),
        (
            json!({"method": "notifications/resources/updated", "params": {"uri": "x://user"}}),
            Reply::ToolResult,
        ),
    ] {
        let mut message = message;
        message["jsonrpc"] = json!("2.0");
        let message = Message::parse(message.to_string()).unwrap();
        let came = message.to_bytes();
        match message::judged(message, reply, &rules, None) {
            Verdict::Passes(message) => assert_eq!(message.to_bytes(), came),
            other => panic!("{other:?}"),
        }
    }
}

mod any_message {
    use super::*;
    use proptest::{collection::vec, prelude::*, sample::select};

    const METHODS: [&str; 9] = [
        "ping",
        "roots/list",
        "sampling/createMessage",
        "elicitation/create",
        "notifications/message",
        "notifications/progress",
        "notifications/tasks/status",
        "notifications/resources/updated",
        "x/y",
    ];
    const KEYS: [&str; 52] = [
        "content",
        "contents",
        "structuredContent",
        "isError",
        "_meta",
        "type",
        "text",
        "resource",
        "blob",
        "data",
        "mimeType",
        "uri",
        "name",
        "title",
        "description",
        "annotations",
        "resultType",
        "inputRequests",
        "requestState",
        "q",
        "method",
        "params",
        "mode",
        "message",
        "requestedSchema",
        "properties",
        "elicitationId",
        "url",
        "task",
        "tasks",
        "taskId",
        "status",
        "statusMessage",
        "createdAt",
        "ttl",
        "result",
        "error",
        "code",
        "messages",
        "role",
        "systemPrompt",
        "tools",
        "toolChoice",
        "maxTokens",
        "ttlMs",
        "cacheScope",
        "nextCursor",
        "level",
        "logger",
        "progress",
        "reason",
        "value",
    ];
    const WORDS: [&str; 9] = [
        "input_required",
        "task",
        "complete",
        "user",
        "text",
        "resource",
        "elicitation/create",
        "sampling/createMessage",
        "hello",
    ];

    /// JSON of the protocol's members in any shape, in which `secret` stands.
    fn value(secret: Option<Value>) -> impl Strategy<Value = Value> {
        let secret = secret.unwrap_or(json!("plain"));
        let leaf = prop_oneof![
            4 => Just(secret),
            3 => select(&WORDS[..]).prop_map(Value::from),
            1 => Just(json!(1)),
            1 => Just(Value::Null),
        ];
        leaf.prop_recursive(6, 40, 4, |inner| {
            prop_oneof![
                1 => vec(inner.clone(), 0..3).prop_map(Value::from),
                4 => vec((select(&KEYS[..]), inner), 0..5)
                    .prop_map(|members| members.into_iter().collect::<Value>()),
            ]
        })
    }

    fn message(secret: Option<Value>) -> impl Strategy<Value = (Message, Reply)> {
        let replies = [
            Reply::ToolResult,
            Reply::Resource,
            Reply::Prompt,
            Reply::Task,
        ];
        (
            0..4,
            value(secret),
            select(&METHODS[..]),
            select(replies.to_vec()),
        )
            .prop_map(|(kind, body, method, reply)| {
                let message = match kind {
                    0 => json!({"jsonrpc": "2.0", "id": 1, "result": body}),
                    1 => json!({"jsonrpc": "2.0", "id": 1, "error": body}),
                    2 => json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": body}),
                    _ => json!({"jsonrpc": "2.0", "method": method, "params": body}),
                };
                (Message::parse(message.to_string()).unwrap(), reply)
            })
    }

    fn secret() -> impl Strategy<Value = Value> {
        select(vec![
            json!({"password": "S3CR3T"}),
            json!({"Password": {"n": ["S3CR3T"]}, "id": 1}),
            json!([{"password": "S3CR3T"}]),
            json!({"password": {"enum": ["S3CR3T"], "type": "string"}}),
            json!({"password": {"anyOf": [["S3CR3T"]], "type": ["string", {"n": "S3CR3T"}]}}),
        ])
    }

    proptest! {
        #[test]
        fn shows_nothing_that_is_withheld((message, reply) in secret().prop_flat_map(|own| message(Some(own)))) {
            let came = message.to_bytes();
            if let Verdict::Passes(shown) = message::judged(message, reply, &rules(), None) {
                let shown = shown.to_bytes();
                let shown = String::from_utf8_lossy(&shown);
                prop_assert!(!shown.contains("S3CR3T"), "{came:?} shows {shown}");
            }
        }

        #[test]
        fn stays_as_it_is_where_nothing_is_withheld((message, reply) in message(None)) {
            let came = message.to_bytes();
            prop_assert_eq!(passed(message, reply).to_bytes(), came);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_large_message_is_judged_where_there_is_room() {
    let zeros = vec![0; 100_000];
    let result = json!({"content": [], "structuredContent": {"password": "S", "n": zeros}});
    let reply = json!({"jsonrpc": "2.0", "id": 1, "result": result}).to_string();
    for (limit, taken, refused) in [
        (1 << 20, 0, Some(TOO_LARGE)),
        (8 << 20, 7 << 20, Some(NO_ROOM)),
        (8 << 20, 0, None),
    ] {
        let budget = Budget::new(limit, 0, 1, &Metrics::new());
        let account = budget.account(&Principal::Local);
        let other = account.charge(taken, Purpose::Answer).unwrap();
        let judge = judge(&account);
        let message = Message::parse(reply.clone()).unwrap();
        let Verdict::Passes(message) = judge.judged(message).await else {
            panic!("nobody is answered");
        };
        let shown: Value = serde_json::from_slice(&message.result().unwrap()).unwrap();
        drop(other);
        match refused {
            Some(why) => assert_eq!(
                shown,
                json!({"content": [text(why)], "isError": true}),
                "{limit}"
            ),
            None => {
                assert!(shown["structuredContent"]["password"].is_null());
                // What is left takes room for as long as it is there.
                assert!(budget.held() >= 200_000 && budget.held() <= 250_000);
            }
        }
        drop(message);
        assert_eq!(budget.held(), 0, "{limit}");
    }
}

/// Nothing of a list is taken out, so nothing is written.
#[tokio::test(start_paused = true)]
async fn a_large_list_takes_room_for_its_index_alone() {
    let long = "x".repeat(1 << 20);
    let result = json!({"tools": [{"name": "login", "description": long}]});
    let reply = json!({"jsonrpc": "2.0", "id": 1, "result": result}).to_string();
    let result = result.to_string();
    let budget = Budget::new(indexing_bytes(result.as_bytes()), 0, 1, &Metrics::new());
    let judge = judge(&budget.account(&Principal::Local));
    let list = Message::request(&Id::number(1), "tools/list", None);
    judge.asked.note(&list);
    let Verdict::Passes(message) = judge.judged(Message::parse(reply).unwrap()).await else {
        panic!("nobody is answered");
    };
    assert!(message.result().as_deref() == Some(result.as_bytes()));
    assert_eq!(budget.held(), 0);
}

fn judge(account: &Arc<Account>) -> Judge {
    Judge {
        rules: rules(),
        account: Some(Arc::clone(account)),
        asked: Arc::new(ExpectedReplies::default()),
        connection: watch::channel(None).1,
    }
}
