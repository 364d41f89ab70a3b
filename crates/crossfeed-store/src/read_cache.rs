//! What was read from a backend lately, so that each value is fetched and indexed once, and which values callers hold.

use crate::{StoredArtifact, StoredResult};
use crossfeed_wire::Scope;
use foldhash::quality::RandomState;
use lru::LruCache;
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Weak},
};

/// A value that tells how much memory it takes.
pub trait Resident {
    /// Bytes held now, an index included.
    fn resident_bytes(&self) -> usize;
}

impl Resident for StoredResult {
    fn resident_bytes(&self) -> usize {
        Self::resident_bytes(self)
    }
}

impl Resident for StoredArtifact {
    fn resident_bytes(&self) -> usize {
        Self::resident_bytes(self)
    }
}

/// A local copy of immutable records of a backend: those read lately, up to a limit of bytes, and all that a caller
/// holds.
///
/// A record is known by its scope, its id, and a version that no other record of that id has. The cache never tells
/// whether a record exists: ask the backend first, and give the version that it names.
pub struct ReadCache<I, T> {
    state: Mutex<State<I, T>>,
    limit: usize,
}

struct State<I, T> {
    recent: LruCache<(Scope, I), Counted<T>, RandomState>,
    bytes: usize,
    /// Those that left `recent` while a caller held them, or were too large for it, too. Values that nobody holds any
    /// more are forgotten at the next visit to their session, or by a sweep.
    alive: HashMap<Scope, Alive<I, T>, RandomState>,
}

/// The values of one session that somebody may hold, with their versions.
type Alive<I, T> = HashMap<I, (u64, Weak<T>), RandomState>;

struct Counted<T> {
    version: u64,
    value: Arc<T>,
    /// Its bytes when they were last measured.
    bytes: usize,
}

impl<I: Clone + Eq + Hash, T: Resident> ReadCache<I, T> {
    /// A cache that keeps at most `limit` bytes of values that nobody holds.
    pub fn new(limit: usize) -> Self {
        Self {
            state: Mutex::new(State {
                recent: LruCache::unbounded_with_hasher(RandomState::default()),
                bytes: 0,
                alive: HashMap::default(),
            }),
            limit,
        }
    }

    /// The value of a record, if it is at hand; its bytes are counted anew.
    pub fn get(&self, scope: &Scope, id: &I, version: u64) -> Option<Arc<T>> {
        let mut state = self.state.lock();
        let key = (scope.clone(), id.clone());
        if let Some(entry) = state.recent.get_mut(&key)
            && entry.version == version
        {
            let bytes = entry.value.resident_bytes();
            let counted = std::mem::replace(&mut entry.bytes, bytes);
            let value = Arc::clone(&entry.value);
            state.bytes = state.bytes + bytes - counted;
            state.make_room(self.limit);
            return Some(value);
        }
        let (known, value) = state.alive.get(scope)?.get(id)?;
        if *known != version {
            return None;
        }
        let value = value.upgrade()?;
        state.insert(key, version, Arc::clone(&value), self.limit);
        Some(value)
    }

    /// The version of the record of this id that is at hand, to ask a backend whether it is still the one.
    pub fn version(&self, scope: &Scope, id: &I) -> Option<u64> {
        let state = self.state.lock();
        if let Some(entry) = state.recent.peek(&(scope.clone(), id.clone())) {
            return Some(entry.version);
        }
        let (version, value) = state.alive.get(scope)?.get(id)?;
        (value.strong_count() > 0).then_some(*version)
    }

    /// Keeps a value that was read or written. Returns what is at hand of the record already instead, if anything is,
    /// so that its readers share one index.
    pub fn put(&self, scope: &Scope, id: &I, version: u64, value: Arc<T>) -> Arc<T> {
        if let Some(known) = self.get(scope, id, version) {
            return known;
        }
        let mut state = self.state.lock();
        let key = (scope.clone(), id.clone());
        state.insert(key, version, Arc::clone(&value), self.limit);
        value
    }

