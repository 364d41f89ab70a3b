//! The connection that writes: one request at a time, each with one deadline for all its waiting.

use crate::fault;
use crossfeed_store::StoreError;
use parking_lot::{Mutex, MutexGuard};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::time::{Duration, Instant};

/// The connection, which one request has at a time.
pub(crate) struct Writer {
    connection: Mutex<Connection>,
    /// How long a request may wait, for others of this process and of another together.
    timeout: Duration,
}

/// The connection, for one request. Others of this process wait until it is dropped.
pub(crate) struct Turn<'w> {
    connection: MutexGuard<'w, Connection>,
    deadline: Instant,
    timeout: Duration,
}

impl Writer {
    pub(crate) fn new(connection: Connection, timeout: Duration) -> Self {
        Self {
            connection: Mutex::new(connection),
            timeout,
        }
    }

    /// Waits for the connection, and takes it.
    pub(crate) fn take(&self) -> Result<Turn<'_>, StoreError> {
        let deadline = Instant::now() + self.timeout;
        // A transaction that a panic ended was rolled back.
        let connection = self.connection.try_lock_for(self.timeout);
        Ok(Turn {
            connection: connection.ok_or_else(|| StoreError::Locked {
                waited: self.timeout,
                source: "another request of this process is writing".into(),
            })?,
            deadline,
            timeout: self.timeout,
        })
    }
}

impl Turn<'_> {
    /// Begins to write, if no other process does for too long: from here on no other writer can, until it
    /// is committed or dropped.
    pub(crate) fn begin(&mut self) -> Result<Transaction<'_>, StoreError> {
        let sql = |error| fault::sqlite(error, self.timeout);
        let left = self.deadline.saturating_duration_since(Instant::now());
        self.connection.busy_timeout(left).map_err(sql)?;
        self.connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(sql)
    }

    #[cfg(test)]
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }
}
