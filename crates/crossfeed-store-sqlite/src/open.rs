//! Opening: from a directory to connections whose tables are there and known.
//!
//! What comes in: a directory. What goes out: a connection to read, one to write where that is
//! possible, or what is the matter. What is there already is only read until it is known to be a
//! store of this format.

use crate::{fault, files::flush_directory, options::SqliteOptions};
use crossfeed_store::StoreError;
use rusqlite::{Connection, OpenFlags, TransactionBehavior, config::DbConfig};
use std::{
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// The database within the directory.
const DATABASE: &str = "artifacts.db";
/// The folder of files within the directory.
const FILES: &str = "data";
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

/// Opens a directory, and makes it a store if there is nothing yet.
pub(crate) fn open(directory: &Path, options: &SqliteOptions) -> Result<Opened, StoreError> {
    let database = directory.join(DATABASE);
    let files = directory.join(FILES);
    let written = if options.read_only {
        Err(StoreError::ReadOnly { source: None })
    } else {
        open_to_write(directory, &database, &files, options)
    };
    let writer = match written {
        Ok(writer) => Some(writer),
        // What cannot be written may still be read.
        Err(error) if is_about_writing(&error) && database.exists() => None,
        Err(error) => return Err(error),
    };
    let reader = open_to_read(&database, options, writer.is_none())?;
    Ok(Opened {
        reader,
        writer,
        files,
    })
}

/// Whether reading may work although writing did not.
fn is_about_writing(error: &StoreError) -> bool {
    let StoreError::Unavailable { source, .. } = error else {
        return matches!(error, StoreError::ReadOnly { .. });
    };
    // SQLite says so where the directory does not admit its log.
    matches!(
        source.downcast_ref(),
        Some(rusqlite::Error::SqliteFailure(failure, _))
            if failure.code == rusqlite::ErrorCode::CannotOpen
    )
}

fn open_to_write(
    directory: &Path,
    database: &Path,
    files: &Path,
    options: &SqliteOptions,
) -> Result<Connection, StoreError> {
    make_directories(files).map_err(fault::io)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
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
    for place in [Some(directory), directory.parent()].into_iter().flatten() {
        // The parent may belong to somebody else; then its names are theirs to keep.
        let flushed = flush_directory(if place.as_os_str().is_empty() {
            Path::new(".")
        } else {
            place
        });
        match flushed {
            Err(error) if error.kind() != ErrorKind::PermissionDenied => {
                return Err(fault::io(error));
            }
            _ => {}
        }
    }
    Ok(connection)
}

/// Makes the directories that are not there, for nobody else to look into.
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
    database: &Path,
    options: &SqliteOptions,
    alone: bool,
) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let known = |connection: Connection| {
        if is_ours(&connection, options)? {
            Ok(connection)
        } else {
            Err(StoreError::Foreign)
        }
    };
    match connect(database, flags, options).and_then(known) {
        Err(error) if alone && is_about_writing(&error) && !has_log(database) => {
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

/// Opens a database in a place where nobody can write, so that nothing needs to be locked.
pub(crate) fn connect_immutable(
    database: &Path,
    options: &SqliteOptions,
) -> Result<Connection, StoreError> {
    let path = fs::canonicalize(database).map_err(fault::io)?;
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
