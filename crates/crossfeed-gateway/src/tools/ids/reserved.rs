//! Counted ids of a scope whose results outlive the process: numbers are reserved in the store, some at a time, before
//! they are given. A restart leaves out those that were reserved and not given.

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

pub(in crate::tools) struct ReservedIds {
    records: Records,
    scope: Scope,
    /// The numbers that may be given, and since when.
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
    pub(super) fn new(records: Records, scope: Scope) -> Self {
        Self {
            records,
            scope,
            own: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
        }
    }

    fn key(&self) -> Key {
        Key::of_scope("ids", &self.scope)
    }

    pub(super) async fn next(&self) -> Result<u64, StoreError> {
        loop {
            if let Some(number) = self.take() {
                return Ok(number);
            }
            let _turn = self.turn.lock().await;
            // Another call may have reserved meanwhile.
            if let Some(number) = self.take() {
                return Ok(number);
            }
            let numbers = self.reserve().await?;
            *self.own.lock() = Some((numbers, Instant::now()));
        }
    }

    fn take(&self) -> Option<u64> {
        let mut own = self.own.lock();
        let (numbers, since) = own.as_mut()?;
        if since.elapsed() < RENEWED_AFTER {
            numbers.next()
        } else {
            None
        }
    }

    async fn reserve(&self) -> Result<Range<u64>, StoreError> {
        loop {
            let key = self.key();
            let found = self.records.read::<IdsRecord>(&key).await?;
            let (last, expected) = match found {
                Some(found) => (found.value.last, Expected::Version(found.version)),
                // It may have been forgotten before what it was about.
                None => (self.last_recorded().await?, Expected::Absent),
            };
            let record = IdsRecord {
                last: last.saturating_add(RESERVED_AT_ONCE),
            };
            let written = self
                .records
                .write(&key, &record, expected, RESERVATION_TIME);
            if written.await?.is_some() {
                return Ok(last.saturating_add(1)..record.last.saturating_add(1));
            }
        }
    }

    async fn last_recorded(&self) -> Result<u64, StoreError> {
        let (results, artifacts) = self.records.recorded(&self.scope).await?;
        let results = results.iter().map(|listed| &listed.call_id);
        let artifacts = artifacts.iter().map(|listed| &listed.call_id);
        let numbers = results.chain(artifacts).filter_map(number_of);
        Ok(numbers.max().unwrap_or(0))
    }

    pub(super) async fn forget(&self) -> Result<(), StoreError> {
        self.records.remove(&self.key()).await
    }
}
