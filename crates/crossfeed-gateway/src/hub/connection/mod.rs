//! One client's connection to one server: what waits for answers, and what waits to be sent.
//!
//! What comes in: messages for the server, with what is to become of their answers. What goes out: the
//! messages under ids of this connection, in the order in which they were handed over, without making
//! one server's slowness another's. Deliberately not here: how connections are opened and opened again
//! ([`super::life`]), and what answers mean.

#[cfg(test)]
mod models;
mod send;

pub(super) use send::AnswerToCome;

use super::{
    Client, connection_set::MAX_KEY_BYTES, fault, read, room::Room, supervisor::Handshake,
};
use crate::{
    budget::{Charge, Purpose},
    config::TransportConfig,
    message::{Header, Id, Message, Param},
    metrics::{Outcome, RequestTimer, ServerMetrics},
    protocol::method,
    quota::Permit,
    sync::Mutex,
    tools::Pending,
    upstream::{Connector, Upstream, UpstreamError},
};
use bytes::Bytes;
use crossfeed_json::Document;
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

/// Subscriptions that a server which comes back is told of again.
const MAX_SUBSCRIPTIONS: usize = 10_000;

/// What a subscription takes beside its address.
const SUBSCRIPTION_BYTES: usize = 128;

/// How a request of the gateway itself ends.
pub(super) type Answer = Result<Bytes, Failure>;

/// Why there is no result.
#[derive(Clone, Debug)]
pub(super) enum Failure {
    /// The server answered with this error.
    Error(Box<Message>),
    /// The server did not answer.
    Unavailable(UpstreamError),
}

impl Failure {
    /// Why, for the log: an error's message may hold data.
    pub(super) fn reason(&self) -> String {
        match self {
            Self::Error(_) => "it answered with an error".to_owned(),
            Self::Unavailable(error) => error.to_string(),
        }
    }
}

/// What waited for an answer is gone, and with it whoever would read this.
fn cancelled() -> Failure {
    Failure::Unavailable(UpstreamError::Ended("the request was cancelled".to_owned()))
}

/// What is to become of the answer to a request.
pub(super) enum PendingReply {
    /// It goes to the client's request as it is.
    Forward { serial: u64 },
    /// It ends a subscription.
    Listen { serial: u64 },
    /// It is the result of a tool.
    Call { serial: u64, pending: Pending },
    /// The gateway asked, for a request of the client or for itself.
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

/// Where a connection is in its life.
#[derive(Clone, Debug)]
pub(super) enum Phase {
    /// It is being opened; what is for the server waits.
    Opening,
    /// It is open.
    Open,
    /// It is not there, and will be tried again.
    Down(UpstreamError),
    /// Its process was given back, and is started again when it is used; or why it could not be started.
    Idle(Option<UpstreamError>),
    /// The client is gone.
    Closed,
}

/// A request that has no answer yet.
struct Waiting {
    reply: PendingReply,
    timer: RequestTimer,
    /// What is to be known if it has a result.
    note: Option<Note>,
    /// What it takes over HTTP.
    _socket: Option<Permit>,
    /// The connection from which it came back, if it did: it is handed over for the second time.
    returned: Option<u64>,
}

/// A message that waits to be handed over.
struct QueuedMessage {
    message: Message,
    headers: Vec<Header>,
    upstream_id: Option<u64>,
}

impl QueuedMessage {
    /// A message that has no answer.
    fn of_none(message: Message) -> Self {
        Self {
            message,
            headers: Vec::new(),
            upstream_id: None,
        }
    }
}

/// What changes.
#[derive(Default)]
pub(super) struct State {
    waiting: BTreeMap<u64, Waiting>,
    last_upstream_id: u64,
    queue: VecDeque<QueuedMessage>,
    queued_bytes: usize,
    /// Somebody hands over what is in the queue.
    draining: bool,
    /// The request that is being handed over: whoever does it knows whether it was taken.
    in_hand: Option<u64>,
    upstream: Option<Arc<dyn Upstream>>,
    /// What its connections take of the machine.
    rooms: Vec<Weak<Room>>,
    /// It begins when it is used.
    is_idle: bool,
    /// When it began last.
    began: Option<Instant>,
    /// Nothing is handed over until there is another session.
    is_held: bool,
    /// How many connections are over.
    over: u64,
    /// The server does not read what it is sent.
    is_overrun: bool,
    /// When requests are to be given up: all after the same time, so that the oldest is first.
    deadlines: BTreeMap<u64, Instant>,
    /// The server's result of `initialize` or `server/discover`.
    pub(super) about: Option<Bytes>,
    /// The error that it answered to that instead.
    pub(super) refused: Option<Message>,
    /// Whether the server was told on this connection that the client is initialized.
    greeted: bool,
    /// What the client knows of the server.
    known: Known,
    /// What the client said last of how much is to be logged.
    pub(super) level: Option<Bytes>,
    /// What the client subscribed to.
    pub(super) subscriptions: BTreeMap<String, Charge>,
}

/// What a client knows of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Known {
    /// Nothing: it has not seen the server's lists.
    #[default]
    Nothing,
    /// The server is there.
    There,
    /// The same, but the server has gone since.
    Gone,
}

