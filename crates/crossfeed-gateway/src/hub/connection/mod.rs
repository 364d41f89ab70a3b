//! One client's connection to one server: the requests that wait for answers, and the messages that wait to be sent.
//!
//! Messages go out under ids of the connection, in the order in which they were handed over; a slow server delays
//! only its own.

#[cfg(test)]
mod models;
mod send;

use super::{
    Client,
    connection_set::MAX_KEY_BYTES,
    fault,
    room::{self, Room},
    supervisor::Handshake,
};
use crate::{
    budget::{Charge, Purpose},
    config::{ServerConfig, TransportConfig},
    members,
    message::{Header, Id, Message, Param, RpcError},
    metrics::{Outcome, RequestTimer, ServerMetrics},
    protocol::{code, method},
    quota::{Needs, Permit},
    records::session::ServerRecord,
    sync::Mutex,
    tools::Pending,
    upstream::{Connector, Upstream, UpstreamError},
};
use bytes::Bytes;
use std::{
    collections::{BTreeMap, HashSet, VecDeque},
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::{Notify, oneshot, watch},
    time::Instant,
};

/// Subscriptions that are renewed at a server that comes back.
const MAX_SUBSCRIPTIONS: usize = 10_000;

/// Bytes of a subscription beside its address.
const SUBSCRIPTION_BYTES: usize = 128;

/// The answer to a request of the gateway itself.
pub(super) type Answer = Result<Bytes, Failure>;

/// Why a request has no result.
#[derive(Clone, Debug)]
pub(super) enum Failure {
    /// The gateway refuses it.
    Refused(RpcError),
    /// The server answered with this error.
    Error(Box<Message>),
    /// The server of this name did not answer.
    Unavailable(Arc<str>, UpstreamError),
}

impl From<RpcError> for Failure {
    fn from(error: RpcError) -> Self {
        Self::Refused(error)
    }
}

impl Failure {
    /// The reason for the log, without a server's message, which may hold data.
    pub(super) fn reason(&self) -> String {
        match self {
            Self::Refused(error) => error.message.clone(),
            Self::Error(_) => "it answered with an error".to_owned(),
            Self::Unavailable(_, error) => error.to_string(),
        }
    }
}

/// The request that waited for an answer is gone, and with it the reader of this.
fn cancelled() -> Failure {
    RpcError::new(code::INTERNAL, "the request was cancelled").into()
}

/// Where the answer to a request goes.
pub(super) enum PendingReply {
    /// To the client's request as it is.
    Forward { serial: u64 },
    /// It ends a subscription.
    Listen { serial: u64 },
    /// It is the result of a tool.
    Call { serial: u64, pending: Pending },
    /// To the gateway, which asked for a request of the client or for itself.
    Inner {
        serial: Option<u64>,
        answer: oneshot::Sender<Answer>,
    },
}

impl PendingReply {
    /// The client's request behind it.
    pub(super) fn serial(&self) -> Option<u64> {
        match self {
            Self::Forward { serial } | Self::Listen { serial } | Self::Call { serial, .. } => {
                Some(*serial)
            }
            Self::Inner { serial, .. } => *serial,
        }
    }
}

/// The state of a connection.
#[derive(Clone, Debug)]
pub(super) enum Phase {
    /// It is being opened; messages for the server wait.
    Opening,
    /// It is open.
    Open,
    /// It ended or could not be opened, and will be retried.
    Down(UpstreamError),
    /// Its process was stopped, or could not be started for this error; it is started when the connection is used.
    Idle(Option<UpstreamError>),
    /// The client is gone.
    Closed,
}

/// A request without an answer yet.
struct WaitingRequest {
    reply: PendingReply,
    timer: RequestTimer,
    /// The change of subscriptions if it has a result.
    note: Option<SubscriptionChange>,
    /// The descriptor that it takes over HTTP.
    _socket: Option<Permit>,
    /// The connection that gave it back, if one did: it is handed over for the second time.
    returned: Option<u64>,
}

