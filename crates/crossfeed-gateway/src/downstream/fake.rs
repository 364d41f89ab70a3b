//! A hub for tests: it answers by itself, and keeps what it was told.

use crate::{
    Revision,
    budget::Budget,
    message::{Header, Id, Kind, Message, RpcError},
    port::ServerHealth,
};
use crate::{
    port::{Crowded, Hub, HubClient, KeptSession, MessageSink, Peer, RecallError, SessionPlace},
    principal::Principal,
    protocol::method,
};
use async_trait::async_trait;
use bytes::Bytes;
use crossfeed_store::StoreError;
use parking_lot::Mutex;
use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::sync::watch;

/// Long enough for whatever is faster to be seen.
const WHILE: Duration = Duration::from_millis(50);

/// What methods do here: `hold` and subscriptions wait for [`FakeHub::release`], as does what has the
/// parameters `{"holds":true}`; `late` does so after a while, `drop` is never answered, `notify` sends a
/// notification before it is answered, `ask` sends a request to the client's own outlet. Everything else is
/// answered by its parameters; with an error by `{"fails":true}` and, after a notification and a while,
/// `{"fails":"late"}`.
#[derive(Default)]
pub(super) struct FakeHub {
    pub(super) clients: Mutex<Vec<Arc<FakeClient>>>,
    held: Mutex<Vec<(Id, Arc<dyn MessageSink>)>>,
    /// There is no room for another session.
    pub(super) is_crowded: AtomicBool,
    /// How many sessions were taken up and let go again.
    pub(super) released: AtomicUsize,
    /// Sessions cannot be kept.
    pub(super) is_away: AtomicBool,
    /// The replica that has all sessions of others.
    pub(super) peer: Mutex<Option<Peer>>,
    /// It ends soon, and has them no more.
    pub(super) leaves: AtomicBool,
    /// What is kept of the next session that is looked up, which `peer` had before.
    pub(super) kept: Mutex<Option<KeptSession>>,
    /// How often the store was asked about sessions and replicas.
    pub(super) looks: AtomicUsize,
    /// Why the next session cannot be looked up.
    pub(super) fault: Mutex<Option<StoreError>>,
    changed: watch::Sender<u64>,
    budget: OnceLock<Arc<Budget>>,
}

pub(super) struct FakeClient {
    hub: Arc<FakeHub>,
    pub(super) principal: Principal,
    pub(super) outlet: Option<Arc<dyn MessageSink>>,
    /// What came, as text.
    pub(super) came: Mutex<Vec<String>>,
    pub(super) given_up: Mutex<Vec<Id>>,
    pub(super) closed: AtomicBool,
    /// What is kept of it stays.
    pub(super) leaves: AtomicBool,
    /// Another process has taken it up.
    pub(super) has_moved: AtomicBool,
    /// How often it was to be kept for longer.
    pub(super) renewed: AtomicUsize,
}

/// The name of every fake.
pub(super) const FAKE_REPLICA: &str = "other";

impl FakeHub {
    /// A hub that holds no more than this.
    pub(super) fn within(budget: Arc<Budget>) -> Self {
        let hub = Self::default();
        hub.budget.set(budget).unwrap();
        hub
    }

    pub(super) fn client(&self, number: usize) -> Arc<FakeClient> {
        self.clients.lock()[number].clone()
    }

    /// Waits until `is_so`.
    pub(super) async fn until(&self, is_so: impl Fn(&Self) -> bool) {
        let mut changes = self.changed.subscribe();
        while !is_so(self) {
            changes.changed().await.unwrap();
        }
    }

    pub(super) fn held(&self) -> usize {
        self.held.lock().len()
    }

    /// Answers what is held.
    pub(super) async fn release(&self) {
        let held = std::mem::take(&mut *self.held.lock());
        for (id, reply) in held {
            let _ = reply
                .send(Message::response(&id, &"\"released\"".into()))
                .await;
        }
    }

    fn add(
        self: Arc<Self>,
        principal: Principal,
        outlet: Option<Arc<dyn MessageSink>>,
    ) -> Arc<FakeClient> {
        let client = Arc::new(FakeClient {
            hub: Arc::clone(&self),
            principal,
            outlet,
            came: Mutex::default(),
            given_up: Mutex::default(),
            closed: AtomicBool::new(false),
            leaves: AtomicBool::new(false),
            has_moved: AtomicBool::new(false),
            renewed: AtomicUsize::new(0),
        });
        self.clients.lock().push(Arc::clone(&client));
        self.changed();
        client
    }

    fn answers(&self) -> Result<(), StoreError> {
        if self.is_away.load(Ordering::Acquire) {
            let (source, retry) = ("away".into(), true);
            return Err(StoreError::Unavailable { source, retry });
        }
        Ok(())
    }

    /// The store takes its time.
    async fn look(&self) {
        self.looks.fetch_add(1, Ordering::AcqRel);
        tokio::time::sleep(Duration::from_millis(2)).await;
    }

    fn changed(&self) {
        self.changed.send_modify(|changes| *changes += 1);
    }
}

