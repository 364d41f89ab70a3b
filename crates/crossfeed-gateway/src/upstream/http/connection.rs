//! What the tasks of one connection share.
//!
//! Each request gets at most one answer or failure, as an event. The end of the connection is the last event.

use super::{
    HttpConnector, exchange,
    routing::{self, PROTOCOL_VERSION},
    sse::Data,
    wire::PostedMessage,
};
use crate::{
    Revision,
    apart::apart,
    line::Skim,
    message::{Header, Id, Kind, Message},
    protocol::{
        header::{self, is_media_type},
        method,
    },
    upstream::{
        Event, UpstreamError, place,
        unusable::{Notice, Unusable},
    },
};
use parking_lot::Mutex;
use reqwest::{
    Method, Response, StatusCode,
    header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
};
use std::{
    collections::{HashMap, HashSet},
    ops::Deref,
    sync::Arc,
    time::Duration,
};
use tokio::{
    sync::{Notify, mpsc, oneshot, watch},
    task::{AbortHandle, JoinSet},
    time::{Instant, sleep, timeout},
};

/// How long a message without an answer may take.
const TELL_TIMEOUT: Duration = Duration::from_secs(60);
/// Messages without an answer that are on their way when what a server sent wrongly is not answered any
/// more.
const MAX_TOLD: usize = 16;

/// How long the server may take to say of a request that it does not know the session, if it said so of another
/// at once.
const MIN_REFUSAL_TIME: Duration = Duration::from_millis(100);
/// The same, however long it took to say so of another.
const MAX_REFUSAL_TIME: Duration = Duration::from_secs(2);

const SESSION: HeaderName = HeaderName::from_static(header::SESSION);
const LAST_EVENT: HeaderName = HeaderName::from_static(header::LAST_EVENT);
const JSON: &str = "application/json";
const STREAM: &str = "text/event-stream";
const EITHER: &str = "application/json, text/event-stream";

pub(super) struct HttpConnection {
    connector: HttpConnector,
    state: Mutex<State>,
    /// Why the connection is over.
    pub(super) over: watch::Sender<Option<UpstreamError>>,
}

impl Deref for HttpConnection {
    type Target = HttpConnector;

    fn deref(&self) -> &HttpConnector {
        &self.connector
    }
}

#[derive(Default)]
struct State {
    /// None once the end was said.
    events: Option<mpsc::Sender<Event>>,
    session: Option<HeaderValue>,
    revision: Option<Revision>,
    /// Requests that are not posted yet.
    waiting: HashSet<Id>,
    /// Requests that have no answer, the tasks that wait for it, and since when.
    running: HashMap<Id, (AbortHandle, Instant)>,
    /// How long the server took to say that it does not know the session.
    refusal_time: Duration,
    /// Messages without an answer that are on their way.
    telling: JoinSet<()>,
    /// The task that reads what belongs to no request.
    server_stream: Option<AbortHandle>,
}

impl HttpConnection {
    pub(super) fn new(connector: HttpConnector, events: mpsc::Sender<Event>) -> Self {
        Self {
            connector,
            state: Mutex::new(State {
                events: Some(events),
                ..State::default()
            }),
            over: watch::Sender::new(None),
        }
    }

    pub(super) fn speak(&self, revision: Revision) {
        self.state.lock().revision = Some(revision);
    }

    /// Whether there is anything that belongs to no request, to be asked for.
    pub(super) fn has_session_era(&self) -> bool {
        !self
            .state
            .lock()
            .revision
            .is_some_and(Revision::is_stateless)
    }

    pub(super) fn has_session(&self) -> bool {
        self.state.lock().session.is_some()
    }

    /// Notes a request that is to be posted.
    pub(super) fn wait(&self, message: &Message) {
        if let Some(id) = message.request_id() {
            self.state.lock().waiting.insert(id.clone());
        }
    }

    /// Starts a request, unless it was given up. Returns whether it was started.
    pub(super) fn start(
        self: &Arc<Self>,
        id: &Id,
        message: Message,
        headers: Vec<Header>,
        sent: &Arc<Notify>,
    ) -> bool {
        // Under the lock, so that it cannot be through before it is known.
        let mut state = self.state.lock();
        if !state.waiting.remove(id) {
            return false;
        }
        let task = exchange::run(Arc::clone(self), message, headers, Arc::clone(sent));
        let task = tokio::spawn(task).abort_handle();
        state.running.insert(id.clone(), (task, Instant::now()));
        true
    }

