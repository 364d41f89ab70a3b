//! One client: what it asked, what it was asked, and where its messages go.
//!
//! What comes in: messages of the client, and what its links hand over. What goes out: each message to
//! where it belongs, under the id that it is known by there. Deliberately not here: which of several
//! servers a request is for ([`super::route`]).

mod notifications;
mod requests;
mod servers;

use super::{
    Gateway,
    connection::{Phase, ServerConnection},
    connection_set::ConnectionSet,
    owners::{Fingerprint, Fingerprints},
    room::{self, Room},
    tasks::Tasks,
};
use crate::{
    Revision,
    apart::LARGE,
    budget::Account,
    message::{Header, Id, Kind, Message, RpcError, Token},
    port::{Crowded, MessageSink},
    principal::Principal,
    protocol::{code, method},
};
use bytes::Bytes;
use futures_util::future::join_all;
use parking_lot::Mutex;
use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::{task::AbortHandle, time::Instant};

/// Where a request says under which token it wants to hear of progress.
const PROGRESS_TOKEN: [&str; 2] = ["_meta", "progressToken"];

/// Bytes of a message that is kept as long as its session or its subscription is there: it holds all of
/// the body that it came in.
const MAX_KEPT_BYTES: usize = 256 << 10;
/// Bytes of what waits for a session to begin, if it is more than one message.
const MAX_EARLY_BYTES: usize = 16 << 20;

/// Requests that ended whose progress tokens are remembered.
pub(super) const MAX_ENDED: usize = 1024;

/// Messages that wait, and where their answers go.
type PreInitQueue = VecDeque<(Message, Arc<dyn MessageSink>)>;

/// Whether a message may wait for the session to begin, where `most` may.
fn has_room(pre_init_queue: &PreInitQueue, message: &Message, most: usize) -> bool {
    let held: usize = pre_init_queue
        .iter()
        .map(|(pre_init_queue, _)| pre_init_queue.len())
        .sum();
    pre_init_queue.len() < most
        && (pre_init_queue.is_empty() || held + message.len() <= MAX_EARLY_BYTES)
}

/// Whether a notification carries no data and is too long to be read on the threads that serve others: it is
/// dropped.
fn is_too_long(message: &Message) -> bool {
    const SHORT: [&str; 3] = [method::CANCELLED, method::PROGRESS, method::TASK_STATUS];
    message.len() > LARGE && message.method().is_some_and(|own| SHORT.contains(&own))
}

/// One client.
pub struct Client {
    pub(super) gateway: Arc<Gateway>,
    principal: Principal,
    /// What is held for it is charged to this.
    pub(super) account: Arc<Account>,
    pub(super) outlet: Arc<dyn MessageSink>,
    /// Several clients are behind it, whose ids may be the same.
    pub(super) is_shared: bool,
    /// What tells it from all others.
    pub(super) key: String,
    /// Those of its principal.
    pub(super) tasks: Arc<Tasks>,
    state: Mutex<State>,
    /// Answers that are on their way to a client that does not read.
    leaving: Arc<AtomicUsize>,
}

#[derive(Default)]
struct State {
    is_closed: bool,
    /// What came while `initialize` ran.
    pre_init_queue: Option<PreInitQueue>,
    /// Connections of a session that is beginning.
    beginning: Option<Arc<ConnectionSet>>,
    session: Option<Arc<ConnectionSet>>,
    stateless: Option<Arc<ConnectionSet>>,
    revision: Option<Revision>,
    running: HashMap<u64, Running>,
    by_id: HashMap<Id, u64>,
    serial: u64,
    /// Progress tokens of requests that have an answer, or need none any more: nothing is told of them.
    ended: VecDeque<Fingerprint>,
    fingerprints: Fingerprints,
    asked: HashMap<u64, Asked>,
    asks: u64,
    /// When it last asked something, or was answered.
    used: Option<Instant>,
    /// Whether it ever called a tool.
    has_called: bool,
    /// What was taken for its connections, by server, before they begin.
    rooms: HashMap<usize, Arc<Room>>,
}