/// A message that waits to be handed over.
struct QueuedMessage {
    message: Message,
    headers: Vec<Header>,
    upstream_id: Option<u64>,
}

impl QueuedMessage {
    /// A message without an answer.
    fn without_answer(message: Message) -> Self {
        Self {
            message,
            headers: Vec::new(),
            upstream_id: None,
        }
    }
}

/// The state that changes.
#[derive(Default)]
pub(super) struct State {
    waiting: BTreeMap<u64, WaitingRequest>,
    last_upstream_id: u64,
    queue: VecDeque<QueuedMessage>,
    queued_bytes: usize,
    /// A task hands over the queue.
    draining: bool,
    /// The request that is being handed over: the task that does so knows whether the server took it.
    in_hand: Option<u64>,
    upstream: Option<Arc<dyn Upstream>>,
    /// The room of its connections.
    rooms: Vec<Weak<Room>>,
    /// It starts when it is used.
    is_idle: bool,
    /// When it started last.
    began: Option<Instant>,
    /// Nothing is handed over until there is another session.
    is_held: bool,
    /// The number of connections that have ended.
    over: u64,
    /// The server does not read what it is sent.
    is_overrun: bool,
    /// When requests time out: all after the same time, so that the oldest is first.
    deadlines: BTreeMap<u64, Instant>,
    /// The server's result of `initialize` or `server/discover`.
    pub(super) about: Option<Bytes>,
    /// The error that it answered instead.
    pub(super) refused: Option<Message>,
    /// Whether the server was told on this connection that the client is initialized.
    greeted: bool,
    /// What the client knows of the server.
    known: Presence,
    /// The last `logging/setLevel` of the client.
    pub(super) level: Option<Bytes>,
    /// The client's subscriptions.
    pub(super) subscriptions: BTreeMap<String, Charge>,
}

/// What a client knows of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Presence {
    /// Nothing: the client has not seen the server's lists.
    #[default]
    Unknown,
    /// The server is there.
    Present,
    /// The server was there, and has gone since.
    Gone,
}

impl Presence {
    fn lose(&mut self) {
        if *self == Self::Present {
            *self = Self::Gone;
        }
    }
}

/// A subscription that begins or ends once the server agrees.
struct SubscriptionChange {
    uri: String,
    /// The charge of one that begins.
    begins: Option<Charge>,
}

impl SubscriptionChange {
    /// The change that a request asks for; fails if there is no memory for it.
    fn from_request(
        message: &Message,
        client: &Weak<Client>,
    ) -> Result<Option<Self>, UpstreamError> {
        let method = message.method().unwrap_or_default();
        if !matches!(method, method::SUBSCRIBE | method::UNSUBSCRIBE) {
            return Ok(None);
        }
        let uri = message.param(Param::Uri);
        let uri = uri.and_then(|uri| members::get_text(&uri, &[]));
        let Some(uri) = uri.filter(|uri| uri.len() <= MAX_KEY_BYTES) else {
            return Ok(None);
        };
        let client = client.upgrade().filter(|_| method == method::SUBSCRIBE);
        let begins = client.map(|client| {
            let bytes = SUBSCRIPTION_BYTES + uri.len();
            let charge = client.account.charge(bytes, Purpose::Remembered);
            let what = "subscriptions";
            charge.ok_or(UpstreamError::Crowded { what })
        });
        let begins = begins.transpose()?;
        Ok(Some(Self { uri, begins }))
    }
}