impl Known {
    /// The server is gone.
    fn lose(&mut self) {
        if *self == Self::There {
            *self = Self::Gone;
        }
    }
}

/// A subscription that begins or ends when a server says so.
struct Note {
    uri: String,
    /// What it takes if it begins.
    begins: Option<Charge>,
}

impl Note {
    /// What a request asks for; `Err` where there is no room to remember it.
    fn of(message: &Message, client: &Weak<Client>) -> Option<Result<Self, UpstreamError>> {
        let begins = match message.method()? {
            method::SUBSCRIBE => true,
            method::UNSUBSCRIBE => false,
            _ => return None,
        };
        let uri = message.param(Param::Uri)?;
        let document = Document::new(uri);
        let uri = document.root().ok()?.as_str()?.into_owned();
        if uri.len() > MAX_KEY_BYTES {
            return None;
        }
        let account = match client.upgrade() {
            Some(client) if begins => Arc::clone(&client.account),
            _ => return Some(Ok(Self { uri, begins: None })),
        };
        let charge = account.charge(SUBSCRIPTION_BYTES + uri.len(), Purpose::Remembered);
        Some(match charge {
            Some(charge) => Ok(Self {
                uri,
                begins: Some(charge),
            }),
            None => Err(UpstreamError::Crowded {
                what: "subscriptions",
            }),
        })
    }
}

/// One client's connection to one server.
pub(super) struct ServerConnection {
    /// Which server, by its place in the configuration.
    pub(super) server: usize,
    pub(super) name: Box<str>,
    pub(super) client: Weak<Client>,
    /// Whether the client speaks the stateless era on it.
    pub(super) stateless: bool,
    /// Whether leaving a request is how it is cancelled: HTTP without sessions.
    abandons: bool,
    pub(super) is_http: bool,
    /// Whether its process is given back when it is not used.
    gives_back: bool,
    pub(super) connector: Arc<dyn Connector>,
    pub(super) handshake: Handshake,
    pub(super) phase: watch::Sender<Phase>,
    pub(super) start_timeout: Duration,
    timeout: Option<Duration>,
    most_bytes: usize,
    /// Whether something of its messages is withheld, so that the gateway may say so in them.
    pub(super) withholds: bool,
    pub(super) state: Mutex<State>,
    /// The number of connections that are over, for who waits for one of them.
    over: watch::Sender<u64>,
    pub(super) clock: Notify,
    /// It is used again.
    woken: Notify,
    pub(super) figures: Arc<ServerMetrics>,
    /// Whether a notification that was too long was dropped.
    has_dropped: AtomicBool,
}

