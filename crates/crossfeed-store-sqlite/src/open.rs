//! Opens a directory: one connection to read, and one to write where that is possible.
//!
//! Writes nothing until an existing database is known to be a store of this format.

use crate::{
    fault,
    files::{create, flush_directory},
    options::SqliteOptions,
};
use crossfeed_store::StoreError;
use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags, TransactionBehavior, config::DbConfig};
use std::{
    fs::{self, File},
    hash::{BuildHasher as _, RandomState},
    io::{self, ErrorKind, Write as _},
    path::{Path, PathBuf},
    process, thread,
    time::{Duration, Instant},
};

/// The name of the directory itself in errors.
const PLACE: &str = "the store's directory";
/// How long to wait before it is tried once more to get at a new database.
const PAUSE: Duration = Duration::from_millis(10);
/// How many statements are kept compiled: all there are.
const STATEMENTS: usize = 64;
/// The most bytes that the log keeps once it was written back.
const LOG_BYTES: usize = 16 << 20;
/// What is written to see whether there is room: as much as most results have.
const PROBE_BYTES: usize = 64 << 10;

/// What a database of the directory is called, and what is in it.
pub(crate) struct Layout {
    /// Its name in the directory.
    pub(crate) database: &'static str,
    /// The folder beside it for large data.
    pub(crate) files: &'static str,
    /// The table whose rows name these files.
    pub(crate) table: &'static str,
    /// Marks the database as one of ours.
    pub(crate) application: i64,
    /// The latest format that is known.
    pub(crate) format: i64,
    /// Columns that databases of this format may lack, which earlier versions made, by table and with their type. They
    /// may be null, and earlier versions do not miss them.
    pub(crate) added: &'static [(&'static str, &'static str, &'static str)],
    /// Sets up a new database, before anything is in it.
    pub(crate) settings: &'static str,
    pub(crate) tables: &'static str,
}

/// An opened store.
pub(crate) struct OpenedStore {
    pub(crate) reader: Connection,
    /// None where nothing can be written.
    pub(crate) writer: Option<Connection>,
}

/// Opens a directory, and makes it a store if there is nothing yet and there may be.
pub(crate) fn open(
    directory: &Path,
    layout: &'static Layout,
    options: &SqliteOptions,
) -> Result<OpenedStore, StoreError> {
    let opening = Opening::new(directory, layout, options);
    let is_there = opening.is_there()?;
    if !is_there && (options.must_exist || options.read_only) {
        return Err(StoreError::Absent);
    }
    let written = if options.read_only {
        Err(StoreError::ReadOnly { source: None })
    } else {
        opening.open_to_write()
    };
    let writer = match written {
        Ok(writer) => Some(writer),
        // A store that may not be written may still be read.
        Err(StoreError::ReadOnly { .. }) if is_there => None,
        Err(error) if is_there && fault::is_about_opening(&error) && opening.is_closed() => None,
        Err(error) => return Err(error),
    };
    Ok(OpenedStore {
        reader: opening.open_to_read(writer.is_none())?,
        writer,
    })
}

/// An empty database in memory, to read.
pub(crate) fn empty(
    layout: &'static Layout,
    options: &SqliteOptions,
) -> Result<OpenedStore, StoreError> {
    let reader = || {
        let connection = Connection::open_in_memory()?;
        connection.execute_batch(layout.tables)?;
        Ok(connection)
    };
    Ok(OpenedStore {
        reader: reader()
            .map_err(|error| fault::sqlite(layout.database, error, options.busy_timeout))?,
        writer: None,
    })
}

/// A directory that is being opened.
pub(crate) struct Opening<'o> {
    directory: &'o Path,
    layout: &'static Layout,
    database: PathBuf,
    options: &'o SqliteOptions,
}

impl<'o> Opening<'o> {
    pub(crate) fn new(
        directory: &'o Path,
        layout: &'static Layout,
        options: &'o SqliteOptions,
    ) -> Self {
        Self {
            directory,
            layout,
            database: directory.join(layout.database),
            options,
        }
    }

    fn sql<T>(&self, outcome: rusqlite::Result<T>) -> Result<T, StoreError> {
        outcome
            .map_err(|error| fault::sqlite(self.layout.database, error, self.options.busy_timeout))
    }

