use crate::{
    Revision,
    bridge::{
        StatelessBridge,
        tests::{Talk, Told, text},
    },
    message::{Header, Id, Message},
    upstream::{Event, UpstreamError},
};
use proptest::prelude::*;
use std::{collections::BTreeMap, sync::Arc, time::Duration};

mod apart;

const CAPABILITIES: &str = r#"{"elicitation":{},"roots":{ "listChanged":true}}"#;

/// What a request says of who asks.
fn said(more: &str) -> String {
    said_with(CAPABILITIES, more)
}

fn said_with(capabilities: &str, more: &str) -> String {
    format!(
        r#""_meta":{{{more}"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{capabilities},"io.modelcontextprotocol/clientInfo":{{"name":"c","version":"1"}}}}"#
    )
}

async fn connected() -> Talk {
    connected_for(false).await
}

async fn connected_for(is_shared: bool) -> Talk {
    connected_over(is_shared, true).await
}

/// With `names_requests` the server says within which request it asks.
async fn connected_over(is_shared: bool, names_requests: bool) -> Talk {
    Talk::over(|server| {
        Arc::new(StatelessBridge {
            replica: None,
            server,
            is_shared,
            names_requests,
            start_timeout: Duration::from_secs(60),
        })
    })
    .await
}

fn initialize(id: u64, capabilities: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{capabilities},"clientInfo":{{"name":"c","version":"1"}}}}}}"#
    )
}

/// A server that has these capabilities, and a client that has discovered it.
async fn discovered(capabilities: &str) -> Talk {
    discovered_for(false, capabilities).await
}

async fn discovered_for(is_shared: bool, capabilities: &str) -> Talk {
    discover(connected_for(is_shared).await, capabilities).await
}

