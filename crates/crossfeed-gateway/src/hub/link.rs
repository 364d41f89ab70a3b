//! One client's connection to one server: what waits for answers, and what waits to be sent.
//!
//! What comes in: messages for the server, with what is to become of their answers. What goes out: the
//! messages under ids of this connection, in the order in which they were handed over, without making
//! one server's slowness another's. Deliberately not here: how connections are opened and opened again
//! ([`super::life`]), and what answers mean.

use super::{Client, advance::advance, fault, life::Hello, read};
use crate::{
    config::TransportConfig,
    message::{Id, Message},
    tools::Pending,
    upstream::{Connector, Header, Upstream, UpstreamError},
};
use bytes::Bytes;
use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};
use tokio::{
    sync::{Notify, oneshot, watch},
    time::Instant,
};

/// Messages that wait to be handed over: as many as a client may have requests, and as many again for
/// what it says beside them.
const QUEUE: usize = 2048;

/// Subscriptions that a server which comes back is told of again.
const SUBSCRIPTIONS: usize = 10_000;

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

/// What is to become of the answer to a request.
pub(super) enum Waiting {
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

impl Waiting {
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
    /// The client is gone.
    Closed,
}

/// A message that waits to be handed over.
struct Parcel {
    message: Message,
    headers: Vec<Header>,
    minted: Option<u64>,
}

/// What changes.
pub(super) struct State {
    waiting: HashMap<u64, Waiting>,
    minted: u64,
    queue: VecDeque<Parcel>,
    queued_bytes: usize,
    /// Somebody hands over what is in the queue.
    draining: bool,
    upstream: Option<Arc<dyn Upstream>>,
    /// When requests are to be given up, oldest first.
    deadlines: VecDeque<(Instant, u64)>,
    /// The server's result of `initialize` or `server/discover`.
    pub(super) about: Option<Bytes>,
    /// The error that it answered to that instead.
    pub(super) refused: Option<Message>,
    /// Whether the server was told on this connection that the client is initialized.
    greeted: bool,
    /// Whether the client knows that the server is there.
    known: bool,
    /// What the client said last of how much is to be logged.
    pub(super) level: Option<Bytes>,
    /// What the client subscribed to, by address, with the parameters.
    pub(super) subscriptions: BTreeMap<String, Bytes>,
}

/// One client's connection to one server.
pub(super) struct Link {
    /// Which server, by its place in the configuration.
    pub(super) server: usize,
    pub(super) name: Box<str>,
    pub(super) client: Weak<Client>,
    /// Whether the client speaks the stateless era on it.
    pub(super) stateless: bool,
    /// Whether leaving a request is how it is cancelled: HTTP without sessions.
    abandons: bool,
    pub(super) is_http: bool,
    pub(super) connector: Arc<dyn Connector>,
    pub(super) hello: Hello,
    pub(super) phase: watch::Sender<Phase>,
    start_timeout: Duration,
    timeout: Option<Duration>,
    most_bytes: usize,
    state: Mutex<State>,
    room: Notify,
    pub(super) clock: Notify,
}

impl Link {
    pub(super) fn new(
        server: usize,
        client: &Arc<Client>,
        connector: Arc<dyn Connector>,
        hello: Hello,
        stateless: bool,
    ) -> Arc<Self> {
        let config = client.gateway().config();
        let of = config.servers.get(server);
        let is_http =
            of.is_some_and(|config| matches!(config.transport, TransportConfig::Http { .. }));
        Arc::new(Self {
            server,
            name: of.map_or("", |config| &config.name).into(),
            client: Arc::downgrade(client),
            stateless,
            abandons: stateless && is_http,
            is_http,
            connector,
            hello,
            phase: watch::Sender::new(Phase::Opening),
            start_timeout: config.limits.start_timeout,
            timeout: of.and_then(|config| config.timeout),
            most_bytes: config.limits.message_bytes,
            state: Mutex::new(State {
                waiting: HashMap::new(),
                minted: 1,
                queue: VecDeque::new(),
                queued_bytes: 0,
                draining: false,
                upstream: None,
                deadlines: VecDeque::new(),
                about: None,
                refused: None,
                greeted: false,
                known: false,
                level: None,
                subscriptions: BTreeMap::new(),
            }),
            room: Notify::new(),
            clock: Notify::new(),
        })
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Why nothing can be handed over, if nothing can.
    fn refusal(&self) -> Option<UpstreamError> {
        match &*self.phase.borrow() {
            Phase::Opening | Phase::Open => None,
            Phase::Down(error) => Some(error.clone()),
            Phase::Closed => Some(UpstreamError::Ended {
                reason: "the client is gone".to_owned(),
            }),
        }
    }

    /// Waits until it is open or it is known that it is not.
    pub(super) async fn settled(&self) -> Result<(), UpstreamError> {
        let mut phase = self.phase.subscribe();
        let _ = phase
            .wait_for(|phase| !matches!(phase, Phase::Opening))
            .await;
        self.refusal().map_or(Ok(()), Err)
    }

    /// Whether the client is now told of the server for the first time since it is there.
    pub(super) fn make_known(&self) -> bool {
        let mut state = self.state();
        state.upstream.is_some() && !std::mem::replace(&mut state.known, true)
    }

    /// Why it is not there, if it is known that it is not.
    pub(super) fn refused_because(&self) -> Option<UpstreamError> {
        self.refusal()
    }

    /// Whether the server says that it has a capability.
    pub(super) fn is_capable(&self, capability: &str) -> bool {
        let about = self.state().about.clone();
        about.is_some_and(|about| read::raw(&about, &["capabilities", capability]).is_some())
    }

    /// The client is gone: what runs is given up, and the connection ends in an orderly way.
    pub(super) async fn close(self: &Arc<Self>) {
        let upstream = self.upstream();
        self.down(Phase::Closed).await;
        if let Some(upstream) = upstream {
            upstream.close().await;
        }
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(*self.phase.borrow(), Phase::Open)
    }

    /// Sends a request under an id of this connection. What cannot be sent is answered at once.
    pub(super) async fn request(
        self: &Arc<Self>,
        waiting: Waiting,
        message: Message,
        headers: Vec<Header>,
    ) {
        if let Some(error) = self.refusal() {
            self.fail_one(waiting, &error).await;
            return;
        }
        let refused = {
            let mut state = self.state();
            if state.queue.len() >= QUEUE || state.queued_bytes > self.most_bytes {
                Some(waiting)
            } else {
                let minted = state.minted;
                state.minted += 1;
                state.waiting.insert(minted, waiting);
                if let Some(timeout) = self.timeout.filter(|_| message.method() != Some(LISTEN)) {
                    state
                        .deadlines
                        .push_back((Instant::now() + timeout, minted));
                    self.clock.notify_one();
                }
                state.put(Parcel {
                    message: message.with_id(Id::number(minted)),
                    headers,
                    minted: Some(minted),
                });
                None
            }
        };
        match refused {
            Some(waiting) => {
                let error = UpstreamError::Unreachable {
                    reason: "it does not read what it is sent".to_owned(),
                };
                self.fail_one(waiting, &error).await;
            }
            None => self.drain().await,
        }
    }

    /// Sends a request of the client as it is; the answer is the client's.
    pub(super) async fn forward(self: &Arc<Self>, serial: u64, message: Message) {
        self.request(Waiting::Forward { serial }, message, Vec::new())
            .await;
    }

    /// Keeps in mind what the server is to be told again when it comes back.
    pub(super) fn remember(&self, method: &str, message: &Message) {
        if !matches!(
            method,
            "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe"
        ) {
            return;
        }
        let params = message.params().unwrap_or_default();
        // Told again, nobody waits for progress.
        let params = read::without_member(&params, "_meta");
        let mut state = self.state();
        if method == "logging/setLevel" {
            state.level = Some(params);
        } else if let Some(uri) = read::string(&params, &["uri"]) {
            state.subscribe(uri, (method == "resources/subscribe").then_some(params));
        }
    }

    /// Sends what needs no answer. Waits while too much waits already.
    pub(super) async fn send(self: &Arc<Self>, message: Message) {
        loop {
            let room = self.room.notified();
            if self.refusal().is_some() {
                return;
            }
            {
                let mut state = self.state();
                if state.queue.len() < 2 * QUEUE && state.queued_bytes <= self.most_bytes {
                    state.put(Parcel {
                        message,
                        headers: Vec::new(),
                        minted: None,
                    });
                    break;
                }
            }
            room.await;
        }
        self.drain().await;
    }

    /// Asks the server on behalf of the gateway, and of a request of the client where there is one.
    pub(super) async fn ask(
        self: &Arc<Self>,
        serial: Option<u64>,
        method: &str,
        params: Option<&Bytes>,
    ) -> oneshot::Receiver<Answer> {
        self.pass(serial, Message::request(&Id::number(0), method, params))
            .await
    }

    /// The same with a message of the client.
    pub(super) async fn pass(
        self: &Arc<Self>,
        serial: Option<u64>,
        message: Message,
    ) -> oneshot::Receiver<Answer> {
        let (answer, receiver) = oneshot::channel();
        self.request(Waiting::Inner { serial, answer }, message, Vec::new())
            .await;
        receiver
    }

    /// Hands over what waits, here as far as that takes no waiting.
    async fn drain(self: &Arc<Self>) {
        {
            let mut state = self.state();
            if state.draining || state.upstream.is_none() {
                return;
            }
            state.draining = true;
        }
        let link = Arc::clone(self);
        advance(Box::pin(async move {
            while let Some((upstream, parcel)) = link.next() {
                let sent = upstream.send(parcel.message, &parcel.headers).await;
                if let (Err(error), Some(minted)) = (sent, parcel.minted) {
                    let waiting = link.state().waiting.remove(&minted);
                    if let Some(waiting) = waiting {
                        link.fail_one(waiting, &error).await;
                    }
                }
            }
        }))
        .await;
    }

    /// What is to be handed over next; if nothing is, nobody hands over any longer.
    fn next(&self) -> Option<(Arc<dyn Upstream>, Parcel)> {
        let mut state = self.state();
        let Some(upstream) = state.upstream.clone() else {
            state.draining = false;
            return None;
        };
        let Some(parcel) = state.queue.pop_front() else {
            state.draining = false;
            return None;
        };
        state.queued_bytes -= parcel.message.len();
        self.room.notify_waiters();
        Some((upstream, parcel))
    }

    /// From here on messages go to this connection, those first that wait.
    pub(super) async fn open(self: &Arc<Self>, upstream: Arc<dyn Upstream>) {
        {
            let mut state = self.state();
            state.upstream = Some(upstream);
            state.greeted = false;
        }
        // Not over a client that went meanwhile.
        self.phase.send_if_modified(|phase| {
            let is_there = !matches!(phase, Phase::Closed);
            if is_there {
                *phase = Phase::Open;
            }
            is_there
        });
        self.greet().await;
    }

    /// Says to the server that the client is initialized, once on each connection and before anything
    /// that waits, if the client said so.
    pub(super) async fn greet(self: &Arc<Self>) {
        if let Some(message) = self.hello.initialized() {
            let mut state = self.state();
            if state.upstream.is_some() && !state.greeted {
                state.greeted = true;
                state.queued_bytes += message.len();
                state.queue.push_front(Parcel {
                    message,
                    headers: Vec::new(),
                    minted: None,
                });
            }
        }
        self.drain().await;
    }

    pub(super) fn start_timeout(&self) -> Duration {
        self.start_timeout
    }

    /// Says to the server that nobody waits for a request any longer; `params` are those of the
    /// notification, whose `requestId` is set.
    pub(super) async fn cancel(self: &Arc<Self>, minted: u64, params: Bytes) {
        let id = Id::number(minted);
        if !self.abandons {
            let params = read::replaced(&params, &["requestId"], id.raw());
            self.send(Message::notification(
                "notifications/cancelled",
                Some(&params),
            ))
            .await;
        }
        if let Some(upstream) = self.upstream() {
            upstream.abandon(&id).await;
        }
    }

    /// The connection is over: everything that waits fails.
    pub(super) async fn down(self: &Arc<Self>, phase: Phase) {
        let error = match &phase {
            Phase::Down(error) => error.clone(),
            _ => UpstreamError::Ended {
                reason: "the client is gone".to_owned(),
            },
        };
        // A client that is gone does not come back.
        self.phase.send_if_modified(|now| {
            let changes = !matches!(now, Phase::Closed);
            if changes {
                *now = phase;
            }
            changes
        });
        let waiting = {
            let mut state = self.state();
            state.upstream = None;
            state.known = false;
            state.queue.clear();
            state.queued_bytes = 0;
            state.deadlines.clear();
            std::mem::take(&mut state.waiting)
        };
        self.room.notify_waiters();
        let mut waiting: Vec<_> = waiting.into_iter().collect();
        waiting.sort_unstable_by_key(|(minted, _)| *minted);
        for (_, waiting) in waiting {
            self.fail_one(waiting, &error).await;
        }
    }

    /// What waits for the answer to a request of this connection.
    pub(super) fn take(&self, id: &Id) -> Option<Waiting> {
        self.state().waiting.remove(&id.as_number()?)
    }

    /// The client's request behind a request of this connection.
    pub(super) fn serial_of(&self, id: &Id) -> Option<u64> {
        self.state().waiting.get(&id.as_number()?)?.serial()
    }

    /// The client's request that runs here last; with `alone`, only if no other runs.
    pub(super) fn running(&self, alone: bool) -> Option<u64> {
        let state = self.state();
        if alone && state.waiting.len() > 1 {
            return None;
        }
        let last = state
            .waiting
            .iter()
            .filter_map(|(minted, waiting)| Some((minted, waiting.serial()?)))
            .max_by_key(|(minted, _)| **minted);
        last.map(|(_, serial)| serial)
    }

    /// Forgets what runs here for a request of the client; gives the ids.
    pub(super) fn withdraw(&self, serial: u64) -> Vec<u64> {
        let mut state = self.state();
        let mut ids: Vec<u64> = state
            .waiting
            .iter()
            .filter(|(_, waiting)| waiting.serial() == Some(serial))
            .map(|(minted, _)| *minted)
            .collect();
        ids.sort_unstable();
        for minted in &ids {
            state.waiting.remove(minted);
        }
        // What was not handed over need not be.
        let mut freed = 0;
        let mut unsent = Vec::new();
        state.queue.retain(|parcel| match parcel.minted {
            Some(minted) if ids.contains(&minted) => {
                freed += parcel.message.len();
                unsent.push(minted);
                false
            }
            _ => true,
        });
        state.queued_bytes -= freed;
        ids.retain(|minted| !unsent.contains(minted));
        ids
    }

    /// When the next request is to be given up.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        let mut state = self.state();
        while let Some((at, minted)) = state.deadlines.front().copied() {
            if state.waiting.contains_key(&minted) {
                return Some(at);
            }
            state.deadlines.pop_front();
        }
        None
    }

