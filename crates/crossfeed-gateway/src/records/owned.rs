//! Records that belong to one process at a time.
//!
//! # Invariants
//!
//! - What replaces such a record is a compare-and-set on the write that this process knows, also where it ends it.
//! - Of two owners the one of the later generation stays. The other finds out when it writes next, and changes nothing.

use super::{Found, Key, Records};
use crossfeed_store::{Expected, StoreError};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::time::Duration;

/// How often a write is tried anew that something came before.
pub(crate) const MAX_ATTEMPTS: usize = 4;

/// How long a record lasts that is to be gone.
pub(crate) const GONE_AFTER: Duration = Duration::from_millis(1);

/// What stands in such a record.
#[derive(Serialize, Deserialize)]
pub(crate) struct Owned<T> {
    /// A random word for each time that a process makes a record or takes one up.
    owner: String,
    /// How often it was taken up.
    generation: u64,
    /// None where it has ended, and others may still have to learn that.
    pub(crate) value: Option<T>,
}

/// What became of a write.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Written,
    /// The record is another's, of this version: nothing was written.
    Anothers(u64),
}

#[derive(Debug, thiserror::Error)]
#[error("others write the record at the same time")]
struct Contended;

/// Others came before each time.
pub(crate) fn contended() -> StoreError {
    StoreError::Unavailable {
        source: Box::new(Contended),
        retry: true,
    }
}

/// A record of this process.
pub(crate) struct OwnedRecord {
    records: Records,
    key: Key,
    owner: String,
    generation: u64,
    /// Of its last write, if one was acknowledged.
    version: Option<u64>,
    is_begun: bool,
}

impl OwnedRecord {
    /// One that is not written yet. `owner` is a word that no other owner has.
    pub(crate) fn new(records: Records, key: Key, owner: String) -> Self {
        Self {
            records,
            key,
            owner,
            generation: 0,
            version: None,
            is_begun: false,
        }
    }

    /// How often it was taken up.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// What stands in another's record, which this process may take up; none where there is none, or it has ended.
    pub(crate) async fn find<T>(&mut self) -> Result<Option<T>, StoreError>
    where
        T: DeserializeOwned,
    {
        let found = self.records.read::<Owned<T>>(&self.key).await?;
        let Some(Found { value, version }) = found else {
            return Ok(None);
        };
        self.generation = value.generation.saturating_add(1);
        self.version = Some(version);
        Ok(value.value)
    }

    /// Makes the record that was found this process's; not where it has changed since.
    pub(crate) async fn take_up<T>(&mut self, found: &T, time: Duration) -> Result<bool, StoreError>
    where
        T: Serialize + Sync,
    {
        self.try_write(Some(found), time).await
    }

    /// Writes the record, unless it is another's.
    pub(crate) async fn write<T>(
        &mut self,
        value: &T,
        time: Duration,
    ) -> Result<Outcome, StoreError>
    where
        T: Serialize + Sync,
    {
        self.put(Some(value), time).await
    }

    /// Whether the record is still the one that this process wrote. If not, a write says what became of it.
    pub(crate) async fn is_own(&self) -> Result<bool, StoreError> {
        let found = self.records.read::<Owned<Ignored>>(&self.key).await?;
        Ok(found.is_some_and(|found| found.value.owner == self.owner))
    }

    /// Ends the record, unless it is another's. Where others had it before, the end stands in it for `time`, so that they
    /// learn of it.
    pub(crate) async fn end(&mut self, time: Duration) -> Result<Outcome, StoreError> {
        if !self.is_begun {
            return Ok(Outcome::Written);
        }
        let time = if self.generation == 0 {
            GONE_AFTER
        } else {
            time
        };
        self.put::<()>(None, time).await
    }

    async fn put<T>(&mut self, value: Option<&T>, time: Duration) -> Result<Outcome, StoreError>
    where
        T: Serialize + Sync,
    {
        for _ in 0..MAX_ATTEMPTS {
            if self.try_write(value, time).await? {
                return Ok(Outcome::Written);
            }
            // A write of this process may have been made though its answer was lost. One that is not there any more the
            // store has lost, or it is over; and one of an earlier generation is of the past.
            let found = self.records.read::<Owned<Ignored>>(&self.key).await?;
            self.version = match found {
                Some(Found { value, version }) => {
                    let is_own = value.owner == self.owner;
                    if !is_own && value.generation >= self.generation {
                        return Ok(Outcome::Anothers(version));
                    }
                    Some(version)
                }
                None => None,
            };
        }
        Err(contended())
    }

    async fn try_write<T>(&mut self, value: Option<&T>, time: Duration) -> Result<bool, StoreError>
    where
        T: Serialize + Sync,
    {
        self.is_begun = true;
        let expected = self.version.map_or(Expected::Absent, Expected::Version);
        let record = Owned {
            owner: self.owner.clone(),
            generation: self.generation,
            value,
        };
        let written = self.records.write(&self.key, &record, expected, time);
        let written = written.await?;
        self.version = written.or(self.version);
        Ok(written.is_some())
    }
}

/// A value that is not needed.
type Ignored = serde::de::IgnoredAny;
