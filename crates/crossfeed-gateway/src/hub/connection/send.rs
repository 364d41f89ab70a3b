//! Handing messages over to a server, in order, by whoever comes with one.
//!
//! What comes in: messages, and what is to become of their answers. What goes out: the same under ids of
//! the connection, here and now as far as the server takes them, by a task of its own where it does not.
//! Deliberately not here: answers.

use super::{Answer, Note, PendingReply, QueuedMessage, ServerConnection, Waiting, cancelled};
use crate::{
    hub::{poll_then_spawn::poll_then_spawn, read, supervisor},
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

/// Messages that wait to be handed over: as many as a client may have requests, and as many again for
/// what it says beside them.
const MAX_QUEUED: usize = 2048;

/// The answer to a request that was sent.
pub(in crate::hub) type AnswerToCome =
    Map<oneshot::Receiver<Answer>, fn(Result<Answer, RecvError>) -> Answer>;

impl ServerConnection {
    /// Sends a request under an id of this connection. What cannot be sent is answered at once.
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

    /// Has a request wait to be handed over; gives back what waits for its answer where it cannot.
    fn line_up(
        &self,
        reply: PendingReply,
        message: Message,
        headers: Vec<Header>,
    ) -> Result<(), (PendingReply, UpstreamError)> {
        let method = message.method().unwrap_or_default();
        let taken = self.refusal().map_or(Ok(()), Err).and_then(|()| {
            let socket = self.socket()?;
            Ok((socket, Note::of(&message, &self.client).transpose()?))
        });
        let mut state = self.state.lock();
        // It may have gone meanwhile. Who ends it says so first, and then takes what waits here.
        let is_full = state.queue.len() >= MAX_QUEUED || state.queued_bytes > self.most_bytes;
        let refusal = || self.refusal().or_else(|| is_full.then(does_not_read));
        let taken = taken.and_then(|taken| refusal().map_or(Ok(taken), Err));
        let (socket, note) = match taken {
            Ok(taken) => taken,
            Err(error) => {
                self.figures.unsent(method);
                return Err((reply, error));
            }
        };
        state.last_upstream_id += 1;
        let upstream_id = state.last_upstream_id;
        let waiting = Waiting {
            reply,
            timer: self.figures.begin(method),
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

    /// What a request takes: over HTTP a descriptor, until it is answered.
    fn socket(&self) -> Result<Option<Permit>, UpstreamError> {
        if !self.is_http {
            return Ok(None);
        }
        // A client that is gone has its requests fail elsewhere.
        let Some(client) = self.client.upgrade() else {
            return Ok(None);
        };
        let gateway = &client.gateway;
        let permit = gateway.quotas().take(client.principal(), Needs::HTTP);
        permit.map(Some).map_err(|_| gateway.crowded("descriptors"))
    }

    /// Sends what needs no answer. Never waits: a connection whose server is too far behind is over,
    /// because what it would miss cannot be made up for.
    pub(in crate::hub) async fn send(self: &Arc<Self>, message: Message) {
        self.tell(message, None).await;
    }

    /// The number of the connection on which the server says what it says now.
    pub(in crate::hub) fn connection(&self) -> u64 {
        self.state.lock().over
    }

    /// Sends what means something on this connection only: the answer to what the server asked there. On another,
    /// where it may ask by the same id, it would answer something else.
    pub(in crate::hub) async fn reply(self: &Arc<Self>, message: Message, connection: u64) {
        self.tell(message, Some(connection)).await;
    }

    async fn tell(self: &Arc<Self>, message: Message, only_on: Option<u64>) {
        let has_room = {
            let mut state = self.state.lock();
            if only_on.is_some_and(|connection| connection != state.over) {
                return;
            }
            // A server that is started again is told what it has to know.
            if state.is_idle || self.refusal().is_some() {
                return;
            }
            let has_room =
                state.queue.len() < 2 * MAX_QUEUED && state.queued_bytes <= self.most_bytes;
            if has_room {
                state.put(QueuedMessage::of_none(message));
            } else {
                // One that is still being opened only misses it.
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

    /// Why the connection is to end, if more was to be sent than it can take.
    pub(in crate::hub) fn overrun(&self) -> Option<UpstreamError> {
        self.state.lock().is_overrun.then(does_not_read)
    }

    /// Asks the server on behalf of the gateway, and of a request of the client where there is one.
    pub(in crate::hub) async fn ask(
        self: &Arc<Self>,
        serial: Option<u64>,
        method: &str,
        params: Option<&Bytes>,
    ) -> AnswerToCome {
        self.pass(serial, Message::request(&Id::number(0), method, params))
            .await
    }

    /// The same with a message of the client.
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

    /// Hands over what waits, here as far as that takes no waiting.
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
                    link.figures.sent.add(bytes);
                }
                if let Some(upstream_id) = queued.upstream_id {
                    link.handed_over(upstream_id, over, sent).await;
                }
            }
        }))
        .await;
    }

    /// A request was handed over, or was not. It fails if it was not, or if the connection ended meanwhile.
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
            // It came back from there, and waits for another connection or is on it.
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

    /// A request comes back, since the server does not know the session: it is handed over again once there is
    /// another, but not for the third time. What is refused again in a session that had just begun may have run:
    /// the refusal means something else.
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
            // Whoever hands it over has nothing to do with it any more.
            state.in_hand = state.in_hand.filter(|in_hand| *in_hand != upstream_id);
            if waiting.returned.replace(state.over).is_none() {
                let is_behind = |queued: &QueuedMessage| {
                    queued.upstream_id.is_none_or(|other| other > upstream_id)
                };
                let place = state.queue.iter().position(is_behind);
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

    /// Waits until more connections are over than these.
    async fn is_over(&self, over: u64) {
        let mut now = self.over.subscribe();
        let _ = now.wait_for(|now| *now > over).await;
    }

    /// What is to be handed over next; if nothing is, nobody hands over any longer.
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

    /// Forgets what runs here for a request of the client; gives the ids.
    pub(in crate::hub) fn withdraw(&self, serial: u64) -> Vec<u64> {
        let mut state = self.state.lock();
        let waiting = state.waiting.iter();
        let own = waiting.filter(|(_, waiting)| waiting.reply.serial() == Some(serial));
        let mut ids: Vec<u64> = own.map(|(upstream_id, _)| *upstream_id).collect();
        for upstream_id in &ids {
            state.take(*upstream_id, Outcome::Cancelled);
        }
        // What was not handed over need not be.
        let unsent = state.unqueue(&ids);
        ids.retain(|upstream_id| !unsent.contains(upstream_id));
        ids
    }

    /// Says to the server that nobody waits for a request any longer; `params` are those of the
    /// notification, whose `requestId` is set.
    pub(in crate::hub) async fn cancel(self: &Arc<Self>, upstream_id: u64, params: Bytes) {
        let id = Id::number(upstream_id);
        if !self.abandons {
            let params = read::replaced(&params, &["requestId"], id.raw());
            self.send(Message::notification(method::CANCELLED, Some(&params)))
                .await;
        }
        if let Some(upstream) = self.upstream() {
            upstream.abandon(&id).await;
        }
    }

    /// Says to the server that the client is initialized, before anything that waits.
    pub(in crate::hub) async fn greet(self: &Arc<Self>) {
        self.state.lock().greet(&self.handshake);
        self.drain().await;
    }
}

fn does_not_read() -> UpstreamError {
    UpstreamError::Unreachable("it does not read what it is sent".to_owned())
}