    /// The requests that took longer than they may.
    pub(super) fn overdue(&self) -> Vec<(u64, Waiting)> {
        let now = Instant::now();
        let mut state = self.state();
        let mut overdue = Vec::new();
        while let Some((at, minted)) = state.deadlines.front().copied() {
            if at > now {
                break;
            }
            state.deadlines.pop_front();
            if let Some(waiting) = state.waiting.remove(&minted) {
                overdue.push((minted, waiting));
            }
        }
        overdue
    }

    /// The error for requests that took longer than they may.
    pub(super) fn timed_out(&self) -> UpstreamError {
        UpstreamError::TimedOut {
            seconds: self.timeout.map_or(0, |timeout| timeout.as_secs()),
        }
    }

    /// The connection that is open.
    pub(super) fn upstream(&self) -> Option<Arc<dyn Upstream>> {
        self.state().upstream.clone()
    }

    /// Tells whoever waits that there will be no answer.
    pub(super) async fn fail_one(&self, waiting: Waiting, error: &UpstreamError) {
        let client = self.client.upgrade();
        match (waiting, client) {
            (Waiting::Forward { serial }, Some(client)) => {
                client.refuse(serial, &fault::rpc(&self.name, error)).await;
            }
            (Waiting::Call { serial, pending }, client) => {
                pending.fail(&error.to_string()).await;
                if let Some(client) = client {
                    let result = fault::tool(&self.name, error, self.stateless);
                    client.respond(serial, &result).await;
                }
            }
            (Waiting::Inner { answer, .. }, _) => {
                let _ = answer.send(Err(Failure::Unavailable(error.clone())));
            }
            (Waiting::Listen { serial }, Some(client)) => {
                if let Some((side, link)) = client.side_of(self).zip(client.link_of(self)) {
                    let failure = Failure::Unavailable(error.clone());
                    side.listened(&client, &link, serial, Err(failure)).await;
                }
            }
            (Waiting::Forward { .. } | Waiting::Listen { .. }, None) => {}
        }
    }
}

/// The one request that has no end: a subscription of the stateless era.
pub(super) const LISTEN: &str = "subscriptions/listen";

impl State {
    /// Remembers a subscription, or that it ended.
    pub(super) fn subscribe(&mut self, uri: String, params: Option<Bytes>) {
        match params {
            Some(params) if self.subscriptions.len() < SUBSCRIPTIONS => {
                self.subscriptions.insert(uri, params);
            }
            Some(_) => {}
            None => {
                self.subscriptions.remove(&uri);
            }
        }
    }

    fn put(&mut self, parcel: Parcel) {
        self.queued_bytes += parcel.message.len();
        self.queue.push_back(parcel);
    }
}
