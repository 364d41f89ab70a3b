//! What clients ask for: messages by POST, streams by GET, the end of a session by DELETE.

use super::{
    Http,
    answer::{Answer, json, refuse, status},
    body::{self, BodyError},
    events,
    reply::{Beginning, Leaving, Reply, Untold},
    session::{Busy, Session},
    stateless,
    stream::{From, Stream},
};
use crate::{
    Revision,
    downstream::too_large,
    message::{Id, Kind, Message, RpcError},
    metrics::families::{CLIENT_NO_MESSAGES, REFUSALS},
    port::{Crowded, Disconnected, HubClient, MessageSink},
    principal::Principal,
    protocol::{
        code,
        header::{self, only},
        method,
    },
};
use async_trait::async_trait;
use crossfeed_wire::ErrorCode;
use hyper::{
    HeaderMap, Request, Response, StatusCode,
    body::Incoming,
    header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER},
};
use serde_json::json;
use std::{sync::Arc, time::Duration};
use tokio::{task::JoinHandle, time::timeout};

/// How long an answer is waited for before a stream is begun for it: one that is there at once goes as
/// JSON, which costs less on both sides.
const STREAM_AFTER: Duration = Duration::from_millis(50);
/// The same where the status of the answer says what became of the request, and nothing else does.
const STREAM_AFTER_AT_MOST: Duration = Duration::from_secs(5);
/// When a client may try again for which there is no room, in seconds.
const RETRY_AFTER_SECONDS: &str = "1";

/// What a client takes.
#[derive(Clone, Copy)]
struct Takes {
    json: bool,
    events: bool,
}

impl Takes {
    fn of(headers: &HeaderMap) -> Self {
        let mut takes = Self {
            json: false,
            events: false,
        };
        let mut said = false;
        for value in headers.get_all(ACCEPT) {
            for kind in value.to_str().unwrap_or_default().split(',') {
                said = true;
                let kind = kind.split(';').next().unwrap_or_default().trim();
                let all = kind == "*/*";
                takes.json |= all
                    || kind.eq_ignore_ascii_case("application/json")
                    || kind.eq_ignore_ascii_case("application/*");
                takes.events |= all
                    || kind.eq_ignore_ascii_case("text/event-stream")
                    || kind.eq_ignore_ascii_case("text/*");
            }
        }
        if !said {
            takes.json = true;
            takes.events = true;
        }
        takes
    }
}

impl Http {
    pub(super) async fn post(
        self: Arc<Self>,
        request: Request<Incoming>,
        principal: Principal,
    ) -> Response<Answer> {
        let (parts, body) = request.into_parts();
        let headers = parts.headers;
        if !is_json(&headers) {
            return invalid(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "messages are `application/json`",
            );
        }
        let takes = Takes::of(&headers);
        // Whatever is sent before the answer needs a stream.
        if !takes.events {
            return invalid(
                StatusCode::NOT_ACCEPTABLE,
                "answers are `application/json` or `text/event-stream`: accept both",
            );
        }
        let limit = self.limits.message_bytes;
        let charge = self.budget.account(&principal).nothing();
        let bytes = match body::read(body, limit, charge).await {
            Ok(bytes) => bytes,
            Err(BodyError::TooLarge) => {
                self.metrics.count(CLIENT_NO_MESSAGES, &[]);
                return refuse(StatusCode::PAYLOAD_TOO_LARGE, None, &too_large(limit));
            }
            Err(BodyError::NoRoom) => {
                let limit = self.budget.limit();
                let data = json!({"code": ErrorCode::LimitExceeded.as_str(), "limit": limit});
                return later(None, "the memory limit is reached", data);
            }
            Err(BodyError::TooSlow) => {
                return invalid(StatusCode::REQUEST_TIMEOUT, "nothing came for too long");
            }
            Err(BodyError::Gone) => return status(StatusCode::BAD_REQUEST),
        };
        let message = match Message::read(bytes).await {
            Ok(message) => message,
            Err(error) => {
                self.metrics.count(CLIENT_NO_MESSAGES, &[]);
                return refuse(StatusCode::BAD_REQUEST, error.id(), &error.to_rpc());
            }
        };
        if stateless::is_meant(&headers, &message).await {
            return self.stateless(&headers, takes, message, principal).await;
        }
        self.in_session(&headers, takes, message, &principal).await
    }

