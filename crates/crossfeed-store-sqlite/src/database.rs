//! One database of a directory, and the folder of its files: who reads, who writes, and which files go.

use crate::{
    fault,
    files::Files,
    open::{self, Layout, OpenedStore},
    options::{SqliteDurability, SqliteOptions},
    place::Place,
    writer::{Turn, Writer},
};
use crossfeed_store::{Digest, StoreError};
use parking_lot::{Mutex, MutexGuard};
use rusqlite::{Connection, OptionalExtension as _, Params, Result as SqlResult, Row};
use std::{path::Path, time::Duration};

pub(crate) struct Database {
    layout: &'static Layout,
    reader: Mutex<Connection>,
    /// None where there is none.
    place: Option<Place>,
    /// None where nothing can be written.
    writer: Option<Writer>,
    /// Whether there is none, and none was to be made.
    is_absent: bool,
    pub(crate) files: Files,
    busy_timeout: Duration,
    orphan_age: Duration,
}

impl Database {
    /// Opens a database of the directory. One that `may_be_absent` reads as empty where it is not there and cannot be
    /// made.
    pub(crate) fn open(
        directory: &Path,
        layout: &'static Layout,
        options: &SqliteOptions,
        durability: SqliteDurability,
        may_be_absent: bool,
    ) -> Result<Self, StoreError> {
        let opened = open::open(directory, layout, options);
        let is_absent = matches!(opened, Err(StoreError::Absent));
        let (OpenedStore { reader, writer }, place) = match opened {
            Err(StoreError::Absent | StoreError::ReadOnly { .. }) if may_be_absent => {
                (open::empty(layout, options)?, None)
            }
            opened => {
                let path = directory.join(layout.database);
                (opened?, Some(Place::of(path, layout.database)?))
            }
        };
        let database = Self {
            layout,
            reader: Mutex::new(reader),
            writer: writer
                .zip(place.clone())
                .map(|(writer, place)| Writer::new(writer, layout, place)),
            place,
            is_absent,
            files: Files::new(directory, layout.files, durability),
            busy_timeout: options.busy_timeout,
            orphan_age: options.orphan_age,
        };
        // What a crash has left behind disturbs nothing, so it may as well stay there until the
        // next time.
        let _ = database.remove_orphans();
        Ok(database)
    }

    pub(crate) fn can_write(&self) -> bool {
        self.writer.is_some()
    }

    pub(crate) fn is_absent(&self) -> bool {
        self.is_absent
    }

    pub(crate) fn reader(&self) -> Result<MutexGuard<'_, Connection>, StoreError> {
        // A transaction that a panic ended was rolled back.
        let reader = self.reader.lock();
        self.place.as_ref().map_or(Ok(()), Place::check)?;
        Ok(reader)
    }

    pub(crate) fn writer(&self) -> Result<Turn<'_>, StoreError> {
        self.writer_within(self.busy_timeout)
    }

    /// The connection that writes, if others let it within that time.
    pub(crate) fn writer_within(&self, time: Duration) -> Result<Turn<'_>, StoreError> {
        match &self.writer {
            Some(writer) => writer.take(time.min(self.busy_timeout)),
            None => Err(StoreError::ReadOnly { source: None }),
        }
    }

    pub(crate) fn sql<T>(&self, outcome: SqlResult<T>) -> Result<T, StoreError> {
        outcome.map_err(|error| fault::sqlite(self.layout.database, error, self.busy_timeout))
    }

    /// Removes old files that no row names.
    pub(crate) fn remove_orphans(&self) -> Result<(), StoreError> {
        if self.writer.is_none() {
            return Ok(());
        }
        let mut unnamed = Vec::new();
        for digest in self.files.old(self.orphan_age) {
            if !self.names_file(&*self.reader()?, &digest)? {
                unnamed.push(digest);
            }
        }
        self.remove_unnamed(&unnamed)
    }

    /// Removes those of the files that no row names, under the lock that keeps new rows out.
    pub(crate) fn remove_unnamed(&self, files: &[Digest]) -> Result<(), StoreError> {
        if files.is_empty() {
            return Ok(());
        }
        let mut writer = self.writer()?;
        let transaction = writer.begin(SqliteDurability::Process)?;
        for digest in files {
            if !self.names_file(&transaction, digest)? {
                self.files.remove(digest);
            }
        }
        Ok(())
    }

    fn names_file(&self, connection: &Connection, digest: &Digest) -> Result<bool, StoreError> {
        let query = format!(
            "SELECT EXISTS (SELECT 1 FROM {} WHERE in_file AND data_digest = ?1)",
            self.layout.table
        );
        self.sql(answer(connection, &query, [digest.as_bytes()], |row| {
            row.get(0)
        }))
    }
}

/// Runs a statement without an answer; returns how many rows it changed.
pub(crate) fn execute(
    connection: &Connection,
    statement: &str,
    values: impl Params,
) -> SqlResult<usize> {
    connection.prepare_cached(statement)?.execute(values)
}

/// The answer of a query with one row.
pub(crate) fn answer<T>(
    connection: &Connection,
    query: &str,
    values: impl Params,
    read: impl FnOnce(&Row<'_>) -> SqlResult<T>,
) -> SqlResult<T> {
    connection.prepare_cached(query)?.query_row(values, read)
}

/// The answer of a query with one row, or none.
pub(crate) fn answer_if_any<T>(
    connection: &Connection,
    query: &str,
    values: impl Params,
    read: impl FnOnce(&Row<'_>) -> SqlResult<T>,
) -> SqlResult<Option<T>> {
    answer(connection, query, values, read).optional()
}

/// All rows of a query.
pub(crate) fn answers<T>(
    connection: &Connection,
    query: &str,
    values: impl Params,
    read: impl FnMut(&Row<'_>) -> SqlResult<T>,
) -> SqlResult<Vec<T>> {
    connection
        .prepare_cached(query)?
        .query_map(values, read)?
        .collect()
}
