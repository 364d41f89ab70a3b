//! Expires and evicts within one transaction, in the order that the contract gives.

use super::{
    Results,
    gone::{self, TombstoneLimits},
    rows::{self, Candidate, CandidateRow, Whose},
    sums,
};
use crate::{database::execute, header::milliseconds};
use crossfeed_store::{Budget, Digest, Missing, StoreError, Tombstone};
use crossfeed_wire::{CallId, Scope};
use rusqlite::Transaction;
use std::collections::{HashMap, HashSet};

/// How many overdue results one `put` takes away, of whichever session: more than one, so that they go faster than
/// they come.
const RETIRED_AT_ONCE: usize = 16;
/// How many rows it looks at for that: some are in use.
const LOOKED_AT: usize = 64;
/// How many old tombstones one `put` forgets.
const FORGOTTEN_AT_ONCE: usize = 16;

/// A transaction in which results may go.
pub(super) struct Visit<'v> {
    results: &'v Results,
    transaction: &'v Transaction<'v>,
    now: i64,
    /// The rows whose results a caller of this process holds, by session, as they were when first asked for. Nobody can
    /// begin to hold another for long: who does, looks whether its row is still there.
    held: HashMap<Scope, HashSet<i64>>,
    /// Whether nothing is overdue any more, but what is in use.
    is_tidy: bool,
    /// What has gone, for when the transaction is committed.
    pub(super) gone: Gone,
}

/// What went in a transaction.
#[derive(Default)]
pub(super) struct Gone {
    pub(super) calls: Vec<(Scope, CallId)>,
    pub(super) files: Vec<Digest>,
    pub(super) evicted: usize,
    pub(super) expired: usize,
}

impl<'v> Visit<'v> {
    pub(super) fn new(results: &'v Results, transaction: &'v Transaction<'v>, now: i64) -> Self {
        Self {
            results,
            transaction,
            now,
            held: HashMap::new(),
            is_tidy: false,
            gone: Gone::default(),
        }
    }

    fn is_held(&mut self, candidate: &Candidate) -> bool {
        let Some(CandidateRow { scope, .. }) = &candidate.row else {
            return false;
        };
        if !self.held.contains_key(scope) {
            let held = self.results.held(scope);
            self.held.insert(scope.clone(), held);
        }
        let held = self.held.get(scope);
        held.is_some_and(|held| held.contains(&candidate.number))
    }

    fn is_overdue(&self, row: &CandidateRow) -> bool {
        self.results
            .has_expired(row.used_at, row.recorded_at, self.now)
    }

    /// Takes a row away, and leaves a tombstone if it can be read.
    fn lose(
        &mut self,
        candidate: Candidate,
        reason: fn(Tombstone) -> Missing,
    ) -> Result<(), StoreError> {
        let (results, connection) = (self.results, self.transaction);
        let arguments = rows::short_arguments(connection, candidate.number);
        let arguments = results.sql(arguments)?;
        results.sql(rows::delete(connection, &candidate))?;
        let Some(row) = candidate.row else {
            return Ok(());
        };
        let missing = reason(row.tombstone(arguments.as_deref()));
        match missing {
            Missing::Evicted(_) => self.gone.evicted += 1,
            Missing::Expired(_) => self.gone.expired += 1,
            _ => {}
        }
        let limits = &results.options.limits;
        let limits = TombstoneLimits {
            number: limits.session_tombstones,
            bytes: limits.tombstone_bytes,
        };
        let name = (&row.scope, &row.call_id);
        results.sql(gone::bury(connection, name, &missing, self.now, limits))?;
        self.gone.files.extend(row.file);
        self.gone.calls.push((row.scope, row.call_id));
        Ok(())
    }

    /// Takes away what is overdue, of all sessions, so many at most; returns how many. What is in use stays.
    pub(super) fn retire(&mut self, most: usize, looked_at: usize) -> Result<usize, StoreError> {
        let mut overdue = Vec::new();
        let mut is_tidy = true;
        for by_use in [true, false] {
            let mut looks = 0;
            let mut seen_all = true;
            let found = rows::oldest(self.transaction, by_use, |candidate| {
                looks += 1;
                let goes_on = match &candidate.row {
                    // Nobody can have it, and a place to look for it is not known.
                    None => false,
                    Some(row) if !self.is_overdue(row) => return false,
                    Some(_) => true,
                };
                if goes_on && !self.is_held(&candidate) {
                    overdue.push(candidate);
                }
                seen_all = overdue.len() < most && looks < looked_at;
                seen_all
            });
            self.results.sql(found)?;
            is_tidy &= seen_all;
        }
        self.is_tidy = is_tidy;
        overdue.sort_by_key(|candidate| candidate.number);
        overdue.dedup_by_key(|candidate| candidate.number);
        let retired = overdue.len();
        for candidate in overdue {
            self.lose(candidate, Missing::Expired)?;
        }
        Ok(retired)
    }

    /// Tidies up a little for others.
    pub(super) fn tidy(&mut self) -> Result<(), StoreError> {
        self.retire(RETIRED_AT_ONCE, LOOKED_AT)?;
        self.forget(FORGOTTEN_AT_ONCE)?;
        Ok(())
    }

