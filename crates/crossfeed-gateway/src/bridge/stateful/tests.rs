use crate::{
    Revision,
    bridge::{
        StatefulBridge,
        tests::{Talk, Told, text},
    },
    message::{Header, Id, Message},
    upstream::{Event, UpstreamError},
};
use proptest::prelude::*;
use std::{collections::BTreeMap, sync::Arc};

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"roots":{ "listChanged":true}},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}"#;

fn with_level(level: &str) -> String {
    format!(r#"{META},"io.modelcontextprotocol/logLevel":"{level}"}}"#)
}

async fn connected() -> Talk {
    Talk::over(|server| Arc::new(StatefulBridge { server })).await
}

/// A session that has begun, with a server that has these capabilities.
async fn begun(capabilities: &str) -> Talk {
    let mut talk = connected().await;
    talk.client(r#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{},"roots":{ "listChanged":true}},"clientInfo":{"name":"c","version":"1"}}}"#).await;
    assert!(matches!(
        talk.told().await,
        Told::Speak(Revision::V2026_07_28)
    ));
    talk.server_gets(&format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{{{META}}}}}}}"#
    ))
    .await;
    talk.server(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{capabilities},"ttlMs":0,"cacheScope":"private","instructions":"Do.","_meta":{{"io.modelcontextprotocol/serverInfo":{{"name":"s","version":"2"}}}}}}}}"#)).await;
    talk.client_gets(&format!(r#"{{"jsonrpc":"2.0","id":"i","result":{{"capabilities":{capabilities},"instructions":"Do.","protocolVersion":"2025-11-25","serverInfo":{{"name":"s","version":"2"}}}}}}"#)).await;
    talk.client(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
    talk
}

#[tokio::test(start_paused = true)]
async fn a_request_says_who_asks_and_its_result_is_as_a_session_has_it() {
    let mut talk = begun(r#"{"tools":{},"logging":{}}"#).await;
    talk.client(r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#)
        .await;
    let meta = with_level("info");
    talk.server_gets(&format!(
        r#"{{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{{{meta}}}}}"#
    ))
    .await;
    talk.server(r#"{"jsonrpc":"2.0","id":3,"result":{ "tools":[1.50], "resultType":"complete","ttlMs":0 } , "x": 1}"#).await;
    talk.client_gets(r#"{"jsonrpc":"2.0","id":7,"result":{ "tools":[1.50],"ttlMs":0 } , "x": 1}"#)
        .await;

    talk.client(
        r#"{"jsonrpc":"2.0","id":8,"method":"logging/setLevel","params":{"level":"error"}}"#,
    )
    .await;
    talk.client_gets(r#"{"jsonrpc":"2.0","id":8,"result":{}}"#)
        .await;
    talk.client(r#"{"jsonrpc":"2.0","id":9,"method":"ping"}"#)
        .await;
    talk.client_gets(r#"{"jsonrpc":"2.0","id":9,"result":{}}"#)
        .await;

    talk.client(r#"{"jsonrpc":"2.0","id":10,"method":"x/y","params":{"a": 1, "_meta": {"progressToken": 5}}}"#).await;
    let meta = with_level("error").replacen('{', r#"{"progressToken": 5,"#, 1);
    let expected =
        format!(r#"{{"jsonrpc":"2.0","id":5,"method":"x/y","params":{{"a": 1, {meta}}}}}"#)
            .replacen(r#""_meta":"#, r#""_meta": "#, 1);
    talk.server_gets(&expected).await;
    talk.server_for(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":5,"progress":1}}"#, Some(5)).await;
    match talk.event().await {
        Event::Message { related, .. } => assert_eq!(related.unwrap().to_string(), "10"),
        event => panic!("{event:?}"),
    }
    talk.server(r#"{"jsonrpc":"2.0","id":5,"result":{"resultType":"odd"}}"#)
        .await;
    talk.client_gets(r#"{"jsonrpc":"2.0","id":10,"result":{"resultType":"odd"}}"#)
        .await;
    talk.silence().await;
}

/// What becomes of a request that the bridge answers by itself.
async fn check_refused(request: &str, expected: &str) {
    let mut talk = begun("{}").await;
    talk.client(&format!(r#"{{"jsonrpc":"2.0","id":"r",{request}}}"#))
        .await;
    talk.client_gets(&format!(
        r#"{{"jsonrpc":"2.0","id":"r","error":{expected}}}"#
    ))
    .await;
    talk.silence().await;
}

#[tokio::test(start_paused = true)]
async fn what_neither_side_has_is_refused() {
    for method in [
        "server/discover",
        "subscriptions/listen",
        "tasks/get",
        "logging/setLevel",
        "resources/subscribe",
    ] {
        check_refused(
            &format!(r#""method":"{method}","params":{{"level":"info","uri":"a:"}}"#),
            &format!(r#"{{"code":-32601,"message":"Method not found: {method}"}}"#),
        )
        .await;
    }
    check_refused(
        r#""method":"x","params":[1]"#,
        r#"{"code":-32602,"message":"the parameters are not an object"}"#,
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn errors_keep_code_and_data_and_a_missing_resource_its_own_code() {
    let mut talk = begun("{}").await;
    for (id, error, expected) in [
        (
            3,
            r#"{"code":-32602,"message":"m","data":{"uri":"a:"}}"#,
            r#"{"code":-32002,"message":"m","data":{"uri":"a:"}}"#,
        ),
        (
            5,
            r#"{"code":-32602,"message":"m"}"#,
            r#"{"code":-32602,"message":"m"}"#,
        ),
        (
            7,
            r#"{"code":-32021,"message":"m","data":[1.0]}"#,
            r#"{"code":-32021,"message":"m","data":[1.0]}"#,
        ),
    ] {
        talk.client(
            r#"{"jsonrpc":"2.0","id":"r","method":"resources/read","params":{"uri":"a:"}}"#,
        )
        .await;
        talk.told().await;
        talk.server(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#))
            .await;
        talk.client_gets(&format!(
            r#"{{"jsonrpc":"2.0","id":"r","error":{expected}}}"#
        ))
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_server_asks_for_goes_to_the_client_and_its_answer_with_the_request() {
    let mut talk = begun("{}").await;
    let header = [Header::new("Mcp-Param-a", "1")];
    let call = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t"}}"#;
    let call = Message::parse(call).unwrap();
    talk.bridge.send(call, &header).await.unwrap();
    talk.told().await;
    talk.server(r#"{"jsonrpc":"2.0","id":3,"result":{"resultType":"input_required","requestState":"s\n","inputRequests":{"a\"":{"method":"elicitation/create","params":{"message": "m"}},"b":{"method":"roots/list"}}}}"#).await;
    talk.client_gets(
        r#"{"jsonrpc":"2.0","id":4,"method":"elicitation/create","params":{"message": "m"}}"#,
    )
    .await;
    match talk.event().await {
        Event::Message { message, related } => {
            assert_eq!(
                text(&message),
                r#"{"jsonrpc":"2.0","id":5,"method":"roots/list"}"#
            );
            assert_eq!(related, Some(Id::number(7)));
        }
        event => panic!("{event:?}"),
    }
    talk.client(r#"{"jsonrpc":"2.0","id":5,"result":{"roots": []}}"#)
        .await;
    talk.client(r#"{"jsonrpc":"2.0","id":4,"result":{"action":"accept", "content":{"x":1.0}}}"#)
        .await;
    match talk.told().await {
        Told::Message(message, headers) => {
            assert_eq!(
                text(&message),
                format!(
                    r#"{{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{{"name":"t",{META}}},"inputResponses":{{"a\"":{{"action":"accept", "content":{{"x":1.0}}}},"b":{{"roots": []}}}},"requestState":"s\n"}}}}"#
                )
            );
            assert_eq!(headers, header);
        }
        told => panic!("{told:?}"),
    }
    talk.server(r#"{"jsonrpc":"2.0","id":6,"result":{"content":[]}}"#)
        .await;
    talk.client_gets(r#"{"jsonrpc":"2.0","id":7,"result":{"content":[]}}"#)
        .await;
    talk.silence().await;
}

#[tokio::test(start_paused = true)]
async fn a_call_is_not_sent_again_as_a_task() {
    let mut talk = begun("{}").await;
    talk.client(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t"}}"#)
        .await;
    talk.told().await;
    // It may be the error of another server, which the tool passes on when it has run.
    let error = r#"{"code":-32021,"message":"m","data":{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}"#;
    talk.server(&format!(r#"{{"jsonrpc":"2.0","id":3,"error":{error}}}"#))
        .await;
    talk.client_gets(&format!(r#"{{"jsonrpc":"2.0","id":7,"error":{error}}}"#))
        .await;
    talk.silence().await;
}

#[tokio::test(start_paused = true)]
async fn a_task_is_followed_to_its_end() {
    let tasks = r#""extensions":{"io.modelcontextprotocol/tasks":{}}"#;
    let mut talk = begun(&format!("{{{tasks}}}")).await;
    talk.client(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t"}}"#)
        .await;
    let meta = META.replace(
        r#""listChanged":true}"#,
        &format!(r#""listChanged":true}},{tasks}"#),
    );
    talk.server_gets(&format!(
        r#"{{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{{"name":"t",{meta}}}}}}}"#
    ))
    .await;
    talk.server(r#"{"jsonrpc":"2.0","id":3,"result":{"resultType":"task","taskId":"k","status":"working","pollIntervalMs":100}}"#).await;
    let about = |id: u64, method: &str, more: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tasks/{method}","params":{{"taskId":"k",{more}{meta}}}}}}}"#
        )
    };
    talk.server_gets(&about(4, "get", "")).await;
    talk.server(r#"{"jsonrpc":"2.0","id":4,"result":{"resultType":"complete","status":"input_required","inputRequests":{"a":{"method":"roots/list"}}}}"#).await;
    talk.client_gets(r#"{"jsonrpc":"2.0","id":5,"method":"roots/list"}"#)
        .await;
    talk.client(r#"{"jsonrpc":"2.0","id":5,"result":{"roots": []}}"#)
        .await;
    talk.server_gets(&about(
        6,
        "update",
        r#""inputResponses":{"a":{"roots": []}},"#,
    ))
    .await;
    talk.server(r#"{"jsonrpc":"2.0","id":6,"result":{"resultType":"complete"}}"#)
        .await;
    talk.server_gets(&about(7, "get", "")).await;
    talk.server(r#"{"jsonrpc":"2.0","id":7,"result":{"status":"completed","result":{"resultType":"complete","content": [1.0]}}}"#).await;
    talk.client_gets(r#"{"jsonrpc":"2.0","id":7,"result":{"content": [1.0]}}"#)
        .await;
    talk.silence().await;

    // Another is cancelled.
    talk.client(r#"{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{}}"#)
        .await;
    talk.told().await;
    talk.server(r#"{"jsonrpc":"2.0","id":9,"result":{"resultType":"task","taskId":"k"}}"#)
        .await;
    talk.silence().await;
    talk.client(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":8}}"#)
        .await;
    talk.server_gets(&about(10, "cancel", "")).await;
    talk.silence().await;
}

/// A session whose call 7 has become the task `k`, which is asked about under this id.
async fn with_task() -> (Talk, u64) {
    let mut talk = begun("{}").await;
    talk.client(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{}}"#)
        .await;
    talk.told().await;
    talk.server(r#"{"jsonrpc":"2.0","id":3,"result":{"resultType":"task","taskId":"k"}}"#)
        .await;
    let get = talk.about_task("get").await;
    (talk, get)
}

impl Talk {
    /// The id of what the server is asked about a task.
    async fn about_task(&mut self, method: &str) -> u64 {
        match self.told().await {
            Told::Message(message, _) => {
                assert_eq!(
                    message.method(),
                    Some(format!("tasks/{method}").as_str()),
                    "{}",
                    text(&message)
                );
                message.id().unwrap().as_number().unwrap()
            }
            told => panic!("{told:?}"),
        }
    }

    /// The task asks for roots, under this key.
    async fn task_asks(&self, get: u64, key: &str) {
        self.server(&format!(r#"{{"jsonrpc":"2.0","id":{get},"result":{{"status":"input_required","inputRequests":{{"{key}":{{"method":"roots/list"}}}}}}}}"#)).await;
    }

    /// The client is asked for roots, and answers; the server is told.
    async fn answers_task(&mut self) {
        let Event::Message { message, .. } = self.event().await else {
            panic!("no message");
        };
        let id = message.id().unwrap().clone();
        self.client(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#))
            .await;
        let update = self.about_task("update").await;
        self.server(&format!(
            r#"{{"jsonrpc":"2.0","id":{update},"result":{{}}}}"#
        ))
        .await;
    }
}

/// A server may acknowledge an answer before it has read it.
#[tokio::test(start_paused = true)]
async fn what_a_task_asks_for_is_asked_once() {
    let (mut talk, get) = with_task().await;
    talk.task_asks(get, "a").await;
    talk.answers_task().await;
    let get = talk.about_task("get").await;
    talk.task_asks(get, "a").await;
    let get = talk.about_task("get").await;
    assert!(talk.events.try_recv().is_err());
    talk.task_asks(get, "b").await;
    talk.answers_task().await;
    let get = talk.about_task("get").await;
    talk.server(&format!(
        r#"{{"jsonrpc":"2.0","id":{get},"result":{{"status":"completed","result":{{"content":[]}}}}}}"#
    ))
    .await;
    talk.client_gets(r#"{"jsonrpc":"2.0","id":7,"result":{"content":[]}}"#)
        .await;
    talk.silence().await;
}

#[tokio::test(start_paused = true)]
async fn a_task_that_always_asks_again_is_given_up() {
    let (mut talk, mut get) = with_task().await;
    for round in 0..10 {
        talk.task_asks(get, &round.to_string()).await;
        talk.answers_task().await;
        get = talk.about_task("get").await;
    }
    talk.task_asks(get, "last").await;
    talk.client_gets(r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"the server asked for input more than 10 times"}}"#).await;
    talk.about_task("cancel").await;
    talk.silence().await;
}

/// Nobody waits for a task that asks for what it may not.
#[tokio::test(start_paused = true)]
async fn a_task_that_asks_in_vain_is_cancelled() {
    let (mut talk, get) = with_task().await;
    talk.server(&format!(r#"{{"jsonrpc":"2.0","id":{get},"result":{{"status":"input_required","inputRequests":{{"a":{{"method":"sampling/createMessage"}}}}}}}}"#)).await;
    talk.client_gets(r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"the server asks for `sampling/createMessage`, which this client does not offer"}}"#).await;
    talk.about_task("cancel").await;
    talk.silence().await;
}

/// What a client is told when a server asks in vain.
async fn check_in_vain(result: &str, expected: &str) {
    let mut talk = begun("{}").await;
    talk.client(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{}}"#)
        .await;
    talk.told().await;
    talk.server(&format!(r#"{{"jsonrpc":"2.0","id":3,"result":{result}}}"#))
        .await;
    talk.client_gets(&format!(
        r#"{{"jsonrpc":"2.0","id":7,"error":{{"code":-32603,"message":"{expected}"}}}}"#
    ))
    .await;
    talk.silence().await;
}

#[tokio::test(start_paused = true)]
async fn what_a_server_may_not_ask_for_fails_the_request() {
    for (asks, expected) in [
        (
            r#"{"a":{"method":"ping"}}"#,
            "the server asks for `ping`, which it may not",
        ),
        (
            r#"{"a":{"method":"sampling/createMessage"}}"#,
            "the server asks for `sampling/createMessage`, which this client does not offer",
        ),
        ("[1]", "`inputRequests` is not an object"),
        ("{}", "the server asks for input without naming any"),
    ] {
        check_in_vain(
            &format!(r#"{{"resultType":"input_required","inputRequests":{asks}}}"#),
            expected,
        )
        .await;
    }
    let many: BTreeMap<_, _> = (0..33).map(|n| (n.to_string(), 0)).collect();
    check_in_vain(
        &format!(
            r#"{{"resultType":"input_required","inputRequests":{}}}"#,
            serde_json::to_string(&many).unwrap()
        ),
        "the server asks for more than 32 things at once",
    )
    .await;
    check_in_vain(
        r#"{"resultType":"task"}"#,
        "the server made a task of it without an id",
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_always_asks_again_is_given_up() {
    let mut talk = begun("{}").await;
    talk.client(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{}}"#)
        .await;
    for round in 0..=10 {
        match talk.told().await {
            Told::Message(message, _) => {
                assert_eq!(text(&message).contains(r#""requestState":"s""#), round > 0);
                let id = message.id().unwrap();
                talk.server(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"input_required","requestState":"s"}}}}"#)).await;
            }
            told => panic!("{told:?}"),
        }
    }
    talk.client_gets(r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"the server asked for input more than 10 times"}}"#).await;
    talk.silence().await;
}

#[tokio::test(start_paused = true)]
async fn a_client_that_refuses_an_ask_is_answered_with_its_own_error() {
    let mut talk = begun("{}").await;
    talk.client(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{}}"#)
        .await;
    talk.told().await;
    talk.server(r#"{"jsonrpc":"2.0","id":3,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create"},"b":{"method":"roots/list"}}}}"#).await;
    talk.event().await;
    talk.event().await;
    talk.client(r#"{"jsonrpc":"2.0","id":4,"error":{"code":-1,"message":"no"}}"#)
        .await;
    talk.client_gets(r#"{"jsonrpc":"2.0","id":7,"error":{"code":-1,"message":"no"}}"#)
        .await;
    talk.client_gets(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}"#,
    )
    .await;
    talk.client(r#"{"jsonrpc":"2.0","id":5,"result":{}}"#).await;
    talk.silence().await;
}

#[tokio::test(start_paused = true)]
async fn who_cancels_is_not_answered() {
    let mut talk = begun("{}").await;
    talk.client(r#"{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{}}"#)
        .await;
    talk.told().await;
    talk.client(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId": "a","reason":"r"}}"#).await;
    talk.server_gets(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId": 3,"reason":"r"}}"#).await;
    assert!(matches!(talk.told().await, Told::Abandon(id) if id == Id::number(3)));
    talk.server(r#"{"jsonrpc":"2.0","id":3,"result":{}}"#).await;
    talk.silence().await;

    talk.client(r#"{"jsonrpc":"2.0","id":"b","method":"tools/call","params":{}}"#)
        .await;
    talk.told().await;
    talk.server(r#"{"jsonrpc":"2.0","id":5,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}}}}"#).await;
    talk.event().await;
    talk.client(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"b"}}"#,
    )
    .await;
    talk.client_gets(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":6}}"#,
    )
    .await;
    talk.silence().await;
}

#[tokio::test(start_paused = true)]
async fn who_closes_stops_listening_first() {
    let mut talk = begun(r#"{"tools":{"listChanged":true}}"#).await;
    talk.told().await;
    talk.bridge.close().await;
    talk.server_gets(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#,
    )
    .await;
    assert!(matches!(talk.told().await, Told::Abandon(_)));
    assert!(matches!(talk.told().await, Told::Close));
}

#[tokio::test(start_paused = true)]
async fn changes_and_subscriptions_are_one_request_that_stays_open() {
    let mut talk = begun(r#"{"tools":{"listChanged":true},"resources":{"subscribe":true}}"#).await;
    let listen = |id: u64, filter: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{{"notifications":{{{filter}}},{META}}}}}}}"#
        )
    };
    let acknowledge = |id: u64, filter: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}},"notifications":{{{filter}}}}}}}"#
        )
    };
    let cancel = |id: u64| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#
        )
    };
    talk.server_gets(&listen(2, r#""toolsListChanged":true"#))
        .await;
    talk.server(&acknowledge(2, r#""toolsListChanged":true"#))
        .await;
    talk.server(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":2}}}"#).await;
    talk.client_gets(
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{}}"#,
    )
    .await;

    for (id, uri) in [("a", "u:1"), ("b", "u:2")] {
        talk.client(&format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"resources/subscribe","params":{{"uri":"{uri}"}}}}"#)).await;
    }
    let first = r#""toolsListChanged":true,"resourceSubscriptions":["u:1"]"#;
    let both = r#""toolsListChanged":true,"resourceSubscriptions":["u:1","u:2"]"#;
    talk.server_gets(&listen(3, first)).await;
    talk.server(&acknowledge(3, first)).await;
    talk.client_gets(r#"{"jsonrpc":"2.0","id":"a","result":{}}"#)
        .await;
    talk.server_gets(&cancel(2)).await;
    assert!(matches!(talk.told().await, Told::Abandon(_)));
    talk.server_gets(&listen(4, both)).await;
    talk.server(&acknowledge(4, first)).await;
    talk.client_gets(r#"{"jsonrpc":"2.0","id":"b","error":{"code":-32602,"message":"the server does not admit the subscription"}}"#).await;
    talk.server_gets(&cancel(3)).await;
    talk.told().await;

    // It breaks: it is opened again, and what may have been missed is said.
    let error = UpstreamError::Ended("cut".to_owned());
    let id = Id::number(4);
    talk.server
        .events
        .send(Event::Failed { id, error })
        .await
        .unwrap();
    talk.server_gets(&listen(5, first)).await;
    talk.server(&acknowledge(5, first)).await;
    talk.client_gets(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#)
        .await;
    talk.client_gets(
        r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"u:1"}}"#,
    )
    .await;
    talk.client(
        r#"{"jsonrpc":"2.0","id":"c","method":"resources/unsubscribe","params":{"uri":"u:1"}}"#,
    )
    .await;
    talk.client_gets(r#"{"jsonrpc":"2.0","id":"c","result":{}}"#)
        .await;
    talk.server_gets(&listen(6, r#""toolsListChanged":true"#))
        .await;
    talk.silence().await;
}

#[tokio::test(start_paused = true)]
async fn failures_and_the_end_reach_the_client() {
    let mut talk = begun("{}").await;
    talk.client(r#"{"jsonrpc":"2.0","id":"a","method":"x"}"#)
        .await;
    talk.told().await;
    let error = UpstreamError::TooLarge { limit: 5 };
    let failed = Event::Failed {
        id: Id::number(3),
        error: error.clone(),
    };
    talk.server.events.send(failed).await.unwrap();
    assert!(matches!(talk.event().await, Event::Failed { id, .. } if id.to_string() == r#""a""#));
    talk.server
        .events
        .send(Event::Closed(error.clone()))
        .await
        .unwrap();
    assert!(matches!(talk.event().await, Event::Closed(_)));
    let message = Message::parse(r#"{"jsonrpc":"2.0","id":"b","method":"x"}"#).unwrap();
    assert_eq!(talk.bridge.send(message, &[]).await, Err(error));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_without_reading_is_given_up() {
    let mut talk = begun("{}").await;
    let reads = Arc::clone(&talk.server.reads);
    let stalled = reads.write().await;
    let mut asked = 0;
    let error = loop {
        talk.server(&format!(
            r#"{{"jsonrpc":"2.0","id":{asked},"method":"ping"}}"#
        ))
        .await;
        tokio::task::yield_now().await;
        if let Ok(event) = talk.events.try_recv() {
            match event {
                Event::Closed(error) => break error,
                event => panic!("{event:?}"),
            }
        }
        asked += 1;
        assert!(asked < 2000, "nothing bounds what waits for the server");
    };
    assert!(matches!(error, UpstreamError::Invalid(_)));
    drop(stalled);
}

#[tokio::test(start_paused = true)]
async fn what_was_handed_over_is_sent_before_the_end() {
    let mut talk = begun("{}").await;
    for id in 0..50 {
        talk.server(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#))
            .await;
    }
    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    talk.bridge.close().await;
    for id in 0..50 {
        talk.server_gets(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#))
            .await;
    }
    assert!(matches!(talk.told().await, Told::Close));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// In whatever order a server answers, each answer reaches its request, under the id it came with.
    #[test]
    fn answers_reach_their_requests(order in Just((0..12).collect::<Vec<u32>>()).prop_shuffle(), asks in prop::collection::vec(any::<bool>(), 12)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let mut talk = begun("{}").await;
            let mut sent = BTreeMap::new();
            for n in 0..12 {
                talk.client(&format!(r#"{{"jsonrpc":"2.0","id":"c{n}","method":"m","params":{{"n":{n}}}}}"#)).await;
                let Told::Message(message, _) = talk.told().await else { panic!() };
                sent.insert(n, message.id().unwrap().clone());
            }
            for n in order {
                let mut id = sent.remove(&n).unwrap();
                if asks[n as usize] {
                    talk.server(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"input_required","inputRequests":{{"k":{{"method":"roots/list","params":{{"n":{n}}}}}}}}}}}"#)).await;
                    let Event::Message { message, .. } = talk.event().await else { panic!() };
                    let ask = message.id().unwrap();
                    talk.client(&format!(r#"{{"jsonrpc":"2.0","id":{ask},"result":{{"n":{n}}}}}"#)).await;
                    let Told::Message(again, _) = talk.told().await else { panic!() };
                    let expected = format!(r#""inputResponses":{{"k":{{"n":{n}}}}}}}}}"#);
                    assert!(text(&again).ends_with(&expected), "{}", text(&again));
                    id = again.id().unwrap().clone();
                }
                talk.server(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"n": {n}.00}}}}"#)).await;
                talk.client_gets(&format!(r#"{{"jsonrpc":"2.0","id":"c{n}","result":{{"n": {n}.00}}}}"#)).await;
            }
            talk.silence().await;
        });
    }
}

#[tokio::test(start_paused = true)]
async fn a_subscription_that_is_taken_back_before_it_stands_is_answered() {
    let mut talk = begun(r#"{"resources":{"subscribe":true}}"#).await;
    let subscribe = |id: &str, method: &str, uri: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":"{id}","method":"resources/{method}","params":{{"uri":"{uri}"}}}}"#
        )
    };
    let done = |id: &str| format!(r#"{{"jsonrpc":"2.0","id":"{id}","result":{{}}}}"#);
    talk.client(&subscribe("a", "subscribe", "u:1")).await;
    let Told::Message(listen, _) = talk.told().await else {
        panic!("no message");
    };
    for (id, method) in [("b", "subscribe"), ("c", "subscribe"), ("d", "unsubscribe")] {
        talk.client(&subscribe(id, method, "u:2")).await;
    }
    for id in ["b", "c", "d"] {
        talk.client_gets(&done(id)).await;
    }
    let number = listen.id().unwrap();
    talk.server(&format!(r#"{{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{number}}},"notifications":{{"resourceSubscriptions":["u:1"]}}}}}}"#)).await;
    talk.client_gets(&done("a")).await;
}

/// A resource that a server does not admit takes no other with it, which it was not asked about.
#[tokio::test(start_paused = true)]
async fn a_subscription_that_is_refused_refuses_no_other() {
    let mut talk = begun(r#"{"resources":{"subscribe":true}}"#).await;
    let subscribe = |id: u64, uri: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"resources/subscribe","params":{{"uri":"{uri}"}}}}"#
        )
    };
    let listen = |id: u64, uri: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{{"notifications":{{"resourceSubscriptions":["{uri}"]}},{META}}}}}}}"#
        )
    };
    talk.client(&subscribe(7, "a")).await;
    talk.server_gets(&listen(2, "a")).await;
    talk.client(&subscribe(8, "b")).await;
    talk.silence().await;
    talk.server(r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"no a"}}"#)
        .await;
    talk.client_gets(r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"the server does not admit the subscription"}}"#).await;
    talk.server_gets(&listen(3, "b")).await;
    talk.server(r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":3},"notifications":{"resourceSubscriptions":["b"]}}}"#).await;
    talk.client_gets(r#"{"jsonrpc":"2.0","id":8,"result":{}}"#)
        .await;
    talk.silence().await;
}
