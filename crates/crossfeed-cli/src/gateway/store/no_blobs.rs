//! Replaces object storage in builds without it.

use super::UnusableStore;
use crossfeed::store::{BlobStore, StateStore};
use crossfeed_gateway::config::{GatewayConfig, StoreConfig};
use std::sync::Arc;

fn absent() -> UnusableStore {
    let why = "this build has no object storage for `blobs`: the released binaries and images have it, or build with \
               `--features redis,object-store`";
    UnusableStore(why.to_owned())
}

pub(super) fn open(config: &StoreConfig) -> Result<Option<Arc<dyn BlobStore>>, UnusableStore> {
    config.blobs.as_ref().map_or(Ok(None), |_| Err(absent()))
}

pub(super) async fn check_keys(
    _: &GatewayConfig,
    _: &dyn StateStore,
    _: bool,
) -> Result<(), UnusableStore> {
    Ok(())
}

pub(super) async fn probe(config: &StoreConfig) -> Result<Option<String>, UnusableStore> {
    open(config).map(|_| None)
}
