//! Hands messages over to a server in order: at once as far as the server takes them, in a task where it does not.

use super::{
    Answer, PendingReply, QueuedMessage, ServerConnection, SubscriptionChange, WaitingRequest,
    cancelled,
};
use crate::{
    hub::{poll_then_spawn::poll_then_spawn, supervisor},
    members,
    message::{Header, Id, Message},
    metrics::Outcome,
    protocol::method,
    quota::{Needs, Permit},
    upstream::{Upstream, UpstreamError},
};
use bytes::Bytes;
use futures_util::{FutureExt as _, future::Map};
use std::sync::Arc;
use tokio::{
    sync::oneshot::{self, error::RecvError},
    time::Instant,
};

/// Requests that wait to be handed over, as many as a client may have, and as many other messages again.
const MAX_QUEUED: usize = 2048;

/// The answer to a request that was sent.
pub(in crate::hub) type AnswerToCome =
    Map<oneshot::Receiver<Answer>, fn(Result<Answer, RecvError>) -> Answer>;

impl ServerConnection {
    /// Sends a request under an id of this connection. One that cannot be sent is answered at once.
    pub(in crate::hub) async fn request(
        self: &Arc<Self>,
        reply: PendingReply,
        message: Message,
        headers: Vec<Header>,
    ) {
        match self.line_up(reply, message, headers) {
            Ok(()) => self.drain().await,
            Err((reply, error)) => self.fail_one(reply, &error).await,
        }
    }

    /// Queues a request. Returns `reply` if it cannot.
    fn line_up(
        &self,
        reply: PendingReply,
        message: Message,
        headers: Vec<Header>,
    ) -> Result<(), (PendingReply, UpstreamError)> {
        let method = message.method().unwrap_or_default();
        let taken = self.refusal().map_or(Ok(()), Err).and_then(|()| {
            let socket = self.socket()?;
            Ok((
                socket,
                SubscriptionChange::from_request(&message, &self.client)?,
            ))
        });
        let mut state = self.state.lock();
        // It may have ended meanwhile. What ends it changes the phase first, and then takes what waits here.
        let is_full = state.queue.len() >= MAX_QUEUED || state.queued_bytes > self.max_bytes;
        let refusal = || self.refusal().or_else(|| is_full.then(does_not_read));
        let taken = taken.and_then(|taken| refusal().map_or(Ok(taken), Err));
        let timer = self.metrics.begin(method);
        let (socket, note) = match taken {
            Ok(taken) => taken,
            Err(error) => {
                timer.end(Outcome::Unavailable);
                return Err((reply, error));
            }
        };
        state.last_upstream_id += 1;
        let upstream_id = state.last_upstream_id;
        let waiting = WaitingRequest {
            reply,
            timer,
            note,
            _socket: socket,
            returned: None,
        };
        state.waiting.insert(upstream_id, waiting);
        if let Some(timeout) = self.timeout.filter(|_| method != method::LISTEN) {
            let deadline = Instant::now() + timeout;
            state.deadlines.insert(upstream_id, deadline);
            self.clock.notify_one();
        }
        state.put(QueuedMessage {
            message: message.with_id(Id::number(upstream_id)),
            headers,
            upstream_id: Some(upstream_id),
        });
        self.wake(&mut state);
        Ok(())
    }

    /// The descriptor of a request over HTTP, until it is answered.
    fn socket(&self) -> Result<Option<Permit>, UpstreamError> {
        // The requests of a client that is gone fail elsewhere.
        let Some(client) = self.client.upgrade().filter(|_| self.is_http) else {
            return Ok(None);
        };
        let gateway = &client.gateway;
        let permit = gateway.quotas.take(&client.principal, Needs::HTTP);
        permit.map(Some).map_err(|_| gateway.crowded("descriptors"))
    }

    /// Sends a message without an answer. Never waits: the connection ends if its server is too far behind, because
    /// messages that it misses cannot be made up for.
    pub(in crate::hub) async fn send(self: &Arc<Self>, message: Message) {
        self.tell(message, None).await;
    }