/// One client's connection to one server.
pub(super) struct ServerConnection {
    /// The index of the server in the configuration.
    pub(super) server: usize,
    pub(super) name: Arc<str>,
    pub(super) client: Weak<Client>,
    /// Whether the client speaks the stateless era on it.
    pub(super) stateless: bool,
    /// Whether closing its stream cancels a request: HTTP without sessions.
    abandons: bool,
    pub(super) is_http: bool,
    pub(super) needs: Needs,
    /// Whether its process is stopped while it is idle.
    gives_back: bool,
    pub(super) connector: Arc<dyn Connector>,
    pub(super) handshake: Handshake,
    pub(super) phase: watch::Sender<Phase>,
    pub(super) start_timeout: Duration,
    pub(super) timeout: Option<Duration>,
    max_bytes: usize,
    /// Whether parts of its messages are withheld, so that the gateway may mark them.
    pub(super) withholds: bool,
    pub(super) state: Mutex<State>,
    /// The number of connections that have ended, to wait for.
    over: watch::Sender<u64>,
    pub(super) clock: Notify,
    /// Notified when it is used again.
    pub(super) woken: Notify,
    pub(super) metrics: Arc<ServerMetrics>,
    /// Whether an oversized notification was dropped.
    has_dropped: AtomicBool,
}

impl ServerConnection {
    pub(super) fn new(
        (server, config, connector): (usize, &ServerConfig, &Arc<dyn Connector>),
        client: &Arc<Client>,
        handshake: Handshake,
        stateless: bool,
    ) -> Arc<Self> {
        let limits = &client.gateway.config().limits;
        let is_http = matches!(config.transport, TransportConfig::Http { .. });
        let charged = connector.charged_to(&client.account);
        let state = State {
            began: Some(Instant::now()),
            ..State::default()
        };
        Arc::new(Self {
            server,
            name: config.name.as_str().into(),
            client: Arc::downgrade(client),
            stateless,
            abandons: stateless && is_http,
            is_http,
            needs: room::needs(config),
            gives_back: !is_http && !config.keep,
            connector: charged.unwrap_or_else(|| Arc::clone(connector)),
            handshake,
            phase: watch::Sender::new(Phase::Opening),
            start_timeout: limits.start_timeout,
            timeout: config.timeout,
            max_bytes: limits.message_bytes,
            withholds: !config.withheld.never_is_empty(),
            state: Mutex::new(state),
            over: watch::Sender::new(0),
            clock: Notify::new(),
            woken: Notify::new(),
            metrics: client.gateway.metrics.server(server),
            has_dropped: AtomicBool::new(false),
        })
    }

    /// Whether this is the first notification of the server that is dropped: only that one is logged.
    pub(super) fn is_first_dropped(&self) -> bool {
        !self.has_dropped.swap(true, Ordering::Relaxed)
    }

    /// A failure of this server.
    pub(super) fn unavailable(&self, error: UpstreamError) -> Failure {
        Failure::Unavailable(Arc::clone(&self.name), error)
    }

    /// Why the server takes no requests, if it takes none.
    pub(super) fn refusal(&self) -> Option<UpstreamError> {
        match &*self.phase.borrow() {
            Phase::Opening | Phase::Open | Phase::Idle(_) => None,
            Phase::Down(error) => Some(error.clone()),
            Phase::Closed => Some(UpstreamError::Closed),
        }
    }

    /// Waits until it is open, or has failed to open.
    pub(super) async fn settled(&self) -> Result<(), UpstreamError> {
        self.wake_failed();
        let mut phase = self.phase.subscribe();
        let phase = phase.wait_for(|phase| !matches!(phase, Phase::Opening));
        let failed = match phase.await.as_deref() {
            Ok(Phase::Idle(failed)) => failed.clone(),
            _ => None,
        };
        failed.or_else(|| self.refusal()).map_or(Ok(()), Err)
    }

    /// When it started, while it is still opening.
    pub(super) fn opening_since(&self) -> Option<Instant> {
        let is_opening = matches!(*self.phase.borrow(), Phase::Opening);
        is_opening.then(|| self.state.lock().began)?
    }

    /// Notes that the client hears of the server. Whether it did not know that it is there.
    pub(super) fn make_known(&self) -> bool {
        let mut state = self.state.lock();
        state.upstream.is_some()
            && std::mem::replace(&mut state.known, Presence::Present) != Presence::Present
    }

