//! Counted ids whose results outlive the process: numbers are reserved in the store, some at a time, before they are
//! given. A restart leaves out those that were reserved and not given.
//!
//! # What holds
//!
//! - No number is given twice by one process, whatever the store loses.
//! - No number is given by two processes, as far as the store keeps what was written.

use super::number_of;
use crate::records::{Key, Records};
use crossfeed_store::{Expected, StoreError};
use crossfeed_wire::Scope;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::{ops::Range, time::Duration};
use tokio::time::Instant;

/// Numbers that are reserved at once.
const RESERVED_AT_ONCE: u64 = 16;

/// How long a reservation is kept: much longer than results.
const RESERVATION_TIME: Duration = Duration::from_secs(90 * 24 * 3600);
/// When it is renewed.
const RENEWED_AFTER: Duration = Duration::from_secs(30 * 24 * 3600);

/// The numbers of one scope, or of all conversations of a principal.
pub(in crate::tools) struct ReservedIds {
    records: Records,
    scope: Scope,
    key: Key,
    /// The numbers that may be given, and since when. Those behind them were never given here.
    own: Mutex<Option<(Range<u64>, Instant)>>,
    /// Who reserves.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Serialize, Deserialize)]
struct IdsRecord {
    /// The last number that may have been given.
    last: u64,
}

impl ReservedIds {
    pub(in crate::tools) fn new(records: &Records, scope: &Scope) -> Self {
        Self {
            records: records.clone(),
            scope: scope.clone(),
            key: Key::of_scope("ids", scope),
            own: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
        }
    }

    /// The next number that is greater than `last`.
    pub(super) async fn next_after(&self, last: u64) -> Result<u64, StoreError> {
        loop {
            if let Some(number) = self.take(last) {
                return Ok(number);
            }
            let _turn = self.turn.lock().await;
            // Another call may have reserved meanwhile.
            if let Some(number) = self.take(last) {
                return Ok(number);
            }
            let numbers = self.reserve(last).await?;
            *self.own.lock() = Some((numbers, Instant::now()));
        }
    }

    fn take(&self, last: u64) -> Option<u64> {
        let mut own = self.own.lock();
        let (numbers, since) = own.as_mut()?;
        if since.elapsed() >= RENEWED_AFTER {
            return None;
        }
        numbers.find(|number| *number > last)
    }

    async fn reserve(&self, last: u64) -> Result<Range<u64>, StoreError> {
        // The store may have lost what was reserved here.
        let given = self.own.lock().as_ref().map_or(0, |(own, _)| own.end - 1);
        loop {
            let found = self.records.read::<IdsRecord>(&self.key).await?;
            let (found, expected) = match found {
                Some(found) => (found.value.last, Expected::Version(found.version)),
                None => (0, Expected::Absent),
            };
            let last = found.max(given).max(last);
            let Some(end) = last.checked_add(1 + RESERVED_AT_ONCE) else {
                return Err(self.key.damaged(None));
            };
            let record = IdsRecord { last: end - 1 };
            let written = self
                .records
                .write(&self.key, &record, expected, RESERVATION_TIME);
            if written.await?.is_some() {
                return Ok(last + 1..end);
            }
        }
    }

    /// The last number of what is recorded in a scope, where its reservation may have been forgotten before that.
    pub(super) async fn last_recorded(&self, scope: &Scope) -> Result<u64, StoreError> {
        // The one of all conversations may have been made anew by another of them.
        if *scope == self.scope && self.records.read::<IdsRecord>(&self.key).await?.is_some() {
            return Ok(0);
        }
        let (results, artifacts) = self.records.recorded(scope).await?;
        let results = results.iter().map(|listed| &listed.call_id);
        let artifacts = artifacts.iter().map(|listed| &listed.call_id);
        let numbers = results.chain(artifacts).filter_map(number_of);
        Ok(numbers.max().unwrap_or(0))
    }

    pub(in crate::tools) async fn forget(&self) -> Result<(), StoreError> {
        self.records.remove(&self.key).await
    }
}
