//! Which key encrypted large data last, so that no gateway goes on without it.
//!
//! A record of the store for each place of large data: the key's id, as JSON with the number of its format. Other members
//! are ignored.

use super::{UnusableStore, keys::Keys};
use crossfeed::store::{Damage, Digest, Expected, StateStore, StoreError, TenantKeys as _};
use crossfeed_gateway::config::GatewayConfig;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The format that is written, and the last one that is read.
const FORMAT: i64 = 1;
/// How long a key is noted after the last start with it: longer than processes run.
const TIME: Duration = Duration::from_secs(365 * 24 * 60 * 60);

#[derive(Serialize, Deserialize)]
struct Noted {
    format: i64,
    key: String,
}

/// Refuses keys without the one that encrypted last; with `notes`, notes the one that does from now on.
pub(super) async fn check(
    config: &GatewayConfig,
    place: &str,
    keys: Option<&Keys>,
    state: &dyn StateStore,
    notes: bool,
) -> Result<(), UnusableStore> {
    let record = format!("gateway/blob-key/{}", Digest::of(place.as_bytes()).to_hex());
    let unusable = |error: StoreError| UnusableStore::new(config, &error);
    let noted = match state.read(&record).await.map_err(unusable)? {
        Some(noted) => Some(read(&record, &noted.value).map_err(unusable)?),
        None => None,
    };
    let has = |id: &str| keys.is_some_and(|keys| keys.by_id("", id).is_some());
    if let Some(Noted { key, .. }) = noted.filter(|noted| !has(&noted.key)) {
        return Err(UnusableStore(format!(
            "`store.blobKeys`: the key `{key}`, which encrypted large data last, is missing: add it, or give `blobs` \
             another prefix if it is lost"
        )));
    }
    if let Some(current) = keys.and_then(|keys| keys.current("")).filter(|_| notes) {
        let noted = Noted {
            format: FORMAT,
            key: current.id().to_owned(),
        };
        let value = serde_json::to_vec(&noted).map_err(|source| StoreError::Unavailable {
            source: Box::new(source),
            retry: false,
        });
        let written = state.write(
            &record,
            value.map_err(unusable)?.into(),
            Expected::Any,
            TIME,
        );
        written.await.map_err(unusable)?;
    }
    Ok(())
}

fn read(record: &str, value: &[u8]) -> Result<Noted, StoreError> {
    #[derive(Deserialize)]
    struct Header {
        format: i64,
    }
    let damaged = |source: serde_json::Error| StoreError::Damaged {
        damage: Damage::Record {
            key: record.to_owned(),
        },
        source: Some(source.into()),
    };
    let Header { format } = serde_json::from_slice(value).map_err(damaged)?;
    if format > FORMAT {
        return Err(StoreError::Newer {
            found: format,
            known: FORMAT,
        });
    }
    serde_json::from_slice(value).map_err(damaged)
}
