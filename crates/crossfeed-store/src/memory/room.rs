//! Making room: who goes, in which order, and what is tidied up on the way.
//!
//! What comes in: the queue, locked, and how much is to fit. What goes out: whether it fits, and
//! the values that left. Deliberately not here: what is put into the room that was made.

use super::{
    MemoryStore,
    queue::Queue,
    session::{Dropped, Session, State},
};
use crate::{Budget, StoreError};
use crossfeed_wire::Scope;
use std::{collections::BTreeMap, sync::Arc, time::Duration};

/// How many sessions one `put` tidies up for others. More than one, so that sessions vanish faster
/// than they come; few, so that no single `put` pays for all of them.
const TIDIED_PER_PUT: usize = 16;

impl MemoryStore {
    /// Brings the session and the store back within their limits, as far as what is in use allows.
    pub(super) fn relieve(&self, session: &Arc<Session>) {
        let mut dropped = Dropped::new();
        let now = self.now();
        let mut queue = self.lock_queue();
        {
            let mut state = session.lock();
            state.tidy(now, &mut dropped);
            state.make_room(0, 0, &mut dropped);
        }
        self.make_room(&mut queue, 0, now, &mut dropped);
    }

    /// Makes room for a result that is not there yet. All that can be checked is checked before
    /// anything is evicted.
    pub(super) fn clear_the_way(
        &self,
        queue: &mut Queue,
        scope: &Scope,
        bytes: usize,
        dropped: &mut Dropped,
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
        let now = self.now();
        self.tidy_idle_sessions(queue, now, dropped);

        let full = || StoreError::Full {
            bytes,
            budget: Budget::TotalBytes,
            limit: limits.total_bytes,
        };
        let session = self.session(scope);
        if let Some(session) = &session {
            let mut state = session.lock();
            state.tidy(now, dropped);
            state.check_room(bytes)?;
        }
        if !self.can_make_room(queue, bytes) {
            return Err(full());
        }
        if let Some(session) = &session {
            let mut state = session.lock();
            state.make_room(bytes, 1, dropped);
            // Again, since results may have come into use since the first check.
            state.check_room(bytes)?;
        }
        if !self.make_room(queue, bytes, now, dropped) {
            return Err(full());
        }
        Ok(())
    }

    /// Whether all that may be evicted would make `incoming` bytes fit the limit in all.
    fn can_make_room(&self, queue: &Queue, incoming: usize) -> bool {
        let mut sessions = queue.live();
        let mut free = 0;
        loop {
            // Asked anew each time: the search measures what it passes, which may have grown.
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

    /// Evicts the least recently used results of all sessions until `incoming` bytes fit the limit
    /// in all. `false` if all that is left is in use.
    ///
    /// The queue gives sessions by a bound; a visit finds when the session's first evictable result
    /// was really used, and `visited` orders those seen by that. So the first of both is the least
    /// recently used of all.
    fn make_room(
        &self,
        queue: &mut Queue,
        incoming: usize,
        now: Duration,
        dropped: &mut Dropped,
    ) -> bool {
        let fits = || self.shared.total() + incoming <= self.limits().total_bytes;
        let mut seen: Vec<Arc<Session>> = Vec::new();
        let mut visited: BTreeMap<u64, Arc<Session>> = BTreeMap::new();
        let mut from = 0;
        let made = loop {
            if fits() {
                break true;
            }
            let first_visited = visited.first_key_value().map(|(tick, _)| *tick);
            let (tick, session) = match (queue.live_from(from), first_visited) {
                (Some((bound, session)), first) if first.is_none_or(|tick| bound < tick) => {
                    from = bound + 1;
                    seen.push(session.clone());
                    (bound, session)
                }
                (_, Some(_)) => match visited.pop_first() {
                    Some(first) => first,
                    None => break false,
                },
                (_, None) => break false,
            };
            let mut state = session.lock();
            state.tidy(now, dropped);
            if state
                .oldest_evictable_tick()
                .is_some_and(|first| first <= tick)
                && !fits()
            {
                state.evict_oldest(dropped);
            }
            if let Some(first) = state.oldest_evictable_tick() {
                drop(state);
                visited.insert(first, session);
            }
        };
        for session in seen {
            queue.settle(&session, &mut session.lock());
        }
        made
    }

    /// Drops what has expired in a few sessions that nobody visits, and forgets those that are done.
    fn tidy_idle_sessions(&self, queue: &mut Queue, now: Duration, dropped: &mut Dropped) {
        let mut from = 0;
        let mut visits = 0;
        while visits < TIDIED_PER_PUT {
            let Some((bound, session)) = queue.live_from(from) else {
                break;
            };
            from = bound + 1;
            let mut state = session.lock();
            state.tidy(now, dropped);
            let is_exact = state.oldest_tick() == Some(bound);
            if !is_exact {
                queue.settle(&session, &mut state);
                visits += 1;
            } else if !state.oldest_is_overdue() {
                // All others were used later.
                break;
            }
        }
        for _ in 0..TIDIED_PER_PUT {
            let Some(session) = queue.longest_idle() else {
                break;
            };
            let mut state = session.lock();
            state.tidy(now, dropped);
            if !state.is_done() {
                break;
            }
            self.forget(queue, &session, &mut state);
        }
    }

    fn forget(&self, queue: &mut Queue, session: &Arc<Session>, state: &mut State) {
        queue.remove(state);
        drop(state.clear());
        // A reader may have kept a removed session alive for a moment; its scope may by now belong
        // to a new one.
        self.sessions
            .remove_if(&session.scope, |_, current| Arc::ptr_eq(current, session));
    }

    pub(super) fn sweep_session(&self, session: &Arc<Session>) {
        let mut dropped = Dropped::new();
        let now = self.now();
        let mut queue = self.lock_queue();
        let mut state = session.lock();
        state.tidy(now, &mut dropped);
        state.measure_all();
        state.make_room(0, 0, &mut dropped);
        if state.is_done() {
            self.forget(&mut queue, session, &mut state);
        } else {
            queue.settle(session, &mut state);
        }
    }

    /// Brings the store within its limit in all, once its sessions are within theirs.
    pub(super) fn sweep_all(&self) {
        let mut dropped = Dropped::new();
        let now = self.now();
        self.make_room(&mut self.lock_queue(), 0, now, &mut dropped);
    }
}