    /// Whether there is something that may be a database.
    fn is_there(&self) -> Result<bool, StoreError> {
        if fs::metadata(self.directory).is_ok_and(|found| !found.is_dir()) {
            let reason = format!("{PLACE}: it is not a directory");
            return Err(fault::unavailable(reason));
        }
        match fs::metadata(&self.database) {
            Ok(found) if found.is_file() => Ok(true),
            Ok(_) => Err(fault::unavailable(format!(
                "{}: it is not a file",
                self.layout.database
            ))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(fault::reading(self.layout.database, error)),
        }
    }

    /// Whether no file may be made in the directory, so that SQLite cannot have its log there.
    fn is_closed(&self) -> bool {
        let made = make_and_remove(self.directory);
        made.is_err_and(|error| fault::is_refusal(error.kind()))
    }

    fn open_to_write(&self) -> Result<Connection, StoreError> {
        let changed = changed_by_making(self.directory);
        make_directories(&self.directory.join(self.layout.files))
            .map_err(|error| fault::writing(self.layout.files, error))?;
        make_database(&self.database)
            .map_err(|error| fault::writing(self.layout.database, error))?;
        let mut connection = self.connect(&self.database, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        if self.sql(connection.is_readonly("main"))? {
            return Err(StoreError::ReadOnly { source: None });
        }
        let deadline = Instant::now() + self.options.busy_timeout;
        loop {
            match self.prepare(&mut connection) {
                // The process that makes the database locks it in ways that SQLite does not wait for.
                Err(StoreError::Locked { .. }) if Instant::now() < deadline => thread::sleep(PAUSE),
                Err(error) => return Err(error),
                Ok(()) => break,
            }
        }
        for place in &changed {
            match flush_directory(place) {
                // It may belong to another user; then its names are theirs to keep.
                Err(error) if error.kind() != ErrorKind::PermissionDenied => {
                    return Err(fault::writing(PLACE, error));
                }
                _ => {}
            }
        }
        Ok(connection)
    }

    /// Makes the tables if there is nothing yet, and sets up the connection.
    fn prepare(&self, connection: &mut Connection) -> Result<(), StoreError> {
        if !self.is_ours(connection)? {
            if self.options.must_exist {
                return Err(StoreError::Absent);
            }
            self.sql(connection.execute_batch(self.layout.settings))?;
            // Kept in the database, so that every connection goes by it. Where the file system does not
            // allow it, SQLite stays with its rollback journal, which is as safe.
            let mode = connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()));
            self.sql(mode)?;
            let transaction =
                self.sql(connection.transaction_with_behavior(TransactionBehavior::Immediate))?;
            // Another process may have been faster.
            if !self.is_ours(&transaction)? {
                self.sql(transaction.execute_batch(self.layout.tables))?;
                self.sql(transaction.pragma_update(
                    None,
                    "application_id",
                    self.layout.application,
                ))?;
                self.sql(transaction.pragma_update(None, "user_version", self.layout.format))?;
            }
            self.sql(transaction.commit())?;
        }
        if !self.sql(self.lacking(connection))?.is_empty() {
            let transaction =
                self.sql(connection.transaction_with_behavior(TransactionBehavior::Immediate))?;
            // Another process may have been faster.
            for (table, column, of_type) in self.sql(self.lacking(&transaction))? {
                let statement = format!("ALTER TABLE {table} ADD COLUMN {column} {of_type}");
                self.sql(transaction.execute_batch(&statement))?;
            }
            self.sql(transaction.commit())?;
        }
        self.sql(
            connection.pragma_update_and_check(None, "journal_size_limit", LOG_BYTES, |_| Ok(())),
        )
    }

    /// The added columns that a database lacks.
    fn lacking(
        &self,
        connection: &Connection,
    ) -> rusqlite::Result<Vec<(&'static str, &'static str, &'static str)>> {
        let query = "SELECT count(*) = 0 FROM pragma_table_info(?1) WHERE name = ?2";
        let added = self.layout.added.iter().map(|added| {
            let (table, column, _) = added;
            let is_lacking: bool =
                connection.query_row(query, [table, column], |row| row.get(0))?;
            Ok(is_lacking.then_some(*added))
        });
        added.filter_map(Result::transpose).collect()
    }

    /// Where the columns cannot be added they read as null.
    fn cover_lacking(&self, connection: &Connection) -> rusqlite::Result<()> {
        for (table, column, _) in self.lacking(connection)? {
            connection.execute_batch(&format!(
                "CREATE TEMP VIEW {table} AS SELECT *, NULL AS {column} FROM main.{table}"
            ))?;
        }
        Ok(())
    }

    fn open_to_read(&self, is_alone: bool) -> Result<Connection, StoreError> {
        let known = |connection: Connection| {
            if !self.is_ours(&connection)? {
                return Err(StoreError::Absent);
            }
            if is_alone {
                self.sql(self.cover_lacking(&connection))?;
            }
            Ok(connection)
        };
        let is_refused = |error: &StoreError| {
            matches!(error, StoreError::ReadOnly { .. }) || fault::is_about_opening(error)
        };
        let connected = self.connect(&self.database, OpenFlags::SQLITE_OPEN_READ_ONLY);
        match connected.and_then(known) {
            Err(error) if is_alone && is_refused(&error) && !self.has_log() => {
                // SQLite does not say whether the directory does not admit its log, or nothing can be
                // opened at all, which may pass.
                File::open(self.directory).map_err(|error| fault::reading(PLACE, error))?;
                self.connect_immutable().and_then(known)
            }
            outcome => outcome,
        }
    }

