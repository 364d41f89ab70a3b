//! A store on Redis or Valkey.

use super::{super::secret, UnusableStore, blobs, check_records, limits, try_out};
use crossfeed::store::{
    Password, RedisDurability, RedisOptions, RedisStore, ResultStore, StoreError, TlsIdentity,
    with_causes,
};
use crossfeed_gateway::config::{Durability, GatewayConfig, Secret};
use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

/// How long the servers are waited for at the start: they may have been started together with the gateway.
pub(super) const START_TIMEOUT: Duration = Duration::from_secs(10);
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// Connects to the servers, and waits for them if they are not there yet.
pub(super) async fn open(
    config: &GatewayConfig,
    url: &str,
) -> Result<Arc<dyn ResultStore>, UnusableStore> {
    let options = options(config, url)?;
    let connect = async |options: RedisOptions| {
        let store = connect(config, &options, START_TIMEOUT).await?;
        Ok(Arc::new(store) as Arc<dyn ResultStore>)
    };
    let store = connect(options.clone()).await?;
    match blobs::open(config, &store).await? {
        Some(blobs) => connect(options.with_blobs(blobs)).await,
        None => Ok(store),
    }
}

/// Connects to the servers if they are there, for records alone.
pub(super) async fn find(
    config: &GatewayConfig,
    url: &str,
) -> Result<Arc<dyn ResultStore>, UnusableStore> {
    let store = connect(config, &options(config, url)?, Duration::ZERO).await?;
    Ok(Arc::new(store))
}

/// Asks the servers what they are, and writes a record, reads it and removes it.
pub(super) async fn probe(config: &GatewayConfig, url: &str) -> Result<Vec<String>, UnusableStore> {
    let store = connect(config, &options(config, url)?, Duration::ZERO).await?;
    let found = report(&store).await;
    let mut lines = found.map_err(|error| UnusableStore::new(config, &error))?;
    let store: Arc<dyn ResultStore> = Arc::new(store);
    let blobs = blobs::probe(config, &store).await?;
    let checked = check_records(config, store).await;
    checked.map_err(|error| UnusableStore::new(config, &error))?;
    lines.extend(blobs);
    Ok(lines)
}

async fn report(store: &RedisStore) -> Result<Vec<String>, StoreError> {
    let found = store.probe().await?;
    let began = Instant::now();
    try_out(store).await?;
    let took = began.elapsed().as_millis();
    let line = format!("{found}; a record was written, read and removed in {took} ms");
    let warnings = found.warnings.iter().map(|said| format!("warning: {said}"));
    Ok([line].into_iter().chain(warnings).collect())
}

async fn connect(
    config: &GatewayConfig,
    options: &RedisOptions,
    patience: Duration,
) -> Result<RedisStore, UnusableStore> {
    let connect = async || RedisStore::connect(options.clone()).await;
    let connected = patiently(patience, "waiting for the store", connect).await;
    connected.map_err(|error| UnusableStore::new(config, &error))
}

/// Tries until it is done, fails for good, or fails after so long; says once that it waits.
pub(super) async fn patiently<T>(
    patience: Duration,
    waiting: &str,
    attempt: impl AsyncFn() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let until = Instant::now() + patience;
    let mut is_first = true;
    loop {
        let error = match attempt().await {
            Err(error) if error.may_retry() && Instant::now() < until => error,
            outcome => return outcome,
        };
        if std::mem::take(&mut is_first) {
            let error = with_causes(&error);
            tracing::warn!(target: "crossfeed::gateway", error, "{waiting}");
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
    if let Some(prefix) = &store.prefix {
        options.prefix.clone_from(prefix);
    }
    if let Some(username) = &store.username {
        options = options.with_username(username.as_str());
    }
    let password = |secret: &Option<Secret>, key| {
        let secret = secret.as_ref().map(|secret| secret::read(secret, key));
        Ok::<_, String>(secret.transpose()?.map(Password::new))
    };
    if let Some(password) = password(&store.password, "store.password")? {
        options = options.with_password(password);
    }
    if let Some(password) = password(&store.sentinel_password, "store.sentinelPassword")? {
        options = options.with_sentinel_password(password);
    }
    if let Some(roots) = &store.tls_roots {
        options = options.with_tls_roots(pem(roots, "store.tlsRootsFile", "CERTIFICATE")?);
    }
    if let Some([certificate, key]) = &store.tls_identity {
        let certificate = pem(certificate, "store.tlsCertificateFile", "CERTIFICATE")?;
        let key = pem(key, "store.tlsKeyFile", "PRIVATE KEY")?;
        options = options.with_tls_identity(TlsIdentity::new(certificate, key));
    }
    if let Some(Durability::Replicas { number, within }) = store.durability {
        let number = number.get();
        options = options.with_durability(RedisDurability::Replicas { number, within });
    }
    Ok(options)
}

/// A file that has what it must in PEM.
fn pem(path: &Path, key: &str, what: &str) -> Result<Vec<u8>, UnusableStore> {
    let bytes = secret::read_file(path, key)?;
    let is_whole = String::from_utf8_lossy(&bytes).contains(&format!("{what}-----"));
    if is_whole {
        return Ok(bytes.into());
    }
    Err(UnusableStore(format!(
        "`{key}`: `{}` holds no {} in PEM",
        path.display(),
        what.to_lowercase()
    )))
}
