//! The stores under test.

use crossfeed_store::{MemoryLimits, MemoryStore, ResultStore, StoreError};
use crossfeed_store_object::{ObjectBlobs, ObjectOptions};
use crossfeed_store_redis::{RedisDurability, RedisOptions, RedisStore};
use crossfeed_store_sqlite::{SqliteOptions, SqliteStore};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

/// How long a lease lasts here: less than in a service, so that a run sees some lapse.
pub(crate) const LEASE: Duration = Duration::from_secs(2);
/// How long a replica may take to confirm a write.
const CONFIRMED: Duration = Duration::from_millis(500);
/// How long object storage may take.
const BLOB_TIMEOUT: Duration = Duration::from_secs(1);
/// Data beyond this goes there: less than in a service, so that a run sees much of it.
const BLOB_BYTES: usize = 64 << 10;

/// Where a worker's store is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Backend {
    pub(crate) place: Place,
    /// Results of a session, at most.
    pub(crate) session_results: usize,
    /// Results and bytes of a tenant, at most, where tenants have limits.
    pub(crate) tenant: Option<(usize, usize)>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Place {
    /// The memory of the only process.
    Memory,
    /// A directory of SQLite's.
    Sqlite(PathBuf),
    /// Servers of Redis, so many of whose replicas have what is acknowledged, and large data elsewhere.
    Redis {
        url: String,
        replicas: usize,
        blobs: Option<Blobs>,
    },
}

/// Object storage: its URL and settings.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Blobs {
    pub(crate) url: String,
    pub(crate) settings: BTreeMap<String, String>,
}

fn refused(error: impl std::error::Error + Send + Sync + 'static) -> StoreError {
    StoreError::Unavailable {
        source: error.into(),
        retry: false,
    }
}

pub(crate) async fn open(backend: &Backend) -> Result<Arc<dyn ResultStore>, StoreError> {
    let limits = MemoryLimits::default()
        .with_session_bytes(8 << 30)
        .with_total_bytes(16 << 30)
        .with_artifact_bytes(8 << 30)
        .with_session_artifacts(1_000_000)
        .with_session_results(backend.session_results);
    match &backend.place {
        Place::Memory => Ok(Arc::new(MemoryStore::new(limits))),
        Place::Sqlite(directory) => {
            let options = SqliteOptions::default()
                .with_limits(limits)
                .with_keep_results(true)
                .with_lease(LEASE);
            Ok(Arc::new(SqliteStore::open(directory, options)?))
        }
        Place::Redis {
            url,
            replicas,
            blobs,
        } => {
            let options = RedisOptions::from_url(url).map_err(refused)?;
            let durability = match replicas {
                0 => RedisDurability::Primary,
                number => RedisDurability::Replicas {
                    number: *number,
                    within: CONFIRMED,
                },
            };
            let mut options = options
                .with_limits(limits)
                .with_lease_time(LEASE)
                .with_durability(durability);
            if let Some((results, bytes)) = backend.tenant {
                options = options
                    .with_tenant_results(Some(results))
                    .with_tenant_bytes(Some(bytes));
            }
            if let Some(Blobs { url, settings }) = blobs {
                let settings = ObjectOptions::default()
                    .with_settings(settings.clone())
                    .with_timeout(BLOB_TIMEOUT)
                    .with_retries(1);
                let blobs = ObjectBlobs::from_url(url, settings).map_err(refused)?;
                options = options
                    .with_blobs(Arc::new(blobs) as Arc<dyn crossfeed_store::BlobStore>)
                    .with_blob_bytes(BLOB_BYTES);
            }
            Ok(Arc::new(RedisStore::connect(options).await?))
        }
    }
}