    /// Notes that the client hears that a server is gone. Whether it knew the server.
    pub(super) fn make_gone(&self) -> bool {
        let mut state = self.state.lock();
        let is_news = state.known == Presence::Gone;
        if is_news {
            state.known = Presence::Unknown;
        }
        is_news
    }

    /// Whether the server says that it has a capability.
    pub(super) fn is_capable(&self, capability: &str) -> bool {
        let about = self.state.lock().about.clone();
        about.is_some_and(|about| members::get(&about, &["capabilities", capability]).is_some())
    }

    /// Gives up all running requests of a client that is gone. Returns the connection, which is still to be closed.
    pub(super) async fn give_up(self: &Arc<Self>) -> Option<Arc<dyn Upstream>> {
        let upstream = self.upstream();
        self.down(Phase::Closed).await;
        upstream
    }

    /// Whether it is open, or would be if it were used.
    pub(super) fn is_open(&self) -> bool {
        matches!(*self.phase.borrow(), Phase::Open | Phase::Idle(None))
    }

    /// Whether its process could be stopped now.
    pub(super) fn may_rest(&self) -> bool {
        let is_open = matches!(*self.phase.borrow(), Phase::Open);
        self.gives_back && is_open && self.state.lock().is_quiet()
    }

    /// Stops the process until it is used again, if nothing runs; a server that is down is not retried until then.
    pub(super) fn rest(&self) {
        let mut state = self.state.lock();
        if !self.gives_back || !state.is_quiet() {
            return;
        }
        let mut had_process = false;
        let rests = self.phase.send_if_modified(|phase| {
            let failed = match phase {
                Phase::Open => None,
                Phase::Down(error) => Some(error.clone()),
                Phase::Opening | Phase::Idle(_) | Phase::Closed => return false,
            };
            had_process = failed.is_none();
            *phase = Phase::Idle(failed);
            true
        });
        if !rests {
            return;
        }
        state.is_idle = true;
        state.end(&self.over);
        drop(state);
        self.ends();
        if had_process {
            self.metrics.returns.add(1);
            tracing::info!(target: "crossfeed::gateway", server = %self.name, "stopping an idle server process");
        }
        self.clock.notify_one();
    }

    /// Notes that a connection to its server takes this room.
    pub(super) fn takes(&self, room: &Arc<Room>) {
        let mut state = self.state.lock();
        let taken = Arc::downgrade(room);
        // The first connection of a bridge takes the room of the attempt before.
        let is_other = |room: &Weak<Room>| room.strong_count() > 0 && !room.ptr_eq(&taken);
        state.rooms.retain(is_other);
        state.rooms.push(taken);
    }

    /// The number of connections to its server.
    pub(super) fn rooms(&self) -> usize {
        let state = self.state.lock();
        let rooms = state.rooms.iter();
        rooms.filter(|room| room.strong_count() > 0).count()
    }

    /// Announces that its connections are ending: their room comes back.
    pub(super) fn ends(&self) {
        let rooms = std::mem::take(&mut self.state.lock().rooms);
        for room in rooms.iter().filter_map(Weak::upgrade) {
            room.ends();
        }
    }

    /// Starts it again if it could not be started.
    pub(super) fn wake_failed(&self) {
        let has_failed = matches!(*self.phase.borrow(), Phase::Idle(Some(_)));
        if has_failed {
            self.wake(&mut self.state.lock());
        }
    }

    /// Starts it again if it is idle.
    fn wake(&self, state: &mut State) {
        if std::mem::take(&mut state.is_idle) {
            state.began = Some(Instant::now());
            self.phase.send_if_modified(|phase| {
                let is_idle = matches!(phase, Phase::Idle(_));
                if is_idle {
                    *phase = Phase::Opening;
                }
                is_idle
            });
            self.woken.notify_one();
        }
    }