    async fn in_session(
        self: Arc<Self>,
        headers: &HeaderMap,
        takes: Takes,
        message: Message,
        principal: &Principal,
    ) -> Response<Answer> {
        let begins =
            message.kind() == Kind::Request && message.method() == Some(method::INITIALIZE);
        let busy = if begins {
            match self.sessions.begin(Arc::clone(&self.hub), principal) {
                Some(busy) => busy,
                None => {
                    self.metrics.count(REFUSALS, &["sessions"]);
                    let data = json!({"code": ErrorCode::LimitExceeded.as_str()});
                    return later(message.id(), "there are too many sessions", data);
                }
            }
        } else {
            match self.session(headers, principal, message.id()) {
                Ok(busy) => busy,
                Err(refusal) => return *refusal,
            }
        };
        let session = Arc::clone(busy.session());
        if message.kind() != Kind::Request {
            deliver(&session.client, message, Arc::new(Nowhere)).await;
            return status(StatusCode::ACCEPTED);
        }
        let beginning = begins.then(|| Beginning {
            http: Arc::clone(&self),
            id: session.id.clone(),
        });
        let mut untold = Untold(beginning.clone());
        if begins && let Err(Crowded { what }) = Arc::clone(&session.client).reserve().await {
            self.metrics.count(REFUSALS, &[what]);
            let data = json!({"code": ErrorCode::LimitExceeded.as_str()});
            let text = format!("the gateway has no room for another session: too many {what}");
            return later(message.id(), &text, data);
        }
        let stream = session.stream();
        let reply = Arc::new(Reply {
            stream: Arc::clone(&stream),
            busy: Some(busy),
            beginning,
        });
        let reply = self.running.begin(&message, reply);
        start(&session.client, message, reply);
        let wait = if begins {
            STREAM_AFTER_AT_MOST
        } else {
            STREAM_AFTER
        };
        let mut response = match timeout(wait, stream.answered_at_once()).await {
            Ok(Some(answer)) if begins && answer.kind() == Kind::Error => {
                return json(StatusCode::OK, &answer);
            }
            Ok(Some(answer)) if takes.json => json(StatusCode::OK, &answer),
            Ok(Some(answer)) => {
                // It takes streams only: the answer goes back to where it was taken from.
                let stream = session.stream();
                let _ = stream.send(answer).await;
                self.stream(&session, &stream)
            }
            Ok(None) | Err(_) => self.stream(&session, &stream),
        };
        if begins && let Ok(value) = HeaderValue::from_str(&session.id) {
            response.headers_mut().insert(header::SESSION, value);
            untold.0 = None;
        }
        response
    }

    fn stream(&self, session: &Arc<Session>, stream: &Arc<Stream>) -> Response<Answer> {
        session.keep(stream);
        // An event without data confuses clients that came before it was said to be fine.
        let primes = session
            .client
            .revision()
            .is_some_and(|revision| revision >= Revision::V2025_11_25);
        streamed(events(stream.events(From::Unread, primes)))
    }

    /// The session that a request names.
    fn session(
        &self,
        headers: &HeaderMap,
        principal: &Principal,
        id: Option<&Id>,
    ) -> Result<Busy, Box<Response<Answer>>> {
        let refused = |status, what: String| {
            let error = RpcError::new(code::INVALID_REQUEST, what);
            Err(Box::new(refuse(status, id, &error)))
        };
        let named = match (
            only(headers, header::SESSION),
            only(headers, header::VERSION),
        ) {
            (Err(wrong), _) | (_, Err(wrong)) => return refused(StatusCode::BAD_REQUEST, wrong),
            (Ok(named), _) => named,
        };
        let Some(named) = named else {
            let what = "the header Mcp-Session-Id is missing: begin with `initialize`";
            return refused(StatusCode::BAD_REQUEST, what.to_owned());
        };
        match self.sessions.find(named, principal) {
            Some(busy) => Ok(busy),
            None => refused(
                StatusCode::NOT_FOUND,
                "there is no such session: begin with `initialize`".to_owned(),
            ),
        }
    }

    /// The stream of a session.
    pub(super) fn listen(
        &self,
        request: &Request<Incoming>,
        principal: &Principal,
    ) -> Response<Answer> {
        let headers = request.headers();
        let version = only(headers, header::VERSION).ok().flatten();
        if version
            .and_then(Revision::parse)
            .is_some_and(Revision::is_stateless)
        {
            return super::not_allowed();
        }
        if !Takes::of(headers).events {
            return invalid(
                StatusCode::NOT_ACCEPTABLE,
                "this is a `text/event-stream`: accept it",
            );
        }
        let session = match self.session(headers, principal, None) {
            Ok(session) => session,
            Err(refusal) => return *refusal,
        };
        let last_event = match only(headers, header::LAST_EVENT) {
            Ok(last_event) => last_event,
            Err(_) => return invalid(StatusCode::BAD_REQUEST, "there is no such event"),
        };
        let Some((stream, from)) = session.resume(last_event) else {
            return invalid(StatusCode::BAD_REQUEST, "there is no such event any more");
        };
        streamed(events(stream.events(from, false)))
    }

