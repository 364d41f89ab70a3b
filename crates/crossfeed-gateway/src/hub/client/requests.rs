//! Requests of a client: admitted, then answered once or given up.

use super::{Client, MAX_ENDED, MAX_KEPT_BYTES, RunningRequest, State, has_room, kept_id};
use crate::{
    Revision,
    apart::apart,
    budget::{Purpose, UNCHARGED},
    config::ClientName,
    hub::{
        connection::Failure,
        connection_set::{ConnectionSet, MAX_KEY_BYTES},
        fault,
        kept::not_kept,
        outbox::Outbox,
        poll_then_spawn::poll_then_spawn,
    },
    lookalike::is_lookalike,
    members::EMPTY,
    message::{Id, Message, Param, RpcError, Token},
    port::MessageSink,
    protocol::{code, meta, method},
    tools::client_name,
};
use bytes::Bytes;
use crossfeed_json::{Cursor, Document};
use std::{
    borrow::Cow,
    future::Future,
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::time::Instant;

/// The decision about a request.
enum Admission {
    /// It runs on these connections.
    Runs(u64, Arc<ConnectionSet>),
    /// It begins a session.
    Begins(u64),
    /// The gateway answers it.
    Ping,
    /// It waits for the session to begin.
    Waits,
    Refused(RpcError),
}

/// The `_meta` of a request.
#[derive(Default)]
struct RequestMeta {
    revision: Option<String>,
    /// The name of the client.
    client: Option<ClientName>,
    /// The position of the progress token within `_meta`, and the token, unless it is too long to keep.
    token: Option<(Range<usize>, Option<Token>)>,
}

impl RequestMeta {
    async fn from_message(message: &Message) -> Self {
        match message.param(Param::Meta) {
            Some(meta) => apart(meta.len(), move || Self::read(meta)).await,
            None => Self::default(),
        }
    }

    fn read(meta: Bytes) -> Self {
        let document = Document::new(meta);
        let Ok(root) = document.root() else {
            return Self::default();
        };
        let text = |value: Cursor<'_>| value.as_str().map(Cow::into_owned);
        let token = root.get("progressToken").map(|token| {
            let raw = token.raw();
            let kept =
                (raw.len() <= MAX_KEY_BYTES).then(|| Token::new(Bytes::copy_from_slice(raw)));
            (token.offset()..token.offset() + raw.len(), kept)
        });
        let revision = root.get(meta::PROTOCOL_VERSION).and_then(text);
        let client = root.get(meta::CLIENT_INFO).filter(|_| revision.is_some());
        Self {
            client: client.and_then(client_name),
            revision,
            token,
        }
    }
}

impl Client {
    /// Takes a request. Whether it begins a session.
    pub(super) async fn request(
        self: &Arc<Self>,
        message: Message,
        reply: Arc<dyn MessageSink>,
        is_next: bool,
    ) -> bool {
        let Some(id) = message.id().map(kept_id) else {
            return false;
        };
        let method = message.method().unwrap_or_default();
        let about = RequestMeta::from_message(&message).await;
        match self.admit((&message, &about), &id, &reply, is_next) {
            Admission::Runs(serial, side) => {
                match self.with_own_token(serial, message, &about).await {
                    Some(message) => side.request(self, serial, message).await,
                    None => {
                        let error = fault::limit("the memory limit is reached");
                        self.refuse(serial, &error).await;
                    }
                }
            }
            Admission::Begins(serial) => {
                self.begin(serial, message);
                return true;
            }
            Admission::Ping => {
                self.send_soon(reply, Message::response(&id, &EMPTY)).await;
            }
            Admission::Waits => {}
            // Awaited: a client that exceeds its limits is not read until it reads.
            Admission::Refused(error) => {
                tracing::debug!(target: "crossfeed::gateway", method, code = error.code, "refused a request");
                let _ = reply.send(Message::failure(Some(&id), &error)).await;
            }
        }
        false
    }

    fn admit(
        self: &Arc<Self>,
        (message, about): (&Message, &RequestMeta),
        id: &Id,
        reply: &Arc<dyn MessageSink>,
        is_next: bool,
    ) -> Admission {
        let refuse = |code, text: &str| Admission::Refused(RpcError::new(code, text));
        let method = message.method().unwrap_or_default();
        let most = self.gateway.config().limits.requests_per_client;
        let mut guard = self.state.lock();
        let state = &mut *guard;
        if state.is_closed {
            return Admission::Refused(shutting_down());
        }
        if is_lookalike(method) {
            let text = "unknown method: it differs from one of MCP in case, spaces or invisible characters";
            return refuse(code::METHOD_NOT_FOUND, text);
        }
        if id.raw().len() > MAX_KEY_BYTES {
            return refuse(code::INVALID_REQUEST, "an id of more than 4,096 bytes");
        }
        // Kept as long as its session or subscription.
        if matches!(method, method::INITIALIZE | method::LISTEN) && message.len() > MAX_KEPT_BYTES {
            let text = format!("{method} of more than {MAX_KEPT_BYTES} bytes");
            return refuse(code::INVALID_REQUEST, &text);
        }
        if let Some(queue) = state.pre_init_queue.as_mut().filter(|_| !is_next) {
            if method == method::PING {
                return Admission::Ping;
            }
            if !has_room(queue, message, most) {
                return Admission::Refused(fault::limit("too many requests"));
            }
            queue.push_back((message.clone(), Arc::clone(reply)));
            return Admission::Waits;
        }
        let leaving = self.leaving.load(Ordering::Relaxed);
        // Each request of a shared client has an outbox as long as a message is on its way to it.
        let busy = if self.is_shared {
            leaving
        } else {
            state.running.len() + leaving
        };
        if busy >= most {
            return Admission::Refused(fault::limit("too many requests at once"));
        }
        if !self.is_shared && state.by_id.contains_key(id) {
            return refuse(code::INVALID_REQUEST, "the id of a request that still runs");
        }
        let begins = method == method::INITIALIZE && !self.is_shared;
        let requested = about.revision.as_deref();
        if let Some(requested) = requested.filter(|requested| !is_stateless(requested)) {
            return Admission::Refused(unsupported(requested));
        }
        let side = match &state.session {
            Some(_) if begins => {
                return refuse(code::INVALID_REQUEST, "the session is initialized");
            }
            None if begins => None,
            Some(side) => Some(Arc::clone(side)),
            None if method == method::DISCOVER || self.is_shared || requested.is_some() => {
                let new = || ConnectionSet::stateless(self, about.client.as_ref());
                Some(Arc::clone(state.stateless.get_or_insert_with(new)))
            }
            None if method == method::PING => return Admission::Ping,
            None => return refuse(code::INVALID_REQUEST, "the session is not initialized"),
        };
        state.used = Some(Instant::now());
        state.has_called |= method == method::CALL_TOOL;
        state.serial += 1;
        let serial = state.serial;
        if !self.is_shared {
            state.by_id.insert(id.clone(), serial);
        }
        let outlet = if self.is_shared {
            Outbox::new(Arc::clone(reply), &self.leaving)
        } else {
            Arc::clone(reply)
        };
        let running = RunningRequest {
            id: id.clone(),
            reply: outlet,
            origin: Arc::clone(reply),
            token: about.token.as_ref().and_then(|(_, token)| token.clone()),
            is_initialize: begins,
            changes_session: match method {
                method::SET_LEVEL | method::SUBSCRIBE | method::UNSUBSCRIBE => true,
                // From its first list on the client knows names, and what they mean.
                method::LIST_TOOLS | method::LIST_PROMPTS => {
                    let naming = self.gateway.tools.naming();
                    let is_first = side.as_ref().is_some_and(|side| !side.is_asked_for(method));
                    naming.goes_by_lists() && is_first
                }
                _ => false,
            },
            goes_on: false,
            is_endless: method == method::LISTEN,
            work: None,
        };
        state.running.insert(serial, running);
        match side {
            Some(side) => Admission::Runs(serial, side),
            None => {
                state.pre_init_queue.get_or_insert_default();
                Admission::Begins(serial)
            }
        }
    }

    /// The request with a progress token of its own on shared connections, since several clients may use the same. None if
    /// there is no memory for it.
    async fn with_own_token(
        &self,
        serial: u64,
        message: Message,
        about: &RequestMeta,
    ) -> Option<Message> {
        let Some((place, _)) = about.token.clone().filter(|_| self.is_shared) else {
            return Some(message);
        };
        let bytes = message.len();
        let charge = if bytes <= UNCHARGED {
            self.account.nothing()
        } else {
            self.account.charge(bytes, Purpose::Request)?
        };
        let with_own = move || {
            let own = serial.to_string();
            message.with_meta_at(&place, own.as_bytes(), |params| charge.hold(params))
        };
        Some(apart(bytes, with_own).await)
    }

    /// Runs the work of a request, at once as far as it need not wait.
    pub(in crate::hub) async fn work(
        &self,
        serial: u64,
        work: impl Future<Output = ()> + Send + 'static,
    ) {
        let Some(handle) = poll_then_spawn(Box::pin(work)).await else {
            return;
        };
        match self.state.lock().running.get_mut(&serial) {
            Some(running) => running.work = Some(handle),
            // Given up meanwhile, or answered: the rest is not needed.
            None => handle.abort(),
        }
    }

    /// Takes out a running request.
    pub(super) fn take(&self, serial: u64) -> Option<RunningRequest> {
        let mut state = self.state.lock();
        let running = state.running.remove(&serial)?;
        state.used = Some(Instant::now());
        if !self.is_shared {
            state.by_id.remove(&running.id);
            state.end_token(&running);
        }
        Some(running)
    }

    /// The answer to a request is a task.
    pub(in crate::hub) fn goes_on(&self, serial: u64) {
        if let Some(running) = self.state.lock().running.get_mut(&serial) {
            running.goes_on = true;
        }
    }

    /// Answers a request, if it still runs, with a message under any id.
    pub(in crate::hub) async fn answer(self: &Arc<Self>, serial: u64, message: Message) {
        self.end(serial, |id| message.with_id(id)).await;
    }

    /// Answers a request with a result.
    pub(in crate::hub) async fn respond(self: &Arc<Self>, serial: u64, result: &Bytes) {
        self.end(serial, |id| Message::response(&id, result)).await;
    }

    /// Answers a request with an error.
    pub(super) async fn refuse(self: &Arc<Self>, serial: u64, error: &RpcError) {
        self.end(serial, |id| Message::failure(Some(&id), error))
            .await;
    }

    async fn end(self: &Arc<Self>, serial: u64, answer: impl FnOnce(Id) -> Message) {
        let Some(running) = self.take(serial) else {
            return;
        };
        let is_kept = running.changes_session && self.kept_as.get().is_some();
        let message = answer(running.id.clone());
        if !is_kept {
            return self.send_soon(running.reply, message).await;
        }
        self.leaving.fetch_add(1, Ordering::Relaxed);
        let leaving = AnswerGuard(Arc::clone(&self.leaving));
        let client = Arc::clone(self);
        poll_then_spawn(Box::pin(async move {
            let _leaving = leaving;
            let message = match client.save().await {
                Ok(()) => message,
                Err(error) => Message::failure(Some(&running.id), &not_kept(&error)),
            };
            let _ = running.reply.send(message).await;
        }))
        .await;
    }

    /// Answers a request that has no result.
    pub(in crate::hub) async fn fail(self: &Arc<Self>, serial: u64, failure: Failure) {
        match failure {
            Failure::Refused(error) => self.refuse(serial, &error).await,
            Failure::Error(message) => self.answer(serial, *message).await,
            Failure::Unavailable(server, error) => {
                self.refuse(serial, &fault::rpc(&server, &error)).await;
            }
        }
    }

    /// Sends an answer without waiting for a client that does not read; it counts as a running request until then.
    pub(super) async fn send_soon(&self, reply: Arc<dyn MessageSink>, message: Message) {
        self.leaving.fetch_add(1, Ordering::Relaxed);
        let leaving = AnswerGuard(Arc::clone(&self.leaving));
        poll_then_spawn(Box::pin(async move {
            let _leaving = leaving;
            let _ = reply.send(message).await;
        }))
        .await;
    }

    /// Cancels the request of an id.
    pub(super) async fn cancelled(&self, id: &Bytes, params: Bytes) {
        let serial = {
            let state = self.state.lock();
            let of_id = state.by_id.iter().find(|(known, _)| known.raw() == id);
            // The request that begins a session is not cancelled.
            let may_end = |serial: &u64| {
                let running = state.running.get(serial);
                running.is_some_and(|running| !running.is_initialize)
            };
            of_id.map(|(_, serial)| *serial).filter(may_end)
        };
        if let Some(serial) = serial {
            self.cancel(serial, &params).await;
        }
    }

    /// Gives up a request, and cancels it at the servers that work on it.
    pub(super) async fn cancel(&self, serial: u64, params: &Bytes) {
        let Some(running) = self.take(serial) else {
            return;
        };
        if let Some(work) = running.work {
            work.abort();
        }
        for side in self.sides() {
            side.subscriptions.lock().remove(&serial);
        }
        for link in self.links() {
            for upstream_id in link.withdraw(serial) {
                link.cancel(upstream_id, params.clone()).await;
            }
        }
    }

    /// Gives up a request whose client does not read.
    pub(in crate::hub) fn cancel_soon(self: &Arc<Self>, serial: u64) {
        let client = Arc::clone(self);
        // In a task: the caller may hold what giving up needs.
        tokio::spawn(async move { client.cancel(serial, &gave_up()).await });
    }
}

impl State {
    /// Drops further progress of a request that has ended, except that of its task.
    fn end_token(&mut self, running: &RunningRequest) {
        let Some(token) = &running.token else { return };
        let token = self.fingerprints.get(token.text());
        // It may have been the token of another request before.
        self.ended.retain(|ended| *ended != token);
        if !running.goes_on {
            if self.ended.len() >= MAX_ENDED {
                self.ended.pop_front();
            }
            self.ended.push_back(token);
        }
    }
}

fn is_stateless(revision: &str) -> bool {
    Revision::parse(revision).is_some_and(Revision::is_stateless)
}

/// A request names a revision of sessions, or an unknown one.
fn unsupported(requested: &str) -> RpcError {
    let all = Revision::ALL.iter().map(|revision| revision.as_str());
    RpcError::unsupported_revision("unsupported protocol version", all, requested)
}

/// The gateway takes no more requests.
pub(super) fn shutting_down() -> RpcError {
    RpcError::new(code::INTERNAL, "the gateway is shutting down")
}

pub(super) fn gave_up() -> Bytes {
    Bytes::from_static(br#"{"requestId":0,"reason":"the client went away"}"#)
}

/// Counts an answer on its way, until it is dropped.
struct AnswerGuard(Arc<AtomicUsize>);

impl Drop for AnswerGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
