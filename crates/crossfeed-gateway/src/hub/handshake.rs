//! How a server is told who its client is, before anything else.
//!
//! What comes in: a connection that was just opened. What goes out: what the server says of itself, or
//! why it does not. Deliberately not here: which era is tried, and what comes behind.

use super::{
    connection::ServerConnection,
    read,
    supervisor::{ended, handle_message},
};
use crate::{
    Revision,
    message::{Id, Kind, Message, RpcError},
    protocol::{code, method},
    upstream::{Event, Upstream, UpstreamError},
};
use bytes::Bytes;
use std::sync::Arc;
use tokio::sync::mpsc;

/// Says who the client is, and waits for what the server says to that.
pub(super) async fn introduce(
    link: &Arc<ServerConnection>,
    upstream: &dyn Upstream,
    events: &mut mpsc::Receiver<Event>,
) -> Result<(), UpstreamError> {
    // Ids of links begin at 1.
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
                    // It speaks what it was asked in after all, and may have meant something else.
                    Kind::Error if is_answer && !is_again && lists_stateless(link, &message) => {
                        is_again = true;
                        upstream.send(handshake.clone(), &[]).await?;
                    }
                    Kind::Error if is_answer => {
                        let reason = refusal(&message);
                        link.state.lock().refused = Some(message);
                        return Err(UpstreamError::Refused(reason));
                    }
                    // An answer to nothing.
                    Kind::Response | Kind::Error => {}
                    // Not for the client: it could not answer before the server did.
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

/// Whether an error says that a server does not know the method, or the revision: it is of another era.
pub(super) fn says_unknown(error: &Message) -> bool {
    let error = error.error().unwrap_or_default();
    let code = read::raw(&error, &["code"]);
    [code::METHOD_NOT_FOUND, code::UNSUPPORTED_REVISION]
        .iter()
        .any(|known| code.as_deref() == Some(known.to_string().as_bytes()))
}

/// Whether an error refuses a revision, and says that the server speaks the one of a stateless link.
fn lists_stateless(link: &ServerConnection, error: &Message) -> bool {
    let error = error.error().unwrap_or_default();
    let code = read::raw(&error, &["code"]);
    let supported = read::raw(&error, &["data", "supported"])
        .and_then(|list| serde_json::from_slice::<Vec<String>>(&list).ok())
        .unwrap_or_default();
    link.stateless
        && code.as_deref() == Some(code::UNSUPPORTED_REVISION.to_string().as_bytes())
        && supported
            .iter()
            .any(|said| said == Revision::V2026_07_28.as_str())
}

/// What a server is answered that asks before it said who it is.
fn too_early(request: &Message) -> Message {
    let id = request.id().cloned().unwrap_or_else(|| Id::number(0));
    if request.method() == Some(method::PING) {
        return Message::response(&id, &Bytes::from_static(b"{}"));
    }
    let error = RpcError::new(code::INVALID_REQUEST, "the session is not initialized");
    Message::failure(Some(&id), &error)
}

/// What an error says, on one short line.
pub(super) fn refusal(error: &Message) -> String {
    let said = error
        .error()
        .and_then(|error| read::string(&error, &["message"]));
    let mut said: String = said
        .unwrap_or_default()
        .chars()
        .take(200)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if said.is_empty() {
        said.push_str("an error without a message");
    }
    said
}

/// The revision that a server speaks: what it said, or the nearest that is known.
fn spoken(link: &ServerConnection, result: &Bytes) -> Revision {
    if link.stateless {
        return Revision::V2026_07_28;
    }
    match read::string(result, &["protocolVersion"]) {
        Some(said) => Revision::parse(&said).unwrap_or(Revision::V2025_06_18),
        None => Revision::V2025_06_18,
    }
}
