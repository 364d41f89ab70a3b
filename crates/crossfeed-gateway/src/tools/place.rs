//! Where the results of calls live, and the ids that name them there: in the client's session, or in that of the
//! conversation that a call belongs to (`specs/gateway-tools.md#call-ids`).
//!
//! # What holds
//!
//! - A conversation is found by its principal and a digest of its id: no id reaches results of another principal.
//! - No id of a conversation stands for two calls, also when the conversation was forgotten in between.

use super::ids::{self, CallIds, ReservedIds};
use crate::{principal::Principal, records::Records};
use crossfeed_core::Session;
use crossfeed_json::Cursor;
use crossfeed_mcp::Client;
use crossfeed_store::{StoreError, with_causes};
use crossfeed_wire::Scope;
use lru::LruCache;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
#[cfg(feature = "sql")]
use std::hash::{BuildHasher as _, RandomState};
use std::{
    collections::HashMap,
    num::NonZeroUsize,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

/// Conversations of one principal, at most: as many as it may have sessions. Beyond, the one that was not used
/// for longest is forgotten.
const MAX_CONVERSATIONS: NonZeroUsize = NonZeroUsize::MIN.saturating_add(1023);
/// The most bytes of a conversation's id; a longer one is ignored.
const MAX_ID_BYTES: usize = 1024;
/// Members of `_meta` that are looked at: to look through more would keep others waiting.
const MAX_MEMBERS: usize = 1000;
/// Where the results of some calls live.
pub(super) struct Place {
    pub(super) session: Session,
    pub(super) ids: CallIds,
    /// Whether other clients, which cannot be told apart, have results here.
    pub(super) is_shared: bool,
    /// The conversation that it is.
    pub(super) conversation: Option<ConversationDigest>,
    /// What tells it from others of the same scope, of which an earlier one may have had the same ids.
    #[cfg(feature = "sql")]
    pub(super) number: u64,
    /// Whether it is a conversation that was forgotten: its ids go on elsewhere.
    is_forgotten: AtomicBool,
}

impl Place {
    /// That of a client, or of one of its conversations.
    pub(super) fn new(
        session: Session,
        ids: CallIds,
        is_shared: bool,
        conversation: Option<ConversationDigest>,
    ) -> Arc<Self> {
        Arc::new(Self {
            session,
            ids,
            is_shared,
            conversation,
            #[cfg(feature = "sql")]
            number: RandomState::new().hash_one(()),
            is_forgotten: AtomicBool::new(false),
        })
    }

    /// Whether calls may still get ids of it.
    pub(super) fn is_current(&self) -> bool {
        !self.is_forgotten.load(Ordering::Acquire)
    }

    /// Drops everything that was recorded here; whether that was done.
    async fn drop_results(&self) -> bool {
        let closed = self.session.close().await;
        if let Err(error) = &closed {
            tracing::warn!(target: "crossfeed::gateway::tools", error = with_causes(error), "cannot remove a session");
        }
        closed.is_ok()
    }

    /// Drops everything that was recorded here, and what is known of its ids.
    pub(super) async fn close(&self) {
        // Only then: what could not be removed must not get the ids of other calls.
        if self.drop_results().await {
            forgotten(self.ids.forget().await);
        }
    }
}

fn forgotten(ids: Result<(), StoreError>) {
    if let Err(error) = ids {
        tracing::warn!(target: "crossfeed::gateway::tools", error = with_causes(&error), "cannot remove the record of a session's ids");
    }
}

/// The digest of a conversation's id, and of the key under which it came.
pub(super) type ConversationDigest = [u8; 32];

/// The conversation that a call belongs to, by its `params`, if the client says so. A key counts whichever client
/// sends it: what it leads to is the principal's own.
pub(super) fn conversation(params: Cursor<'_>) -> Option<ConversationDigest> {
    let mut named = [None; Client::CONVERSATION_KEYS.len()];
    let members = params.get("_meta")?.written_members();
    let members = members.take(MAX_MEMBERS);
    for member in members.filter(|member| member.key.raw().len() <= MAX_ID_BYTES) {
        let key = member.key.text();
        let mut known = Client::CONVERSATION_KEYS.iter().zip(&mut named);
        if let Some((_, named)) = known.find(|(known, _)| **known == key) {
            *named = Some(member.value);
        }
    }
    let mut named = Client::CONVERSATION_KEYS.iter().zip(named);
    named.find_map(|(key, id)| {
        let id = id?;
        // Each sign may be written as an escape of six bytes.
        let id = (id.raw().len() <= 6 * MAX_ID_BYTES + 2).then(|| id.string_bytes())??;
        (1..=MAX_ID_BYTES).contains(&id.len()).then(|| {
            let mut digest = Sha256::new_with_prefix(key);
            digest.update([0]);
            digest.update(id);
            digest.finalize().into()
        })
    })
}

/// The conversations of all principals.
#[derive(Default)]
pub(super) struct Conversations {
    of: Mutex<HashMap<Principal, ConversationSet>>,
    /// Where they go on from after a restart: the records, and what tells this process's local client from others'.
    kept: Option<(Records, String)>,
}

/// The conversations of one principal.
struct ConversationSet {
    places: LruCache<ConversationDigest, Arc<Place>>,
    /// How many were forgotten.
    forgotten: u64,
    /// The last number of an id that a forgotten conversation gave.
    last: u64,
    /// The numbers that all of them share where they go on after a restart: one record, however many they are.
    numbers: Option<Arc<ReservedIds>>,
}

impl Conversations {
    /// Conversations that go on after a restart; `run` is that of the local client.
    pub(super) fn kept(records: Records, run: String) -> Self {
        Self {
            of: Mutex::default(),
            kept: Some((records, run)),
        }
    }

    /// The place of a conversation, and that of the one that was forgotten for it and must be closed. `session` is
    /// asked for the session of a scope. One that goes on after a restart goes on after it was forgotten, too.
    pub(super) fn place(
        &self,
        principal: &Principal,
        conversation: &ConversationDigest,
        session: impl FnOnce(Scope) -> Session,
    ) -> (Arc<Place>, Option<Arc<Place>>) {
        let mut all = self.of.lock();
        let own = all
            .entry(principal.clone())
            .or_insert_with(|| ConversationSet {
                places: LruCache::new(MAX_CONVERSATIONS),
                forgotten: 0,
                last: 0,
                numbers: self.kept.as_ref().map(|(records, run)| {
                    let scope = ids::conversations_scope(principal, run);
                    Arc::new(ReservedIds::new(records, &scope))
                }),
            });
        if let Some(known) = own.places.get(conversation) {
            return (Arc::clone(known), None);
        }
        let forgotten = (own.places.len() == MAX_CONVERSATIONS.get())
            .then(|| own.places.pop_lru())
            .flatten()
            .map(|(_, oldest)| oldest);
        if let Some(((_, run), numbers)) = self.kept.as_ref().zip(own.numbers.as_ref()) {
            let scope = ids::conversation_scope(principal, Some(run), conversation, 0);
            let ids = CallIds::reserved(Arc::clone(numbers), scope.clone());
            let place = Place::new(session(scope), ids, false, Some(*conversation));
            own.places.put(*conversation, Arc::clone(&place));
            return (place, None);
        }
        if let Some(oldest) = &forgotten {
            oldest.is_forgotten.store(true, Ordering::Release);
            own.forgotten += 1;
            own.last = own.last.max(oldest.ids.last());
        }
        let scope = ids::conversation_scope(principal, None, conversation, own.forgotten);
        let ids = CallIds::counted_from(own.last);
        let place = Place::new(session(scope), ids, false, Some(*conversation));
        own.places.put(*conversation, Arc::clone(&place));
        (place, forgotten)
    }

    /// Forgets all conversations of a principal.
    pub(super) async fn close(&self, principal: &Principal) {
        let Some(own) = self.of.lock().remove(principal) else {
            return;
        };
        let mut are_dropped = true;
        for (_, place) in own.places {
            place.is_forgotten.store(true, Ordering::Release);
            are_dropped &= place.drop_results().await;
        }
        if let Some(numbers) = own.numbers
            && are_dropped
        {
            forgotten(numbers.forget().await);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Conversations, MAX_CONVERSATIONS, Place};
    use crate::principal::Principal;
    use crossfeed_core::{Engine, EngineOptions, ToolResult};
    use std::sync::Arc;

    fn digested(number: usize) -> [u8; 32] {
        let mut digested = [0; 32];
        digested[..8].copy_from_slice(&number.to_le_bytes());
        digested
    }

    async fn next_id(place: &Place) -> String {
        let next = place.ids.next().await.unwrap().unwrap();
        next.as_str().to_owned()
    }

    #[tokio::test]
    async fn what_is_forgotten_is_dropped_and_its_ids_are_not_given_again() {
        let engine = Engine::in_memory(EngineOptions::default());
        let conversations = Conversations::default();
        let place = |number: usize| -> (Arc<Place>, Option<Arc<Place>>) {
            let session = |scope| engine.session(scope);
            conversations.place(&Principal::Local, &digested(number), session)
        };
        let (first, _) = place(0);
        for _ in 0..7 {
            let id = first.ids.next().await.unwrap().unwrap();
            first
                .session
                .record(&id, ToolResult::text("x"))
                .await
                .unwrap();
        }
        for number in 1..MAX_CONVERSATIONS.get() {
            let (other, forgotten) = place(number);
            assert!(forgotten.is_none() && other.session.scope() != first.session.scope());
            assert_eq!(next_id(&other).await, "call_1");
        }
        let (next, forgotten) = place(MAX_CONVERSATIONS.get());
        let forgotten = forgotten.unwrap();
        assert!(Arc::ptr_eq(&forgotten, &first) && !first.is_current());
        assert_eq!(next_id(&next).await, "call_8");
        assert_eq!(first.session.results().await.unwrap().len(), 7);
        forgotten.close().await;
        assert!(first.session.results().await.unwrap().is_empty());
        // It comes back as another one.
        let (again, _) = place(0);
        assert_eq!(next_id(&again).await, "call_8");
        assert_ne!(again.session.scope(), first.session.scope());
        conversations.close(&Principal::Local).await;
        assert!(!again.is_current() && !next.is_current());
    }
}
