//! The in-memory store.
//!
//! Readers share results. `session` and `artifacts` hold one session, `eviction` makes room, `held`
//! keeps the sums that it goes by, and `queue` the order in which it visits sessions.
//!
//! # Locks
//!
//! There are four kinds, always taken in this order: the queue's, then a session's, then a shard of
//! the map of sessions; last, and only for as long as sums change, an owner's or that of the list of changed
//! owners. A shard is never held while another lock is waited for, no thread holds two
//! sessions at once, and no lock is held while bytes are compared, while large values are freed or
//! across an `await`; so nothing can deadlock. Reading takes a session's lock only, unless it finds
//! a limit passed. What changes the set of results or sessions takes the queue's lock first, so that
//! two `put`s cannot both use the same free bytes.

mod artifacts;
mod eviction;
mod held;
mod queue;
mod session;

#[cfg(test)]
mod tests;

use crate::{
    ArtifactLookup, ArtifactMissing, CallLeases, Clock, Listed, ListedArtifact, Lookup,
    MemoryLimits, Missing, Recorded, ResultStore, StateStore, StoreError, StoreMetrics,
    StoredArtifact, StoredResult, SystemClock, Usage,
};
use async_trait::async_trait;
use crossfeed_wire::{ArtifactId, CallId, Scope};
use dashmap::DashMap;
use foldhash::quality::RandomState;
use held::OwnerName;
use parking_lot::Mutex;
use queue::Queue;
use session::{Session, SharedState, State};
use std::{fmt, future, sync::Arc, task::Poll};

/// After how many sessions a sweep lets other tasks run.
const SWEPT_AT_ONCE: usize = 256;

/// Keeps everything in memory, within [`MemoryLimits`].
///
/// Expired results are dropped as their session is visited, and those of idle sessions by other
/// sessions' `put`s, so that [`sweep`](ResultStore::sweep) is only needed where a store may lie
/// still with much in it, or where artifacts have a time to live.
///
/// Choosing what to evict costs a walk over older results of the session that are in use or go last, and,
/// where some go first, over the sessions of one tenant and project; everything else is logarithmic in the
/// number of sessions.
///
/// ```
/// use crossfeed_json::Document;
/// use crossfeed_store::{MemoryLimits, MemoryStore, Recorded, ResultKind, ResultStore, StoredResult};
/// use crossfeed_wire::{CallId, Scope};
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let store = MemoryStore::new(MemoryLimits::default());
/// let scope = Scope::parse("acme", "web", "s1")?;
/// let call = CallId::parse("call_1")?;
/// let result = StoredResult::new(Document::new(r#"{"items": []}"#), ResultKind::Json);
///
/// assert_eq!(store.put(&scope, &call, result).await?, Recorded::New);
/// let result = store.get(&scope, &call).await?.found().expect("just recorded");
/// assert_eq!(&result.document().raw()[..], br#"{"items": []}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct MemoryStore {
    shared: Arc<SharedState>,
    sessions: DashMap<Scope, Arc<Session>, RandomState>,
    queue: Mutex<Queue>,
}

impl MemoryStore {
    /// An empty store with the machine's clock.
    pub fn new(limits: MemoryLimits) -> Self {
        Self::with_clock(limits, Arc::new(SystemClock::new()))
    }

    /// An empty store with this clock.
    pub fn with_clock(limits: MemoryLimits, clock: Arc<dyn Clock>) -> Self {
        Self {
            shared: Arc::new(SharedState::new(limits, clock)),
            sessions: DashMap::default(),
            queue: Mutex::default(),
        }
    }

    /// How much the store holds. Walks over all sessions; while others work, the numbers are of slightly different
    /// moments.
    pub fn usage(&self) -> Usage {
        let mut usage = Usage::default();
        for session in self.all_sessions() {
            session.lock().add_to(&mut usage);
        }
        [usage.evicted, usage.expired] = self.shared.lost();
        usage
    }

    fn limits(&self) -> &MemoryLimits {
        &self.shared.limits
    }

    fn session(&self, scope: &Scope) -> Option<Arc<Session>> {
        self.sessions.get(scope).map(|session| session.clone())
    }

