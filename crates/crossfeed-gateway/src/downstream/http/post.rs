//! Requests of clients: messages by POST, streams by GET, the end of a session by DELETE.

use super::{
    Http,
    answer::{Answer, AnswerResult, body as answer, json, refuse, status},
    body::{self, BodyError},
    peers::{Place, Route, is_for_before, is_sent_on},
    reply::{NewSession, Reply, leaving},
    session::{BusySession, Session},
    stateless,
    stream::{EventId, Events, ReadFrom, Stream},
};
use crate::{
    Revision,
    downstream::too_large,
    message::{Id, Kind, Message, RpcError},
    metrics::families::CLIENT_NO_MESSAGES,
    port::{Crowded, HubClient, MessageSink, RecallError, SessionPlace},
    principal::Principal,
    protocol::{
        code,
        header::{self, only, without_parameters},
        method,
    },
    records::session::is_first_number,
};
use crossfeed_store::{StoreError, with_causes};
use hyper::{
    HeaderMap, Method, Request, StatusCode,
    body::Incoming,
    header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER},
};
use scopeguard::ScopeGuard;
use serde_json::json as json_value;
use std::{sync::Arc, time::Duration};
use tokio::{task::JoinHandle, time::timeout};

/// How long an answer is waited for before a stream is begun for it: one that is there at once goes as
/// JSON, which costs less on both sides.
const STREAM_AFTER: Duration = Duration::from_millis(50);
/// The same where the status of the answer says what became of the request, and nothing else does.
const STREAM_AFTER_AT_MOST: Duration = Duration::from_secs(5);
/// How often a session that is to end is taken back from other processes.
const MAX_TAKINGS: usize = 3;
/// When a client may try again that was refused for lack of room, in seconds.
const RETRY_AFTER_SECONDS: u64 = 1;

/// What a client accepts.
#[derive(Clone, Copy)]
struct AcceptedTypes {
    json: bool,
    events: bool,
}

impl AcceptedTypes {
    fn read(headers: &HeaderMap) -> Self {
        let values = headers.get_all(ACCEPT).iter();
        let kinds = values.flat_map(|value| value.to_str().unwrap_or_default().split(','));
        let kinds: Vec<_> = kinds.map(without_parameters).collect();
        let takes = |known: [&str; 3]| {
            let is_known = |kind: &&str| known.iter().any(|known| kind.eq_ignore_ascii_case(known));
            kinds.is_empty() || kinds.iter().any(is_known)
        };
        Self {
            json: takes(["*/*", "application/*", "application/json"]),
            events: takes(["*/*", "text/*", "text/event-stream"]),
        }
    }
}

impl Http {
    pub(super) async fn post(
        self: Arc<Self>,
        request: Request<Incoming>,
        principal: &Principal,
        is_counted: &mut bool,
    ) -> AnswerResult {
        let (parts, body) = request.into_parts();
        let headers = parts.headers;
        if !is_json(&headers) {
            let what = "messages are `application/json`";
            return Err(invalid(StatusCode::UNSUPPORTED_MEDIA_TYPE, what));
        }
        let takes = AcceptedTypes::read(&headers);
        // Whatever is sent before the answer needs a stream.
        if !takes.events {
            let what = "answers are `application/json` or `text/event-stream`: accept both";
            return Err(invalid(StatusCode::NOT_ACCEPTABLE, what));
        }
        let limit = self.limits.message_bytes;
        let charge = self.budget.account(principal).nothing();
        let bytes = body::read(body, limit, charge)
            .await
            .map_err(|error| match error {
                BodyError::TooLarge => {
                    self.metrics.count(CLIENT_NO_MESSAGES, &[]);
                    refuse(StatusCode::PAYLOAD_TOO_LARGE, None, &too_large(limit))
                }
                BodyError::NoRoom => {
                    let (why, limit) = ("the memory limit is reached", self.budget.limit());
                    later(
                        None,
                        &RpcError::limit_exceeded(code::INTERNAL, why, Some(limit)),
                    )
                }
                BodyError::TooSlow => {
                    invalid(StatusCode::REQUEST_TIMEOUT, "nothing came for too long")
                }
                BodyError::Gone => Box::new(status(StatusCode::BAD_REQUEST)),
            })?;
        let message = Message::read(bytes).await.map_err(|error| {
            self.metrics.count(CLIENT_NO_MESSAGES, &[]);
            refuse(StatusCode::BAD_REQUEST, error.id(), &error.to_rpc())
        })?;
        if stateless::is_meant(&headers, &message).await {
            let answered = self.stateless(&headers, takes, message, principal, is_counted);
            return answered.await;
        }
        let answered = self.in_session(&headers, takes, message, principal, is_counted);
        answered.await
    }