    /// Waits until it is used, if it is idle.
    pub(super) async fn used(&self) {
        while self.state.lock().is_idle {
            self.woken.notified().await;
        }
    }

    /// Whether its connection has ended.
    pub(super) fn has_no_connection(&self) -> bool {
        self.state.lock().upstream.is_none()
    }

    /// Makes the next start announce the server's lists to the client: they may have changed.
    pub(super) fn forget_known(&self) {
        self.state.lock().known = Presence::Unknown;
    }

    /// Remembers the log level, for when the server comes back.
    pub(super) fn remember_level(&self, message: &Message) {
        let level = members::get_copy(&message.params().unwrap_or_default(), &["level"]);
        if let Some(level) = level.filter(|level| level.len() <= MAX_KEY_BYTES) {
            self.state.lock().level = Some(members::object(&[("level", level)]));
        }
    }

    /// Takes over what the client asked the server for in another process.
    pub(super) fn restore(&self, before: &ServerRecord) {
        let Some(client) = self.client.upgrade() else {
            return;
        };
        let uris = before.subscriptions.iter().map_while(|uri| {
            let bytes = SUBSCRIPTION_BYTES + uri.len();
            let charge = client.account.charge(bytes, Purpose::Remembered)?;
            Some((uri.clone(), charge))
        });
        let mut state = self.state.lock();
        state.level = before.level.clone().map(Bytes::from);
        state.subscriptions = uris.take(MAX_SUBSCRIPTIONS).collect();
    }

    /// Sends messages to this connection from here on, those first that wait.
    pub(super) async fn open(self: &Arc<Self>, upstream: Arc<dyn Upstream>) {
        {
            // Under one lock: the task that hands over the queue must find the greeting first.
            let mut state = self.state.lock();
            state.upstream = Some(upstream);
            state.is_held = false;
            state.greeted = false;
            state.greet(&self.handshake);
        }
        self.goes_on_to(Phase::Open);
        self.drain().await;
    }

    /// Changes the phase, unless it is closed for good.
    fn goes_on_to(&self, next: Phase) {
        self.phase.send_if_modified(|phase| {
            let is_there = !matches!(phase, Phase::Closed);
            if is_there {
                *phase = next;
            }
            is_there
        });
    }

    /// Ends the connection: everything that waits fails. Requests in the queue were not sent; those that were handed
    /// over may have run; the one that is just being handed over is left to the task that does so.
    pub(super) async fn down(self: &Arc<Self>, phase: Phase) {
        let is_idle = matches!(phase, Phase::Idle(_));
        let error = match &phase {
            Phase::Down(error) | Phase::Idle(Some(error)) => error.clone(),
            _ => UpstreamError::Closed,
        };
        let is_closed = matches!(phase, Phase::Closed);
        self.goes_on_to(phase);
        let (waiting, unsent) = {
            let mut state = self.state.lock();
            state.end(&self.over);
            state.is_idle = is_idle;
            state.is_held = false;
            // A server that could not be started again is the one that the client knows.
            if !is_idle {
                state.known.lose();
            }
            // A server that forgets each session at once may have run what it refused.
            let means_it = error != UpstreamError::SessionOver;
            let queue = std::mem::take(&mut state.queue);
            let came_back = |upstream_id: &u64| {
                let waiting = state.waiting.get(upstream_id);
                waiting.is_some_and(|waiting| waiting.returned.is_some())
            };
            let unsent = queue.iter().filter_map(|queued| queued.upstream_id);
            let unsent: HashSet<u64> = unsent.filter(|id| means_it || !came_back(id)).collect();
            state.queued_bytes = 0;
            state.deadlines.clear();
            // A client that goes does not wait for it: a part of it may have been sent.
            let in_hand = state.in_hand.take().filter(|_| !is_closed);
            let in_hand = in_hand.and_then(|upstream_id| state.waiting.remove_entry(&upstream_id));
            let waiting = std::mem::take(&mut state.waiting);
            state.waiting.extend(in_hand);
            (waiting, unsent)
        };
        let lost = error.clone().after_sending();
        // Their descriptors are free before a client hears of it, and may try elsewhere.
        let waiting: Vec<_> = waiting
            .into_iter()
            .map(|(upstream_id, waiting)| (upstream_id, waiting.reply, waiting.timer))
            .collect();
        for (upstream_id, reply, timer) in waiting {
            let was_sent = !unsent.contains(&upstream_id);
            let error = if was_sent { &lost } else { &error };
            if !is_closed {
                timer.end(error.outcome());
            }
            self.fail_one(reply, error).await;
        }
    }