    /// Whether there is something that has not been written back into the database.
    fn has_log(&self) -> bool {
        let mut log = self.database.as_os_str().to_owned();
        log.push("-wal");
        fs::metadata(log).is_ok_and(|found| found.len() > 0)
    }

    /// Opens a database in a place that cannot be written, so that nothing needs to be locked.
    pub(crate) fn connect_immutable(&self) -> Result<Connection, StoreError> {
        let path = fs::canonicalize(&self.database)
            .map_err(|error| fault::reading(self.layout.database, error))?;
        let mut uri = "file:".to_owned();
        for byte in path.as_os_str().as_encoded_bytes() {
            match byte {
                b'/' | b'-' | b'_' | b'.' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                    uri.push(char::from(*byte));
                }
                other => uri.push_str(&format!("%{other:02X}")),
            }
        }
        uri.push_str("?immutable=1");
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        self.connect(Path::new(&uri), flags)
    }

    fn connect(&self, database: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
        let connect = || {
            let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
            let connection = Connection::open_with_flags(database, flags)?;
            connection.busy_timeout(self.options.busy_timeout)?;
            connection.set_prepared_statement_cache_capacity(STATEMENTS);
            // The file is data: nothing in it may run.
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
            connection.execute_batch("PRAGMA cell_size_check = ON")?;
            Ok(connection)
        };
        self.sql(connect())
    }

    /// Whether the database is a store of a known format; no if there is nothing in it at all.
    fn is_ours(&self, connection: &Connection) -> Result<bool, StoreError> {
        let numbers = || {
            // All of it at one moment: another process may be making the tables.
            let _moment = connection
                .is_autocommit()
                .then(|| connection.unchecked_transaction())
                .transpose()?;
            let number = |query| connection.query_row(query, [], |row| row.get::<_, i64>(0));
            let application = number("PRAGMA application_id")?;
            let format = number("PRAGMA user_version")?;
            let tables = if application == self.layout.application {
                None
            } else {
                Some(number("SELECT count(*) FROM sqlite_schema")?)
            };
            Ok((application, format, tables))
        };
        let known = self.layout.format;
        match self.sql(numbers())? {
            (_, found, None) if found == known => Ok(true),
            (_, found, None) if found > known => Err(StoreError::Newer { found, known }),
            (_, found, None) => Err(fault::damaged(format!("format {found}"))),
            (0, 0, Some(0)) => Ok(false),
            _ => Err(StoreError::Foreign),
        }
    }
}

/// Writes a file in a directory to the disk, and removes it.
fn make_and_remove(directory: &Path) -> io::Result<()> {
    // Of no other process, nor of one that was killed before it removed its own.
    let number = RandomState::new().hash_one(process::id());
    let probe = directory.join(format!("crossfeed.{number:016x}.partial"));
    let mut file = create(&probe)?;
    let written = file
        .write_all(&[1; PROBE_BYTES])
        .and_then(|()| file.sync_all());
    let _ = fs::remove_file(probe);
    written
}

/// Whether a directory can be written, or what is missing of it made: a file can, in the first one above that is there.
pub(crate) fn can_write(directory: &Path) -> Result<(), StoreError> {
    let there = directory.ancestors().find(|place| place.exists());
    // A relative path may begin in the directory of the process.
    let made = make_and_remove(there.unwrap_or(Path::new("")));
    made.map_err(|error| fault::writing(PLACE, error))
}

/// The directories that have a new name in them once this one was made: itself, its parent, and those
/// above up to the first that is there already.
pub(crate) fn changed_by_making(directory: &Path) -> Vec<PathBuf> {
    let mut changed = Vec::new();
    for place in directory.ancestors() {
        let place = if place.as_os_str().is_empty() {
            Path::new(".")
        } else {
            place
        };
        changed.push(place.to_owned());
        // Of one that is there the parent is flushed all the same: another process may have made it
        // just now.
        if place.exists() && changed.len() > 1 {
            break;
        }
    }
    changed
}

/// Makes an empty database if there is none, which only its owner can read: SQLite would go by what
/// the process does with all its files, and gives its log the rights of the database.
fn make_database(path: &Path) -> io::Result<()> {
    /// On some systems closing a file drops all locks that this process has on it, so no thread
    /// may lock the new one before it is closed.
    static MAKING: Mutex<()> = Mutex::new(());
    let _making = MAKING.lock();
    match create(path) {
        Err(_) if path.exists() => Ok(()),
        outcome => outcome.map(drop),
    }
}

/// Makes the missing directories, which only their owner can read.
fn make_directories(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)
}
