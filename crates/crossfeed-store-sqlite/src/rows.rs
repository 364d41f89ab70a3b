//! The tables: one row for each artifact, and one for each that has expired.
//!
//! What comes in: a connection, and what is asked. What goes out: rows that were checked against
//! their digest. Deliberately not here: files, and what is kept in memory.

use crate::{digest::Digest, loaded::Name};
use bytes::Bytes;
use crossfeed_json::Document;
use crossfeed_store::{ListedArtifact, StoredArtifact};
use crossfeed_wire::{ArtifactId, CallId, Scope};
use rusqlite::{Connection, OptionalExtension as _, Result, Row, params, types::Type};
use std::time::Duration;

/// Of how many artifacts of other sessions one `put` notes that they have expired.
const RETIRED_AT_ONCE: usize = 16;

/// Everything about an artifact but its data.
pub(crate) struct Header {
    /// No two rows ever have the same.
    pub(crate) number: i64,
    pub(crate) artifact_id: ArtifactId,
    pub(crate) call_id: CallId,
    pub(crate) recorded_at: i64,
    pub(crate) expires_at: Option<i64>,
    pub(crate) kept_bytes: usize,
    pub(crate) blocked: bool,
    pub(crate) tool: Option<String>,
    pub(crate) base: Option<String>,
    pub(crate) details: Vec<(String, String)>,
    pub(crate) data_bytes: usize,
    pub(crate) data_digest: Digest,
    pub(crate) in_file: bool,
    pub(crate) summary: Option<Vec<u8>>,
    /// The digest of the row, as it was written.
    written: Digest,
}

/// Milliseconds, as rows have them.
pub(crate) fn milliseconds(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

const COLUMNS: &str = "number, artifact_id, call_id, recorded_at, expires_at, kept_bytes, blocked, \
                       tool, base, details, data_bytes, data_digest, in_file, digest, summary";
const OF_SCOPE: &str = "tenant = ?1 AND project = ?2 AND session = ?3";
const OF_NAME: &str =
    "tenant = ?1 AND project = ?2 AND session = ?3 AND artifact_id = ?4 AND call_id = ?5";

impl Header {
    /// The row for an artifact that is not there yet.
    pub(crate) fn new(
        artifact: &StoredArtifact,
        recorded_at: i64,
        expires_at: Option<i64>,
        data_digest: Digest,
        in_file: bool,
    ) -> Self {
        Self {
            number: 0,
            artifact_id: artifact.artifact_id().clone(),
            call_id: artifact.call_id().clone(),
            recorded_at,
            expires_at,
            kept_bytes: artifact.stored_bytes(),
            blocked: artifact.retrieval_blocked(),
            tool: artifact.tool().map(str::to_owned),
            base: artifact.base().map(str::to_owned),
            details: artifact.details().to_vec(),
            data_bytes: artifact.document().raw().len(),
            data_digest,
            in_file,
            summary: artifact.summary().map(|summary| summary.raw().to_vec()),
            written: data_digest,
        }
    }

    fn read(row: &Row<'_>) -> Result<Self> {
        let details: String = row.get("details")?;
        Ok(Self {
            number: row.get("number")?,
            artifact_id: parsed(row, "artifact_id", ArtifactId::parse)?,
            call_id: parsed(row, "call_id", CallId::parse)?,
            recorded_at: row.get("recorded_at")?,
            expires_at: row.get("expires_at")?,
            kept_bytes: row.get("kept_bytes")?,
            blocked: row.get("blocked")?,
            tool: row.get("tool")?,
            base: row.get("base")?,
            details: serde_json::from_str(&details).map_err(|error| unreadable(Box::new(error)))?,
            data_bytes: row.get("data_bytes")?,
            data_digest: digest(row, "data_digest")?,
            in_file: row.get("in_file")?,
            summary: row.get("summary")?,
            written: digest(row, "digest")?,
        })
    }

    /// The digest of everything that the row says.
    fn digest(&self, scope: &Scope) -> Digest {
        let details = details_text(&self.details);
        let expires_at = self.expires_at.map(i64::to_le_bytes);
        Digest::of_parts(&[
            Some(scope.tenant().as_bytes()),
            Some(scope.project().as_bytes()),
            Some(scope.session().as_bytes()),
            Some(self.artifact_id.as_str().as_bytes()),
            Some(self.call_id.as_str().as_bytes()),
            Some(&self.recorded_at.to_le_bytes()),
            expires_at.as_ref().map(|bytes| &bytes[..]),
            Some(&(self.kept_bytes as u64).to_le_bytes()),
            Some(&[u8::from(self.blocked), u8::from(self.in_file)]),
            self.tool.as_deref().map(str::as_bytes),
            self.base.as_deref().map(str::as_bytes),
            Some(details.as_bytes()),
            Some(&(self.data_bytes as u64).to_le_bytes()),
            Some(&self.data_digest.0),
            self.summary.as_deref(),
        ])
    }

    /// Whether the row is as it was written.
    pub(crate) fn is_whole(&self, scope: &Scope) -> bool {
        self.digest(scope) == self.written
    }

    pub(crate) fn has_expired(&self, now: i64) -> bool {
        self.expires_at.is_some_and(|expires_at| expires_at <= now)
    }

    /// Whether the row says the same as one for an artifact of the same name, see
    /// [`StoredArtifact::is_same_record`].
    pub(crate) fn is_same_record(&self, other: &Self) -> bool {
        self.data_bytes == other.data_bytes
            && self.data_digest == other.data_digest
            && self.blocked == other.blocked
            && self.summary == other.summary
    }

    /// The artifact, with its data.
    pub(crate) fn artifact(self, data: Bytes) -> StoredArtifact {
        let mut artifact = StoredArtifact::new(self.artifact_id, self.call_id, Document::new(data))
            .with_retrieval_blocked(self.blocked);
        if let Some(summary) = self.summary {
            artifact = artifact.with_summary(Document::new(summary));
        }
        if let Some(tool) = self.tool {
            artifact = artifact.with_tool(tool);
        }
        if let Some(base) = self.base {
            artifact = artifact.with_base(base);
        }
        for (name, selector) in self.details {
            artifact = artifact.with_detail(name, selector);
        }
        artifact
    }

    /// The line of a list.
    pub(crate) fn line(self) -> ListedArtifact {
        ListedArtifact::new(self.artifact_id, self.call_id, self.data_bytes)
            .with_tool(self.tool.map(Into::into))
            .with_retrieval_blocked(self.blocked)
            .with_summary(self.summary.map(Bytes::from))
    }
}

fn details_text(details: &[(String, String)]) -> String {
    // Pairs of texts can always be written.
    serde_json::to_string(details).unwrap_or_default()
}

fn parsed<T, E>(
    row: &Row<'_>,
    column: &str,
    parse: fn(&str) -> std::result::Result<T, E>,
) -> Result<T>
where
    E: std::error::Error + Send + Sync + 'static,
{
    let text: String = row.get(column)?;
    parse(&text).map_err(|error| unreadable(Box::new(error)))
}

fn digest(row: &Row<'_>, column: &str) -> Result<Digest> {
    let bytes: Vec<u8> = row.get(column)?;
    Digest::from_slice(&bytes).ok_or_else(|| unreadable("a digest has 32 bytes".into()))
}

fn unreadable(error: Box<dyn std::error::Error + Send + Sync>) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(0, Type::Blob, error)
}

