//! Records of the host: a row for each.

use super::{Results, SharedResults};
use crate::{
    blocking::run,
    database::{answer_if_any, execute},
    header::{digest, is_unreadable, milliseconds},
    options::SqliteDurability,
};
use async_trait::async_trait;
use bytes::Bytes;
use crossfeed_store::{
    Damage, Digest, Expected, StateRecord, StateStore, StoreError, StoreOperation,
};
use rusqlite::{Connection, Result as SqlResult, params};
use std::time::Duration;

/// A host relies on its records after a restart, and writes few of them.
const DURABILITY: SqliteDurability = SqliteDurability::Flushed;

impl Results {
    fn read_state(&self, key: &str) -> Result<Option<StateRecord>, StoreError> {
        let damaged = || StoreError::Damaged {
            damage: Damage::Record {
                key: key.to_owned(),
            },
            source: None,
        };
        let found = match find(&*self.database.reader()?, key, self.now()) {
            Err(error) if is_unreadable(&error) => return Err(damaged()),
            found => self.sql(found)?,
        };
        let Some(State {
            version,
            value,
            expires_at,
            written,
        }) = found
        else {
            return Ok(None);
        };
        if digest_of(key, &value, expires_at) != written {
            return Err(damaged());
        }
        Ok(Some(StateRecord::new(value.into(), version)))
    }

    fn write_state(
        &self,
        key: &str,
        value: &[u8],
        expected: Expected,
        time: Duration,
    ) -> Result<Option<u64>, StoreError> {
        StateRecord::admit(key, value)?;
        let now = self.now();
        let expires_at = now.saturating_add(milliseconds(time));
        let mut writer = self.database.writer()?;
        let transaction = writer.begin(DURABILITY)?;
        let is_expected = match expected {
            Expected::Any => true,
            Expected::Absent => self.sql(version(&transaction, key, now))?.is_none(),
            Expected::Version(expected) => {
                self.sql(version(&transaction, key, now))? == Some(expected)
            }
        };
        if !is_expected {
            return Ok(None);
        }
        // Another row each time, so that no two writes have the same number.
        self.sql(delete(&transaction, key))?;
        let statement =
            "INSERT INTO state (key, expires_at, digest, value) VALUES (?1, ?2, ?3, ?4)";
        let digest = digest_of(key, value, expires_at);
        let values = params![key, expires_at, digest.as_bytes(), value];
        self.sql(execute(&transaction, statement, values))?;
        let version = transaction.last_insert_rowid().unsigned_abs();
        self.sql(transaction.commit())?;
        Ok(Some(version))
    }

    fn remove_state(&self, key: &str) -> Result<(), StoreError> {
        let mut writer = self.database.writer()?;
        let transaction = writer.begin(DURABILITY)?;
        self.sql(delete(&transaction, key))?;
        self.sql(transaction.commit())
    }
}

/// A row.
struct State {
    version: u64,
    value: Vec<u8>,
    expires_at: i64,
    written: Digest,
}

fn find(connection: &Connection, key: &str, now: i64) -> SqlResult<Option<State>> {
    let query =
        "SELECT number, value, expires_at, digest FROM state WHERE key = ?1 AND expires_at > ?2";
    answer_if_any(connection, query, params![key, now], |row| {
        Ok(State {
            version: row.get(0)?,
            value: row.get(1)?,
            expires_at: row.get(2)?,
            written: digest(row, "digest")?,
        })
    })
}

/// Which write the current record is of.
fn version(connection: &Connection, key: &str, now: i64) -> SqlResult<Option<u64>> {
    let query = "SELECT number FROM state WHERE key = ?1 AND expires_at > ?2";
    answer_if_any(connection, query, params![key, now], |row| row.get(0))
}

fn delete(connection: &Connection, key: &str) -> SqlResult<()> {
    execute(connection, "DELETE FROM state WHERE key = ?1", [key]).map(drop)
}

fn digest_of(key: &str, value: &[u8], expires_at: i64) -> Digest {
    Digest::of_parts([
        Some(key.as_bytes()),
        Some(value),
        Some(&expires_at.to_le_bytes()),
    ])
}

#[async_trait]
impl StateStore for SharedResults {
    async fn read(&self, key: &str) -> Result<Option<StateRecord>, StoreError> {
        let (results, key) = (self.0.clone(), key.to_owned());
        let read = run(move || results.read_state(&key));
        self.0.meter.time(StoreOperation::State, read).await
    }

    async fn write(
        &self,
        key: &str,
        value: Bytes,
        expected: Expected,
        time: Duration,
    ) -> Result<Option<u64>, StoreError> {
        let (results, key) = (self.0.clone(), key.to_owned());
        let write = run(move || results.write_state(&key, &value, expected, time));
        self.0.meter.time(StoreOperation::State, write).await
    }

    async fn remove(&self, key: &str) -> Result<(), StoreError> {
        let (results, key) = (self.0.clone(), key.to_owned());
        let remove = run(move || results.remove_state(&key));
        self.0.meter.time(StoreOperation::State, remove).await
    }
}
