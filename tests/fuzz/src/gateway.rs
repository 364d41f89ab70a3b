//! What clients and servers send to the gateway, and its configuration.

use crate::block_on;
use bytes::Bytes;
use crossfeed_core::{Engine, EngineOptions};
use crossfeed_gateway::{
    Revision,
    config::{Format, GatewayConfig, Sources},
    line::{Line, LineReader, Skim},
    message::Message,
    principal::Principal,
    tools::{Call, Caller, ClientTools, ServerList, Tools},
};
use crossfeed_json::Document;
use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

/// What one line may hold.
const LINE: usize = 4096;

/// What is a message passes as it came, and what is read of it is read of its copy again.
pub(crate) fn message(input: &[u8]) {
    let mut skim = Skim::default();
    for chunk in input.chunks(7) {
        skim.feed(chunk);
    }
    assert_eq!(skim.finish().bytes, input.len() as u64);
    lines(input);
    let Ok(message) = Message::parse(Bytes::copy_from_slice(input)) else {
        return;
    };
    let written = message.to_bytes();
    let again = Message::parse(written.clone()).expect("what is written is a message");
    assert_eq!(again.to_bytes(), written);
    assert_eq!(again.kind(), message.kind());
    assert_eq!(again.id(), message.id());
    assert_eq!(again.method(), message.method());
    assert_eq!(again.body(), message.body());
    if let (Some(id), Some(body)) = (message.id().cloned(), message.body()) {
        let made = again.with_id(id.clone()).with_body(body.clone());
        let read = Message::parse(made.to_bytes()).expect("what is made is a message");
        assert_eq!((read.id(), read.body()), (Some(&id), Some(body)));
    }
}

/// Lines are read to the end, in bounded memory.
fn lines(input: &[u8]) {
    block_on(async {
        let mut reader = LineReader::new(input, LINE);
        while let Some(line) = reader.next().await.expect("memory can be read") {
            if let Line::Whole(line) = line {
                assert!(line.len() <= LINE);
            }
        }
    });
}

/// A configuration is read or refused, and what is wrong with it is said without a value of it.
pub(crate) fn configuration(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let environment = BTreeMap::from([("TOKEN".to_owned(), "a-secret-of-16-signs".to_owned())]);
    for format in [Format::Toml, Format::Json] {
        let sources = Sources::default().with_environment(environment.clone());
        match GatewayConfig::parse(&text, format, &sources) {
            Ok(config) => {
                let shown = format!("{config:?}");
                assert!(!shown.contains("a-secret-of-16-signs"), "{shown}");
            }
            Err(error) => {
                let said = error.to_string();
                assert!(!said.contains("a-secret-of-16-signs"), "{said}");
                assert!(!error.problems().is_empty());
            }
        }
    }
}

fn config() -> GatewayConfig {
    let text = r#"{"mcpServers": {"s": {"command": "s", "projection": true}}}"#;
    GatewayConfig::parse(text, Format::Json, &Sources::default()).expect("a configuration")
}

fn tools_of(revision: Revision) -> ClientTools {
    let engine = Engine::in_memory(EngineOptions::default());
    let caller = Caller::new(Principal::Local, Some("session".to_owned()), revision);
    Tools::new(engine, Arc::new(config())).for_caller(caller)
}

/// Whatever a server lists, the client's list is JSON, and the same for the same list.
pub(crate) fn tool_list(input: &[u8]) {
    let (revision, page) = match input.split_first() {
        Some((first, page)) if first % 2 == 0 => (Revision::V2025_11_25, page),
        Some((_, page)) => (Revision::V2026_07_28, page),
        None => return,
    };
    let lists = [ServerList::new(0, vec![Bytes::copy_from_slice(page)])];
    block_on(async {
        let listed = tools_of(revision).list(&lists).await;
        let document = Document::new(listed.clone());
        let root = document.root().expect("a list is JSON");
        assert!(root.get("tools").is_some());
        assert_eq!(tools_of(revision).list(&lists).await, listed);
    });
}

const LISTED: &str = r#"{"tools": [
    {"name": "any", "inputSchema": {"type": "object"}},
    {"name": "strict", "inputSchema": {"type": "object", "properties": {"url": {"type": "string", "pattern": "^https://"},
        "count": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}}}, "required": ["url"],
        "additionalProperties": false}}
]}"#;

const RESULT: &str = r#"{"content": [{"type": "text", "text": "{\"items\": [{\"url\": \"https://a.example\", \"n\": 1}, {\"url\": \"https://b.example\", \"n\": 2}]}"}]}"#;

/// A client whose `call_1` has a result.
fn client() -> &'static ClientTools {
    static CLIENT: OnceLock<ClientTools> = OnceLock::new();
    CLIENT.get_or_init(|| {
        let client = tools_of(Revision::V2025_11_25);
        block_on(async {
            let page = Bytes::from_static(LISTED.as_bytes());
            client.list(&[ServerList::new(0, vec![page])]).await;
            let params = Bytes::from_static(br#"{"name": "any", "arguments": {}}"#);
            let Call::Forward(forward) = client.call(params).await else {
                panic!("a call goes to its server");
            };
            let result = Bytes::from_static(RESULT.as_bytes());
            forward.pending.finish(result).await;
        });
        client
    })
}

/// Whatever the parameters of a call are, it is answered, refused or goes to the server as JSON.
pub(crate) fn arguments(input: &[u8]) {
    let client = client();
    block_on(async {
        match client.call(Bytes::copy_from_slice(input)).await {
            Call::Forward(forward) => {
                let document = Document::new(forward.params.clone());
                let root = document.root().expect("what goes to a server is JSON");
                assert!(root.get("name").is_some());
                forward.pending.fail("nothing was called").await;
            }
            Call::Answered(result) => {
                Document::new(result).root().expect("an answer is JSON");
            }
            _ => {}
        }
    });
}