/// A request of the client.
struct Running {
    id: Id,
    /// Where its answer goes.
    reply: Arc<dyn MessageSink>,
    /// The same as it was handed over.
    origin: Arc<dyn MessageSink>,
    /// Its progress token.
    token: Option<Token>,
    is_initialize: bool,
    /// It began a task, which is told of after the answer.
    goes_on: bool,
    /// It is a subscription, and has no end.
    is_endless: bool,
    work: Option<AbortHandle>,
}

/// A request of a server.
struct Asked {
    link: Arc<ServerConnection>,
    /// The connection on which it asked.
    connection: u64,
    id: Id,
    /// Its progress token, under the number of the request at the client.
    token: Option<Bytes>,
}

impl Client {
    pub(super) fn new(
        gateway: Arc<Gateway>,
        principal: Principal,
        outlet: Arc<dyn MessageSink>,
        is_shared: bool,
        key: String,
    ) -> Arc<Self> {
        let tasks = gateway.tasks_of(&principal);
        Arc::new(Self {
            tasks,
            account: gateway.budget.account(&principal),
            gateway,
            principal,
            outlet,
            is_shared,
            key,
            state: Mutex::default(),
            leaving: Arc::default(),
        })
    }

    /// What its results are recorded under; nothing where several clients share it, so that call ids
    /// must be unguessable.
    pub(super) fn session_key(&self) -> Option<String> {
        (!self.is_shared).then(|| self.key.clone())
    }

    /// The id of a request that runs, and where its answer goes.
    pub(super) fn id_and_reply(&self, serial: u64) -> Option<(Id, Arc<dyn MessageSink>)> {
        let state = self.state.lock();
        let running = state.running.get(&serial)?;
        Some((running.id.clone(), Arc::clone(&running.reply)))
    }

    /// Who it is.
    #[must_use]
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// The revision that was agreed on, once it was.
    #[must_use]
    pub fn revision(&self) -> Option<Revision> {
        self.state.lock().revision
    }

    /// The headers that a call of a tool must come with (`x-mcp-header`) where there is no session, by its
    /// `params`, as far as the tool was listed.
    ///
    /// # Errors
    ///
    /// There is no memory to read these.
    pub async fn headers(&self, tool: &str, params: &Bytes) -> Result<Vec<Header>, RpcError> {
        let side = self.state.lock().stateless.clone();
        match side {
            Some(side) => side.tools.headers(tool, params).await,
            None => Ok(Vec::new()),
        }
    }

    /// Takes a message; to be called in the order in which messages come. Does not wait for answers.
    /// What belongs to a request, its answer last, goes to `reply`.
    pub async fn receive(self: &Arc<Self>, message: Message, reply: Arc<dyn MessageSink>) {
        self.handle(message, reply, false).await;
    }

    /// As `receive`; `is_next` if it waited for the session to begin, and does so no longer.
    /// Says whether a session begins by it.
    async fn handle(
        self: &Arc<Self>,
        message: Message,
        reply: Arc<dyn MessageSink>,
        is_next: bool,
    ) -> bool {
        match message.kind() {
            Kind::Request => return self.request(message, reply, is_next).await,
            Kind::Notification => self.notification(message, reply, is_next).await,
            Kind::Response | Kind::Error => self.reply_of_client(message).await,
        }
        false
    }

    /// A session is beginning.
    pub(super) fn begins(&self, side: &Arc<ConnectionSet>) {
        self.state.lock().beginning = Some(Arc::clone(side));
    }

