//! One session's results, tombstones and artifacts, behind one lock.
//!
//! Answers the store's requests, and returns the values that left, so that they are freed without a lock.
//!
//! # Invariants
//!
//! - `held` is the sum of the results' `counted`, the owner's that of its sessions, and the store's `total`
//!   that of all.
//! - Ticks of results grow from the least to the most recently used, as do their last uses.
//! - A result is taken away only while its reference count is one: only the store has it, and a new
//!   reference is handed out only under this lock.

use super::{
    artifacts::{Artifacts, Name},
    held::{HeldBytes, Order, Owner},
    queue::QueuePosition,
};
use crate::{
    Clock, Listed, Lookup, MemoryLimits, Missing, StoreError, StoredArtifact, StoredResult,
    Tombstone, Usage,
};
use crossfeed_wire::{CallId, Scope};
use foldhash::quality::RandomState;
use lru::LruCache;
use parking_lot::{Mutex, MutexGuard};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

/// A visit to sessions: its time, and the values that left during it. They are freed when this is dropped, so
/// declare it before taking a lock.
pub(super) struct Visit {
    pub(super) now: Duration,
    results: Vec<Arc<StoredResult>>,
    pub(super) artifacts: Vec<Arc<StoredArtifact>>,
}

/// The state that all sessions of a store share.
pub(super) struct SharedState {
    pub(super) limits: MemoryLimits,
    pub(super) clock: Arc<dyn Clock>,
    /// Bytes of results in all sessions, as they were last measured.
    total: AtomicUsize,
    /// Owners whose bytes changed since the queue last read them.
    changed: Mutex<Vec<Arc<Owner>>>,
    ticks: AtomicU64,
    /// Evicted results.
    evicted: AtomicU64,
    /// Expired results.
    expired: AtomicU64,
}

impl SharedState {
    pub(super) fn new(limits: MemoryLimits, clock: Arc<dyn Clock>) -> Self {
        Self {
            limits,
            clock,
            total: AtomicUsize::new(0),
            changed: Mutex::default(),
            ticks: AtomicU64::new(0),
            evicted: AtomicU64::new(0),
            expired: AtomicU64::new(0),
        }
    }

    /// How many results were evicted, and how many expired.
    pub(super) fn lost(&self) -> [u64; 2] {
        [&self.evicted, &self.expired].map(|count| count.load(Ordering::Relaxed))
    }

    /// A visit that begins now.
    pub(super) fn visit(&self) -> Visit {
        Visit {
            now: self.clock.now(),
            results: Vec::new(),
            artifacts: Vec::new(),
        }
    }