    /// The end of a session.
    pub(super) async fn delete(
        &self,
        request: &Request<Incoming>,
        principal: &Principal,
    ) -> Response<Answer> {
        match self.session(request.headers(), principal, None) {
            Ok(session) => {
                self.sessions.end(&session.id).await;
                status(StatusCode::NO_CONTENT)
            }
            Err(refusal) => *refusal,
        }
    }

    async fn stateless(
        self: Arc<Self>,
        headers: &HeaderMap,
        takes: Takes,
        message: Message,
        principal: Principal,
    ) -> Response<Answer> {
        let client = Arc::clone(&self.hub).stateless(principal);
        if let Err(error) = stateless::check(headers, &message, &*client).await {
            if error.code == code::INTERNAL {
                let data = error.data.unwrap_or_default();
                return later(message.id(), &error.message, data);
            }
            return refuse(StatusCode::BAD_REQUEST, message.id(), &error);
        }
        if matches!(message.kind(), Kind::Response | Kind::Error) {
            let what = "a client without a session answers in `inputResponses` of its next request";
            let error = RpcError::new(code::INVALID_REQUEST, what);
            return refuse(StatusCode::BAD_REQUEST, None, &error);
        }
        let Some(id) = message
            .id()
            .cloned()
            .filter(|_| message.kind() == Kind::Request)
        else {
            deliver(&client, message, Arc::new(Nowhere)).await;
            return status(StatusCode::ACCEPTED);
        };
        let stream = Stream::fleeting();
        if message.method() == Some(method::LISTEN) {
            self.listens.add(&stream);
        }
        let reply = Arc::new(Reply {
            stream: Arc::clone(&stream),
            busy: None,
            beginning: None,
        });
        let reply = self.running.begin(&message, reply);
        let left = Arc::downgrade(&reply);
        let started = start(&client, message, reply);
        let mut leaving = Leaving(Some((Arc::clone(&client), id, left, started)));
        let answer = timeout(STREAM_AFTER_AT_MOST, stream.answered_at_once()).await;
        if let Ok(Some(answer)) = answer {
            leaving.0 = None;
            if takes.json || answer.kind() == Kind::Error {
                return json(stateless::status(&answer), &answer);
            }
            let stream = Stream::fleeting();
            let _ = stream.send(answer).await;
            return streamed(events(stream.events(From::Start, false)));
        }
        let body = stream.events(From::Start, false);
        streamed(events(body.or_left(move || drop(leaving))))
    }
}

struct Nowhere;

#[async_trait]
impl MessageSink for Nowhere {
    async fn send(&self, _: Message) -> Result<(), Disconnected> {
        Err(Disconnected)
    }
}

/// Hands a message over, whether or not the client stays for it.
fn start(
    client: &Arc<dyn HubClient>,
    message: Message,
    reply: Arc<dyn MessageSink>,
) -> JoinHandle<()> {
    let client = Arc::clone(client);
    tokio::spawn(async move { client.receive(message, reply).await })
}

async fn deliver(client: &Arc<dyn HubClient>, message: Message, reply: Arc<dyn MessageSink>) {
    // It was handed over before the client hears so: what it sends then comes later.
    if let Err(error) = start(client, message, reply).await {
        tracing::error!(%error, "could not deliver a message");
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let mut kinds = headers.get_all(CONTENT_TYPE).iter();
    let (Some(kind), None) = (kinds.next(), kinds.next()) else {
        return false;
    };
    let kind = kind.to_str().unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
}

fn invalid(status: StatusCode, what: &'static str) -> Response<Answer> {
    refuse(status, None, &RpcError::new(code::INVALID_REQUEST, what))
}

/// There is no room now.
pub(super) fn later(id: Option<&Id>, what: &str, data: serde_json::Value) -> Response<Answer> {
    let error = RpcError::new(code::INTERNAL, what).with_data(data);
    let mut response = refuse(StatusCode::SERVICE_UNAVAILABLE, id, &error);
    let headers = response.headers_mut();
    headers.insert(RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER_SECONDS));
    response
}

fn streamed(body: Answer) -> Response<Answer> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}
