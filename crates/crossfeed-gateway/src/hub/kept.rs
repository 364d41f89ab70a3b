//! Sessions over HTTP that outlive the process: a record of each says what another process needs to go on with it.
//!
//! # Invariants
//!
//! - What was acknowledged is in the record: it is written before the answer that says so.
//! - A session ends with its record, before anything of it is removed. Where that cannot be written, all of it stays.
//! - A process changes the record only as long as it is its own. Where another has taken the session up, this one drops
//!   it and removes nothing.
//! - Where replicas share the store, a session is served for the time of a lease after its record was seen to be this
//!   process's, and not longer without another look.
//! - A process that takes a session up counts from numbers of its own, so that no late answer or event of before is
//!   mistaken for one of now.

use super::{Client, Gateway, connection_set::ConnectionSet, initialize};
use crate::{
    Revision,
    message::RpcError,
    port::{HubClient as _, KeptSession, MessageSink, Peer, RecallError, SessionPlace},
    principal::Principal,
    protocol::{code, method},
    records::{
        Key,
        owned::{MAX_ATTEMPTS, Outcome, OwnedRecord, contended},
        session::{Revisions, ServerRecord, SessionRecord},
    },
    replica::{LEASE_TIME, Replica},
    tools::{tag, unguessable},
};
use bytes::Bytes;
use crossfeed_store::{StoreError, with_causes};
use serde_json::json;
use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::time::Instant;

/// Bytes of the subscriptions in a record.
const MAX_SUBSCRIPTION_BYTES: usize = 256 << 10;

/// How long processes may take to look at the sessions that they have, beside the time in which they do.
const END_MARGIN: Duration = Duration::from_secs(60);

/// Where a session is kept.
pub(super) struct KeptAs {
    generation: u64,
    /// Who writes: a later state is never replaced by an earlier one.
    turn: tokio::sync::Mutex<KeptState>,
    /// The last write failed.
    is_behind: AtomicBool,
    /// The record is another process's.
    pub(super) has_moved: AtomicBool,
    seen: parking_lot::Mutex<Seen>,
}

/// When the record was last known to be this process's.
struct Seen {
    /// The term of this replica then.
    term: u64,
    at: Instant,
}

struct KeptState {
    own: OwnedRecord,
    has_ended: bool,
    /// When it last could not be found out whether the record is this process's.
    failed_at: Option<Instant>,
}

/// Another request has found out that the store does not say whose a session is.
#[derive(Debug, thiserror::Error)]
#[error("cannot say whether the session is this replica's")]
struct NotSeen;

/// The store has lost records, and another replica may be about to write that of the session again.
#[derive(Debug, thiserror::Error)]
#[error("the store has lost its data a moment ago, and the session's record may be written again")]
struct Lacking;

/// A session is not kept.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotKept {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("another process has taken the session up, or ended it: send the request again")]
    Moved,
}

impl Gateway {
    /// How long a record is kept: it is written anew a few times in the time for which a session may be idle.
    fn session_time(&self) -> Duration {
        let idle = self.config.limits.session_idle;
        idle.saturating_add(idle / 4)
    }

    /// How long the end of a session that others had before stands in its record: until they have looked, if they use
    /// it.
    fn end_time(&self) -> Duration {
        (self.config.limits.session_idle / 4).saturating_add(END_MARGIN)
    }

    /// The record of a session, to be written or taken up.
    fn record_of(&self, session: &str) -> Option<OwnedRecord> {
        let records = self.tools.records()?.clone();
        let key = Key::new("session", &[session]);
        Some(OwnedRecord::new(records, key, unguessable()))
    }

