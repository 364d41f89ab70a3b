//! The keys that sign the ids of clients without sessions, where the configuration has them.

use super::keys::KeyList;
use crossfeed_gateway::{config::GatewayConfig, tools::IdKeys};

const KEY: &str = "idKeys";

/// The keys, and what is said of them; or why they cannot be used.
pub(super) fn read(config: &GatewayConfig) -> Result<Option<(IdKeys, String)>, String> {
    let Some(secret) = &config.id_keys else {
        return Ok(None);
    };
    let keys = KeyList::read(secret, KEY)?;
    let shown = keys.shown("signed with", "known also by");
    let keys = keys.into_iter().map(|key| key.bytes).collect();
    let keys = IdKeys::try_new(keys)
        .map_err(|error| format!("`{KEY}`: {error}: remove the earliest ones"))?;
    Ok(Some((keys, shown)))
}
