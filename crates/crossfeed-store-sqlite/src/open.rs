//! Opening: from a directory to connections whose tables are there and known.
//!
//! Opens one connection to read, and one to write where that is possible. What is there already is
//! only read until it is known to be a store of this format.

use crate::{
    fault::{self, DATABASE},
    files::{FILES, create, flush_directory},
    options::SqliteOptions,
};
use crossfeed_store::StoreError;
use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags, TransactionBehavior, config::DbConfig};
use std::{
    fs::{self, File},
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    process, thread,
    time::{Duration, Instant},
};

/// What errors call the directory itself.
const PLACE: &str = "the store's directory";
/// Marks the database as one of ours: `cfas`.
const APPLICATION: i64 = 0x6366_6173;
/// The latest format that is known.
pub(crate) const FORMAT: i64 = 1;
/// How long to wait before it is tried once more to get at a new database.
const PAUSE: Duration = Duration::from_millis(10);
/// How many statements are kept compiled: all there are.
const STATEMENTS: usize = 32;
/// The most bytes that the log keeps once it was written back.
const LOG_BYTES: usize = 16 << 20;

const TABLES: &str = "
CREATE TABLE artifacts (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL,
    project TEXT NOT NULL,
    session TEXT NOT NULL,
    artifact_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    recorded_at INTEGER NOT NULL,
    expires_at INTEGER,
    kept_bytes INTEGER NOT NULL,
    blocked INTEGER NOT NULL,
    tool TEXT,
    base TEXT,
    details TEXT NOT NULL,
    data_bytes INTEGER NOT NULL,
    data_digest BLOB NOT NULL,
    in_file INTEGER NOT NULL,
    digest BLOB NOT NULL,
    summary BLOB,
    data BLOB,
    UNIQUE (tenant, project, session, artifact_id, call_id)
) STRICT;
CREATE INDEX artifacts_kept ON artifacts (tenant, project, session, expires_at, kept_bytes);
CREATE INDEX artifacts_files ON artifacts (data_digest) WHERE in_file;
CREATE INDEX artifacts_expiring ON artifacts (expires_at) WHERE expires_at IS NOT NULL;
CREATE TABLE expired (
    tenant TEXT NOT NULL,
    project TEXT NOT NULL,
    session TEXT NOT NULL,
    artifact_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    tool TEXT,
    expired_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, project, session, artifact_id, call_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX expired_since ON expired (expired_at);
";

/// What a directory was opened to.
pub(crate) struct Opened {
    pub(crate) reader: Connection,
    /// None where nothing can be written.
    pub(crate) writer: Option<Connection>,
    pub(crate) files: PathBuf,
}

/// Opens a directory, and makes it a store if there is nothing yet and there may be.
pub(crate) fn open(directory: &Path, options: &SqliteOptions) -> Result<Opened, StoreError> {
    let database = directory.join(DATABASE);
    let files = directory.join(FILES);
    let is_there = is_there(directory, &database)?;
    if !is_there && (options.must_exist || options.read_only) {
        return Err(StoreError::Absent);
    }
    let written = if options.read_only {
        Err(StoreError::ReadOnly { source: None })
    } else {
        open_to_write(directory, &database, &files, options)
    };
    let writer = match written {
        Ok(writer) => Some(writer),
        // What may not be written may still be read.
        Err(StoreError::ReadOnly { .. }) if is_there => None,
        Err(error) if is_there && fault::is_about_opening(&error) && is_closed(directory) => None,
        Err(error) => return Err(error),
    };
    let reader = open_to_read(directory, &database, options, writer.is_none())?;
    Ok(Opened {
        reader,
        writer,
        files,
    })
}

/// Whether there is something that may be a database.
fn is_there(directory: &Path, database: &Path) -> Result<bool, StoreError> {
    if fs::metadata(directory).is_ok_and(|found| !found.is_dir()) {
        return Err(fault::unavailable(format!(
            "{PLACE}: it is not a directory"
        )));
    }
    match fs::metadata(database) {
        Ok(found) if found.is_file() => Ok(true),
        Ok(_) => Err(fault::unavailable(format!("{DATABASE}: it is not a file"))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(fault::reading(DATABASE, error)),
    }
}

/// Whether no file may be made in a directory, so that SQLite cannot have its log there.
fn is_closed(directory: &Path) -> bool {
    let probe = directory.join(format!("{DATABASE}.{}.partial", process::id()));
    match create(&probe) {
        Ok(_) => {
            let _ = fs::remove_file(probe);
            false
        }
        Err(error) => fault::is_refusal(error.kind()),
    }
}

fn open_to_write(
    directory: &Path,
    database: &Path,
    files: &Path,
    options: &SqliteOptions,
) -> Result<Connection, StoreError> {
    let changed = changed_by_making(directory);
    make_directories(files).map_err(|error| fault::writing(FILES, error))?;
    make_database(database).map_err(|error| fault::writing(DATABASE, error))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = connect(database, flags, options)?;
    if connection.is_readonly("main").map_err(sql(options))? {
        return Err(StoreError::ReadOnly { source: None });
    }
    let deadline = Instant::now() + options.busy_timeout;
    loop {
        match prepare(&mut connection, options) {
            // Whoever makes the database locks it in ways that SQLite does not wait for.
            Err(StoreError::Locked { .. }) if Instant::now() < deadline => thread::sleep(PAUSE),
            Err(error) => return Err(error),
            Ok(()) => break,
        }
    }
    for place in &changed {
        match flush_directory(place) {
            // It may belong to somebody else; then its names are theirs to keep.
            Err(error) if error.kind() != ErrorKind::PermissionDenied => {
                return Err(fault::writing(PLACE, error));
            }
            _ => {}
        }
    }
    Ok(connection)
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
        // Of one that is there the parent is flushed all the same: somebody else may have made it
        // just now.
        if place.exists() && changed.len() > 1 {
            break;
        }
    }
    changed
}

/// Makes an empty database if there is none, for nobody else to look into: SQLite would go by what
/// the process does with all its files, and gives its log the rights of the database.
fn make_database(path: &Path) -> io::Result<()> {
    /// On some systems whoever closes a file loses all locks that this process has on it, so nobody
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

/// Makes the tables if there is nothing yet, and sets up the connection.
fn prepare(connection: &mut Connection, options: &SqliteOptions) -> Result<(), StoreError> {
    let sql = || sql(options);
    if !is_ours(connection, options)? {
        if options.must_exist {
            return Err(StoreError::Absent);
        }
        // Kept in the database, so that every connection goes by it. Where the file system does not
        // allow it, SQLite stays with its rollback journal, which is as safe.
        let mode = connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()));
        mode.map_err(sql())?;
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(sql())?;
        // Somebody else may have been faster.
        if !is_ours(&transaction, options)? {
            transaction.execute_batch(TABLES).map_err(sql())?;
            let set = |name, value| transaction.pragma_update(None, name, value).map_err(sql());
            set("application_id", APPLICATION)?;
            set("user_version", FORMAT)?;
        }
        transaction.commit().map_err(sql())?;
    }
    let set = |name, value: &dyn rusqlite::ToSql| {
        let applied = connection.pragma_update_and_check(None, name, value, |_| Ok(()));
        match applied {
            // Some answer, some do not.
            Err(rusqlite::Error::QueryReturnedNoRows) | Ok(()) => Ok(()),
            Err(error) => Err(sql()(error)),
        }
    };
    set("synchronous", &"FULL")?;
    set("journal_size_limit", &LOG_BYTES)?;
    Ok(())
}