async fn discover(mut talk: Talk, capabilities: &str) -> Talk {
    let said = said("");
    talk.client(&format!(
        r#"{{"jsonrpc":"2.0","id":"d","method":"server/discover","params":{{{said}}}}}"#
    ))
    .await;
    talk.server_gets(&initialize(1, CAPABILITIES)).await;
    talk.server(&format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":"2025-06-18","capabilities":{capabilities},"serverInfo":{{"name":"s", "version":"2"}},"instructions":"Do."}}}}"#)).await;
    assert!(matches!(
        talk.told().await,
        Told::Speak(Revision::V2025_06_18)
    ));
    talk.server_gets(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
    let capabilities = capabilities.replace(r#","tasks":{"list":{}}"#, "");
    talk.client_gets(&format!(r#"{{"jsonrpc":"2.0","id":"d","result":{{"capabilities":{capabilities},"instructions":"Do.","supportedVersions":["2026-07-28"],"resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":{{"io.modelcontextprotocol/serverInfo":{{"name":"s", "version":"2"}}}}}}}}"#)).await;
    talk
}

impl Talk {
    /// The client calls a tool; the server is told under this id.
    async fn call(&mut self, client: &str, server: u64) {
        let said = said("");
        self.client(&format!(r#"{{"jsonrpc":"2.0","id":"{client}","method":"tools/call","params":{{"name":"t",{said}}}}}"#)).await;
        self.server_gets(&format!(
            r#"{{"jsonrpc":"2.0","id":{server},"method":"tools/call","params":{{"name":"t"}}}}"#
        ))
        .await;
    }

    /// The client is answered that input is required, of these requests; gives the state.
    async fn asked(&mut self, client: &str, asks: &str) -> String {
        let Event::Message { message, .. } = self.event().await else {
            panic!("no message");
        };
        let text = text(&message);
        let expected = format!(
            r#"{{"jsonrpc":"2.0","id":"{client}","result":{{"resultType":"input_required","inputRequests":{asks},"requestState":""#
        );
        let state = text
            .strip_prefix(&expected)
            .unwrap_or_else(|| panic!("{text}\n{expected}"));
        let state = state.strip_suffix(r#""}}"#).unwrap().to_owned();
        assert_eq!(state.len(), 32);
        state
    }

    /// The client comes again.
    async fn again(&mut self, client: &str, state: &str, responses: &str) {
        let said = said("");
        self.client(&format!(r#"{{"jsonrpc":"2.0","id":"{client}","method":"tools/call","params":{{"name":"t",{said},"requestState":"{state}","inputResponses":{responses}}}}}"#)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_is_passed_on_without_what_sessions_know_and_its_result_completed() {
    let mut talk = discovered(r#"{"tools":{},"tasks":{"list":{}}}"#).await;
    let only_ours = said("");
    talk.client(&format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{{"a": 1.50, {only_ours}}}}}"#
    ))
    .await;
    talk.server_gets(r#"{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"a": 1.50}}"#)
        .await;
    talk.server(r#"{"jsonrpc":"2.0","id":3,"result":{ "tools":[1.50] } , "x": 1}"#)
        .await;
    talk.client_gets(r#"{"jsonrpc":"2.0","id":7,"result":{ "tools":[1.50],"resultType":"complete","ttlMs":0,"cacheScope":"private" } , "x": 1}"#).await;

    let more = said(r#""traceparent":"t", "#);
    let header = [Header::new("Mcp-Param-a", "1")];
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{{"name":"t",{more}}}}}"#
    );
    talk.bridge
        .send(Message::parse(call).unwrap(), &header)
        .await
        .unwrap();
    match talk.told().await {
        Told::Message(message, headers) => {
            assert_eq!(
                text(&message),
                r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"t","_meta":{"traceparent":"t"}}}"#
            );
            assert_eq!(headers, header);
        }
        told => panic!("{told:?}"),
    }
    talk.server(r#"{"jsonrpc":"2.0","id":5,"result":{}}"#).await;
    talk.client_gets(r#"{"jsonrpc":"2.0","id":8,"result":{"resultType":"complete"}}"#)
        .await;

    talk.client(&format!(r#"{{"jsonrpc":"2.0","id":9,"method":"resources/read","params":{{"uri":"a:",{only_ours}}}}}"#)).await;
    talk.told().await;
    talk.server(
        r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32002,"message":"m","data":{"uri":"a:"}}}"#,
    )
    .await;
    talk.client_gets(
        r#"{"jsonrpc":"2.0","id":9,"error":{"code":-32602,"message":"m","data":{"uri":"a:"}}}"#,
    )
    .await;
    talk.silence().await;
}

/// What becomes of a request that the bridge answers by itself.
async fn check_refused(request: &str, expected: &str) {
    let mut talk = connected().await;
    talk.client(&format!(r#"{{"jsonrpc":"2.0","id":"r",{request}}}"#))
        .await;
    talk.client_gets(&format!(
        r#"{{"jsonrpc":"2.0","id":"r","error":{expected}}}"#
    ))
    .await;
    talk.silence().await;
}

#[tokio::test(start_paused = true)]
async fn what_the_era_does_not_have_or_want_is_refused() {
    for method in [
        "initialize",
        "ping",
        "logging/setLevel",
        "resources/subscribe",
        "resources/unsubscribe",
        "tasks/get",
    ] {
        check_refused(
            &format!(r#""method":"{method}","params":{{{}}}"#, said("")),
            &format!(r#"{{"code":-32601,"message":"Method not found: {method}"}}"#),
        )
        .await;
    }
    for (params, key) in [
        ("{}", "protocolVersion"),
        (
            r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":1}}"#,
            "clientCapabilities",
        ),
    ] {
        check_refused(
            &format!(r#""method":"tools/list","params":{params}"#),
            &format!(r#"{{"code":-32602,"message":"`_meta` has no valid `io.modelcontextprotocol/{key}`"}}"#),
        )
        .await;
    }
    check_refused(
        r#""method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01"}}"#,
        r#"{"code":-32022,"message":"Unsupported protocol version","data":{"supported":["2026-07-28"],"requested":"2099-01-01"}}"#,
    )
    .await;
    check_refused(
        &format!(
            r#""method":"subscriptions/listen","params":{{{}}}"#,
            said("")
        ),
        r#"{"code":-32602,"message":"`notifications` is not an object"}"#,
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_a_server_asks_for_is_the_answer_and_the_call_goes_on_when_it_comes_again() {
    let mut talk = discovered("{}").await;
    talk.call("a", 3).await;
    talk.server(
        r#"{"jsonrpc":"2.0","id":"q\"","method":"elicitation/create","params":{"message": "m"}}"#,
    )
    .await;
    let one = r#"{"input_1":{"method":"elicitation/create","params":{"message": "m"}}}"#;
    let first = talk.asked("a", one).await;
    // It asks for more while the client is busy with the first.
    talk.server(r#"{"jsonrpc":"2.0","id":9,"method":"roots/list"}"#)
        .await;
    talk.silence().await;
    talk.again("b", &first, r#"{"input_1":{"action": "accept"}}"#)
        .await;
    talk.server_gets(r#"{"jsonrpc":"2.0","id":"q\"","result":{"action": "accept"}}"#)
        .await;
    let second = talk
        .asked("b", r#"{"input_2":{"method":"roots/list"}}"#)
        .await;
    assert_ne!(first, second);
    // Without an answer it is asked again; a state is good for once.
    talk.again("c", &second, r#"{"input_2":null,"input_9":{}}"#)
        .await;
    let third = talk
        .asked("c", r#"{"input_2":{"method":"roots/list"}}"#)
        .await;
    for (state, name) in [(&second, "t"), (&third, "u")] {
        let said = said("");
        talk.client(&format!(r#"{{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{{"name":"{name}",{said},"requestState":"{state}"}}}}"#)).await;
        talk.client_gets(r#"{"jsonrpc":"2.0","id":"x","error":{"code":-32602,"message":"`requestState` is unknown, or its time has passed: call again without it"}}"#).await;
    }
    talk.again("d", &third, r#"{"input_2":{"roots": []}}"#)
        .await;
    talk.server_gets(r#"{"jsonrpc":"2.0","id":9,"result":{"roots": []}}"#)
        .await;
    talk.server(r#"{"jsonrpc":"2.0","id":3,"result":{"content":[]}}"#)
        .await;
    talk.client_gets(
        r#"{"jsonrpc":"2.0","id":"d","result":{"content":[],"resultType":"complete"}}"#,
    )
    .await;
    talk.silence().await;
}

/// Its call has begun, and may run there still.
#[tokio::test(start_paused = true)]
async fn a_call_that_waits_at_another_replica_may_have_run() {
    let mut talk = Talk::over(|server| {
        Arc::new(StatelessBridge {
            replica: Some("here".into()),
            server,
            is_shared: false,
            names_requests: true,
            start_timeout: Duration::from_secs(60),
        })
    })
    .await;
    let said = said("");
    for (state, may_have_run) in [("there.x", true), ("here.x", false), ("x", false)] {
        talk.client(&format!(r#"{{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{{"name":"t",{said},"requestState":"{state}"}}}}"#)).await;
        if may_have_run {
            let error = failed(&mut talk, "x").await;
            assert!(
                matches!(error, UpstreamError::OutcomeUnknown { .. }),
                "{error}"
            );
        } else {
            talk.client_gets(r#"{"jsonrpc":"2.0","id":"x","error":{"code":-32602,"message":"`requestState` is unknown, or its time has passed: call again without it"}}"#).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_while_the_client_is_busy_is_told_when_it_comes_again() {
    let mut talk = discovered("{}").await;
    talk.call("a", 3).await;
    talk.server(r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#)
        .await;
    let state = talk
        .asked("a", r#"{"input_1":{"method":"roots/list"}}"#)
        .await;
    talk.server(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#)
        .await;
    talk.server(r#"{"jsonrpc":"2.0","id":3,"result":{"content":[]}}"#)
        .await;
    talk.silence().await;
    talk.again("b", &state, r#"{"input_1":{"roots":[]}}"#).await;
    talk.client_gets(
        r#"{"jsonrpc":"2.0","id":"b","result":{"content":[],"resultType":"complete"}}"#,
    )
    .await;
    talk.silence().await;
}

/// A conversation whose server has tasks and listed a tool `t` that supports them so.
async fn listed(support: &str) -> Talk {
    let mut talk = connected().await;
    let said = said("");
    talk.client(&format!(
        r#"{{"jsonrpc":"2.0","id":"l","method":"tools/list","params":{{{said}}}}}"#
    ))
    .await;
    talk.told().await;
    talk.server(r#"{"jsonrpc":"2.0","id":2,"result":{"protocolVersion":"2025-11-25","capabilities":{"tasks":{"requests":{"tools":{"call":{}}}}}}}"#).await;
    for _ in 0..3 {
        talk.told().await;
    }
    talk.server(&format!(r#"{{"jsonrpc":"2.0","id":3,"result":{{"tools":[{{"name":"t","execution":{{"taskSupport":"{support}"}}}}]}}}}"#)).await;
    talk.event().await;
    talk.client(&format!(
        r#"{{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{{"name":"t",{said}}}}}"#
    ))
    .await;
    talk
}

#[tokio::test(start_paused = true)]
async fn a_call_is_not_sent_again_as_a_task() {
    let mut talk = listed("optional").await;
    talk.server_gets(r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"t"}}"#)
        .await;
    // It may be the error of another server, which the tool passes on when it has run.
    talk.server(r#"{"jsonrpc":"2.0","id":5,"error":{"code":-32601,"message":"not there"}}"#)
        .await;
    talk.client_gets(r#"{"jsonrpc":"2.0","id":"a","error":{"code":-32601,"message":"not there"}}"#)
        .await;
    talk.silence().await;
}

#[tokio::test(start_paused = true)]
async fn a_task_is_followed_to_its_end() {
    let mut talk = listed("required").await;
    talk.server_gets(
        r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"t","task":{}}}"#,
    )
    .await;
    talk.server(r#"{"jsonrpc":"2.0","id":5,"result":{"task":{"taskId":"k","status":"working"}}}"#)
        .await;
    talk.server_gets(r#"{"jsonrpc":"2.0","id":6,"method":"tasks/result","params":{"taskId":"k"}}"#)
        .await;
    talk.server(r#"{"jsonrpc":"2.0","id":9,"method":"roots/list"}"#)
        .await;
    let state = talk
        .asked("a", r#"{"input_1":{"method":"roots/list"}}"#)
        .await;
    talk.again("b", &state, r#"{"input_1":{}}"#).await;
    talk.server_gets(r#"{"jsonrpc":"2.0","id":9,"result":{}}"#)
        .await;
    talk.client(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"b"}}"#,
    )
    .await;
    talk.server_gets(r#"{"jsonrpc":"2.0","id":7,"method":"tasks/cancel","params":{"taskId":"k"}}"#)
        .await;
    talk.server_gets(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":6}}"#,
    )
    .await;
    talk.told().await;
}

/// How the request `client` failed.
async fn failed(talk: &mut Talk, client: &str) -> UpstreamError {
    match talk.event().await {
        Event::Failed { id, error } => {
            assert_eq!(id.raw(), format!("\"{client}\"").as_bytes());
            error
        }
        event => panic!("{event:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_a_session_was_not_sent_and_what_was_sent_may_have_run() {
    let ended = || UpstreamError::Ended("gone".to_owned());
    let lost = ended().after_sending();
    // The server may have taken `initialize`, but it was not sent the call.
    let mut talk = connected().await;
    let said = said("");
    talk.client(&format!(
        r#"{{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{{"name":"t",{said}}}}}"#
    ))
    .await;
    talk.told().await;
    let (id, error) = (Id::number(2), lost.clone());
    let event = Event::Failed { id, error };
    talk.server.events.send(event).await.unwrap();
    assert_eq!(failed(&mut talk, "a").await, ended());

    let mut talk = discovered(r#"{"tools":{}}"#).await;
    talk.call("a", 3).await;
    talk.server
        .events
        .send(Event::Closed(ended()))
        .await
        .unwrap();
    assert_eq!(failed(&mut talk, "a").await, lost);

    // That a task is not there to be asked about says nothing of whether it ran.
    let mut talk = listed("required").await;
    talk.told().await;
    talk.server(r#"{"jsonrpc":"2.0","id":5,"result":{"task":{"taskId":"k","status":"working"}}}"#)
        .await;
    talk.told().await;
    let refused = || UpstreamError::Refused("HTTP 401".to_owned());
    let (id, error) = (Id::number(6), refused());
    let event = Event::Failed { id, error };
    talk.server.events.send(event).await.unwrap();
    assert_eq!(failed(&mut talk, "a").await, refused().after_taking());
}

#[tokio::test(start_paused = true)]
async fn what_a_server_that_does_not_read_was_not_sent_has_not_run() {
    let ended = || UpstreamError::Ended("gone".to_owned());
    let mut talk = discovered(r#"{"tools":{}}"#).await;
    let reads = Arc::clone(&talk.server.reads);
    let stopped = reads.write().await;
    let said = said("");
    for id in ["a", "b", "c"] {
        talk.client(&format!(
            r#"{{"jsonrpc":"2.0","id":"{id}","method":"tools/call","params":{{"name":"t",{said}}}}}"#
        ))
        .await;
    }
    tokio::time::sleep(Duration::from_millis(1)).await;
    talk.server
        .events
        .send(Event::Closed(ended()))
        .await
        .unwrap();
    let mut errors = BTreeMap::new();
    for _ in 0..3 {
        match talk.event().await {
            Event::Failed { id, error } => errors.insert(id.to_string(), error),
            event => panic!("{event:?}"),
        };
    }
    // The first was being handed over.
    assert_eq!(errors["\"a\""], ended().after_sending());
    assert_eq!((&errors["\"b\""], &errors["\"c\""]), (&ended(), &ended()));
    drop(stopped);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_does_not_come_again_is_given_up() {
    let mut talk = discovered("{}").await;
    talk.call("a", 3).await;
    talk.server(r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#)
        .await;
    let state = talk
        .asked("a", r#"{"input_1":{"method":"roots/list"}}"#)
        .await;
    tokio::time::sleep(Duration::from_secs(700)).await;
    talk.server_gets(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the client has cancelled the request"}}"#).await;
    talk.server_gets(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#,
    )
    .await;
    talk.told().await;
    talk.again("b", &state, "{}").await;
    assert!(
        matches!(talk.event().await, Event::Message { message, .. } if text(&message).contains("-32602"))
    );
    talk.silence().await;
}

#[tokio::test(start_paused = true)]
async fn only_so_many_calls_wait_to_come_again() {
    let mut talk = discovered("{}").await;
    for n in 0..257_u64 {
        let number = 3 + 2 * n;
        talk.call("a", number).await;
        talk.server_for(
            r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#,
            Some(number),
        )
        .await;
        talk.asked("a", r#"{"input_1":{"method":"roots/list"}}"#)
            .await;
    }
    talk.server_gets(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"the client has cancelled the request"}}"#).await;
    talk.server_gets(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}"#,
    )
    .await;
    talk.told().await;
    talk.silence().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_asked_while_no_call_runs_waits_for_one_and_what_is_not_offered_is_refused() {
    let mut talk = discovered("{}").await;
    talk.server(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#)
        .await;
    talk.server_gets(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#)
        .await;
    talk.server(r#"{"jsonrpc":"2.0","id":2,"method":"sampling/createMessage"}"#)
        .await;
    talk.server_gets(r#"{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Method not found: sampling/createMessage"}}"#).await;
    talk.server(r#"{"jsonrpc":"2.0","id":3,"method":"roots/list"}"#)
        .await;
    talk.silence().await;
    talk.call("a", 3).await;
    talk.asked("a", r#"{"input_1":{"method":"roots/list"}}"#)
        .await;
}

#[tokio::test(start_paused = true)]
async fn progress_and_logs_go_to_who_wants_them() {
    let mut talk = discovered(r#"{"logging":{}}"#).await;
    let log = |level: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"{level}","data":1}}}}"#
        )
    };
    let plain = said(r#""progressToken":"p","#);
    talk.client(&format!(
        r#"{{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{{"name":"t",{plain}}}}}"#
    ))
    .await;
    talk.server_gets(r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":"p"}}}"#).await;
    talk.server(&log("emergency")).await;
    talk.silence().await;
    let wants = said(r#""io.modelcontextprotocol/logLevel":"warning","#);
    talk.client(&format!(
        r#"{{"jsonrpc":"2.0","id":"b","method":"x","params":{{{wants}}}}}"#
    ))
    .await;
    talk.server_gets(
        r#"{"jsonrpc":"2.0","id":6,"method":"logging/setLevel","params":{"level":"warning"}}"#,
    )
    .await;
    talk.server_gets(r#"{"jsonrpc":"2.0","id":5,"method":"x","params":{}}"#)
        .await;
    talk.server(&log("info")).await;
    talk.server(&log("error")).await;
    match talk.event().await {
        Event::Message { message, related } => {
            assert_eq!(text(&message), log("error"));
            assert_eq!(related.unwrap().to_string(), r#""b""#);
        }
        event => panic!("{event:?}"),
    }
    talk.server_for(&log("error"), Some(3)).await;
    talk.silence().await;

    // The token that the call comes again with is another.
    talk.server(r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#)
        .await;
    let state = talk
        .asked("a", r#"{"input_1":{"method":"roots/list"}}"#)
        .await;
    // What comes meanwhile is kept for it.
    let progress = |token: &str, progress: u64| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{progress}}}}}"#
        )
    };
    for done in [1, 2] {
        talk.server(&progress(r#""p""#, done)).await;
    }
    talk.silence().await;
    let again = said(r#""progressToken":7,"#);
    talk.client(&format!(r#"{{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{{"name":"t",{again},"requestState":"{state}","inputResponses":{{"input_1":{{}}}}}}}}"#)).await;
    talk.server_gets(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#)
        .await;
    talk.server(&progress(r#""p""#, 3)).await;
    for done in [1, 2, 3] {
        talk.client_gets(&progress("7", done)).await;
    }
}

/// Servers write a token anew, some with escapes.
#[tokio::test(start_paused = true)]
async fn a_token_is_the_same_however_the_server_spells_it() {
    let mut talk = discovered("{}").await;
    let token = r#""progressToken":"\u00e9\/""#;
    let said = said(&format!("{token},"));
    talk.client(&format!(
        r#"{{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{{"name":"t",{said}}}}}"#
    ))
    .await;
    talk.server_gets(&format!(r#"{{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{{"name":"t","_meta":{{{token}}}}}}}"#)).await;
    let progress = |token: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{{token},"progress":1}}}}"#
        )
    };
    for other in [r#""é""#, r#""\"é/""#] {
        talk.server(&progress(&format!(r#""progressToken":{other}"#)))
            .await;
    }
    for same in [r#""é/""#, r#""\u00E9/""#, r#""é\/""#] {
        talk.server(&progress(&format!(r#""progressToken":{same}"#)))
            .await;
        talk.client_gets(&progress(token)).await;
    }
}

/// The last sixteen pieces of progress wait for a client that answers a question, and none that is long.
#[tokio::test(start_paused = true)]
async fn the_last_progress_is_kept_while_a_client_answers() {
    let mut talk = discovered("{}").await;
    let first = said(r#""progressToken":"p","#);
    talk.client(&format!(
        r#"{{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{{"name":"t",{first}}}}}"#
    ))
    .await;
    talk.server_gets(r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":"p"}}}"#).await;
    talk.server(r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#)
        .await;
    let state = talk
        .asked("a", r#"{"input_1":{"method":"roots/list"}}"#)
        .await;
    let progress = |token: &str, done: usize, more: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{done}{more}}}}}"#
        )
    };
    for done in 0..20 {
        talk.server(&progress(r#""p""#, done, "")).await;
    }
    let long = format!(r#","message":"{}""#, "x".repeat(4096));
    talk.server(&progress(r#""p""#, 20, &long)).await;
    talk.silence().await;
    let again = said(r#""progressToken":7,"#);
    talk.client(&format!(r#"{{"jsonrpc":"2.0","id":"c","method":"tools/call","params":{{"name":"t",{again},"requestState":"{state}","inputResponses":{{"input_1":{{}}}}}}}}"#)).await;
    talk.server_gets(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#)
        .await;
    for done in 4..20 {
        talk.client_gets(&progress("7", done, "")).await;
    }
    // One that is told at once may be long.
    talk.server(&progress(r#""p""#, 21, &long)).await;
    talk.client_gets(&progress("7", 21, &long)).await;
}

#[tokio::test(start_paused = true)]
async fn a_subscription_is_fed_by_what_the_server_tells() {
    let mut talk =
        discovered(r#"{"tools":{"listChanged":true},"resources":{"subscribe":true}}"#).await;
    let said = said("");
    talk.client(&format!(r#"{{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{{"notifications":{{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["u:1","u:2"]}},{said}}}}}"#)).await;
    for (id, uri) in [(3, "u:1"), (4, "u:2")] {
        talk.server_gets(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"resources/subscribe","params":{{"uri":"{uri}"}}}}"#)).await;
    }
    talk.server(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#)
        .await;
    talk.server(r#"{"jsonrpc":"2.0","id":3,"result":{}}"#).await;
    talk.server(r#"{"jsonrpc":"2.0","id":4,"error":{"code":-32602,"message":"no"}}"#)
        .await;
    match talk.event().await {
        Event::Message { message, related } => {
            assert_eq!(
                text(&message),
                r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"l"},"notifications":{"toolsListChanged":true,"resourceSubscriptions":["u:1"]}}}"#
            );
            assert_eq!(related.unwrap().to_string(), r#""l""#);
        }
        event => panic!("{event:?}"),
    }
    talk.server(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#)
        .await;
    talk.client_gets(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"l"}}}"#).await;
    talk.server(r#"{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}"#)
        .await;
    talk.server(
        r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"u:1"}}"#,
    )
    .await;
    talk.client_gets(r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"u:1","_meta":{"io.modelcontextprotocol/subscriptionId":"l"}}}"#).await;
    talk.client(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"l"}}"#,
    )
    .await;
    talk.server_gets(
        r#"{"jsonrpc":"2.0","id":5,"method":"resources/unsubscribe","params":{"uri":"u:1"}}"#,
    )
    .await;
    talk.server(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#)
        .await;
    talk.silence().await;
}

/// Who stops listening takes nothing from who goes on.
#[tokio::test(start_paused = true)]
async fn a_resource_is_subscribed_to_for_as_long_as_anybody_listens() {
    let mut talk = discovered(r#"{"resources":{"subscribe":true}}"#).await;
    let said = said("");
    for id in ["k", "l"] {
        talk.client(&format!(r#"{{"jsonrpc":"2.0","id":"{id}","method":"subscriptions/listen","params":{{"notifications":{{"resourceSubscriptions":["u:1"]}},{said}}}}}"#)).await;
        let Told::Message(message, _) = talk.told().await else {
            panic!("no message");
        };
        assert_eq!(message.method(), Some("resources/subscribe"));
        let number = message.id().unwrap();
        talk.server(&format!(
            r#"{{"jsonrpc":"2.0","id":{number},"result":{{}}}}"#
        ))
        .await;
        let told = talk.event().await;
        assert!(
            matches!(told, Event::Message { related: Some(own), .. } if own.to_string() == format!("\"{id}\""))
        );
    }
    let stop = |id: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":"{id}"}}}}"#
        )
    };
    talk.client(&stop("k")).await;
    talk.silence().await;
    talk.server(
        r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"u:1"}}"#,
    )
    .await;
    talk.client_gets(r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"u:1","_meta":{"io.modelcontextprotocol/subscriptionId":"l"}}}"#).await;
    talk.client(&stop("l")).await;
    let told = talk.told().await;
    assert!(
        matches!(told, Told::Message(message, _) if message.method() == Some("resources/unsubscribe"))
    );
    talk.silence().await;
}

#[tokio::test(start_paused = true)]
async fn who_cancels_or_goes_is_not_answered() {
    let mut talk = discovered("{}").await;
    talk.call("a", 3).await;
    talk.client(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId": "a","reason":"r"}}"#).await;
    talk.server_gets(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId": 3,"reason":"r"}}"#).await;
    assert!(matches!(talk.told().await, Told::Abandon(_)));
    talk.call("b", 5).await;
    let id = Id::parse(r#""b""#.into()).unwrap();
    talk.bridge.abandon(&id).await;
    talk.bridge.abandon(&id).await;
    talk.server_gets(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}"#,
    )
    .await;
    assert!(matches!(talk.told().await, Told::Abandon(_)));
    talk.server(r#"{"jsonrpc":"2.0","id":5,"result":{}}"#).await;
    talk.silence().await;
}

#[tokio::test(start_paused = true)]
async fn clients_that_say_other_things_of_themselves_have_other_sessions() {
    let mut talk = discovered("{}").await;
    for n in 0..8 {
        let capabilities = format!(r#"{{"experimental":{{"n":{n}}}}}"#);
        let said = said_with(&capabilities, "");
        talk.client(&format!(
            r#"{{"jsonrpc":"2.0","id":{n},"method":"tools/list","params":{{{said}}}}}"#
        ))
        .await;
        let Some(mut other) = tokio::time::timeout(Duration::from_secs(1), talk.connections.recv())
            .await
            .ok()
            .flatten()
        else {
            // The ninth takes the place of one that is idle, and there is but the first.
            panic!("no connection for client {n}");
        };
        let Some(Told::Message(message, _)) = other.told.recv().await else {
            panic!("nothing was sent");
        };
        assert_eq!(
            text(&message),
            initialize(message.id().unwrap().as_number().unwrap(), &capabilities)
        );
        if n == 7 {
            assert!(matches!(talk.told().await, Told::Close));
        }
        // Its requests wait until it has begun.
        assert!(other.told.try_recv().is_err());
        std::mem::forget(other);
    }
    let said = said_with("{}", "");
    talk.client(&format!(
        r#"{{"jsonrpc":"2.0","id":"x","method":"tools/list","params":{{{said}}}}}"#
    ))
    .await;
    talk.client_gets(r#"{"jsonrpc":"2.0","id":"x","error":{"code":-32603,"message":"more than 8 kinds of clients at once"}}"#).await;
}

#[tokio::test(start_paused = true)]
async fn a_session_that_cannot_begin_fails_what_waits_for_it() {
    let mut talk = connected().await;
    let said = said("");
    for id in ["a", "b"] {
        talk.client(&format!(
            r#"{{"jsonrpc":"2.0","id":"{id}","method":"tools/list","params":{{{said}}}}}"#
        ))
        .await;
    }
    talk.told().await;
    talk.server(r#"{"jsonrpc":"2.0","id":2,"error":{"code":-1,"message":"no"}}"#)
        .await;
    for id in ["a", "b"] {
        talk.client_gets(&format!(
            r#"{{"jsonrpc":"2.0","id":"{id}","error":{{"code":-1,"message":"no"}}}}"#
        ))
        .await;
    }
    assert!(matches!(talk.told().await, Told::Close));
    // The next request opens another.
    talk.client(&format!(
        r#"{{"jsonrpc":"2.0","id":"c","method":"tools/list","params":{{{said}}}}}"#
    ))
    .await;
    assert!(talk.connections.recv().await.is_some());
}

/// The gateway waits for the first session only.
#[tokio::test(start_paused = true)]
async fn a_later_session_that_does_not_begin_in_time_fails_what_waits_for_it() {
    let mut talk = discovered("{}").await;
    talk.call("a", 3).await;
    let said = said_with("{}", "");
    talk.client(&format!(
        r#"{{"jsonrpc":"2.0","id":"x","method":"tools/list","params":{{{said}}}}}"#
    ))
    .await;
    let mut other = talk.connections.recv().await.unwrap();
    let hangs = UpstreamError::TimedOut {
        after: Duration::from_secs(60),
    };
    match talk.event().await {
        Event::Failed { id, error } => {
            assert_eq!((id.raw().as_ref(), error), (&b"\"x\""[..], hangs))
        }
        event => panic!("{event:?}"),
    }
    assert!(matches!(other.told.recv().await, Some(Told::Message(..))));
    assert!(matches!(other.told.recv().await, Some(Told::Close)));
    // The first is where it was.
    talk.silence().await;
    talk.server(r#"{"jsonrpc":"2.0","id":3,"result":{}}"#).await;
    talk.client_gets(r#"{"jsonrpc":"2.0","id":"a","result":{"resultType":"complete"}}"#)
        .await;
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_last_session_is_the_end() {
    let mut talk = discovered("{}").await;
    talk.call("a", 3).await;
    let error = UpstreamError::Ended("x".to_owned());
    talk.server.events.send(Event::Closed(error)).await.unwrap();
    assert!(matches!(talk.event().await, Event::Failed { id, .. } if id.to_string() == r#""a""#));
    assert!(matches!(talk.event().await, Event::Closed(_)));
    talk.silence().await;
}

/// A server over HTTP that was restarted while nobody called.
#[tokio::test(start_paused = true)]
async fn what_a_server_does_not_take_for_its_session_is_sent_again_in_another() {
    let mut talk = discovered(r#"{"tools":{}}"#).await;
    talk.call("a", 3).await;
    talk.call("b", 5).await;
    talk.call("c", 7).await;
    let returned = |id: u64| Event::Returned {
        message: Message::request(&Id::number(id), "tools/call", None),
        headers: Vec::new(),
    };
    let over = || Event::Closed(UpstreamError::SessionOver);
    // In whatever order they come back. What is known of the second is only that it was sent.
    for event in [returned(7), returned(3), over()] {
        talk.server.events.send(event).await.unwrap();
    }
    let lost = UpstreamError::SessionOver.after_sending();
    assert_eq!(failed(&mut talk, "b").await, lost);
    talk.server = talk.connections.recv().await.unwrap();
    let Told::Message(hello, _) = talk.told().await else {
        panic!("no message");
    };
    assert_eq!(hello.method(), Some("initialize"));
    let id = hello.id().unwrap();
    let begun = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"2025-06-18","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"s","version":"2"}}}}}}"#
    );
    talk.server(&begun).await;
    assert!(matches!(talk.told().await, Told::Speak(_)));
    talk.server_gets(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
    let mut ids = Vec::new();
    for _ in ["a", "c"] {
        let Told::Message(call, _) = talk.told().await else {
            panic!("no message");
        };
        assert_eq!(call.method(), Some("tools/call"));
        assert_eq!(call.params().unwrap(), &br#"{"name":"t"}"#[..]);
        ids.push(call.id().unwrap().as_number().unwrap());
    }
    talk.server(&format!(
        r#"{{"jsonrpc":"2.0","id":{},"result":{{"content":[]}}}}"#,
        ids[0]
    ))
    .await;
    talk.client_gets(
        r#"{"jsonrpc":"2.0","id":"a","result":{"content":[],"resultType":"complete"}}"#,
    )
    .await;
    // Not for the third time: what is refused in a session that has just begun may have been carried out.
    talk.server.events.send(returned(ids[1])).await.unwrap();
    let lost = UpstreamError::SessionOver.after_sending();
    assert_eq!(failed(&mut talk, "c").await, lost);
    talk.server.events.send(over()).await.unwrap();
    assert!(matches!(
        talk.event().await,
        Event::Closed(UpstreamError::SessionOver)
    ));
}

/// A server that was restarted numbers its requests anew.
#[tokio::test(start_paused = true)]
async fn an_answer_to_the_session_before_does_not_reach_the_next() {
    let mut talk = discovered(r#"{"tools":{}}"#).await;
    talk.server(r#"{"jsonrpc":"2.0","id":0,"method":"roots/list"}"#)
        .await;
    talk.call("a", 3).await;
    let state = talk
        .asked("a", r#"{"input_1":{"method":"roots/list"}}"#)
        .await;
    for event in [
        Event::Returned {
            message: Message::request(&Id::number(3), "tools/call", None),
            headers: Vec::new(),
        },
        Event::Closed(UpstreamError::SessionOver),
    ] {
        talk.server.events.send(event).await.unwrap();
    }
    talk.server = talk.connections.recv().await.unwrap();
    let Told::Message(hello, _) = talk.told().await else {
        panic!("no message");
    };
    let id = hello.id().unwrap();
    let begun = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"2025-06-18","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"s","version":"2"}}}}}}"#
    );
    talk.server(&begun).await;
    assert!(matches!(talk.told().await, Told::Speak(_)));
    talk.server_gets(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
    let Told::Message(call, _) = talk.told().await else {
        panic!("no message");
    };
    assert_eq!(call.method(), Some("tools/call"));
    talk.server(r#"{"jsonrpc":"2.0","id":0,"method":"roots/list"}"#)
        .await;
    talk.again("b", &state, r#"{"input_1":{"roots":[]}}"#).await;
    // What the client says is of the question before: it is asked the one of the new session.
    talk.asked("b", r#"{"input_2":{"method":"roots/list"}}"#)
        .await;
    talk.silence().await;
}

/// Nor what nobody waits for any longer.
#[tokio::test(start_paused = true)]
async fn what_came_back_and_was_cancelled_is_not_sent_again() {
    let mut talk = discovered(r#"{"tools":{}}"#).await;
    talk.call("a", 3).await;
    let event = Event::Returned {
        message: Message::request(&Id::number(3), "tools/call", None),
        headers: Vec::new(),
    };
    talk.server.events.send(event).await.unwrap();
    tokio::time::sleep(Duration::from_millis(1)).await;
    talk.client(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}"#,
    )
    .await;
    let over = Event::Closed(UpstreamError::SessionOver);
    talk.server.events.send(over).await.unwrap();
    assert!(matches!(talk.event().await, Event::Closed(_)));
    talk.silence().await;
    assert!(talk.connections.try_recv().is_err());
}

const ASK: &str = r#"{"jsonrpc":"2.0","id":9,"method":"roots/list"}"#;

const ASKED: &str = r#"{"input_1":{"method":"roots/list"}}"#;

impl Talk {
    /// The server is told that what it asked is shown to nobody.
    async fn ask_refused(&mut self, reason: &str) {
        self.server_gets(&format!(
            r#"{{"jsonrpc":"2.0","id":9,"error":{{"code":-32603,"message":"{reason}"}}}}"#
        ))
        .await;
        self.silence().await;
    }

    async fn left(&mut self, client: &str) {
        let id = Id::parse(format!("\"{client}\"").into()).unwrap();
        self.bridge.abandon(&id).await;
        self.told().await;
        assert!(matches!(self.told().await, Told::Abandon(_)));
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_call_that_is_over_asks_is_shown_to_no_other() {
    for is_shared in [false, true] {
        let over = "the request within which this is asked is over, or is none that may ask";
        let mut talk = discovered_for(is_shared, "{}").await;
        talk.call("a", 3).await;
        talk.call("b", 5).await;
        talk.left("a").await;
        talk.server_for(ASK, Some(3)).await;
        talk.ask_refused(over).await;
        talk.server_for(ASK, Some(5)).await;
        talk.asked("b", ASKED).await;
    }
}

#[tokio::test(start_paused = true)]
async fn of_several_clients_none_is_shown_what_another_may_have_caused() {
    let unknown = "it is not known which of several clients this asks";
    let mut talk = discovered_for(true, "{}").await;
    // Before any call, nobody has caused it.
    talk.server(ASK).await;
    talk.silence().await;
    talk.call("a", 3).await;
    talk.asked("a", ASKED).await;
    // The call that is asked runs on.
    talk.call("b", 5).await;
    talk.server(ASK).await;
    talk.ask_refused(unknown).await;
    talk.server(r#"{"jsonrpc":"2.0","id":3,"result":{}}"#).await;
    talk.silence().await;
    talk.server(ASK).await;
    let state = talk.asked("b", ASKED).await;
    talk.again("c", &state, r#"{"input_1":{}}"#).await;
    talk.server_gets(r#"{"jsonrpc":"2.0","id":9,"result":{}}"#)
        .await;
    talk.server(r#"{"jsonrpc":"2.0","id":5,"result":{}}"#).await;
    talk.event().await;
    // No call runs, but some did.
    talk.server(ASK).await;
    talk.ask_refused(unknown).await;
    // One was left: the server may still be at it.
    talk.call("d", 7).await;
    talk.left("d").await;
    talk.call("e", 9).await;
    talk.server(ASK).await;
    talk.ask_refused(unknown).await;
    tokio::time::sleep(Duration::from_secs(601)).await;
    talk.server(ASK).await;
    talk.asked("e", ASKED).await;
}

#[tokio::test(start_paused = true)]
async fn of_several_clients_none_reads_what_another_may_have_caused_to_be_logged() {
    let mut talk = discovered_for(true, r#"{"logging":{}}"#).await;
    let log =
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":1}}"#;
    let wants = said(r#""io.modelcontextprotocol/logLevel":"warning","#);
    talk.client(&format!(
        r#"{{"jsonrpc":"2.0","id":"a","method":"x","params":{{{wants}}}}}"#
    ))
    .await;
    talk.told().await;
    talk.told().await;
    talk.server(log).await;
    talk.client_gets(log).await;
    talk.client(&format!(
        r#"{{"jsonrpc":"2.0","id":"b","method":"x","params":{{{wants}}}}}"#
    ))
    .await;
    talk.told().await;
    talk.server(log).await;
    talk.silence().await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_read_is_closed_all_the_same() {
    let mut talk = discovered("{}").await;
    let reads = Arc::clone(&talk.server.reads);
    let stuck = reads.write().await;
    let said = said("");
    for id in 0..3 {
        talk.client(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"x","params":{{{said}}}}}"#
        ))
        .await;
    }
    tokio::time::timeout(Duration::from_secs(60), talk.bridge.close())
        .await
        .expect("waits for the server");
    drop(stuck);
    assert!(matches!(talk.told().await, Told::Close));
    // One that reads late, but does, gets what was for it.
    let mut talk = discovered("{}").await;
    let reads = Arc::clone(&talk.server.reads);
    let stuck = reads.write().await;
    talk.client(&format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{{{said}}}}}"#
    ))
    .await;
    let late = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        drop(stuck);
    };
    tokio::join!(talk.bridge.close(), late);
    assert!(matches!(talk.told().await, Told::Message(..)));
    assert!(matches!(talk.told().await, Told::Close));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// In whatever order a server answers and asks, each answer reaches its request, under the id it came
    /// with, with its bytes.
    #[test]
    fn answers_reach_their_requests(order in Just((0..12).collect::<Vec<u32>>()).prop_shuffle(), asks in prop::collection::vec(any::<bool>(), 12)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let mut talk = discovered("{}").await;
            let mut sent = BTreeMap::new();
            for n in 0..12_u32 {
                let number = 3 + 2 * u64::from(n);
                talk.call(&format!("c{n}"), number).await;
                sent.insert(n, number);
            }
            for n in order {
                let number = sent[&n];
                let mut client = format!("c{n}");
                if asks[n as usize] {
                    talk.server_for(&format!(r#"{{"jsonrpc":"2.0","id":"q{n}","method":"roots/list"}}"#), Some(number)).await;
                    let state = talk.asked(&client, r#"{"input_1":{"method":"roots/list"}}"#).await;
                    client = format!("d{n}");
                    talk.again(&client, &state, &format!(r#"{{"input_1":{{"n":{n}}}}}"#)).await;
                    talk.server_gets(&format!(r#"{{"jsonrpc":"2.0","id":"q{n}","result":{{"n":{n}}}}}"#)).await;
                }
                talk.server(&format!(r#"{{"jsonrpc":"2.0","id":{number},"result":{{"n": {n}.00}}}}"#)).await;
                talk.client_gets(&format!(r#"{{"jsonrpc":"2.0","id":"{client}","result":{{"n": {n}.00,"resultType":"complete"}}}}"#)).await;
            }
            talk.silence().await;
        });
    }
}