    /// Posts a message that has no answer; what is returned ends when that is through. None when `most`
    /// are on their way already.
    pub(super) fn tell(
        self: &Arc<Self>,
        message: Message,
        headers: Vec<Header>,
        sent: Arc<Notify>,
        most: usize,
    ) -> Option<oneshot::Receiver<()>> {
        let mut state = self.state.lock();
        while state.telling.try_join_next().is_some() {}
        if state.telling.len() >= most {
            return None;
        }
        let (through, told) = oneshot::channel();
        let link = Arc::clone(self);
        state.telling.spawn(async move {
            let tell = exchange::tell(Arc::clone(&link), message, headers, sent);
            if timeout(TELL_TIMEOUT, tell).await.is_err() {
                let server = &*link.server;
                tracing::warn!(server, "the server did not read a message in time");
            }
            drop(through);
        });
        Some(told)
    }

    /// Keeps the task that reads what belongs to no request; the one before it is ended.
    pub(super) fn set_server_stream(&self, task: AbortHandle) {
        if let Some(before) = self.state.lock().server_stream.replace(task) {
            before.abort();
        }
    }

    /// Claims a request that has no answer yet: only the claimant may answer it.
    pub(super) fn claim(&self, id: &Id) -> Option<AbortHandle> {
        let (task, _) = self.state.lock().running.remove(id)?;
        Some(task)
    }

    pub(super) fn abandon(&self, id: &Id) {
        self.state.lock().waiting.remove(id);
        if let Some(task) = self.claim(id) {
            task.abort();
        }
    }

    /// Ends every task.
    pub(super) fn abort(&self) {
        let mut state = self.state.lock();
        state.telling.abort_all();
        let running = std::mem::take(&mut state.running).into_values();
        let tasks = running.map(|(task, _)| task);
        for task in tasks.chain(state.server_stream.take()) {
            task.abort();
        }
    }

    async fn event(&self, event: Event) {
        let Some(events) = self.state.lock().events.clone() else {
            return;
        };
        let Ok(place) = place(&events, &event).await else {
            // No one takes events any more.
            self.end(closed());
            return;
        };
        let state = self.state.lock();
        if state.events.is_some() {
            place.send(event);
        }
    }

    /// Sends the last event.
    pub(super) async fn close(&self, error: UpstreamError) {
        let (events, unsent) = {
            let mut state = self.state.lock();
            (state.events.clone(), std::mem::take(&mut state.waiting))
        };
        let Some(events) = events else {
            return;
        };
        for id in unsent {
            let error = error.clone();
            self.event(Event::Failed { id, error }).await;
        }
        let place = events.reserve().await;
        if let (Some(_), Ok(place)) = (self.state.lock().events.take(), place) {
            place.send(Event::Closed(error));
        }
    }

    /// The connection is over.
    pub(super) fn end(&self, error: UpstreamError) {
        self.over.send_if_modified(|over| {
            let is_first = over.is_none();
            over.get_or_insert(error);
            is_first
        });
    }

    /// A message that came, on the stream of a request of ours or on none. Whether it is that request's
    /// answer.
    pub(super) async fn deliver(&self, message: Message, related: Option<&Id>) -> bool {
        let mut is_answer = false;
        if let (Kind::Response | Kind::Error, Some(id)) = (message.kind(), message.id()) {
            is_answer = related == Some(id);
            match self.claim(id) {
                // It came on another stream: the task that waits for it can stop.
                Some(task) if !is_answer => task.abort(),
                Some(_) => {}
                // It was answered or given up: resumed streams repeat messages.
                None => return is_answer,
            }
        }
        let related = related.cloned();
        self.event(Event::Message { message, related }).await;
        is_answer
    }

    /// A request that will have no answer.
    pub(super) async fn fail(&self, id: &Id, error: UpstreamError) {
        if self.claim(id).is_some() {
            let id = id.clone();
            self.event(Event::Failed { id, error }).await;
        }
    }

    /// Gives back a request that the server did not carry out, since it does not know the session, or that was not
    /// posted yet.
    pub(super) async fn give_back(&self, message: Message, headers: Vec<Header>) {
        let is_awaited = |id: &Id| {
            let mut state = self.state.lock();
            state.waiting.remove(id) || state.running.remove(id).is_some()
        };
        if message.request_id().is_some_and(is_awaited) {
            self.event(Event::Returned { message, headers }).await;
        }
    }

    /// The server took so long to say that it does not know the session.
    pub(super) fn note_refusal_time(&self, time: Duration) {
        let mut state = self.state.lock();
        state.refusal_time = state.refusal_time.max(time);
    }

