//! Replaces the store on Redis in builds without it.

use super::UnusableStore;
use crossfeed::store::ResultStore;
use crossfeed_gateway::config::GatewayConfig;
use std::sync::Arc;

fn absent() -> UnusableStore {
    let why = "this build has no store on Redis: the released binaries and images have it, or build with \
               `--features redis,object-store`";
    UnusableStore(why.to_owned())
}

pub(super) async fn open(
    _: &GatewayConfig,
    _: &str,
) -> Result<Arc<dyn ResultStore>, UnusableStore> {
    Err(absent())
}

pub(super) async fn find(
    _: &GatewayConfig,
    _: &str,
) -> Result<Arc<dyn ResultStore>, UnusableStore> {
    Err(absent())
}

pub(super) async fn probe(_: &GatewayConfig, _: &str) -> Result<Vec<String>, UnusableStore> {
    Err(absent())
}
