//! Whether a server still knows the session.
//!
//! Only a 404 that is not the answer to a request is certain: the session is over, and the server did not carry the
//! request out. After any other sign the server is asked, by a `ping`, and nothing is sent again.

use super::{
    body,
    connection::{self, HttpConnection},
};
use crate::{
    message::{Id, Kind, Message},
    protocol::method,
    upstream::UpstreamError,
};
use reqwest::{Response, StatusCode};
use std::{sync::Arc, time::Duration};
use tokio::time::{Instant, timeout};

/// How many bytes the body of a refusal may have.
const MAX_REASON_BYTES: usize = 1 << 20;
/// How long the server may take to say whether it knows the session, and to say all of a 404.
const ASK_TIMEOUT: Duration = Duration::from_secs(2);

/// What a status that says no says of its request.
pub(super) enum Refusal {
    /// The server does not know the session, and did not carry the request out.
    Session,
    /// The same, unless the rest of it, which cannot be read, is the server's answer.
    Cut,
    /// The server's error, and whether it may mean the session.
    Error { error: Box<Message>, is_doubt: bool },
    /// Nothing but itself.
    Status,
}

impl Refusal {
    /// Reads what came for a request.
    pub(super) async fn read(link: &HttpConnection, id: &Id, response: Response) -> Self {
        let status = response.status();
        let has_session = link.has_session();
        let is_over = connection::is_over(status, has_session);
        let is_json = connection::is_json(&response);
        let whole = body::whole(response, MAX_REASON_BYTES.min(link.limit), &link.account);
        let text = if is_over {
            match timeout(ASK_TIMEOUT, whole).await {
                Ok(Ok(text)) => Some(text),
                _ => return Self::Cut,
            }
        } else if is_json {
            whole.await.ok()
        } else {
            None
        };
        let message = text.and_then(|text| Message::parse(text).ok());
        let of = message.as_ref().and_then(Message::id);
        if is_over && !of.is_some_and(|of| is_meant(of, id)) {
            return Self::Session;
        }
        let error = message.filter(|message| {
            message.kind() == Kind::Error && message.id().is_none_or(|of| of == id)
        });
        match error {
            Some(error) => Self::Error {
                is_doubt: has_session && may_mean_session(status, &error),
                error: Box::new(error),
            },
            None => Self::Status,
        }
    }
}

/// Whether an id is one of ours, also where the server made a text of it.
fn is_meant(of: &Id, ours: &Id) -> bool {
    let bare = of.raw().strip_prefix(b"\"");
    let bare = bare.and_then(|of| of.strip_suffix(b"\""));
    of == ours || bare == Some(ours.raw())
}

/// Servers that were made by the official examples say 400 where the specification says 404, and others answer
/// the request. Tools have sessions of their own, of which their errors speak.
fn may_mean_session(status: StatusCode, error: &Message) -> bool {
    let text = error.error().unwrap_or_default().to_ascii_lowercase();
    matches!(status, StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND)
        && memchr::memmem::find(&text, b"session").is_some()
}

/// Asks the server whether it knows the session, which is over if it does not.
pub(super) async fn ask(link: &HttpConnection) {
    let since = Instant::now();
    let id = Id::text("crossfeed-session");
    let ping = Message::request(&id, method::PING, None);
    let answer = async {
        let response = link.post(&ping, &[], &Arc::default()).await.ok()?;
        if response.status().is_success() {
            return None;
        }
        Some(Refusal::read(link, &id, response).await)
    };
    // Where nothing is learnt in time, the next request will learn it.
    let is_over = match timeout(ASK_TIMEOUT, answer).await {
        Ok(Some(Refusal::Session | Refusal::Cut)) => true,
        Ok(Some(Refusal::Error { is_doubt, .. })) => is_doubt,
        Ok(Some(Refusal::Status) | None) | Err(_) => false,
    };
    if is_over {
        end(link, since);
    }
}

/// The session is over, as the server said to what was posted then.
pub(super) fn end(link: &HttpConnection, posted: Instant) {
    link.note_refusal_time(posted.elapsed());
    link.end(UpstreamError::SessionOver);
}
