//! What is in a store's directory, for people.

use crossfeed_store::Listed;
use crossfeed_wire::Scope;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// What [`SqliteStore::probe`](crate::SqliteStore::probe) has found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SqliteProbe {
    /// The store's directory.
    pub directory: PathBuf,
    /// Whether the store may be written.
    pub can_write: bool,
    /// Artifacts of all sessions, those included that have expired unseen.
    pub artifacts: usize,
    /// Bytes of their data and summaries.
    pub artifact_bytes: usize,
    /// Whether results are kept on the disk, see [`SqliteOptions::keep_results`](crate::SqliteOptions::keep_results).
    pub keeps_results: bool,
    /// Results of all sessions, those included that have expired unseen.
    pub results: usize,
    /// Their bytes.
    pub result_bytes: usize,
    /// What this user may still write on the file system, where that can be asked for.
    pub free_bytes: Option<u64>,
}

/// A result in a store's directory, of any session: a line of
/// [`SqliteStore::kept_results`](crate::SqliteStore::kept_results).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeptResult {
    /// Where its id means something.
    pub scope: Scope,
    /// The result.
    pub listed: Listed,
    /// The server of its tool, where it is known.
    pub server: Option<Arc<str>>,
    /// How long ago it was recorded.
    pub age: Duration,
}

/// What may still be written where a directory lies.
pub(crate) fn free_bytes(directory: &Path) -> Option<u64> {
    #[cfg(unix)]
    {
        let found = rustix::fs::statvfs(directory).ok()?;
        Some(found.f_bavail.saturating_mul(found.f_frsize))
    }
    #[cfg(not(unix))]
    {
        let _ = directory;
        None
    }
}
