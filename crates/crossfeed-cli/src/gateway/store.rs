//! The store of a gateway, as its configuration says.

use crate::report::{CommandError, count};
use crossfeed::store::{
    MemoryLimits, MemoryStore, ResultStore, SqliteDurability, SqliteOptions, SqliteStore,
    StoreError,
};
use crossfeed_gateway::config::{self, GatewayConfig, StoreConfig, StoreLocation};
use std::{error::Error, fmt, path::Path, sync::Arc};

/// Why a store cannot be used.
#[derive(Debug)]
pub(super) struct UnusableStore {
    /// How the store is called: without secrets.
    name: String,
    error: StoreError,
}

impl fmt::Display for UnusableStore {
    /// With the backend's reason, which says most.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.error)?;
        let mut source = self.error.source();
        while let Some(error) = source {
            write!(f, ": {error}")?;
            source = error.source();
        }
        write!(f, "; {}", self.error.advice())
    }
}

impl From<UnusableStore> for CommandError {
    fn from(unusable: UnusableStore) -> Self {
        Self::usage(unusable.to_string())
    }
}

impl UnusableStore {
    /// The store of a configuration does not do what it must.
    pub(super) fn new(config: &GatewayConfig, error: StoreError) -> Self {
        match &config.store.location {
            StoreLocation::Sqlite(directory) => Self::of_directory(directory)(error),
            _ => Self {
                name: "the store".to_owned(),
                error,
            },
        }
    }

    fn of_directory(directory: &Path) -> impl Fn(StoreError) -> Self {
        let name = name(directory);
        move |error| Self {
            name: name.clone(),
            error,
        }
    }
}

fn name(directory: &Path) -> String {
    format!("the state in {}", directory.display())
}

/// The limits of results, as they are configured.
fn limits(config: &GatewayConfig) -> MemoryLimits {
    let limits = &config.limits;
    MemoryLimits::default()
        .with_session_bytes(limits.session_bytes)
        .with_total_bytes(limits.total_bytes)
        .with_session_results(limits.session_results)
        .with_time_to_live(limits.result_idle)
        .with_max_age(limits.result_age)
}

/// A store that ends with the process.
pub(super) fn in_memory(config: &GatewayConfig) -> Arc<dyn ResultStore> {
    Arc::new(MemoryStore::new(limits(config)))
}

fn sqlite_options(config: &GatewayConfig) -> SqliteOptions {
    let durability = match config.store.durability {
        Some(config::Durability::Flushed) => SqliteDurability::Flushed,
        _ => SqliteDurability::Process,
    };
    SqliteOptions::default()
        .with_limits(limits(config))
        .with_keep_results(true)
        .with_durability(durability)
}

/// Opens the store, and makes it if it is a directory that is not there yet.
pub(super) async fn open(config: &GatewayConfig) -> Result<Arc<dyn ResultStore>, UnusableStore> {
    let StoreConfig { location, .. } = &config.store;
    match location {
        StoreLocation::Sqlite(directory) => {
            let store = SqliteStore::open(directory, sqlite_options(config));
            let unusable = UnusableStore::of_directory(directory);
            let store = store.map_err(&unusable)?;
            let found = store.probe().map_err(&unusable)?;
            if !found.can_write {
                return Err(unusable(StoreError::ReadOnly { source: None }));
            }
            Ok(Arc::new(store))
        }
        _ => Ok(in_memory(config)),
    }
}

/// Reaches the store and says what is there, a line each; makes nothing. No line where nothing outlives the process.
pub(super) async fn probe(config: &GatewayConfig) -> Result<Vec<String>, UnusableStore> {
    match &config.store.location {
        StoreLocation::Sqlite(directory) => {
            let options = sqlite_options(config).with_must_exist(true);
            let unusable = UnusableStore::of_directory(directory);
            let store = match SqliteStore::open(directory, options) {
                Ok(store) => store,
                Err(StoreError::Absent) => {
                    let directory = directory.display();
                    let line = format!(
                        "{directory} holds nothing yet: the gateway makes it when it starts"
                    );
                    return Ok(vec![line]);
                }
                Err(error) => return Err(unusable(error)),
            };
            let found = store.probe().map_err(unusable)?;
            let free = found
                .free_bytes
                .map_or_else(String::new, |free| format!(", {} MiB free", free >> 20));
            let mut lines = vec![format!(
                "{}: {} ({} bytes), {} ({} bytes){free}",
                directory.display(),
                count(found.results, "result"),
                found.result_bytes,
                count(found.artifacts, "artifact"),
                found.artifact_bytes,
            )];
            if !found.can_write {
                lines.push(
                    "warning: it can only be read, so that the gateway would not start".to_owned(),
                );
            }
            Ok(lines)
        }
        _ => Ok(Vec::new()),
    }
}