    fn count_loss(&self, missing: &Missing) {
        let count = match missing {
            Missing::Unknown | Missing::InFlight(_) => return,
            Missing::Expired(_) => &self.expired,
            Missing::Evicted(_) => &self.evicted,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// A number larger than all before.
    pub(super) fn tick(&self) -> u64 {
        self.ticks.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn total(&self) -> usize {
        self.total.load(Ordering::SeqCst)
    }

    fn note_change(&self, owner: &Arc<Owner>) {
        if owner.set_changed() {
            self.changed.lock().push(Arc::clone(owner));
        }
    }

    /// Owners whose bytes changed since the last call.
    pub(super) fn take_changed(&self) -> Vec<Arc<Owner>> {
        std::mem::take(&mut *self.changed.lock())
    }
}

/// Values by call, the most recently used first.
type Lru<V> = LruCache<CallId, V, RandomState>;

fn lru<V>() -> Lru<V> {
    LruCache::unbounded_with_hasher(RandomState::default())
}

pub(super) struct Session {
    pub(super) scope: Scope,
    pub(super) owner: Arc<Owner>,
    state: Mutex<State>,
}

impl Session {
    pub(super) fn new(scope: Scope, owner: Arc<Owner>, shared: Arc<SharedState>) -> Self {
        Self {
            scope,
            owner: Arc::clone(&owner),
            state: Mutex::new(State {
                shared,
                owner,
                results: lru(),
                held: HeldBytes::default(),
                oldest_birth: Duration::ZERO,
                tombstones: lru(),
                tombstone_bytes: 0,
                last_loss: Duration::ZERO,
                artifacts: Artifacts::default(),
                now: Duration::ZERO,
                place: QueuePosition::Nowhere,
            }),
        }
    }

    /// No code that runs under the lock panics half-way through a change, so a poisoned state is
    /// whole.
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

struct Entry {
    result: Arc<StoredResult>,
    /// Its bytes when they were last measured.
    counted: usize,
    born: Duration,
    last_used: Duration,
    tick: u64,
}

impl Entry {
    fn is_pinned(&self) -> bool {
        Arc::strong_count(&self.result) > 1
    }

    /// Brings the counters up to what the result holds now.
    fn measure(&mut self, session: &mut HeldBytes, owner: &Arc<Owner>, shared: &SharedState) {
        let bytes = self.result.resident_bytes();
        self.count(bytes, session, owner, shared);
    }

    fn count(
        &mut self,
        bytes: usize,
        session: &mut HeldBytes,
        owner: &Arc<Owner>,
        shared: &SharedState,
    ) {
        if bytes == self.counted {
            return;
        }
        session.change(&self.result, self.counted, bytes);
        owner.held().change(&self.result, self.counted, bytes);
        shared.note_change(owner);
        // Add before taking away: the sum never passes below zero in between.
        shared.total.fetch_add(bytes, Ordering::SeqCst);
        shared.total.fetch_sub(self.counted, Ordering::SeqCst);
        self.counted = bytes;
    }
}

pub(super) struct State {
    shared: Arc<SharedState>,
    owner: Arc<Owner>,
    results: Lru<Entry>,
    held: HeldBytes,
    /// No result is older than this: lets most visits skip the search for those too old.
    oldest_birth: Duration,
    /// Ordered by when they were made.
    tombstones: Lru<Missing>,
    tombstone_bytes: usize,
    /// When the newest tombstone was made.
    pub(super) last_loss: Duration,
    pub(super) artifacts: Artifacts,
    /// The latest time seen here. Callers read the clock before they wait for the lock, so they may
    /// arrive out of order.
    now: Duration,
    /// Where the store's queue has this session; the queue's alone to change.
    pub(super) place: QueuePosition,
}

impl State {
    /// Drops what has expired. Every visit begins with this, so that nothing expired is ever seen.
    pub(super) fn tidy(&mut self, visit: &mut Visit) {
        self.now = self.now.max(visit.now);
        let (now, limits) = (self.now, &self.shared.limits);
        if self.artifacts.tidy(now, limits, visit) {
            self.last_loss = now;
        }
        let mut gone = Vec::new();
        for (call, entry) in self.results.iter().rev() {
            if now.saturating_sub(entry.last_used) < limits.time_to_live {
                break;
            }
            if !entry.is_pinned() {
                gone.push(call.clone());
            }
        }
        if !self.results.is_empty() && now.saturating_sub(self.oldest_birth) >= limits.max_age {
            let mut oldest = now;
            for (call, entry) in self.results.iter().rev() {
                if now.saturating_sub(entry.born) >= limits.max_age && !entry.is_pinned() {
                    gone.push(call.clone());
                } else {
                    oldest = oldest.min(entry.born);
                }
            }
            self.oldest_birth = oldest;
        }
        for call in gone {
            self.lose(&call, Missing::Expired, visit);
        }
    }

    /// Takes a result away and leaves a tombstone; nothing if it has gone already.
    fn lose(&mut self, call: &CallId, reason: fn(Tombstone) -> Missing, visit: &mut Visit) -> bool {
        let Some(mut entry) = self.results.pop(call) else {
            return false;
        };
        entry.count(0, &mut self.held, &self.owner, &self.shared);
        self.last_loss = self.now;
        let missing = reason(Tombstone::from_result(&entry.result));
        self.shared.count_loss(&missing);
        self.bury(call.clone(), missing);
        visit.results.push(entry.result);
        true
    }

    fn bury(&mut self, call: CallId, missing: Missing) {
        self.tombstone_bytes += arguments_len(&missing);
        self.tombstones.put(call, missing);
        let limits = &self.shared.limits;
        while self.tombstones.len() > limits.session_tombstones
            || self.tombstone_bytes > limits.tombstone_bytes
        {
            let Some((_, oldest)) = self.tombstones.pop_lru() else {
                break;
            };
            self.tombstone_bytes -= arguments_len(&oldest);
        }
    }

    /// The result of a call, which counts as used, or why it is missing.
    pub(super) fn look_up(&mut self, call: &CallId) -> Lookup {
        if let Some(entry) = self.results.get_mut(call) {
            entry.tick = self.shared.tick();
            entry.last_used = self.now;
            entry.measure(&mut self.held, &self.owner, &self.shared);
            return Lookup::Found(entry.result.clone());
        }
        Lookup::Missing(
            self.tombstones
                .peek(call)
                .cloned()
                .unwrap_or(Missing::Unknown),
        )
    }

    /// A result, which is not thereby used.
    pub(super) fn peek(&self, call: &CallId) -> Option<&Arc<StoredResult>> {
        self.results.peek(call).map(|entry| &entry.result)
    }

    pub(super) fn measure(&mut self, call: &CallId) {
        if let Some(entry) = self.results.peek_mut(call) {
            entry.measure(&mut self.held, &self.owner, &self.shared);
        }
    }

    pub(super) fn measure_all(&mut self) {
        for (_, entry) in &mut self.results {
            entry.measure(&mut self.held, &self.owner, &self.shared);
        }
        self.artifacts.measure_all();
    }

    /// Whether the session's or the store's bytes are beyond their limit.
    pub(super) fn is_over(&self) -> bool {
        let limits = &self.shared.limits;
        self.held.bytes > limits.session_bytes || self.shared.total() > limits.total_bytes
    }

    /// Whether a further result can be made to fit the session's limits. Nothing is taken away yet.
    pub(super) fn check_room(&mut self, incoming: usize) -> Result<(), StoreError> {
        let limits = &self.shared.limits;
        let (mut bytes, mut results) = (0, 0);
        let mut entries = self.results.iter_mut().rev();
        let len = entries.len();
        loop {
            let fits_bytes = self.held.bytes - bytes + incoming <= limits.session_bytes;
            let fits_results = len - results < limits.session_results;
            if fits_bytes && fits_results {
                return Ok(());
            }
            let Some((_, entry)) = entries.next() else {
                return Err(limits.session_is_full(incoming, fits_bytes));
            };
            entry.measure(&mut self.held, &self.owner, &self.shared);
            if !entry.is_pinned() {
                bytes += entry.counted;
                results += 1;
            }
        }
    }

    /// Bytes that could be freed, counted until there are `enough`, and as many as the results have
    /// turned out to have grown.
    pub(super) fn evictable_bytes(&mut self, enough: usize) -> usize {
        let before = self.held.bytes;
        let mut bytes = 0;
        for (_, entry) in self.results.iter_mut().rev() {
            if bytes + before >= enough + self.held.bytes {
                break;
            }
            entry.measure(&mut self.held, &self.owner, &self.shared);
            if !entry.is_pinned() {
                bytes += entry.counted;
            }
        }
        bytes
    }

    /// Evicts results until `incoming` bytes in `more` results fit the session's limits, or all that is
    /// left is in use.
    pub(super) fn make_room(&mut self, incoming: usize, more: usize, visit: &mut Visit) {
        while self.held.bytes + incoming > self.shared.limits.session_bytes
            || self.results.len() + more > self.shared.limits.session_results
        {
            if !self.evict_next(&self.held.order(), visit) {
                return;
            }
        }
    }

    /// Of the results that are not in use, the one that goes next: the least recently used of those that
    /// go first, else of all.
    fn next(&self, order: &Order) -> Option<(&CallId, &Entry)> {
        let mut last = None;
        for (call, entry) in self.results.iter().rev() {
            if entry.is_pinned() {
                continue;
            }
            if order.is_plain() || order.goes_first(&entry.result) {
                return Some((call, entry));
            }
            last.get_or_insert((call, entry));
        }
        last
    }

    /// Evicts the result that goes next.
    pub(super) fn evict_next(&mut self, order: &Order, visit: &mut Visit) -> bool {
        let call = self.next(order).map(|(call, _)| call.clone());
        call.is_some_and(|call| self.lose(&call, Missing::Evicted, visit))
    }

    /// Whether the result that goes next goes before those that go last, and when it was used.
    pub(super) fn next_evictable(&self, order: &Order) -> Option<(bool, u64)> {
        let (_, entry) = self.next(order)?;
        Some((order.goes_first(&entry.result), entry.tick))
    }

    /// When the least recently used result was used.
    pub(super) fn oldest_tick(&self) -> Option<u64> {
        self.results.peek_lru().map(|(_, entry)| entry.tick)
    }

    /// Whether the least recently used result is past its time and only there because it is in use.
    pub(super) fn oldest_is_overdue(&self) -> bool {
        self.results.peek_lru().is_some_and(|(_, entry)| {
            self.now.saturating_sub(entry.last_used) >= self.shared.limits.time_to_live
        })
    }

    pub(super) fn insert(&mut self, call: &CallId, result: Arc<StoredResult>) {
        if let Some(tombstone) = self.tombstones.pop(call) {
            self.tombstone_bytes -= arguments_len(&tombstone);
        }
        if self.results.is_empty() {
            self.oldest_birth = self.now;
        }
        let mut entry = Entry {
            result,
            counted: 0,
            born: self.now,
            last_used: self.now,
            tick: self.shared.tick(),
        };
        entry.measure(&mut self.held, &self.owner, &self.shared);
        self.results.put(call.clone(), entry);
    }

    pub(super) fn list(&self) -> Vec<Listed> {
        let oldest_first = self.results.iter().rev();
        oldest_first
            .map(|(call, entry)| Listed::from_result(call.clone(), &entry.result))
            .collect()
    }

    pub(super) fn insert_artifact(
        &mut self,
        name: Name,
        artifact: Arc<StoredArtifact>,
    ) -> Result<(), StoreError> {
        let limits = &self.shared.limits;
        self.artifacts.insert(name, artifact, self.now, limits)
    }

    /// Empties the session; what it held is freed when the return value is dropped.
    pub(super) fn clear(&mut self) -> impl Sized + use<> {
        let held = std::mem::take(&mut self.held);
        self.owner.held().subtract(&held);
        self.shared.note_change(&self.owner);
        self.shared.total.fetch_sub(held.bytes, Ordering::SeqCst);
        self.tombstone_bytes = 0;
        (
            std::mem::replace(&mut self.results, lru()),
            std::mem::replace(&mut self.tombstones, lru()),
            std::mem::take(&mut self.artifacts),
        )
    }

    /// Whether the session holds nothing any more.
    pub(super) fn is_done(&self) -> bool {
        self.results.is_empty()
            && self.artifacts.is_empty()
            && ((self.tombstones.is_empty() && !self.artifacts.remembers())
                || self.now.saturating_sub(self.last_loss) >= self.shared.limits.max_age)
    }

    /// Counts the session's results and artifacts.
    pub(super) fn add_to(&self, usage: &mut Usage) {
        usage.sessions += 1;
        usage.results += self.results.len();
        usage.result_bytes += self.held.bytes;
        self.artifacts.add_to(usage);
    }

    /// The sums that `add_to` should give, added up anew.
    #[cfg(test)]
    pub(super) fn true_bytes(&self) -> usize {
        self.results
            .iter()
            .map(|(_, entry)| entry.result.resident_bytes())
            .sum()
    }
}

fn arguments_len(missing: &Missing) -> usize {
    match missing {
        Missing::Unknown => 0,
        Missing::Expired(tombstone)
        | Missing::Evicted(tombstone)
        | Missing::InFlight(tombstone) => tombstone.arguments().map_or(0, bytes::Bytes::len),
    }
}
