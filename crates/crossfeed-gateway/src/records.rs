//! What the gateway must know again after a restart, as records in its store: sessions, the numbers of ids, a key.
//!
//! A record is JSON with the number of its format and its own key, so that one that was copied under another key is known.
//! Members that this version does not know are ignored; a record of a later format is an error, since what it means is
//! unknown.

#[cfg(test)]
pub(crate) mod fake;
pub(crate) mod owned;
pub(crate) mod session;
pub(crate) mod task;

use bytes::Bytes;
use crossfeed_store::{
    Damage, Digest, Expected, Listed, ListedArtifact, ResultStore, StateStore, StoreError,
    with_causes,
};
use crossfeed_wire::Scope;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::{error::Error, sync::Arc, time::Duration};

/// The format that is written, and the last one that is read.
const FORMAT: i64 = 1;

/// The records of a gateway; only of a store that has a place for them.
#[derive(Clone)]
pub struct Records(Arc<dyn ResultStore>);

/// A record as it was read, and which write it was.
pub(crate) struct Found<T> {
    pub(crate) value: T,
    pub(crate) version: u64,
}

#[derive(Deserialize)]
struct Format {
    format: i64,
}

#[derive(Deserialize)]
struct Named {
    of: String,
}

#[derive(Serialize)]
struct Written<'v, T> {
    format: i64,
    of: &'v str,
    #[serde(flatten)]
    value: &'v T,
}

/// The key of a record: its kind, and a digest of what it is about, which may be a secret.
pub(crate) struct Key(String);

impl Key {
    pub(crate) fn new(kind: &'static str, parts: &[&str]) -> Self {
        let parts = parts.iter().map(|part| Some(part.as_bytes()));
        let digest = Digest::of_parts(parts).to_hex();
        Self(format!("gateway/{kind}/{digest}"))
    }

    pub(crate) fn of_scope(kind: &'static str, scope: &Scope) -> Self {
        Self::new(kind, &[scope.tenant(), scope.project(), scope.session()])
    }

    /// What is under the key makes no sense.
    pub(crate) fn damaged(&self, source: Option<Box<dyn Error + Send + Sync>>) -> StoreError {
        let key = self.0.clone();
        let damage = Damage::Record { key };
        StoreError::Damaged { damage, source }
    }
}

impl Records {
    /// The records of a store, if it keeps any.
    pub(crate) fn of(store: Arc<dyn ResultStore>) -> Option<Self> {
        store.state()?;
        Some(Self(store))
    }

    fn state(&self) -> Result<&dyn StateStore, StoreError> {
        self.0.state().ok_or(StoreError::Absent)
    }

    /// Whether the store answers, whatever is in it: asks for what is never written.
    pub(crate) async fn answer(&self) -> Result<(), StoreError> {
        let Key(never) = Key::new("none", &[]);
        self.state()?.read(&never).await.map(drop)
    }

    pub(crate) async fn read<T: DeserializeOwned>(
        &self,
        key: &Key,
    ) -> Result<Option<Found<T>>, StoreError> {
        let Some(record) = self.state()?.read(&key.0).await? else {
            return Ok(None);
        };
        let damaged = |source: serde_json::Error| key.damaged(Some(source.into()));
        let Format { format } = serde_json::from_slice(&record.value).map_err(damaged)?;
        if format > FORMAT {
            return Err(StoreError::Newer {
                found: format,
                known: FORMAT,
            });
        }
        let Named { of } = serde_json::from_slice(&record.value).map_err(damaged)?;
        if of != key.0 {
            return Err(key.damaged(Some("it was written under another key".into())));
        }
        let value = serde_json::from_slice(&record.value).map_err(damaged)?;
        let version = record.version;
        Ok(Some(Found { value, version }))
    }

    /// Writes a record that is kept for `time`; returns its version, or `None` where something else is there than
    /// expected.
    pub(crate) async fn write<T: Serialize + Sync>(
        &self,
        key: &Key,
        value: &T,
        expected: Expected,
        time: Duration,
    ) -> Result<Option<u64>, StoreError> {
        let written = Written {
            format: FORMAT,
            of: &key.0,
            value,
        };
        let text = serde_json::to_vec(&written).map_err(|source| StoreError::Unavailable {
            source: Box::new(source),
            retry: false,
        })?;
        self.state()?
            .write(&key.0, Bytes::from(text), expected, time)
            .await
    }

    /// The same for a record that may be there already, to be kept for longer. Where the store is full, that stays.
    pub(crate) async fn keep<T>(
        &self,
        key: &Key,
        value: &T,
        expected: Expected,
        time: Duration,
    ) -> Result<Option<u64>, StoreError>
    where
        T: Serialize + DeserializeOwned + PartialEq + Sync,
    {
        let error = match self.write(key, value, expected, time).await {
            Err(error @ StoreError::NoSpace { .. }) => error,
            written => return written,
        };
        let found = self.read::<T>(key).await?;
        let Some(same) = found.filter(|found| found.value == *value) else {
            return Err(error);
        };
        tracing::warn!(
            target: "crossfeed::gateway",
            error = with_causes(&error),
            record = key.0,
            "cannot keep a record for longer"
        );
        Ok(Some(same.version))
    }

    pub(crate) async fn remove(&self, key: &Key) -> Result<(), StoreError> {
        self.state()?.remove(&key.0).await
    }

    /// What is recorded in a scope.
    pub(crate) async fn recorded(
        &self,
        scope: &Scope,
    ) -> Result<(Vec<Listed>, Vec<ListedArtifact>), StoreError> {
        Ok((
            self.0.list(scope).await?,
            self.0.list_artifacts(scope).await?,
        ))
    }
}
