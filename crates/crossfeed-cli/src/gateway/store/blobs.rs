//! The place of large results and artifacts.

use super::{UnusableStore, keys::Keys, noted_key, secret};
use crossfeed::store::{BlobStore, ObjectBlobs, ObjectOptions, StateStore, with_causes};
use crossfeed_gateway::config::{GatewayConfig, Secret, StoreConfig};
use std::sync::Arc;

fn blobs(
    config: &StoreConfig,
    keys: Option<Arc<Keys>>,
) -> Result<Option<ObjectBlobs>, UnusableStore> {
    let Some(url) = &config.blobs else {
        return Ok(None);
    };
    let mut options = ObjectOptions::default().with_settings(config.blob_settings.clone());
    if let Some(keys) = keys {
        options = options.with_keys(keys);
    }
    let opened = ObjectBlobs::from_url(url, options);
    let opened =
        opened.map_err(|error| UnusableStore(format!("`store.blobs`: {}", with_causes(&error))))?;
    Ok(Some(opened))
}

fn keys(config: &StoreConfig) -> Result<Option<Arc<Keys>>, UnusableStore> {
    let Some(secret) = &config.blob_keys else {
        return Ok(None);
    };
    const KEY: &str = "blobKeys";
    let keys = Keys::parse(&secret::read(secret, KEY)?).map_err(|error| {
        let place = match secret {
            Secret::File(path) => format!("File`: `{}`", path.display()),
            Secret::Text(_) => "`".to_owned(),
        };
        UnusableStore(format!("`store.{KEY}{place}: {error}"))
    })?;
    Ok(Some(Arc::new(keys)))
}

pub(super) fn open(config: &StoreConfig) -> Result<Option<Arc<dyn BlobStore>>, UnusableStore> {
    let blobs = blobs(config, keys(config)?)?;
    Ok(blobs.map(|blobs| Arc::new(blobs) as Arc<dyn BlobStore>))
}

/// That the keys are those with which earlier gateways wrote; `notes` whether they are to be so from now on.
pub(super) async fn check_keys(
    config: &GatewayConfig,
    state: &dyn StateStore,
    notes: bool,
) -> Result<(), UnusableStore> {
    let Some(place) = &config.store.blobs else {
        return Ok(());
    };
    let keys = keys(&config.store)?;
    noted_key::check(config, place, keys.as_deref(), state, notes).await
}

/// Reaches it, and says how it does.
pub(super) async fn probe(config: &StoreConfig) -> Result<Option<String>, UnusableStore> {
    let keys = keys(config)?;
    let Some(blobs) = blobs(config, keys.clone())? else {
        return Ok(None);
    };
    match blobs.probe().await {
        Ok(found) => Ok(Some(match keys {
            Some(keys) => format!("{found}; {keys}"),
            None => format!("{found}; not encrypted"),
        })),
        Err(error) => Err(UnusableStore::named(&blobs.to_string(), &error)),
    }
}