#[async_trait]
impl Hub for FakeHub {
    async fn recall(&self, _: &str, _: &Principal) -> Result<SessionPlace, RecallError> {
        self.look().await;
        if let Some(fault) = self.fault.lock().take() {
            return Err(fault.into());
        }
        if let Some(kept) = self.kept.lock().take() {
            return Ok(SessionPlace::Here(Box::new(kept)));
        }
        let peer = self.peer.lock().clone();
        let peer = peer.filter(|_| !self.leaves.load(Ordering::Acquire));
        Ok(peer.map_or(SessionPlace::Nowhere, SessionPlace::There))
    }

    fn replica(&self) -> Option<String> {
        Some(FAKE_REPLICA.to_owned())
    }

    async fn let_go(&self, _: KeptSession) {
        self.released.fetch_add(1, Ordering::AcqRel);
    }

    async fn peer(&self, name: &str) -> Result<Option<Peer>, StoreError> {
        self.look().await;
        let peer = self.peer.lock().clone();
        Ok(peer.filter(|peer| peer.name == name))
    }

    async fn stays(&self, name: &str) -> Result<bool, StoreError> {
        Ok(self.peer(name).await?.is_some() && !self.leaves.load(Ordering::Acquire))
    }

    async fn holder(&self, _: &str) -> Result<Option<(u64, Peer)>, StoreError> {
        let peer = self.peer.lock().clone();
        let peer = peer.filter(|_| self.kept.lock().is_some());
        Ok(peer.map(|peer| (0, peer)))
    }

    async fn is_ready(&self) -> Result<(), StoreError> {
        self.answers()
    }

    fn connect(
        self: Arc<Self>,
        principal: Principal,
        outlet: Arc<dyn MessageSink>,
    ) -> Arc<dyn HubClient> {
        self.add(principal, Some(outlet))
    }

    fn stateless(self: Arc<Self>, principal: Principal) -> Arc<dyn HubClient> {
        self.add(principal, None)
    }

    fn health(&self) -> Vec<ServerHealth> {
        Vec::new()
    }

    fn budget(&self) -> Arc<Budget> {
        let budget = self.budget.get_or_init(Budget::unlimited);
        Arc::clone(budget)
    }
}

impl FakeClient {
    pub(super) fn came(&self) -> Vec<String> {
        self.came.lock().clone()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }
}

#[async_trait]
impl HubClient for FakeClient {
    async fn receive(self: Arc<Self>, message: Message, reply: Arc<dyn MessageSink>) {
        let text = String::from_utf8(message.to_bytes().to_vec()).unwrap();
        self.came.lock().push(text);
        self.hub.changed();
        let (Kind::Request, Some(id)) = (message.kind(), message.id()) else {
            return;
        };
        let params = message.params().unwrap_or(Bytes::from_static(b"{}"));
        let method = match &params[..] {
            br#"{"holds":true}"# => "hold",
            _ => message.method().unwrap_or_default(),
        };
        match method {
            "hold" | "late" | method::LISTEN => {
                if method == "late" {
                    tokio::time::sleep(WHILE).await;
                }
                self.hub.held.lock().push((id.clone(), reply));
                self.hub.changed();
                return;
            }
            "drop" => return,
            "notify" => {
                let progress = Message::notification("notifications/progress", None);
                let _ = reply.send(progress).await;
            }
            "ask" => {
                let ask = Message::request(&Id::number(1), "ping", None);
                if let Some(outlet) = &self.outlet {
                    let _ = outlet.send(ask).await;
                }
            }
            _ => {}
        }
        let is_late = &params[..] == br#"{"fails":"late"}"#;
        if is_late {
            let progress = Message::notification("notifications/progress", None);
            let _ = reply.send(progress).await;
            tokio::time::sleep(WHILE).await;
        }
        if is_late || &params[..] == br#"{"fails":true}"# {
            let error = RpcError::new(-32000, "it fails");
            let _ = reply.send(Message::failure(Some(id), &error)).await;
            return;
        }
        let _ = reply.send(Message::response(id, &params)).await;
    }

    async fn reserve(self: Arc<Self>) -> Result<(), Crowded> {
        if self.hub.is_crowded.load(Ordering::Acquire) {
            Err(Crowded { what: "processes" })
        } else {
            Ok(())
        }
    }

    fn revision(&self) -> Option<Revision> {
        Some(Revision::V2025_11_25)
    }

    async fn headers(&self, _: &str, params: &Bytes) -> Result<Vec<Header>, RpcError> {
        Ok(if params.windows(8).any(|part| part == b"\"region\"") {
            vec![Header::new("Mcp-Param-Region", "=?base64?SGVsbG8=?=")]
        } else {
            Vec::new()
        })
    }

    async fn give_up(&self, id: &Id, _: &Arc<dyn MessageSink>) {
        self.given_up.lock().push(id.clone());
        self.hub.changed();
    }

    async fn renew(&self) -> bool {
        self.renewed.fetch_add(1, Ordering::AcqRel);
        self.hub.changed();
        !self.hub.is_away.load(Ordering::Acquire)
    }

    fn has_moved(&self) -> bool {
        self.has_moved.load(Ordering::Acquire)
    }

    async fn end_kept(&self) -> Result<bool, StoreError> {
        self.hub.answers()?;
        Ok(!self.has_moved())
    }

    fn leave(&self) {
        self.leaves.store(true, Ordering::Release);
    }

    async fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.hub.changed();
    }
}