impl ServerConnection {
    pub(super) fn new(
        server: usize,
        client: &Arc<Client>,
        connector: Arc<dyn Connector>,
        handshake: Handshake,
        stateless: bool,
    ) -> Arc<Self> {
        let config = client.gateway.config();
        let of = config.servers.get(server);
        let is_http =
            of.is_some_and(|config| matches!(config.transport, TransportConfig::Http { .. }));
        let charged = connector.charged_to(&client.account);
        Arc::new(Self {
            server,
            name: of.map_or("", |config| &config.name).into(),
            client: Arc::downgrade(client),
            stateless,
            abandons: stateless && is_http,
            is_http,
            gives_back: !is_http && of.is_none_or(|config| !config.keep),
            connector: charged.unwrap_or(connector),
            handshake,
            phase: watch::Sender::new(Phase::Opening),
            start_timeout: config.limits.start_timeout,
            timeout: of.and_then(|config| config.timeout),
            most_bytes: config.limits.message_bytes,
            withholds: of.is_some_and(|config| !config.withheld.never_is_empty()),
            state: Mutex::new(State {
                began: Some(Instant::now()),
                ..State::default()
            }),
            over: watch::Sender::new(0),
            clock: Notify::new(),
            woken: Notify::new(),
            figures: client.gateway.figures.server(server),
            has_dropped: AtomicBool::new(false),
        })
    }

    /// Whether a notification of the server's that is dropped is the first: the log says no more of others.
    pub(super) fn is_first_dropped(&self) -> bool {
        !self.has_dropped.swap(true, Ordering::Relaxed)
    }

    /// Why nothing can be handed over, if nothing can.
    pub(super) fn refusal(&self) -> Option<UpstreamError> {
        match &*self.phase.borrow() {
            Phase::Opening | Phase::Open | Phase::Idle(_) => None,
            Phase::Down(error) => Some(error.clone()),
            Phase::Closed => Some(UpstreamError::Closed),
        }
    }

    /// Waits until it is open or it is known that it is not.
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

    /// When it began, as long as it is not known whether it is there.
    pub(super) fn opening_since(&self) -> Option<Instant> {
        let is_opening = matches!(*self.phase.borrow(), Phase::Opening);
        is_opening.then(|| self.state.lock().began)?
    }

    /// Whether the client is now told of the server for the first time since it is there.
    pub(super) fn make_known(&self) -> bool {
        let mut state = self.state.lock();
        state.upstream.is_some()
            && std::mem::replace(&mut state.known, Known::There) != Known::There
    }

    /// Whether the client now hears for the first time that a server that it knew is gone.
    pub(super) fn make_gone(&self) -> bool {
        let mut state = self.state.lock();
        let is_news = state.known == Known::Gone;
        if is_news {
            state.known = Known::Nothing;
        }
        is_news
    }

    /// Whether the server says that it has a capability.
    pub(super) fn is_capable(&self, capability: &str) -> bool {
        let about = self.state.lock().about.clone();
        about.is_some_and(|about| read::raw(&about, &["capabilities", capability]).is_some())
    }

    /// The client is gone: what runs is given up. What it returns is still to be closed.
    pub(super) async fn give_up(self: &Arc<Self>) -> Option<Arc<dyn Upstream>> {
        let upstream = self.upstream();
        self.down(Phase::Closed).await;
        upstream
    }

    /// Whether it is open, or would be if it were used.
    pub(super) fn is_open(&self) -> bool {
        matches!(*self.phase.borrow(), Phase::Open | Phase::Idle(None))
    }

    /// Whether a process that is not used could be given back now.
    pub(super) fn may_rest(&self) -> bool {
        let is_open = matches!(*self.phase.borrow(), Phase::Open);
        self.gives_back && is_open && self.state.lock().is_quiet()
    }

