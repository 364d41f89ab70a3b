//! One client: what it asked, what it was asked, and where its messages go.
//!
//! What comes in: messages of the client, and what its links hand over. What goes out: each message to
//! where it belongs, under the id that it is known by there. Deliberately not here: which of several
//! servers a request is for ([`super::route`]).

use super::{
    Gateway,
    advance::advance,
    fault,
    link::{Link, Phase},
    read,
    side::Side,
};
use crate::{
    Revision,
    downstream::{Outlet, Principal},
    message::{Id, Kind, Message, RpcError, code},
    upstream::Header,
};
use bytes::Bytes;
use std::{
    collections::{HashMap, VecDeque},
    future::Future,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::task::AbortHandle;

/// Requests of servers that a client may have unanswered.
const ASKED: usize = 1024;

/// One client.
pub struct Client {
    gateway: Arc<Gateway>,
    principal: Principal,
    outlet: Arc<dyn Outlet>,
    /// Several clients are behind it, whose ids may be the same.
    is_shared: bool,
    /// What tells it from all others.
    key: String,
    state: Mutex<State>,
    /// Answers that are on their way to a client that does not read.
    leaving: Arc<AtomicUsize>,
}

#[derive(Default)]
struct State {
    is_closed: bool,
    /// What came while `initialize` ran.
    early: Option<VecDeque<(Message, Arc<dyn Outlet>)>>,
    session: Option<Arc<Side>>,
    stateless: Option<Arc<Side>>,
    revision: Option<Revision>,
    running: HashMap<u64, Running>,
    by_id: HashMap<Id, u64>,
    serial: u64,
    asked: HashMap<u64, Asked>,
    asks: u64,
}

/// A request of the client.
struct Running {
    id: Id,
    reply: Arc<dyn Outlet>,
    /// Its progress token.
    token: Option<Bytes>,
    is_initialize: bool,
    work: Option<AbortHandle>,
}

/// A request of a server.
struct Asked {
    link: Arc<Link>,
    id: Id,
    token: Option<Bytes>,
}

/// What is to be done with a request.
enum Admission {
    /// It runs, on this side.
    Runs(u64, Arc<Side>),
    /// It is the one that begins a session.
    Begins(u64),
    /// It is answered with nothing but that the gateway is there.
    Ping,
    /// It waits.
    Waits,
    /// It does not run.
    Refused(RpcError),
}

impl Client {
    pub(super) fn new(
        gateway: Arc<Gateway>,
        principal: Principal,
        outlet: Arc<dyn Outlet>,
        is_shared: bool,
        key: String,
    ) -> Arc<Self> {
        Arc::new(Self {
            gateway,
            principal,
            outlet,
            is_shared,
            key,
            state: Mutex::default(),
            leaving: Arc::default(),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn gateway(&self) -> &Arc<Gateway> {
        &self.gateway
    }

    /// What its results are recorded under; nothing where several clients share it, so that call ids
    /// must be unguessable.
    pub(super) fn session_key(&self) -> Option<String> {
        (!self.is_shared).then(|| self.key.clone())
    }

    /// What tells it from all others.
    pub(super) fn key(&self) -> &str {
        &self.key
    }

    pub(super) fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Who it is.
    #[must_use]
    pub fn principal(&self) -> &Principal {
        &self.principal
    }

    /// The revision that was agreed on, once it was.
    #[must_use]
    pub fn revision(&self) -> Option<Revision> {
        self.state().revision
    }

    /// The headers that a call without a session must come with (`x-mcp-header`), by its `params`, as far
    /// as its tool was listed.
    #[must_use]
    pub fn headers(&self, params: &Bytes) -> Vec<Header> {
        let side = self.state().stateless.clone();
        side.map(|side| side.tools.headers(params))
            .unwrap_or_default()
    }

    /// Takes a message; to be called in the order in which messages come. Does not wait for answers.
    /// What belongs to a request, its answer last, goes to `reply`.
    pub async fn receive(self: &Arc<Self>, message: Message, reply: Arc<dyn Outlet>) {
        self.take_in(message, reply, false).await;
    }

    /// As `receive`; `is_next` if it waited for the session to begin, and does so no longer.
    async fn take_in(self: &Arc<Self>, message: Message, reply: Arc<dyn Outlet>, is_next: bool) {
        match message.kind() {
            Kind::Request => self.request(message, reply, is_next).await,
            Kind::Notification => self.notification(message, reply, is_next).await,
            Kind::Response | Kind::Error => self.reply_of_client(message).await,
        }
    }

    async fn request(self: &Arc<Self>, message: Message, reply: Arc<dyn Outlet>, is_next: bool) {
        let Some(id) = message.id().cloned() else {
            return;
        };
        let method = message.method().unwrap_or_default();
        match self.admit(&message, &id, &reply, is_next) {
            Admission::Runs(serial, side) => side.request(self, serial, message).await,
            Admission::Begins(serial) => self.begin(serial, message),
            Admission::Ping => {
                let nothing = Bytes::from_static(b"{}");
                self.send_soon(reply, Message::response(&id, &nothing))
                    .await;
            }
            Admission::Waits => {}
            // Awaited: who asks for more than it may is not read from until it reads.
            Admission::Refused(error) => {
                tracing::debug!(target: "crossfeed::gateway", method, code = error.code, "a request is refused");
                let _ = reply.send(Message::failure(Some(&id), &error)).await;
            }
        }
    }

    fn admit(
        self: &Arc<Self>,
        message: &Message,
        id: &Id,
        reply: &Arc<dyn Outlet>,
        is_next: bool,
    ) -> Admission {
        let refuse = |code, text: &str| Admission::Refused(RpcError::new(code, text));
        let method = message.method().unwrap_or_default();
        let most = self.gateway.config().limits.requests_per_client;
        let mut guard = self.state();
        let state = &mut *guard;
        if state.is_closed {
            return refuse(code::INTERNAL, "the gateway is shutting down");
        }
        if let Some(early) = state.early.as_mut().filter(|_| !is_next) {
            return match method {
                "ping" => Admission::Ping,
                _ if early.len() >= most => Admission::Refused(fault::limit("too many requests")),
                _ => {
                    early.push_back((message.clone(), Arc::clone(reply)));
                    Admission::Waits
                }
            };
        }
        if state.running.len() + self.leaving.load(Ordering::Relaxed) >= most {
            return Admission::Refused(fault::limit("too many requests at once"));
        }
        if !self.is_shared && state.by_id.contains_key(id) {
            return refuse(code::INVALID_REQUEST, "the id of a request that still runs");
        }
        let begins = method == "initialize" && !self.is_shared;
        let side = if begins {
            if state.session.is_some() {
                return refuse(code::INVALID_REQUEST, "the session is initialized");
            }
            None
        } else {
            match &state.session {
                Some(side) => Some(Arc::clone(side)),
                None if method == "server/discover"
                    || self.is_shared
                    || read::says_revision(message.params().as_ref()) =>
                {
                    Some(Arc::clone(state.stateless.get_or_insert_with(|| {
                        Side::stateless(self, message.params().as_ref())
                    })))
                }
                None if method == "ping" => return Admission::Ping,
                None => return refuse(code::INVALID_REQUEST, "the session is not initialized"),
            }
        };
        state.serial += 1;
        let serial = state.serial;
        if !self.is_shared {
            state.by_id.insert(id.clone(), serial);
        }
        let token = message
            .params()
            .and_then(|params| read::raw(&params, &["_meta", "progressToken"]));
        state.running.insert(
            serial,
            Running {
                id: id.clone(),
                reply: Arc::clone(reply),
                token,
                is_initialize: begins,
                work: None,
            },
        );
        match side {
            Some(side) => Admission::Runs(serial, side),
            None => {
                state.early.get_or_insert_default();
                Admission::Begins(serial)
            }
        }
    }

    /// Runs what a request takes, here as far as it need not wait.
    pub(super) async fn work(&self, serial: u64, work: impl Future<Output = ()> + Send + 'static) {
        let Some(handle) = advance(Box::pin(work)).await else {
            return;
        };
        if let Some(running) = self.state().running.get_mut(&serial) {
            running.work = Some(handle);
        }
    }

    /// The session begins: what was put off that came meanwhile is next.
    pub(super) async fn begun(self: &Arc<Self>, side: Arc<Side>, revision: Revision) {
        {
            let mut state = self.state();
            state.revision = Some(revision);
            state.session = Some(Arc::clone(&side));
        }
        self.release_early().await;
        // Servers that came after the answer was made.
        for link in side.links() {
            self.back(link).await;
        }
    }

    /// The session does not begin.
    pub(super) async fn not_begun(self: &Arc<Self>) {
        self.release_early().await;
    }

    /// What waited, in order; what comes while it is released stands behind it.
    async fn release_early(self: &Arc<Self>) {
        loop {
            let next = {
                let mut state = self.state();
                let next = state.early.as_mut().and_then(VecDeque::pop_front);
                if next.is_none() {
                    state.early = None;
                }
                next
            };
            let Some((message, reply)) = next else { return };
            // Boxed: it may begin a session again, which ends here.
            Box::pin(self.take_in(message, reply, true)).await;
        }
    }

    /// Takes a request off the list of those that run.
    fn take(&self, serial: u64) -> Option<Running> {
        let mut state = self.state();
        let running = state.running.remove(&serial)?;
        if !self.is_shared {
            state.by_id.remove(&running.id);
        }
        Some(running)
    }

    /// The answer to a request, whatever its id was; of one that does not run any longer, nothing.
    pub(super) async fn answer(&self, serial: u64, message: Message) {
        if let Some(running) = self.take(serial) {
            self.send_soon(running.reply, message.with_id(running.id))
                .await;
        }
    }

    /// The same by a result.
    pub(super) async fn respond(&self, serial: u64, result: &Bytes) {
        if let Some(running) = self.take(serial) {
            self.send_soon(running.reply, Message::response(&running.id, result))
                .await;
        }
    }

    /// The same by an error.
    pub(super) async fn refuse(&self, serial: u64, error: &RpcError) {
        if let Some(running) = self.take(serial) {
            self.send_soon(running.reply, Message::failure(Some(&running.id), error))
                .await;
        }
    }

    /// Sends an answer without waiting for a client that does not read; such a client may not ask more
    /// until it does.
    async fn send_soon(&self, reply: Arc<dyn Outlet>, message: Message) {
        self.leaving.fetch_add(1, Ordering::Relaxed);
        let leaving = Leaving(Arc::clone(&self.leaving));
        advance(Box::pin(async move {
            let _leaving = leaving;
            let _ = reply.send(message).await;
        }))
        .await;
    }

    /// What a client says without asking.
    async fn notification(
        self: &Arc<Self>,
        message: Message,
        reply: Arc<dyn Outlet>,
        is_next: bool,
    ) {
        let method = message.method().unwrap_or_default();
        let side = {
            let mut state = self.state();
            if let Some(early) = state.early.as_mut().filter(|_| !is_next) {
                if early.len() < self.gateway.config().limits.requests_per_client {
                    early.push_back((message, reply));
                }
                return;
            }
            state.session.clone().or_else(|| state.stateless.clone())
        };
        if method == "notifications/cancelled" {
            let params = message.params().unwrap_or_default();
            if let Some(id) = read::raw(&params, &["requestId"]) {
                self.cancelled(&id, params).await;
            }
            return;
        }
        let Some(side) = side else { return };
        match method {
            "notifications/initialized" => side.initialized(&message).await,
            "notifications/progress" => {
                let params = message.params().unwrap_or_default();
                let token = read::raw(&params, &["progressToken"]);
                let link = token.and_then(|token| {
                    let state = self.state();
                    let asked = state
                        .asked
                        .values()
                        .find(|asked| asked.token.as_ref() == Some(&token))?;
                    Some(Arc::clone(&asked.link))
                });
                match link {
                    Some(link) => link.send(message).await,
                    None => side.tell_all(&message).await,
                }
            }
            _ => side.tell_all(&message).await,
        }
    }

    async fn cancelled(&self, id: &Bytes, params: Bytes) {
        let serial = {
            let state = self.state();
            if self.is_shared {
                None
            } else {
                state
                    .by_id
                    .iter()
                    .find(|(known, _)| known.raw() == id)
                    .map(|(_, serial)| *serial)
                    .filter(|serial| {
                        // What begins a session is not cancelled.
                        state
                            .running
                            .get(serial)
                            .is_some_and(|running| !running.is_initialize)
                    })
            }
        };
        if let Some(serial) = serial {
            self.cancel(serial, &params).await;
        }
    }

    /// Gives up a request, and tells the servers that work on it.
    async fn cancel(&self, serial: u64, params: &Bytes) {
        let Some(running) = self.take(serial) else {
            return;
        };
        if let Some(work) = running.work {
            work.abort();
        }
        for link in self.links() {
            for minted in link.withdraw(serial) {
                link.cancel(minted, params.clone()).await;
            }
        }
    }

    pub(super) fn links(&self) -> Vec<Arc<Link>> {
        let state = self.state();
        let sides = state.session.iter().chain(&state.stateless);
        sides.flat_map(|side| side.links()).cloned().collect()
    }

    /// The client went away from a request: without sessions that cancels it.
    pub async fn abandon(&self, id: &Id) {
        self.cancelled(id.raw(), gave_up()).await;
    }

    /// The client went away from where the answers to some of its requests go: that cancels them.
    pub async fn give_up(&self, reply: &Arc<dyn Outlet>) {
        let serials: Vec<u64> = {
            let state = self.state();
            let theirs = state
                .running
                .iter()
                .filter(|(_, running)| Arc::ptr_eq(&running.reply, reply));
            theirs.map(|(serial, _)| *serial).collect()
        };
        for serial in serials {
            self.cancel(serial, &gave_up()).await;
        }
    }

    /// The answer to what a server asked.
    async fn reply_of_client(&self, message: Message) {
        let asked = message
            .id()
            .and_then(Id::as_number)
            .and_then(|id| self.state().asked.remove(&id));
        match asked {
            Some(asked) => asked.link.send(message.with_id(asked.id)).await,
            None => tracing::debug!(
                target: "crossfeed::gateway",
                "an answer of a client that nobody waits for"
            ),
        }
    }

    /// A server asks the client.
    pub(super) async fn asked(&self, link: &Arc<Link>, message: Message, related: Option<&Id>) {
        let Some(id) = message.id().cloned() else {
            return;
        };
        let refuse = |code, text: &str| Message::failure(Some(&id), &RpcError::new(code, text));
        if link.stateless {
            let answer = refuse(code::METHOD_NOT_FOUND, "a client without a session");
            return link.send(answer).await;
        }
        let token = message
            .params()
            .and_then(|params| read::raw(&params, &["_meta", "progressToken"]));
        let outlets = self.outlets(link, related, false);
        let number = {
            let mut state = self.state();
            if state.asked.len() >= ASKED {
                None
            } else {
                state.asks += 1;
                let number = state.asks;
                let asked = Asked {
                    link: Arc::clone(link),
                    id: id.clone(),
                    token,
                };
                state.asked.insert(number, asked);
                Some(number)
            }
        };
        let Some(number) = number else {
            return link
                .send(refuse(code::INTERNAL, "too many requests to the client"))
                .await;
        };
        let message = message.with_id(Id::number(number));
        for outlet in outlets {
            if outlet.send(message.clone()).await.is_ok() {
                return;
            }
        }
        self.state().asked.remove(&number);
        link.send(refuse(code::INTERNAL, "the client is gone"))
            .await;
    }

    /// A server tells the client.
    pub(super) async fn told(
        self: &Arc<Self>,
        link: &Arc<Link>,
        message: Message,
        related: Option<&Id>,
    ) {
        let method = message.method().unwrap_or_default();
        let outlets = match method {
            "notifications/cancelled" => {
                if let Some((outlets, message)) = self.withdrawn(link, &message, related) {
                    send_first(&outlets, &message).await;
                }
                return;
            }
            "notifications/progress" => {
                let params = message.params().unwrap_or_default();
                let token = read::raw(&params, &["progressToken"]);
                match self.outlet_of_token(token) {
                    Some(outlet) => vec![outlet],
                    None => self.outlets(link, related, true),
                }
            }
            "notifications/tools/list_changed" => {
                if let Some(side) = self.side_of(link) {
                    side.tools_changed(link.server);
                }
                vec![Arc::clone(&self.outlet)]
            }
            "notifications/prompts/list_changed"
            | "notifications/resources/list_changed"
            | "notifications/resources/updated" => {
                if let Some(side) = self.side_of(link) {
                    side.changed(method);
                }
                vec![Arc::clone(&self.outlet)]
            }
            _ => self.outlets(link, related, true),
        };
        send_first(&outlets, &message).await;
    }

    /// A server does not want an answer any longer: the same with the id that the client knows.
    fn withdrawn(
        &self,
        link: &Arc<Link>,
        message: &Message,
        related: Option<&Id>,
    ) -> Option<(Vec<Arc<dyn Outlet>>, Message)> {
        let params = message.params()?;
        let id = read::raw(&params, &["requestId"])?;
        let number = {
            let mut state = self.state();
            let number = state
                .asked
                .iter()
                .find(|(_, asked)| Arc::ptr_eq(&asked.link, link) && *asked.id.raw() == id)
                .map(|(number, _)| *number)?;
            state.asked.remove(&number);
            number
        };
        let params = read::replaced(&params, &["requestId"], Id::number(number).raw());
        Some((
            self.outlets(link, related, false),
            message.clone().with_body(params),
        ))
    }

    fn outlet_of_token(&self, token: Option<Bytes>) -> Option<Arc<dyn Outlet>> {
        let token = token?;
        let state = self.state();
        let running = state
            .running
            .values()
            .find(|running| running.token.as_ref() == Some(&token))?;
        Some(Arc::clone(&running.reply))
    }

    /// Where what a server says is to go, the best place first: the stream of the request that it
    /// belongs to; where that is not known, of the only one that runs there (or the last, for what
    /// must not get lost); else where everything goes that belongs to no request.
    fn outlets(&self, link: &Link, related: Option<&Id>, alone: bool) -> Vec<Arc<dyn Outlet>> {
        let serial = match related {
            Some(id) => link.serial_of(id),
            None => link.running(alone),
        };
        let state = self.state();
        let reply = serial
            .and_then(|serial| state.running.get(&serial))
            .map(|running| Arc::clone(&running.reply));
        reply
            .into_iter()
            .chain([Arc::clone(&self.outlet)])
            .collect()
    }

    fn side_of(&self, link: &Link) -> Option<Arc<Side>> {
        let state = self.state();
        match link.stateless {
            true => state.stateless.clone(),
            false => state.session.clone(),
        }
    }

    /// What is to be known of a tool's result: the task that it stands for.
    pub(super) fn learn(&self, link: &Link, result: &Bytes) {
        if let Some(task) =
            read::string(result, &["task", "taskId"]).or_else(|| read::string(result, &["taskId"]))
            && let Some(side) = self.side_of(link)
        {
            side.owns_task(link.server, &task);
        }
    }

    /// A server ended: what it asked is not to be answered any longer.
    pub(super) async fn lost(&self, link: &Arc<Link>) {
        let numbers: Vec<u64> = {
            let mut state = self.state();
            let numbers = state
                .asked
                .iter()
                .filter(|(_, asked)| Arc::ptr_eq(&asked.link, link))
                .map(|(number, _)| *number)
                .collect();
            for number in &numbers {
                state.asked.remove(number);
            }
            numbers
        };
        for number in numbers {
            let params = format!(r#"{{"requestId":{number},"reason":"the server has ended"}}"#);
            let cancelled = Message::notification("notifications/cancelled", Some(&params.into()));
            let _ = self.outlet.send(cancelled).await;
        }
    }

    /// A server is back, or there at last: what it lists may be new.
    pub(super) async fn back(self: &Arc<Self>, link: &Arc<Link>) {
        let Some(side) = self.side_of(link) else {
            return;
        };
        if !link.make_known() {
            return;
        }
        side.tools_changed(link.server);
        if link.stateless {
            // Lists are not announced to those who did not ask for it.
            return;
        }
        let about = link.state().about.clone().unwrap_or_default();
        for (capability, method) in [
            ("tools", "notifications/tools/list_changed"),
            ("prompts", "notifications/prompts/list_changed"),
            ("resources", "notifications/resources/list_changed"),
        ] {
            if read::raw(&about, &["capabilities", capability]).is_some() {
                side.changed(method);
                let _ = self.outlet.send(Message::notification(method, None)).await;
            }
        }
    }

    /// How many requests run.
    pub(super) fn running(&self) -> usize {
        self.state().running.len() + self.leaving.load(Ordering::Relaxed)
    }

    /// Takes no more requests.
    pub(super) fn refuse_all(&self) {
        self.state().is_closed = true;
    }

    /// The client is gone: its calls are cancelled, its connections to servers closed.
    pub async fn close(&self) {
        let (running, sides) = {
            let mut state = self.state();
            state.is_closed = true;
            state.early = None;
            state.asked.clear();
            state.by_id.clear();
            let running: Vec<_> = state.running.drain().collect();
            let sides: Vec<_> = [state.session.take(), state.stateless.take()]
                .into_iter()
                .flatten()
                .collect();
            (running, sides)
        };
        for (_, running) in running {
            if let Some(work) = running.work {
                work.abort();
            }
        }
        for side in sides {
            side.close().await;
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

async fn send_first(outlets: &[Arc<dyn Outlet>], message: &Message) {
    for outlet in outlets {
        if outlet.send(message.clone()).await.is_ok() {
            return;
        }
    }
}

fn gave_up() -> Bytes {
    Bytes::from_static(br#"{"requestId":0,"reason":"the client went away"}"#)
}

/// An answer on its way.
struct Leaving(Arc<AtomicUsize>);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
