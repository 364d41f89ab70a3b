//! The stores under test.

use crossfeed_store::{MemoryLimits, ResultStore, StoreError};
use crossfeed_store_sqlite::{SqliteOptions, SqliteStore};
use serde::{Deserialize, Serialize};
use std::{error::Error as _, path::PathBuf, sync::Arc, time::Duration};

/// How long a lease lasts here: less than in a service, so that a run sees some lapse.
pub(crate) const LEASE: Duration = Duration::from_secs(2);

/// Where a worker's store is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Backend {
    pub(crate) place: Place,
    /// Results of a session, at most.
    pub(crate) session_results: usize,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Place {
    /// A directory of SQLite's.
    Sqlite(PathBuf),
}

pub(crate) async fn open(backend: &Backend) -> Result<Arc<dyn ResultStore>, StoreError> {
    let limits = MemoryLimits::default()
        .with_session_bytes(8 << 30)
        .with_total_bytes(16 << 30)
        .with_artifact_bytes(8 << 30)
        .with_session_artifacts(1_000_000)
        .with_session_results(backend.session_results);
    match &backend.place {
        Place::Sqlite(directory) => {
            let options = SqliteOptions::default().with_limits(limits);
            Ok(Arc::new(SqliteStore::open(directory, options)?))
        }
    }
}

/// An error with its causes.
pub(crate) fn said(error: &StoreError) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}