    /// Gives the process back until it is used again, if nothing runs; a server that is not there is not tried
    /// again until then.
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
        state.upstream = None;
        state.over += 1;
        self.over.send_replace(state.over);
        drop(state);
        self.ends();
        if had_process {
            self.figures.returns.add(1);
            tracing::info!(target: "crossfeed::gateway", server = %self.name, "stopping an idle server process");
        }
        self.clock.notify_one();
    }

    /// A connection to its server takes this room.
    pub(super) fn takes(&self, room: &Arc<Room>) {
        let mut state = self.state.lock();
        let taken = Arc::downgrade(room);
        // The first of a bridge was that of the attempt before.
        let is_other = |room: &Weak<Room>| room.strong_count() > 0 && !room.ptr_eq(&taken);
        state.rooms.retain(is_other);
        state.rooms.push(taken);
    }

    /// How many connections there are to its server.
    pub(super) fn rooms(&self) -> usize {
        let state = self.state.lock();
        let rooms = state.rooms.iter();
        rooms.filter(|room| room.strong_count() > 0).count()
    }

    /// Its connections are ending: what they take comes back.
    pub(super) fn ends(&self) {
        let rooms = std::mem::take(&mut self.state.lock().rooms);
        for room in rooms.iter().filter_map(Weak::upgrade) {
            room.ends();
        }
    }

    /// Begins again what could not begin.
    pub(super) fn wake_failed(&self) {
        let has_failed = matches!(*self.phase.borrow(), Phase::Idle(Some(_)));
        if has_failed {
            self.wake(&mut self.state.lock());
        }
    }

    /// Begins again what was given back.
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

    /// Waits until it is used, if it was given back.
    pub(super) async fn used(&self) {
        while self.state.lock().is_idle {
            self.woken.notified().await;
        }
    }

    /// Waits until what was given back is used.
    pub(super) async fn begins_again(&self) {
        self.woken.notified().await;
    }

    /// Whether its connection was given back, or is over.
    pub(super) fn has_no_connection(&self) -> bool {
        self.state.lock().upstream.is_none()
    }

    /// From here on the client is to hear what the server has: it is not what it was.
    pub(super) fn forget_known(&self) {
        self.state.lock().known = Known::Nothing;
    }

    /// Keeps in mind how much the server is to log when it comes back.
    pub(super) fn remember_level(&self, message: &Message) {
        let params = message.params().unwrap_or_default();
        if let Some(level) =
            read::kept(&params, &["level"]).filter(|level| level.len() <= MAX_KEY_BYTES)
        {
            self.state.lock().level = Some(crate::members::object(&[("level", level)]));
        }
    }

    /// From here on messages go to this connection, those first that wait.
    pub(super) async fn open(self: &Arc<Self>, upstream: Arc<dyn Upstream>) {
        {
            // At once: whoever hands over what waits must find the greeting before it.
            let mut state = self.state.lock();
            state.upstream = Some(upstream);
            state.is_held = false;
            state.greeted = false;
            state.greet(&self.handshake);
        }
        self.goes_on_to(Phase::Open);
        self.drain().await;
    }

    /// What it is from here on, unless the client is gone: it does not come back.
    fn goes_on_to(&self, next: Phase) {
        self.phase.send_if_modified(|phase| {
            let is_there = !matches!(phase, Phase::Closed);
            if is_there {
                *phase = next;
            }
            is_there
        });
    }

    /// The connection is over: everything that waits fails. What is in the queue was not sent; what was
    /// handed over may have run; what is just being handed over is left to whoever does it.
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
            state.upstream = None;
            state.is_idle = is_idle;
            state.is_held = false;
            state.over += 1;
            state.is_overrun = false;
            // Whoever hands over to what is over finds out, and leaves the queue alone.
            state.draining = false;
            // One that could not be started again is the one that the client knows.
            if !is_idle {
                state.known.lose();
            }
            // A server that forgets each session at once means something else by it.
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
            self.over.send_replace(state.over);
            (waiting, unsent)
        };
        let lost = error.clone().after_sending();
        for (upstream_id, waiting) in waiting {
            let was_sent = !unsent.contains(&upstream_id);
            let error = if was_sent { &lost } else { &error };
            if !is_closed {
                waiting.timer.end(error.outcome());
            }
            self.fail_one(waiting.reply, error).await;
        }
    }

    /// The server forgot the session: what it was not given, or gave back, waits for another. Everything else
    /// may have run.
    pub(super) async fn renew(self: &Arc<Self>) {
        self.goes_on_to(Phase::Opening);
        let lost = UpstreamError::SessionOver.after_sending();
        let failed: Vec<_> = {
            let mut state = self.state.lock();
            state.upstream = None;
            state.over += 1;
            state.is_overrun = false;
            state.draining = false;
            state.known.lose();
            state.began = Some(Instant::now());
            self.over.send_replace(state.over);
            // What was said in the session means nothing in another, whose server may ask by the same ids.
            state.queue.retain(|queued| queued.upstream_id.is_some());
            let queued = state.queue.iter().map(|queued| queued.message.len());
            state.queued_bytes = queued.sum();
            // Whoever hands one over finds out.
            let in_hand = state.in_hand.take();
            let queued = state.queue.iter().filter_map(|queued| queued.upstream_id);
            let stay: HashSet<u64> = queued.chain(in_hand).collect();
            let gone = state.waiting.keys().copied();
            let gone: Vec<u64> = gone.filter(|id| !stay.contains(id)).collect();
            let gone = gone.into_iter();
            gone.filter_map(|upstream_id| state.take(upstream_id, lost.outcome()))
                .collect()
        };
        for waiting in failed {
            self.fail_one(waiting, &lost).await;
        }
    }

    /// What waits for the answer to a request of this connection, which ended so.
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

    /// When the next request is to be given up.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let state = self.state.lock();
        state.deadlines.first_key_value().map(|(_, at)| *at)
    }

    /// How many deadlines are kept.
    #[cfg(test)]
    pub(super) fn deadlines(&self) -> usize {
        self.state.lock().deadlines.len()
    }

    /// The requests that took longer than they may, with whether the server was sent them.
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

    /// The error for requests that took longer than they may.
    pub(super) fn timed_out(&self) -> UpstreamError {
        UpstreamError::TimedOut {
            after: self.timeout.unwrap_or_default(),
        }
    }

    /// The connection that is open.
    pub(super) fn upstream(&self) -> Option<Arc<dyn Upstream>> {
        self.state.lock().upstream.clone()
    }

    /// Tells whoever waits that there will be no answer.
    pub(super) async fn fail_one(self: &Arc<Self>, waiting: PendingReply, error: &UpstreamError) {
        let client = self.client.upgrade();
        match (waiting, client) {
            (PendingReply::Forward { serial }, Some(client)) => {
                client.refuse(serial, &fault::rpc(&self.name, error)).await;
            }
            (PendingReply::Call { serial, pending }, client) => {
                let repeatable = pending.is_repeatable();
                pending.fail(&error.to_string()).await;
                if let Some(client) = client {
                    let result = fault::tool(&self.name, error, repeatable, self.stateless);
                    client.respond(serial, &result).await;
                }
            }
            (PendingReply::Inner { answer, .. }, _) => {
                let _ = answer.send(Err(Failure::Unavailable(error.clone())));
            }
            (PendingReply::Listen { serial }, Some(client)) => {
                if let Some(side) = client.side_of(self) {
                    let failure = Failure::Unavailable(error.clone());
                    side.listened(&client, self, serial, Err(failure)).await;
                }
            }
            (PendingReply::Forward { .. } | PendingReply::Listen { .. }, None) => {}
        }
    }
}

