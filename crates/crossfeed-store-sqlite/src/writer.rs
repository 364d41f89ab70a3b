//! The connection that writes: one request at a time, each with one deadline for all its waiting.

use crate::{fault, open::Layout, options::SqliteDurability, place::Place};
use crossfeed_store::StoreError;
use parking_lot::{Mutex, MutexGuard};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::time::{Duration, Instant};

/// The connection, which one request has at a time.
pub(crate) struct Writer {
    layout: &'static Layout,
    place: Place,
    state: Mutex<State>,
}

struct State {
    connection: Connection,
    /// What the connection was last set to.
    durability: Option<SqliteDurability>,
}

/// The connection, for one request. Others of this process wait until it is dropped.
pub(crate) struct Turn<'w> {
    layout: &'static Layout,
    place: &'w Place,
    state: MutexGuard<'w, State>,
    deadline: Instant,
    timeout: Duration,
}

impl Writer {
    pub(crate) fn new(connection: Connection, layout: &'static Layout, place: Place) -> Self {
        Self {
            layout,
            place,
            state: Mutex::new(State {
                connection,
                durability: None,
            }),
        }
    }

    /// Waits for the connection, and takes it. `timeout` is how long the request may wait, for others of this process
    /// and of another together.
    pub(crate) fn take(&self, timeout: Duration) -> Result<Turn<'_>, StoreError> {
        let deadline = Instant::now() + timeout;
        // A transaction that a panic ended was rolled back.
        let state = self.state.try_lock_for(timeout);
        Ok(Turn {
            layout: self.layout,
            place: &self.place,
            state: state.ok_or_else(|| StoreError::Locked {
                waited: timeout,
                source: "another request of this process is writing".into(),
            })?,
            deadline,
            timeout,
        })
    }
}

impl Turn<'_> {
    /// Begins to write, if no other process does for too long: from here on no other writer can, until it
    /// is committed or dropped.
    pub(crate) fn begin(
        &mut self,
        durability: SqliteDurability,
    ) -> Result<Transaction<'_>, StoreError> {
        let sql = |error| fault::sqlite(self.layout.database, error, self.timeout);
        let State {
            connection,
            durability: current,
        } = &mut *self.state;
        let left = self.deadline.saturating_duration_since(Instant::now());
        connection.busy_timeout(left).map_err(sql)?;
        if *current != Some(durability) {
            let level = match durability {
                SqliteDurability::Process => "NORMAL",
                SqliteDurability::Flushed => "FULL",
            };
            let set = connection.pragma_update(None, "synchronous", level);
            set.map_err(sql)?;
            *current = Some(durability);
        }
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(sql)?;
        self.place.check()?;
        Ok(transaction)
    }

    #[cfg(test)]
    pub(crate) fn connection(&self) -> &Connection {
        &self.state.connection
    }
}
