//! One client: its requests, the requests of servers to it, and where its messages go.

mod ask;
mod notifications;
mod requests;
mod servers;

use super::{
    Gateway,
    connection::{Phase, ServerConnection},
    connection_set::ConnectionSet,
    kept::{KeptAs, NotKept},
    owners::{Fingerprint, Fingerprints},
    room::Room,
    tasks::Tasks,
};
use crate::{
    Revision,
    apart::LARGE,
    budget::Account,
    message::{Header, Id, Kind, Message, RpcError, Token},
    port::{Crowded, HubClient, MessageSink},
    principal::Principal,
    protocol::{code, method},
    tools::unguessable,
};
use async_trait::async_trait;
use bytes::Bytes;
use crossfeed_store::{StoreError, with_causes};
use futures_util::future::join_all;
use parking_lot::Mutex;
use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};
use tokio::{sync::oneshot, task::AbortHandle, time::Instant};

/// The path of a request's progress token.
const PROGRESS_TOKEN: [&str; 2] = ["_meta", "progressToken"];

/// Bytes of a message that is kept as long as its session or subscription: it holds the whole body that it came in.
const MAX_KEPT_BYTES: usize = 256 << 10;
/// Bytes of the messages that wait for a session to begin; a single one may be larger.
const MAX_PRE_INIT_BYTES: usize = 16 << 20;

/// Requests that ended whose progress tokens are remembered.
pub(super) const MAX_ENDED: usize = 1024;

/// Messages that wait for the session to begin, and where their answers go.
type PreInitQueue = VecDeque<(Message, Arc<dyn MessageSink>)>;

/// Whether the queue, of at most so many messages, has room for another.
fn has_room(queue: &PreInitQueue, message: &Message, most: usize) -> bool {
    let bytes: usize = queue.iter().map(|(queued, _)| queued.len()).sum();
    queue.len() < most && (queue.is_empty() || bytes + message.len() <= MAX_PRE_INIT_BYTES)
}

/// The same id in memory of its own, which does not keep the whole message.
fn kept_id(id: &Id) -> Id {
    Id::parse(Bytes::copy_from_slice(id.raw())).unwrap_or_else(|| id.clone())
}

/// Whether a notification carries no data and is too long to be read on the threads that serve others: such are
/// dropped.
fn is_too_long(message: &Message) -> bool {
    const SHORT: [&str; 3] = [method::CANCELLED, method::PROGRESS, method::TASK_STATUS];
    message.len() > LARGE && message.method().is_some_and(|own| SHORT.contains(&own))
}

/// One client.
pub(super) struct Client {
    pub(super) gateway: Arc<Gateway>,
    pub(super) principal: Principal,
    pub(super) account: Arc<Account>,
    pub(super) outlet: Arc<dyn MessageSink>,
    /// Whether it stands for several clients, whose ids may be the same.
    pub(super) is_shared: bool,
    /// What identifies it: 128 random bits, or the name of the local client's session.
    pub(super) key: String,
    /// The tasks of its principal.
    pub(super) tasks: Arc<Tasks>,
    pub(super) state: Mutex<State>,
    /// The number of answers on their way to a client that does not read.
    leaving: Arc<AtomicUsize>,
    /// Where its session is kept for later processes.
    pub(super) kept_as: OnceLock<KeptAs>,
    /// Whether what it recorded stays when it is closed.
    pub(super) leaves: AtomicBool,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) is_closed: bool,
    /// The messages that came while `initialize` runs.
    pre_init_queue: Option<PreInitQueue>,
    /// Connections of a session that is beginning.
    beginning: Option<Arc<ConnectionSet>>,
    pub(super) session: Option<Arc<ConnectionSet>>,
    stateless: Option<Arc<ConnectionSet>>,
    pub(super) revision: Option<Revision>,
    running: HashMap<u64, RunningRequest>,
    by_id: HashMap<Id, u64>,
    serial: u64,
    /// Progress tokens of requests that have ended, whose progress is dropped.
    ended: VecDeque<Fingerprint>,
    fingerprints: Fingerprints,
    asked: HashMap<u64, ServerRequest>,
    /// What the gateway itself asked, by its number, and who waits for the answer.
    asked_by_gateway: HashMap<u64, oneshot::Sender<Message>>,
    pub(super) asks: u64,
    /// When its last request came or ended.
    pub(super) used: Option<Instant>,
    /// Whether it ever called a tool.
    has_called: bool,
    /// The room reserved for its connections, by server.
    pub(super) rooms: HashMap<usize, Arc<Room>>,
}