    pub(super) async fn recall_session(
        &self,
        session: &str,
        principal: &Principal,
    ) -> Result<SessionPlace, RecallError> {
        let Some(mut own) = self.record_of(session) else {
            return Ok(SessionPlace::Nowhere);
        };
        if let Some(replica) = &self.replica {
            replica.renew_if_over().await?;
        }
        let mut rooms = None;
        for _ in 0..MAX_ATTEMPTS {
            // Before the record is read: what is written after a lapse is newer.
            let term = self.term();
            let Some(mut record) = own.find::<SessionRecord>().await? else {
                if let Some(replica) = &self.replica
                    && replica.may_lack_records().await?
                {
                    let (source, retry) = (Box::new(Lacking), true);
                    return Err(StoreError::Unavailable { source, retry }.into());
                }
                return Ok(SessionPlace::Nowhere);
            };
            if record.principal != tag(principal) {
                return Ok(SessionPlace::Nowhere);
            }
            let Some(revisions) = record.revisions() else {
                tracing::warn!(
                    target: "crossfeed::gateway",
                    revision = record.agreed,
                    "a session of before speaks a revision that this version does not know"
                );
                return Ok(SessionPlace::Nowhere);
            };
            if let Some(peer) = self.peer_of(&record).await? {
                return Ok(SessionPlace::There(peer));
            }
            // Before it is taken from another process.
            let reserved = match rooms.take() {
                Some(rooms) => rooms,
                None => self.rooms(principal).await?,
            };
            record.replica = self.replica_name();
            if own.take_up(&record, self.session_time()).await? {
                return Ok(SessionPlace::Here(Box::new(KeptSession {
                    own,
                    revisions,
                    record,
                    rooms: reserved,
                    term,
                })));
            }
            // It ended or changed meanwhile.
            rooms = Some(reserved);
        }
        Err(contended().into())
    }

    pub(super) fn replica_name(&self) -> Option<String> {
        Some(self.replica.as_ref()?.name().to_owned())
    }

    /// The term of this replica; 0 while it is not alive, or is none.
    fn term(&self) -> u64 {
        self.replica
            .as_ref()
            .and_then(Replica::term)
            .unwrap_or_default()
    }

    /// The other replica that has a session, if it is alive.
    async fn peer_of(&self, record: &SessionRecord) -> Result<Option<Peer>, StoreError> {
        let (Some(replica), Some(name)) = (&self.replica, &record.replica) else {
            return Ok(None);
        };
        if name == replica.name() {
            return Ok(None);
        }
        let address = replica.address_of(name).await?;
        Ok(address.map(|address| Peer {
            name: name.clone(),
            address,
        }))
    }

    /// Lets any replica take the session up, which has no place here.
    pub(super) async fn let_go_of(&self, kept: KeptSession) {
        let KeptSession {
            mut own,
            mut record,
            ..
        } = kept;
        record.replica = None;
        if let Err(error) = own.write(&record, self.session_time()).await {
            tracing::warn!(target: "crossfeed::gateway", error = with_causes(&error), "cannot let go of a session that has no place here: others send its requests here");
        }
    }

    /// The client of a session that goes on. Its servers are connected again.
    pub(super) fn resumed(
        self: &Arc<Self>,
        kept: KeptSession,
        principal: Principal,
        outlet: Arc<dyn MessageSink>,
    ) -> Arc<Client> {
        let first = kept.first_number();
        let KeptSession {
            own,
            revisions: Revisions { asked, agreed },
            record,
            rooms,
            term,
        } = kept;
        let client = Client::with_key(self, principal, outlet, false, record.key.clone());
        client.keep_in(own, term);
        client.state.lock().rooms = rooms;
        let handshake = Bytes::from(record.handshake.clone());
        let name = initialize::client_of(&handshake);
        let side = ConnectionSet::new(
            &client,
            asked,
            (method::INITIALIZE, &handshake),
            name,
            Some(&record),
        );
        {
            let mut state = client.state.lock();
            state.revision = Some(agreed);
            state.session = Some(Arc::clone(&side));
            state.asks = first;
            state.used = Some(Instant::now());
        }
        self.metrics.took_up();
        tracing::info!(target: "crossfeed::gateway", "took up a session of before");
        let resumed = Arc::clone(&client);
        // Servers that were there before the session was.
        tokio::spawn(async move {
            for link in &side.links {
                resumed.back(link).await;
            }
        });
        client
    }
}

impl Client {
    /// Keeps the session under a name that is its own for good.
    pub(super) fn keep_under(&self, session: &str) {
        if let Some(own) = self.gateway.record_of(session) {
            self.keep_in(own, 0);
        }
    }