impl State {
    /// What waits for an answer, which does so no longer; with a result, what it means is remembered.
    fn take(&mut self, upstream_id: u64, outcome: Outcome) -> Option<PendingReply> {
        self.deadlines.remove(&upstream_id);
        let waiting = self.waiting.remove(&upstream_id)?;
        waiting.timer.end(outcome);
        match waiting.note.filter(|_| outcome == Outcome::Result) {
            Some(Note { uri, begins: None }) => {
                self.subscriptions.remove(&uri);
            }
            Some(Note {
                uri,
                begins: Some(charge),
            }) if self.subscriptions.len() < MAX_SUBSCRIPTIONS => {
                self.subscriptions.entry(uri).or_insert(charge);
            }
            _ => {}
        }
        Some(waiting.reply)
    }

    /// Whether nothing waits to be sent or to be answered.
    fn is_quiet(&self) -> bool {
        self.waiting.is_empty() && self.queue.is_empty() && !self.draining
    }

    /// Takes requests out of what waits to be handed over; gives those that were there.
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

    /// Puts before everything that waits that the client is initialized, once on each connection, if
    /// the client said so.
    fn greet(&mut self, handshake: &Handshake) {
        if self.upstream.is_none() || self.greeted {
            return;
        }
        if let Some(message) = handshake.initialized.lock().clone() {
            self.greeted = true;
            self.queued_bytes += message.len();
            self.queue.push_front(QueuedMessage::of_none(message));
        }
    }

    fn put(&mut self, queued: QueuedMessage) {
        self.queued_bytes += queued.message.len();
        self.queue.push_back(queued);
    }
}