    /// The session, made if need be: only under the queue's lock, and only for what stays in it.
    fn session_or_new(&self, queue: &mut Queue, scope: &Scope) -> Arc<Session> {
        self.sessions
            .entry(scope.clone())
            .or_insert_with(|| {
                let owner = queue.owner(OwnerName::new(scope));
                Arc::new(Session::new(scope.clone(), owner, self.shared.clone()))
            })
            .clone()
    }

    /// Collected first, so that no shard is held while a session is waited for.
    fn all_sessions(&self) -> Vec<Arc<Session>> {
        self.sessions
            .iter()
            .map(|entry| entry.value().clone())
            .collect()
    }

    /// Does something in a session from which everything overdue is gone. What goes is dropped
    /// after the lock.
    fn with_state<T>(&self, session: &Session, work: impl FnOnce(&mut State) -> T) -> T {
        let mut visit = self.shared.visit();
        let mut state = session.lock();
        state.tidy(&mut visit);
        work(&mut state)
    }

    fn look_up(&self, session: &Arc<Session>, call: &CallId) -> Lookup {
        let (lookup, is_over) =
            self.with_state(session, |state| (state.look_up(call), state.is_over()));
        if is_over {
            self.enforce_limits(session);
        }
        lookup
    }

    /// As [`Self::with_state`], in the session of a scope; `None` where there is none.
    fn in_scope<T>(&self, scope: &Scope, work: impl FnOnce(&mut State) -> T) -> Option<T> {
        let session = self.session(scope)?;
        Some(self.with_state(&session, work))
    }

    fn look_up_artifact(&self, scope: &Scope, name: &(ArtifactId, CallId)) -> ArtifactLookup {
        self.in_scope(scope, |state| state.artifacts.look_up(name))
            .unwrap_or(ArtifactLookup::Missing(ArtifactMissing::Unknown))
    }

    fn put_now(
        &self,
        scope: &Scope,
        call: &CallId,
        result: StoredResult,
    ) -> Result<Recorded, StoreError> {
        let bytes = result.resident_bytes();
        let result = Arc::new(result);
        loop {
            if let Some(answer) = self.put_again(scope, call, &result) {
                return answer;
            }
            let mut visit = self.shared.visit();
            let mut queue = self.queue.lock();
            let is_there = self
                .session(scope)
                .is_some_and(|session| session.lock().peek(call).is_some());
            if is_there {
                // Another caller was faster; what it recorded is compared without the lock.
                continue;
            }
            self.make_room_for(&mut queue, scope, bytes, &mut visit)?;
            let session = self.session_or_new(&mut queue, scope);
            let mut state = session.lock();
            state.tidy(&mut visit);
            state.insert(call, result);
            queue.settle(&session, &mut state);
            return Ok(Recorded::New);
        }
    }

    /// The answer if the id is taken.
    fn put_again(
        &self,
        scope: &Scope,
        call: &CallId,
        result: &StoredResult,
    ) -> Option<Result<Recorded, StoreError>> {
        let session = self.session(scope)?;
        let held = self.with_state(&session, |state| state.peek(call).cloned())?;
        if !held.is_same_record(result) {
            let call_id = call.clone();
            return Some(Err(StoreError::Duplicate { call_id }));
        }
        match self.look_up(&session, call) {
            Lookup::Found(found) if Arc::ptr_eq(&found, &held) => Some(Ok(Recorded::Unchanged)),
            // The session was removed meanwhile.
            Lookup::Found(_) | Lookup::Missing(_) => None,
        }
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore")
            .field("limits", self.limits())
            .field("sessions", &self.sessions.len())
            .field("result_bytes", &self.shared.total())
            .finish_non_exhaustive()
    }
}

