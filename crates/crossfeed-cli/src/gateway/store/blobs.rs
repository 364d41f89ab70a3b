//! The place of large results and artifacts.

use super::{
    super::keys::KeyList,
    UnusableStore,
    redis::{START_TIMEOUT, patiently},
};
use crossfeed::store::{
    BlobStore, ObjectBlobs, ObjectOptions, ResultStore, StoreError, TenantKey, TenantKeys,
    with_causes,
};
use crossfeed_gateway::{
    config::{GatewayConfig, StoreConfig},
    noted_blobs::NotedBlobs,
};
use std::{sync::Arc, time::Duration};

/// Opens the place, waits until it can be used, and notes in `store`, which holds the records, that it is.
pub(super) async fn open(
    config: &GatewayConfig,
    store: &Arc<dyn ResultStore>,
) -> Result<Option<Arc<dyn BlobStore>>, UnusableStore> {
    let Some((url, place)) = BlobPlace::of(config, store).await? else {
        return Ok(None);
    };
    match place.try_out(START_TIMEOUT).await {
        // What is there can be read.
        Err(error @ (StoreError::NoSpace { .. } | StoreError::ReadOnly { .. }))
            if place.is_noted =>
        {
            tracing::warn!(target: "crossfeed::gateway", error = with_causes(&error), "large results and artifacts cannot be kept");
        }
        tried => drop(tried.map_err(|error| place.unusable(&error))?),
    }
    let key = place.keys.and_then(|(keys, _)| keys.current(""));
    let note = NotedBlobs::new(key.map(|key| key.id().to_owned()));
    let noted = note.write(Arc::clone(store), url).await;
    noted.map_err(|error| UnusableStore::new(config, &error))?;
    Ok(Some(Arc::new(place.blobs)))
}

/// Reaches it, and says how it does.
pub(super) async fn probe(
    config: &GatewayConfig,
    store: &Arc<dyn ResultStore>,
) -> Result<Option<String>, UnusableStore> {
    let Some((_, place)) = BlobPlace::of(config, store).await? else {
        return Ok(None);
    };
    let found = place.try_out(Duration::ZERO).await;
    let found = found.map_err(|error| place.unusable(&error))?;
    Ok(Some(match place.keys {
        Some((_, shown)) => format!("{found}; {shown}"),
        None => format!("{found}; not encrypted"),
    }))
}

/// A place, of which no server was asked yet.
struct BlobPlace {
    blobs: ObjectBlobs,
    /// The keys, and what is said of them.
    keys: Option<(Arc<BlobKeys>, String)>,
    /// Whether gateways have used it.
    is_noted: bool,
}

impl BlobPlace {
    /// The place that is configured, and its URL, unless something is missing that earlier gateways had there.
    async fn of<'c>(
        config: &'c GatewayConfig,
        store: &Arc<dyn ResultStore>,
    ) -> Result<Option<(&'c str, Self)>, UnusableStore> {
        let StoreConfig {
            blobs: Some(place),
            blob_settings,
            ..
        } = &config.store
        else {
            return Ok(None);
        };
        let keys = BlobKeys::of(&config.store)?;
        let keys = keys.map(|(keys, shown)| (Arc::new(keys), shown));
        let noted = NotedBlobs::read(Arc::clone(store), place).await;
        let noted = noted.map_err(|error| UnusableStore::new(config, &error))?;
        let is_noted = noted.is_some();
        let mut options = ObjectOptions::default()
            .with_settings(blob_settings.clone())
            .with_must_exist(is_noted);
        let has = |id: &str| {
            keys.as_ref()
                .is_some_and(|(keys, _)| keys.by_id("", id).is_some())
        };
        if let Some(key) = noted.and_then(|noted| noted.key).filter(|key| !has(key)) {
            return Err(UnusableStore(format!(
                "`store.blobKeys`: the key `{key}`, which encrypted large data last, is missing: add it, or give \
                 `blobs` another prefix if it is lost"
            )));
        }
        if let Some((keys, _)) = &keys {
            options = options.with_keys(Arc::clone(keys) as Arc<_>);
        }
        let opened = ObjectBlobs::from_url(place, options);
        let blobs = opened
            .map_err(|error| UnusableStore(format!("`store.blobs`: {}", with_causes(&error))))?;
        let opened = Self {
            blobs,
            keys,
            is_noted,
        };
        Ok(Some((place, opened)))
    }

    async fn try_out(&self, patience: Duration) -> Result<String, StoreError> {
        let try_out = async || self.blobs.probe().await;
        let found = patiently(patience, "waiting for the place of large results", try_out).await;
        Ok(found?.to_string())
    }

    fn unusable(&self, error: &StoreError) -> UnusableStore {
        UnusableStore::named(&self.blobs.to_string(), error)
    }
}

/// The keys of a gateway, whose results all are of one tenant.
#[derive(Debug)]
struct BlobKeys(Vec<TenantKey>);

impl BlobKeys {
    /// Those of a configuration, and what is said of them.
    fn of(config: &StoreConfig) -> Result<Option<(Self, String)>, UnusableStore> {
        let Some(secret) = &config.blob_keys else {
            return Ok(None);
        };
        const KEY: &str = "store.blobKeys";
        let keys = KeyList::read(secret, KEY)?;
        let shown = keys.shown("encrypted with", "read also with");
        let keys = keys
            .into_iter()
            .map(|key| TenantKey::new(key.id, key.bytes));
        let keys = keys.collect::<Result<_, _>>();
        let keys = keys.map_err(|error| UnusableStore(format!("`{KEY}`: {error}")))?;
        Ok(Some((Self(keys), shown)))
    }
}

impl TenantKeys for BlobKeys {
    fn current(&self, _: &str) -> Option<TenantKey> {
        self.0.first().cloned()
    }

    fn by_id(&self, _: &str, id: &str) -> Option<TenantKey> {
        self.0.iter().find(|key| key.id() == id).cloned()
    }
}