    /// The session begins: what was put off that came meanwhile is next.
    pub(super) async fn begun(self: &Arc<Self>, side: Arc<ConnectionSet>, revision: Revision) {
        let begins = {
            let mut state = self.state.lock();
            state.beginning = None;
            let begins = !state.is_closed && state.session.is_none();
            if begins {
                state.revision = Some(revision);
                state.session = Some(Arc::clone(&side));
            }
            begins
        };
        if !begins {
            // The client went meanwhile; what waited is refused.
            self.release_pre_init_queue().await;
            return side.close().await;
        }
        self.release_pre_init_queue().await;
        // Servers that came after the answer was made.
        for link in &side.links {
            self.back(link).await;
        }
    }

    /// The session does not begin.
    pub(super) async fn not_begun(self: &Arc<Self>) {
        self.state.lock().beginning = None;
        self.release_pre_init_queue().await;
    }

    /// What waited, in order; what comes while it is released stands behind it, and what comes behind
    /// another `initialize` waits for that.
    async fn release_pre_init_queue(self: &Arc<Self>) {
        loop {
            let next = {
                let mut state = self.state.lock();
                let next = state.pre_init_queue.as_mut().and_then(VecDeque::pop_front);
                if next.is_none() {
                    state.pre_init_queue = None;
                }
                next
            };
            let Some((message, reply)) = next else { return };
            // Boxed: it may begin a session again, which ends here.
            if Box::pin(self.handle(message, reply, true)).await {
                return;
            }
        }
    }

    pub(super) fn links(&self) -> Vec<Arc<ServerConnection>> {
        let sides = self.sides();
        sides.iter().flat_map(|side| &side.links).cloned().collect()
    }

    fn sides(&self) -> Vec<Arc<ConnectionSet>> {
        let state = self.state.lock();
        let sides = [&state.beginning, &state.session, &state.stateless];
        sides.into_iter().flatten().cloned().collect()
    }

    /// Ends the connections of the stateless era, if this is the only client on them and asks nothing there but
    /// this: it is told to begin a session.
    pub(super) fn leave_stateless(&self, serial: u64, side: &Arc<ConnectionSet>) {
        if self.is_shared {
            return;
        }
        {
            let mut state = self.state.lock();
            let others = state.running.iter().filter(|(of, _)| **of != serial);
            let mut others = others.filter(|(_, running)| !running.is_initialize);
            let is_it = |known: &Arc<ConnectionSet>| Arc::ptr_eq(known, side);
            if others.next().is_some() || !state.stateless.as_ref().is_some_and(is_it) {
                return;
            }
            state.stateless = None;
        }
        let side = Arc::clone(side);
        // Its results and those of the session are kept in one place, which stays.
        tokio::spawn(async move {
            let given_up = side.give_up().await;
            join_all(given_up.iter().map(|upstream| upstream.close())).await;
        });
    }

    /// Takes what its connections to servers need, before its session begins; others may have to give back
    /// first what they do not use.
    ///
    /// # Errors
    ///
    /// [`Crowded`] when that is not enough: then nothing was taken.
    pub async fn reserve(self: &Arc<Self>) -> Result<(), Crowded> {
        let config = self.gateway.config();
        let servers: Vec<usize> = self
            .gateway
            .connectors(&self.principal)
            .map(|(server, _)| server)
            .collect();
        let needs = servers
            .iter()
            .map(|server| room::needs(config.servers.get(*server)));
        let needs: Vec<_> = needs.collect();
        let rooms = self.gateway.room(&self.principal, &needs).await?;
        self.state.lock().rooms = servers.into_iter().zip(rooms).collect();
        Ok(())
    }

    /// What was taken for its connection to a server, if anything was.
    pub(super) fn take_room(&self, server: usize) -> Option<Arc<Room>> {
        self.state.lock().rooms.remove(&server)
    }

    /// Whether it ever called a tool.
    pub(super) fn has_called(&self) -> bool {
        self.state.lock().has_called
    }