    /// The number of the current connection.
    pub(in crate::hub) fn connection(&self) -> u64 {
        self.state.lock().over
    }

    /// Sends the answer to a request of the server, on the connection of the request only. On another, where the server
    /// may ask by the same id, it would answer something else.
    pub(in crate::hub) async fn reply(self: &Arc<Self>, message: Message, connection: u64) {
        self.tell(message, Some(connection)).await;
    }

    async fn tell(self: &Arc<Self>, message: Message, only_on: Option<u64>) {
        let has_room = {
            let mut state = self.state.lock();
            let is_other = only_on.is_some_and(|connection| connection != state.over);
            // A server that was started again gets the settings that it needs.
            if is_other || state.is_idle || self.refusal().is_some() {
                return;
            }
            let has_room =
                state.queue.len() < 2 * MAX_QUEUED && state.queued_bytes <= self.max_bytes;
            if has_room {
                state.put(QueuedMessage::without_answer(message));
            } else {
                // A server that is still being opened only misses the message.
                state.is_overrun = state.upstream.is_some();
            }
            has_room
        };
        if has_room {
            self.drain().await;
        } else {
            tracing::debug!(target: "crossfeed::gateway", server = %self.name, "no memory for a message");
            self.clock.notify_one();
        }
    }

    /// Why the connection must end, if its server is too far behind.
    pub(in crate::hub) fn overrun(&self) -> Option<UpstreamError> {
        self.state.lock().is_overrun.then(does_not_read)
    }

    /// Sends a request of the gateway, for a request of the client if there is one.
    pub(in crate::hub) async fn ask(
        self: &Arc<Self>,
        serial: Option<u64>,
        method: &str,
        params: Option<&Bytes>,
    ) -> AnswerToCome {
        self.pass(serial, Message::request(&Id::number(0), method, params))
            .await
    }

    /// The same with this message.
    pub(in crate::hub) async fn pass(
        self: &Arc<Self>,
        serial: Option<u64>,
        message: Message,
    ) -> AnswerToCome {
        let (answer, receiver) = oneshot::channel();
        self.request(PendingReply::Inner { serial, answer }, message, Vec::new())
            .await;
        receiver.map(|answer| answer.unwrap_or_else(|_| Err(cancelled())))
    }

    /// Hands over the queue, at once as far as that takes no waiting.
    pub(super) async fn drain(self: &Arc<Self>) {
        let over = {
            let mut state = self.state.lock();
            if state.draining || state.is_held || state.upstream.is_none() {
                return;
            }
            state.draining = true;
            state.over
        };
        let link = Arc::clone(self);
        poll_then_spawn(Box::pin(async move {
            while let Some((upstream, queued)) = link.next(over) {
                let bytes = queued.message.len();
                let sent = tokio::select! {
                    biased;
                    sent = upstream.send(queued.message, &queued.headers) => sent,
                    () = link.is_over(over) => Err(link.over_because()),
                };
                if sent.is_ok() {
                    link.metrics.sent.add(bytes);
                }
                if let Some(upstream_id) = queued.upstream_id {
                    link.handed_over(upstream_id, over, sent).await;
                }
            }
        }))
        .await;
    }

    /// Fails a request that was not handed over, or whose connection ended meanwhile.
    async fn handed_over(
        self: &Arc<Self>,
        upstream_id: u64,
        over: u64,
        sent: Result<(), UpstreamError>,
    ) {
        let (waiting, error) = {
            let mut state = self.state.lock();
            let is_over = state.over != over;
            if !is_over {
                state.in_hand = None;
            }
            // The connection gave it back, and it waits for another or is on it.
            let waiting = state.waiting.get(&upstream_id);
            if waiting.is_none_or(|waiting| waiting.returned == Some(over)) {
                return;
            }
            let error = match sent {
                Ok(()) if !is_over => return,
                Ok(()) => self.over_because().after_sending(),
                Err(error) => error,
            };
            (state.take(upstream_id, error.outcome()), error)
        };
        if let Some(waiting) = waiting {
            self.fail_one(waiting, &error).await;
        }
    }