    /// Waits for another session, since the server forgot this one: requests that it was not given, or gave back, stay
    /// in the queue. All others may have run.
    pub(super) async fn renew(self: &Arc<Self>) {
        self.goes_on_to(Phase::Opening);
        let lost = UpstreamError::SessionOver.after_sending();
        let failed: Vec<_> = {
            let mut state = self.state.lock();
            state.end(&self.over);
            state.known.lose();
            state.began = Some(Instant::now());
            // Notifications and answers belong to the session: in another, the server may ask by the same ids.
            state.queue.retain(|queued| queued.upstream_id.is_some());
            let queued = state.queue.iter().map(|queued| queued.message.len());
            state.queued_bytes = queued.sum();
            // The task that hands it over finds out.
            let in_hand = state.in_hand.take();
            let queued = state.queue.iter().filter_map(|queued| queued.upstream_id);
            let stay: HashSet<u64> = queued.chain(in_hand).collect();
            let gone = state.waiting.keys().copied();
            let gone: Vec<u64> = gone.filter(|id| !stay.contains(id)).collect();
            let taken = gone
                .into_iter()
                .filter_map(|id| state.take(id, lost.outcome()));
            taken.collect()
        };
        for waiting in failed {
            self.fail_one(waiting, &lost).await;
        }
    }

    /// Takes out a request of this connection that has ended.
    pub(super) fn take(&self, id: &Id, outcome: Outcome) -> Option<PendingReply> {
        self.state.lock().take(id.as_number()?, outcome)
    }

    /// Whether a request of the client runs here.
    pub(super) fn works_on(&self, serial: u64) -> bool {
        let state = self.state.lock();
        let mut waiting = state.waiting.values();
        waiting.any(|waiting| waiting.reply.serial() == Some(serial))
    }

    /// The client's request behind a request of this connection.
    pub(super) fn serial_of(&self, id: &Id) -> Option<u64> {
        let state = self.state.lock();
        state.waiting.get(&id.as_number()?)?.reply.serial()
    }

    /// The client's request that runs here last; with `alone`, only if no other runs.
    pub(super) fn running(&self, alone: bool) -> Option<u64> {
        let state = self.state.lock();
        // What is for a subscription says so.
        let is_work = |reply: &&PendingReply| !matches!(reply, PendingReply::Listen { .. });
        let running = state.waiting.values().map(|waiting| &waiting.reply);
        let mut running = running.filter(is_work).rev();
        if alone && running.clone().nth(1).is_some() {
            return None;
        }
        running.find_map(PendingReply::serial)
    }

