//! Makes room: evicts results in the order that the contract gives, and tidies up on the way.
//!
//! Works under the lock of the queue, and returns the values that left, so that they are dropped
//! later.

use super::{
    MemoryStore,
    held::{Order, Owner, OwnerName},
    queue::Queue,
    session::{Session, State, Visit},
};
use crate::{Budget, StoreError};
use crossfeed_wire::Scope;
use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

/// How many sessions one `put` tidies up for others. More than one, so that sessions vanish faster
/// than they come; few, so that no single `put` pays for all of them.
const TIDIED_PER_PUT: usize = 16;

impl MemoryStore {
    /// Brings the session and the store back within their limits, as far as results in use allow.
    pub(super) fn enforce_limits(&self, session: &Arc<Session>) {
        let mut visit = self.shared.visit();
        let mut queue = self.queue.lock();
        {
            let mut state = session.lock();
            state.tidy(&mut visit);
            state.make_room(0, 0, &mut visit);
        }
        self.make_room(&mut queue, None, &mut visit);
    }

    /// Makes room for a new result. Checks as much as possible before it evicts anything.
    pub(super) fn make_room_for(
        &self,
        queue: &mut Queue,
        scope: &Scope,
        bytes: usize,
        visit: &mut Visit,
    ) -> Result<(), StoreError> {
        let limits = self.limits();
        let limit = limits.session_bytes.min(limits.total_bytes);
        if bytes > limit {
            return Err(StoreError::TooLarge { bytes, limit });
        }
        if limits.session_results == 0 {
            return Err(StoreError::Full {
                bytes,
                budget: Budget::SessionResults,
                limit: 0,
            });
        }
        self.tidy_idle_sessions(queue, visit);

        let full = || StoreError::Full {
            bytes,
            budget: Budget::TotalBytes,
            limit: limits.total_bytes,
        };
        let session = self.session(scope);
        if let Some(session) = &session {
            let mut state = session.lock();
            state.tidy(visit);
            state.check_room(bytes)?;
        }
        if !self.can_make_room(queue, bytes) {
            return Err(full());
        }
        if let Some(session) = &session {
            let mut state = session.lock();
            state.make_room(bytes, 1, visit);
            // Again, since results may have come into use since the first check.
            state.check_room(bytes)?;
        }
        let owner = OwnerName::new(scope);
        if !self.make_room(queue, Some((&owner, bytes)), visit) {
            return Err(full());
        }
        Ok(())
    }

    /// Whether all that may be evicted would make `incoming` bytes fit the limit in all.
    fn can_make_room(&self, queue: &Queue, incoming: usize) -> bool {
        let mut sessions = queue.live();
        let mut free = 0;
        loop {
            // Found anew each time, because the search measures results that may have grown.
            let needed = (self.shared.total() + incoming).saturating_sub(self.limits().total_bytes);
            if free >= needed {
                return true;
            }
            let Some(session) = sessions.next() else {
                return false;
            };
            free += session.lock().evictable_bytes(needed - free);
        }
    }

    /// Evicts results until `incoming` bytes fit the limit in all: each time one of the owner that holds
    /// the most. `false` if all that is left is in use.
    fn make_room(
        &self,
        queue: &mut Queue,
        incoming: Option<(&OwnerName, usize)>,
        visit: &mut Visit,
    ) -> bool {
        let bytes = incoming.map_or(0, |(_, bytes)| bytes);
        let fits = || self.shared.total() + bytes <= self.limits().total_bytes;
        if fits() {
            return true;
        }
        self.tidy_overdue(queue, usize::MAX, visit);
        let mut spent = HashSet::new();
        let mut searches: HashMap<OwnerName, Search> = HashMap::new();
        let made = loop {
            if fits() {
                break true;
            }
            queue.weigh(&self.shared);
            let Some(owner) = queue.heaviest(incoming, &spent) else {
                break false;
            };
            let search = searches.entry(owner.name.clone()).or_default();
            if !search.evict(queue, &owner, visit) {
                spent.insert(owner.name.clone());
            }
        };
        for session in searches.into_values().flat_map(|search| search.seen) {
            queue.settle(&session, &mut session.lock());
        }
        made
    }