    /// Takes back a request whose session the server does not know: it is handed over again in the next session, but not
    /// a third time. One that is refused again in a session that has just begun may have run.
    pub(in crate::hub) async fn returned(self: &Arc<Self>, message: Message, headers: Vec<Header>) {
        let Some(upstream_id) = message.id().and_then(Id::as_number) else {
            return;
        };
        let lost = UpstreamError::SessionOver.after_sending();
        let failed = {
            let mut state = self.state.lock();
            let state = &mut *state;
            state.is_held = true;
            let Some(waiting) = state.waiting.get_mut(&upstream_id) else {
                return;
            };
            // It no longer concerns the task that hands it over.
            state.in_hand = state.in_hand.filter(|in_hand| *in_hand != upstream_id);
            if waiting.returned.replace(state.over).is_none() {
                let is_later = |queued: &QueuedMessage| {
                    queued.upstream_id.is_none_or(|other| other > upstream_id)
                };
                let place = state.queue.iter().position(is_later);
                let place = place.unwrap_or(state.queue.len());
                state.queued_bytes += message.len();
                let queued = QueuedMessage {
                    message,
                    headers,
                    upstream_id: Some(upstream_id),
                };
                state.queue.insert(place, queued);
                None
            } else {
                state.take(upstream_id, lost.outcome())
            }
        };
        if let Some(waiting) = failed {
            self.fail_one(waiting, &lost).await;
        }
    }

    /// Why the last connection ended.
    fn over_because(&self) -> UpstreamError {
        self.refusal().unwrap_or_else(supervisor::ended)
    }

    /// Waits until the connection of this number has ended.
    async fn is_over(&self, over: u64) {
        let mut now = self.over.subscribe();
        let _ = now.wait_for(|now| *now > over).await;
    }

    /// The next message of the queue; without one, the queue is no longer handed over.
    fn next(&self, over: u64) -> Option<(Arc<dyn Upstream>, QueuedMessage)> {
        let mut state = self.state.lock();
        if state.over != over {
            return None;
        }
        let Some(upstream) = state.upstream.clone().filter(|_| !state.is_held) else {
            state.draining = false;
            return None;
        };
        while let Some(queued) = state.queue.pop_front() {
            state.queued_bytes -= queued.message.len();
            let is_waited_for = |upstream_id| state.waiting.contains_key(&upstream_id);
            if queued.upstream_id.is_none_or(is_waited_for) {
                state.in_hand = queued.upstream_id;
                return Some((upstream, queued));
            }
        }
        state.draining = false;
        None
    }

    /// Withdraws what runs here for a request of the client. Returns the ids that the server was sent.
    pub(in crate::hub) fn withdraw(&self, serial: u64) -> Vec<u64> {
        let mut state = self.state.lock();
        let waiting = state.waiting.iter();
        let own = waiting.filter(|(_, waiting)| waiting.reply.serial() == Some(serial));
        let mut ids: Vec<u64> = own.map(|(upstream_id, _)| *upstream_id).collect();
        for upstream_id in &ids {
            state.take(*upstream_id, Outcome::Cancelled);
        }
        let unsent = state.unqueue(&ids);
        ids.retain(|upstream_id| !unsent.contains(upstream_id));
        ids
    }

    /// Cancels a request at the server; `params` are those of the notification, whose `requestId` is replaced.
    pub(in crate::hub) async fn cancel(self: &Arc<Self>, upstream_id: u64, params: Bytes) {
        let id = Id::number(upstream_id);
        if !self.abandons {
            let params = members::replaced(&params, &["requestId"], id.raw());
            self.send(Message::notification(method::CANCELLED, Some(&params)))
                .await;
        }
        if let Some(upstream) = self.upstream() {
            upstream.abandon(&id).await;
        }
    }

    /// Tells the server that the client is initialized, before anything that waits.
    pub(in crate::hub) async fn greet(self: &Arc<Self>) {
        self.state.lock().greet(&self.handshake);
        self.drain().await;
    }
}

fn does_not_read() -> UpstreamError {
    UpstreamError::Unreachable("it does not read what it is sent".to_owned())
}