    /// When the next request times out.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let state = self.state.lock();
        state.deadlines.first_key_value().map(|(_, at)| *at)
    }

    /// The number of deadlines.
    #[cfg(test)]
    pub(super) fn deadlines(&self) -> usize {
        self.state.lock().deadlines.len()
    }

    /// Takes out the requests that timed out, with whether the server was sent them.
    pub(super) fn overdue(&self) -> Vec<(u64, PendingReply, bool)> {
        let now = Instant::now();
        let mut state = self.state.lock();
        let overdue = state.deadlines.iter().take_while(|(_, at)| **at <= now);
        let overdue: Vec<u64> = overdue.map(|(upstream_id, _)| *upstream_id).collect();
        let unsent = state.unqueue(&overdue);
        let taken = overdue.into_iter().filter_map(|upstream_id| {
            let reply = state.take(upstream_id, Outcome::TimedOut)?;
            Some((upstream_id, reply, !unsent.contains(&upstream_id)))
        });
        taken.collect()
    }

    /// The connection that is open.
    pub(super) fn upstream(&self) -> Option<Arc<dyn Upstream>> {
        self.state.lock().upstream.clone()
    }

    /// Fails a request that waits for an answer.
    pub(super) async fn fail_one(self: &Arc<Self>, waiting: PendingReply, error: &UpstreamError) {
        let failure = self.unavailable(error.clone());
        match (waiting, self.client.upgrade()) {
            (PendingReply::Forward { serial }, Some(client)) => client.fail(serial, failure).await,
            (PendingReply::Call { serial, pending }, client) => {
                let repeatable = pending.is_repeatable();
                pending.fail(&error.to_string()).await;
                if let Some(client) = client {
                    let result = fault::tool(&self.name, error, repeatable, self.stateless);
                    client.respond(serial, &result).await;
                }
            }
            (PendingReply::Inner { answer, .. }, _) => drop(answer.send(Err(failure))),
            (PendingReply::Listen { serial }, Some(client)) => {
                if let Some(side) = client.side_of(self) {
                    side.listened(&client, self, serial, Err(failure)).await;
                }
            }
            (PendingReply::Forward { .. } | PendingReply::Listen { .. }, None) => {}
        }
    }
}

impl State {
    /// Marks the connection as ended.
    fn end(&mut self, over: &watch::Sender<u64>) {
        self.upstream = None;
        self.is_overrun = false;
        // The task that still hands over to it finds out, and leaves the queue alone.
        self.draining = false;
        self.over += 1;
        over.send_replace(self.over);
    }

    /// Takes out a request that has ended; with a result, a subscription begins or ends.
    fn take(&mut self, upstream_id: u64, outcome: Outcome) -> Option<PendingReply> {
        self.deadlines.remove(&upstream_id);
        let waiting = self.waiting.remove(&upstream_id)?;
        waiting.timer.end(outcome);
        if let Some(note) = waiting.note.filter(|_| outcome == Outcome::Result) {
            match note.begins {
                None => drop(self.subscriptions.remove(&note.uri)),
                Some(charge) if self.subscriptions.len() < MAX_SUBSCRIPTIONS => {
                    self.subscriptions.entry(note.uri).or_insert(charge);
                }
                Some(_) => {}
            }
        }
        Some(waiting.reply)
    }

    /// Whether nothing waits to be sent or to be answered.
    fn is_quiet(&self) -> bool {
        self.waiting.is_empty() && self.queue.is_empty() && !self.draining
    }

    /// Takes requests out of the queue; returns those that were there.
    fn unqueue(&mut self, ids: &[u64]) -> Vec<u64> {
        let mut freed = 0;
        let mut unsent = Vec::new();
        self.queue.retain(|queued| match queued.upstream_id {
            Some(upstream_id) if ids.contains(&upstream_id) => {
                freed += queued.message.len();
                unsent.push(upstream_id);
                false
            }
            _ => true,
        });
        self.queued_bytes -= freed;
        unsent
    }

    /// Puts the client's `notifications/initialized`, if it came, before the queue, once on each connection.
    fn greet(&mut self, handshake: &Handshake) {
        if self.upstream.is_none() || self.greeted {
            return;
        }
        if let Some(message) = handshake.initialized.lock().clone() {
            self.greeted = true;
            self.queued_bytes += message.len();
            self.queue
                .push_front(QueuedMessage::without_answer(message));
        }
    }

    fn put(&mut self, queued: QueuedMessage) {
        self.queued_bytes += queued.message.len();
        self.queue.push_back(queued);
    }
}