fn open_to_read(
    directory: &Path,
    database: &Path,
    options: &SqliteOptions,
    alone: bool,
) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let known = |connection: Connection| {
        if is_ours(&connection, options)? {
            Ok(connection)
        } else {
            Err(StoreError::Absent)
        }
    };
    let is_refused = |error: &StoreError| {
        matches!(error, StoreError::ReadOnly { .. }) || fault::is_about_opening(error)
    };
    match connect(database, flags, options).and_then(known) {
        Err(error) if alone && is_refused(&error) && !has_log(database) => {
            // SQLite does not say whether the directory does not admit its log, or nothing can be
            // opened at all, which may pass.
            File::open(directory).map_err(|error| fault::reading(PLACE, error))?;
            connect_immutable(database, options).and_then(known)
        }
        outcome => outcome,
    }
}

/// Whether there is something that has not been written back into the database.
fn has_log(database: &Path) -> bool {
    let mut log = database.as_os_str().to_owned();
    log.push("-wal");
    fs::metadata(log).is_ok_and(|found| found.len() > 0)
}

/// Opens a database in a place that cannot be written, so that nothing needs to be locked.
pub(crate) fn connect_immutable(
    database: &Path,
    options: &SqliteOptions,
) -> Result<Connection, StoreError> {
    let path = fs::canonicalize(database).map_err(|error| fault::reading(DATABASE, error))?;
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
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    connect(Path::new(&uri), flags, options)
}

fn connect(
    database: &Path,
    flags: OpenFlags,
    options: &SqliteOptions,
) -> Result<Connection, StoreError> {
    let sql = || sql(options);
    let connection = Connection::open_with_flags(database, flags).map_err(sql())?;
    connection
        .busy_timeout(options.busy_timeout)
        .map_err(sql())?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // What is in the file is data: nothing in it may act.
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)
        .map_err(sql())?;
    connection
        .set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)
        .map_err(sql())?;
    connection
        .execute_batch("PRAGMA cell_size_check = ON")
        .map_err(sql())?;
    Ok(connection)
}

/// Whether the database is a store of a known format; no if there is nothing in it at all.
fn is_ours(connection: &Connection, options: &SqliteOptions) -> Result<bool, StoreError> {
    // All of it at one moment: somebody else may be making the tables.
    let _moment = if connection.is_autocommit() {
        Some(connection.unchecked_transaction().map_err(sql(options))?)
    } else {
        None
    };
    let number = |query| {
        let number = connection.query_row(query, [], |row| row.get::<_, i64>(0));
        number.map_err(sql(options))
    };
    let application = number("PRAGMA application_id")?;
    let format = number("PRAGMA user_version")?;
    if application == APPLICATION {
        return match format {
            FORMAT => Ok(true),
            found if found > FORMAT => Err(StoreError::Newer {
                found,
                known: FORMAT,
            }),
            found => Err(fault::damaged(format!("format {found}"))),
        };
    }
    let tables = number("SELECT count(*) FROM sqlite_schema")?;
    if application == 0 && format == 0 && tables == 0 {
        Ok(false)
    } else {
        Err(StoreError::Foreign)
    }
}

fn sql(options: &SqliteOptions) -> impl FnOnce(rusqlite::Error) -> StoreError + use<> {
    let waited = options.busy_timeout;
    move |error| fault::sqlite(error, waited)
}