/// A request of the client.
struct RunningRequest {
    id: Id,
    /// Where its answer goes.
    reply: Arc<dyn MessageSink>,
    /// The sink that the transport passed, to identify its requests.
    origin: Arc<dyn MessageSink>,
    /// Its progress token.
    token: Option<Token>,
    is_initialize: bool,
    /// It changes what is kept of the session.
    changes_session: bool,
    /// It began a task, whose progress comes after the answer.
    goes_on: bool,
    /// It is a subscription.
    is_endless: bool,
    work: Option<AbortHandle>,
}

/// A request of a server.
struct ServerRequest {
    link: Arc<ServerConnection>,
    /// The number of the connection on which it asked.
    connection: u64,
    id: Id,
    /// Its own progress token; the client knows the number of the request instead.
    token: Option<Bytes>,
}

impl Client {
    pub(super) fn new(
        gateway: &Arc<Gateway>,
        principal: Principal,
        outlet: Arc<dyn MessageSink>,
        is_shared: bool,
    ) -> Arc<Self> {
        let named = gateway.config.session.as_ref();
        let key = match named.filter(|_| principal == Principal::Local && !is_shared) {
            // No random key has a space.
            Some(name) => format!("session {name}"),
            // Two clients must never share a key.
            None => unguessable(),
        };
        Self::with_key(gateway, principal, outlet, is_shared, key)
    }

    /// The same of a client that goes on with what was recorded under this key.
    pub(super) fn with_key(
        gateway: &Arc<Gateway>,
        principal: Principal,
        outlet: Arc<dyn MessageSink>,
        is_shared: bool,
        key: String,
    ) -> Arc<Self> {
        Arc::new(Self {
            tasks: gateway.tasks_of(&principal, (!is_shared).then_some(&key)),
            account: gateway.budget.account(&principal),
            gateway: Arc::clone(gateway),
            principal,
            outlet,
            is_shared,
            key,
            state: Mutex::default(),
            leaving: Arc::default(),
            kept_as: OnceLock::new(),
            leaves: AtomicBool::new(false),
        })
    }

    /// The key of its recorded results; none if several clients share it, so that call ids must be unguessable.
    pub(super) fn session_key(&self) -> Option<String> {
        (!self.is_shared).then(|| self.key.clone())
    }

    /// The id of a request that runs, and where its answer goes.
    pub(super) fn id_and_reply(&self, serial: u64) -> Option<(Id, Arc<dyn MessageSink>)> {
        let state = self.state.lock();
        let running = state.running.get(&serial)?;
        Some((running.id.clone(), Arc::clone(&running.reply)))
    }

    /// Takes a message; `is_next` if it has waited for the session to begin. Whether it begins a session.
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

    /// The session begins, and the messages that came meanwhile are next.
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
        self.release_pre_init_queue().await;
        if !begins {
            // The client went away meanwhile; its messages were refused.
            return side.close(false).await;
        }
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

    /// Handles the messages that waited, in order, and those that come meanwhile behind them, until another `initialize`
    /// makes the rest wait.
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
            // Boxed: it may begin a session again, which leads here.
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

    /// Closes the connections of the stateless era of a client that must begin a session, if it shares them with no other
    /// and no other request runs.
    pub(super) fn leave_stateless(&self, serial: u64, side: &Arc<ConnectionSet>) {
        if self.is_shared {
            return;
        }
        {
            let mut state = self.state.lock();
            let mut running = state.running.iter();
            let has_others =
                running.any(|(other, running)| *other != serial && !running.is_initialize);
            let current = &mut state.stateless;
            if has_others
                || current
                    .take_if(|current| Arc::ptr_eq(current, side))
                    .is_none()
            {
                return;
            }
        }
        let side = Arc::clone(side);
        // Its results stay: they are kept with those of the session.
        tokio::spawn(async move {
            let given_up = side.give_up().await;
            join_all(given_up.iter().map(|upstream| upstream.close())).await;
        });
    }

    /// The room reserved for its connection to a server.
    pub(super) fn take_room(&self, server: usize) -> Option<Arc<Room>> {
        self.state.lock().rooms.remove(&server)
    }

    /// Whether it ever called a tool.
    pub(super) fn has_called(&self) -> bool {
        self.state.lock().has_called
    }

    /// Since when it does not use its servers; none while it does, or may hear from them.
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

    /// Lets go of the calls whose tasks other processes know to have ended.
    pub(super) async fn release_ended_tasks(&self) -> Result<(), StoreError> {
        for side in self.sides() {
            side.tools.release_ended_tasks().await?;
        }
        Ok(())
    }

    pub(super) fn side_of(&self, link: &ServerConnection) -> Option<Arc<ConnectionSet>> {
        let state = self.state.lock();
        if link.stateless {
            state.stateless.clone()
        } else {
            state.session.clone().or_else(|| state.beginning.clone())
        }
    }

