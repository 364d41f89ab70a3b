//! The handshake on a new connection: introduces the client to the server, and reads its answer.

use super::{
    connection::ServerConnection,
    supervisor::{ended, handle_message},
};
use crate::{
    Revision,
    members::{self, EMPTY},
    message::{Id, Kind, Message, RpcError},
    protocol::{code, method},
    upstream::{Event, Upstream, UpstreamError},
};
use bytes::Bytes;
use std::sync::Arc;
use tokio::sync::mpsc;

/// Introduces the client, and waits for the server's answer.
pub(super) async fn introduce(
    link: &Arc<ServerConnection>,
    upstream: &dyn Upstream,
    events: &mut mpsc::Receiver<Event>,
) -> Result<(), UpstreamError> {
    // Ids of connections begin at 1.
    let id = Id::number(0);
    let handshake = Message::request(&id, link.handshake.method, Some(&link.handshake.params));
    upstream.send(handshake.clone(), &[]).await?;
    let mut is_again = false;
    loop {
        match events.recv().await {
            Some(Event::Message { message, related }) => {
                let is_answer = message.id() == Some(&id);
                match message.kind() {
                    Kind::Response if is_answer => {
                        let result = message.result().unwrap_or_default();
                        upstream.speak(spoken(link, &result));
                        let mut state = link.state.lock();
                        state.about = Some(result);
                        state.refused = None;
                        return Ok(());
                    }
                    // It speaks the revision of the request after all, and may have meant something else.
                    Kind::Error if is_answer && !is_again && lists_stateless(link, &message) => {
                        is_again = true;
                        upstream.send(handshake.clone(), &[]).await?;
                    }
                    Kind::Error if is_answer => {
                        let reason = refusal(&message);
                        link.state.lock().refused = Some(message);
                        return Err(UpstreamError::Refused(reason));
                    }
                    // An answer without a request.
                    Kind::Response | Kind::Error => {}
                    // Not for the client, which cannot answer before the server has.
                    Kind::Request => upstream.send(too_early(&message), &[]).await?,
                    Kind::Notification => handle_message(link, message, related).await,
                }
            }
            Some(Event::Failed { id: of, error }) if of == id => {
                link.state.lock().refused = None;
                return Err(error);
            }
            Some(Event::Failed { .. } | Event::Returned { .. }) => {}
            Some(Event::Closed(error)) => return Err(error),
            None => return Err(ended()),
        }
    }
}

/// The code of an error.
pub(super) fn error_code(error: &Message) -> Option<i64> {
    members::get_number(&error.error()?, &["code"])
}

/// Whether an error says that the server does not know the method or the revision: it is of another era.
pub(super) fn says_unknown(error: &Message) -> bool {
    let code = error_code(error);
    matches!(
        code,
        Some(code::METHOD_NOT_FOUND | code::UNSUPPORTED_REVISION)
    )
}

/// Whether an error refuses a revision, and says that the server speaks the one of a stateless connection.
fn lists_stateless(link: &ServerConnection, error: &Message) -> bool {
    let supported = members::get_texts(&error.error().unwrap_or_default(), &["data", "supported"]);
    link.stateless
        && error_code(error) == Some(code::UNSUPPORTED_REVISION)
        && supported
            .iter()
            .any(|supported| supported == Revision::V2026_07_28.as_str())
}

/// The answer to a server that asks before it has introduced itself.
fn too_early(request: &Message) -> Message {
    let id = request.id().cloned().unwrap_or_else(|| Id::number(0));
    if request.method() == Some(method::PING) {
        return Message::response(&id, &EMPTY);
    }
    let error = RpcError::new(code::INVALID_REQUEST, "the session is not initialized");
    Message::failure(Some(&id), &error)
}

/// The message of an error, on one short line.
pub(super) fn refusal(error: &Message) -> String {
    let message = error
        .error()
        .and_then(|error| members::get_text(&error, &["message"]))
        .filter(|message| !message.is_empty());
    let message = message.as_deref().unwrap_or("an error without a message");
    let line = message.chars().take(200);
    line.map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The revision that a server speaks: the one of its answer, or the nearest that is known.
fn spoken(link: &ServerConnection, result: &Bytes) -> Revision {
    if link.stateless {
        return Revision::V2026_07_28;
    }
    let version = members::get_text(result, &["protocolVersion"]);
    let known = version.as_deref().and_then(Revision::parse);
    known.unwrap_or(Revision::V2025_06_18)
}
