//! Small records of a host, beside results: what it must know again after a restart.

use crate::StoreError;
use async_trait::async_trait;
use bytes::Bytes;
use std::time::Duration;

/// A record, and which write of it this is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StateRecord {
    /// The bytes.
    pub value: Bytes,
    /// Differs from that of every other write of this key.
    pub version: u64,
}

impl StateRecord {
    /// The longest key, in bytes.
    pub const MAX_KEY_BYTES: usize = 512;
    /// The largest value, in bytes.
    pub const MAX_VALUE_BYTES: usize = 1 << 20;

    /// Whether a key and a value may be written.
    ///
    /// # Errors
    ///
    /// [`StoreError::TooLarge`] where one is beyond its limit.
    pub fn admit(key: &str, value: &[u8]) -> Result<(), StoreError> {
        for (bytes, limit) in [
            (key.len(), Self::MAX_KEY_BYTES),
            (value.len(), Self::MAX_VALUE_BYTES),
        ] {
            if bytes > limit {
                return Err(StoreError::TooLarge { bytes, limit });
            }
        }
        Ok(())
    }

    /// A record of a version.
    pub fn new(value: Bytes, version: u64) -> Self {
        Self { value, version }
    }
}

/// What a write expects to replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a write is conditional on nothing, on nothing being there, or on one version"
)]
pub enum Expected {
    /// Whatever is there.
    Any,
    /// Nothing.
    Absent,
    /// The record of this version.
    Version(u64),
}

/// Small records of a host, each under a key of its own choice, for a time.
///
/// Keys are 1 to 512 bytes of UTF-8, values at most 1 MiB. Each method is atomic; what a write has acknowledged, every
/// later read finds, in any process, until it is replaced, removed or over. A durable store has it after a crash.
///
/// ```
/// use bytes::Bytes;
/// use crossfeed_store::{Expected, StateStore, StoreError};
/// use std::time::Duration;
///
/// /// Becomes the only one that has the key, for a minute; says whether that worked.
/// async fn claim(state: &dyn StateStore, key: &str, owner: Bytes) -> Result<bool, StoreError> {
///     let time = Duration::from_secs(60);
///     let version = state.write(key, owner, Expected::Absent, time).await?;
///     Ok(version.is_some())
/// }
/// ```
#[async_trait]
pub trait StateStore: Send + Sync {
    /// The record of a key, if there is one.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] and its like when the backend fails.
    async fn read(&self, key: &str) -> Result<Option<StateRecord>, StoreError>;

    /// Writes a record that is kept for `time`, if what is there is what the caller expects; returns its version, or
    /// `None` if it was something else.
    ///
    /// # Errors
    ///
    /// [`StoreError::TooLarge`] for a key or value beyond their limits, and [`StoreError::Unavailable`] and its like
    /// when the backend fails.
    async fn write(
        &self,
        key: &str,
        value: Bytes,
        expected: Expected,
        time: Duration,
    ) -> Result<Option<u64>, StoreError>;

    /// Removes a record. One that is not there is not an error.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unavailable`] and its like when the backend fails.
    async fn remove(&self, key: &str) -> Result<(), StoreError>;
}