    /// The records of a session whose values a caller holds, with their versions.
    pub fn held(&self, scope: &Scope) -> Vec<(I, u64)> {
        let mut state = self.state.lock();
        state.prune(scope);
        let State { recent, alive, .. } = &*state;
        let of_scope = alive.get(scope);
        let held = of_scope
            .into_iter()
            .flatten()
            .filter(|(id, (version, value))| {
                let own = recent.peek(&(scope.clone(), (*id).clone()));
                let own = own.filter(|entry| entry.version == *version);
                value.strong_count() > usize::from(own.is_some())
            });
        held.map(|(id, (version, _))| (id.clone(), *version))
            .collect()
    }

    /// Whether a caller holds the value of a record.
    pub fn is_held(&self, scope: &Scope, id: &I) -> bool {
        let state = self.state.lock();
        let known = state.alive.get(scope).and_then(|alive| alive.get(id));
        known.is_some_and(|(version, value)| {
            let own = state.recent.peek(&(scope.clone(), id.clone()));
            let own = own.filter(|entry| entry.version == *version);
            value.strong_count() > usize::from(own.is_some())
        })
    }

    /// Forgets a record.
    pub fn remove(&self, scope: &Scope, id: &I) {
        let mut state = self.state.lock();
        state.drop_recent(&(scope.clone(), id.clone()));
        if let Some(alive) = state.alive.get_mut(scope) {
            alive.remove(id);
        }
        state.prune(scope);
    }

    /// Forgets all of a session.
    pub fn remove_session(&self, scope: &Scope) {
        let mut state = self.state.lock();
        for id in state
            .alive
            .remove(scope)
            .into_iter()
            .flatten()
            .map(|(id, _)| id)
        {
            state.drop_recent(&(scope.clone(), id));
        }
    }

    /// Forgets values that nobody holds any more, and are not kept.
    pub fn sweep(&self) {
        self.state.lock().alive.retain(|_, alive| {
            alive.retain(|_, (_, value)| value.strong_count() > 0);
            !alive.is_empty()
        });
    }

    /// Bytes kept of values, held or not.
    pub fn bytes(&self) -> usize {
        self.state.lock().bytes
    }
}

impl<I: Clone + Eq + Hash, T: Resident> State<I, T> {
    fn insert(&mut self, key: (Scope, I), version: u64, value: Arc<T>, limit: usize) {
        self.drop_recent(&key);
        self.prune(&key.0);
        let alive = self.alive.entry(key.0.clone()).or_default();
        alive.insert(key.1.clone(), (version, Arc::downgrade(&value)));
        let bytes = value.resident_bytes();
        if bytes <= limit {
            self.bytes += bytes;
            let entry = Counted {
                version,
                value,
                bytes,
            };
            self.recent.put(key, entry);
            self.make_room(limit);
        }
    }

    fn drop_recent(&mut self, key: &(Scope, I)) {
        if let Some(entry) = self.recent.pop(key) {
            self.bytes -= entry.bytes;
        }
    }

    /// Forgets values of a session that nobody holds any more.
    fn prune(&mut self, scope: &Scope) {
        let Some(alive) = self.alive.get_mut(scope) else {
            return;
        };
        alive.retain(|_, (_, value)| value.strong_count() > 0);
        if alive.is_empty() {
            self.alive.remove(scope);
        }
    }

