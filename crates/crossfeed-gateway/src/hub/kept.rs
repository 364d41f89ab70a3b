//! Sessions over HTTP that outlive the process: a record of each says what another process needs to go on with it.
//!
//! # Invariants
//!
//! - What was acknowledged is in the record: it is written before the answer that says so.
//! - A session that has ended has no record, and is never written again.
//! - A process that takes a session up counts from numbers of its own, so that no late answer or event of before is
//!   mistaken for one of now.

use super::{Client, Gateway, connection_set::ConnectionSet, initialize};
use crate::{
    Revision,
    message::RpcError,
    port::{KeptSession, MessageSink},
    principal::Principal,
    protocol::{code, method},
    records::{
        Key,
        session::{Revisions, ServerRecord, SessionRecord, first_number},
    },
    tools::tag,
};
use bytes::Bytes;
use crossfeed_store::{Expected, StoreError};
use serde_json::json;
use std::{collections::BTreeMap, sync::Arc, time::Duration};
use tokio::time::Instant;

/// Bytes of the subscriptions in a record.
const MAX_SUBSCRIPTION_BYTES: usize = 256 << 10;

/// Where a session is kept.
pub(super) struct KeptAs {
    key: Key,
    generation: u64,
    /// Who writes: a later state is never replaced by an earlier one. It says whether the session has ended.
    turn: tokio::sync::Mutex<bool>,
}

fn key_of(session: &str) -> Key {
    Key::new("session", &[session])
}

impl Gateway {
    /// How long a record is kept: it is written anew a few times in the time for which a session may be idle.
    fn session_time(&self) -> Duration {
        let idle = self.config.limits.session_idle;
        idle.saturating_add(idle / 4)
    }

    pub(super) async fn recall_session(
        &self,
        session: &str,
        principal: &Principal,
    ) -> Result<Option<KeptSession>, StoreError> {
        let Some(records) = self.tools.records() else {
            return Ok(None);
        };
        let key = key_of(session);
        loop {
            let Some(found) = records.read::<SessionRecord>(&key).await? else {
                return Ok(None);
            };
            let mut record = found.value;
            if record.principal != tag(principal) {
                return Ok(None);
            }
            let Some(revisions) = record.revisions() else {
                tracing::warn!(
                    target: "crossfeed::gateway",
                    revision = record.agreed,
                    "a session of before speaks a revision that this version does not know"
                );
                return Ok(None);
            };
            record.generation = record.generation.saturating_add(1);
            let expected = Expected::Version(found.version);
            let written = records.write(&key, &record, expected, self.session_time());
            // Else it ended or changed meanwhile.
            if written.await?.is_some() {
                return Ok(Some(KeptSession {
                    session: session.to_owned(),
                    generation: record.generation,
                    revisions,
                    record,
                }));
            }
        }
    }

    /// The client of a session that goes on. Its servers are connected again.
    pub(super) fn resumed(
        self: &Arc<Self>,
        kept: KeptSession,
        principal: Principal,
        outlet: Arc<dyn MessageSink>,
    ) -> Arc<Client> {
        let KeptSession {
            session,
            generation,
            revisions: Revisions { asked, agreed },
            record,
        } = kept;
        let client = Client::with_key(self, principal, outlet, false, record.key.clone());
        client.keep_under(&session, generation);
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
            state.asks = first_number(generation);
            state.used = Some(Instant::now());
        }
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
    pub(super) fn keep_under(&self, session: &str, generation: u64) {
        if self.gateway.tools.records().is_some() {
            let kept_as = KeptAs {
                key: key_of(session),
                generation,
                turn: tokio::sync::Mutex::default(),
            };
            // It has one name.
            let _ = self.kept_as.set(kept_as);
        }
    }

    /// Writes what is kept of the session, if it is one that lasts and has begun.
    pub(super) async fn save(&self) -> Result<(), StoreError> {
        let begun = {
            let state = self.state.lock();
            state.session.clone().zip(state.revision)
        };
        match begun {
            Some((side, agreed)) => self.save_as(&side, agreed).await,
            None => Ok(()),
        }
    }

    /// The same of a session that is about to begin.
    pub(super) async fn save_as(
        &self,
        side: &ConnectionSet,
        agreed: Revision,
    ) -> Result<(), StoreError> {
        let (Some(kept_as), Some(records)) = (self.kept_as.get(), self.gateway.tools.records())
        else {
            return Ok(());
        };
        let has_ended = kept_as.turn.lock().await;
        if *has_ended {
            return Ok(());
        }
        let record = self.record(kept_as, side, agreed);
        let time = self.gateway.session_time();
        let written = records.write(&kept_as.key, &record, Expected::Any, time);
        written.await.map(|_| ())
    }

    fn record(&self, kept_as: &KeptAs, side: &ConnectionSet, agreed: Revision) -> SessionRecord {
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
            generation: kept_as.generation,
            asked: side.revision.as_str().to_owned(),
            agreed: agreed.as_str().to_owned(),
            handshake: handshake.unwrap_or_default(),
            initialized,
            announced: side.all_announced().map(str::to_owned).collect(),
            servers,
        }
    }

    /// Removes the record of a session that has ended.
    pub(super) async fn forget_session(&self) {
        let (Some(kept_as), Some(records)) = (self.kept_as.get(), self.gateway.tools.records())
        else {
            return;
        };
        // What is being written is there before it is removed.
        *kept_as.turn.lock().await = true;
        if let Err(error) = records.remove(&kept_as.key).await {
            tracing::warn!(target: "crossfeed::gateway", %error, "cannot remove the record of a session");
        }
    }
}

/// What was asked for cannot be kept.
pub(super) fn not_kept(error: &StoreError) -> RpcError {
    tracing::warn!(target: "crossfeed::gateway", %error, "cannot keep a session");
    RpcError::new(
        code::INTERNAL,
        format!("the session cannot be kept: {error}"),
    )
    .with_data(json!({"code": error.code().as_str()}))
}
