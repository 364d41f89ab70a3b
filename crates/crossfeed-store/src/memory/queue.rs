//! The order in which sessions are visited to free memory. The store has one queue, behind a mutex that also
//! admits one `put` at a time.
//!
//! # Invariants
//!
//! - A session with results stands once in `live`, under a tick that is not later than its least
//!   recent use. Reading moves uses forward without the queue, so the tick is a lower bound, made exact
//!   when the session is visited.
//! - A session with only tombstones stands once in `idle`, under the time of its last loss. It may
//!   still stand in `live` instead until the next visit.
//! - A session that only has artifacts stands nowhere: its removal ends it, or a sweep once all of
//!   them have expired.
//! - Each owner of a session stands once in `owners`, until its last session is forgotten, and once in
//!   `weights`, under what it held when the queue last looked.

use super::{
    held::{Owner, OwnerName},
    session::{Session, SharedState, State},
};
use foldhash::quality::RandomState;
use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

/// Where a session stands in the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueuePosition {
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
    owners: HashMap<OwnerName, OwnerEntry, RandomState>,
    weights: BTreeSet<(usize, OwnerName)>,
}

/// An owner, as the queue knows it.
struct OwnerEntry {
    owner: Arc<Owner>,
    /// Sessions that were made and not forgotten.
    sessions: usize,
    /// Those in `live`, under the same ticks.
    live: BTreeMap<u64, Arc<Session>>,
    weight: usize,
}

impl Queue {
    /// Puts a session where its state says that it belongs.
    pub(super) fn settle(&mut self, session: &Arc<Session>, state: &mut State) {
        let oldest = state.oldest_tick();
        match (state.place, oldest) {
            (QueuePosition::Live(tick), Some(oldest)) if tick == oldest => return,
            (QueuePosition::Idle(since, _), None)
                if since == state.last_loss && state.artifacts.is_empty() =>
            {
                return;
            }
            _ => {}
        }
        self.remove(state);
        state.place = if let Some(tick) = oldest {
            self.live.insert(tick, session.clone());
            if let Some(owned) = self.owners.get_mut(&session.owner.name) {
                owned.live.insert(tick, session.clone());
            }
            QueuePosition::Live(tick)
        } else if !state.artifacts.is_empty() {
            QueuePosition::Nowhere
        } else {
            self.settled += 1;
            let key = (state.last_loss, self.settled);
            self.idle.insert(key, session.clone());
            QueuePosition::Idle(key.0, key.1)
        };
    }

    /// Takes a session out.
    pub(super) fn remove(&mut self, state: &mut State) {
        match state.place {
            QueuePosition::Nowhere => {}
            QueuePosition::Live(tick) => {
                if let Some(session) = self.live.remove(&tick)
                    && let Some(owned) = self.owners.get_mut(&session.owner.name)
                {
                    owned.live.remove(&tick);
                }
            }
            QueuePosition::Idle(since, number) => {
                self.idle.remove(&(since, number));
            }
        }
        state.place = QueuePosition::Nowhere;
    }

    /// The owner of a session that is made.
    pub(super) fn owner(&mut self, name: OwnerName) -> Arc<Owner> {
        let owned = self.owners.entry(name).or_insert_with_key(|name| {
            self.weights.insert((0, name.clone()));
            OwnerEntry {
                owner: Owner::new(name.clone()),
                sessions: 0,
                live: BTreeMap::new(),
                weight: 0,
            }
        });
        owned.sessions += 1;
        Arc::clone(&owned.owner)
    }

    /// A session of the owner is forgotten, and holds nothing any more.
    pub(super) fn forget(&mut self, owner: &Owner) {
        let Some(owned) = self.owners.get_mut(&owner.name) else {
            return;
        };
        owned.sessions -= 1;
        if owned.sessions == 0 {
            self.weights.remove(&(owned.weight, owner.name.clone()));
            self.owners.remove(&owner.name);
        }
    }

    /// Brings the weights up to date.
    pub(super) fn weigh(&mut self, shared: &SharedState) {
        for owner in shared.take_changed() {
            let bytes = owner.looked_at();
            // An owner that was forgotten may have come back as another.
            if let Some(owned) = self.owners.get_mut(&owner.name)
                && Arc::ptr_eq(&owned.owner, &owner)
                && self.weights.remove(&(owned.weight, owner.name.clone()))
            {
                owned.weight = bytes;
                self.weights.insert((bytes, owner.name.clone()));
            }
        }
    }

    /// The owner that holds the most, but for some; `incoming` bytes of one are counted as if they were held.
    pub(super) fn heaviest(
        &self,
        incoming: Option<(&OwnerName, usize)>,
        but: &HashSet<OwnerName>,
    ) -> Option<Arc<Owner>> {
        let others = self.weights.iter().rev();
        let other = others
            .filter(|(_, name)| !but.contains(name))
            .find(|(_, name)| incoming.is_none_or(|(own, _)| name != own));
        let own = incoming
            .filter(|(name, _)| !but.contains(name))
            .and_then(|(name, bytes)| Some((self.owners.get(name)?.weight + bytes, name)));
        // Of two that hold the same, the owner of the incoming result counts: the later one here.
        let other = other.map(|(weight, name)| (*weight, name));
        let both = other.into_iter().chain(own);
        let (_, name) = both.max_by_key(|(weight, _)| *weight)?;
        Some(Arc::clone(&self.owners.get(name)?.owner))
    }

    /// The owner's session with the earliest bound at or after `from`.
    pub(super) fn live_of(&self, owner: &Owner, from: u64) -> Option<(u64, Arc<Session>)> {
        let owned = self.owners.get(&owner.name)?;
        let (tick, session) = owned.live.range(from..).next()?;
        Some((*tick, session.clone()))
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

    /// What each owner held when the queue last looked; both books say the same.
    #[cfg(test)]
    pub(super) fn weights(&self) -> HashMap<OwnerName, usize> {
        let owners = self.owners.iter();
        let weights: HashMap<_, _> = owners
            .map(|(name, owned)| (name.clone(), owned.weight))
            .collect();
        let again = self.weights.iter().cloned();
        assert_eq!(
            weights,
            again.map(|(weight, name)| (name, weight)).collect()
        );
        assert_eq!(self.weights.len(), self.owners.len());
        weights
    }
}
