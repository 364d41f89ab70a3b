//! The place of large results and artifacts.

use super::{UnusableStore, reasons};
use crossfeed::store::{BlobStore, ObjectBlobs, ObjectOptions};
use crossfeed_gateway::config::StoreConfig;
use std::sync::Arc;

fn blobs(config: &StoreConfig) -> Result<Option<ObjectBlobs>, UnusableStore> {
    let Some(url) = &config.blobs else {
        return Ok(None);
    };
    let options = ObjectOptions::default().with_settings(config.blob_settings.clone());
    let opened = ObjectBlobs::from_url(url, options);
    let opened = opened.map_err(|error| UnusableStore(format!("`blobs`: {}", reasons(&error))))?;
    Ok(Some(opened))
}

pub(super) fn open(config: &StoreConfig) -> Result<Option<Arc<dyn BlobStore>>, UnusableStore> {
    let blobs = blobs(config)?;
    Ok(blobs.map(|blobs| Arc::new(blobs) as Arc<dyn BlobStore>))
}

/// Reaches it, and says how it does.
pub(super) async fn probe(config: &StoreConfig) -> Result<Option<String>, UnusableStore> {
    let Some(blobs) = blobs(config)? else {
        return Ok(None);
    };
    match blobs.probe().await {
        Ok(found) => Ok(Some(found.to_string())),
        Err(error) => Err(UnusableStore::named(&blobs.to_string(), &error)),
    }
}