    /// Forgets old tombstones, so many at most; whether there may be more.
    pub(super) fn forget(&self, most: usize) -> Result<bool, StoreError> {
        let max_age = milliseconds(self.results.options.limits.max_age);
        let until = self.now.saturating_sub(max_age);
        self.results
            .sql(gone::forget(self.transaction, until, most))
    }

    /// Takes the result of a call away whose time is over.
    pub(super) fn retire_call(&mut self, scope: &Scope, call: &CallId) -> Result<(), StoreError> {
        let candidate = rows::candidate(self.transaction, scope, call);
        match self.results.sql(candidate)? {
            Some(candidate) => self.lose(candidate, Missing::Expired),
            None => Ok(()),
        }
    }

    /// Makes the sums anew.
    pub(super) fn sum_up(&self) -> Result<(), StoreError> {
        self.results.sql(sums::sum_up(self.transaction))
    }

    /// Forgets leases, waits and state records whose time is over.
    pub(super) fn end_overdue(&self) -> Result<(), StoreError> {
        for table in ["leases", "waits", "state"] {
            let statement = format!("DELETE FROM {table} WHERE expires_at <= ?1");
            let ended = execute(self.transaction, &statement, [self.now]);
            self.results.sql(ended)?;
        }
        Ok(())
    }

    /// Takes a session's overdue results away.
    fn retire_of(&mut self, scope: &Scope) -> Result<(), StoreError> {
        let limits = &self.results.options.limits;
        let before = |time| self.now.saturating_sub(milliseconds(time));
        let (used_at, recorded_at) = (before(limits.time_to_live), before(limits.max_age));
        let overdue = rows::overdue_of(self.transaction, scope, used_at, recorded_at);
        for candidate in self.results.sql(overdue)? {
            if !self.is_held(&candidate) {
                self.lose(candidate, Missing::Expired)?;
            }
        }
        Ok(())
    }

    /// Brings a session within its limits, with `more` results of `incoming` bytes beside what it has.
    ///
    /// Where that cannot be done, what has gone comes back with the transaction.
    pub(super) fn make_room_in(
        &mut self,
        scope: &Scope,
        incoming: usize,
        more: usize,
    ) -> Result<(), StoreError> {
        let limits = &self.results.options.limits;
        let mut is_tidy = self.is_tidy;
        loop {
            let whose = Whose::Session(scope);
            let held = self.results.sql(sums::held(self.transaction, whose))?;
            let fits_bytes = held.bytes.saturating_add(incoming) <= limits.session_bytes;
            if fits_bytes && held.results + more <= limits.session_results {
                return Ok(());
            }
            if !is_tidy {
                is_tidy = true;
                self.retire_of(scope)?;
            } else if !self.evict(whose, &held.order)? {
                return Err(limits.session_is_full(incoming, fits_bytes));
            }
        }
    }

    /// Brings the store within its limit in all, with `incoming` bytes for a scope beside what it has: each time a
    /// result of the owner that holds the most goes.
    pub(super) fn make_room_in_all(
        &mut self,
        incoming: Option<(&Scope, usize)>,
    ) -> Result<(), StoreError> {
        let limit = self.results.options.limits.total_bytes;
        let bytes = incoming.map_or(0, |(_, bytes)| bytes);
        let mut spent = HashSet::new();
        loop {
            let (_, total) = self.results.sql(sums::total(self.transaction))?;
            if total.saturating_add(bytes) <= limit {
                return Ok(());
            }
            if !self.is_tidy {
                self.retire(RETIRED_AT_ONCE, usize::MAX)?;
                continue;
            }
            let owners = self.results.sql(sums::owners(self.transaction))?;
            let heaviest = owners.into_iter().filter(|(name, _)| !spent.contains(name));
            let heaviest = heaviest.max_by_key(|((tenant, project), held)| {
                let own = incoming.filter(|(scope, _)| {
                    (scope.tenant(), scope.project()) == (tenant.as_str(), project.as_str())
                });
                let held = held + own.map_or(0, |(_, bytes)| bytes);
                (held, own.is_some(), tenant.clone(), project.clone())
            });
            let Some((owner, _)) = heaviest else {
                return Err(StoreError::Full {
                    bytes,
                    budget: Budget::TotalBytes,
                    limit,
                });
            };
            let whose = Whose::Owner(&owner.0, &owner.1);
            let held = self.results.sql(sums::held(self.transaction, whose))?;
            if !self.evict(whose, &held.order)? {
                spent.insert(owner);
            }
        }
    }

    /// Evicts the result that goes next; whether there was one that is not in use.
    fn evict(&mut self, whose: Whose<'_>, order: &sums::Order) -> Result<bool, StoreError> {
        let transaction = self.transaction;
        let first = if order.is_plain() {
            None
        } else {
            let free = |candidate: &Candidate| !self.is_held(candidate);
            let first = rows::first_used(transaction, whose, Some(order), free);
            self.results.sql(first)?
        };
        let next = match first {
            Some(first) => Some(first),
            None => {
                let free = |candidate: &Candidate| !self.is_held(candidate);
                let next = rows::first_used(transaction, whose, None, free);
                self.results.sql(next)?
            }
        };
        let Some(next) = next else {
            return Ok(false);
        };
        self.lose(next, Missing::Evicted)?;
        Ok(true)
    }
}