/// Every method but `sweep` is done when it is first polled; `sweep` pauses between sessions, where
/// nothing is half done.
#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl ResultStore for MemoryStore {
    async fn put(
        &self,
        scope: &Scope,
        call: &CallId,
        result: StoredResult,
    ) -> Result<Recorded, StoreError> {
        self.put_now(scope, call, result)
    }

    async fn get(&self, scope: &Scope, call: &CallId) -> Result<Lookup, StoreError> {
        Ok(match self.session(scope) {
            Some(session) => self.look_up(&session, call),
            None => Lookup::Missing(Missing::Unknown),
        })
    }

    async fn measure(&self, scope: &Scope, call: &CallId) -> Result<(), StoreError> {
        let Some(session) = self.session(scope) else {
            return Ok(());
        };
        let is_over = {
            let mut state = session.lock();
            state.measure(call);
            state.is_over()
        };
        if is_over {
            self.enforce_limits(&session);
        }
        Ok(())
    }

    async fn put_artifact(
        &self,
        scope: &Scope,
        artifact: StoredArtifact,
    ) -> Result<Recorded, StoreError> {
        let name = (artifact.artifact_id().clone(), artifact.call_id().clone());
        let artifact = Arc::new(artifact);
        loop {
            // As for results, bytes are compared without the queue's lock.
            match self.look_up_artifact(scope, &name) {
                ArtifactLookup::Found(held) if held.is_same_record(&artifact) => {
                    return Ok(Recorded::Unchanged);
                }
                ArtifactLookup::Found(_) => {
                    let (artifact_id, call_id) = name;
                    return Err(StoreError::DuplicateArtifact {
                        artifact_id,
                        call_id,
                    });
                }
                ArtifactLookup::Missing(_) => {}
            }
            let (bytes, limit) = (artifact.resident_bytes(), self.limits().artifact_bytes);
            if bytes > limit {
                return Err(StoreError::TooLarge { bytes, limit });
            }
            let mut visit = self.shared.visit();
            let mut queue = self.queue.lock();
            let session = self.session_or_new(&mut queue, scope);
            let mut state = session.lock();
            state.tidy(&mut visit);
            let recorded = match state.artifacts.look_up(&name) {
                // Another caller was faster; what it recorded is compared without the locks.
                ArtifactLookup::Found(_) => None,
                ArtifactLookup::Missing(_) => {
                    Some(state.insert_artifact(name.clone(), artifact.clone()))
                }
            };
            queue.settle(&session, &mut state);
            if let Some(recorded) = recorded {
                return recorded.map(|()| Recorded::New);
            }
        }
    }

    async fn get_artifact(
        &self,
        scope: &Scope,
        artifact: &ArtifactId,
        call: &CallId,
    ) -> Result<ArtifactLookup, StoreError> {
        Ok(self.look_up_artifact(scope, &(artifact.clone(), call.clone())))
    }

    async fn list_artifacts(&self, scope: &Scope) -> Result<Vec<ListedArtifact>, StoreError> {
        let listed = self.in_scope(scope, |state| state.artifacts.list());
        Ok(listed.unwrap_or_default())
    }

    async fn list(&self, scope: &Scope) -> Result<Vec<Listed>, StoreError> {
        let listed = self.in_scope(scope, |state| state.list());
        Ok(listed.unwrap_or_default())
    }

    async fn remove_session(&self, scope: &Scope) -> Result<(), StoreError> {
        let mut queue = self.queue.lock();
        let Some((_, session)) = self.sessions.remove(scope) else {
            return Ok(());
        };
        let mut state = session.lock();
        queue.remove(&mut state);
        let held = state.clear();
        drop(state);
        queue.forget(&session.owner);
        drop(queue);
        drop(held);
        Ok(())
    }

    fn held(&self) -> Option<Usage> {
        Some(self.usage())
    }

    /// Only what has left the store: it has no backend to wait for.
    fn metrics(&self) -> Option<StoreMetrics> {
        let [evicted, expired] = self.shared.lost();
        Some(StoreMetrics {
            evicted,
            expired,
            ..StoreMetrics::default()
        })
    }

    fn leases(&self) -> Option<&dyn CallLeases> {
        None
    }

    fn state(&self) -> Option<&dyn StateStore> {
        None
    }

    async fn sweep(&self) -> Result<(), StoreError> {
        for sessions in self.all_sessions().chunks(SWEPT_AT_ONCE) {
            for session in sessions {
                self.sweep_session(session);
            }
            pause().await;
        }
        self.sweep_all();
        Ok(())
    }
}

/// Lets other tasks run once.
async fn pause() {
    let mut paused = false;
    future::poll_fn(|context| {
        if paused {
            return Poll::Ready(());
        }
        paused = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
