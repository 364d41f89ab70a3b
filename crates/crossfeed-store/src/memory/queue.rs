//! In which order sessions are visited to free memory. The store has one, behind a mutex that also
//! admits one `put` at a time.
//!
//! # Invariants
//!
//! - A session with results stands once in `live`, under a tick that is not later than its least
//!   recent use. Reading moves uses forward without telling, so the tick is a bound, made exact
//!   when the session is visited.
//! - A session that only remembers stands once in `idle`, under the time of its last loss. It may
//!   still stand in `live` instead until the next visit.
//! - A session that only has artifacts stands nowhere: its removal ends it, or a sweep once all of
//!   them have expired.

use super::session::{Session, State};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

/// Where a session stands in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Nowhere,
    Live(u64),
    Idle(Duration, u64),
}

#[derive(Default)]
pub(super) struct Queue {
    live: BTreeMap<u64, Arc<Session>>,
    idle: BTreeMap<(Duration, u64), Arc<Session>>,
    /// Tells apart sessions whose last loss was at the same time.
    settled: u64,
}

impl Queue {
    /// Puts a session where its state says that it belongs.
    pub(super) fn settle(&mut self, session: &Arc<Session>, state: &mut State) {
        let oldest = state.oldest_tick();
        match (state.place, oldest) {
            (Place::Live(tick), Some(oldest)) if tick == oldest => return,
            (Place::Idle(since, _), None)
                if since == state.last_loss() && !state.has_artifacts() =>
            {
                return;
            }
            _ => {}
        }
        self.remove(state);
        state.place = if let Some(tick) = oldest {
            self.live.insert(tick, session.clone());
            Place::Live(tick)
        } else if state.has_artifacts() {
            Place::Nowhere
        } else {
            self.settled += 1;
            let key = (state.last_loss(), self.settled);
            self.idle.insert(key, session.clone());
            Place::Idle(key.0, key.1)
        };
    }

    /// Takes a session out.
    pub(super) fn remove(&mut self, state: &mut State) {
        match state.place {
            Place::Nowhere => {}
            Place::Live(tick) => {
                self.live.remove(&tick);
            }
            Place::Idle(since, number) => {
                self.idle.remove(&(since, number));
            }
        }
        state.place = Place::Nowhere;
    }

    /// The session with the earliest bound at or after `from`.
    pub(super) fn live_from(&self, from: u64) -> Option<(u64, Arc<Session>)> {
        let (tick, session) = self.live.range(from..).next()?;
        Some((*tick, session.clone()))
    }

    /// All sessions with results, in the order of their bounds.
    pub(super) fn live(&self) -> impl Iterator<Item = &Arc<Session>> {
        self.live.values()
    }

    /// The session that has had no results for the longest time.
    pub(super) fn longest_idle(&self) -> Option<Arc<Session>> {
        self.idle.values().next().cloned()
    }

    /// Sessions in the queue.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.live.len() + self.idle.len()
    }
}