    fn keep_in(&self, own: OwnedRecord, term: u64) {
        let kept_as = KeptAs {
            generation: own.generation(),
            turn: tokio::sync::Mutex::new(KeptState {
                own,
                has_ended: false,
                failed_at: None,
            }),
            is_behind: AtomicBool::new(false),
            has_moved: AtomicBool::new(false),
            seen: parking_lot::Mutex::new(Seen {
                term,
                at: Instant::now(),
            }),
        };
        // It has one name.
        let _ = self.kept_as.set(kept_as);
    }

    /// Writes what is kept of the session, if it is one that lasts and has begun.
    pub(super) async fn save(&self) -> Result<(), NotKept> {
        match self.begun_session() {
            Some((side, agreed)) => self.save_as(&side, agreed).await,
            None => Ok(()),
        }
    }

    /// The same of a session that is about to begin.
    pub(super) async fn save_as(
        &self,
        side: &ConnectionSet,
        agreed: Revision,
    ) -> Result<(), NotKept> {
        let Some(kept_as) = self.kept_as.get() else {
            return Ok(());
        };
        let mut kept = kept_as.turn.lock().await;
        self.write_in(kept_as, &mut kept, side, agreed).await
    }

    async fn write_in(
        &self,
        kept_as: &KeptAs,
        kept: &mut KeptState,
        side: &ConnectionSet,
        agreed: Revision,
    ) -> Result<(), NotKept> {
        if kept.has_ended {
            return Ok(());
        }
        let record = self.record(side, agreed);
        let time = self.gateway.session_time();
        let (term, at) = (self.gateway.term(), Instant::now());
        let written = kept.own.write(&record, time).await;
        kept_as.is_behind.store(written.is_err(), Ordering::Release);
        match written? {
            Outcome::Written => {
                *kept_as.seen.lock() = Seen { term, at };
                Ok(())
            }
            Outcome::Anothers(_) => {
                kept_as.moves();
                Err(NotKept::Moved)
            }
        }
    }

    /// The session, once it has begun.
    fn begun_session(&self) -> Option<(Arc<ConnectionSet>, Revision)> {
        let state = self.state.lock();
        state.session.clone().zip(state.revision)
    }

    fn record(&self, side: &ConnectionSet, agreed: Revision) -> SessionRecord {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut room = MAX_SUBSCRIPTION_BYTES;
        let mut servers = BTreeMap::new();
        for link in &side.links {
            let state = link.state.lock();
            let mut record = ServerRecord {
                level: state.level.as_deref().map(text),
                subscriptions: Vec::new(),
            };
            for uri in state.subscriptions.keys() {
                let Some(left) = room.checked_sub(uri.len()) else {
                    tracing::warn!(
                        target: "crossfeed::gateway",
                        server = %link.name,
                        "too many subscriptions to keep them all through a restart"
                    );
                    break;
                };
                room = left;
                record.subscriptions.push(uri.clone());
            }
            if record != ServerRecord::default() {
                servers.insert(link.name.to_string(), record);
            }
        }
        let first = side.links.first();
        let handshake = first.map(|link| text(&link.handshake.params));
        let initialized = first.and_then(|link| {
            let message = link.handshake.initialized.lock().clone()?;
            Some(text(&message.to_bytes()))
        });
        SessionRecord {
            principal: tag(&self.principal),
            key: self.key.clone(),
            asked: side.revision.as_str().to_owned(),
            agreed: agreed.as_str().to_owned(),
            handshake: handshake.unwrap_or_default(),
            initialized,
            announced: side.all_announced().map(str::to_owned).collect(),
            listed: self.listed_by_itself(side),
            servers,
            replica: self
                .gateway
                .replica_name()
                .filter(|_| !self.leaves.load(Ordering::Acquire)),
        }
    }

    /// The lists that the client asked for, where what a name means depends on them.
    fn listed_by_itself(&self, side: &ConnectionSet) -> Vec<String> {
        let mut lists = Vec::new();
        if self.gateway.tools.naming().goes_by_lists() {
            let all = [method::LIST_TOOLS, method::LIST_PROMPTS];
            let asked_for = all.into_iter().filter(|list| side.is_asked_for(list));
            lists.extend(asked_for.map(str::to_owned));
        }
        lists
    }

    /// Lets any replica take up the session that leaves this one. Where the process ends, its own record says so.
    pub(super) async fn let_go(&self) {
        if self.gateway.term() != 0 {
            self.renew().await;
        }
    }