    /// Waits for requests that were posted so shortly before the session was known to be over that the server may
    /// still say the same of them. Others run, and may go on for hours.
    pub(super) async fn wait_for_refusals(&self) {
        let is_recent = || {
            let state = self.state.lock();
            let within = (2 * state.refusal_time).clamp(MIN_REFUSAL_TIME, MAX_REFUSAL_TIME);
            let mut running = state.running.values();
            running.any(|(_, since)| since.elapsed() < within)
        };
        while is_recent() {
            sleep(Duration::from_millis(5)).await;
        }
    }

    /// Takes the data of an event. Returns whether it answers the request on whose stream it came.
    pub(super) async fn data(self: &Arc<Self>, data: Data, related: Option<&Id>) -> bool {
        let unusable = match data {
            Data::Whole(data) => match Message::read(data.clone()).await {
                Ok(message) => return self.deliver(message, related).await,
                Err(error) => {
                    let skimmed = apart(data.len(), move || Skim::whole(&data)).await;
                    Unusable::invalid(skimmed, &error)
                }
            },
            Data::TooLong(skimmed) => Unusable::too_large(skimmed, self.limit),
            Data::NoRoom(skimmed) => Unusable::no_room(skimmed),
        };
        match unusable.report(&self.server) {
            Some(Notice::Server(refusal)) => {
                let sent = self.tell(refusal, Vec::new(), Arc::default(), MAX_TOLD);
                if sent.is_none() {
                    let server = &*self.server;
                    tracing::warn!(server, "did not refuse it: the server reads no messages");
                }
                false
            }
            Some(Notice::Client(id, error)) => {
                self.fail(&id, error).await;
                related == Some(&id)
            }
            None => false,
        }
    }

    /// Posts a message.
    pub(super) async fn post(
        &self,
        message: &Message,
        headers: &[Header],
        sent: &Arc<Notify>,
    ) -> Result<Response, UpstreamError> {
        let routed = message.clone();
        let routing = move || routing::headers(&routed);
        let mut all = apart(message.len(), routing).await;
        // A request that begins a session has none, and says its revision in its body.
        if message.method() != Some(method::INITIALIZE) {
            self.set_session_headers(&mut all);
        }
        all.insert(ACCEPT, HeaderValue::from_static(EITHER));
        all.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        for Header { name, value } in headers {
            let name = HeaderName::from_bytes(name.as_bytes());
            if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(value)) {
                all.insert(name, value);
            }
        }
        let posted = Some(PostedMessage { message, sent });
        let response = self.wire.request(Method::POST, &all, posted).await?;
        if message.method() == Some(method::INITIALIZE) {
            self.state.lock().session = response.headers().get(SESSION).cloned();
        }
        Ok(response)
    }

    /// Asks for a stream: what belongs to no request, or what comes behind an event.
    pub(super) async fn get(&self, behind: Option<&str>) -> Result<Response, UpstreamError> {
        let mut headers = HeaderMap::new();
        self.set_session_headers(&mut headers);
        headers.insert(ACCEPT, HeaderValue::from_static(STREAM));
        if let Some(id) = behind {
            // Without it, this would be the stream of something else.
            let id = HeaderValue::from_bytes(id.as_bytes()).map_err(|_| {
                UpstreamError::Invalid("an event has an id that no header can have".to_owned())
            })?;
            headers.insert(LAST_EVENT, id);
        }
        self.wire.request(Method::GET, &headers, None).await
    }

    /// Ends the session, where there is one.
    pub(super) async fn delete(&self) {
        if self.has_session() {
            let mut headers = HeaderMap::new();
            self.set_session_headers(&mut headers);
            // A server that does not let sessions be ended lets them expire.
            drop(self.wire.request(Method::DELETE, &headers, None).await);
        }
    }

    fn set_session_headers(&self, headers: &mut HeaderMap) {
        let state = self.state.lock();
        if let Some(session) = &state.session {
            headers.insert(SESSION, session.clone());
        }
        if let Some(revision) = state.revision {
            headers
                .entry(PROTOCOL_VERSION)
                .or_insert(HeaderValue::from_static(revision.as_str()));
        }
    }
}

/// The error of a connection that the gateway has closed.
pub(super) fn closed() -> UpstreamError {
    UpstreamError::Ended("it was closed".to_owned())
}

/// Whether an answer is a stream of events.
pub(super) fn is_stream(response: &Response) -> bool {
    is_media_type(response.headers().get(CONTENT_TYPE), STREAM)
}

pub(super) fn is_json(response: &Response) -> bool {
    is_media_type(response.headers().get(CONTENT_TYPE), JSON)
}

/// Whether a status says that the session that a request named is over.
pub(super) fn is_over(status: StatusCode, had_session: bool) -> bool {
    had_session && status == StatusCode::NOT_FOUND
}
