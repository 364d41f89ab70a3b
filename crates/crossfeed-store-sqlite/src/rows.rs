//! The tables: one row for each artifact, and one for each that has expired.
//! Each row that is read can tell whether it is as it was written.

use crate::{
    database::{answer, answer_if_any, execute},
    header::{COLUMNS, Header, details_text, digest, is_unreadable, parsed, scope},
    open::Layout,
};
use crossfeed_store::Digest;
use crossfeed_wire::{ArtifactId, CallId, Scope};
use rusqlite::{Connection, Result, Row, params};

/// The database of artifacts.
pub(crate) static LAYOUT: Layout = Layout {
    database: "artifacts.db",
    files: "data",
    table: "artifacts",
    // `cfas`
    application: 0x6366_6173,
    format: 1,
    added: &[],
    settings: "",
    tables: "
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
",
};

/// The key of an artifact among all.
pub(crate) type Name = (Scope, ArtifactId, CallId);

/// How many expired artifacts of other sessions one `put` retires.
const RETIRED_AT_ONCE: usize = 16;

const OF_SCOPE: &str = "tenant = ?1 AND project = ?2 AND session = ?3";
const OF_NAME: &str =
    "tenant = ?1 AND project = ?2 AND session = ?3 AND artifact_id = ?4 AND call_id = ?5";

/// The row of an artifact, expired or not.
pub(crate) fn find(connection: &Connection, name: &Name) -> Result<Option<Header>> {
    let query = format!("SELECT {COLUMNS} FROM artifacts WHERE {OF_NAME}");
    find_by_name(connection, &query, name, Header::read)
}

/// The values of [`OF_SCOPE`].
fn scope_values(scope: &Scope) -> [&str; 3] {
    [scope.tenant(), scope.project(), scope.session()]
}

/// The values of [`OF_NAME`].
fn name_values<'n>(
    scope: &'n Scope,
    artifact_id: &'n ArtifactId,
    call_id: &'n CallId,
) -> [&'n str; 5] {
    let [tenant, project, session] = scope_values(scope);
    [
        tenant,
        project,
        session,
        artifact_id.as_str(),
        call_id.as_str(),
    ]
}