    /// Whether the record is to be written: that failed, or others may have counted this replica as dead since.
    pub(super) fn is_behind(&self, kept_as: &KeptAs) -> bool {
        let term = self.gateway.replica.as_ref().and_then(Replica::term);
        kept_as.is_behind.load(Ordering::Acquire)
            || term.is_some_and(|term| term != kept_as.seen.lock().term)
    }

    /// Whether the session is this process's still. Where other replicas may have counted this one as dead, the record is
    /// written anew: of two that write, one finds out.
    pub(super) async fn is_own_still(&self) -> Result<bool, StoreError> {
        let (Some(kept_as), Some(replica)) = (self.kept_as.get(), &self.gateway.replica) else {
            return Ok(!self.has_moved());
        };
        if self.has_moved() || kept_as.is_seen_in(replica.term()) {
            return Ok(!self.has_moved());
        }
        let asked = Instant::now();
        replica.renew_if_over().await?;
        let mut kept = kept_as.turn.lock().await;
        if kept.failed_at.is_some_and(|at| at > asked) {
            let (source, retry) = (Box::new(NotSeen), true);
            return Err(StoreError::Unavailable { source, retry });
        }
        let looked = self.look_in(kept_as, &mut kept, replica).await;
        if looked.is_err() {
            kept.failed_at = Some(Instant::now());
        }
        looked
    }

    /// Looks whether the session is this process's still, once for all who ask at the same time: also one that knows of no
    /// replicas may have taken it up.
    async fn look_in(
        &self,
        kept_as: &KeptAs,
        kept: &mut KeptState,
        replica: &Replica,
    ) -> Result<bool, StoreError> {
        // Until it was its turn, that may have come to be over.
        replica.renew_if_over().await?;
        let term = replica.term();
        if self.has_moved() || kept_as.is_seen_in(term) {
            return Ok(!self.has_moved());
        }
        let (at, seen) = (Instant::now(), kept_as.seen.lock().term);
        if term == Some(seen) && kept.own.is_own().await? {
            kept_as.seen.lock().at = at;
            return Ok(!self.has_moved());
        }
        let Some((side, agreed)) = self.begun_session() else {
            return Ok(true);
        };
        match self.write_in(kept_as, kept, &side, agreed).await {
            Ok(()) => Ok(true),
            Err(NotKept::Moved) => Ok(false),
            Err(NotKept::Store(error)) => Err(error),
        }
    }

    /// Ends the record of the session: no process goes on with it. Whether it was this process's.
    pub(super) async fn end_record(&self) -> Result<bool, StoreError> {
        let Some(kept_as) = self.kept_as.get() else {
            return Ok(true);
        };
        // What is being written is there before.
        let mut kept = kept_as.turn.lock().await;
        if !kept.has_ended && !kept_as.has_moved.load(Ordering::Acquire) {
            match kept.own.end(self.gateway.end_time()).await? {
                Outcome::Written => kept.has_ended = true,
                Outcome::Anothers(_) => kept_as.moves(),
            }
        }
        Ok(kept.has_ended)
    }
}

impl KeptAs {
    /// Whether the record was seen in this term, a moment ago.
    fn is_seen_in(&self, term: Option<u64>) -> bool {
        let seen = self.seen.lock();
        term == Some(seen.term) && seen.at.elapsed() < LEASE_TIME
    }

    fn moves(&self) {
        if !self.has_moved.swap(true, Ordering::AcqRel) {
            tracing::info!(
                target: "crossfeed::gateway",
                generation = self.generation,
                "another process has taken a session up, or ended it"
            );
        }
    }
}

/// What was asked for cannot be kept.
pub(super) fn not_kept(error: &NotKept) -> RpcError {
    match error {
        NotKept::Moved => RpcError::new(code::INTERNAL, error.to_string()),
        NotKept::Store(error) => {
            tracing::warn!(target: "crossfeed::gateway", error = with_causes(error), "cannot keep a session");
            RpcError::new(
                code::INTERNAL,
                format!("the session cannot be kept: {error}"),
            )
            .with_data(json!({"code": error.code().as_str()}))
        }
    }
}
