//! Which session a call runs in, where nothing says within which call a server asks.

use super::{ASK, ASKED, connected_over, discover, said};
use crate::{
    bridge::tests::{Connection, Talk, Told, text},
    message::{Id, Message},
    upstream::Event,
};
use bytes::Bytes;
use std::time::Duration;

impl Talk {
    async fn start(&self, client: &str) {
        let said = said("");
        self.client(&format!(r#"{{"jsonrpc":"2.0","id":"{client}","method":"tools/call","params":{{"name":"t",{said}}}}}"#)).await;
    }

    /// The client calls a tool, which runs in a session that is opened for it.
    async fn call_elsewhere(&mut self, client: &str) -> Connection {
        self.start(client).await;
        let opened = tokio::time::timeout(Duration::from_secs(1), self.connections.recv());
        let mut other = opened.await.expect("no session of its own").unwrap();
        let mut methods = Vec::new();
        while methods.last().map(String::as_str) != Some("tools/call") {
            let Some(Told::Message(message, _)) = other.told.recv().await else {
                continue;
            };
            methods.push(message.method().unwrap().to_owned());
            if methods.len() == 1 {
                let result = Bytes::from_static(
                    br#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}"#,
                );
                other
                    .say(Message::response(message.id().unwrap(), &result))
                    .await;
            }
        }
        assert_eq!(
            methods,
            ["initialize", "notifications/initialized", "tools/call"]
        );
        other
    }
}

impl Connection {
    async fn say(&self, message: Message) {
        let related = None;
        let event = Event::Message { message, related };
        self.events.send(event).await.unwrap();
    }

    /// The server asks, and does not say within which request.
    async fn ask(&self) {
        self.say(Message::parse(ASK).unwrap()).await;
    }

    async fn answer(&self, id: u64) {
        let result = Bytes::from_static(b"{}");
        self.say(Message::response(&Id::number(id), &result)).await;
    }

    async fn gets_a_call(&mut self) {
        let Some(Told::Message(call, _)) = self.told.recv().await else {
            panic!("it runs elsewhere");
        };
        assert_eq!(call.method(), Some("tools/call"));
    }

    fn is_closed(&mut self) -> bool {
        std::iter::from_fn(|| self.told.try_recv().ok()).any(|told| matches!(told, Told::Close))
    }
}

/// A command does not say within which request it asks: a call that it may ask within has a process of its own
/// while others run.
#[tokio::test(start_paused = true)]
async fn calls_at_once_that_may_be_asked_for_something_run_apart() {
    let mut talk = before_a_command().await;
    talk.call("a", 3).await;
    let b = talk.call_elsewhere("b").await;
    let c = talk.call_elsewhere("c").await;
    c.ask().await;
    talk.asked("c", ASKED).await;
    talk.server(ASK).await;
    talk.asked("a", ASKED).await;
    b.ask().await;
    talk.asked("b", ASKED).await;
    talk.silence().await;
}

/// What a server remembers from one call is there for the next.
#[tokio::test(start_paused = true)]
async fn calls_one_after_the_other_run_in_the_same_session() {
    let mut talk = before_a_command().await;
    for (call, server) in [("a", 3), ("b", 5), ("c", 7)] {
        talk.call(call, server).await;
        talk.server(&format!(
            r#"{{"jsonrpc":"2.0","id":{server},"result":{{}}}}"#
        ))
        .await;
        talk.event().await;
    }
}

/// Calls before a command that asks, and does not say within which call.
async fn before_a_command() -> Talk {
    discover(connected_over(true, false).await, r#"{"tools":{}}"#).await
}

/// The same, after the command has asked something within a call.
async fn before_a_command_that_asks() -> Talk {
    let mut talk = before_a_command().await;
    talk.call("first", 3).await;
    talk.server(ASK).await;
    let state = talk.asked("first", ASKED).await;
    talk.again("first", &state, r#"{"input_1":{}}"#).await;
    talk.told().await;
    talk.server(r#"{"jsonrpc":"2.0","id":3,"result":{}}"#).await;
    talk.event().await;
    talk
}

/// The server may still run a call that was cancelled: what it asks from then on must not be taken for another's.
#[tokio::test(start_paused = true)]
async fn a_call_after_a_cancelled_one_can_be_asked_for_something() {
    let mut talk = before_a_command_that_asks().await;
    talk.call("a", 5).await;
    talk.left("a").await;
    let mut other = talk.call_elsewhere("b").await;
    talk.server(ASK).await;
    talk.ask_refused("it is not known which of several clients this asks")
        .await;
    other.ask().await;
    let state = talk.asked("b", ASKED).await;
    talk.again("b", &state, r#"{"input_1":{}}"#).await;
    let Some(Told::Message(answer, _)) = other.told.recv().await else {
        panic!("the answer is for the call's own session");
    };
    assert_eq!(text(&answer), r#"{"jsonrpc":"2.0","id":9,"result":{}}"#);
    other.answer(8).await;
    talk.event().await;
    // From here on calls run there, one after the other.
    talk.start("c").await;
    other.gets_a_call().await;
    // The first session ends once it is sure that nothing runs there.
    tokio::time::sleep(Duration::from_secs(700)).await;
    assert!(matches!(talk.told().await, Told::Close));
}

/// What a server that never asks remembers is there after a cancelled call, too.
#[tokio::test(start_paused = true)]
async fn a_cancelled_call_of_a_server_that_never_asked_leaves_calls_where_they_are() {
    let mut talk = before_a_command().await;
    talk.call("a", 3).await;
    talk.left("a").await;
    talk.call("b", 5).await;
    // Now it asks: nobody knows for which call. From then on calls run elsewhere.
    talk.server(ASK).await;
    talk.ask_refused("it is not known which of several clients this asks")
        .await;
    talk.server(r#"{"jsonrpc":"2.0","id":5,"result":{}}"#).await;
    talk.event().await;
    let other = talk.call_elsewhere("c").await;
    other.ask().await;
    talk.asked("c", ASKED).await;
}

/// A server that answers a cancelled call does not ask within it any more.
#[tokio::test(start_paused = true)]
async fn a_cancelled_call_that_is_answered_all_the_same_is_over() {
    let mut talk = before_a_command_that_asks().await;
    for (call, server) in [("a", 5), ("b", 7)] {
        talk.call(call, server).await;
        talk.left(call).await;
        talk.server(&format!(
            r#"{{"jsonrpc":"2.0","id":{server},"error":{{"code":0,"message":"Request cancelled"}}}}"#
        ))
        .await;
        talk.silence().await;
    }
    talk.call("c", 9).await;
    talk.server(ASK).await;
    talk.asked("c", ASKED).await;
}

/// However many calls are cancelled, only so many sessions are kept.
#[tokio::test(start_paused = true)]
async fn cancelled_calls_keep_only_so_many_sessions() {
    let mut talk = before_a_command_that_asks().await;
    talk.call("0", 5).await;
    talk.left("0").await;
    let mut others = Vec::new();
    for call in 1..=20 {
        let other = talk.call_elsewhere(&call.to_string()).await;
        let id = Id::parse(format!("\"{call}\"").into()).unwrap();
        talk.bridge.abandon(&id).await;
        others.push(other);
    }
    tokio::time::sleep(Duration::from_millis(1)).await;
    let mut open = usize::from(!talk.server.is_closed());
    for other in &mut others {
        open += usize::from(!other.is_closed());
    }
    // The one for the next call, and eight beside it.
    assert_eq!(open, 9);
}

/// Where every session beside a client's first one is busy, its calls stay where one was cancelled.
#[tokio::test(start_paused = true)]
async fn calls_share_a_session_where_no_more_can_be_opened() {
    let mut talk = before_a_command_that_asks().await;
    talk.call("a", 5).await;
    let mut others = Vec::new();
    for call in 0..8 {
        others.push(talk.call_elsewhere(&format!("b{call}")).await);
    }
    talk.left("a").await;
    talk.start("c").await;
    assert!(
        matches!(talk.told().await, Told::Message(call, _) if call.method() == Some("tools/call"))
    );
}