    fn make_room(&mut self, limit: usize) {
        while self.bytes > limit
            && let Some((key, entry)) = self.recent.pop_lru()
        {
            self.bytes -= entry.bytes;
            drop(entry);
            self.prune(&key.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ReadCache;
    use crate::{ResultKind, StoredResult};
    use crossfeed_json::Document;
    use crossfeed_wire::{CallId, Scope};
    use std::sync::Arc;

    type Cache = ReadCache<CallId, StoredResult>;

    fn scope(session: &str) -> Scope {
        Scope::parse("t", "p", session).unwrap()
    }

    fn call(id: &str) -> CallId {
        CallId::parse(id).unwrap()
    }

    fn text(bytes: usize) -> Arc<StoredResult> {
        let document = Document::new("x".repeat(bytes));
        Arc::new(StoredResult::new(document, ResultKind::Text))
    }

    #[test]
    fn gives_what_has_the_version_that_is_asked_for() {
        let (cache, a) = (Cache::new(1000), scope("a"));
        let put = cache.put(&a, &call("c"), 1, text(10));
        assert!(Arc::ptr_eq(&put, &cache.get(&a, &call("c"), 1).unwrap()));
        assert_eq!(cache.version(&a, &call("c")), Some(1));
        assert!(cache.get(&a, &call("c"), 2).is_none());
        assert!(cache.get(&scope("b"), &call("c"), 1).is_none());
        let newer = cache.put(&a, &call("c"), 2, text(20));
        assert!(Arc::ptr_eq(&newer, &cache.get(&a, &call("c"), 2).unwrap()));
        assert_eq!(cache.bytes(), 20);
        // What is at hand is shared.
        assert!(Arc::ptr_eq(&newer, &cache.put(&a, &call("c"), 2, text(20))));
    }

    #[test]
    fn forgets_the_oldest_beyond_its_limit_but_not_what_is_held() {
        let (cache, a) = (Cache::new(100), scope("a"));
        let held = cache.put(&a, &call("held"), 1, text(60));
        drop(cache.put(&a, &call("other"), 2, text(60)));
        assert_eq!(cache.bytes(), 60);
        assert_eq!(cache.held(&a), [(call("held"), 1)]);
        assert!(cache.is_held(&a, &call("held")) && !cache.is_held(&a, &call("other")));
        assert!(Arc::ptr_eq(
            &held,
            &cache.get(&a, &call("held"), 1).unwrap()
        ));
        drop(held);
        drop(cache.put(&a, &call("large"), 3, text(101)));
        assert_eq!(cache.version(&a, &call("large")), None);
        assert!(cache.get(&a, &call("large"), 3).is_none());
        assert_eq!(cache.held(&a), []);
    }

    #[test]
    fn counts_an_index_that_was_built_since() {
        let (cache, a) = (Cache::new(1000), scope("a"));
        let document = Document::new("[1,2,3]");
        let result = cache.put(
            &a,
            &call("c"),
            1,
            Arc::new(StoredResult::new(document, ResultKind::Json)),
        );
        result.document().root().unwrap();
        assert_eq!(cache.bytes(), 7);
        cache.get(&a, &call("c"), 1).unwrap();
        assert_eq!(cache.bytes(), result.resident_bytes());
    }

    #[test]
    fn a_sweep_leaves_nothing_of_what_nobody_holds() {
        let cache = Cache::new(100);
        let held = cache.put(&scope("held"), &call("c"), 0, text(101));
        for session in 0..10 {
            // Too large to be kept, or pushed out while it is held.
            for bytes in [101, 60] {
                let of = |name: &str| scope(&format!("{name}-{session}-{bytes}"));
                let value = cache.put(&of("first"), &call("c"), 1, text(bytes));
                drop(cache.put(&of("then"), &call("c"), 2, text(50)));
                drop(value);
            }
        }
        let sessions = || cache.state.lock().alive.len();
        assert!(sessions() >= 20, "{}", sessions());
        cache.sweep();
        assert_eq!(sessions(), 2, "one is kept, and one is held");
        assert_eq!(cache.held(&scope("held")), [(call("c"), 0)]);
        drop(held);
    }

    #[test]
    fn forgets_what_is_removed() {
        let (cache, a, b) = (Cache::new(1000), scope("a"), scope("b"));
        let _held = cache.put(&a, &call("c"), 1, text(10));
        cache.put(&a, &call("d"), 2, text(10));
        cache.put(&b, &call("c"), 3, text(10));
        cache.remove(&a, &call("d"));
        assert!(cache.get(&a, &call("d"), 2).is_none());
        cache.remove_session(&a);
        assert!(cache.get(&a, &call("c"), 1).is_none() && cache.held(&a).is_empty());
        assert!(cache.get(&b, &call("c"), 3).is_some());
        assert_eq!(cache.bytes(), 10);
    }
}