    /// The number of running requests, without subscriptions.
    pub(super) fn running(&self) -> usize {
        let state = self.state.lock();
        let pre_init_queue = state.pre_init_queue.iter().flatten();
        let waiting = pre_init_queue.filter(|(message, _)| message.kind() == Kind::Request);
        let endless = state.running.values().filter(|running| running.is_endless);
        let endless = endless.count();
        // Each subscription of a shared client has an outbox.
        let outboxes = if self.is_shared { endless } else { 0 };
        let leaving = self
            .leaving
            .load(Ordering::Relaxed)
            .saturating_sub(outboxes);
        state.running.len() - endless + waiting.count() + leaving
    }

    /// Takes no more requests.
    pub(super) fn refuse_all(&self) {
        self.state.lock().is_closed = true;
    }
}

#[async_trait]
impl HubClient for Client {
    async fn receive(self: Arc<Self>, message: Message, reply: Arc<dyn MessageSink>) {
        self.handle(message, reply, false).await;
    }

    async fn reserve(self: Arc<Self>) -> Result<(), Crowded> {
        let rooms = self.gateway.rooms(&self.principal).await?;
        self.state.lock().rooms = rooms;
        Ok(())
    }

    fn revision(&self) -> Option<Revision> {
        self.state.lock().revision
    }

    async fn headers(&self, tool: &str, params: &Bytes) -> Result<Vec<Header>, RpcError> {
        let side = self.state.lock().stateless.clone();
        match side {
            Some(side) => side.tools.headers(tool, params).await,
            None => Ok(Vec::new()),
        }
    }

    async fn give_up(&self, _: &Id, reply: &Arc<dyn MessageSink>) {
        let serials: Vec<u64> = {
            let state = self.state.lock();
            let running = state.running.iter();
            let theirs = running.filter(|(_, running)| Arc::ptr_eq(&running.origin, reply));
            theirs.map(|(serial, _)| *serial).collect()
        };
        for serial in serials {
            self.cancel(serial, &requests::gave_up()).await;
        }
    }

    fn keep_as(&self, session: &str) {
        self.keep_under(session);
    }

    async fn renew(&self) -> bool {
        match self.save().await {
            Ok(()) | Err(NotKept::Moved) => true,
            Err(NotKept::Store(error)) => {
                tracing::warn!(target: "crossfeed::gateway", error = with_causes(&error), "cannot renew the record of a session");
                false
            }
        }
    }

    fn is_to_be_kept(&self) -> bool {
        let kept_as = self.kept_as.get();
        kept_as.is_some_and(|kept_as| self.is_behind(kept_as))
    }

    fn has_moved(&self) -> bool {
        let kept_as = self.kept_as.get();
        kept_as.is_some_and(|kept_as| kept_as.has_moved.load(Ordering::Acquire))
    }

    async fn is_own(&self) -> Result<bool, StoreError> {
        self.is_own_still().await
    }

    async fn end_kept(&self) -> Result<bool, StoreError> {
        self.end_record().await
    }

    fn leave(&self) {
        let is_named = self.principal == Principal::Local
            && self.gateway.config.session.is_some()
            && self.gateway.tools.records().is_some();
        let has_begun = self.kept_as.get().is_some() && self.state.lock().session.is_some();
        self.leaves
            .fetch_or(is_named || has_begun, Ordering::AcqRel);
    }

    fn ends(&self) {
        for room in self.state.lock().rooms.values() {
            room.ends();
        }
        for link in self.links() {
            link.ends();
        }
    }

    async fn close(&self) {
        let mut leaves = self.leaves.load(Ordering::Acquire);
        self.ends();
        if leaves {
            self.let_go().await;
        }
        let (is_end_of_all, pre_init_queue, endless) = {
            let mut state = self.state.lock();
            let is_end_of_all = std::mem::replace(&mut state.is_closed, true);
            let pre_init_queue = state.pre_init_queue.take().unwrap_or_default();
            state.asked.clear();
            state.asked_by_gateway.clear();
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
        if !leaves {
            // Before what it recorded is removed: no process goes on with a part of it.
            leaves = match self.end_record().await {
                Ok(is_own) => !is_own,
                Err(error) => {
                    tracing::warn!(target: "crossfeed::gateway", error = with_causes(&error), "cannot end the record of a session: it stays for its time");
                    true
                }
            };
        }
        join_all(sides.iter().map(|side| side.close(leaves))).await;
        // No other client has them.
        if self.principal == Principal::Local && !leaves {
            let tools = &self.gateway.tools;
            tools.close_conversations(&self.principal).await;
        }
        self.gateway.forget(self);
    }
}

impl Drop for Client {
    /// Closes the connections of a client without references.
    fn drop(&mut self) {
        for link in self.links() {
            link.phase.send_replace(Phase::Closed);
        }
        self.gateway.forget(self);
    }
}