    /// Drops what has expired in idle sessions, of so many of them at most.
    fn tidy_overdue(&self, queue: &mut Queue, most: usize, visit: &mut Visit) {
        let mut from = 0;
        let mut visits = 0;
        while visits < most {
            let Some((bound, session)) = queue.live_from(from) else {
                break;
            };
            from = bound + 1;
            let mut state = session.lock();
            state.tidy(visit);
            let is_exact = state.oldest_tick() == Some(bound);
            if !is_exact {
                queue.settle(&session, &mut state);
                visits += 1;
            } else if !state.oldest_is_overdue() {
                // All others were used later.
                break;
            }
        }
    }

    /// Drops what has expired in a few idle sessions, and forgets those that are done.
    fn tidy_idle_sessions(&self, queue: &mut Queue, visit: &mut Visit) {
        self.tidy_overdue(queue, TIDIED_PER_PUT, visit);
        for _ in 0..TIDIED_PER_PUT {
            let Some(session) = queue.longest_idle() else {
                break;
            };
            let mut state = session.lock();
            state.tidy(visit);
            if !state.is_done() {
                break;
            }
            self.forget(queue, &session, &mut state);
        }
    }

    fn forget(&self, queue: &mut Queue, session: &Arc<Session>, state: &mut State) {
        queue.remove(state);
        drop(state.clear());
        // A caller that still had a removed session comes here a second time, when its scope may belong
        // to a new one.
        let removed = self
            .sessions
            .remove_if(&session.scope, |_, current| Arc::ptr_eq(current, session));
        if removed.is_some() {
            queue.forget(&session.owner);
        }
    }

    pub(super) fn sweep_session(&self, session: &Arc<Session>) {
        let mut visit = self.shared.visit();
        let mut queue = self.queue.lock();
        let mut state = session.lock();
        state.tidy(&mut visit);
        state.measure_all();
        state.make_room(0, 0, &mut visit);
        if state.is_done() {
            self.forget(&mut queue, session, &mut state);
        } else {
            queue.settle(session, &mut state);
        }
    }

    /// Brings the store within its limit in all, once its sessions are within theirs.
    pub(super) fn sweep_all(&self) {
        let mut visit = self.shared.visit();
        self.make_room(&mut self.queue.lock(), None, &mut visit);
    }
}

/// A search through the sessions of one owner for the result that goes next.
///
/// The queue gives sessions by a bound; a visit finds which of the session's results really goes next, and
/// `visited` orders those seen by that. So the first of both is the one that goes next of all.
#[derive(Default)]
struct Search {
    order: Order,
    from: u64,
    seen: Vec<Arc<Session>>,
    /// By whether the result goes last, then by when it was used.
    visited: BTreeMap<(bool, u64), Arc<Session>>,
}

impl Search {
    /// Evicts one result; `false` if all that is left is in use.
    fn evict(&mut self, queue: &Queue, owner: &Owner, visit: &mut Visit) -> bool {
        let order = owner.held().order();
        if self.order != order {
            // Results of a search in another order do not count.
            (self.from, self.order) = (0, order);
            self.visited.clear();
        }
        loop {
            let first = self.visited.first_key_value().map(|(place, _)| *place);
            // The best that a session not yet visited can have.
            let place = |bound| (self.order.is_plain(), bound);
            let next = queue.live_of(owner, self.from);
            match next {
                Some((bound, session)) if first.is_none_or(|first| place(bound) < first) => {
                    self.from = bound + 1;
                    self.visit(&session, visit);
                    self.seen.push(session);
                }
                _ => {
                    let Some((place, session)) = self.visited.pop_first() else {
                        return false;
                    };
                    let mut state = session.lock();
                    state.tidy(visit);
                    let is_next = self.place(&state) == Some(place);
                    let is_evicted = is_next && state.evict_next(&self.order, visit);
                    drop(state);
                    self.visit(&session, visit);
                    if is_evicted {
                        return true;
                    }
                }
            }
        }
    }

    /// Files a session under the result that it would lose next.
    fn visit(&mut self, session: &Arc<Session>, visit: &mut Visit) {
        let mut state = session.lock();
        state.tidy(visit);
        if let Some(place) = self.place(&state) {
            drop(state);
            self.visited.insert(place, Arc::clone(session));
        }
    }

    fn place(&self, state: &State) -> Option<(bool, u64)> {
        let (goes_first, tick) = state.next_evictable(&self.order)?;
        Some((!goes_first, tick))
    }
}