    /// Since when it does not use its servers; nothing while it does, or may hear of them.
    pub(super) fn unused_since(&self) -> Option<Instant> {
        if self.outlet.is_read() || self.leaving.load(Ordering::Relaxed) > 0 {
            return None;
        }
        let sides = self.sides();
        let state = self.state.lock();
        let is_used = !state.running.is_empty()
            || !state.asked.is_empty()
            || state.pre_init_queue.is_some()
            || state.beginning.is_some();
        let since = state.used.filter(|_| !is_used);
        drop(state);
        since.filter(|_| !sides.iter().any(|side| side.tools.runs_tasks()))
    }

    pub(super) fn side_of(&self, link: &ServerConnection) -> Option<Arc<ConnectionSet>> {
        let state = self.state.lock();
        if link.stateless {
            state.stateless.clone()
        } else {
            state.session.clone().or_else(|| state.beginning.clone())
        }
    }

    /// How many requests run that have an end.
    pub(super) fn running(&self) -> usize {
        let state = self.state.lock();
        let pre_init_queue = state.pre_init_queue.iter().flatten();
        let waiting = pre_init_queue.filter(|(message, _)| message.kind() == Kind::Request);
        let endless = state.running.values().filter(|running| running.is_endless);
        let endless = endless.count();
        // Of those that share, each has a lane.
        let lanes = if self.is_shared { endless } else { 0 };
        let leaving = self.leaving.load(Ordering::Relaxed).saturating_sub(lanes);
        state.running.len() - endless + waiting.count() + leaving
    }

    /// Takes no more requests.
    pub(super) fn refuse_all(&self) {
        self.state.lock().is_closed = true;
    }

    /// It is about to be closed: others may wait for what its connections take.
    pub(crate) fn ends(&self) {
        for room in self.state.lock().rooms.values() {
            room.ends();
        }
        for link in self.links() {
            link.ends();
        }
    }

    /// The client is gone, or to go: its calls are cancelled, and those that a server was given are told
    /// that they may have run; its connections to servers are closed.
    pub async fn close(&self) {
        self.ends();
        let (is_end_of_all, pre_init_queue, endless) = {
            let mut state = self.state.lock();
            let is_end_of_all = std::mem::replace(&mut state.is_closed, true);
            let pre_init_queue = state.pre_init_queue.take().unwrap_or_default();
            state.asked.clear();
            state.by_id.clear();
            state.rooms.clear();
            for running in state.running.values_mut() {
                if let Some(work) = running.work.take() {
                    work.abort();
                }
            }
            let endless = state.running.extract_if(|_, running| running.is_endless);
            let endless: Vec<_> = endless.map(|(_, running)| running).collect();
            (is_end_of_all, pre_init_queue, endless)
        };
        let sides = self.sides();
        let given_up = join_all(sides.iter().map(|side| side.give_up())).await;
        let unsent: Vec<_> = {
            let mut state = self.state.lock();
            state.beginning = None;
            state.session = None;
            state.stateless = None;
            state.running.drain().map(|(_, running)| running).collect()
        };
        let refusal = if is_end_of_all {
            requests::shutting_down()
        } else {
            RpcError::new(code::INTERNAL, "the connection is closed")
        };
        for running in endless.into_iter().chain(unsent) {
            let refused = Message::failure(Some(&running.id), &refusal);
            self.send_soon(running.reply, refused).await;
        }
        for (message, reply) in pre_init_queue {
            if let (Kind::Request, Some(id)) = (message.kind(), message.id()) {
                let refused = Message::failure(Some(id), &refusal);
                self.send_soon(reply, refused).await;
            }
        }
        let given_up = given_up.iter().flatten();
        join_all(given_up.map(|upstream| upstream.close())).await;
        join_all(sides.iter().map(|side| side.close())).await;
        // Nobody else has them.
        if self.principal == Principal::Local {
            let tools = &self.gateway.tools;
            tools.close_conversations(&self.principal).await;
        }
        self.gateway.forget(&self.key);
    }
}

impl Drop for Client {
    /// Connections of a client that nobody knows any longer end.
    fn drop(&mut self) {
        for link in self.links() {
            link.phase.send_replace(Phase::Closed);
        }
        self.gateway.forget(&self.key);
    }
}
