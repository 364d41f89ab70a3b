//! The store of a gateway, as its configuration says.

#[cfg(feature = "redis")]
#[cfg_attr(not(feature = "object-store"), path = "store/no_blobs.rs")]
mod blobs;
#[cfg_attr(not(feature = "redis"), path = "store/no_redis.rs")]
mod redis;

use crate::report::{CommandError, count};
use crossfeed::store::{
    Expected, MemoryLimits, MemoryStore, ResultStore, SqliteDurability, SqliteOptions, SqliteStore,
    StateStore, StoreError, with_causes,
};
use crossfeed_gateway::{
    config::{Durability, GatewayConfig, StoreLocation},
    tools::Tools,
};
use std::{path::Path, sync::Arc, time::Duration};

/// Why a store cannot be used: which one, without secrets, the reason, and what to do.
#[derive(Debug)]
pub(super) struct UnusableStore(String);

/// What a secret or its file lacks.
impl From<String> for UnusableStore {
    fn from(why: String) -> Self {
        Self(why)
    }
}

impl From<UnusableStore> for CommandError {
    fn from(UnusableStore(why): UnusableStore) -> Self {
        Self::usage(why)
    }
}

impl UnusableStore {
    /// The store of a configuration does not do what it must.
    pub(super) fn new(config: &GatewayConfig, error: &StoreError) -> Self {
        Self::named(&name(&config.store.location), error)
    }

    /// With the backend's reason, which says most.
    fn named(name: &str, error: &StoreError) -> Self {
        Self(format!(
            "{name}: {}; {}",
            with_causes(error),
            error.advice()
        ))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

fn name(location: &StoreLocation) -> String {
    match location {
        StoreLocation::Sqlite(directory) => format!("the state in {}", directory.display()),
        StoreLocation::Redis(_) => "the store on Redis".to_owned(),
        _ => "the store".to_owned(),
    }
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

/// Opens the store, and makes it if it is a directory that is not there yet.
pub(super) async fn open(config: &GatewayConfig) -> Result<Arc<dyn ResultStore>, UnusableStore> {
    match &config.store.location {
        StoreLocation::Sqlite(directory) => {
            open_sqlite(config, directory).map_err(|error| UnusableStore::new(config, &error))
        }
        StoreLocation::Redis(url) => redis::open(config, url).await,
        _ => Ok(in_memory(config)),
    }
}

/// Reaches the store that gateways with this configuration have in common, and makes nothing. None where nothing is there
/// yet, or nothing outlives the process.
pub(super) async fn find(
    config: &GatewayConfig,
) -> Result<Option<Arc<dyn ResultStore>>, UnusableStore> {
    match &config.store.location {
        StoreLocation::Sqlite(directory) => {
            let options = sqlite_options(config).with_must_exist(true);
            match SqliteStore::open(directory, options) {
                Ok(store) => Ok(Some(Arc::new(store))),
                Err(StoreError::Absent) => Ok(None),
                Err(error) => Err(UnusableStore::new(config, &error)),
            }
        }
        StoreLocation::Redis(url) => Ok(Some(redis::find(config, url).await?)),
        _ => Ok(None),
    }
}

/// Reaches the store and says what is there, a line each; makes nothing that stays. No line where nothing outlives the
/// process.
pub(super) async fn probe(config: &GatewayConfig) -> Result<Vec<String>, UnusableStore> {
    match &config.store.location {
        StoreLocation::Sqlite(directory) => {
            let probed = probe_sqlite(config, directory).await;
            let line = probed.map_err(|error| UnusableStore::new(config, &error))?;
            Ok(vec![line])
        }
        StoreLocation::Redis(url) => redis::probe(config, url).await,
        _ => Ok(Vec::new()),
    }
}

/// Reads the records without which the gateway would not start.
async fn check_records(
    config: &GatewayConfig,
    store: Arc<dyn ResultStore>,
) -> Result<(), StoreError> {
    // The store's key of ids does not count beside those of the configuration.
    if config.id_keys.is_some() {
        return Ok(());
    }
    Tools::check_records(store).await
}

/// Writes a record, reads it and removes it.
async fn try_out(state: &dyn StateStore) -> Result<(), StoreError> {
    const KEY: &str = "gateway/check";
    let time = Duration::from_secs(10);
    let value = "checked".into();
    state.write(KEY, value, Expected::Any, time).await?;
    state.read(KEY).await?;
    state.remove(KEY).await
}

fn sqlite_options(config: &GatewayConfig) -> SqliteOptions {
    let durability = match config.store.durability {
        Some(Durability::Flushed) => SqliteDurability::Flushed,
        _ => SqliteDurability::Process,
    };
    SqliteOptions::default()
        .with_limits(limits(config))
        .with_keep_results(true)
        .with_durability(durability)
}

fn open_sqlite(
    config: &GatewayConfig,
    directory: &Path,
) -> Result<Arc<dyn ResultStore>, StoreError> {
    let store = SqliteStore::open(directory, sqlite_options(config))?;
    if !store.probe()?.can_write {
        return Err(StoreError::ReadOnly { source: None });
    }
    Ok(Arc::new(store))
}

async fn probe_sqlite(config: &GatewayConfig, directory: &Path) -> Result<String, StoreError> {
    let place = directory.display();
    let options = sqlite_options(config).with_must_exist(true);
    let store = match SqliteStore::open(directory, options) {
        Ok(store) => store,
        Err(StoreError::Absent) => {
            SqliteStore::check_writable(directory)?;
            return Ok(format!(
                "{place}: nothing is there yet, the gateway makes it when it starts"
            ));
        }
        Err(error) => return Err(error),
    };
    let found = store.probe()?;
    if !found.can_write {
        return Err(StoreError::ReadOnly { source: None });
    }
    SqliteStore::check_writable(directory)?;
    if let Some(state) = store.state() {
        try_out(state).await?;
    }
    check_records(config, Arc::new(store)).await?;
    let free = found
        .free_bytes
        .map_or_else(String::new, |free| format!(", {} MiB free", free >> 20));
    Ok(format!(
        "{place}: {} of {} bytes, {} of {} bytes{free}",
        count(found.results, "result"),
        found.result_bytes,
        count(found.artifacts, "artifact"),
        found.artifact_bytes,
    ))
}