/// The row of a name, if there is one.
fn find_by_name<T>(
    connection: &Connection,
    query: &str,
    (scope, artifact_id, call_id): &Name,
    read: impl FnOnce(&Row<'_>) -> Result<T>,
) -> Result<Option<T>> {
    let name = name_values(scope, artifact_id, call_id);
    answer_if_any(connection, query, name, read)
}

/// The data of a row that has it in itself.
pub(crate) fn data(connection: &Connection, number: i64) -> Result<Option<Vec<u8>>> {
    let query = "SELECT data FROM artifacts WHERE number = ?1";
    let data = answer_if_any(connection, query, [number], |row| row.get(0));
    data.map(Option::flatten)
}

/// The tool of an expired artifact whose row is removed.
pub(crate) fn expired(connection: &Connection, name: &Name) -> Result<Option<Option<String>>> {
    let query = format!("SELECT tool FROM expired WHERE {OF_NAME}");
    find_by_name(connection, &query, name, |row| row.get(0))
}

/// A row of a session.
pub(crate) enum Line {
    Whole(Box<Header>),
    /// It is damaged, and so may be its ids.
    Damaged(ArtifactId, CallId),
}

/// The rows of a session, expired or not, oldest first. Of those that are damaged the ids, where they
/// can be read.
pub(crate) fn list(connection: &Connection, scope: &Scope) -> Result<Vec<Line>> {
    let query = format!("SELECT {COLUMNS} FROM artifacts WHERE {OF_SCOPE} ORDER BY number");
    let mut found = connection.prepare_cached(&query)?;
    let mut found = found.query(scope_values(scope))?;
    let mut lines = Vec::new();
    while let Some(row) = found.next()? {
        match Header::read(row) {
            Ok(header) if header.is_whole(scope) => lines.push(Line::Whole(Box::new(header))),
            Err(error) if !is_unreadable(&error) => return Err(error),
            _ => match damaged(connection, row.get("number")?, scope) {
                Err(error) if !is_unreadable(&error) => return Err(error),
                line => lines.extend(line.ok().flatten()),
            },
        }
    }
    Ok(lines)
}

/// The ids of a row that is damaged. It is read again without an index: a damaged one may lead to the
/// row of another session, whose ids are not for this one.
fn damaged(connection: &Connection, number: i64, of: &Scope) -> Result<Option<Line>> {
    let query =
        "SELECT tenant, project, session, artifact_id, call_id FROM artifacts WHERE number = ?1";
    let line = answer_if_any(connection, query, [number], |row| {
        if scope(row)? != *of {
            return Ok(None);
        }
        let artifact_id = parsed(row, "artifact_id", ArtifactId::parse)?;
        let call_id = parsed(row, "call_id", CallId::parse)?;
        Ok(Some(Line::Damaged(artifact_id, call_id)))
    });
    line.map(Option::flatten)
}

/// How many artifacts of a session have not expired, and their bytes.
pub(crate) fn usage(connection: &Connection, scope: &Scope, now: i64) -> Result<(usize, usize)> {
    let query = format!(
        "SELECT count(*), coalesce(sum(kept_bytes), 0) FROM artifacts \
         WHERE {OF_SCOPE} AND (expires_at IS NULL OR expires_at > ?4)"
    );
    let values = params![scope.tenant(), scope.project(), scope.session(), now];
    answer(connection, &query, values, |row| {
        Ok((row.get(0)?, row.get(1)?))
    })
}

/// How many rows there are, and their bytes.
pub(crate) fn total(connection: &Connection) -> Result<(usize, usize)> {
    let query = "SELECT count(*), coalesce(sum(kept_bytes), 0) FROM artifacts";
    answer(connection, query, [], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Adds a row; `data` where it is not in a file.
pub(crate) fn insert(
    connection: &Connection,
    scope: &Scope,
    header: &Header,
    data: Option<&[u8]>,
) -> Result<()> {
    let digest = header.digest(scope);
    connection
        .prepare_cached(
            "INSERT INTO artifacts (tenant, project, session, artifact_id, call_id, recorded_at, \
             expires_at, kept_bytes, blocked, tool, base, details, data_bytes, data_digest, in_file, \
             digest, summary, data) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
        )?
        .execute(params![
            scope.tenant(),
            scope.project(),
            scope.session(),
            header.artifact_id.as_str(),
            header.call_id.as_str(),
            header.recorded_at,
            header.expires_at,
            header.kept_bytes,
            header.blocked,
            header.tool,
            header.base,
            details_text(&header.details),
            header.data_bytes,
            header.data_digest.as_bytes(),
            header.in_file,
            digest.as_bytes(),
            header.summary,
            data,
        ])?;
    let query = format!("DELETE FROM expired WHERE {OF_NAME}");
    let name = name_values(scope, &header.artifact_id, &header.call_id);
    execute(connection, &query, name).map(drop)
}

/// Removes a row.
pub(crate) fn delete(connection: &Connection, number: i64) -> Result<()> {
    execute(
        connection,
        "DELETE FROM artifacts WHERE number = ?1",
        [number],
    )
    .map(drop)
}

/// Whether anything is known of a session.
pub(crate) fn has_session(connection: &Connection, scope: &Scope) -> Result<bool> {
    let query = format!(
        "SELECT EXISTS (SELECT 1 FROM artifacts WHERE {OF_SCOPE}) \
         OR EXISTS (SELECT 1 FROM expired WHERE {OF_SCOPE})"
    );
    answer(connection, &query, scope_values(scope), |row| row.get(0))
}

/// Removes all rows of a session; gives the files that they named.
pub(crate) fn delete_session(connection: &Connection, scope: &Scope) -> Result<Vec<Digest>> {
    let of_scope = scope_values(scope);
    let query = format!("SELECT DISTINCT data_digest FROM artifacts WHERE {OF_SCOPE} AND in_file");
    let files: Result<Vec<_>> = connection
        .prepare_cached(&query)?
        .query_map(of_scope, |row| digest(row, "data_digest"))?
        .collect();
    for table in ["artifacts", "expired"] {
        let query = format!("DELETE FROM {table} WHERE {OF_SCOPE}");
        execute(connection, &query, of_scope)?;
    }
    files
}

/// Whether there is anything for [`retire`] and [`forget`] to do.
pub(crate) fn has_overdue(connection: &Connection, now: i64, forgotten: i64) -> Result<bool> {
    let query = "SELECT EXISTS (SELECT 1 FROM artifacts WHERE expires_at IS NOT NULL AND expires_at <= ?1) \
                 OR EXISTS (SELECT 1 FROM expired WHERE expired_at <= ?2)";
    answer(connection, query, [now, forgotten], |row| row.get(0))
}

/// Where [`retire`] goes on: the time at which a row expired, and its number.
pub(crate) type RowKey = (i64, i64);

/// Turns the next expired artifacts after `after` into tombstones, and removes their rows. Returns the key to go
/// on from, or `None` at the end. Damaged rows stay as they are.
pub(crate) fn retire(connection: &Connection, now: i64, after: RowKey) -> Result<Option<RowKey>> {
    let read = |row: &Row<'_>| Ok((scope(row)?, Header::read(row)?));
    let overdue: Result<Vec<_>> = connection
        .prepare_cached(&format!(
            "SELECT tenant, project, session, {COLUMNS} FROM artifacts \
             WHERE expires_at IS NOT NULL AND expires_at <= ?1 AND (expires_at, number) > (?2, ?3) \
             ORDER BY expires_at, number LIMIT {RETIRED_AT_ONCE}"
        ))?
        .query_map([now, after.0, after.1], |row| {
            let place = (row.get("expires_at")?, row.get("number")?);
            match read(row) {
                Err(error) if is_unreadable(&error) => Ok((place, None)),
                row => row.map(|row| (place, Some(row))),
            }
        })?
        .collect();
    let overdue = overdue?;
    let last = overdue.last().map(|(place, _)| *place);
    let more = overdue.len() == RETIRED_AT_ONCE;
    for (scope, header) in overdue.into_iter().filter_map(|(_, row)| row) {
        if !header.is_whole(&scope) || !header.has_expired(now) {
            continue;
        }
        connection
            .prepare_cached("INSERT OR REPLACE INTO expired VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?
            .execute(params![
                scope.tenant(),
                scope.project(),
                scope.session(),
                header.artifact_id.as_str(),
                header.call_id.as_str(),
                header.tool,
                header.expires_at
            ])?;
        delete(connection, header.number)?;
    }
    Ok(last.filter(|_| more))
}

/// Forgets old tombstones.
pub(crate) fn forget(connection: &Connection, until: i64) -> Result<()> {
    execute(
        connection,
        "DELETE FROM expired WHERE expired_at <= ?1",
        [until],
    )
    .map(drop)
}