    async fn in_session(
        self: Arc<Self>,
        headers: &HeaderMap,
        takes: AcceptedTypes,
        message: Message,
        principal: &Principal,
        is_counted: &mut bool,
    ) -> AnswerResult {
        let begins =
            message.kind() == Kind::Request && message.method() == Some(method::INITIALIZE);
        let busy = if begins {
            self.count(principal, is_counted).await?;
            let begun = self.sessions.begin(Arc::clone(&self.hub), principal);
            let full = || self.no_room("sessions", message.id(), "there are too many sessions");
            begun.ok_or_else(full)?
        } else {
            let taken = self.take_here(headers, principal, &message, is_counted);
            if let Some(answer) = taken.await? {
                return Ok(answer);
            }
            let reached = self.reach(Method::POST, headers, principal, Some(&message), is_counted);
            match reached.await? {
                Route::Session(session) => session,
                Route::Answer(answer) => return Ok(answer),
            }
        };
        let session = Arc::clone(&busy);
        if message.kind() != Kind::Request {
            let number = answered_number(&message);
            if number.is_some_and(|number| !session.has_counted(number)) {
                let post = Method::POST;
                let taken = self.had_before(&session, number, post, headers, Some(&message));
                if let Some(answer) = taken.await {
                    *is_counted = true;
                    return Ok(answer);
                }
            }
            self.count(principal, is_counted).await?;
            let is_for_both = is_cancellation(&message) && !is_for_before(headers);
            let delivered = deliver(&session.client, message.clone()).await;
            if is_for_both {
                self.tell_before(&session, headers, message);
            }
            return Ok(delivered);
        }
        self.count(principal, is_counted).await?;
        let beginning = begins.then(|| NewSession {
            http: Arc::clone(&self),
            id: session.id.clone(),
        });
        // The session ends with a client that leaves before it knows its id.
        let unanswered = beginning.clone().map(NewSession::or_end);
        if begins && let Err(crowded) = Arc::clone(&session.client).reserve().await {
            return Err(self.crowded(message.id(), crowded));
        }
        let id = message.request_id().cloned();
        let stream = session.stream(id.as_ref());
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
                return Ok(json(StatusCode::OK, &answer));
            }
            Ok(Some(answer)) if takes.json => json(StatusCode::OK, &answer),
            Ok(Some(answer)) => {
                // The client accepts streams only: the answer goes on one of its own.
                let stream = session.stream(id.as_ref());
                let _ = stream.send(answer).await;
                self.stream(&session, &stream)
            }
            Ok(None) | Err(_) => self.stream(&session, &stream),
        };
        if begins && let Ok(value) = HeaderValue::from_str(&session.id) {
            response.headers_mut().insert(header::SESSION, value);
            unanswered.map(ScopeGuard::into_inner);
        }
        Ok(response)
    }

    /// Hands over what belongs to a request that runs here, though another replica may have taken its session up: the answer
    /// to a question of that request, or its cancellation. None where another is to have it, too.
    async fn take_here(
        &self,
        headers: &HeaderMap,
        principal: &Principal,
        message: &Message,
        is_counted: &mut bool,
    ) -> Result<Option<Answer>, Box<Answer>> {
        let number = answered_number(message);
        let id = only(headers, header::SESSION).ok().flatten();
        let belongs = number.is_some() || is_cancellation(message);
        let Some(id) = id.filter(|_| belongs && self.peers.is_some()) else {
            return Ok(None);
        };
        let is_its = |session: &BusySession| match number {
            Some(number) => session.has_counted(number),
            None => is_for_before(headers) || session.client.has_moved(),
        };
        let mut all = self.sessions.all_of(id, principal);
        all.retain(is_its);
        let is_last = number.is_some() || is_for_before(headers);
        if is_last && !all.is_empty() {
            self.count(principal, is_counted).await?;
        }
        let mut answer = None;
        for session in all {
            answer = Some(deliver(&session.client, message.clone()).await);
        }
        Ok(answer.filter(|_| is_last))
    }

    fn stream(&self, session: &Arc<Session>, stream: &Arc<Stream>) -> Answer {
        session.keep(stream);
        // An event without data confuses clients that came before it was said to be fine.
        let primes = session
            .client
            .revision()
            .is_some_and(|revision| revision >= Revision::V2025_11_25);
        streamed(stream.events(ReadFrom::Unread, primes))
    }

    /// The session that a request names, or the replica that has it.
    pub(super) async fn session(
        &self,
        headers: &HeaderMap,
        principal: &Principal,
        id: Option<&Id>,
    ) -> Result<Place, Box<Answer>> {
        let refused =
            |status, what: String| refuse(status, id, &RpcError::new(code::INVALID_REQUEST, what));
        let invalid = |what| refused(StatusCode::BAD_REQUEST, what);
        let session = only(headers, header::SESSION).map_err(invalid)?;
        only(headers, header::VERSION).map_err(invalid)?;
        let begin = |what| format!("{what}: begin with `initialize`");
        let session =
            session.ok_or_else(|| invalid(begin("the header Mcp-Session-Id is missing")))?;
        if let Some(found) = self.own_session(session, principal, id).await? {
            return Ok(Place::Here(found));
        }
        let peers = self.peers.as_ref();
        if let Some(peer) = peers.and_then(|peers| peers.known(session, principal))
            && !is_sent_on(headers)
            && self.stays(&peer).await
        {
            return Ok(Place::There(peer));
        }
        let _turn = self.sessions.turn(session).await;
        // Another request may have been faster.
        if let Some(found) = self.own_session(session, principal, id).await? {
            return Ok(Place::Here(found));
        }
        // The replica that sent it on looks anew, and may have room.
        let full = |mut refusal: Box<Answer>| {
            if is_sent_on(headers) {
                *refusal.status_mut() = StatusCode::MISDIRECTED_REQUEST;
            }
            refusal
        };
        // Before it is taken up: then the record names this replica.
        let before = match peers {
            Some(_) => self.hub.holder(session).await,
            None => Ok(None),
        };
        let before = before.map_err(|error| away(id, &error))?;
        let recalled = self.hub.recall(session, principal).await;
        let recalled = recalled.map_err(|error| match error {
            RecallError::Store(error) => away(id, &error),
            RecallError::Crowded(crowded) => full(self.crowded(id, crowded)),
        })?;
        let kept = match recalled {
            SessionPlace::Here(kept) => {
                if let Some(peers) = peers {
                    peers.forget(session);
                }
                *kept
            }
            SessionPlace::There(peer) => {
                if let Some(peers) = peers {
                    peers.remember(session, &peer, principal);
                }
                return Ok(Place::There(peer));
            }
            SessionPlace::Nowhere => {
                let what = begin("there is no such session");
                return Err(refused(StatusCode::NOT_FOUND, what));
            }
        };
        let hub = Arc::clone(&self.hub);
        let resumed = self.sessions.resume(hub, session, principal, kept, before);
        let no_room = || full(self.no_room("sessions", id, "there are too many sessions"));
        let resumed = resumed.await.ok_or_else(no_room)?;
        Ok(Place::Here(resumed))
    }

    fn crowded(&self, id: Option<&Id>, Crowded { what }: Crowded) -> Box<Answer> {
        let text = format!("the gateway has no room for another session: too many {what}");
        self.no_room(what, id, &text)
    }

    /// The stream of a session.
    pub(super) async fn listen(
        self: &Arc<Self>,
        headers: &HeaderMap,
        principal: &Principal,
    ) -> AnswerResult {
        let version = only(headers, header::VERSION).ok().flatten();
        let revision = version.and_then(Revision::parse);
        if revision.is_some_and(Revision::is_stateless) {
            return Err(super::not_allowed());
        }
        if !AcceptedTypes::read(headers).events {
            let what = "this is a `text/event-stream`: accept it";
            return Err(invalid(StatusCode::NOT_ACCEPTABLE, what));
        }
        let unknown = |what| invalid(StatusCode::BAD_REQUEST, what);
        let last_event = only(headers, header::LAST_EVENT);
        let last_event = last_event.map_err(|_| unknown("there is no such event"))?;
        // What belongs to no request goes on where the session is.
        let number = last_event.and_then(EventId::parse).map(|id| id.stream);
        let number = number.filter(|number| !is_first_number(*number) && self.peers.is_some());
        let id = only(headers, header::SESSION).ok().flatten();
        if let (Some(number), Some(id)) = (number, id) {
            let all = self.sessions.all_of(id, principal);
            let session = all.iter().find(|session| session.has_counted(number));
            if let Some(session) = session
                && let Some((stream, from)) = session.resume(last_event).await
            {
                return Ok(streamed(stream.events(from, false)));
            }
        }
        let mut is_counted = false;
        let reached = self.reach(Method::GET, headers, principal, None, &mut is_counted);
        let session = match reached.await? {
            Route::Session(session) => session,
            Route::Answer(answer) => return Ok(answer),
        };
        if let Some(number) = number.filter(|number| !session.has_counted(*number)) {
            let taken = self.had_before(&session, Some(number), Method::GET, headers, None);
            if let Some(answer) = taken.await {
                return Ok(answer);
            }
        }
        let (stream, from) = (session.resume(last_event).await)
            .ok_or_else(|| unknown("there is no such event any more"))?;
        Ok(streamed(stream.events(from, false)))
    }

    /// The end of a session.
    pub(super) async fn delete(
        self: &Arc<Self>,
        headers: &HeaderMap,
        principal: &Principal,
    ) -> AnswerResult {
        for _ in 0..MAX_TAKINGS {
            let mut is_counted = false;
            let reached = self.reach(Method::DELETE, headers, principal, None, &mut is_counted);
            let session = match reached.await? {
                Route::Session(session) => session,
                Route::Answer(answer) => return Ok(answer),
            };
            let ended = session.client.end_kept().await;
            if ended.map_err(|error| away(None, &error))? {
                self.sessions.end(&session.id).await;
                return Ok(status(StatusCode::NO_CONTENT));
            }
            // Another process has taken it up: from there it comes back.
        }
        let what = "other processes take the session up at the same time";
        Err(later(None, &RpcError::new(code::INTERNAL, what)))
    }

    async fn stateless(
        self: Arc<Self>,
        headers: &HeaderMap,
        takes: AcceptedTypes,
        message: Message,
        principal: &Principal,
        is_counted: &mut bool,
    ) -> AnswerResult {
        if let Some(answer) = self.continued(headers, &message, is_counted).await? {
            return Ok(answer);
        }
        self.count(principal, is_counted).await?;
        let client = Arc::clone(&self.hub).stateless(principal.clone());
        if let Err(error) = stateless::check(headers, &message, &*client).await {
            return Err(match error.code {
                code::INTERNAL => later(message.id(), &error),
                _ => refuse(StatusCode::BAD_REQUEST, message.id(), &error),
            });
        }
        if message.kind().is_answer() {
            let what = "a client without a session answers in `inputResponses` of its next request";
            return Err(invalid(StatusCode::BAD_REQUEST, what));
        }
        let Some(id) = message.request_id().cloned() else {
            return Ok(deliver(&client, message).await);
        };
        let stream = Stream::ephemeral();
        if message.method() == Some(method::LISTEN) {
            self.subscriptions.add(&stream);
        }
        let reply = Arc::new(Reply {
            stream: Arc::clone(&stream),
            busy: None,
            beginning: None,
        });
        let reply = self.running.begin(&message, reply);
        let left = Arc::downgrade(&reply);
        let started = start(&client, message, reply);
        let leaving = leaving((Arc::clone(&client), id, left, started));
        let answer = timeout(STREAM_AFTER_AT_MOST, stream.answered_at_once()).await;
        if let Ok(Some(answer)) = answer {
            ScopeGuard::into_inner(leaving);
            if takes.json || answer.kind() == Kind::Error {
                return Ok(json(stateless::status(&answer), &answer));
            }
            let stream = Stream::ephemeral();
            let _ = stream.send(answer).await;
            return Ok(streamed(stream.events(ReadFrom::Start, false)));
        }
        let body = stream.events(ReadFrom::Start, false);
        Ok(streamed(body.or_give_up(leaving)))
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

/// Hands over what has no answer.
async fn deliver(client: &Arc<dyn HubClient>, message: Message) -> Answer {
    let nowhere = Stream::ephemeral();
    nowhere.finish();
    // It was handed over before the client learns so: what the client sends then comes later.
    if let Err(error) = start(client, message, nowhere).await {
        tracing::error!(%error, "could not deliver a message");
    }
    status(StatusCode::ACCEPTED)
}

/// The number of a request that a message answers.
fn answered_number(message: &Message) -> Option<u64> {
    message
        .id()
        .filter(|_| message.kind().is_answer())?
        .as_number()
}

fn is_cancellation(message: &Message) -> bool {
    message.method() == Some(method::CANCELLED)
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = only(headers, CONTENT_TYPE.as_str()).ok().flatten();
    kind.is_some_and(|kind| without_parameters(kind).eq_ignore_ascii_case("application/json"))
}

pub(super) fn invalid(status: StatusCode, what: &'static str) -> Box<Answer> {
    refuse(status, None, &RpcError::new(code::INVALID_REQUEST, what))
}

/// Refuses a request about a session, since the store does not say what is kept of it.
pub(super) fn away(id: Option<&Id>, error: &StoreError) -> Box<Answer> {
    tracing::warn!(error = with_causes(error), "cannot look a session up");
    let failed = |what: String| {
        let data = json_value!({"code": error.code().as_str()});
        RpcError::new(code::INTERNAL, what).with_data(data)
    };
    let what = "the gateway cannot look the session up";
    let passes = match error {
        StoreError::NoSpace { .. } => Some("its store is full"),
        error => error.may_retry().then_some("its store does not answer"),
    };
    if let Some(why) = passes {
        later(id, &failed(format!("{what} now: {why}")))
    } else {
        let advice = "repair that, or begin another with `initialize`";
        let error = failed(format!("{what}: {error}; {advice}"));
        refuse(StatusCode::INTERNAL_SERVER_ERROR, id, &error)
    }
}

/// Refuses a request for now.
pub(super) fn later(id: Option<&Id>, error: &RpcError) -> Box<Answer> {
    let refusal = refuse(StatusCode::SERVICE_UNAVAILABLE, id, error);
    super::with_header(refusal, RETRY_AFTER, HeaderValue::from(RETRY_AFTER_SECONDS))
}

fn streamed(events: Events) -> Answer {
    let mut response = answer(StatusCode::OK, Some("text/event-stream"), events);
    let no_cache = HeaderValue::from_static("no-cache");
    response.headers_mut().insert(CACHE_CONTROL, no_cache);
    response
}
