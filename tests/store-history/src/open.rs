//! The stores under test.

use crossfeed_store::{MemoryLimits, ResultStore, StoreError};
use crossfeed_store_redis::{RedisDurability, RedisOptions, RedisStore};
use crossfeed_store_sqlite::{SqliteOptions, SqliteStore};
use serde::{Deserialize, Serialize};
use std::{error::Error as _, path::PathBuf, sync::Arc, time::Duration};

/// How long a lease lasts here: less than in a service, so that a run sees some lapse.
pub(crate) const LEASE: Duration = Duration::from_secs(2);
/// How long a replica may take to confirm a write.
const CONFIRMED: Duration = Duration::from_millis(500);

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
    /// Servers of Redis, so many of whose replicas have what is acknowledged.
    Redis { url: String, replicas: usize },
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
            let options = SqliteOptions::default()
                .with_limits(limits)
                .with_keep_results(true)
                .with_lease(LEASE);
            Ok(Arc::new(SqliteStore::open(directory, options)?))
        }
        Place::Redis { url, replicas } => {
            let options = RedisOptions::from_url(url).map_err(|error| StoreError::Unavailable {
                source: error.into(),
                retry: false,
            })?;
            let durability = match replicas {
                0 => RedisDurability::Primary,
                number => RedisDurability::Replicas {
                    number: *number,
                    within: CONFIRMED,
                },
            };
            let options = options
                .with_limits(limits)
                .with_lease_time(LEASE)
                .with_durability(durability);
            Ok(Arc::new(RedisStore::connect(options).await?))
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
