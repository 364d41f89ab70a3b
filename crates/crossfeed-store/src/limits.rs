//! How much a store keeps, and for how long.

use crate::{Budget, StoreError};
use derive_setters::Setters;
use std::time::Duration;

const MIB: usize = 1024 * 1024;

/// Limits of a [`MemoryStore`](crate::MemoryStore).
///
/// Bytes of results are raw bytes, arguments and index bytes; ids, names and the tables themselves
/// are not counted. A limit of zero admits nothing.
#[derive(Clone, Debug, PartialEq, Eq, Setters)]
#[setters(prefix = "with_")]
#[non_exhaustive]
pub struct MemoryLimits {
    /// How long a result is kept since its last use. 5 minutes: an agent that has not used a result
    /// for that long has gone on to something else, and can call the tool again.
    pub time_to_live: Duration,
    /// How long a result is kept at most, and how long a session's ids are remembered after its
    /// last result went. 1 hour: beyond that the data is likely to be out of date.
    pub max_age: Duration,
    /// Bytes of results in a session. 256 MiB: some dozens of the largest tool results.
    pub session_bytes: usize,
    /// Bytes of results in all sessions together. 1 GiB: what a server process can usually spare.
    pub total_bytes: usize,
    /// Results in a session. 1,000: longer than agents' sessions are, so that it only stops loops.
    pub session_results: usize,
    /// How many results that have gone are remembered in a session, the latest ones. 1,000: as many
    /// as there may be results.
    pub session_tombstones: usize,
    /// Bytes of arguments that are remembered with them. 1 MiB: 1 KiB for each, more than calls
    /// usually have.
    pub tombstone_bytes: usize,
    /// Bytes of artifacts in a session, index included. 64 MiB: artifacts are chosen parts, and
    /// nothing makes room for them.
    pub artifact_bytes: usize,
    /// Artifacts in a session. 1,000: as many as there may be results.
    pub session_artifacts: usize,
    /// How long an artifact is kept since it was recorded. None by default: it goes with its
    /// session.
    pub artifact_time_to_live: Option<Duration>,
}

impl Default for MemoryLimits {
    fn default() -> Self {
        Self {
            time_to_live: Duration::from_secs(5 * 60),
            max_age: Duration::from_secs(60 * 60),
            session_bytes: 256 * MIB,
            total_bytes: 1024 * MIB,
            session_results: 1000,
            session_tombstones: 1000,
            tombstone_bytes: MIB,
            artifact_bytes: 64 * MIB,
            session_artifacts: 1000,
            artifact_time_to_live: None,
        }
    }
}

impl MemoryLimits {
    /// The error for a result of so many bytes for which a session has no room: where its bytes would fit, because there
    /// are too many results.
    pub fn session_is_full(&self, bytes: usize, fits_bytes: bool) -> StoreError {
        let (budget, limit) = if fits_bytes {
            (Budget::SessionResults, self.session_results)
        } else {
            (Budget::SessionBytes, self.session_bytes)
        };
        StoreError::Full {
            bytes,
            budget,
            limit,
        }
    }

    /// Whether an artifact of so many bytes fits into a session beside its others.
    ///
    /// # Errors
    ///
    /// [`StoreError::Full`] where it does not.
    pub fn admit_artifact(
        &self,
        bytes: usize,
        others: usize,
        other_bytes: usize,
    ) -> Result<(), StoreError> {
        let (budget, limit) = if other_bytes.saturating_add(bytes) > self.artifact_bytes {
            (Budget::ArtifactBytes, self.artifact_bytes)
        } else if others >= self.session_artifacts {
            (Budget::SessionArtifacts, self.session_artifacts)
        } else {
            return Ok(());
        };
        Err(StoreError::Full {
            bytes,
            budget,
            limit,
        })
    }
}
