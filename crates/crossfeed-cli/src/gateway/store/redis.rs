//! A store on Redis or Valkey.

use super::{UnusableStore, blobs, limits};
use crossfeed::store::{
    Expected, Password, RedisDurability, RedisOptions, RedisStore, ResultStore, StateStore as _,
    StoreError,
};
use crossfeed_gateway::config::{Durability, GatewayConfig, StoreConfig};
use std::{
    fs, io,
    sync::Arc,
    time::{Duration, Instant},
};

/// How long the servers are waited for at the start: they may have been started together with the gateway.
const START_TIMEOUT: Duration = Duration::from_secs(10);
const RETRY_INTERVAL: Duration = Duration::from_millis(500);
/// The most bytes of a file with a password.
const MAX_PASSWORD_BYTES: usize = 64 << 10;

/// Connects to the servers, and waits for them if they are not there yet.
pub(super) async fn open(
    config: &GatewayConfig,
    url: &str,
) -> Result<Arc<dyn ResultStore>, UnusableStore> {
    let store = connect(config, url, START_TIMEOUT).await?;
    Ok(Arc::new(store))
}

/// Asks the servers what they are, and writes a record, reads it and removes it.
pub(super) async fn probe(config: &GatewayConfig, url: &str) -> Result<Vec<String>, UnusableStore> {
    let store = connect(config, url, Duration::ZERO).await?;
    let found = try_out(&store).await;
    let mut lines = found.map_err(|error| UnusableStore::new(config, &error))?;
    lines.extend(blobs::probe(&config.store).await?);
    Ok(lines)
}

async fn try_out(store: &RedisStore) -> Result<Vec<String>, StoreError> {
    const KEY: &str = "gateway/check";
    let found = store.probe().await?;
    let began = Instant::now();
    let time = Duration::from_secs(10);
    store
        .write(KEY, "checked".into(), Expected::Any, time)
        .await?;
    store.read(KEY).await?;
    store.remove(KEY).await?;
    let took = began.elapsed().as_millis();
    let line = format!("{found}; a record was written, read and removed in {took} ms");
    let warnings = found.warnings.iter().map(|said| format!("warning: {said}"));
    Ok([line].into_iter().chain(warnings).collect())
}

async fn connect(
    config: &GatewayConfig,
    url: &str,
    patience: Duration,
) -> Result<RedisStore, UnusableStore> {
    let options = options(config, url)?;
    let until = Instant::now() + patience;
    let mut is_first = true;
    loop {
        let error = match RedisStore::connect(options.clone()).await {
            Ok(store) => return Ok(store),
            Err(error) => error,
        };
        if !error.may_retry() || Instant::now() >= until {
            return Err(UnusableStore::new(config, &error));
        }
        if std::mem::take(&mut is_first) {
            tracing::warn!(target: "crossfeed::gateway", %error, "waiting for the store");
        }
        tokio::time::sleep(RETRY_INTERVAL).await;
    }
}

fn options(config: &GatewayConfig, url: &str) -> Result<RedisOptions, UnusableStore> {
    let unusable = |error: &dyn std::fmt::Display| UnusableStore(format!("`store.url`: {error}"));
    let store = &config.store;
    let mut options = RedisOptions::from_url(url).map_err(|error| unusable(&error))?;
    options.limits = limits(config);
    options.tenant_bytes = store.tenant_bytes;
    options.tenant_results = store.tenant_results;
    options.blobs = blobs::open(store)?;
    if let Some(username) = &store.username {
        options = options.with_username(username.as_str());
    }
    if let Some(password) = password(store)? {
        options = options.with_password(Password::new(password));
    }
    if let Some(Durability::Replicas { number, within }) = store.durability {
        let number = number.get();
        options = options.with_durability(RedisDurability::Replicas { number, within });
    }
    Ok(options)
}

/// The password, from its file if it has one, where a line's end is not a part of it.
fn password(store: &StoreConfig) -> Result<Option<String>, UnusableStore> {
    let Some(file) = &store.password_file else {
        return Ok(store.password.clone());
    };
    let read = fs::read_to_string(file).and_then(|text| {
        if text.len() > MAX_PASSWORD_BYTES {
            return Err(io::Error::other("it is too long for a password"));
        }
        Ok(text)
    });
    match read {
        Ok(text) => Ok(Some(text.trim_end_matches(['\r', '\n']).to_owned())),
        Err(error) => {
            let file = file.display();
            Err(UnusableStore(format!(
                "cannot read the password of the store from {file}: {error}"
            )))
        }
    }
}
