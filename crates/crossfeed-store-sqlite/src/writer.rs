//! The connection that writes: one request at a time, each with one deadline for all its waiting.
//!
//! What comes in: a deadline. What goes out: the connection, or that it took too long. Deliberately
//! not here: what is written.

use crate::fault;
use crossfeed_store::StoreError;
use parking_lot::{Condvar, Mutex, MutexGuard};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::time::{Duration, Instant};

/// A connection and who has it.
pub(crate) struct Writer {
    connection: Mutex<Connection>,
    taken: Mutex<bool>,
    given_back: Condvar,
    /// How long a request may wait, for others of this process and of another together.
    patience: Duration,
}

/// The connection, for one request. Others of this process wait until it is dropped.
pub(crate) struct Turn<'w> {
    connection: MutexGuard<'w, Connection>,
    deadline: Instant,
    patience: Duration,
    _release: Release<'w>,
}

/// Dropped after the connection, so that the waiter that is woken finds it free.
struct Release<'w>(&'w Writer);

impl Writer {
    pub(crate) fn new(connection: Connection, patience: Duration) -> Self {
        Self {
            connection: Mutex::new(connection),
            taken: Mutex::new(false),
            given_back: Condvar::new(),
            patience,
        }
    }

    /// Waits for the connection, and takes it.
    pub(crate) fn take(&self) -> Result<Turn<'_>, StoreError> {
        let deadline = Instant::now() + self.patience;
        let mut taken = self.taken.lock();
        self.given_back
            .wait_while_for(&mut taken, |taken| *taken, self.patience);
        if *taken {
            return Err(StoreError::Locked {
                waited: self.patience,
                source: "another request of this process is writing".into(),
            });
        }
        *taken = true;
        drop(taken);
        let release = Release(self);
        // A transaction that a panic ended was rolled back.
        Ok(Turn {
            connection: self.connection.lock(),
            deadline,
            patience: self.patience,
            _release: release,
        })
    }
}

impl Turn<'_> {
    /// Begins to write, if no other process does for too long: from here on nobody else can, until it
    /// is committed or dropped.
    pub(crate) fn begin(&mut self) -> Result<Transaction<'_>, StoreError> {
        let sql = |error| fault::sqlite(error, self.patience);
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

impl Drop for Release<'_> {
    fn drop(&mut self) {
        let mut taken = self.0.taken.lock();
        *taken = false;
        drop(taken);
        self.0.given_back.notify_one();
    }
}