/// Whether SQLite has given a row, but not one that can have been written.
pub(crate) fn is_unreadable(error: &rusqlite::Error) -> bool {
    matches!(
        error,
        rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::Utf8Error(..)
    )
}

/// The row of an artifact, expired or not.
pub(crate) fn find(connection: &Connection, name: &Name) -> Result<Option<Header>> {
    let (scope, artifact_id, call_id) = name;
    let query = format!("SELECT {COLUMNS} FROM artifacts WHERE {OF_NAME}");
    connection
        .prepare_cached(&query)?
        .query_row(
            params![
                scope.tenant(),
                scope.project(),
                scope.session(),
                artifact_id.as_str(),
                call_id.as_str()
            ],
            Header::read,
        )
        .optional()
}

/// The data of a row that has it in itself.
pub(crate) fn data(connection: &Connection, number: i64) -> Result<Option<Vec<u8>>> {
    connection
        .prepare_cached("SELECT data FROM artifacts WHERE number = ?1")?
        .query_row([number], |row| row.get::<_, Option<Vec<u8>>>(0))
        .optional()
        .map(Option::flatten)
}

/// Of an artifact that has expired and whose row has gone: the tool.
pub(crate) fn expired(connection: &Connection, name: &Name) -> Result<Option<Option<String>>> {
    let (scope, artifact_id, call_id) = name;
    let query = format!("SELECT tool FROM expired WHERE {OF_NAME}");
    connection
        .prepare_cached(&query)?
        .query_row(
            params![
                scope.tenant(),
                scope.project(),
                scope.session(),
                artifact_id.as_str(),
                call_id.as_str()
            ],
            |row| row.get(0),
        )
        .optional()
}

/// The rows of a session, expired or not, oldest first.
pub(crate) fn list(connection: &Connection, scope: &Scope) -> Result<Vec<Header>> {
    let query = format!("SELECT {COLUMNS} FROM artifacts WHERE {OF_SCOPE} ORDER BY number");
    connection
        .prepare_cached(&query)?
        .query_map(
            params![scope.tenant(), scope.project(), scope.session()],
            Header::read,
        )?
        .collect()
}

