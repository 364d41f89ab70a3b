//! Small records of the host.

use crate::{
    connection::{Kind, random},
    fault::bad_answer,
    header::{FORMAT, Unreadable, parse_token, token_text},
    script::Operation,
    store::{RedisStore, microseconds},
};
use async_trait::async_trait;
use bytes::Bytes;
use crossfeed_store::{Damage, Expected, StateRecord, StateStore, StoreError, StoreOperation};
use redis::Value;
use std::time::Duration;

impl RedisStore {
    fn state_key(&self, key: &str) -> String {
        format!("{}:s:{key}", self.options.prefix)
    }

    async fn read_record(&self, key: &str) -> Result<Option<StateRecord>, StoreError> {
        let (now, place) = (self.now(), self.state_key(key));
        let arguments = [now.as_bytes()];
        let read = self
            .connection
            .run(Operation::ReadState, Kind::Read, &place, &arguments, None);
        let record = match read.await?.pop() {
            Some(Value::Nil) => return Ok(None),
            Some(Value::BulkString(record)) => Bytes::from(record),
            _ => return Err(bad_answer("a record of state is a text")),
        };
        let record = parse(&record).map_err(|unreadable| {
            let key = key.to_owned();
            unreadable.into_error(Damage::Record { key })
        });
        record.map(Some)
    }

    /// Writes a record that lasts so long, or removes it.
    async fn write_record(
        &self,
        key: &str,
        value: Bytes,
        expected: Expected,
        time: Option<Duration>,
    ) -> Result<Option<u64>, StoreError> {
        StateRecord::admit(key, &value)?;
        let version = random();
        let arguments = [
            self.now(),
            token_text(version),
            match expected {
                Expected::Any => "*".to_owned(),
                Expected::Absent => "-".to_owned(),
                Expected::Version(version) => token_text(version),
            },
            time.map(|time| microseconds(time).to_string())
                .unwrap_or_default(),
        ];
        let mut arguments = crate::results::texts(&arguments);
        arguments.push(&value);
        let key = self.state_key(key);
        let write = self
            .connection
            .run(Operation::WriteState, Kind::Write, &key, &arguments, None);
        match write.await?.pop() {
            Some(Value::Int(written)) => Ok((written == 1).then_some(version)),
            _ => Err(bad_answer("a write of state gives a number")),
        }
    }

    async fn remove_record(&self, key: &str) -> Result<(), StoreError> {
        let removed = self.write_record(key, Bytes::new(), Expected::Any, None);
        removed.await.map(drop)
    }
}

/// A record as `lua/write_state.lua` makes it.
fn parse(record: &Bytes) -> Result<StateRecord, Unreadable> {
    let end = record.iter().position(|byte| *byte == b'\n');
    let end = end.ok_or(Unreadable::Damaged)?;
    let line = str::from_utf8(&record[..end]).map_err(|_| Unreadable::Damaged)?;
    let mut words = line.split(' ');
    let format = words.next().and_then(|word| word.parse().ok());
    let format: i64 = format.ok_or(Unreadable::Damaged)?;
    if format > FORMAT {
        return Err(Unreadable::Newer(format));
    }
    let version = words.next().and_then(parse_token);
    let until = words.next().and_then(|word| word.parse::<u64>().ok());
    let (Some(version), Some(_)) = (version, until) else {
        return Err(Unreadable::Damaged);
    };
    Ok(StateRecord::new(record.slice(end + 1..), version))
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl StateStore for RedisStore {
    async fn read(&self, key: &str) -> Result<Option<StateRecord>, StoreError> {
        let read = self.read_record(key);
        self.meter.time(StoreOperation::State, read).await
    }

    async fn write(
        &self,
        key: &str,
        value: Bytes,
        expected: Expected,
        time: Duration,
    ) -> Result<Option<u64>, StoreError> {
        let write = self.write_record(key, value, expected, Some(time));
        self.meter.time(StoreOperation::State, write).await
    }

    async fn remove(&self, key: &str) -> Result<(), StoreError> {
        let remove = self.remove_record(key);
        self.meter.time(StoreOperation::State, remove).await
    }
}
