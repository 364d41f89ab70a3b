//! Replaces object storage in builds without it.

use super::UnusableStore;
use crossfeed::store::{BlobStore, ResultStore};
use crossfeed_gateway::config::GatewayConfig;
use std::sync::Arc;

pub(super) async fn open(
    config: &GatewayConfig,
    _: &Arc<dyn ResultStore>,
) -> Result<Option<Arc<dyn BlobStore>>, UnusableStore> {
    let why = "this build has no object storage for `blobs`: the released binaries and images have it, or build with \
               `--features redis,object-store`";
    let blobs = config.store.blobs.as_ref();
    blobs.map_or(Ok(None), |_| Err(UnusableStore(why.to_owned())))
}

pub(super) async fn probe(
    config: &GatewayConfig,
    store: &Arc<dyn ResultStore>,
) -> Result<Option<String>, UnusableStore> {
    open(config, store).await.map(|_| None)
}