/// How many artifacts of a session have not expired, and their bytes.
pub(crate) fn usage(connection: &Connection, scope: &Scope, now: i64) -> Result<(usize, usize)> {
    let query = format!(
        "SELECT count(*), coalesce(sum(kept_bytes), 0) FROM artifacts \
         WHERE {OF_SCOPE} AND (expires_at IS NULL OR expires_at > ?4)"
    );
    connection.prepare_cached(&query)?.query_row(
        params![scope.tenant(), scope.project(), scope.session(), now],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )
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
            header.data_digest.0,
            header.in_file,
            digest.0,
            header.summary,
            data,
        ])?;
    let query = format!("DELETE FROM expired WHERE {OF_NAME}");
    connection.prepare_cached(&query)?.execute(params![
        scope.tenant(),
        scope.project(),
        scope.session(),
        header.artifact_id.as_str(),
        header.call_id.as_str()
    ])?;
    Ok(())
}

/// Removes a row.
pub(crate) fn delete(connection: &Connection, number: i64) -> Result<()> {
    connection
        .prepare_cached("DELETE FROM artifacts WHERE number = ?1")?
        .execute([number])?;
    Ok(())
}

/// Whether anything is known of a session.
pub(crate) fn has_session(connection: &Connection, scope: &Scope) -> Result<bool> {
    let query = format!(
        "SELECT EXISTS (SELECT 1 FROM artifacts WHERE {OF_SCOPE}) \
         OR EXISTS (SELECT 1 FROM expired WHERE {OF_SCOPE})"
    );
    connection.prepare_cached(&query)?.query_row(
        params![scope.tenant(), scope.project(), scope.session()],
        |row| row.get(0),
    )
}

/// Removes all rows of a session; gives the files that they named.
pub(crate) fn delete_session(connection: &Connection, scope: &Scope) -> Result<Vec<Digest>> {
    let of_scope = params![scope.tenant(), scope.project(), scope.session()];
    let query = format!("SELECT DISTINCT data_digest FROM artifacts WHERE {OF_SCOPE} AND in_file");
    let files: Result<Vec<_>> = connection
        .prepare_cached(&query)?
        .query_map(of_scope, |row| digest(row, "data_digest"))?
        .collect();
    for table in ["artifacts", "expired"] {
        let query = format!("DELETE FROM {table} WHERE {OF_SCOPE}");
        connection.prepare_cached(&query)?.execute(of_scope)?;
    }
    files
}

/// Whether a row names a file.
pub(crate) fn names_file(connection: &Connection, digest: &Digest) -> Result<bool> {
    connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM artifacts WHERE in_file AND data_digest = ?1)",
        )?
        .query_row([digest.0], |row| row.get(0))
}

/// Whether there is anything for [`retire`] and [`forget`] to do.
pub(crate) fn has_overdue(connection: &Connection, now: i64, forgotten: i64) -> Result<bool> {
    connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM artifacts WHERE expires_at IS NOT NULL AND expires_at <= ?1) \
             OR EXISTS (SELECT 1 FROM expired WHERE expired_at <= ?2)",
        )?
        .query_row([now, forgotten], |row| row.get(0))
}

/// Notes of some artifacts that they have expired, and removes their rows; `false` if there were
/// none. Rows that are damaged stay as they are.
pub(crate) fn retire(connection: &Connection, now: i64) -> Result<bool> {
    let read = |row: &Row<'_>| {
        let part = |column: &str| row.get::<_, String>(column);
        let scope = Scope::parse(&part("tenant")?, &part("project")?, &part("session")?);
        let scope = scope.map_err(|error| unreadable(Box::new(error)))?;
        Ok((scope, Header::read(row)?))
    };
    let overdue: Result<Vec<(Scope, Header)>> = connection
        .prepare_cached(&format!(
            "SELECT tenant, project, session, {COLUMNS} FROM artifacts \
             WHERE expires_at IS NOT NULL AND expires_at <= ?1 \
             ORDER BY expires_at, number LIMIT {RETIRED_AT_ONCE}"
        ))?
        .query_map([now], read)?
        .filter(|row| !matches!(row, Err(error) if is_unreadable(error)))
        .collect();
    let mut retired = false;
    for (scope, header) in overdue? {
        if !header.is_whole(&scope) {
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
        retired = true;
    }
    Ok(retired)
}

/// Forgets what has expired long ago.
pub(crate) fn forget(connection: &Connection, until: i64) -> Result<()> {
    connection
        .prepare_cached("DELETE FROM expired WHERE expired_at <= ?1")?
        .execute([until])?;
    Ok(())
}
